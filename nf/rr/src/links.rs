//! The connections of the peers: whose a connection is, which of them are refused, and where a
//! peer comes from that has no section of its own.

use crate::Reflector;
use crate::config::{PEERS_MAX, Speaker};
use crate::facts::Fact;
use crate::peers::{Ending, Peer};
use bgp::{ConnectionId, In};
use machine::Time;
use rib::PeerId;
use runtime::{Effects, Flow};
use std::net::IpAddr;

/// Of the places of a group, the neighbours of one IPv6 /64 hold this part at most without having
/// said an OPEN; a few they may hold always.
const SILENT_DIVISOR: usize = 4;
const SILENT_MIN: usize = 16;

impl Reflector {
    /// A connection stands, opened here or accepted.
    pub(crate) fn stands(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        if self.is_draining {
            return out.close(flow);
        }
        if let Some(id) = self.peers.of_target(&flow) {
            let connection = self.peers.connect(now, id, flow);
            return self.tell(now, id, In::Connected(connection), out);
        }
        let known = self.peers.of_address(flow.remote.ip());
        let Some(id) = known.or_else(|| self.welcome(now, flow.remote.ip())) else {
            return out.close(flow);
        };
        let connection = self.peers.connect(now, id, flow);
        self.start(now, id, out);
        self.tell(now, id, In::Accepted(connection), out);
    }

    /// Makes a peer of an address that lies in a range.
    fn welcome(&mut self, now: Time, address: IpAddr) -> Option<PeerId> {
        let address = address.to_canonical();
        let range = self.ranges.iter().find(|range| range.has(address));
        let group = range.and_then(|range| self.config.group.get(range.group));
        let Some(group) = group else {
            self.facts.add(Fact::Refused, 1);
            return None;
        };
        let is_full = self.peers.of_group(&group.name) >= group.peers_max as usize;
        if is_full || self.peers.len() >= PEERS_MAX {
            self.facts.add(Fact::RangeFull, 1);
            return None;
        }
        let share = (group.peers_max as usize / SILENT_DIVISOR).max(SILENT_MIN);
        if self.peers.silent_beside(address) >= share {
            self.facts.add(Fact::RangeSilent, 1);
            return None;
        }
        let speaker = Speaker::of_range(&self.config, group, address);
        if !speaker.enabled {
            self.facts.add(Fact::Refused, 1);
            return None;
        }
        Some(self.admit(now, speaker))
    }

    /// A peer joins; its session begins with the next tick.
    pub(crate) fn admit(&mut self, now: Time, speaker: Speaker) -> PeerId {
        let seed = self.next_seed();
        let settings = self.settings_now(&speaker.settings);
        let id = self.peers.insert(Peer::new(now, speaker, settings, seed));
        self.clock.arm(now, id);
        id
    }

    /// A connection ended, or never stood.
    pub(crate) fn lost(&mut self, now: Time, flow: &Flow, why: &str, out: &mut Effects) {
        if let Some(id) = self.peers.of_connection(flow.conn) {
            let connection = ConnectionId(flow.conn.0);
            self.peers.disconnect(id, connection);
            self.note(now, id, why.to_owned());
            return self.tell(now, id, In::Closed(connection), out);
        }
        if let Some(id) = self.peers.of_target(flow) {
            self.note(now, id, why.to_owned());
            self.tell(now, id, In::ConnectFailed, out);
        }
    }

    /// Octets came: whole messages, or what no message begins with.
    pub(crate) fn octets(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let Some(id) = self.peers.of_connection(flow.conn) else { return };
        let Some(peer) = self.peers.get_mut(id) else { return };
        let connection = ConnectionId(flow.conn.0);
        let has_spoken = peer.heard(now, connection, bytes);
        if has_spoken {
            self.peers.spoke(id);
        }
        self.trail_messages(now, flow, bytes, false);
        let Some(peer) = self.peers.get_mut(id) else { return };
        let mut outs = core::mem::take(&mut self.outs);
        peer.session.receive(now, connection, bytes, &mut outs);
        self.carry_out(now, id, &mut outs, (bytes, out));
        self.outs = outs;
        self.settle(id);
    }

    /// The kernel took octets of a connection; `left` wait.
    pub(crate) fn written(
        &mut self,
        now: Time,
        flow: &Flow,
        (octets, left): (u64, u64),
        out: &mut Effects,
    ) {
        let Some(id) = self.peers.of_connection(flow.conn) else { return };
        let connection = ConnectionId(flow.conn.0);
        let Some(peer) = self.peers.get_mut(id) else { return };
        let Some(link) = peer.links.get_mut(&connection) else { return };
        link.left = left;
        // What the session said itself counts as if it were routes: where nothing waits any more,
        // the rib is told so, and the difference is gone.
        let taken = if left == 0 { self.rib.waiting(id) } else { octets };
        if peer.up == Some(connection) {
            self.rib.written(id, taken);
            self.has_work = true;
        }
        if octets > 0 {
            self.tell(now, id, In::Written(connection, left > 0), out);
        }
    }

    /// Remembers what was said when something ended.
    pub(crate) fn note(&mut self, now: Time, id: PeerId, text: String) {
        if let Some(peer) = self.peers.get_mut(id) {
            peer.ending = Some(Ending { at: now, text });
        }
    }
}
