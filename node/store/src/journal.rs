//! A journal read block by block: what is damaged is passed over, and the next block found.
//!
//! A block says by the low octet of its number how many were lost before it (blocks of an earlier
//! version do not: one is taken for lost).

use crate::StoreError;
use crate::block::{HEADER_BYTES, Header, MAGICS};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Octets that are looked through at once for the next block.
const STRETCH: usize = 1 << 20;

/// A whole block and what was passed over before it.
pub(crate) struct Found {
    pub at: u64,
    pub header: Header,
    pub whole: Vec<u8>,
    /// Where the blocks that were lost before it began, and how many they were.
    pub lost: Option<(u64, u32)>,
}

/// Reads a journal from its beginning.
pub(crate) struct Journal<'a> {
    file: &'a File,
    end: u64,
    at: u64,
    number: u32,
}

impl<'a> Journal<'a> {
    pub fn new(file: &'a File) -> Result<Self, StoreError> {
        Ok(Self { file, end: file.metadata()?.len(), at: 0, number: 0 })
    }

    /// Octets of the file.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Where the last whole block ended.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The next whole block; `None` when no more follows.
    pub fn next(&mut self) -> Result<Option<Found>, StoreError> {
        let began = self.at;
        let Some((at, header, whole)) = self.find()? else { return Ok(None) };
        let lost = (at > began).then(|| {
            let many =
                header.low.map(|low| u32::from(low.wrapping_sub(self.number.to_le_bytes()[0])));
            (began, many.unwrap_or(1))
        });
        self.number = self.number.saturating_add(lost.map_or(0, |(_, many)| many) + 1);
        self.at = at + whole.len() as u64;
        Ok(Some(Found { at, header, whole, lost }))
    }

    fn find(&self) -> Result<Option<(u64, Header, Vec<u8>)>, StoreError> {
        if let Some((header, whole)) = self.whole(self.at)? {
            return Ok(Some((self.at, header, whole)));
        }
        // A header that still says how long its block was leads to the next one: what stands in
        // the block itself, which others wrote, is not searched then.
        if let Some(header) = self.header(self.at)? {
            let next = self.at + header.length();
            if let Some((header, whole)) = self.whole(next)? {
                return Ok(Some((next, header, whole)));
            }
        }
        self.search()
    }

    fn search(&self) -> Result<Option<(u64, Header, Vec<u8>)>, StoreError> {
        let mut from = self.at + 1;
        while from + HEADER_BYTES as u64 <= self.end {
            let length = usize::try_from(self.end - from).unwrap_or(STRETCH).min(STRETCH);
            let mut stretch = vec![0; length];
            self.file.read_exact_at(&mut stretch, from)?;
            for (n, four) in stretch.windows(4).enumerate() {
                if !MAGICS.iter().any(|magic| magic.as_slice() == four) {
                    continue;
                }
                let at = from + n as u64;
                if let Some((header, whole)) = self.whole(at)? {
                    return Ok(Some((at, header, whole)));
                }
            }
            // The last three octets may be the begin of one.
            from += (length - 3) as u64;
        }
        Ok(None)
    }

    fn header(&self, at: u64) -> Result<Option<Header>, StoreError> {
        if at + HEADER_BYTES as u64 > self.end {
            return Ok(None);
        }
        let mut head = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut head, at)?;
        Ok(Header::parse(&head))
    }

    fn whole(&self, at: u64) -> Result<Option<(Header, Vec<u8>)>, StoreError> {
        let Some(header) = self.header(at)? else { return Ok(None) };
        if at + header.length() > self.end {
            return Ok(None);
        }
        let mut whole = vec![0; HEADER_BYTES + header.stored];
        self.file.read_exact_at(&mut whole, at)?;
        let is_whole = header.is_whole(&whole, &whole[HEADER_BYTES..]);
        Ok(is_whole.then_some((header, whole)))
    }
}
