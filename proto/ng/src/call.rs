//! A call as NG names it: by its Call-ID and the tags of its sides.
//!
//! A is who began. B is who answered an offer of A, or who knows A's tag and offers itself; each
//! tag of B is a fork. Any other tag is a stranger's: it neither joins the call nor ends it.

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
    /// Those who answered; the place is the fork.
    pub others: Vec<Other>,
    /// Whose answer the streams follow.
    pub current: Option<Fork>,
    pub created: Time,
    pub signalled: Time,
    /// When its counters moved last.
    pub heard: Time,
    /// Packets that were counted then.
    pub packets: u64,
    /// Octets that the engine has counted for it.
    pub held: usize,
    /// Whether the engine has counted it as one of which something is coded anew.
    pub is_coded: bool,
}

/// A tag of B.
#[derive(Debug)]
pub(crate) struct Other {
    pub tag: Box<[u8]>,
    /// The branch of its Via, if it was told.
    pub branch: Option<Box<[u8]>>,
    /// Its dialog ended, others of the call go on.
    pub is_gone: bool,
}

/// A side, and the dialog if it is B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub side: Side,
    pub fork: Fork,
}

/// What a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Nothing,
    /// One of several dialogs, which is not the one that the streams follow.
    Fork(Fork),
    Call,
}

impl Call {
    /// Who has that tag.
    pub fn speaker(&self, tag: &[u8]) -> Option<Speaker> {
        if *self.tag == *tag {
            return Some(Speaker { side: Side::A, fork: Fork::default() });
        }
        let at = self.others.iter().position(|other| *other.tag == *tag && !other.is_gone)?;
        Some(Speaker { side: Side::B, fork: Fork(u16::try_from(at).ok()?) })
    }

    /// Who the next tag of B would be; `None`: there are too many.
    pub fn next(&self) -> Option<Speaker> {
        let at = u16::try_from(self.others.len()).ok()?;
        (self.others.len() < TAGS_MAX).then_some(Speaker { side: Side::B, fork: Fork(at) })
    }

    /// Remembers a tag of B.
    pub fn learn(&mut self, tag: &[u8], branch: Option<&[u8]>) {
        if self.speaker(tag).is_none() {
            let branch = branch.map(Into::into);
            self.others.push(Other { tag: tag.into(), branch, is_gone: false });
        }
    }

    /// What ends when a command names these tags and that branch. Each tag has to be one of the
    /// call; while nobody has answered, that of the other side cannot be known.
    pub fn ends(&self, from: Option<&[u8]>, to: Option<&[u8]>, branch: Option<&[u8]>) -> Ends {
        if from.is_some_and(|tag| self.speaker(tag).is_none()) {
            return Ends::Nothing;
        }
        let fork = match to.filter(|tag| !tag.is_empty()) {
            Some(tag) => match self.speaker(tag) {
                Some(speaker) => (speaker.side == Side::B).then_some(speaker.fork),
                None if from.is_some() && self.others.is_empty() => None,
                None => return Ends::Nothing,
            },
            None => branch.and_then(|branch| self.on(branch)),
        };
        let others = self.others.iter().filter(|other| !other.is_gone).count();
        match fork {
            Some(fork) if others > 1 && self.current != Some(fork) => Ends::Fork(fork),
            _ => Ends::Call,
        }
    }

    /// The fork on that branch.
    fn on(&self, branch: &[u8]) -> Option<Fork> {
        let is_on = |other: &Other| other.branch.as_deref() == Some(branch) && !other.is_gone;
        u16::try_from(self.others.iter().position(is_on)?).ok().map(Fork)
    }

    /// The tags with their sides.
    pub fn tags(&self) -> impl Iterator<Item = (Side, &[u8])> {
        let others = self.others.iter().filter(|other| !other.is_gone);
        let others = others.map(|other| (Side::B, &*other.tag));
        core::iter::once((Side::A, &*self.tag)).chain(others)
    }

    /// Octets that it takes, with a Call-ID of that length, which stands twice.
    pub fn octets(&self, name: usize) -> usize {
        let branch = |other: &Other| other.branch.as_ref().map_or(0, |branch| branch.len());
        let others = self.others.iter();
        let others = others.map(|other| size_of::<Other>() + other.tag.len() + branch(other));
        let interfaces = self.interfaces.iter().flatten().map(|name| name.len());
        let names = 2 * name + self.tag.len() + interfaces.sum::<usize>();
        size_of::<Self>() + names + others.sum::<usize>() + self.session.octets()
    }
}
