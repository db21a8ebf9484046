//! The words of the feature: what it is told ([`Said`], as `Program::Item`) and what it tells
//! ([`Notice`], as `Out::Item`). Names and values are tagged fields ([`wire::field`]); what is no
//! value of a thing is refused with a reason, and nothing of it is believed.
//!
//! ```text
//!   Item.key   RANGE · vrf · address · first port or FLOW · vrf · address · port or DUTY, …
//!   Item.value fields of a Range                  or fields of a FlowSaid        or of those
//!   back:      FLOW · vrf · address · port, fields of a Notice
//! ```
//! A flow is named by its place. Saying it again changes it: what came from, what was counted,
//! rollover counters and indices stay as long as keys and source can stay.

mod fields;
mod flow;
mod notice;

pub use flow::{BRANCHES_MAX, Branch, FlowSaid, Guard, Keys, PAYLOADS_MAX, TIMEOUT_MAX, UP_PER_S};
pub(crate) use notice::DIGITS_MAX;
pub use notice::{Digit, Notice, Snapshot, Statistics, StreamStatistics};

use core::net::IpAddr;
use fields::violation;
use machine::Duration;
use nodes::Token;
use wire::field;
use wire::field::value::{each, end, number, put, required};
use wire::{Cursor, Malformed};

/// The name of the feature.
pub const FEATURE: &str = "media";
/// The class of packets of STUN that come up.
pub const CLASS_STUN: &str = "media/stun";
/// The class of records of DTLS that come up.
pub const CLASS_DTLS: &str = "media/dtls";
/// The class of packets that are transcoded or are digits: they come up, and what is made of them
/// goes down, with the place that it leaves from as its source. Where it goes, how it is marked
/// and enciphered is the flow's.
pub const CLASS_FRAMES: &str = "media/frames";

const RANGE: u8 = 1;
const FLOW: u8 = 2;
const DUTY: u8 = 3;
const TOKENS: u8 = 4;
const FOLLOWED: u8 = 5;
/// Ports of the largest range.
pub const PORTS_MAX: u32 = 65_535;

/// A port of an address in a routing table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The routing table.
    pub vrf: u32,
    /// The address.
    pub address: IpAddr,
    /// The port of UDP.
    pub port: u16,
}

/// Ports that are media's alone: what comes to one without a flow is dropped, and never reaches
/// the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// The routing table.
    pub vrf: u32,
    /// The address.
    pub address: IpAddr,
    /// The first port.
    pub first: u16,
    /// How many, 1 and more; the last is 65,535 at most.
    pub ports: u16,
}

impl Range {
    /// Its first port as a place.
    #[must_use]
    pub const fn start(&self) -> Place {
        Place { vrf: self.vrf, address: self.address, port: self.first }
    }

    /// Whether it has this place.
    #[must_use]
    pub fn has(&self, place: &Place) -> bool {
        let at = place.port.checked_sub(self.first);
        (self.vrf, self.address) == (place.vrf, place.address)
            && at.is_some_and(|at| at < self.ports)
    }
}

/// The name of what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// The range that begins there.
    Range(Place),
    /// The flow that comes there.
    Flow(Place),
    /// Which of the two of a pair this one is.
    Duty,
    /// What those show who take the place of others.
    Tokens,
    /// How far another one has followed that may take its place.
    Followed,
}

impl Name {
    /// As `Item.key`.
    #[must_use]
    pub fn key(&self) -> Vec<u8> {
        let (kind, place) = match self {
            Self::Range(place) => (RANGE, place),
            Self::Flow(place) => (FLOW, place),
            Self::Duty => return vec![DUTY],
            Self::Tokens => return vec![TOKENS],
            Self::Followed => return vec![FOLLOWED],
        };
        let mut key = Vec::with_capacity(23);
        key.push(kind);
        key.extend_from_slice(&place.vrf.to_be_bytes());
        match place.address {
            IpAddr::V4(address) => key.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => key.extend_from_slice(&address.octets()),
        }
        key.extend_from_slice(&place.port.to_be_bytes());
        key
    }

    /// Of an `Item.key`.
    ///
    /// # Errors
    /// What is no name.
    pub fn read(key: &[u8]) -> Result<Self, Malformed> {
        let what = "a name is kind, routing table, address and port";
        match *key {
            [DUTY] => return Ok(Self::Duty),
            [TOKENS] => return Ok(Self::Tokens),
            [FOLLOWED] => return Ok(Self::Followed),
            _ => {}
        }
        let mut cursor = Cursor::new(key, 0, fields::SPEC);
        let kind = cursor.octet(what)?;
        let place = fields::place_of(&mut cursor, what)?;
        end(&cursor)?;
        match kind {
            RANGE => Ok(Self::Range(place)),
            FLOW => Ok(Self::Flow(place)),
            _ => Err(violation("the kind of a name is not known")),
        }
    }
}

/// What the feature is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Ports that are media's.
    Range(Range),
    /// What comes to a port.
    Flow(Box<FlowSaid>),
    /// Which of the two of a pair this one is; one that is not told stands alone.
    Duty(Duty),
    /// What it shows who takes an address of a pair.
    Tokens(Tokens),
    /// All notices up to this number ([`Notice::number`]) are applied by one that may take its
    /// place: nothing goes far beyond. One that is not told is followed by nobody.
    Followed(u64),
}

/// Which of the two forwarders of a pair this one is. Flows of both stand all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It forwards. With another turn than before it goes ahead of all indices that the other one
    /// may have used.
    Serves(u64),
    /// Another one takes its place: what still comes here goes on for [`LATE`], then it stands by.
    Leaves,
    /// It follows the other one, tells nothing, and drops what comes.
    StandsBy,
}

/// How long one that leaves forwards what still comes: neighbours hear of its heir meanwhile.
pub const LATE: Duration = Duration::from_secs(1);

/// What announcements of a pair's addresses show. Each is of one term and told before by the pair's
/// own link: who has not heard it there cannot say that it has taken the place of who served.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// What this one shows.
    pub own: Option<Token>,
    /// What the one shows that takes its place.
    pub heir: Option<Token>,
}

impl core::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tokens({}, {})", self.own.is_some(), self.heir.is_some())
    }
}

mod tokens_tag {
    pub const OWN: u8 = 1;
    pub const HEIR: u8 = 2;
}

mod duty_tag {
    pub const IS: u8 = 1;
    pub const TURN: u8 = 2;
}

mod followed_tag {
    pub const NUMBER: u8 = 1;
}

mod range_tag {
    pub const PORTS: u8 = 1;
}

impl Said {
    /// Under which name.
    #[must_use]
    pub const fn name(&self) -> Name {
        match self {
            Self::Range(range) => Name::Range(range.start()),
            Self::Flow(flow) => Name::Flow(flow.at),
            Self::Duty(_) => Name::Duty,
            Self::Tokens(_) => Name::Tokens,
            Self::Followed(_) => Name::Followed,
        }
    }

    /// As `Item.value`.
    #[must_use]
    pub fn value(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Range(range) => put(&mut out, range_tag::PORTS, range.ports.into()),
            Self::Flow(flow) => flow.write(&mut out),
            Self::Duty(duty) => duty.write(&mut out),
            Self::Tokens(tokens) => tokens.write(&mut out),
            Self::Followed(applied) => put(&mut out, followed_tag::NUMBER, *applied),
        }
        out
    }

    /// Of an item.
    ///
    /// # Errors
    /// What is no such thing.
    pub fn read(key: &[u8], value: &[u8]) -> Result<Self, Malformed> {
        match Name::read(key)? {
            Name::Range(start) => read_range(start, value).map(Self::Range),
            Name::Flow(at) => FlowSaid::read(at, value).map(|flow| Self::Flow(Box::new(flow))),
            Name::Duty => Duty::read(value).map(Self::Duty),
            Name::Tokens => Tokens::read(value).map(Self::Tokens),
            Name::Followed => read_followed(value).map(Self::Followed),
        }
    }
}

impl Tokens {
    fn write(&self, out: &mut Vec<u8>) {
        for (tag, token) in [(tokens_tag::OWN, self.own), (tokens_tag::HEIR, self.heir)] {
            if let Some(token) = token {
                field::bytes(out, tag, &token);
            }
        }
    }

    fn read(value: &[u8]) -> Result<Self, Malformed> {
        let mut tokens = Self::default();
        each(value, |tag, value| {
            let token = || Token::try_from(value).map_err(|_| violation("a token has 16 octets"));
            match tag {
                tokens_tag::OWN => tokens.own = Some(token()?),
                tokens_tag::HEIR => tokens.heir = Some(token()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(tokens)
    }
}

impl Duty {
    fn write(self, out: &mut Vec<u8>) {
        let (is, turn) = match self {
            Self::Serves(turn) => (0, turn),
            Self::Leaves => (1, 0),
            Self::StandsBy => (2, 0),
        };
        put(out, duty_tag::IS, is);
        put(out, duty_tag::TURN, turn);
    }

    fn read(value: &[u8]) -> Result<Self, Malformed> {
        let (mut is, mut turn) = (None, 0);
        each(value, |tag, value| {
            match tag {
                duty_tag::IS => is = Some(number::<u8>(value)?),
                duty_tag::TURN => turn = number(value)?,
                _ => {}
            }
            Ok(())
        })?;
        match required(is)? {
            0 => Ok(Self::Serves(turn)),
            1 => Ok(Self::Leaves),
            2 => Ok(Self::StandsBy),
            _ => Err(violation("a duty is none")),
        }
    }
}

fn read_followed(value: &[u8]) -> Result<u64, Malformed> {
    let mut applied = None;
    each(value, |tag, value| {
        if tag == followed_tag::NUMBER {
            applied = Some(number(value)?);
        }
        Ok(())
    })?;
    required(applied)
}

fn read_range(start: Place, value: &[u8]) -> Result<Range, Malformed> {
    let mut ports = None;
    each(value, |tag, value| {
        if tag == range_tag::PORTS {
            ports = Some(number::<u16>(value)?);
        }
        Ok(())
    })?;
    let ports = required(ports)?;
    if ports == 0 || start.port == 0 || u32::from(start.port) + u32::from(ports) > PORTS_MAX + 1 {
        return Err(violation("a range has no port, or one past the last"));
    }
    Ok(Range { vrf: start.vrf, address: start.address, first: start.port, ports })
}

/// Appends a place as a field.
fn put_place(out: &mut Vec<u8>, tag: u8, place: &Place) {
    field::nested(out, tag, |out| out.extend_from_slice(&Name::Flow(*place).key()[1..]));
}
