//! How labels go before a packet: what stands in a hop's rewrite, and what each packet fills in.
//!
//! ```text
//!   rewrite   Ethernet, tags, 0x8847 │ labels: S 0, TTL 255 │ [flow label: S 1] │ [control word]
//!   packet                           │ S, TTL, class        │ [its hash]        │
//! ```
//! [`table::hop::Line::next`] tells the form of the rewrite.

use super::entry::{ENTROPY_INDICATOR, ENTRY, Entry, LABELS, UNRESERVED};
use crate::header::TYPE_MPLS;
use crate::program::Tunnel;
use graph::Meta;
use table::hop::{Line, REWRITE_MAX};

pub(crate) use crate::hop::NEXT_LABELS as LABELLED;

/// The TTL of what is inside becomes that of the labels (uniform, RFC 3443 §3; else pipe: 255).
pub(crate) const UNIFORM: u16 = 1;
/// After the labels comes a control word (RFC 4385).
pub const CONTROL_WORD: u16 = 2;
/// The last label is a flow label (RFC 6391).
pub const FLOW_LABEL: u16 = 4;
/// The last two are an entropy label and its indicator (RFC 6790).
pub const ENTROPY: u16 = 8;
/// The time to live of labels in the pipe model.
pub(crate) const PIPE_TTL: u8 = 255;

/// What a packet says of the labels that go before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal {
    /// Of the labels in the uniform model.
    pub(crate) ttl: u8,
    /// Whether `ttl` holds whatever the hop's model is (a label is swapped).
    pub(crate) swapped: bool,
    /// Traffic class of all labels.
    pub(crate) class: u8,
    /// Whether the last label is the bottom of the stack.
    pub(crate) bottom: bool,
    /// Of its flow.
    pub(crate) hash: u32,
}

/// The form of a rewrite with labels.
pub fn form(push: &crate::program::Push) -> u16 {
    let bit = |on: bool, bit: u16| if on { bit } else { 0 };
    LABELLED
        | bit(push.tunnel == Tunnel::Uniform, UNIFORM)
        | bit(push.entropy, ENTROPY)
        | bit(push.flow_label, FLOW_LABEL)
        | bit(push.control_word, CONTROL_WORD)
}

/// Octets of a stack as rewrites hold it: the outermost label first, no bottom yet, TTL 255.
#[must_use]
pub fn stack(labels: &[u32], form: u16) -> Vec<u8> {
    let mut octets = Vec::with_capacity(REWRITE_MAX);
    for label in labels {
        octets.extend_from_slice(&Entry::new(*label, 0, false, PIPE_TTL).octets());
    }
    if form & ENTROPY != 0 {
        octets.extend_from_slice(&Entry::new(ENTROPY_INDICATOR, 0, false, PIPE_TTL).octets());
        octets.extend_from_slice(&Entry::new(0, 0, false, 0).octets());
    }
    if form & FLOW_LABEL != 0 {
        octets.extend_from_slice(&Entry::new(0, 0, false, 1).octets());
    }
    if form & CONTROL_WORD != 0 {
        octets.extend_from_slice(&[0; ENTRY]);
    }
    octets
}

/// Where in a rewrite its labels begin.
#[inline]
fn labels_at(rewrite: &[u8]) -> usize {
    let is_type = |at: usize| rewrite.get(at..at + 2) == Some(&TYPE_MPLS.to_be_bytes());
    if is_type(12) {
        14
    } else if is_type(16) {
        18
    } else {
        22
    }
}

/// Puts a labelled rewrite before a packet and fills it in; false if there is no room.
#[inline]
pub(crate) fn seal(meta: &mut Meta, cell: &mut [u8], line: &Line, seal: Seal) -> bool {
    let form = line.next;
    let Some(octets) = before(meta, cell, line) else { return false };
    let start = labels_at(octets).min(octets.len());
    let labels = &mut octets[start..];
    let word = if form & CONTROL_WORD != 0 { ENTRY } else { 0 };
    let end = labels.len().saturating_sub(word);
    let (labels, _) = labels[..end].as_chunks_mut::<ENTRY>();
    let marks = u32::from(seal.class & 7) << 9;
    let special = usize::from(form & FLOW_LABEL != 0) + usize::from(form & ENTROPY != 0);
    let count = labels.len().saturating_sub(special);
    for label in &mut labels[..count] {
        let mut entry = u32::from_be_bytes(*label) | marks;
        if seal.swapped || form & UNIFORM != 0 {
            entry = entry & !0xff | u32::from(seal.ttl);
        }
        *label = entry.to_be_bytes();
    }
    for label in &mut labels[count..] {
        // The flow's hash, outside of the reserved labels (RFC 6790 §4.2); the time to live
        // stays, so that nobody forwards by it.
        let value = seal.hash % (LABELS - UNRESERVED) + UNRESERVED;
        let ttl = u32::from_be_bytes(*label) & 0xff;
        *label = (value << 12 | marks | ttl).to_be_bytes();
    }
    if seal.bottom
        && let Some(last) = labels.last_mut()
    {
        last[2] |= 1;
    }
    true
}

/// Puts a hop's rewrite before a packet as it is and hands it out.
#[inline]
pub(crate) fn before<'a>(meta: &mut Meta, cell: &'a mut [u8], line: &Line) -> Option<&'a mut [u8]> {
    let length = line.rewrite_len();
    let end = usize::from(meta.offset);
    // Octets in front of the packet belong to nobody, so the block is copied whole: its length is
    // known to the compiler.
    let block = cell.get_mut(..end)?.last_chunk_mut::<REWRITE_MAX>()?;
    *block = *line.rewrite_block();
    #[allow(clippy::cast_possible_truncation, reason = "at most `REWRITE_MAX`")]
    let octets = length as u16;
    meta.offset -= octets;
    meta.length += octets;
    Some(&mut block[REWRITE_MAX - length..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{Pool, STRIDE};

    fn sealed(labels: &[u32], form: u16, marks: Seal) -> Vec<u8> {
        let mut rewrite = vec![0; 12];
        rewrite.extend(TYPE_MPLS.to_be_bytes());
        rewrite.extend(stack(labels, form));
        let line = Line::rewriting(LABELLED | form, 1, &rewrite).unwrap();
        let mut pool = Pool::new(1, STRIDE);
        let slot = pool.put(&[9; 20]).unwrap();
        let (meta, cell) = pool.parts(slot);
        assert!(seal(meta, cell, &line, marks));
        pool.bytes(slot)[14..].to_vec()
    }

    const MARKS: Seal = Seal { ttl: 63, swapped: false, class: 5, bottom: true, hash: 1_048_575 };

    #[test]
    fn labels_carry_time_to_live_class_and_bottom_as_their_model_says() {
        let pipe = sealed(&[100, 200], 0, MARKS);
        assert_eq!(pipe[..8], [0, 6, 0x4a, 255, 0, 0xc, 0x8b, 255]);
        let uniform = sealed(&[100, 200], UNIFORM, MARKS);
        assert_eq!(uniform[..8], [0, 6, 0x4a, 63, 0, 0xc, 0x8b, 63]);
        let swapped = sealed(&[100], 0, Seal { swapped: true, bottom: false, ..MARKS });
        assert_eq!(swapped[..5], [0, 6, 0x4a, 63, 9]);
    }

    #[test]
    fn flow_and_entropy_labels_carry_the_flow_and_no_time_to_live() {
        let wire = sealed(&[100], FLOW_LABEL | CONTROL_WORD, MARKS);
        // 1,048,575 modulo the labels that are not reserved, and those skipped.
        let value = 1_048_575 % (LABELS - UNRESERVED) + UNRESERVED;
        assert_eq!(wire[..4], [0, 6, 0x4a, 255]);
        assert_eq!(wire[4..8], Entry::new(value, 5, true, 1).octets());
        assert_eq!(wire[8..13], [0, 0, 0, 0, 9]);
        let entropy = sealed(&[100], ENTROPY, MARKS);
        assert_eq!(entropy[4..8], Entry::new(ENTROPY_INDICATOR, 5, false, 255).octets());
        assert_eq!(entropy[8..12], Entry::new(value, 5, true, 0).octets());
    }
}
