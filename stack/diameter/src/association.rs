//! Connections over SCTP: the endpoint's associations.

use crate::config::Carriage;
use crate::peers::{Link, Opening, Peers, Way};
use bytes::Bytes;
use diameter::codec::SCTP_PPID;
use diameter::{In, PeerId};
use machine::Time;
use runtime::Effects;
use sctp::{Failure, Indication, Outgoing, PathState};
use sctp_stack::{AssociationId, SctpEndpoint};
use std::net::IpAddr;

impl Peers {
    pub(crate) fn associate(&mut self, now: Time, id: PeerId) {
        let (Some(row), Some(endpoint)) = (self.rows.get(&id), &mut self.endpoint) else {
            return self.tell(now, In::NotConnected(id, "there is no SCTP endpoint"));
        };
        match endpoint.associate(now, &row.endpoint()) {
            Ok(association) => drop(self.opening.insert(id, Opening::Association(association))),
            Err(_) => self.tell(now, In::NotConnected(id, "the SCTP endpoint has refused")),
        }
    }

    pub(crate) fn send_on(&mut self, now: Time, id: AssociationId, octets: Bytes) {
        if let Some(endpoint) = &mut self.endpoint {
            let message = Outgoing::new(0, SCTP_PPID, octets);
            endpoint.wish(now, sctp::In::Send(id, message));
        }
    }

    pub(crate) fn shut_down(&mut self, now: Time, id: AssociationId) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.wish(now, sctp::In::Shutdown(id));
        }
    }

    pub(crate) fn abort(&mut self, now: Time, id: AssociationId) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.wish(now, sctp::In::Abort(id, Bytes::new()));
        }
    }

    /// Takes everything that happened to associations.
    pub(crate) fn take_associations(&mut self, now: Time) {
        while let Some((id, what)) = self.endpoint.as_mut().and_then(SctpEndpoint::next) {
            match what {
                Indication::CommunicationUp(..) => self.associated(now, id),
                Indication::Data(message) => {
                    if let Some(name) = self.associations.get(&id).copied() {
                        self.arrived(now, name, message.payload);
                    }
                }
                Indication::SendFailure(_, Failure::BufferFull) => self.seen.counts.shed += 1,
                // A restart has lost what the far end knew of the exchange of capabilities.
                Indication::Restart => {
                    self.ended(now, id, "the association began anew");
                    self.abort(now, id);
                }
                Indication::ShutdownComplete => {
                    self.ended(now, id, "the association was shut down");
                }
                Indication::CommunicationLost(_) => self.ended(now, id, "the association is lost"),
                _ => {}
            }
        }
    }

    fn opened_by(&self, id: AssociationId) -> Option<PeerId> {
        let is_it = |it: &Opening| *it == Opening::Association(id);
        self.opening.iter().find(|(_, opening)| is_it(opening)).map(|(id, _)| *id)
    }

    fn associated(&mut self, now: Time, id: AssociationId) {
        let way = Way::Association(id);
        let remote = self.confirmed(id);
        if let Some(peer) = self.opened_by(id) {
            self.opening.remove(&peer);
            let link = Link { way, remote, is_stranger: false, peer: Some(peer), names: None };
            let name = self.link(link);
            return self.tell(now, In::Connected(peer, name, self.own_addresses()));
        }
        if !self.may_come(Carriage::Sctp, &remote) {
            self.seen.counts.refused += 1;
            return self.abort(now, id);
        }
        let link = Link { way, remote, is_stranger: true, peer: None, names: None };
        let name = self.link(link);
        self.tell(now, In::Accepted(name, self.own_addresses()));
    }

    /// The addresses of this end, all of which are told (RFC 6733 §5.3.5).
    fn own_addresses(&self) -> Vec<IpAddr> {
        self.endpoint.as_ref().map(SctpEndpoint::addresses).unwrap_or_default()
    }

    /// The endpoint goes, and its associations with it: their far ends are told.
    pub(crate) fn close_endpoint(&mut self, now: Time, out: &mut Effects) {
        // What was sent before leaves first.
        self.endpoint.iter_mut().for_each(|it| it.tick(now));
        let all: Vec<AssociationId> =
            self.endpoint.iter().flat_map(SctpEndpoint::associations).collect();
        for id in all {
            self.abort(now, id);
        }
        self.flush(out);
        self.endpoint = None;
    }

    /// Addresses from which an association has answered: anybody may write those of others into
    /// his INIT (RFC 9260 §5.4).
    fn confirmed(&self, id: AssociationId) -> Vec<IpAddr> {
        let status = self.endpoint.as_ref().and_then(|endpoint| endpoint.status(id));
        let paths = status.iter().flat_map(|it| &it.paths);
        paths.filter(|it| it.state != PathState::Unconfirmed).map(|it| it.address).collect()
    }

    fn ended(&mut self, now: Time, id: AssociationId, why: &'static str) {
        if let Some(name) = self.associations.get(&id).copied() {
            self.unlink(name);
            return self.tell(now, In::Lost(name, why));
        }
        if let Some(peer) = self.opened_by(id) {
            self.opening.remove(&peer);
            self.tell(now, In::NotConnected(peer, why));
        }
    }
}
