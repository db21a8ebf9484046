//! NTFY: who is told of what, and what this process does when it is told (RFC 4666 §4.3.4.5).

use super::complaint::Complaint;
use super::{MemberState, Process};
use crate::codec::{ErrorCode, Message, MessageType, Notification, RoutingContext, Tag};
use crate::effects::Indication;
use crate::facts::Fact;
use crate::id::{PeerId, ServerId};

impl Process {
    /// Tells those ASPs of an Application Server that are up and that `concerns` picks.
    pub(super) fn notify(
        &mut self,
        id: ServerId,
        what: Notification,
        identifier: Option<u32>,
        concerns: impl Fn(PeerId) -> bool,
    ) {
        let Some(server) = self.servers.find(id) else { return };
        let members = server.members.iter();
        let told = members.filter(|member| {
            let asks = self.peers.find(member.peer).and_then(|peer| {
                peer.asks_for(server.settings.side).map(|is_asked| !is_asked && peer.is_up_here)
            });
            member.state != MemberState::Down && asks == Some(true) && concerns(member.peer)
        });
        let told: Vec<(PeerId, Option<RoutingContext>)> =
            told.map(|member| (member.peer, member.routing_context)).collect();
        for (peer, context) in told {
            self.count(Fact::NotifiesOut);
            self.send(peer, MessageType::Ntfy, |writer| {
                writer
                    .word(Tag::Status, what.number())
                    .optional(Tag::AspIdentifier, identifier)
                    .routing_contexts(context.into_iter())
                    .end();
            });
        }
    }

    /// Tells every ASP the state of an Application Server.
    pub(super) fn notify_state(&mut self, id: ServerId, failed: Option<u32>) {
        let state = self.server_state(id).and_then(Notification::of_state);
        if let Some(what) = state {
            self.notify(id, what, failed, |_| true);
        }
    }

    /// Tells one ASP, which has just come up.
    pub(super) fn notify_one(&mut self, id: ServerId, peer: PeerId) {
        let state = self.server_state(id).and_then(Notification::of_state);
        if let Some(what) = state {
            self.notify(id, what, None, |other| other == peer);
        }
    }

    /// Tells the inactive ASPs that fewer are active than the load needs.
    pub(super) fn notify_lack(&mut self, id: ServerId) {
        let Some(server) = self.servers.find(id).filter(|server| server.lacks_asps()) else {
            return;
        };
        let inactive = server.members.iter().filter(|it| it.state == MemberState::Inactive);
        let inactive: Vec<PeerId> = inactive.map(|member| member.peer).collect();
        let what = Notification::InsufficientResources;
        self.notify(id, what, None, |peer| inactive.contains(&peer));
    }

    /// NTFY came.
    pub(super) fn on_ntfy(&mut self, peer: PeerId, message: &Message<'_>) -> Result<(), Complaint> {
        if !self.peers.find(peer).is_some_and(super::peer::Peer::is_asked) {
            return Err(Complaint::unexpected(message));
        }
        self.count(Fact::NotifiesIn);
        let what = message.word(Tag::Status).and_then(Notification::of);
        let what = what.ok_or(Complaint::new(ErrorCode::InvalidParameterValue))?;
        let identifier = message.word(Tag::AspIdentifier);
        let (servers, unknown) = self.servers_named(peer, true, message);
        if servers.is_empty() {
            self.indicate(Indication::Notified(peer, None, what, identifier));
        }
        for server in servers {
            self.indicate(Indication::Notified(peer, Some(server), what, identifier));
            self.heed(server, peer, what);
        }
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(Complaint::context(ErrorCode::InvalidRoutingContext, unknown))
        }
    }

    fn heed(&mut self, id: ServerId, peer: PeerId, what: Notification) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let takes_over = server.settings.takes_over;
        let Some(member) = server.member_mut(peer) else { return };
        match what {
            // Another one has the traffic now: to ask for it back would be a tug of war.
            Notification::AlternateAspActive if member.state == MemberState::Active => {
                member.wants_active = false;
                self.set_member(id, peer, MemberState::Inactive);
                self.settle(id, None);
            }
            Notification::Pending | Notification::InsufficientResources if takes_over => {
                member.wants_active = true;
                self.drive_member(id, peer);
            }
            _ => {}
        }
    }
}
