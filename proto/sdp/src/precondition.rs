//! Preconditions: what must be reserved before the callee rings (RFC 3312 §4, RFC 4032).

use crate::Direction;
use crate::line::{Attribute, words};

/// Which of the three attributes it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `a=curr`: what stands.
    Current,
    /// `a=des`: what is wanted.
    Desired,
    /// `a=conf`: of what the other side shall be told.
    Confirm,
}

/// How much is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The session waits for it.
    Mandatory,
    /// It shall be tried.
    Optional,
    /// Nothing.
    None,
    /// It was tried and failed.
    Failure,
    /// It is not understood.
    Unknown,
}

/// Which stretch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// From end to end.
    EndToEnd,
    /// The writer's access network.
    Local,
    /// The reader's access network.
    Remote,
}

/// One precondition attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precondition<'a> {
    /// Current, desired or to be confirmed.
    pub part: Part,
    /// `qos`, or another kind.
    pub kind: &'a [u8],
    /// Of a desired one.
    pub strength: Option<Strength>,
    /// Which stretch.
    pub reach: Reach,
    /// Which way; `None` for `none`.
    pub direction: Option<Direction>,
}

impl<'a> Precondition<'a> {
    /// Reads `a=curr`, `a=des` and `a=conf`; anything else is none.
    #[must_use]
    pub fn parse(attribute: &Attribute<'a>) -> Option<Self> {
        let part = match attribute.name {
            b"curr" => Part::Current,
            b"des" => Part::Desired,
            b"conf" => Part::Confirm,
            _ => return None,
        };
        let mut words = words(attribute.value?);
        let kind = words.next()?;
        let strength = match part {
            Part::Desired => Some(strength(words.next()?)?),
            Part::Current | Part::Confirm => None,
        };
        let reach = match words.next()? {
            b"e2e" => Reach::EndToEnd,
            b"local" => Reach::Local,
            b"remote" => Reach::Remote,
            _ => return None,
        };
        let direction = match words.next()? {
            b"none" => None,
            b"send" => Some(Direction::SendOnly),
            b"recv" => Some(Direction::RecvOnly),
            b"sendrecv" => Some(Direction::SendRecv),
            _ => return None,
        };
        Some(Self { part, kind, strength, reach, direction })
    }

    /// Whether the session waits for it.
    #[must_use]
    pub fn is_mandatory(&self) -> bool {
        self.part == Part::Desired && self.strength == Some(Strength::Mandatory)
    }

    /// Whether this current status covers `desired`.
    #[must_use]
    pub fn meets(&self, desired: &Self) -> bool {
        let covers = |want: Direction| {
            self.direction.is_some_and(|have| {
                (!want.sends() || have.sends()) && (!want.receives() || have.receives())
            })
        };
        self.part == Part::Current
            && self.kind == desired.kind
            && self.reach == desired.reach
            && desired.direction.is_none_or(covers)
    }
}

fn strength(word: &[u8]) -> Option<Strength> {
    Some(match word {
        b"mandatory" => Strength::Mandatory,
        b"optional" => Strength::Optional,
        b"none" => Strength::None,
        b"failure" => Strength::Failure,
        b"unknown" => Strength::Unknown,
        _ => return None,
    })
}
