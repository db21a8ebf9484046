//! Pieces of a message to leave out, and octets to write in their place.
//!
//! What no splice covers is copied byte for byte, in as few pieces as there are gaps.

use sip::HeaderIndex;

/// The splices of one pass over a message, and the octets they write.
#[derive(Debug, Default)]
pub struct Splices {
    rows: Vec<Splice>,
    text: Vec<u8>,
    is_unfit: bool,
}

#[derive(Debug, Clone, Copy)]
struct Splice {
    /// Where it begins in the message.
    at: usize,
    /// Octets it leaves out.
    length: usize,
    /// Where its text begins and ends.
    text: (usize, usize),
}

impl Splice {
    const fn is_behind(&self, other: &Self) -> bool {
        self.at > other.at || (self.at == other.at && self.length > 0 && other.length == 0)
    }
}

impl Splices {
    /// Forgets everything, keeps the allocations.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.text.clear();
        self.is_unfit = false;
    }

    /// What an action would write may not stand there: the message cannot be changed as it must be.
    pub const fn refuse(&mut self) {
        self.is_unfit = true;
    }

    /// Whether an action was refused.
    pub const fn is_unfit(&self) -> bool {
        self.is_unfit
    }

    /// How many splices there are.
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Leaves octets out.
    #[inline]
    pub fn drop(&mut self, at: usize, length: usize) {
        self.write(at, length, |_| ());
    }

    /// Leaves octets out and writes what `write` appends in their place.
    #[inline]
    pub fn write(&mut self, at: usize, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.write_checked(at, length, |out| {
            write(out);
            true
        });
    }

    /// The same, unless `write` says that what it appended will not do; says whether it did.
    #[inline]
    pub fn write_checked(
        &mut self,
        at: usize,
        length: usize,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let start = self.text.len();
        if !write(&mut self.text) {
            self.text.truncate(start);
            return false;
        }
        let splice = Splice { at, length, text: (start, self.text.len()) };
        // In order of place; at one place insertions first, in order of time. Mostly the last.
        let mut before = self.rows.len();
        while before > 0 && self.rows[before - 1].is_behind(&splice) {
            before -= 1;
        }
        self.rows.insert(before, splice);
        true
    }

    /// Appends the message with all splices made.
    pub fn apply(&self, message: &[u8], out: &mut Vec<u8>) {
        out.reserve(message.len() + self.text.len());
        let mut at = 0;
        for splice in &self.rows {
            let start = splice.at;
            out.extend_from_slice(&message[at..start.max(at)]);
            out.extend_from_slice(&self.text[splice.text.0..splice.text.1]);
            at = at.max(start + splice.length);
        }
        out.extend_from_slice(&message[at..]);
    }
}

/// Where a part of a message begins in it.
#[inline]
pub fn offset(message: &HeaderIndex<'_>, part: &[u8]) -> usize {
    part.as_ptr() as usize - message.raw().as_ptr() as usize
}
