//! A flow under way: one record, whatever it is about.

use crate::delivery::Delivery;
use crate::handing::Handing;
use crate::notice::Notice;
use crate::registration::Registration;
use crate::routing::Routing;
use crate::submission::Submission;
use crate::text::Text;
use machine::slots::{Key, Reuse};
use mapsms::asking::Asking;

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
    /// Text for the gateway's own centre.
    Text(Box<Text>),
    /// A message of the gateway's own centre.
    Handing(Box<Handing>),
}

impl Reuse for Flow {
    fn reuse(&mut self) {
        *self = Self::Idle;
    }
}

impl Flow {
    /// Its trail in the service assurance, where a message brought one.
    pub const fn trail(&self) -> Option<u64> {
        match self {
            Self::Submission(it) => Some(it.trail()),
            Self::Text(it) => Some(it.trail()),
            Self::Handing(it) => Some(it.trail()),
            Self::Notice(it) => it.trail(),
            Self::Idle | Self::Registration(_) | Self::Routing(_) | Self::Delivery(_) => None,
        }
    }

    /// Whether the other node of a pair can go on with it.
    pub const fn goes_on(&self) -> bool {
        matches!(self, Self::Handing(it) if it.goes_on())
    }

    /// What it asks of the network.
    pub fn asking(&mut self) -> Option<&mut Option<Asking>> {
        match self {
            Self::Idle | Self::Text(_) | Self::Handing(_) => None,
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
