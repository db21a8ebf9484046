//! The paths of an association: which there are, which one is the primary, and which one is taken
//! for what (RFC 9260 §6.4, RFC 7829).

use super::PATHS_MAX;
use super::path::{Path, PathState};
use crate::parameters::PathParameters;
use core::net::IpAddr;
use core::ops::{Index, IndexMut};
use machine::Time;

/// All of them, by their number.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    all: Vec<Path>,
    pub(super) primary: usize,
    /// Time-outs in a row on all paths.
    pub(super) errors: u16,
    /// Addresses were added or removed since the endpoint last looked.
    pub(crate) have_changed: bool,
    /// Addresses that were removed since then.
    pub(crate) departed: Vec<IpAddr>,
}

impl Index<usize> for Paths {
    type Output = Path;

    #[inline]
    fn index(&self, index: usize) -> &Path {
        &self.all[index]
    }
}

impl IndexMut<usize> for Paths {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Path {
        &mut self.all[index]
    }
}

impl Paths {
    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Path> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> core::slice::IterMut<'_, Path> {
        self.all.iter_mut()
    }

    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Path> {
        self.all.last_mut()
    }

    pub(super) fn primary_mut(&mut self) -> &mut Path {
        &mut self.all[self.primary]
    }

    /// The path to an address.
    pub(crate) fn of(&self, address: IpAddr) -> Option<usize> {
        self.all.iter().position(|path| path.address == address)
    }

    /// Whether the far end has answered from that address.
    pub(crate) fn has_confirmed(&self, address: IpAddr) -> bool {
        self.all.iter().any(|path| path.address == address && path.is_confirmed())
    }

    /// Another address of the peer, unless it is known or there are too many.
    pub(super) fn add(
        &mut self,
        now: Time,
        address: IpAddr,
        encapsulation_port: u16,
        parameters: PathParameters,
    ) {
        if self.of(address).is_none() && self.all.len() < PATHS_MAX {
            self.all.push(Path::new(address, encapsulation_port, parameters, now));
            self.have_changed = true;
        }
    }

    /// Takes a path away that is not the last one; says how many are left. Those behind it get
    /// other numbers.
    pub(super) fn remove(&mut self, index: usize) -> usize {
        let path = self.all.remove(index);
        self.departed.push(path.address);
        self.have_changed = true;
        let last = self.all.len() - 1;
        let was_primary = self.primary == index;
        self.primary = if self.primary > index { self.primary - 1 } else { self.primary.min(last) };
        if was_primary {
            self.primary = self.best(None).unwrap_or(self.primary);
        }
        self.all.len()
    }

    /// When one of them wants to be looked at.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(Path::deadline).min()
    }

    /// Where new data goes: the primary path if it works, else one that does, else the least bad
    /// (RFC 9260 §6.4, RFC 7829 §4.2, §5).
    pub(super) fn for_data(&self) -> usize {
        let primary = &self.all[self.primary];
        if primary.state == PathState::Active {
            return self.primary;
        }
        self.best(None).unwrap_or(self.primary)
    }

    /// An active path, else the doubtful one with the fewest errors, else the failed one with the
    /// fewest; never `but`.
    pub(super) fn best(&self, but: Option<usize>) -> Option<usize> {
        let usable =
            self.all.iter().enumerate().filter(|(index, path)| {
                Some(*index) != but && path.state != PathState::Unconfirmed
            });
        usable.min_by_key(|(_, path)| (path.state, path.errors)).map(|(index, _)| index)
    }

    /// Where a chunk goes that was lost on `last`: elsewhere if it timed out, unless everything
    /// else is worse (RFC 9260 §6.4.1).
    pub(super) fn for_retransmission(&self, last: usize, is_fast: bool) -> usize {
        let state = self.all[last].state;
        if is_fast && state == PathState::Active {
            return last;
        }
        let is_worse = |other: usize| self.all[other].state == PathState::Inactive;
        match self.best(Some(last)) {
            Some(other) if !is_worse(other) || state == PathState::Inactive => other,
            _ => self.for_data(),
        }
    }

    /// Where the answer to a chunk goes that came on `path`.
    pub(super) fn for_reply(&self, path: usize) -> usize {
        match self.all[path].state {
            PathState::Unconfirmed => self.for_data(),
            _ => path,
        }
    }

    /// Each try takes the next path that is confirmed (RFC 9260 §5.1, §5.4).
    pub(super) fn for_try(&self, tries: u16) -> usize {
        let count = self.all.len();
        let paths = (0..count).map(|step| (self.primary + step) % count);
        let mut confirmed = paths.filter(|path| self.all[*path].state == PathState::Active);
        let tries = usize::from(tries);
        let among = confirmed.clone().count().max(1);
        confirmed.nth(tries % among).unwrap_or(self.primary)
    }

    /// Whether the nonce is that of a probe; then its size fits.
    pub(super) fn probe_answered(&mut self, now: Time, nonce: u64) -> bool {
        self.all.iter_mut().any(|path| path.probe_answered(now, nonce))
    }
}
