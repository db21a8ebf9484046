//! What a control process and the forwarder say to one another, over a Unix socket that only the
//! owner of both may open: a length of four octets, then a map in MessagePack.
//!
//! ```text
//!   control                                   forwarder
//!         ←────────────────────────────────── Challenge, where a key is needed
//!   Prove ──────────────────────────────────→
//!   Hello, or Lead of one of two controls ──→
//!         ←────────────────────────────────── Welcome: ports that are open, what was kept
//!   Open, Close, Apply, Keep ───────────────→ in order; what cannot be done: Refused
//!   Ask ────────────────────────────────────→
//!         ←────────────────────────────────── Answer
//!         ←────────────────────────────────── Link, Mac, Worker, Item: what happens by itself
//!   PacketChannel ──────────────────────────→ on a connection of its own
//!         ←────────────────────────────────── PacketChannel, its memory beside it
//! ```
//! Fields that one side does not know are skipped. A message that it does not know ends the
//! connection: a forwarder that a newer control cannot talk to is to be started anew.

use crate::{Item, Mac, MacNotice, Program, Removed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Octets of one message at most; whoever has more to say says it in parts.
pub const MESSAGE_OCTETS_MAX: usize = 16 << 20;
/// Octets of the length before each message.
pub const LENGTH_OCTETS: usize = 4;
/// Octets that a forwarder keeps for its control at most.
pub const MEMO_OCTETS_MAX: usize = 8 << 20;
/// Programs in one message at most: a table of a million routes goes in parts.
pub const PROGRAMS_MAX: usize = 512;

/// How a port is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// AF_XDP on a network device.
    AfXdp {
        /// The device.
        device: String,
    },
    /// AF_PACKET on a network device.
    AfPacket {
        /// The device.
        device: String,
    },
    /// A TAP device, made by the forwarder.
    Tap {
        /// Its name.
        device: String,
    },
    /// Shared memory with another process (memif 2.0).
    Memif {
        /// The socket by which the two find one another.
        socket: String,
        /// Number of the interface on that socket.
        id: u32,
        /// This side offers the memory.
        master: bool,
    },
}

/// A port as it shall be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSpec {
    /// Its number, which the programs of the plane name.
    pub port: u16,
    /// Its name for people.
    pub name: String,
    /// What carries its frames.
    pub driver: Driver,
    /// MAC address; `None`: the device's own.
    #[serde(default)]
    pub mac: Option<[u8; 6]>,
    /// Octets of the longest packet without its Ethernet header.
    pub mtu: u16,
}

/// What a control says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Answers a challenge.
    Prove {
        /// What only who has a key can make of it, for each key.
        proofs: Vec<Vec<u8>>,
    },
    /// First of all, but for a proof where one is needed.
    Hello,
    /// The same of one of several controls: the one of the highest epoch that was ever said leads,
    /// whoever controlled before.
    Lead {
        /// In which it leads.
        epoch: u64,
    },
    /// Opens a port, or opens it anew if it stands in another way.
    Open(PortSpec),
    /// Closes a port.
    Close {
        /// Its number.
        port: u16,
    },
    /// Changes of what is forwarded and how. They hold together from the last one on.
    Apply(Vec<Program>),
    /// Keeps octets for the control that comes next.
    Keep(#[serde(with = "octets")] Vec<u8>),
    /// A question.
    Ask {
        /// Comes back with the answer.
        id: u64,
        /// What is asked.
        path: String,
        /// How: names and values.
        params: Vec<(String, String)>,
    },
    /// Opens a packet channel on this connection.
    #[serde(rename = "door")]
    PacketChannel {
        /// Classes of packets that go by it, and the share of each of a ring's 512 records.
        classes: Vec<(String, u16)>,
        /// That of its control, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
    },
    /// Ends the process.
    Stop,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
const fn is_false(it: &bool) -> bool {
    !*it
}

/// What the forwarder says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Before anything else, of a forwarder that was given a key.
    Challenge {
        /// Drawn at random for this connection.
        #[serde(with = "octets")]
        challenge: Vec<u8>,
    },
    /// To `Hello`.
    Welcome {
        /// Ports that stand.
        ports: Vec<PortSpec>,
        /// What the control before this one had kept.
        #[serde(with = "octets")]
        memo: Vec<u8>,
        /// Whether another system has taken addresses since that was kept.
        #[serde(default, skip_serializing_if = "is_false")]
        is_taken: bool,
    },
    /// Something was not done.
    Refused {
        /// What.
        what: String,
        /// Why.
        why: String,
        /// The name of what was said, if it was a program and has one. A thing of a feature may be
        /// gone since: it is not as it was before either.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Removed>,
    },
    /// To `Ask`.
    Answer {
        /// Of the question.
        id: u64,
        /// What is true, or why that cannot be said.
        answer: Result<Value, String>,
    },
    /// To `PacketChannel`: what the memory beside this message looks like (`packets/rings.rs`).
    #[serde(rename = "door")]
    PacketChannel {
        /// Rings up, one for each worker.
        ups: u16,
        /// 2 to this many records of a ring.
        log2_size: u8,
        /// Octets of a record.
        cell: u32,
    },
    /// Something happened to a MAC address of a bridge domain.
    Mac(MacNotice),
    /// A feature tells its own part of the control something, in its own words.
    Item(Item),
    /// The link of a port came or went.
    Link {
        /// The port.
        port: u16,
        /// Whether it is there.
        up: bool,
        /// Its MAC address, once a worker has opened it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<Mac>,
    },
    /// Something happened to a worker.
    Worker {
        /// Its number.
        worker: u16,
        /// How it stands now.
        state: WorkerState,
        /// The words of its last panic.
        why: String,
    },
}

/// How a worker stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It takes packets.
    #[default]
    Forwards,
    /// It panicked; it begins anew.
    Dead,
    /// It has made no round for 5 s.
    Hung,
}

impl WorkerState {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwards => "forwards",
            Self::Dead => "dead",
            Self::Hung => "hung",
        }
    }
}

/// What is written and read as a whole. How, is compiled here once, and small: not in every crate
/// that speaks.
pub trait Message: Sized {
    /// Appends it, without its length.
    ///
    /// # Errors
    /// What cannot be written.
    fn encode(&self, into: &mut Vec<u8>) -> Result<(), rmp_serde::encode::Error>;

    /// Reads it.
    ///
    /// # Errors
    /// What is no such message.
    fn decode(octets: &[u8]) -> Result<Self, rmp_serde::decode::Error>;
}

macro_rules! messages {
    ($($message:ty),*) => {$(
        impl Message for $message {
            fn encode(&self, into: &mut Vec<u8>) -> Result<(), rmp_serde::encode::Error> {
                rmp_serde::encode::write_named(into, self)
            }

            fn decode(octets: &[u8]) -> Result<Self, rmp_serde::decode::Error> {
                rmp_serde::from_slice(octets)
            }
        }
    )*};
}
messages!(Request, Reply);

/// Appends a message with its length.
///
/// # Errors
/// When it is longer than [`MESSAGE_OCTETS_MAX`]: nothing was appended.
pub fn write<T: Message>(message: &T, into: &mut Vec<u8>) -> Result<(), Broken> {
    let start = into.len();
    into.extend_from_slice(&[0; LENGTH_OCTETS]);
    let written = message.encode(into);
    let length = into.len() - start - LENGTH_OCTETS;
    let told = u32::try_from(length).ok().filter(|_| length <= MESSAGE_OCTETS_MAX);
    let Some(told) = told.filter(|_| written.is_ok()) else {
        into.truncate(start);
        return Err(Broken::Long(length));
    };
    into[start..start + LENGTH_OCTETS].copy_from_slice(&told.to_be_bytes());
    Ok(())
}

/// The first message in `octets` and how many of them it took; `None` if it is not whole yet.
///
/// # Errors
/// When what stands there is no message: the connection is of no use any more.
pub fn read<T: Message>(octets: &[u8]) -> Result<Option<(T, usize)>, Broken> {
    let Some(whole) = whole(octets)? else { return Ok(None) };
    let message = T::decode(&octets[LENGTH_OCTETS..whole]);
    Ok(Some((message.map_err(|why| Broken::Unread(why.to_string()))?, whole)))
}

/// Octets of the first message in `octets`, its length included; `None` if it is not whole yet.
///
/// # Errors
/// When it is too long to be one.
pub fn whole(octets: &[u8]) -> Result<Option<usize>, Broken> {
    let Some(length) = announced(octets) else { return Ok(None) };
    if length > MESSAGE_OCTETS_MAX {
        return Err(Broken::Long(length));
    }
    Ok((octets.len() - LENGTH_OCTETS >= length).then_some(LENGTH_OCTETS + length))
}

/// What the first message in `octets` says of its length.
#[must_use]
pub fn announced(octets: &[u8]) -> Option<usize> {
    octets.first_chunk::<LENGTH_OCTETS>().map(|length| u32::from_be_bytes(*length) as usize)
}

/// Appends programs, in as many messages as they need.
///
/// # Errors
/// When a single one is longer than [`MESSAGE_OCTETS_MAX`].
pub fn write_programs(programs: &[Program], into: &mut Vec<u8>) -> Result<(), Broken> {
    for part in programs.chunks(PROGRAMS_MAX) {
        match write(&Request::Apply(part.to_vec()), into) {
            Err(Broken::Long(_)) if part.len() > 1 => {
                let (one, other) = part.split_at(part.len() / 2);
                write_programs(one, into)?;
                write_programs(other, into)?;
            }
            written => written?,
        }
    }
    Ok(())
}

/// Whether a message stands whole in `octets`, or what can never be one.
#[must_use]
pub fn is_whole(octets: &[u8]) -> bool {
    !matches!(whole(octets), Ok(None))
}

/// Why octets are no message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Broken {
    /// Too long.
    #[error("a message of {0} octets: {MESSAGE_OCTETS_MAX} are allowed")]
    Long(usize),
    /// Not what was agreed.
    #[error("not a message: {0}")]
    Unread(String),
}

/// Octets as one string of octets, not as a list of numbers.
mod octets {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;

    pub(super) fn serialize<S: Serializer>(octets: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(octets)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Octets;
        impl Visitor<'_> for Octets {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("octets")
            }
            fn visit_bytes<E: Error>(self, octets: &[u8]) -> Result<Vec<u8>, E> {
                Ok(octets.to_vec())
            }
        }
        from.deserialize_bytes(Octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PortSpec {
        let driver = Driver::Memif { socket: "/run/memif".into(), id: 3, master: true };
        PortSpec { port: 7, name: "ge7".into(), driver, mac: Some([2; 6]), mtu: 1_500 }
    }

    #[test]
    fn what_was_written_is_read_again_message_after_message() {
        let welcome =
            Reply::Welcome { ports: vec![spec()], memo: vec![0, 255, 1], is_taken: false };
        let answer = Reply::Answer { id: 9, answer: Ok(serde_json::json!([{ "a": [1, null] }])) };
        let mut octets = Vec::new();
        write(&welcome, &mut octets).unwrap();
        let first = octets.len();
        write(&answer, &mut octets).unwrap();
        assert_eq!(read::<Reply>(&octets[..first - 1]).unwrap(), None, "not whole");
        assert_eq!(read(&octets).unwrap(), Some((welcome, first)));
        assert_eq!(read(&octets[first..]).unwrap(), Some((answer, octets.len() - first)));
    }

    #[test]
    fn a_table_of_millions_of_routes_goes_in_as_many_messages_as_it_needs() {
        let route = (std::net::Ipv4Addr::new(203, 0, 113, 255), 32, u32::MAX);
        let routes = vec![route; 8_192];
        let programs = vec![Program::Routes4 { vrf: u32::MAX, routes }; PROGRAMS_MAX + 1];
        let mut octets = Vec::new();
        write_programs(&programs, &mut octets).unwrap();
        let (mut at, mut read_again) = (0, 0);
        while let Some((request, used)) = read(&octets[at..]).unwrap() {
            let Request::Apply(part) = request else { panic!("programs alone") };
            read_again += part.len();
            at += used;
        }
        assert_eq!((at, read_again), (octets.len(), programs.len()));
    }

    #[test]
    fn what_is_no_message_is_refused_in_words() {
        let long = [255, 255, 255, 255, 0];
        assert_eq!(read::<Reply>(&long), Err(Broken::Long(u32::MAX as usize)));
        let noise = [0, 0, 0, 2, 0xC1, 0xC1];
        assert!(matches!(read::<Reply>(&noise), Err(Broken::Unread(_))));
    }
}
