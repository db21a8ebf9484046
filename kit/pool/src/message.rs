//! Reports and grants as octets. What follows the known fields is of a later version and passed
//! over; authentication is the carrier's.

use crate::{Grant, Report};
use machine::Time;

/// First octets of every message: its name and version.
const MAGIC: &[u8; 4] = b"TDP1";
const REPORT: u8 = 1;
const GRANT: u8 = 2;
/// Longest name of a function, octets.
pub const NAME_BYTES_MAX: usize = 255;

/// A message that was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A function's shard reports.
    Report(&'a str, u16, Report),
    /// The answer to it.
    Grant(&'a str, u16, Grant),
}

/// Appends a message. A name that is too long is cut.
pub fn write(out: &mut Vec<u8>, message: &Message<'_>) {
    let (kind, name, shard) = match message {
        Message::Report(name, shard, _) => (REPORT, name, shard),
        Message::Grant(name, shard, _) => (GRANT, name, shard),
    };
    let name = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
    out.extend_from_slice(MAGIC);
    out.push(kind);
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    out.extend_from_slice(&shard.to_be_bytes());
    let (wide, narrow) = match message {
        Message::Report(_, _, report) => {
            let Report { keeper, life, stamp, serial, held, live, short } = *report;
            ([keeper, life, stamp.as_nanos(), serial], [held, live, short])
        }
        Message::Grant(_, _, grant) => {
            let Grant { keeper, life, stamp, serial, block, spare } = *grant;
            ([keeper, life, stamp.as_nanos(), serial], [block, spare, 0])
        }
    };
    wide.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    narrow.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}

/// Reads a message; `None`: it is not one, or of a kind that this version does not know.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<Message<'_>> {
    let (&kind, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (name, rest) = rest.split_at_checked(length.into())?;
    let name = core::str::from_utf8(name).ok()?;
    let (shard, rest) = rest.split_first_chunk()?;
    let shard = u16::from_be_bytes(*shard);
    let (wide, rest) = rest.split_first_chunk::<32>()?;
    let (narrow, _) = rest.split_first_chunk::<12>()?;
    let [keeper, life, stamp, serial] =
        core::array::from_fn(|n| wide[8 * n..].first_chunk().map_or(0, |w| u64::from_be_bytes(*w)));
    let [first, second, third] = core::array::from_fn(|n| {
        narrow[4 * n..].first_chunk().map_or(0, |w| u32::from_be_bytes(*w))
    });
    let stamp = Time::from_nanos(stamp);
    match kind {
        REPORT => {
            let (held, live, short) = (first, second, third);
            let report = Report { keeper, life, stamp, serial, held, live, short };
            Some(Message::Report(name, shard, report))
        }
        GRANT => {
            let (block, spare) = (first, second);
            let grant = Grant { keeper, life, stamp, serial, block, spare };
            Some(Message::Grant(name, shard, grant))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_no_part_of_it_is() {
        let stamp = Time::from_nanos(9);
        let report = Report { keeper: 1, life: 2, stamp, serial: 4, held: 5, live: 6, short: 7 };
        let grant = Grant { keeper: 1, life: 2, stamp, serial: 4, block: 5, spare: 6 };
        for message in [Message::Report("ssc1", 3, report), Message::Grant("ssc1", 3, grant)] {
            let mut bytes = Vec::new();
            write(&mut bytes, &message);
            assert_eq!(read(&bytes), Some(message));
            for length in 0..bytes.len() {
                assert_eq!(read(&bytes[..length]), None, "{length}");
            }
            bytes.extend_from_slice(b"of a later version");
            assert_eq!(read(&bytes), Some(message));
            bytes[4] = 99;
            assert_eq!(read(&bytes), None, "a kind of a later version");
        }
    }
}
