//! How labels go before a packet: what stands in a hop's rewrite, and what each packet fills in.
//!
//! ```text
//!   rewrite   Ethernet, tags, 0x8847 │ labels: S 0, TTL 255 │ [flow label: S 1] │ [control word]
//!   packet                           │ S, TTL, class        │ [its hash]        │
//! ```
//! [`table::hop::Line::next`] tells the form of the rewrite; 0 is a rewrite without labels.

use super::entry::{ENTRY, Entry, LABELS, UNRESERVED};
use graph::{Pool, Slot};
use table::hop::{Line, REWRITE_MAX};

/// The rewrite ends with labels.
pub(crate) const LABELLED: u16 = 1 << 15;
/// The TTL of what is inside becomes that of the labels (uniform, RFC 3443 §3; else pipe: 255).
pub(crate) const UNIFORM: u16 = 1;
/// After the labels comes a control word (RFC 4385).
pub(crate) const CONTROL_WORD: u16 = 2;
/// The last label is a flow label (RFC 6391).
pub(crate) const FLOW_LABEL: u16 = 4;
/// The last two are an entropy label and its indicator (RFC 6790).
pub(crate) const ENTROPY: u16 = 8;
/// The time to live of labels in the pipe model.
pub(crate) const PIPE_TTL: u8 = 255;

/// EtherType of MPLS (RFC 3032 §5).
pub(crate) const ETHERTYPE_MPLS: u16 = 0x8847;

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

/// Octets of a stack as rewrites hold it: the outermost label first, no bottom yet, TTL 255.
#[must_use]
pub(crate) fn stack(labels: &[u32], form: u16) -> Vec<u8> {
    let mut octets = Vec::with_capacity(REWRITE_MAX);
    for label in labels {
        octets.extend_from_slice(&Entry::new(*label, 0, false, PIPE_TTL).octets());
    }
    if form & ENTROPY != 0 {
        let indicator = Entry::new(super::entry::ENTROPY_INDICATOR, 0, false, PIPE_TTL);
        octets.extend_from_slice(&indicator.octets());
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
    let tagged = |at: usize| rewrite.get(at..at + 2) == Some(&ETHERTYPE_MPLS.to_be_bytes());
    if tagged(12) {
        14
    } else if tagged(16) {
        18
    } else {
        22
    }
}

/// Puts a labelled rewrite before a packet and fills it in; false if there is no room.
#[inline]
pub(crate) fn seal(packets: &mut Pool, slot: Slot, line: &Line, seal: Seal) -> bool {
    let form = line.next;
    let Some(octets) = before(packets, slot, line) else { return false };
    let start = labels_at(octets).min(octets.len());
    let labels = &mut octets[start..];
    let end = labels.len() - if form & CONTROL_WORD != 0 { ENTRY.min(labels.len()) } else { 0 };
    let (labels, _) = labels.as_chunks_mut::<ENTRY>();
    let labels = &mut labels[..end / ENTRY];
    let marks = u32::from(seal.class & 7) << 9;
    let uniform = seal.swapped || form & UNIFORM != 0;
    let count = labels.len();
    let special = usize::from(form & FLOW_LABEL != 0) + usize::from(form & ENTROPY != 0);
    for label in &mut labels[..count.saturating_sub(special)] {
        let mut entry = u32::from_be_bytes(*label) | marks;
        if uniform {
            entry = entry & !0xff | u32::from(seal.ttl);
        }
        *label = entry.to_be_bytes();
    }
    if special > 0 {
        fill_hashes(labels, form, seal);
    }
    if seal.bottom && let Some(last) = labels.last_mut() {
        last[2] |= 1;
    }
    true
}

/// Flow and entropy labels: the hash, outside of the reserved labels (RFC 6790 §4.2); their TTL
/// stays, so that nobody forwards by them.
fn fill_hashes(labels: &mut [[u8; ENTRY]], form: u16, seal: Seal) {
    let value = (seal.hash % (LABELS - UNRESERVED)) + UNRESERVED;
    let mut filled = 0;
    for bit in [FLOW_LABEL, ENTROPY] {
        if form & bit != 0 {
            filled += 1;
            if let Some(label) = labels.iter_mut().rev().nth(filled - 1) {
                let entry = u32::from_be_bytes(*label);
                *label = (entry & 0xff | value << 12 | u32::from(seal.class & 7) << 9).to_be_bytes();
            }
        }
    }
}

/// Puts a hop's rewrite before a packet as it is and hands it out.
#[inline]
pub(crate) fn before<'a>(packets: &'a mut Pool, slot: Slot, line: &Line) -> Option<&'a mut [u8]> {
    let length = line.rewrite_len();
    let meta = packets.meta_mut(slot);
    let end = usize::from(meta.offset);
    // The block is copied whole: its length is known to the compiler.
    let start = end.checked_sub(REWRITE_MAX)?;
    meta.offset = (end - length) as u16;
    meta.length += length as u16;
    let block = packets.cell_mut(slot)[start..].first_chunk_mut::<REWRITE_MAX>()?;
    // Octets in front of the packet belong to nobody.
    *block = *line.rewrite_block();
    Some(&mut block[REWRITE_MAX - length..])
}
