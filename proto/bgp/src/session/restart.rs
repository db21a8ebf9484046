//! What remains of a session that ended: the times of graceful restart (RFC 4724 §4.2) and of
//! long-lived graceful restart (RFC 9494 §4.2), as one who waits for a peer to come back.

use super::effects::{Indication, Out};
use super::negotiate::Negotiated;
use crate::family::{Family, FamilySet};
use machine::{Duration, Time};

/// Stale routes of a peer.
#[derive(Debug, Default)]
pub(super) struct Retained {
    /// Families with stale routes.
    stale: FamilySet,
    /// When they go if the peer is not back, or become stale for long.
    restart: Option<Time>,
    /// When they go although the peer is back: its End-of-RIB did not come.
    stale_until: Option<Time>,
    /// Families that are stale for long, and until when.
    long_lived: Vec<(Family, Time)>,
    /// Seconds of the peer's last OPEN, for those that are not yet stale for long.
    next: Vec<(Family, Duration)>,
}

impl Retained {
    pub(super) fn deadline(&self) -> Option<Time> {
        let long_lived = self.long_lived.iter().map(|(_, at)| *at);
        long_lived.chain(self.restart).chain(self.stale_until).min()
    }

    /// The session ended in a way that routes outlive: the families whose routes are stale now.
    pub(super) fn begin(
        &mut self,
        now: Time,
        negotiated: &Negotiated,
        out: &mut Vec<Out>,
    ) -> FamilySet {
        let restart = negotiated.graceful_restart;
        let families = restart.or(negotiated.long_lived);
        self.stale = self.stale.or(families);
        self.stale_until = None;
        let Some(peer) = &negotiated.peer.graceful_restart else { return FamilySet::EMPTY };
        let times = negotiated.peer.long_lived.as_ref().map(|it| it.time_s);
        let time =
            |family: Family| Duration::from_secs(times.map_or(0, |it| it[family as usize].into()));
        self.next = negotiated.long_lived.iter().map(|family| (family, time(family))).collect();
        self.restart = Some(now + Duration::from_secs(peer.time_s.into()));
        // RFC 9494 §4.2: without a time of graceful restart, that part is passed over.
        let at_once = if peer.time_s == 0 { families } else { families.without(restart) };
        let lasting: FamilySet = self.next.iter().map(|(family, _)| *family).collect();
        self.expire(now, at_once.and(lasting), out);
        families
    }

    /// The restart time of these is over.
    fn expire(&mut self, now: Time, families: FamilySet, out: &mut Vec<Out>) {
        let (mut lasting, mut gone) = (FamilySet::EMPTY, FamilySet::EMPTY);
        for family in families.iter() {
            // RFC 9494 §4.2: a time that runs already is not begun anew.
            if self.long_lived.iter().any(|(it, _)| *it == family) {
                continue;
            }
            let time = self.next.iter().find(|(it, _)| *it == family).map(|(_, time)| *time);
            match time.filter(|time| !time.is_zero()) {
                Some(time) => {
                    self.long_lived.push((family, now + time));
                    lasting.insert(family);
                }
                None => gone.insert(family),
            }
        }
        if !lasting.is_empty() {
            out.push(Out::Indicate(Indication::LongLived(lasting)));
        }
        self.purge(gone, out);
    }

    fn purge(&mut self, families: FamilySet, out: &mut Vec<Out>) {
        let gone = self.stale.and(families);
        self.stale = self.stale.without(families);
        self.long_lived.retain(|(family, _)| !families.has(*family));
        if self.stale.is_empty() {
            (self.restart, self.stale_until) = (None, None);
        }
        if !gone.is_empty() {
            out.push(Out::Indicate(Indication::Purge(gone)));
        }
    }

    /// The peer is back. Families for which it did not keep forwarding lose what is stale
    /// (RFC 4724 §4.2, RFC 9494 §4.2).
    pub(super) fn back(
        &mut self,
        now: Time,
        negotiated: &Negotiated,
        stale: Duration,
        out: &mut Vec<Out>,
    ) {
        if self.stale.is_empty() {
            return;
        }
        let peer = &negotiated.peer;
        let restart = peer.graceful_restart.map_or(FamilySet::EMPTY, |it| it.forwarding);
        let lasting = peer.long_lived.map_or(FamilySet::EMPTY, |it| it.forwarding);
        let families = negotiated.context.families;
        let is_long: FamilySet = self.long_lived.iter().map(|(family, _)| *family).collect();
        let kept = restart.and(negotiated.graceful_restart).without(is_long);
        let kept = kept.or(lasting.and(negotiated.long_lived).and(is_long)).and(families);
        self.restart = None;
        self.stale_until = Some(now + stale);
        self.purge(self.stale.without(kept), out);
    }

    /// The End-of-RIB of a family came: what is stale still is no more.
    pub(super) fn end_of_rib(&mut self, family: Family, out: &mut Vec<Out>) {
        self.purge(FamilySet::only(family), out);
    }

    /// Nothing is kept any more.
    pub(super) fn drop_all(&mut self, out: &mut Vec<Out>) {
        self.purge(self.stale, out);
    }

    /// Fires what is due.
    pub(super) fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.restart.is_some_and(|at| at <= now) {
            self.restart = None;
            self.expire(now, self.stale, out);
        }
        if self.stale_until.is_some_and(|at| at <= now) {
            self.drop_all(out);
        }
        let is_due = |(_, at): &&(Family, Time)| *at <= now;
        let due = self.long_lived.iter().filter(is_due).map(|(family, _)| *family).collect();
        self.purge(due, out);
    }
}
