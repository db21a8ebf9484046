//! A call as NG names it: by its Call-ID and the tags of its sides.

use anchor::{Fork, Policy, Session, Side};
use machine::Time;

/// Tags of B that are remembered.
pub(crate) const TAGS_MAX: usize = 16;

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub number: u64,
    pub session: Session,
    pub policies: [Policy; 2],
    /// The interfaces of A and of B.
    pub interfaces: [Option<Box<[u8]>>; 2],
    /// The tag of whoever began.
    pub tag: Box<[u8]>,
    /// The tags of those who answered; the place is the fork.
    pub others: Vec<Box<[u8]>>,
    pub created: Time,
    pub signalled: Time,
}

/// A side, and the dialog if it is B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub side: Side,
    pub fork: Fork,
}

impl Call {
    /// Who has that tag.
    pub fn speaker(&self, tag: &[u8]) -> Option<Speaker> {
        if *self.tag == *tag {
            return Some(Speaker { side: Side::A, fork: Fork::default() });
        }
        let at = self.others.iter().position(|other| **other == *tag)?;
        Some(Speaker { side: Side::B, fork: Fork(u16::try_from(at).ok()?) })
    }

    /// Whose tag that is, a new one being one of B's; `None`: there are too many.
    pub fn learn(&mut self, tag: &[u8]) -> Option<Speaker> {
        if self.speaker(tag).is_none() && self.others.len() < TAGS_MAX {
            self.others.push(tag.into());
        }
        self.speaker(tag)
    }

    /// The tags with their sides.
    pub fn tags(&self) -> impl Iterator<Item = (Side, &[u8])> {
        let others = self.others.iter().map(|tag| (Side::B, &**tag));
        core::iter::once((Side::A, &*self.tag)).chain(others)
    }
}
