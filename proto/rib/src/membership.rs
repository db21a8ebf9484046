//! Who is told the routes of a table: joining, leaving, being told anew.

use crate::classes::ClassSet;
use crate::cohort::{Cohort, Group, Walk};
use crate::key::Key;
use crate::output::{Output, Sending, messages};
use crate::peers::Peers;
use crate::table::Table;
use crate::{PeerId, Terms};
use bgp::family::Family;
use bgp::pack::{Limits, Withdrawal};
use machine::{Duration, Time};

/// Between two times that a peer is told all of a family anew because it asks for that.
const REFRESH_PAUSE: Duration = Duration::from_secs(5);

impl<K: Key> Table<K> {
    /// A peer is to be told everything, then every change.
    pub(crate) fn join(&mut self, peer: PeerId, terms: Terms) {
        self.logs_all |= terms.looks_at_all();
        let (end, position) = (self.sets.len(), self.changes.end());
        let known = self.groups.iter().position(|group| group.terms == terms);
        let at = known.unwrap_or_else(|| {
            self.groups.push(Group { terms, cohorts: Vec::new() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        let mut cohort = Cohort::new(&group.terms, position);
        cohort.members.push(peer);
        cohort.walk = Some(Walk::new(end));
        group.put_fresh(cohort);
    }

    /// A peer that is told by these terms from now on: it is told everything anew.
    pub(crate) fn change_terms(&mut self, peer: PeerId, terms: Terms) {
        let end = self.sets.len();
        let is_its = |group: &&mut Group| group.cohort_of(peer).is_some() && group.terms != terms;
        let found = self.groups.iter_mut().find(is_its).and_then(|group| group.take_out(peer));
        let Some(mut cohort) = found else { return };
        self.groups.retain(|group| !group.cohorts.is_empty());
        let before = cohort.walk.take();
        let is_first = before.as_ref().is_some_and(|walk| walk.is_first);
        let is_refresh = before.is_some_and(|walk| walk.is_refresh);
        cohort.walk = Some(Walk { is_first, is_refresh, ..Walk::new(end) });
        cohort.members = vec![peer];
        match self.groups.iter_mut().find(|group| group.terms == terms) {
            Some(group) => group.put_fresh(cohort),
            None => self.groups.push(Group { terms, cohorts: vec![Cohort { since: 0, ..cohort }] }),
        }
    }

    /// Since when the first of those waits who wait for the walks of others.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        let cohorts = self.groups.iter().flat_map(|group| &group.cohorts);
        cohorts.filter_map(|cohort| cohort.waits_since).min()
    }

    /// A peer is told nothing more.
    pub(crate) fn leave(&mut self, peer: PeerId) {
        self.groups.iter_mut().for_each(|group| {
            group.take_out(peer);
        });
        self.groups.retain(|group| !group.cohorts.is_empty());
        self.refreshes.retain(|(asks, _)| *asks != peer);
        self.settle_log();
    }

    /// Somebody reads the log no more.
    pub(crate) fn settle_log(&mut self) {
        let looks = self.groups.iter().any(|group| group.terms.looks_at_all());
        self.logs_all = looks || !self.readers.is_empty();
        self.trim();
    }

    /// Lets a peer walk over what `classes` hold, or over everything.
    fn rewalk(&mut self, peer: PeerId, classes: Option<&ClassSet>, is_refresh: bool) {
        let end = self.sets.len();
        let Some(group) = self.groups.iter_mut().find(|it| it.cohort_of(peer).is_some()) else {
            return;
        };
        let known = group.cohort_of(peer).and_then(|at| group.cohorts[at].walk.as_mut());
        if let Some(walk) = known.filter(|it| it.is_fresh && it.is_refresh >= is_refresh) {
            // It has all of it before it: no more than its classes change, for all of its peers.
            walk.end = walk.end.max(end);
            walk.classes = match (walk.classes.take(), classes) {
                (Some(mut old), Some(fresh)) => {
                    old.unite(fresh);
                    Some(old)
                }
                _ => None,
            };
            return;
        }
        let Some(mut cohort) = group.take_out(peer) else { return };
        let mut walk = Walk { is_refresh, is_first: false, ..Walk::new(end) };
        walk.classes = match (&cohort.walk, classes) {
            (None, Some(fresh)) => Some(fresh.clone()),
            // It was walking: all that it has before it, and what comes on top.
            (Some(Walk { classes: Some(old), .. }), Some(fresh)) => {
                let mut all = old.clone();
                all.unite(fresh);
                Some(all)
            }
            (Some(Walk { classes: None, .. }) | None, _)
            | (Some(Walk { classes: Some(_), .. }), None) => None,
        };
        if let Some(before) = &cohort.walk {
            walk.is_refresh |= before.is_refresh;
            walk.is_first = before.is_first;
        }
        cohort.members = vec![peer];
        cohort.walk = Some(walk);
        group.put_fresh(cohort);
    }

    /// Peers of an export policy are told everything anew, since it says something else now.
    pub(crate) fn retell(&mut self, export: u32) {
        let end = self.sets.len();
        for group in self.groups.iter_mut().filter(|group| group.terms.export == export) {
            for cohort in &mut group.cohorts {
                let before = cohort.walk.take();
                let is_first = before.as_ref().is_some_and(|walk| walk.is_first);
                let is_refresh = before.as_ref().is_some_and(|walk| walk.is_refresh);
                cohort.walk = Some(Walk { is_first, is_refresh, ..Walk::new(end) });
                cohort.since = 0;
            }
        }
    }

    /// A peer asks for all routes anew (RFC 2918); `is_marked`: with beginning and end (RFC 7313).
    pub(crate) fn refresh(&mut self, peer: PeerId, is_marked: bool) {
        match self.refreshes.iter_mut().find(|(asks, _)| *asks == peer) {
            Some((_, known)) => *known |= is_marked,
            None => self.refreshes.push((peer, is_marked)),
        }
    }

    /// Begins with what peers ask for, but for those who asked a moment ago or are being told
    /// everything; whether there was something.
    pub(crate) fn begin_refreshes(&mut self, now: Time) -> bool {
        let asked = std::mem::take(&mut self.refreshes);
        let is_due = |(peer, _): &(PeerId, bool)| {
            !self.is_walking(*peer) && self.source(*peer).is_none_or(|it| it.refresh_from <= now)
        };
        let (due, later): (Vec<_>, Vec<_>) = asked.into_iter().partition(is_due);
        self.refreshes = later;
        for (peer, is_marked) in &due {
            self.source_mut(*peer).refresh_from = now + REFRESH_PAUSE;
            self.rewalk(*peer, None, *is_marked);
        }
        !due.is_empty()
    }

    /// When the first of those who ask is told everything anew; of those who are being told, the
    /// end of that says when.
    pub(crate) fn refresh_at(&self) -> Option<Time> {
        let waits = self.refreshes.iter().filter(|(peer, _)| !self.is_walking(*peer));
        waits.map(|(peer, _)| self.source(*peer).map_or(Time::ZERO, |it| it.refresh_from)).min()
    }

    /// Whether a peer is in the middle of being told everything.
    fn is_walking(&self, peer: PeerId) -> bool {
        let cohorts = self
            .groups
            .iter()
            .filter_map(|group| group.cohort_of(peer).map(|at| &group.cohorts[at]));
        cohorts.into_iter().any(|cohort| cohort.walk.is_some() && !cohort.is_fresh())
    }

    /// A peer gets routes of these classes from now on.
    pub(crate) fn grant(&mut self, peer: PeerId, classes: &ClassSet) {
        if !classes.is_empty() {
            self.rewalk(peer, Some(classes), false);
        }
    }

    /// A peer gets routes of these classes no more: what it was told is withdrawn.
    pub(crate) fn deny(
        &self,
        peer: PeerId,
        classes: &ClassSet,
        peers: &mut Peers,
        output: &mut Output,
    ) {
        if classes.is_empty() {
            return;
        }
        let Some((group, cohort)) = self
            .groups
            .iter()
            .find_map(|group| group.cohort_of(peer).map(|at| (group, &group.cohorts[at])))
        else {
            return;
        };
        let limits =
            Limits { message_max: group.terms.message_max, add_path: group.terms.add_path };
        let (mut buffer, mut route) = (Vec::new(), Vec::new());
        let mut packing = match self.family {
            Family::Ipv4Unicast => Withdrawal::plain(limits, &mut buffer),
            family => Withdrawal::multiprotocol(limits, family, &mut buffer),
        };
        cohort.announced.each(|entry, path_id, class| {
            if classes.has(class) {
                let parts = crate::key::Parts { family: self.family, path_id, payload: &[] };
                self.entries[entry as usize].key.withdraw(parts, &mut packing, &mut route);
            }
        });
        packing.finish();
        if !buffer.is_empty() {
            let (bytes, updates) = (output.share(&buffer), messages(&buffer));
            output.push(peers, Sending { peer, bytes, updates });
        }
    }
}
