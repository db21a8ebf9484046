//! Connections over TCP and TLS.

use crate::config::Carriage;
use crate::peers::{Link, Opening, Peers, Way};
use bytes::Bytes;
use diameter::codec::Message;
use diameter::rows::base::ORIGIN_HOST;
use diameter::{Connection, In, PeerId};
use machine::Time;
use runtime::{Effects, Flow, Transport};

pub(crate) const fn carriage(flow: &Flow) -> Carriage {
    match flow.transport {
        Transport::Tls => Carriage::Tls,
        Transport::Tcp | Transport::Udp => Carriage::Tcp,
    }
}

impl Peers {
    /// The peer that a connection was to be opened for.
    fn opened_for(&self, flow: &Flow) -> Option<PeerId> {
        let is_it = |opening: &Opening| match opening {
            Opening::Stream(it) => (it.port, it.remote) == (flow.port, flow.remote),
            Opening::Association(_) => false,
        };
        self.opening.iter().find(|(_, opening)| is_it(opening)).map(|(id, _)| *id)
    }

    /// The same of one that stands. One that the far end has opened has the number of the listener
    /// here, whatever number it has there.
    fn stands_for(&self, flow: &Flow) -> Option<PeerId> {
        let id = self.opened_for(flow)?;
        let own = match self.opening.get(&id) {
            Some(Opening::Stream(it)) => it.local.port(),
            _ => return None,
        };
        (flow.local.port() != own).then_some(id)
    }

    /// A connection stands, opened here or accepted.
    pub(crate) fn stream_up(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        let (remote, local) = (flow.remote.ip(), vec![flow.local.ip()]);
        let names = self.proofs.remove(&flow.conn);
        let way = Way::Stream(flow);
        if let Some(id) = self.stands_for(&flow) {
            self.opening.remove(&id);
            let remote = vec![remote];
            let link = Link { way, remote, is_stranger: false, peer: Some(id), names };
            let name = self.link(link);
            return self.tell(now, In::Connected(id, name, local));
        }
        if !self.may_come(carriage(&flow), &[remote]) {
            self.seen.counts.refused += 1;
            return out.close(flow);
        }
        let link = Link { way, remote: vec![remote], is_stranger: true, peer: None, names };
        let name = self.link(link);
        self.tell(now, In::Accepted(name, local));
    }

    pub(crate) fn stream_message(&mut self, now: Time, flow: &Flow, bytes: &[u8]) {
        let Some(name) = self.streams.get(&flow.conn).copied() else { return };
        self.arrived(now, name, Bytes::copy_from_slice(bytes));
    }

    /// A message came on a connection.
    pub(crate) fn arrived(&mut self, now: Time, name: Connection, octets: Bytes) {
        if self.links.get(&name).is_some_and(|link| link.is_stranger) {
            if !self.is_own(name, &octets) {
                self.seen.counts.claims_refused += 1;
                return self.forge(now, name);
            }
            let peer = self.claimed(&octets);
            if let Some(link) = self.links.get_mut(&name) {
                (link.is_stranger, link.peer) = (false, peer);
            }
        }
        self.trace(now, name, &octets, false);
        self.pass(name, &octets, false);
        self.tell(now, In::Message(name, octets));
    }

    /// The peer whose host the first message of a connection says.
    fn claimed(&self, octets: &[u8]) -> Option<PeerId> {
        let message = Message::read(octets).ok()?;
        let host = message.avps().find(&ORIGIN_HOST)?.data;
        let is_it = |it: &str| it.as_bytes().eq_ignore_ascii_case(host);
        self.rows.iter().find(|(_, row)| is_it(&row.host)).map(|(id, _)| *id)
    }

    /// Whether a connection may say what its first message says: one of a host that is no peer may,
    /// since the machine answers it.
    fn is_own(&self, name: Connection, octets: &[u8]) -> bool {
        let Some(link) = self.links.get(&name) else { return false };
        let Ok(message) = Message::read(octets) else { return true };
        let Some(host) = message.avps().find(&ORIGIN_HOST) else { return true };
        let is_it = |it: &str| it.as_bytes().eq_ignore_ascii_case(host.data);
        let peer = self.claimed(octets);
        let Some(row) = peer.and_then(|id| self.rows.get(&id)) else { return true };
        let is_secure = match link.way {
            Way::Stream(flow) => flow.transport == Transport::Tls,
            Way::Association(_) => false,
        };
        let carried = link.names.iter().flatten().any(|it| is_it(it));
        let is_proved = !is_secure || !self.proves || carried;
        let is_carried = match link.way {
            Way::Stream(flow) => carriage(&flow) == row.transport,
            Way::Association(_) => row.transport == Carriage::Sctp,
        };
        is_carried && is_proved && link.remote.iter().any(|address| row.has(*address))
    }

    /// Ends a connection that claims to be another's: the machine is told that it is lost.
    fn forge(&mut self, now: Time, name: Connection) {
        self.tell(now, In::Lost(name, "it claimed to be another host"));
        self.doomed.push(name);
    }

    /// A connection ended, or never stood.
    pub(crate) fn stream_down(&mut self, now: Time, flow: &Flow, why: &'static str) {
        self.proofs.remove(&flow.conn);
        if let Some(name) = self.streams.get(&flow.conn).copied() {
            self.unlink(name);
            return self.tell(now, In::Lost(name, why));
        }
        if let Some(id) = self.opened_for(flow) {
            self.opening.remove(&id);
            self.tell(now, In::NotConnected(id, why));
        }
    }
}
