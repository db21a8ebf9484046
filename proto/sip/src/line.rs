//! Where lines end (RFC 3261 §7): one look at every octet of the header.

use crate::lanes::{LANES, Lanes};
use wire::Malformed;

const SPEC: &str = "RFC 3261 §7";
/// Octets looked at in one go, one bit for each.
const BLOCK: usize = u64::BITS as usize;
const ALONE: &str = "CR or LF that is no line end";

/// The line ends of a text, one after the other.
#[derive(Debug, Clone)]
pub struct LineEnds<'a> {
    bytes: &'a [u8],
    /// Where the block starts that was looked at.
    block: usize,
    /// The LFs in it that end lines and were not met yet.
    ends: u64,
    /// The first octet in it that ought to be an LF and is none, or is one and ought not to be.
    odd: u64,
    /// Whether it ends with a CR.
    is_cut: bool,
}

impl<'a> LineEnds<'a> {
    /// The line ends from `at` on.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        let mut ends = Self { bytes, block: at, ends: 0, odd: 0, is_cut: false };
        ends.look();
        ends
    }

    /// The position of the next CRLF.
    ///
    /// # Errors
    /// A CR or LF that stands alone; no line end any more.
    #[inline(always)]
    pub fn step(&mut self) -> Result<usize, Malformed> {
        while self.ends == 0 {
            if self.odd != 0 || self.block + BLOCK >= self.bytes.len() {
                return Err(self.violation());
            }
            self.block += BLOCK;
            self.look();
        }
        let feed = self.block + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        Ok(feed - 1)
    }

    /// Looks at the block.
    #[inline]
    fn look(&mut self) {
        let (returns, feeds) = line_octets(self.bytes, self.block);
        let odd = feeds ^ (returns << 1 | u64::from(self.is_cut));
        self.odd = odd & odd.wrapping_neg();
        self.ends = feeds & self.odd.wrapping_sub(1);
        self.is_cut = returns >> (BLOCK - 1) != 0;
    }

    /// Why there is no line end.
    #[cold]
    fn violation(&self) -> Malformed {
        let octets = self.bytes.len();
        let (at, what) = match self.odd {
            0 if self.is_cut => (octets - 1, ALONE),
            0 => (octets.max(self.block), "no empty line after the header"),
            odd => {
                let at = self.block + odd.trailing_zeros() as usize;
                (if self.bytes.get(at) == Some(&b'\n') { at } else { at - 1 }, ALONE)
            }
        };
        Malformed::new(at, what, SPEC)
    }
}

/// One bit for each of the 64 octets from `at` on that is a CR, and one for each LF.
#[inline]
fn line_octets(bytes: &[u8], at: usize) -> (u64, u64) {
    let rest = bytes.get(at..).unwrap_or(b"");
    if let Some(block) = rest.first_chunk() {
        return block_octets(block);
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block_octets(&block)
}

#[inline]
fn block_octets(block: &[u8; BLOCK]) -> (u64, u64) {
    let (chunks, _) = block.as_chunks::<LANES>();
    chunks.iter().rev().fold((0, 0), |(returns, feeds), chunk| {
        let lanes = Lanes::load(chunk);
        let bits = |octet| u64::from(lanes.equal(octet).bits());
        (returns << LANES | bits(b'\r'), feeds << LANES | bits(b'\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by the octet.
    fn slow(bytes: &[u8], from: usize) -> Result<usize, usize> {
        let is_end = |&at: &usize| matches!(bytes[at], b'\r' | b'\n');
        let at = (from..bytes.len()).find(is_end).ok_or(bytes.len())?;
        if bytes[at..].starts_with(b"\r\n") { Ok(at) } else { Err(at) }
    }

    #[test]
    fn lines_of_any_length_end_where_a_reader_by_the_octet_says() {
        for length in 0..200 {
            for start in [0, 1, 63, 64, 65] {
                let mut text = vec![b'x'; start];
                text.extend(vec![b'\t'; length / 7]);
                text.extend(vec![b'y'; length]);
                text.extend_from_slice(b"\r\nz\r\n\r\n");
                for tail in [&b""[..], b"\r", b"\n", b"more"] {
                    let mut text = text.clone();
                    text.extend_from_slice(tail);
                    let mut ends = LineEnds::new(&text, start);
                    let mut from = start;
                    for _ in 0..4 {
                        let wanted = slow(&text, from);
                        assert_eq!(
                            ends.step().map_err(|violation| violation.at),
                            wanted,
                            "{text:?}"
                        );
                        let Ok(end) = wanted else { break };
                        from = end + 2;
                    }
                }
            }
        }
    }
}
