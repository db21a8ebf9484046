//! The peer state machine (RFC 6733 §5.6): connections are opened, taken, elected, lost.
//!
//! ```text
//!  Closed ─Connect→ WaitConnAck ─stands, CER→ WaitICea ─CEA→ Open
//!    │                  │ its CER               │ its CER     ↑
//!    │                  ↓                       ↓             │ one of both stays
//!    │           WaitConnAckElect ─stands→ WaitReturns ───────┤
//!    └── its CER, CEA ────────────────────────────────────────┘
//! ```

use super::{Node, State};
use crate::codec::{Message, ResultCode};
use crate::effects::{In, Indication, Out};
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId};
use crate::timers::Timer;
use bytes::Bytes;
use machine::Duration;
use std::net::IpAddr;

/// Who speaks on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody has said yet.
    Stranger,
    /// A peer; this node has opened it.
    Own(PeerId),
    /// A peer; it has opened it.
    Theirs(PeerId),
}

/// A connection that stands.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub end: End,
    /// This node's addresses on it.
    pub local: Vec<IpAddr>,
}

impl Node {
    /// Tc has run out, or the operator wants it.
    pub(super) fn connect(&mut self, id: PeerId) {
        let t_capabilities = self.settings.parameters.t_capabilities;
        let Some(peer) = self.peers.find_mut(id) else { return };
        if peer.state != State::Closed || !peer.is_wanted {
            return;
        }
        peer.state = State::WaitConnAck;
        self.timers.cancel(Timer::Connect(id));
        self.timers.arm(Timer::State(id), self.now + t_capabilities);
        self.out.push(Out::Connect(id));
    }

    /// Plans the next attempt, later each time (RFC 6733 §2.1), and up to a quarter sooner than
    /// that: nodes that have lost a peer at once do not all come back at once.
    fn rest(&mut self, id: PeerId) {
        let dice = self.random();
        let parameters = &self.settings.parameters;
        let (least, most) = (parameters.t_connect, parameters.t_connect_max);
        let Some(peer) = self.peers.find_mut(id) else { return };
        let pause = peer.pause.max(least);
        peer.pause = (pause * 2).min(most);
        if peer.settings.connects && peer.is_wanted {
            let quarter = machine::narrow::micros(pause) / 4;
            let sooner = Duration::from_micros(dice % (quarter + 1));
            self.timers.arm(Timer::Connect(id), self.now + (pause - sooner));
        }
    }

    pub(super) fn connected(&mut self, id: PeerId, way: Connection, local: Vec<IpAddr>) {
        let state = self.peers.find(id).map(|peer| peer.state);
        let next = match state {
            Some(State::WaitConnAck) => State::WaitICea,
            Some(State::WaitConnAckElect) => State::WaitReturns,
            // It came too late.
            _ => return self.out.push(Out::Close(way)),
        };
        self.connections.insert(way, Standing { end: End::Own(id), local });
        if let Some(peer) = self.peers.find_mut(id) {
            peer.way = Some(way);
            peer.state = next;
        }
        let until = self.now + self.settings.parameters.t_capabilities;
        self.timers.arm(Timer::State(id), until);
        self.send_cer(way, id);
        if next == State::WaitReturns {
            self.elect(id);
        }
    }

    pub(super) fn not_connected(&mut self, id: PeerId, why: &'static str) {
        match self.peers.find(id).map(|peer| peer.state) {
            Some(State::WaitConnAck) => self.end(id, why),
            // I-Rcv-Conn-Nack: the peer's own connection stays.
            Some(State::WaitConnAckElect) => self.open_responder(id),
            _ => {}
        }
    }

    pub(super) fn accepted(&mut self, way: Connection, local: Vec<IpAddr>) {
        let strangers = self.connections.values().filter(|it| it.end == End::Stranger).count();
        if strangers >= self.settings.parameters.strangers_max || self.is_closing {
            self.count(Metric::ConnectionsRefused);
            return self.out.push(Out::Close(way));
        }
        self.connections.insert(way, Standing { end: End::Stranger, local });
        let until = self.now + self.settings.parameters.t_capabilities;
        self.timers.arm(Timer::Greeting(way), until);
    }

    /// Ends a connection that this node does not want.
    pub(super) fn drop_connection(&mut self, way: Connection) {
        if self.connections.remove(&way).is_some() {
            self.timers.cancel(Timer::Greeting(way));
            self.out.push(Out::Close(way));
        }
    }

    /// A CER on a connection that the peer has opened, checked: R-Conn-CER.
    pub(super) fn greeted(&mut self, id: PeerId, way: Connection, octets: &Bytes) {
        self.timers.cancel(Timer::Greeting(way));
        if let Some(standing) = self.connections.get_mut(&way) {
            standing.end = End::Theirs(id);
        }
        let Some(peer) = self.peers.find_mut(id) else { return };
        let next = match peer.state {
            State::Closed => {
                peer.responder = Some((way, octets.clone()));
                return self.open_responder(id);
            }
            State::WaitConnAck => State::WaitConnAckElect,
            State::WaitICea => State::WaitReturns,
            State::Open => {
                // R-Reject. If the one that stands is dead, it is known the sooner.
                let asks = !peer.watchdog.is_pending;
                self.count(Metric::ConnectionsRefused);
                self.drop_connection(way);
                if asks {
                    self.probe(id);
                }
                return;
            }
            State::WaitConnAckElect | State::WaitReturns | State::Closing => {
                self.count(Metric::ConnectionsRefused);
                return self.drop_connection(way);
            }
        };
        peer.responder = Some((way, octets.clone()));
        peer.state = next;
        if next == State::WaitReturns {
            self.elect(id);
        }
    }

    /// RFC 6733 §5.6.4: this node wins if its name is the higher one, and the connection stays
    /// that the peer has opened.
    fn elect(&mut self, id: PeerId) {
        self.count(Metric::Elections);
        let own = self.settings.host.to_ascii_lowercase();
        let Some(peer) = self.peers.find(id) else { return };
        let wins = own > peer.settings.host.to_ascii_lowercase();
        if wins {
            self.close_way(id);
            self.open_responder(id);
        }
    }

    /// Ends the connection that this node opened.
    fn close_way(&mut self, id: PeerId) {
        let way = self.peers.find_mut(id).and_then(|peer| peer.way.take());
        if let Some(way) = way {
            self.drop_connection(way);
        }
    }

    /// Ends the connection that the peer opened, as long as it is not the one that is open.
    fn close_responder(&mut self, id: PeerId) {
        let way = self.peers.find_mut(id).and_then(|peer| peer.responder.take());
        if let Some((way, _)) = way {
            self.drop_connection(way);
        }
    }

    /// R-Snd-CEA: the peer's own connection is the one.
    fn open_responder(&mut self, id: PeerId) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        let Some((way, octets)) = peer.responder.take() else { return };
        peer.way = Some(way);
        if let Ok(message) = Message::read(&octets) {
            self.take_capabilities(id, &message);
            self.send_cea(way, &message.header, ResultCode::Success, None);
        }
        self.opened(id);
    }

    /// I-Rcv-CEA: the connection that this node opened is the one.
    pub(super) fn open_initiator(&mut self, id: PeerId, message: &Message<'_>) {
        self.close_responder(id);
        self.take_capabilities(id, message);
        self.opened(id);
    }

    fn opened(&mut self, id: PeerId) {
        self.timers.cancel(Timer::State(id));
        self.timers.cancel(Timer::Connect(id));
        let now = self.now;
        let Some(peer) = self.peers.find_mut(id) else { return };
        peer.state = State::Open;
        peer.since = now;
        peer.why = "";
        peer.pause = machine::Duration::ZERO;
        self.watch(id);
        self.count(Metric::PeersUp);
        self.indicate(Indication::PeerUp(id));
        self.resume(id);
    }

    /// All connections with a peer end; it is connected to again when its time has come.
    pub(super) fn end(&mut self, id: PeerId, why: &'static str) {
        self.timers.cancel(Timer::State(id));
        let now = self.now;
        let Some(peer) = self.peers.find_mut(id) else { return };
        let was = core::mem::replace(&mut peer.state, State::Closed);
        if was != State::Closing || peer.why.is_empty() {
            peer.why = why;
        }
        if was == State::Open || was == State::Closing {
            peer.since = now;
            peer.counts.losses += 1;
        }
        self.close_way(id);
        self.close_responder(id);
        if was == State::Open || was == State::Closing {
            self.unwatch(id);
        }
        if was == State::Open {
            self.down(id, why);
        }
        if was == State::Open || was == State::Closing {
            self.fail_over(id, false);
        }
        self.rest(id);
    }

    pub(super) fn down(&mut self, id: PeerId, why: &'static str) {
        self.count(Metric::PeersDown);
        self.indicate(Indication::PeerDown(id, why));
    }

    /// A connection is no more.
    pub(super) fn lost(&mut self, way: Connection, why: &'static str) {
        self.timers.cancel(Timer::Greeting(way));
        let Some(standing) = self.connections.remove(&way) else { return };
        match standing.end {
            End::Stranger => {}
            End::Own(id) | End::Theirs(id) => self.lost_of(id, way, why),
        }
    }

    fn lost_of(&mut self, id: PeerId, way: Connection, why: &'static str) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        if peer.way == Some(way) {
            peer.way = None;
            match peer.state {
                // I-Peer-Disc: the other one stays.
                State::WaitReturns => self.open_responder(id),
                _ => self.end(id, why),
            }
        } else if peer.responder.as_ref().is_some_and(|it| it.0 == way) {
            peer.responder = None;
            peer.state = match peer.state {
                State::WaitConnAckElect => State::WaitConnAck,
                State::WaitReturns => State::WaitICea,
                other => other,
            };
        }
    }

    /// What a state waits for has not come.
    pub(super) fn state_due(&mut self, id: PeerId) {
        match self.peers.find(id).map(|peer| peer.state) {
            Some(State::WaitConnAck) => {
                self.end(id, "the connection did not come to stand in time");
            }
            Some(State::WaitConnAckElect) => self.open_responder(id),
            Some(State::WaitICea | State::WaitReturns) => {
                self.end(id, "it has not answered the CER");
            }
            Some(State::Closing) => self.end(id, "it was disconnected"),
            Some(State::Closed | State::Open) | None => {}
        }
    }

    /// Takes what a connection says.
    pub(super) fn transport(&mut self, input: In) {
        match input {
            In::Connected(id, way, local) => self.connected(id, way, local),
            In::NotConnected(id, why) => self.not_connected(id, why),
            In::Accepted(way, local) => self.accepted(way, local),
            In::Lost(way, why) => self.lost(way, why),
            In::Message(way, octets) => self.message(way, &octets),
            _ => {}
        }
    }

    /// The Origin-Host of a message.
    pub(super) fn origin<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
        message.avps().find(&base::ORIGIN_HOST).map(|avp| avp.data)
    }
}
