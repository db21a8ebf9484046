//! Questions about rows that the nodes of a ring share, and its answers, as words to and from its
//! thread.
//!
//! ```text
//! question = number, 8 · microseconds that a change is of, 8 · 'g' · key
//!                                                            | 'r' · record of a row or of none
//! answer   = number, 8 · 'n'                      there is none, or it is changed
//!                      | 'r' · until, 8 · row
//!                      | 'f' · why, as text
//! ```

use crate::record::Record;
use machine::Time;

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    /// What its answer has.
    pub number: u64,
    /// When the row is from: of two changes the ring keeps the later one.
    pub stamp: u64,
    pub what: What<'a>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What<'a> {
    Get(&'a [u8]),
    Put { key: &'a [u8], row: &'a [u8], until: Time },
    Take(&'a [u8]),
}

impl<'a> Asked<'a> {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.stamp.to_be_bytes());
        match self.what {
            What::Get(key) => {
                out.push(b'g');
                out.extend_from_slice(key);
            }
            What::Put { key, row, until } => {
                out.push(b'r');
                Record::Put { key, row, until }.write(out);
            }
            What::Take(key) => {
                out.push(b'r');
                Record::Take { key }.write(out);
            }
        }
    }

    /// The question of those octets.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let (number, rest) = octets.split_first_chunk::<8>()?;
        let (stamp, rest) = rest.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let what = match kind {
            b'g' => What::Get(rest),
            b'r' => match Record::read(rest)?.0 {
                Record::Put { key, row, until } => What::Put { key, row, until },
                Record::Take { key } => What::Take(key),
                Record::End { .. } | Record::Synced { .. } => return None,
            },
            _ => return None,
        };
        Some(Self { number: u64::from_be_bytes(*number), stamp: u64::from_be_bytes(*stamp), what })
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply<'a> {
    /// The row and its time; of a put nothing.
    Row(Option<(&'a [u8], Time)>),
    /// Why there is none.
    Failed(&'a str),
}

impl<'a> Reply<'a> {
    /// Appends the answer to the question of that number.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_be_bytes());
        match self {
            Self::Row(None) => out.push(b'n'),
            Self::Row(Some((row, until))) => {
                out.push(b'r');
                out.extend_from_slice(&until.as_nanos().to_be_bytes());
                out.extend_from_slice(row);
            }
            Self::Failed(why) => {
                out.push(b'f');
                out.extend_from_slice(why.as_bytes());
            }
        }
    }

    /// The answer of those octets, and the number of its question.
    pub fn read(octets: &'a [u8]) -> Option<(u64, Self)> {
        let (number, rest) = octets.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let told = match kind {
            b'n' => Self::Row(None),
            b'r' => {
                let (until, row) = rest.split_first_chunk::<8>()?;
                Self::Row(Some((row, Time::from_nanos(u64::from_be_bytes(*until)))))
            }
            b'f' => Self::Failed(core::str::from_utf8(rest).ok()?),
            _ => return None,
        };
        Some((u64::from_be_bytes(*number), told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_are_read_as_they_were_written() {
        let until = Time::from_millis(7);
        for what in [What::Get(b"k"), What::Take(b"k"), What::Put { key: b"k", row: b"r", until }] {
            let (asked, mut octets) = (Asked { number: 1, stamp: 2, what }, Vec::new());
            asked.write(&mut octets);
            assert_eq!(Asked::read(&octets), Some(asked));
            assert_eq!(Asked::read(&octets[..16]), None);
        }
        let row = Reply::Row(Some((&b"row"[..], until)));
        for told in [Reply::Row(None), row, Reply::Failed("it is away")] {
            let mut octets = Vec::new();
            told.write(9, &mut octets);
            assert_eq!(Reply::read(&octets), Some((9, told)));
            assert_eq!(Reply::read(&octets[..8]), None);
        }
    }
}
