//! The media of one call: which description is an offer and which is an answer (RFC 3264, RFC
//! 6337), and what its standby knows of it.
//!
//! ```text
//! INVITE with       18x, 2xx: answers, until one came reliably; then the same again, left out
//! INVITE without    first reliable 18x or 2xx: an offer; PRACK or ACK: its answer
//! UPDATE, PRACK     an offer; their 2xx: its answer
//! ```

use anchor::{Fork, Session, Side, Trace};
use machine::slots::{Key, Reuse};
use replica::field::{self, Fields};
use std::net::IpAddr;

/// What carries a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An INVITE.
    Invite,
    /// An UPDATE.
    Update,
    /// A PRACK.
    Prack,
    /// The ACK of a 2xx.
    Ack,
    /// A provisional response to an INVITE.
    Provisional {
        /// Whether it is acknowledged (RFC 3262).
        is_reliable: bool,
    },
    /// A 2xx to an INVITE.
    Final,
    /// A 2xx to an UPDATE or a PRACK.
    Accepted,
}

/// What becomes of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Offer,
    Answer,
    /// It says nothing new, or must not be said: it is left out.
    LeaveOut,
}

/// The media of one call.
#[derive(Debug)]
pub(crate) struct Anchored {
    /// Whose call it is.
    pub owner: Key,
    pub controller: u16,
    /// The groups of the ports of A and of B.
    pub groups: [u16; 2],
    /// `None` in a slot without a user.
    pub session: Option<Session>,
    /// Whether one dialog was chosen: the call was answered.
    pub is_settled: bool,
    /// Whether the INVITE under way came with an offer.
    is_offered: bool,
    /// The forks in which the INVITE under way has its offer and its answer, or its offer.
    done: u16,
    /// Of the last digit.
    pub serial: u32,
    /// The life of the media controller that its keys are used in; 0: not known.
    pub epoch: u64,
    /// What its streams are found by.
    pub trace: Trace,
    /// Streams that its media controller is to have with the first answer.
    pub promised: u32,
}

/// No call.
const NOBODY: Key = Key { index: u32::MAX, generation: u32::MAX };

impl Default for Anchored {
    fn default() -> Self {
        Self {
            owner: NOBODY,
            controller: 0,
            groups: [0; 2],
            session: None,
            is_settled: false,
            is_offered: false,
            done: 0,
            serial: 0,
            epoch: 0,
            trace: Trace::default(),
            promised: 0,
        }
    }
}

impl Reuse for Anchored {
    fn reuse(&mut self) {
        *self = Self::default();
    }
}

/// The number of a call that its streams are named by.
pub(crate) const fn name(key: Key) -> u64 {
    (key.generation as u64) << 32 | key.index as u64
}

/// The call of a name.
#[allow(clippy::cast_possible_truncation, reason = "the halves of a word")]
pub(crate) const fn key(name: u64) -> Key {
    Key { index: name as u32, generation: (name >> 32) as u32 }
}

const fn bit(fork: u8) -> u16 {
    1 << (fork & 15)
}

impl Anchored {
    /// What becomes of a description of a call that has none yet.
    pub(crate) const fn first(part: Part) -> Option<Step> {
        match part {
            Part::Invite | Part::Final | Part::Provisional { is_reliable: true } => {
                Some(Step::Offer)
            }
            // Nothing is offered yet: what it says is no description that counts (RFC 6337 §3.1.1).
            Part::Provisional { is_reliable: false } => Some(Step::LeaveOut),
            Part::Update | Part::Prack | Part::Ack | Part::Accepted => None,
        }
    }

    /// What becomes of a description from that side, in that fork.
    pub(crate) fn step(&self, part: Part, from: Side, fork: u8) -> Step {
        let due = self.session.as_ref().and_then(Session::pending);
        let is_due = due == Some(from.other());
        let is_done = self.done & bit(fork) != 0;
        match part {
            Part::Invite | Part::Update => Step::Offer,
            Part::Prack if is_due => Step::Answer,
            Part::Prack => Step::Offer,
            Part::Ack | Part::Accepted if is_due => Step::Answer,
            Part::Ack | Part::Accepted => Step::LeaveOut,
            // The INVITE was ours, and its offer the other side's answer to one without.
            Part::Final if is_due && !self.is_offered => Step::Answer,
            Part::Provisional { .. } | Part::Final if is_done => Step::LeaveOut,
            // Inside of a call the first answer is the last one, and this one may get lost.
            Part::Provisional { is_reliable: false } if !self.is_offered || self.is_settled => {
                Step::LeaveOut
            }
            Part::Provisional { .. } | Part::Final if self.is_offered => Step::Answer,
            Part::Provisional { .. } | Part::Final => Step::Offer,
        }
    }

    /// An INVITE begins; it comes with an offer, or without.
    pub(crate) const fn invited(&mut self, is_offered: bool) {
        (self.is_offered, self.done) = (is_offered, 0);
    }

    /// A description of that kind was taken.
    pub(crate) const fn taken(&mut self, part: Part, fork: u8) {
        if matches!(part, Part::Provisional { is_reliable: true } | Part::Final) {
            self.done |= bit(fork);
        }
    }
}

/// A description on its way from one side of a call to the other.
#[derive(Debug, Clone, Copy)]
pub struct Crossing<'a> {
    /// What carries it.
    pub part: Part,
    /// Who sent it.
    pub from: Side,
    /// In which dialog.
    pub fork: u8,
    /// The address that it came from.
    pub source: IpAddr,
    /// The numbers of the realms of A and of B.
    pub realms: [u16; 2],
    /// The trail of the call, and its Call-ID as A has it.
    pub trace: (u64, &'a [u8]),
    /// Content-Type of the message; empty: it has none.
    pub content_type: &'a [u8],
    /// The body of the message.
    pub body: &'a [u8],
}

impl Crossing<'_> {
    pub(crate) fn fork(&self) -> Fork {
        Fork(self.fork.into())
    }
}

mod tag {
    // 1 and 2 are the key.
    pub const OWNER_INDEX: u8 = 3;
    pub const OWNER_GENERATION: u8 = 4;
    pub const CONTROLLER: u8 = 5;
    pub const GROUP_A: u8 = 6;
    pub const GROUP_B: u8 = 7;
    pub const IS_OFFERED: u8 = 8;
    pub const DONE: u8 = 9;
    pub const SERIAL: u8 = 10;
    pub const SESSION: u8 = 11;
    pub const EPOCH: u8 = 12;
    pub const TRAIL: u8 = 13;
    pub const CALL_ID: u8 = 14;
}

/// What a record names that has numbers here.
pub(crate) struct Names<'n> {
    pub controllers: &'n dyn Fn(&[u8]) -> Option<u16>,
    pub groups: &'n dyn Fn(&[u8]) -> Option<u16>,
}

impl Anchored {
    /// Appends it as fields; the controller and the groups by their names.
    pub(crate) fn record(&self, controller: &str, groups: [&str; 2], out: &mut Vec<u8>) {
        field::number(out, tag::OWNER_INDEX, self.owner.index.into());
        field::number(out, tag::OWNER_GENERATION, self.owner.generation.into());
        field::bytes(out, tag::CONTROLLER, controller.as_bytes());
        field::bytes(out, tag::GROUP_A, groups[0].as_bytes());
        field::bytes(out, tag::GROUP_B, groups[1].as_bytes());
        field::number(out, tag::IS_OFFERED, self.is_offered.into());
        field::number(out, tag::DONE, self.done.into());
        field::number(out, tag::SERIAL, self.serial.into());
        field::number(out, tag::EPOCH, self.epoch);
        if let Some(trail) = self.trace.trail {
            field::number(out, tag::TRAIL, trail);
        }
        field::bytes(out, tag::CALL_ID, &self.trace.call_id);
        if let Some(session) = &self.session {
            field::nested(out, tag::SESSION, |out| session.record(out));
        }
    }

    /// What a record says; `None`: it is none, or names what is not there.
    pub(crate) fn restore(&mut self, fields: &[u8], names: &Names<'_>) -> Option<()> {
        *self = Self { is_settled: true, ..Self::default() };
        let small = |value: &[u8]| u32::try_from(field::read(value)).ok();
        let mut found = 0;
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::OWNER_INDEX => self.owner.index = small(value)?,
                tag::OWNER_GENERATION => self.owner.generation = small(value)?,
                tag::CONTROLLER => self.controller = (names.controllers)(value)?,
                tag::GROUP_A => self.groups[0] = (names.groups)(value)?,
                tag::GROUP_B => self.groups[1] = (names.groups)(value)?,
                tag::IS_OFFERED => self.is_offered = field::read(value) == 1,
                tag::DONE => self.done = u16::try_from(field::read(value)).ok()?,
                tag::SERIAL => self.serial = small(value)?,
                tag::EPOCH => self.epoch = field::read(value),
                tag::TRAIL => self.trace.trail = Some(field::read(value)),
                tag::CALL_ID => self.trace.call_id = value.into(),
                tag::SESSION => self.session = Some(Session::restore(value)?),
                _ => continue,
            }
            found |= 1u16 << tag;
        }
        let wanted = [tag::OWNER_INDEX, tag::CONTROLLER, tag::GROUP_A, tag::GROUP_B, tag::SESSION];
        wanted.iter().all(|tag| found & 1 << tag != 0).then_some(())
    }
}
