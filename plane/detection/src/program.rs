//! The words of the feature: what it is told ([`Said`], as `Program::Item`) and what it tells
//! ([`Notice`], as `Out::Item`), each under the interface and the address of a neighbour.

use bfd::{AuthType, Authentication, Diagnostic, Key, State};
use machine::Duration;
use std::net::IpAddr;
use wire::field;
use wire::field::value::{address, each, flag, number, push_address, put, put_address, required};
use wire::{Cursor, Malformed};

/// The name of the feature.
pub const FEATURE: &str = "bfd";
/// The document of these words: their page.
const SPEC: &str = "plane/detection program";
/// Intervals of sessions, microseconds.
const INTERVAL_US: core::ops::RangeInclusive<u32> = 5_000..=60_000_000;

/// A neighbour: its interface and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Where it is.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
}

/// A session that shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The neighbour.
    pub name: Name,
    /// From which own address its packets leave.
    pub local: IpAddr,
    /// By which hop of the control.
    pub hop: u32,
    /// Which of the sessions of that name: a session with another number begins anew.
    pub turn: u32,
    /// The interval of packets, both ways.
    pub interval: Duration,
    /// So many that stay away make the neighbour lost.
    pub multiplier: u8,
    /// Its operator has put it down.
    pub is_shut: bool,
    /// What authenticates its packets.
    pub authentication: Option<Authentication>,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notice {
    /// Which of the sessions of that name.
    pub turn: u32,
    /// Its state.
    pub state: Option<State>,
    /// Why it went down last.
    pub diagnostic: Option<Diagnostic>,
    /// The neighbour's state, as it said it last.
    pub remote_state: Option<State>,
    /// The neighbour is lost: it was there, and did not say that its operator put it down.
    pub is_lost: bool,
    /// Our discriminator, and the neighbour's.
    pub discriminators: [u32; 2],
    /// The interval of our packets in force, microseconds.
    pub interval_us: u32,
    /// Time without a packet after which the neighbour is lost, microseconds.
    pub detection_us: u32,
    /// How often it left the state Up.
    pub downs: u32,
    /// When it did so last, milliseconds of the forwarder's clock; 0: never.
    pub down_at_ms: u64,
    /// Packets that came and were believed.
    pub received: u64,
    /// Packets that left.
    pub sent: u64,
    /// Packets that came in its neighbour's name and did not name it as they must.
    pub misnamed: u32,
}

mod said_tag {
    pub const LOCAL: u8 = 1;
    pub const HOP: u8 = 2;
    pub const TURN: u8 = 3;
    pub const INTERVAL_US: u8 = 4;
    pub const MULTIPLIER: u8 = 5;
    pub const IS_SHUT: u8 = 6;
    pub const AUTHENTICATION: u8 = 7;
    pub const KEY: u8 = 8;
}

mod notice_tag {
    pub const TURN: u8 = 1;
    pub const STATE: u8 = 2;
    pub const DIAGNOSTIC: u8 = 3;
    pub const REMOTE_STATE: u8 = 4;
    pub const IS_LOST: u8 = 5;
    pub const DISCRIMINATOR: u8 = 6;
    pub const REMOTE_DISCRIMINATOR: u8 = 7;
    pub const INTERVAL_US: u8 = 8;
    pub const DETECTION_US: u8 = 9;
    pub const DOWNS: u8 = 10;
    pub const DOWN_AT_MS: u8 = 11;
    pub const RECEIVED: u8 = 12;
    pub const SENT: u8 = 13;
    pub const MISNAMED: u8 = 14;
}

const fn violation(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

impl Name {
    /// As `Item.key`.
    #[must_use]
    pub fn key(&self) -> Vec<u8> {
        let mut key = self.interface.to_be_bytes().to_vec();
        push_address(&mut key, self.address);
        key
    }

    /// Of an item.
    ///
    /// # Errors
    /// What is no such name.
    pub fn read(key: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(key, 0, SPEC);
        let interface = cursor.be32("a name begins with an interface")?;
        Ok(Self { interface, address: address(cursor.rest())? })
    }
}

impl Said {
    /// As `Item.value`.
    #[must_use]
    pub fn value(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_address(&mut out, said_tag::LOCAL, self.local);
        put(&mut out, said_tag::HOP, self.hop.into());
        put(&mut out, said_tag::TURN, self.turn.into());
        put(&mut out, said_tag::INTERVAL_US, machine::narrow::micros(self.interval));
        put(&mut out, said_tag::MULTIPLIER, self.multiplier.into());
        put(&mut out, said_tag::IS_SHUT, self.is_shut.into());
        if let Some(it) = &self.authentication {
            put(&mut out, said_tag::AUTHENTICATION, it.kind().number().into());
            for key in it.keys() {
                field::nested(&mut out, said_tag::KEY, |out| {
                    out.push(key.id());
                    out.extend_from_slice(key.expose());
                });
            }
        }
        out
    }

    /// Of an item.
    ///
    /// # Errors
    /// What is no such session.
    pub fn read(key: &[u8], value: &[u8]) -> Result<Self, Malformed> {
        let name = Name::read(key)?;
        let (mut local, mut hop, mut turn, mut interval) = (None, None, 0, None);
        let (mut multiplier, mut is_shut, mut kind) = (None, false, None);
        let mut keys: Vec<(u8, zeroize::Zeroizing<Vec<u8>>)> = Vec::new();
        each(value, |tag, value| {
            match tag {
                said_tag::LOCAL => local = Some(address(value)?),
                said_tag::HOP => hop = Some(number(value)?),
                said_tag::TURN => turn = number(value)?,
                said_tag::INTERVAL_US => interval = Some(number::<u32>(value)?),
                said_tag::MULTIPLIER => multiplier = Some(number::<u8>(value)?),
                said_tag::IS_SHUT => is_shut = flag(value)?,
                said_tag::AUTHENTICATION => kind = Some(number::<u8>(value)?),
                said_tag::KEY => {
                    let (id, secret) = value.split_first().ok_or(violation("a key is empty"))?;
                    keys.push((*id, secret.to_vec().into()));
                }
                _ => {}
            }
            Ok(())
        })?;
        let interval = required(interval)?;
        if !INTERVAL_US.contains(&interval) {
            return Err(violation("an interval is not 5 ms to a minute"));
        }
        let multiplier = required(multiplier)?;
        if multiplier == 0 {
            return Err(violation("a multiplier is 0"));
        }
        let local = required(local)?;
        if local.is_ipv4() != name.address.is_ipv4() {
            return Err(violation("both ends are of one family"));
        }
        Ok(Self {
            name,
            local,
            hop: required(hop)?,
            turn,
            interval: Duration::from_micros(interval.into()),
            multiplier,
            is_shut,
            authentication: kind.map(|kind| authentication(kind, &keys)).transpose()?,
        })
    }
}

fn authentication(
    kind: u8,
    keys: &[(u8, zeroize::Zeroizing<Vec<u8>>)],
) -> Result<Authentication, Malformed> {
    let kind = AuthType::of(kind).ok_or(violation("a kind of authentication is none"))?;
    let keys = keys.iter().map(|(id, secret)| Key::new(kind, *id, secret));
    let keys = keys.collect::<Option<Vec<Key>>>().ok_or(violation("a key is too long"))?;
    Authentication::new(kind, keys).ok_or(violation("there are 1 to 8 keys"))
}

impl Notice {
    /// As `Item.value`.
    #[must_use]
    pub fn value(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let state = |it: Option<State>| it.map(|it| u64::from(it.number()));
        let diagnostic = self.diagnostic.map(|it| u64::from(it.number()));
        let words = [
            (notice_tag::STATE, state(self.state)),
            (notice_tag::DIAGNOSTIC, diagnostic),
            (notice_tag::REMOTE_STATE, state(self.remote_state)),
            (notice_tag::TURN, Some(self.turn.into())),
            (notice_tag::IS_LOST, Some(self.is_lost.into())),
            (notice_tag::DISCRIMINATOR, Some(self.discriminators[0].into())),
            (notice_tag::REMOTE_DISCRIMINATOR, Some(self.discriminators[1].into())),
            (notice_tag::INTERVAL_US, Some(self.interval_us.into())),
            (notice_tag::DETECTION_US, Some(self.detection_us.into())),
            (notice_tag::DOWNS, Some(self.downs.into())),
            (notice_tag::DOWN_AT_MS, Some(self.down_at_ms)),
            (notice_tag::RECEIVED, Some(self.received)),
            (notice_tag::SENT, Some(self.sent)),
            (notice_tag::MISNAMED, Some(self.misnamed.into())),
        ];
        let said = words.into_iter().filter_map(|(tag, value)| Some((tag, value?)));
        said.for_each(|(tag, value)| put(&mut out, tag, value));
        out
    }

    /// Of an item.
    ///
    /// # Errors
    /// What is no notice.
    pub fn read(value: &[u8]) -> Result<Self, Malformed> {
        let mut it = Self::default();
        each(value, |tag, value| {
            match tag {
                notice_tag::TURN => it.turn = number(value)?,
                notice_tag::STATE => it.state = State::of(number(value)?),
                notice_tag::DIAGNOSTIC => it.diagnostic = Diagnostic::of(number(value)?),
                notice_tag::REMOTE_STATE => it.remote_state = State::of(number(value)?),
                notice_tag::IS_LOST => it.is_lost = flag(value)?,
                notice_tag::DISCRIMINATOR => it.discriminators[0] = number(value)?,
                notice_tag::REMOTE_DISCRIMINATOR => it.discriminators[1] = number(value)?,
                notice_tag::INTERVAL_US => it.interval_us = number(value)?,
                notice_tag::DETECTION_US => it.detection_us = number(value)?,
                notice_tag::DOWNS => it.downs = number(value)?,
                notice_tag::DOWN_AT_MS => it.down_at_ms = number(value)?,
                notice_tag::RECEIVED => it.received = number(value)?,
                notice_tag::SENT => it.sent = number(value)?,
                notice_tag::MISNAMED => it.misnamed = number(value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(it)
    }
}
