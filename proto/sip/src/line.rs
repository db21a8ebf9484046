//! Where lines end (RFC 3261 §7): one look at every octet of the header.

use crate::lanes::{LANES, Lanes};
use wire::Malformed;

const SPEC: &str = "RFC 3261 §7";
/// Octets looked at in one go, one bit for each.
const BLOCK: usize = u64::BITS as usize;

/// The line ends of a text, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct LineEnds<'a> {
    bytes: &'a [u8],
    /// Where the block starts that was looked at.
    block: usize,
    /// Its controls (the tab is one) that were not met yet.
    controls: u64,
}

impl<'a> LineEnds<'a> {
    /// The line ends from `at` on.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, block: at, controls: controls(bytes, at) }
    }

    /// The position of the next CRLF.
    ///
    /// # Errors
    /// A CR or LF that stands alone; no line end any more.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<usize, Malformed> {
        loop {
            let at = self.control();
            match self.bytes.get(at) {
                Some(b'\r') if self.bytes.get(at + 1) == Some(&b'\n') => {
                    self.control();
                    return Ok(at);
                }
                Some(b'\r' | b'\n') => {
                    return Err(Malformed::new(at, "CR or LF that is no line end", SPEC));
                }
                Some(_) => {}
                None => return Err(Malformed::new(at, "no empty line after the header", SPEC)),
            }
        }
    }

    /// The position of the next control, or the end.
    #[inline]
    fn control(&mut self) -> usize {
        while self.controls == 0 {
            self.block += BLOCK;
            if self.block >= self.bytes.len() {
                self.block = self.bytes.len();
                return self.block;
            }
            self.controls = controls(self.bytes, self.block);
        }
        let at = self.block + self.controls.trailing_zeros() as usize;
        self.controls &= self.controls - 1;
        at
    }
}

/// One bit for each of the 64 octets from `at` on that is a control.
#[inline]
fn controls(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or(b"");
    if let Some(block) = rest.first_chunk() {
        return block_controls(block);
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block_controls(&block)
}

#[inline]
fn block_controls(block: &[u8; BLOCK]) -> u64 {
    let (chunks, _) = block.as_chunks::<LANES>();
    chunks.iter().rev().fold(0, |controls, chunk| {
        controls << LANES | u64::from(Lanes::load(chunk).within(0, 0x1f).bits())
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
                        assert_eq!(ends.next().map_err(|offence| offence.at), wanted, "{text:?}");
                        let Ok(end) = wanted else { break };
                        from = end + 2;
                    }
                }
            }
        }
    }
}
