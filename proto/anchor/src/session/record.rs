//! A session as tagged fields: for the standby of whoever keeps the call.

use super::Session;
use crate::guard::OwnKeys;
use crate::line::Line;
use crate::pending::{Answer, FORKS_MAX, Kept, Pending};
use crate::port::Local;
use crate::row::{read_stream, write_stream};
use crate::session::LINES_MAX;
use crate::side::{Fork, Side};
use crate::towards::Towards;
use crate::write::Credentials;
use core::net::IpAddr;
use srtp::{MasterKey, Suite};
use wire::field::{self, Fields};

mod tag {
    pub const TOWARDS_A: u8 = 1;
    pub const TOWARDS_B: u8 = 2;
    pub const LINE: u8 = 3;
    pub const OFFER: u8 = 4;
    pub const IS_SETTLED: u8 = 5;
    pub const GENERATION: u8 = 6;
}

mod towards_tag {
    pub const ID: u8 = 1;
    pub const VERSION: u8 = 2;
    pub const DIGEST: u8 = 3;
}

mod line_tag {
    pub const LOCAL_A: u8 = 1;
    pub const LOCAL_B: u8 = 2;
    pub const KEY_A: u8 = 3;
    pub const KEY_B: u8 = 4;
    pub const ICE_A: u8 = 5;
    pub const ICE_B: u8 = 6;
    pub const STREAM: u8 = 7;
    pub const GENERATION: u8 = 8;
}

mod offer_tag {
    pub const FROM_B: u8 = 1;
    pub const TEXT: u8 = 2;
    pub const SOURCE: u8 = 3;
    pub const TOLD: u8 = 4;
    pub const LINES_BEFORE: u8 = 5;
    pub const FRESH: u8 = 6;
    pub const ANSWER: u8 = 7;
    pub const CURRENT: u8 = 8;
    pub const FORK: u8 = 9;
    pub const SIGNALLER: u8 = 10;
}

impl Session {
    /// Appends everything that it is. Keys are among it.
    pub fn record(&self, out: &mut Vec<u8>) {
        for (tag, towards) in [tag::TOWARDS_A, tag::TOWARDS_B].into_iter().zip(&self.towards) {
            field::nested(out, tag, |out| record_towards(towards, out));
        }
        for line in &self.lines {
            field::nested(out, tag::LINE, |out| record_line(line, out));
        }
        let is_short = |it: &&Pending| it.text.len() + it.told.len() <= TEXTS_OCTETS_MAX;
        if let Some(offer) = self.offer.as_deref().filter(is_short) {
            field::nested(out, tag::OFFER, |out| record_offer(offer, out));
        }
        field::number(out, tag::IS_SETTLED, self.is_settled.into());
        field::number(out, tag::GENERATION, self.generation.into());
    }

    /// The session of a record; `None`: it is none.
    #[must_use]
    pub fn restore(octets: &[u8]) -> Option<Self> {
        let mut session = Self {
            lines: Vec::new(),
            towards: <[Towards; 2]>::default(),
            offer: None,
            is_settled: false,
            generation: 0,
        };
        let mut fields = Fields::new(octets);
        for (tag, value) in fields.by_ref() {
            match tag {
                tag::TOWARDS_A => session.towards[0] = restore_towards(value),
                tag::TOWARDS_B => session.towards[1] = restore_towards(value),
                tag::LINE if session.lines.len() < LINES_MAX => {
                    session.lines.push(restore_line(value)?);
                }
                tag::LINE => return None,
                tag::OFFER => session.offer = Some(Box::new(restore_offer(value)?)),
                tag::IS_SETTLED => session.is_settled = field::read(value) == 1,
                tag::GENERATION => session.generation = small(value)?,
                _ => {}
            }
        }
        let lines = session.lines.len();
        let fits = session.offer.as_ref().is_none_or(|offer| {
            offer.lines_before <= lines && offer.fresh.iter().all(|(at, _)| *at < lines)
        });
        (fits && fields.rest().is_empty()).then_some(session)
    }
}

fn small<T: TryFrom<u64>>(value: &[u8]) -> Option<T> {
    (value.len() <= 8).then(|| field::read(value)).and_then(|number| T::try_from(number).ok())
}

fn record_towards(towards: &Towards, out: &mut Vec<u8>) {
    field::number(out, towards_tag::ID, towards.id);
    field::number(out, towards_tag::VERSION, towards.version);
    if let Some(digest) = towards.digest {
        field::number(out, towards_tag::DIGEST, digest);
    }
}

fn restore_towards(octets: &[u8]) -> Towards {
    let mut towards = Towards::default();
    for (tag, value) in Fields::new(octets) {
        match tag {
            towards_tag::ID => towards.id = field::read(value),
            towards_tag::VERSION => towards.version = field::read(value),
            towards_tag::DIGEST => towards.digest = Some(field::read(value)),
            _ => {}
        }
    }
    towards
}

fn record_line(line: &Line, out: &mut Vec<u8>) {
    for side in Side::BOTH {
        let at = side.index();
        if let Some(local) = line.locals[at] {
            let number = u64::from(local.address) << 16 | u64::from(local.port);
            field::number(out, [line_tag::LOCAL_A, line_tag::LOCAL_B][at], number);
        }
        for key in line.keys[at].iter() {
            field::nested(out, [line_tag::KEY_A, line_tag::KEY_B][at], |out| {
                out.push(key.suite() as u8);
                out.extend_from_slice(key.expose());
            });
        }
        if let Some(Credentials { name, password }) = &line.ice[at] {
            field::nested(out, [line_tag::ICE_A, line_tag::ICE_B][at], |out| {
                field::bytes(out, 1, name);
                field::bytes(out, 2, password);
            });
        }
    }
    if let Some(stream) = &line.stream {
        field::nested(out, line_tag::STREAM, |out| write_stream(stream, out));
    }
    field::number(out, line_tag::GENERATION, line.generation.into());
}

fn restore_line(octets: &[u8]) -> Option<Line> {
    let mut line = Line::default();
    let mut keys = [Vec::new(), Vec::new()];
    for (tag, value) in Fields::new(octets) {
        let side =
            usize::from(matches!(tag, line_tag::LOCAL_B | line_tag::KEY_B | line_tag::ICE_B));
        match tag {
            line_tag::LOCAL_A | line_tag::LOCAL_B => line.locals[side] = Some(local(value)?),
            line_tag::KEY_A | line_tag::KEY_B => keys[side].push(key(value)?),
            line_tag::ICE_A | line_tag::ICE_B => {
                let find = |wanted| Fields::new(value).find(|it| it.0 == wanted);
                let (name, password) = (find(1)?.1.into(), find(2)?.1.into());
                line.ice[side] = Some(Credentials { name, password });
            }
            line_tag::STREAM => line.stream = Some(read_stream(value).ok()?),
            line_tag::GENERATION => line.generation = small(value)?,
            _ => {}
        }
    }
    line.keys = keys.map(OwnKeys::of);
    Some(line)
}

fn local(value: &[u8]) -> Option<Local> {
    let number: u32 = small(value)?;
    let [a, b, c, d] = number.to_be_bytes();
    Some(Local { address: u16::from_be_bytes([a, b]), port: u16::from_be_bytes([c, d]) })
}

fn key(value: &[u8]) -> Option<MasterKey> {
    let (&suite, octets) = value.split_first()?;
    let suite = Suite::ALL.iter().find(|it| **it as u8 == suite)?;
    MasterKey::of(*suite, octets)
}

fn record_address(tag: u8, address: Option<IpAddr>, out: &mut Vec<u8>) {
    match address {
        Some(IpAddr::V4(ip)) => field::bytes(out, tag, &ip.octets()),
        Some(IpAddr::V6(ip)) => field::bytes(out, tag, &ip.octets()),
        None => {}
    }
}

fn restore_address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(value).ok().map(IpAddr::from)
}

/// Octets of the descriptions of a record: an offer that is longer is left out, and so are answers
/// of forks for which there is no more room.
const TEXTS_OCTETS_MAX: usize = 32_768;

/// The answers that are recorded: the one that the streams follow, then the latest ones.
fn recorded(offer: &Pending) -> Vec<&Answer> {
    let mut left = TEXTS_OCTETS_MAX.saturating_sub(offer.text.len() + offer.told.len());
    let is_current = |answer: &&Answer| Some(answer.fork) == offer.current;
    let current = offer.answers.iter().filter(is_current);
    let others = offer.answers.iter().rev().filter(|answer| !is_current(answer));
    let has_room = |answer: &&Answer| match left.checked_sub(answer.text.len()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut answers: Vec<&Answer> = current.chain(others).filter(has_room).collect();
    // As they came, the oldest one first.
    answers.reverse();
    answers
}

fn record_offer(offer: &Pending, out: &mut Vec<u8>) {
    field::number(out, offer_tag::FROM_B, u64::from(offer.from == Side::B));
    field::bytes(out, offer_tag::TEXT, &offer.text);
    record_address(offer_tag::SOURCE, offer.source, out);
    record_address(offer_tag::SIGNALLER, offer.signaller, out);
    field::bytes(out, offer_tag::TOLD, &offer.told);
    field::number(out, offer_tag::LINES_BEFORE, offer.lines_before as u64);
    for (at, side) in &offer.fresh {
        let number = *at as u64 * 2 + side.index() as u64;
        field::number(out, offer_tag::FRESH, number);
    }
    for answer in recorded(offer) {
        field::nested(out, offer_tag::ANSWER, |out| {
            field::number(out, offer_tag::FORK, answer.fork.0.into());
            field::bytes(out, offer_tag::TEXT, &answer.text);
            record_address(offer_tag::SOURCE, answer.source, out);
            record_address(offer_tag::SIGNALLER, answer.signaller, out);
        });
    }
    if let Some(current) = offer.current {
        field::number(out, offer_tag::CURRENT, current.0.into());
    }
}

fn restore_offer(octets: &[u8]) -> Option<Pending> {
    let mut offer = Pending {
        from: Side::A,
        text: Kept::default(),
        source: None,
        signaller: None,
        told: Kept::default(),
        packed: None,
        lines_before: 0,
        fresh: Vec::new(),
        answers: Vec::new(),
        current: None,
    };
    for (tag, value) in Fields::new(octets) {
        match tag {
            offer_tag::FROM_B if field::read(value) == 1 => offer.from = Side::B,
            offer_tag::TEXT => offer.text = Kept::new(value.to_vec()),
            offer_tag::SOURCE => offer.source = restore_address(value),
            offer_tag::SIGNALLER => offer.signaller = restore_address(value),
            offer_tag::TOLD => offer.told = Kept::new(value.to_vec()),
            offer_tag::LINES_BEFORE => offer.lines_before = small(value)?,
            offer_tag::FRESH => {
                let number: usize = small(value)?;
                offer.fresh.push((number / 2, Side::BOTH[number % 2]));
            }
            offer_tag::ANSWER if offer.answers.len() < FORKS_MAX => {
                offer.answers.push(restore_answer(value)?);
            }
            offer_tag::CURRENT => offer.current = Some(Fork(small(value)?)),
            _ => {}
        }
    }
    Some(offer)
}

fn restore_answer(octets: &[u8]) -> Option<Answer> {
    let text = Kept::default();
    let mut answer = Answer { fork: Fork(0), text, source: None, signaller: None };
    for (tag, value) in Fields::new(octets) {
        match tag {
            offer_tag::FORK => answer.fork = Fork(small(value)?),
            offer_tag::TEXT => answer.text = Kept::new(value.to_vec()),
            offer_tag::SOURCE => answer.source = restore_address(value),
            offer_tag::SIGNALLER => answer.signaller = restore_address(value),
            _ => {}
        }
    }
    Some(answer)
}
