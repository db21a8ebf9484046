//! What stands in a file of the journal, one behind the other.
//!
//! ```text
//! record = octets of the body, 4 · CRC32C of the body, 4 · body
//! body   = 'p' · until, 8 · octets of the key, 2 · key · row       a row that stands
//!        = 't' · key                                               no row there any more
//!        = 'e' · records before it, 8                              the end of a snapshot
//!        = 's' · number of the log, 8 · octets, 8              so many of its octets are on disk
//! ```
//! The number of a log is random: no row that somebody sends can have in it what looks like the
//! last of these.

use machine::Time;

/// Octets in front of a body.
pub(crate) const HEAD: usize = 8;
/// Octets of a body, at most.
pub(crate) const BODY_MAX: usize = 1 << 20;
/// Octets of a key, at most.
pub(crate) const KEY_MAX: usize = 1 << 12;

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A row that stands.
    Put { key: &'a [u8], row: &'a [u8], until: Time },
    /// No row there any more.
    Take { key: &'a [u8] },
    /// The end of a snapshot of so many records.
    End { count: u64 },
    /// So many octets from the beginning of the log of that number were on disk before this.
    Synced { log: [u8; 8], octets: u64 },
}

/// Octets of [`Record::Synced`].
pub(crate) const SYNCED_OCTETS: usize = HEAD + 17;

impl<'a> Record<'a> {
    /// Appends the record.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        self.write_body(out);
        let body = &out[start + HEAD..];
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        let sum = crc32c::crc32c(body).to_be_bytes();
        out[start..start + 4].copy_from_slice(&length);
        out[start + 4..start + HEAD].copy_from_slice(&sum);
    }

    /// Appends what it says, alone.
    pub fn write_body(&self, out: &mut Vec<u8>) {
        match self {
            Self::Put { key, row, until } => {
                out.push(b'p');
                out.extend_from_slice(&until.as_nanos().to_be_bytes());
                let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(key);
                out.extend_from_slice(row);
            }
            Self::Take { key } => {
                out.push(b't');
                out.extend_from_slice(key);
            }
            Self::End { count } => {
                out.push(b'e');
                out.extend_from_slice(&count.to_be_bytes());
            }
            Self::Synced { log, octets } => {
                out.push(b's');
                out.extend_from_slice(log);
                out.extend_from_slice(&octets.to_be_bytes());
            }
        }
    }

    /// The first record, and how many octets it has; none if it is not whole.
    pub fn read(octets: &'a [u8]) -> Option<(Self, usize)> {
        let (head, rest) = octets.split_at_checked(HEAD)?;
        let length = usize::try_from(be32(&head[..4])).ok().filter(|it| *it <= BODY_MAX)?;
        let body = rest.get(..length)?;
        if crc32c::crc32c(body) != be32(&head[4..]) {
            return None;
        }
        Some((Self::of(body)?, HEAD + length))
    }

    /// What a body says.
    pub fn of(body: &'a [u8]) -> Option<Self> {
        let (kind, rest) = body.split_first()?;
        match kind {
            b'p' => {
                let (until, rest) = rest.split_first_chunk::<8>()?;
                let (length, rest) = rest.split_first_chunk::<2>()?;
                let (key, row) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
                let until = Time::from_nanos(u64::from_be_bytes(*until));
                Some(Self::Put { key, row, until })
            }
            b't' => Some(Self::Take { key: rest }),
            b'e' => Some(Self::End { count: u64::from_be_bytes(rest.try_into().ok()?) }),
            b's' => {
                let (log, octets) = rest.split_first_chunk::<8>()?;
                Some(Self::Synced {
                    log: *log,
                    octets: u64::from_be_bytes(octets.try_into().ok()?),
                })
            }
            _ => None,
        }
    }
}

fn be32(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |number, octet| number << 8 | u32::from(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_one_that_is_cut_or_changed_is_none() {
        let until = Time::from_millis(77);
        for record in [
            Record::Put { key: b"k", row: b"row", until },
            Record::Put { key: b"", row: b"", until },
            Record::Take { key: b"k" },
            Record::End { count: 3 },
            Record::Synced { log: *b"a number", octets: 9 },
        ] {
            let mut octets = Vec::new();
            record.write(&mut octets);
            assert_eq!(Record::read(&octets), Some((record, octets.len())));
            assert_eq!(Record::read(&octets[..octets.len() - 1]), None);
            let last = octets.len() - 1;
            octets[last] ^= 1;
            assert_eq!(Record::read(&octets), None, "its sum is another");
        }
        assert_eq!(Record::read(&[0xff; 64]), None, "a length beyond all");
    }
}
