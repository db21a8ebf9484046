//! Peers over SCTP: the endpoint's associations, by the peer they belong to.

use crate::config::Carriage;
use crate::links::{Links, Way, is_msu};
use bytes::Bytes;
use m3ua::{In, PeerId};
use machine::Time;
use sctp::{Failure, Indication, Lost, Outgoing, PathState};
use sctp_stack::{AssociationId, SctpEndpoint};
use std::net::IpAddr;

/// The context of DATA, by which a failure is told from one of management.
const MSU: u64 = 1;
/// The level of congestion that a full send buffer means.
const FULL: u8 = 3;

impl Links {
    pub(crate) fn associate(&mut self, now: Time, id: PeerId) {
        let (Some(link), Some(endpoint)) = (self.rows.get_mut(&id), &mut self.endpoint) else {
            return;
        };
        match endpoint.associate(now, &link.config.endpoint()) {
            Ok(association) => {
                link.way = Some(Way::Association(association));
                self.associations.insert(association, id);
            }
            Err(refused) => self.rest(now, id, refusal(refused)),
        }
    }

    pub(crate) fn send_on(&mut self, now: Time, id: AssociationId, stream: u16, bytes: Bytes) {
        if let Some(endpoint) = &mut self.endpoint {
            let context = if is_msu(&bytes) { MSU } else { 0 };
            let message =
                Outgoing { context, ..Outgoing::new(stream, m3ua::codec::SCTP_PPID, bytes) };
            endpoint.wish(now, sctp::In::Send(id, message));
        }
    }

    pub(crate) fn shut_down(&mut self, now: Time, id: AssociationId) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.wish(now, sctp::In::Shutdown(id));
        }
    }

    pub(crate) fn abort_association(&mut self, now: Time, id: AssociationId) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.wish(now, sctp::In::Abort(id, Bytes::new()));
        }
    }

    /// Takes one thing that happened to an association; `false` when there is nothing more.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let Some((id, what)) = self.endpoint.as_mut().and_then(SctpEndpoint::next) else {
            return false;
        };
        let peer = self.associations.get(&id).copied();
        match (what, peer) {
            (Indication::CommunicationUp(streams, _), peer) => {
                let peer = peer.or_else(|| self.claimed(id));
                match peer.filter(|_| !self.is_closing) {
                    Some(peer) => self.associated(now, peer, id, streams),
                    None => {
                        self.counts.refused += 1;
                        self.abort_association(now, id);
                    }
                }
            }
            (Indication::SendFailure(context, failure), peer) => {
                let is_full = failure == Failure::BufferFull;
                let is_shed = is_full && context == MSU;
                match is_shed {
                    true => self.counts.shed += 1,
                    false => self.counts.lost += 1,
                }
                if let Some(peer) = peer.filter(|_| is_full) {
                    self.congested(peer, FULL);
                }
            }
            (Indication::ShutdownComplete | Indication::CommunicationLost(_), None) => {
                self.withdraw_challenge(id);
            }
            (_, None) => {}
            (Indication::Data(message), Some(peer)) => {
                self.told.push_back(In::Message(peer, message.stream, message.payload));
            }
            (Indication::SendBufferFree, Some(peer)) => self.congested(peer, 0),
            (Indication::Restart, Some(peer)) => {
                self.told.push_back(In::CommunicationRestart(peer))
            }
            (Indication::ShutdownComplete, Some(peer)) => {
                self.lost(now, peer, "the association was shut down");
            }
            (Indication::CommunicationLost(lost), Some(peer)) => {
                self.lost(now, peer, reason(lost));
            }
            _ => {}
        }
        true
    }

    /// An association came up that is the peer's, or says so while another one stands.
    pub(crate) fn associated(&mut self, now: Time, peer: PeerId, id: AssociationId, streams: u16) {
        if let Some(old) = self.standing(peer).filter(|old| *old != id) {
            return self.challenge(now, peer, old, id, streams);
        }
        let before = self.rows.get_mut(&peer).and_then(|link| link.way.take());
        if let Some(Way::Association(old)) = before.filter(|way| *way != Way::Association(id)) {
            self.associations.remove(&old);
            self.abort_association(now, old);
        }
        self.stands(now, peer, Way::Association(id), Some(streams));
    }

    /// The peer that an association belongs to which the other end began. Only addresses count
    /// from which it has answered: anybody may write those of others into his INIT (RFC 9260
    /// §5.4).
    fn claimed(&self, id: AssociationId) -> Option<PeerId> {
        let status = self.endpoint.as_ref()?.status(id)?;
        let confirmed = status.paths.iter().filter(|path| path.state != PathState::Unconfirmed);
        let from: Vec<IpAddr> = confirmed.map(|path| path.address).collect();
        self.claimant(Carriage::Sctp, &from, status.peer_port)
    }

    fn congested(&mut self, peer: PeerId, level: u8) {
        let Some(link) = self.rows.get_mut(&peer) else { return };
        if core::mem::replace(&mut link.congestion, level) != level {
            self.told.push_back(In::TransportCongestion(peer, level));
        }
    }
}

const fn refusal(refused: sctp::Refused) -> &'static str {
    match refused {
        sctp::Refused::Addresses => "it has no address that can be reached",
        sctp::Refused::Full => "there are as many associations as there may be",
        sctp::Refused::Exists => "another association with its address stands",
    }
}

const fn reason(lost: Lost) -> &'static str {
    match lost {
        Lost::Unreachable => "the peer does not answer",
        Lost::PeerAborted(_) => "the peer aborted",
        Lost::ProtocolViolation(what) => what,
        Lost::UserAborted => "it was aborted here",
        Lost::StaleCookie => "the peer takes cookies for stale",
    }
}
