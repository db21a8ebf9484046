//! Messages that passed, whole and with the addresses between which they did: for the service
//! assurance of whoever has the peers, which takes them at the end of each step.

use crate::config::Carriage;
use crate::passed::Passed;
use crate::peers::{Peers, Way};
use bytes::Bytes;
use diameter::Connection;
use diameter::codec::PORT;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Messages that wait to be taken at most.
const PASSED_MAX: usize = 10_000;

impl Peers {
    /// Whether messages that pass are kept until [`Peers::passed`] takes them.
    pub fn want_passed(&mut self, is_wanted: bool) {
        let passages = &mut self.seen.passages;
        passages.is_wanted = is_wanted;
        if !is_wanted {
            passages.all.clear();
        }
    }

    /// The next message that passed.
    pub fn passed(&mut self) -> Option<Passed> {
        self.seen.passages.all.pop_front()
    }

    /// Keeps a message that passes on a connection, if that is wanted.
    pub(crate) fn pass(&mut self, name: Connection, octets: &[u8], is_sent: bool) {
        if !self.seen.passages.is_wanted || self.seen.passages.all.len() >= PASSED_MAX {
            return;
        }
        let Some((ends, protocol)) = self.ends(name) else { return };
        let octets = Bytes::copy_from_slice(octets);
        let passed = Passed { is_sent, ends, protocol, connection: name.0, octets };
        self.seen.passages.all.push_back(passed);
    }

    fn ends(&self, name: Connection) -> Option<((SocketAddr, SocketAddr), u8)> {
        let link = self.links.get(&name)?;
        if let Way::Stream(flow) = link.way {
            let protocol = match crate::stream::carriage(&flow) {
                Carriage::Tls => hep::TLS,
                Carriage::Tcp | Carriage::Sctp => hep::TCP,
            };
            return Some(((flow.local, flow.remote), protocol));
        }
        let Way::Association(id) = link.way else { return None };
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let endpoint = self.endpoint.as_ref()?;
        let own = endpoint.addresses().first().copied().unwrap_or(any);
        let far = link.remote.first().copied().unwrap_or(any);
        let port = endpoint.status(id).map_or(PORT, |it| it.peer_port);
        Some(((SocketAddr::new(own, PORT), SocketAddr::new(far, port)), hep::SCTP))
    }
}
