//! The checksum of an LSP: Fletcher's, over all from the LSP ID on (ISO 10589 §7.3.11, RFC 1008).

/// Where the LSP ID stands, at which the sums begin.
const START: usize = 12;
/// Where the checksum stands.
const AT: usize = 24;

/// The two sums.
fn sums(octets: &[u8]) -> (u32, u32) {
    let (mut c0, mut c1) = (0u32, 0u32);
    // 4,000 octets do not overflow 32 bits.
    for part in octets.get(START..).unwrap_or_default().chunks(4_000) {
        for &octet in part {
            c0 += u32::from(octet);
            c1 += c0;
        }
        c0 %= 255;
        c1 %= 255;
    }
    (c0, c1)
}

pub(super) fn is_right(lsp: &[u8]) -> bool {
    // A checksum of zero means that there is none, which is not let pass (RFC 3719 §7).
    lsp.get(AT..AT + 2).is_some_and(|it| it != [0, 0]) && sums(lsp) == (0, 0)
}

/// Fills it in.
#[allow(clippy::cast_possible_truncation, reason = "both are at most 255")]
pub(super) fn fill(lsp: &mut [u8]) {
    let Some(place) = lsp.get_mut(AT..AT + 2) else { return };
    place.copy_from_slice(&[0, 0]);
    let (c0, c1) = sums(lsp);
    // Octets behind the first octet of the checksum.
    let behind = ((lsp.len() - AT - 1) % 255) as u32;
    let x = (behind * c0 + 255 * 255 - c1) % 255;
    let y = (2 * 255 - x - c0) % 255;
    let of = |it: u32| if it == 0 { 255 } else { it as u8 };
    lsp[AT..AT + 2].copy_from_slice(&[of(x), of(y)]);
}
