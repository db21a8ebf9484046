//! Peers that part in order (RFC 6733 §5.4).

use super::watchdog::answer_header;
use super::{Node, State};
use crate::codec::{Message, ResultCode};
use crate::effects::DisconnectCause;
use crate::rows::base;
use crate::settings::PeerId;
use crate::timers::Timer;
use machine::Duration;

/// So much longer is the pause after a peer has said that it is busy.
const BUSY: u32 = 10;

impl Node {
    /// The operator ends a peer's connection: DPR.
    pub(super) fn stop(&mut self, id: PeerId, cause: DisconnectCause) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        peer.is_wanted = false;
        self.timers.cancel(Timer::Connect(id));
        self.disconnect(id, cause);
    }

    /// Sends a DPR to a peer that is open.
    pub(super) fn say_goodbye(&mut self, id: PeerId, cause: DisconnectCause) {
        let Some(peer) = self.peers.find(id).filter(|it| it.state == State::Open) else { return };
        let Some(way) = peer.way else { return };
        let header = self.own_request(base::DISCONNECT_PEER.code);
        self.send_own(way, Some(id), &header, None, |out| {
            out.integer(&base::DISCONNECT_CAUSE, cause.number());
        });
    }

    pub(super) fn disconnect(&mut self, id: PeerId, cause: DisconnectCause) {
        let t_disconnect = self.settings.parameters.t_disconnect;
        self.say_goodbye(id, cause);
        let Some(peer) = self.peers.find_mut(id) else { return };
        match (peer.state, peer.way) {
            (State::Open, Some(_)) => {
                peer.state = State::Closing;
                self.timers.cancel(Timer::Watchdog(id));
                self.timers.arm(Timer::State(id), self.now + t_disconnect);
                self.down(id, "it was disconnected");
                // Answers to what it has may still come until the DPA.
                self.fail_over(id, true);
            }
            (State::Closed | State::Closing, _) => {}
            _ => self.end(id, "it was disconnected"),
        }
    }

    /// A DPR came.
    pub(super) fn dpr(&mut self, id: PeerId, message: &Message<'_>) {
        let cause = message.avps().find(&base::DISCONNECT_CAUSE);
        let cause = cause.and_then(|it| it.integer32().ok());
        let t_disconnect = self.settings.parameters.t_disconnect;
        let t_connect = self.settings.parameters.t_connect;
        let Some(peer) = self.peers.find_mut(id) else { return };
        let Some(way) = peer.way else { return };
        let was = core::mem::replace(&mut peer.state, State::Closing);
        let why = match cause {
            Some(1) => {
                peer.pause = (t_connect * BUSY).min(Duration::from_secs(3_600));
                "it is busy"
            }
            Some(2) => {
                // RFC 6733 §5.4.3: no attempt by this side.
                peer.is_wanted = false;
                "it does not want to talk to us"
            }
            _ => "it begins anew",
        };
        peer.why = why;
        self.send_own(
            way,
            Some(id),
            &answer_header(&message.header),
            Some(ResultCode::Success),
            |_| {},
        );
        self.timers.cancel(Timer::Watchdog(id));
        self.timers.arm(Timer::State(id), self.now + t_disconnect);
        if was == State::Open {
            self.down(id, why);
            self.fail_over(id, true);
        }
    }

    /// A DPA came.
    pub(super) fn dpa(&mut self, id: PeerId) {
        if self.peers.find(id).is_some_and(|peer| peer.state == State::Closing) {
            self.end(id, "it was disconnected");
        }
    }

    /// Ends every connection in order; nothing is taken any more.
    pub(super) fn close_peers(&mut self, cause: DisconnectCause) {
        self.is_closing = true;
        let all: Vec<PeerId> = self.peers.iter().map(|(id, _)| id).collect();
        for id in all {
            self.stop(id, cause);
        }
    }
}
