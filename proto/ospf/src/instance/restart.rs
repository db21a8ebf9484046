//! Neighbours that restart are borne for a while: the helper of RFC 3623 §3.

use super::{Instance, NeighbourId};
use crate::lsa::{Grace, HEADER_OCTETS, Header, Key, LsaType, MAX_AGE, OpaqueType};
use crate::neighbour::NeighbourState;
use machine::{Duration, Time};

impl Instance {
    /// A grace LSA came, or went.
    pub(super) fn notice_grace(
        &mut self,
        now: Time,
        from: NeighbourId,
        header: Header,
        octets: &[u8],
    ) {
        let is_grace = header.key.id >> 24 == u32::from(OpaqueType::Grace.number());
        let Some(body) = octets.get(HEADER_OCTETS..).filter(|_| is_grace) else { return };
        let router = header.key.router;
        let Some(interface) = self.interfaces.get(&from.0) else { return };
        let Ok(grace) = Grace::read(body) else { return };
        let named = grace.address.filter(|_| interface.is_broadcast());
        let it = interface
            .neighbours
            .values()
            .find(|it| it.router == router && named.is_none_or(|address| address == it.address));
        let Some(id) = it.map(|it| (from.0, it.address)) else { return };
        if header.age >= MAX_AGE {
            return self.end_grace(now, id, true);
        }
        let left = u64::from(grace.period_s).saturating_sub(header.age.into());
        let left = Duration::from_secs(left);
        let may = left <= self.settings.grace_max && !left.is_zero();
        if let Some(it) = self.neighbour_mut(id)
            && may
            && (it.state == NeighbourState::Full || it.grace.is_some())
        {
            it.grace = Some(now + left);
        }
    }

    /// The grace of a neighbour ends: with its time, or because it is back.
    pub(super) fn end_grace(&mut self, now: Time, id: NeighbourId, is_over: bool) {
        let Some(it) = self.neighbour_mut(id) else { return };
        let is_over = is_over || it.grace.is_some_and(|until| until <= now);
        if it.grace.is_some() && is_over {
            it.grace = None;
            // Its silence was borne: it is dead now.
            if it.dead_at == Time::MAX {
                it.dead_at = now + Duration::from_millis(1);
            }
            self.own.is_stale = true;
        }
    }

    /// The network changed: who restarts would be told late, so that nobody is borne any more
    /// (§3.2 (3)). What the restarting router says itself is no change.
    pub(super) fn end_all_graces(&mut self, now: Time, key: Key) {
        let is_topology = matches!(
            key.kind,
            LsaType::Router
                | LsaType::Network
                | LsaType::Summary
                | LsaType::AsbrSummary
                | LsaType::External
                | LsaType::Nssa
        );
        if !is_topology {
            return;
        }
        let all = self.interfaces.iter().flat_map(|(index, interface)| {
            let borne = interface.neighbours.values().filter(|it| it.grace.is_some());
            borne.map(|it| (*index, it.address, it.router))
        });
        let ended: Vec<NeighbourId> = all
            .filter(|(.., router)| *router != key.router && key.router != self.settings.router)
            .map(|(index, address, _)| (index, address))
            .collect();
        ended.into_iter().for_each(|id| self.end_grace(now, id, true));
    }
}
