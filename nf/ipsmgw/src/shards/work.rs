//! What shards hand to each other, as octets: a kind, the number that it is of, and the rest. Both
//! ends are of the same process: what cannot be read is discarded.

use smsip::{Received, Register, Sending, Sent};
use wire::{Cursor, Malformed};

const SPEC: &str = "work of a short message gateway's shards";
const CUT: &str = "work is cut off";

const ANEW: u8 = 1;
const BORN: u8 = 2;
const REGISTERED: u8 = 3;
const CAME: u8 = 4;
const ANSWERED: u8 = 5;
const NEXT_HOP: u8 = 6;
const RESPOND: u8 = 7;
const TRAIL: u8 = 8;
const SEND: u8 = 9;

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    /// The first shard has begun: nothing that it asked for before counts.
    Anew,
    /// A further shard has begun: it has no transaction.
    Born,
    /// A third-party REGISTER came: its transaction, and it.
    Registered(u64, Box<Register>),
    /// A MESSAGE came.
    Came(u64, Box<Received>),
    /// A MESSAGE of ours had its final response, or none.
    Answered(Sent, u16),
    /// A next hop takes messages again.
    NextHop,
    /// A request is answered.
    Respond(u64, u16),
    /// The trail of a request is that of what it answers.
    Trail(u64, u64),
    /// A MESSAGE is to be sent.
    Send(Box<Sending>),
}

impl Work {
    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Anew => out.push(ANEW),
            Self::Born => out.push(BORN),
            Self::NextHop => out.push(NEXT_HOP),
            Self::Registered(transaction, it) => {
                head(out, REGISTERED, *transaction);
                it.write(out);
            }
            Self::Came(transaction, it) => {
                head(out, CAME, *transaction);
                it.write(out);
            }
            Self::Answered(it, status) => {
                out.push(ANSWERED);
                out.extend(status.to_be_bytes());
                it.write(out);
            }
            Self::Respond(transaction, status) => {
                head(out, RESPOND, *transaction);
                out.extend(status.to_be_bytes());
            }
            Self::Trail(transaction, trail) => {
                head(out, TRAIL, *transaction);
                out.extend(trail.to_be_bytes());
            }
            Self::Send(it) => {
                out.push(SEND);
                it.write(out);
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is cut off, and what is no work.
    pub(crate) fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        let it = &mut cursor;
        Ok(match it.octet(CUT)? {
            ANEW => Self::Anew,
            BORN => Self::Born,
            NEXT_HOP => Self::NextHop,
            REGISTERED => Self::Registered(it.be64(CUT)?, Box::new(Register::read(it.rest())?)),
            CAME => Self::Came(it.be64(CUT)?, Box::new(Received::read(it.rest())?)),
            ANSWERED => {
                let status = it.be16(CUT)?;
                Self::Answered(Sent::read(it.rest())?, status)
            }
            RESPOND => Self::Respond(it.be64(CUT)?, it.be16(CUT)?),
            TRAIL => Self::Trail(it.be64(CUT)?, it.be64(CUT)?),
            SEND => Self::Send(Box::new(Sending::read(it.rest())?)),
            _ => return Err(it.violation("it is no work")),
        })
    }
}

fn head(out: &mut Vec<u8>, kind: u8, number: u64) {
    out.push(kind);
    out.extend(number.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsip::{Body, Route};

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_no_other_work() {
        let number = Sent { flow: u64::MAX - 1, attempt: 3 };
        let sending = Sending {
            number,
            to: "sip:bob@ims.example.org".to_owned(),
            route: Route::Interrogating,
            call_id: "1-2-3".to_owned(),
            in_reply_to: None,
            body: Body::Rp(vec![1, 2, 3]),
            trail: 10,
        };
        let all = [
            Work::Anew,
            Work::Born,
            Work::NextHop,
            Work::Answered(number, 503),
            Work::Respond(1 << 48 | 9, 202),
            Work::Trail(10, 11),
            Work::Send(Box::new(sending)),
        ];
        for work in all {
            let mut octets = Vec::new();
            work.write(&mut octets);
            assert_eq!(Work::read(&octets).expect("it is work"), work);
            for length in 0..octets.len() {
                assert!(Work::read(&octets[..length]).is_err(), "{work:?} of {length}");
            }
        }
        assert!(Work::read(&[99]).is_err() && Work::read(&[]).is_err());
    }
}
