//! The connections of the peers: whose a connection is, which of them are refused, and where a
//! peer comes from that has no section of its own.

use crate::Speaker;
use crate::config::{PEERS_MAX, PeerSettings};
use crate::effects::Out;
use crate::peers::{Ending, EndingSource, Peer};
use crate::refusals::{FRESH, Refusal};
use bgp::{ConnectionId, In};
use machine::Time;
use rib::PeerId;
use runtime::{ENDED_THERE, Effects, Flow};
use std::net::IpAddr;

/// Of the places of a group, the neighbours of one IPv6 /64 hold this part at most without having
/// said an OPEN; a few they may hold always.
const SILENT_DIVISOR: usize = 4;
const SILENT_MIN: usize = 16;

impl Speaker {
    /// A connection stands, opened here or accepted.
    pub(crate) fn connected(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        if self.is_draining {
            return out.close(flow);
        }
        if let Some(id) = self.peers.of_target(&flow) {
            let connection = self.peers.connect(now, id, flow);
            self.refusals.forget(flow.remote.ip());
            return self.tell(now, id, In::Connected(connection), out);
        }
        let known = self.peers.of_address(flow.remote.ip());
        let Some(id) = known.or_else(|| self.welcome(now, flow.remote.ip())) else {
            return out.close(flow);
        };
        let connection = self.peers.connect(now, id, flow);
        self.refusals.forget(flow.remote.ip());
        self.start(now, id, out);
        self.tell(now, id, In::Accepted(connection), out);
    }

    /// Whether a connection from an address would be heard: it is a peer's, or lies in a range.
    #[must_use]
    pub fn welcomes(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_peer = self.peers.of_address(address).is_some();
        is_peer || self.resolved.ranges.iter().any(|range| range.has(address))
    }

    /// Makes a peer of an address that lies in a range.
    fn welcome(&mut self, now: Time, address: IpAddr) -> Option<PeerId> {
        let address = address.to_canonical();
        let range = self.resolved.ranges.iter().find(|range| range.has(address));
        let group = range.and_then(|range| self.resolved.groups.get(range.group));
        let Some(group) = group else {
            self.refuse(now, address, Refusal::NoPeer);
            return None;
        };
        let is_full = self.peers.of_group(group.name()) >= group.peers_max;
        if is_full || self.peers.len() >= PEERS_MAX {
            self.counts.range_full += 1;
            return None;
        }
        let share = (group.peers_max / SILENT_DIVISOR).max(SILENT_MIN);
        if self.peers.silent_beside(address) >= share {
            self.counts.range_silent += 1;
            return None;
        }
        if !group.template.enabled {
            self.counts.refused += 1;
            return None;
        }
        let settings = group.template.at(address);
        Some(self.admit(now, settings))
    }

    /// A peer joins; its session begins with the next tick.
    pub(crate) fn admit(&mut self, now: Time, settings: PeerSettings) -> PeerId {
        let seed = self.next_seed();
        let session = self.settings_now(&settings.session);
        let (id, serial) = self.peers.insert(Peer::new(now, settings, session, seed));
        self.clock.arm(now, (id, serial));
        id
    }

    /// A connection ended, or never stood.
    pub(crate) fn lost(&mut self, now: Time, flow: &Flow, why: &str, out: &mut Effects) {
        if flow.remote.ip().is_unspecified() {
            // Of a listening port: somebody who connects has not signed as he must.
            return self.refusals.note_unproven(now);
        }
        if let Some(id) = self.peers.of_connection(flow.conn) {
            let connection = ConnectionId(flow.conn.0);
            let was_up = self.peers.get(id).is_some_and(|peer| peer.up == Some(connection));
            self.peers.disconnect(id, connection);
            self.note_lost(now, id, why, was_up);
            return self.tell(now, id, In::Closed(connection), out);
        }
        if let Some(id) = self.peers.of_target(flow) {
            self.note_lost(now, id, why, false);
            self.tell(now, id, In::ConnectFailed, out);
        }
    }

    /// Octets came: whole messages, or what no message begins with. Of a connection that nobody
    /// knows, its speaker is gone: this one was made in its place.
    pub(crate) fn octets(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let Some(id) = self.peers.of_connection(flow.conn) else { return out.close(*flow) };
        let Some(peer) = self.peers.get_mut(id) else { return };
        let connection = ConnectionId(flow.conn.0);
        let has_spoken = peer.heard(now, connection, bytes);
        if has_spoken {
            self.peers.spoke(id);
        }
        let Some(peer) = self.peers.get_mut(id) else { return };
        let mut outs = self.received.outs();
        peer.session.receive(now, connection, bytes, &mut outs);
        self.received.begin(id, outs);
    }

    /// The kernel took octets of a connection; `left` wait.
    pub(crate) fn written(
        &mut self,
        now: Time,
        flow: &Flow,
        octets: u64,
        left: u64,
        out: &mut Effects,
    ) {
        let Some(id) = self.peers.of_connection(flow.conn) else { return out.close(*flow) };
        let connection = ConnectionId(flow.conn.0);
        let Some(peer) = self.peers.get_mut(id) else { return };
        let Some(it) = peer.connections.get_mut(&connection) else { return };
        it.left = left;
        if peer.up == Some(connection) {
            self.events.push_back(Out::Written(id, octets, left));
        }
        if octets > 0 {
            self.tell(now, id, In::Written(connection, left > 0), out);
        }
    }

    /// Remembers what was said when something ended.
    pub(crate) fn note(&mut self, now: Time, id: PeerId, text: String) {
        self.note_of(now, id, text, EndingSource::Other);
    }

    pub(crate) fn note_of(&mut self, now: Time, id: PeerId, text: String, source: EndingSource) {
        if let Some(peer) = self.peers.get_mut(id) {
            peer.ending = Some(Ending { at: now, text, source });
        }
    }

    /// Remembers what the transport says of a lost connection. That the far end ended one over
    /// which no session stood says less than the NOTIFICATION before: an end that waits after an
    /// error refuses connections (RFC 4271 §8.2.2, Idle).
    fn note_lost(&mut self, now: Time, id: PeerId, why: &str, was_up: bool) {
        let Some(peer) = self.peers.get(id) else { return };
        let is_told = peer
            .ending
            .as_ref()
            .is_some_and(|it| it.source == EndingSource::Notification && now.since(it.at) < FRESH);
        if was_up || !is_told || !ENDED_THERE.contains(&why) {
            self.note(now, id, why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Group, Section};
    use machine::Duration;
    use runtime::{ConnId, PortId, Seed, Transport};
    use std::collections::BTreeMap;

    fn flow(number: u32) -> Flow {
        let (local, remote) = ("10.0.0.1:179", "10.0.0.2:40000");
        let [local, remote] = [local, remote].map(|it| it.parse().expect("the test says it"));
        Flow { port: PortId(0), conn: ConnId(number), transport: Transport::Tcp, local, remote }
    }

    fn speaker(now: Time) -> Speaker {
        let group = r#"
            name = "any"
            ranges = ["10.0.0.0/24"]
            asn = 65000
        "#;
        let group: Vec<Group> = vec![toml::from_str(group).expect("the test says it")];
        let listen = ["10.0.0.1:179".to_owned()];
        let section = Section {
            key: "toy",
            asn: 65_000,
            identifier: std::net::Ipv4Addr::new(10, 0, 0, 1),
            listen: &listen,
            group: &group,
            peer: &[],
            policy: &[],
            locations: Vec::new(),
            vrfs: BTreeMap::new(),
            first_port: PortId(2_000),
        };
        let seed = Seed { shard: 0, shards: 1, random: [1; 32], now };
        Speaker::new(&seed, &section, Duration::ZERO, None)
    }

    #[test]
    fn who_connects_and_leaves_again_and_again_leaves_nothing_in_the_wheel() {
        let mut now = Time::from_millis(1_700_000_000_000);
        let (mut speaker, mut out) = (speaker(now), Effects::default());
        let mut most = 0;
        for number in 0..20_000 {
            let flow = flow(number);
            speaker.connected(now, flow, &mut out);
            assert_eq!(speaker.peers.len(), 1);
            // Half of them stay for a tick.
            if number % 2 == 0 {
                speaker.tick(now, &mut out);
            }
            speaker.lost(now, &flow, "it left", &mut out);
            while speaker.next(now, &[], &mut out).is_some() {}
            now += Duration::from_millis(100);
            speaker.tick(now, &mut out);
            most = most.max(speaker.clock.len());
        }
        // Nobody waits for an OPEN for longer than four minutes (RFC 4271 §8.2.2).
        assert!(most <= 2 * 240 * 10, "{most} entries");
        now += Duration::from_secs(300);
        speaker.tick(now, &mut out);
        assert_eq!((speaker.clock.len(), speaker.peers.len()), (0, 0));
    }

    #[test]
    fn a_connection_that_a_dead_speaker_left_is_closed_when_something_comes_over_it() {
        let now = Time::from_millis(1_700_000_000_000);
        let (mut speaker, mut out) = (speaker(now), Effects::default());
        speaker.step(now, crate::In::Octets(&flow(7), &[0xff; 19]), &mut out);
        speaker.step(now, crate::In::Written(&flow(8), 19, 0), &mut out);
        let closed: Vec<u32> = out.closes.iter().map(|flow| flow.conn.0).collect();
        assert_eq!(closed, [7, 8]);
    }

    #[test]
    fn an_attempt_to_connect_that_begins_anew_is_not_closed() {
        let mut now = Time::from_millis(1_700_000_000_000);
        let peer = r#"
            name = "slow"
            address = "10.0.0.2"
            connect_retry_s = 2
        "#;
        let peer = vec![toml::from_str(peer).expect("the test says it")];
        let listen = ["10.0.0.1:179".to_owned()];
        let section = Section {
            key: "toy",
            asn: 65_000,
            identifier: std::net::Ipv4Addr::new(10, 0, 0, 1),
            listen: &listen,
            group: &[],
            peer: &peer,
            policy: &[],
            locations: Vec::new(),
            vrfs: BTreeMap::new(),
            first_port: PortId(2_000),
        };
        let seed = Seed { shard: 0, shards: 1, random: [1; 32], now };
        let mut speaker = Speaker::new(&seed, &section, Duration::ZERO, None);
        let (mut out, mut opened, mut closed) = (Effects::default(), 0, 0);
        for _ in 0..20 {
            speaker.tick(now, &mut out);
            while speaker.next(now, &[], &mut out).is_some() {}
            (opened, closed) = (opened + out.opens.len(), closed + out.closes.len());
            out.clear();
            now += Duration::from_secs(1);
        }
        assert_eq!((opened, closed), (1, 0));
    }
}
