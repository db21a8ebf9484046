//! Blocks of a journal: compressed, checksummed, self-delimiting.
//!
//! ```text
//!  0       4      5       6       8        12        16         24         32
//!  | magic | kind | zero  | count | raw    | stored  | first_us | checksum | lz4 payload …
//! ```
//! The checksum (XXH3) covers the header before it and the payload, so that a torn or a stale
//! tail is found. A payload is `count` items of `length u32, octets`; an entry's octets begin
//! with its id.

use crate::record::{u32_at, u64_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Octets of a block's header.
pub(crate) const HEADER_BYTES: usize = 32;
/// Raw octets above which a block is closed: 64 KB is as far as lz4 looks back.
pub(crate) const RAW_BYTES_AIM: usize = 96 * 1024;
/// Largest raw payload that is believed when a journal is read.
pub(crate) const RAW_BYTES_MAX: usize = 4 << 20;
/// Items of one block.
pub(crate) const ITEMS_MAX: usize = u16::MAX as usize;

const MAGIC: u32 = u32::from_le_bytes(*b"TJB1");

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
    pub raw: usize,
    pub stored: usize,
    pub first_us: u64,
    pub checksum: u64,
}

impl Header {
    /// Reads a header; `None` when these octets are not one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER_BYTES || u32_at(bytes, 0) != MAGIC {
            return None;
        }
        let header = Self {
            kind: Kind::ALL.into_iter().find(|kind| kind.number() == bytes[4])?,
            raw: u32_at(bytes, 8) as usize,
            stored: u32_at(bytes, 12) as usize,
            first_us: u64_at(bytes, 16),
            checksum: u64_at(bytes, 24),
        };
        (header.raw <= RAW_BYTES_MAX && header.stored <= RAW_BYTES_MAX * 2).then_some(header)
    }

    /// Whether `head` (the header's octets) and `payload` are what was written.
    pub fn is_whole(&self, head: &[u8], payload: &[u8]) -> bool {
        checksum(&head[..24], payload) == self.checksum
    }
}

fn checksum(head: &[u8], payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, xxh3_64_with_seed(head, 0))
}

/// Compresses `raw` and appends the whole block to `out`; returns its length.
pub(crate) fn seal(kind: Kind, count: u16, first_us: u64, raw: &[u8], out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.resize(start + HEADER_BYTES + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
    let stored = lz4_flex::block::compress_into(raw, &mut out[start + HEADER_BYTES..])
        .expect("the buffer has the size that lz4 asks for");
    out.truncate(start + HEADER_BYTES + stored);
    let (head, payload) = out[start..].split_at_mut(HEADER_BYTES);
    head[..4].copy_from_slice(&MAGIC.to_le_bytes());
    head[4] = kind.number();
    head[6..8].copy_from_slice(&count.to_le_bytes());
    head[8..12].copy_from_slice(&(raw.len() as u32).to_le_bytes());
    head[12..16].copy_from_slice(&(stored as u32).to_le_bytes());
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

/// Appends one item to a raw payload.
pub(crate) fn push_item(raw: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = raw.len();
    raw.extend_from_slice(&[0; 4]);
    write(raw);
    let length = (raw.len() - at - 4) as u32;
    raw[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// The items of a raw payload, in order.
pub(crate) fn items(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    core::iter::from_fn(move || {
        let (length, after) = rest.split_at_checked(4)?;
        let (item, after) = after.split_at_checked(u32_at(length, 0) as usize)?;
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
        let length = seal(Kind::Entries, 4, 77, &raw, &mut block);
        assert_eq!(length, block.len());
        let (header, back) = open(&block).unwrap();
        assert_eq!((header.kind, header.first_us), (Kind::Entries, 77));
        let words: Vec<_> = items(&back).map(<[u8]>::to_vec).collect();
        assert_eq!(words, [b"INVITE".to_vec(), b"100".to_vec(), b"180".to_vec(), b"".to_vec()]);
        for at in (0..block.len()).filter(|&at| at != 5) {
            let mut torn = block.clone();
            torn[at] ^= 1;
            assert!(open(&torn).is_none(), "octet {at}");
        }
        assert!(open(&block[..block.len() - 1]).is_none());
    }
}
