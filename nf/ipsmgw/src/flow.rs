//! A flow under way: one record, whatever it is about.

use crate::asking::Asking;
use crate::delivery::Delivery;
use crate::notice::Notice;
use crate::registration::Registration;
use crate::routing::Routing;
use crate::submission::Submission;
use machine::slots::{Key, Reuse};

/// A flow.
#[derive(Debug, Default)]
pub enum Flow {
    /// None.
    #[default]
    Idle,
    /// A third-party registration.
    Registration(Box<Registration>),
    /// A message of a terminal.
    Submission(Box<Submission>),
    /// Routing information is wanted.
    Routing(Box<Routing>),
    /// A message to a terminal.
    Delivery(Box<Delivery>),
    /// Something that is told on: memory available, a delivery's end, an alert.
    Notice(Box<Notice>),
}

impl Reuse for Flow {
    fn reuse(&mut self) {
        *self = Self::Idle;
    }
}

impl Flow {
    /// What it asks of the network.
    pub fn asking(&mut self) -> Option<&mut Option<Asking>> {
        match self {
            Self::Idle => None,
            Self::Registration(it) => Some(&mut it.asking),
            Self::Submission(it) => Some(&mut it.asking),
            Self::Routing(it) => Some(&mut it.asking),
            Self::Delivery(it) => Some(&mut it.asking),
            Self::Notice(it) => Some(&mut it.asking),
        }
    }
}

/// A key as a number.
#[must_use]
pub const fn number(key: Key) -> u64 {
    (key.index as u64) << 32 | key.generation as u64
}

/// The key that a number is.
#[must_use]
pub fn key(number: u64) -> Key {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    Key { index: u32::from_be_bytes([a, b, c, d]), generation: u32::from_be_bytes([e, f, g, h]) }
}
