//! Those who read what changes, as far as a table and the base know them.

use bgp::family::FamilySet;

/// One who reads what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReaderId(pub(crate) u32);

/// A reader of one table.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) id: ReaderId,
    pub(crate) equal_max: usize,
    /// Paths of this speaker are told beside what is chosen of the others.
    pub(crate) is_importer: bool,
    /// The place in the log of what it is told next.
    pub(crate) position: u64,
    pub(crate) stage: Stage,
}

/// How far a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has yet to begin.
    Fresh,
    /// It walks over the entries; the next one.
    Walks(u32),
    /// It has walked, and reads the log as far as it went by then.
    Follows(u64),
    /// It was told everything.
    Knows,
}

impl Reader {
    /// The places in the log that it holds.
    pub(crate) fn standing(&mut self) -> impl Iterator<Item = &mut u64> {
        let until = match &mut self.stage {
            Stage::Follows(until) => Some(until),
            _ => None,
        };
        core::iter::once(&mut self.position).chain(until)
    }

    /// It is told everything anew.
    pub(crate) fn restart(&mut self, end: u64) {
        (self.position, self.stage) = (end, Stage::Fresh);
    }

    pub(crate) fn has_news(&self, end: u64) -> bool {
        self.stage != Stage::Knows || self.position < end
    }
}

/// A reader of the base: its families, and the one that is read first.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) families: FamilySet,
    pub(crate) turn: usize,
}
