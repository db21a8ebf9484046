//! M3UA messages as trails of the service assurance: one for each association, from when it stands.

use crate::Gateway;
use m3ua::PeerId;
use m3ua_stack::Way;
use machine::Time;
use machine::identity::mix;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use trail::{Seen, protocol_of};

impl Gateway {
    /// Captures a message of a peer, sent or received.
    pub(crate) fn captured(&mut self, now: Time, peer: PeerId, bytes: &[u8], is_ours: bool) {
        if !self.capture.is_on() {
            return;
        }
        let Some(link) = self.links.link(peer) else { return };
        let (ours, theirs, protocol) = match link.way {
            Some(Way::Stream(flow)) => (flow.local, flow.remote, protocol_of(flow.transport)),
            _ => {
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                let own = self.config.sctp.as_ref().and_then(|sctp| sctp.addresses.first());
                let port = link.config.port.unwrap_or(m3ua::codec::PORT);
                let remote = link.config.addresses.first().copied().unwrap_or(any);
                let local = SocketAddr::new(own.copied().unwrap_or(any), m3ua::codec::PORT);
                (local, SocketAddr::new(remote, port), hep::SCTP)
            }
        };
        let name = link.config.name.bytes().fold(0, |hash, octet| mix(hash ^ u64::from(octet)));
        let trail = Some(mix(name ^ link.since.as_nanos()));
        let (source, destination) = if is_ours { (ours, theirs) } else { (theirs, ours) };
        self.capture.message(now, &Seen { source, destination, protocol, trail, bytes }, |_| true);
    }
}
