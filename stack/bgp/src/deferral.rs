//! After a start nobody is told anything until the peers have said what they have: those that
//! restart gracefully kept forwarding by what this node told them before (RFC 4724 §4.1).

use crate::Speaker;
use crate::peers::Peer;
use bgp::family::FamilySet;
use bgp::{In, Settings};
use machine::Time;
use runtime::Effects;

impl Speaker {
    /// Until when nobody is told anything (RFC 4724 §4.1, Selection_Deferral_Timer).
    #[must_use]
    pub const fn deferral(&self) -> Option<Time> {
        self.deferral
    }

    /// Whether routes that stood before a start may still be told again: nobody is told anything
    /// yet, or a peer has not told all that it has, also one that restarted at the same time and is
    /// not waited for. Who forwards by these routes goes on for so long, the deferral at most.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        let lacks = |peer: &Peer| {
            peer.negotiated.as_ref().is_some_and(|it| {
                it.peer.graceful_restart.is_some() && !has_ended(peer, it.context.families)
            })
        };
        let tells_all = || self.peers.iter().all(|(_, peer)| !lacks(peer));
        self.deferral.is_some() || self.recovery.is_some() && !tells_all()
    }

    /// The settings of a session that begins now: while routes are waited for, the peer hears that
    /// this node has restarted, and does not wait for its routes in turn.
    pub(crate) fn settings_now(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        if let Some(restart) = &mut settings.offer.graceful_restart {
            restart.restarting = self.deferral.is_some();
        }
        settings
    }

    /// Whether nobody is told anything yet. Where that ends, the sessions are told so.
    pub fn is_deferring(&mut self, now: Time, out: &mut Effects) -> bool {
        let Some(until) = self.deferral else { return false };
        if now < until && !self.has_heard_all() {
            return true;
        }
        self.deferral = None;
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get(id) else { continue };
            let settings = Box::new(peer.settings.session.clone());
            self.tell(now, id, In::SetSettings(settings), out);
        }
        false
    }

    /// Every peer that was awaited has told all of its routes. Who may still come from a range is
    /// not known: then the time is waited for.
    fn has_heard_all(&self) -> bool {
        self.resolved.ranges.is_empty() && self.peers.iter().all(|(_, peer)| is_heard(peer))
    }
}

/// Not awaited: who is held, who does not say anything of graceful restart, who has restarted
/// itself. Who says it tells where its routes end, also of families of which it says that it would
/// not keep forwarding (RFC 4724 §3).
fn is_heard(peer: &Peer) -> bool {
    let Some(negotiated) = &peer.negotiated else { return peer.held.is_some() };
    let restarts = negotiated.peer.graceful_restart.as_ref();
    let is_awaited = restarts.is_some_and(|it| !it.restarting);
    !is_awaited || has_ended(peer, negotiated.context.families)
}

/// Whether a peer has told all that it has of these families.
fn has_ended(peer: &Peer, families: FamilySet) -> bool {
    families.without(peer.ended).is_empty()
}
