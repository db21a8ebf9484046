//! MPLS labels as BGP carries them: 20 bits, three bits unused, the bottom of the stack
//! (RFC 8277 §2.2, RFC 3032).

use wire::Malformed;

/// Octets of a label.
pub(super) const LABEL_BYTES: usize = 3;
/// Labels of one route at most: what a length octet has room for.
const LABELS_MAX: usize = 10;
/// What stands for the label of a withdrawn route (RFC 8277 §2.4).
pub const WITHDRAWN_LABEL: [u8; 3] = [0x80, 0, 0];

/// A label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(u32);

impl Label {
    /// The label of that number; `None` past 20 bits.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number < 1 << 20 { Some(Self(number)) } else { None }
    }

    /// The label of three octets.
    #[must_use]
    pub const fn of(octets: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, octets[0], octets[1], octets[2]]) >> 4)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its octets, at the bottom of the stack or above.
    #[must_use]
    pub const fn octets(self, is_bottom: bool) -> [u8; 3] {
        let [_, a, b, c] = (self.0 << 4 | is_bottom as u32).to_be_bytes();
        [a, b, c]
    }
}

/// Octets of the labels that `bytes` begin with: one label, or with `multiple` as many as there
/// are to the bottom of the stack.
pub(super) fn labels(bytes: &[u8], multiple: bool) -> Result<usize, Malformed> {
    let spec = "RFC 8277 §2.3";
    for (index, label) in bytes.chunks_exact(LABEL_BYTES).take(LABELS_MAX).enumerate() {
        if !multiple || label[2] & 1 != 0 {
            return Ok((index + 1) * LABEL_BYTES);
        }
    }
    Err(Malformed::new(1, "the stack of labels has no bottom", spec))
}
