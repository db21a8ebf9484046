//! What the owner and its operator do to the sessions.

use crate::Speaker;
use crate::peers::{Ending, Held};
use bgp::In;
use bgp::codec::{Cease, Notice, RefreshKind, Violation, write_communication};
use bgp::family::{Family, FamilySet};
use machine::Time;
use rib::PeerId;
use runtime::Effects;

impl Speaker {
    /// Begins the session of a peer anew, with what the operator says to it (RFC 9003).
    pub fn reset(&mut self, now: Time, id: PeerId, text: Option<String>, out: &mut Effects) {
        self.tell(now, id, In::Reset(Cease::AdministrativeReset, text), out);
    }

    /// The same without graceful restart (RFC 8538); whether its session stood.
    pub fn reset_hard(
        &mut self,
        now: Time,
        id: PeerId,
        text: Option<&str>,
        out: &mut Effects,
    ) -> bool {
        let Some(connection) = self.peers.get(id).and_then(|peer| peer.up) else { return false };
        let inside = Notice::cease(Cease::AdministrativeReset);
        let mut data = vec![inside.code, inside.subcode];
        text.into_iter().for_each(|text| write_communication(text, &mut data));
        let notice = Notice::cease(Cease::HardReset);
        self.tell(now, id, In::Refuse(connection, notice, data), out);
        true
    }

    /// Ends every session that stands, for that reason.
    pub fn stop_all(&mut self, now: Time, cease: Cease, out: &mut Effects) {
        for id in self.peers.ids() {
            self.tell(now, id, In::Stop(cease, None), out);
        }
    }

    /// Asks a peer for all of its routes again, where it understands that (RFC 2918). The families
    /// of its session; `None` when it does not stand.
    pub fn request_routes(
        &mut self,
        now: Time,
        id: PeerId,
        out: &mut Effects,
    ) -> Option<FamilySet> {
        let negotiated = self.peers.get(id)?.negotiated.as_ref()?;
        let (families, may_ask) = (negotiated.context.families, negotiated.route_refresh);
        for family in families.iter().filter(|_| may_ask) {
            self.tell(now, id, In::Refresh(family, RefreshKind::Request), out);
        }
        Some(families)
    }

    /// Ends the session of a peer until it is enabled again.
    pub fn shut_down(&mut self, now: Time, id: PeerId, text: Option<String>, out: &mut Effects) {
        if let Some(peer) = self.peers.get_mut(id) {
            peer.held = Some(Held::Operator);
        }
        self.tell(now, id, In::Stop(Cease::AdministrativeShutdown, text), out);
    }

    /// Lets a peer back that the operator or a limit of routes held; whether the configuration
    /// wants its session.
    pub fn enable(&mut self, now: Time, id: PeerId, out: &mut Effects) -> bool {
        let Some(peer) = self.peers.get_mut(id) else { return false };
        if peer.held == Some(Held::Configured) {
            return false;
        }
        peer.held = None;
        self.start(now, id, out);
        true
    }

    /// An UPDATE of a peer offended so that its session ends.
    pub fn refuse_update(
        &mut self,
        now: Time,
        id: PeerId,
        violation: &Violation,
        message: &[u8],
        out: &mut Effects,
    ) {
        let Some(connection) = self.peers.get(id).and_then(|peer| peer.up) else { return };
        self.counts.offended += 1;
        self.offended(now, id, violation);
        let mut data = Vec::new();
        violation.write_data(message, &mut data);
        self.tell(now, id, In::Refuse(connection, violation.notice, data), out);
    }

    /// An UPDATE of a peer offended, and the session goes on (RFC 7606).
    pub fn tolerate(&mut self, now: Time, id: PeerId, violation: &Violation) {
        self.counts.tolerated += 1;
        if let Some(peer) = self.peers.get_mut(id) {
            peer.tolerated += 1;
            let (approach, malformed) = (violation.approach.name(), violation.malformed);
            peer.violation = Some(Ending::new(now, format!("{malformed}: {approach}")));
        }
    }

    /// A peer has told all that it has of a family (RFC 4724 §2).
    pub fn end_of_rib(&mut self, now: Time, id: PeerId, family: Family, out: &mut Effects) {
        if let Some(peer) = self.peers.get_mut(id) {
            peer.ended.insert(family);
        }
        self.tell(now, id, In::EndOfRib(family), out);
    }
}
