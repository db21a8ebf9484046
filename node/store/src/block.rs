//! Blocks of a journal: compressed, checksummed, self-delimiting.
//!
//! ```text
//!  0       4      5       6       8        12        16         24         32
//!  | magic | kind | low   | count | raw    | stored  | first_us | checksum | lz4 payload …
//! ```
//! The checksum (XXH3) covers the header before it and the payload, so that a torn or a stale
//! tail is found. A payload is `count` items of `length u32, octets`; an entry's octets begin
//! with its id. `low` is the low octet of the block's number in its journal: after a damaged
//! stretch it tells how many blocks were lost. Blocks of an earlier version (magic `TJB1`) have
//! zero there.

use crate::record::{u32_at, u64_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Octets of a block's header.
pub(crate) const HEADER_BYTES: usize = 32;
/// Raw octets above which a block is closed: 64 KB is as far as lz4 looks back.
pub(crate) const RAW_BYTES_AIM: usize = 96 * 1024;
/// Largest raw payload that is believed when a journal is read.
pub(crate) const RAW_BYTES_MAX: usize = 4 << 20;
/// Items of one block.
pub(crate) const ITEMS_MAX: u16 = u16::MAX - 1;

/// How a block begins; the first is what is written.
pub(crate) const MAGICS: [[u8; 4]; 2] = [*b"TJB2", *b"TJB1"];

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Entries.
    Entries,
    /// Records of ids that are finished: they go into the index.
    Records,
    /// Records of ids that still run, written when a partition begins.
    Open,
    /// Every id that ran when the partition began has its record in it: recovery starts here.
    Complete,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Entries, Self::Records, Self::Open, Self::Complete];

    const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// A block's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub kind: Kind,
    /// Low octet of its number, if it has one.
    pub low: Option<u8>,
    pub raw: usize,
    pub stored: usize,
    pub first_us: u64,
    pub checksum: u64,
}

impl Header {
    /// Reads a header; `None` when these octets are not one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER_BYTES {
            return None;
        }
        let version = MAGICS.iter().position(|magic| bytes.starts_with(magic))?;
        let header = Self {
            low: (version == 0).then_some(bytes[5]),
            kind: Kind::ALL.into_iter().find(|kind| kind.number() == bytes[4])?,
            raw: size(u32_at(bytes, 8)),
            stored: size(u32_at(bytes, 12)),
            first_us: u64_at(bytes, 16),
            checksum: u64_at(bytes, 24),
        };
        (header.raw <= RAW_BYTES_MAX && header.stored <= RAW_BYTES_MAX * 2).then_some(header)
    }

    /// Octets of the whole block.
    pub const fn length(&self) -> u64 {
        (HEADER_BYTES + self.stored) as u64
    }

    /// Whether `head` (the header's octets) and `payload` are what was written.
    pub fn is_whole(&self, head: &[u8], payload: &[u8]) -> bool {
        checksum(&head[..24], payload) == self.checksum
    }
}

fn checksum(head: &[u8], payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, xxh3_64_with_seed(head, 0))
}

/// What a block is beside its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    pub kind: Kind,
    /// Its number in the journal.
    pub number: u32,
    pub count: u16,
    pub first_us: u64,
}

/// Compresses `raw` and appends the whole block to `out`; returns its length.
pub(crate) fn seal(label: Label, raw: &[u8], out: &mut Vec<u8>) -> usize {
    let Label { kind, number, count, first_us } = label;
    let start = out.len();
    out.resize(start + HEADER_BYTES + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
    let stored = lz4_flex::block::compress_into(raw, &mut out[start + HEADER_BYTES..])
        .expect("the buffer has the size that lz4 asks for");
    out.truncate(start + HEADER_BYTES + stored);
    let (head, payload) = out[start..].split_at_mut(HEADER_BYTES);
    head[..4].copy_from_slice(&MAGICS[0]);
    (head[4], head[5]) = (kind.number(), number.to_le_bytes()[0]);
    head[6..8].copy_from_slice(&count.to_le_bytes());
    head[8..12].copy_from_slice(&octets(raw.len()));
    head[12..16].copy_from_slice(&octets(stored));
    head[16..24].copy_from_slice(&first_us.to_le_bytes());
    let sum = checksum(&head[..24], payload);
    head[24..].copy_from_slice(&sum.to_le_bytes());
    HEADER_BYTES + stored
}

/// Opens a whole block (header and payload); `None` when it is damaged.
pub(crate) fn open(block: &[u8]) -> Option<(Header, Vec<u8>)> {
    let header = Header::parse(block)?;
    let payload = block.get(HEADER_BYTES..HEADER_BYTES + header.stored)?;
    if !header.is_whole(block, payload) {
        return None;
    }
    let raw = lz4_flex::block::decompress(payload, header.raw).ok()?;
    Some((header, raw))
}

/// A length in four octets. A block is some 100 kB long, and an entry 1 MB at most.
fn octets(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("a block is shorter than 4 GB").to_le_bytes()
}

/// A number of the disk as a size in memory.
pub(crate) const fn size(number: u32) -> usize {
    number as usize
}

/// Appends one item to a raw payload.
pub(crate) fn push_item(raw: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = raw.len();
    raw.extend_from_slice(&[0; 4]);
    write(raw);
    let length = octets(raw.len() - at - 4);
    raw[at..at + 4].copy_from_slice(&length);
}

/// The items of a raw payload, in order.
pub(crate) fn items(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    core::iter::from_fn(move || {
        let (length, after) = rest.split_at_checked(4)?;
        let (item, after) = after.split_at_checked(size(u32_at(length, 0)))?;
        rest = after;
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_opens_again_and_any_changed_octet_closes_it() {
        let mut raw = Vec::new();
        for word in ["INVITE", "100", "180", ""] {
            push_item(&mut raw, |out| out.extend_from_slice(word.as_bytes()));
        }
        let mut block = Vec::new();
        let label = Label { kind: Kind::Entries, number: 0x1234, count: 4, first_us: 77 };
        let length = seal(label, &raw, &mut block);
        assert_eq!(length, block.len());
        let (header, back) = open(&block).unwrap();
        assert_eq!((header.kind, header.first_us, header.low), (Kind::Entries, 77, Some(0x34)));
        let words: Vec<_> = items(&back).map(<[u8]>::to_vec).collect();
        assert_eq!(words, [b"INVITE".to_vec(), b"100".to_vec(), b"180".to_vec(), b"".to_vec()]);
        for at in 0..block.len() {
            let mut torn = block.clone();
            torn[at] ^= 1;
            assert!(open(&torn).is_none(), "octet {at}");
        }
        assert!(open(&block[..block.len() - 1]).is_none());
    }
}
