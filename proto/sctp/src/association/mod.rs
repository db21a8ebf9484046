//! An association: its state, and the calls that move it (RFC 9260 §4). It is fed by its
//! [`Endpoint`](crate::Endpoint), which checks cookies and finds associations.
//!
//! ```text
//!           INIT→              ←INIT ACK, COOKIE ECHO→           ←COOKIE ACK
//!  (closed) ──────→ CookieWait ───────────────────────→ CookieEchoed ──────→ Established
//!  Established ─ SHUTDOWN wanted ─→ ShutdownPending ─ all acknowledged ─→ ShutdownSent ─→ (closed)
//!  Established ─ ←SHUTDOWN ─→ ShutdownReceived ─ all acknowledged ─→ ShutdownAckSent ─→ (closed)
//! ```

mod acknowledge;
mod asconf;
mod auth;
mod congestion;
mod forward;
mod handshake;
mod heartbeat;
mod inbound;
mod outbound;
mod path;
mod paths;
mod pmtu;
mod reassembly;
mod receive;
mod received;
mod reconfig;
mod scheduler;
mod shutdown;
mod status;
mod timers;
mod transmit;

pub use asconf::{AddressRequest, Answer};
pub use outbound::{Outgoing, Reliability};
pub use path::PathState;
pub(crate) use reassembly::Given;
pub use reassembly::{Message, Part};
pub use reconfig::Request;
pub use scheduler::Scheduler;
pub use status::{PathStatus, Status};

pub(crate) use auth::{
    Auth, RANDOM_BYTES, Secrets, Verdict, wanted as authenticated,
    write_parameters as write_auth_parameters,
};
pub(crate) use receive::Incoming;

use crate::effects::{Context, Failure, Indication, Lost};
use crate::id::origin;
use crate::offer::Offer;
use crate::parameters::{Parameters, PathParameters};
use core::net::{IpAddr, SocketAddr};
use handshake::Handshake;
use inbound::Inbound;
use machine::Time;
use outbound::Outbound;
use paths::Paths;
use received::Received;
use shutdown::Ending;
use std::collections::VecDeque;

/// Addresses of a peer at most.
pub const PATHS_MAX: usize = 16;

/// A path's place as entries of the ring have it: there are at most [`PATHS_MAX`].
fn path_number(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}

/// Where an association stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// COOKIE-WAIT.
    CookieWait,
    /// COOKIE-ECHOED.
    CookieEchoed,
    /// ESTABLISHED.
    Established,
    /// SHUTDOWN-PENDING.
    ShutdownPending,
    /// SHUTDOWN-SENT.
    ShutdownSent,
    /// SHUTDOWN-RECEIVED.
    ShutdownReceived,
    /// SHUTDOWN-ACK-SENT.
    ShutdownAckSent,
    /// Over: the endpoint removes it.
    Closed,
}

/// Which extensions both sides have.
#[derive(Debug, Clone, Copy, Default)]
struct Agreed {
    forward_tsn: bool,
    /// Our packets may have a checksum of zero (RFC 9653 §5.2).
    zero_checksum: bool,
    reconfiguration: bool,
    asconf: bool,
}

/// An association.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) state: State,
    pub(crate) parameters: Parameters,
    pub(crate) peer_port: u16,
    pub(crate) local_tag: u32,
    pub(crate) peer_tag: u32,
    pub(crate) local_tsn: u32,
    pub(crate) paths: Paths,
    handshake: Handshake,
    ending: Ending,
    agreed: Agreed,
    outbound: Outbound,
    inbound: Inbound,
    /// The packet at hand has brought a SACK.
    has_sack: bool,
    /// Chunks to be sent, by path.
    controls: VecDeque<(usize, Vec<u8>)>,
    reconfig: reconfig::Reconfig,
    /// Adaptation Layer Indication of the peer.
    adaptation: Option<u32>,
    asconf: asconf::Asconf,
    pub(crate) secrets: Secrets,
    pub(crate) auth: Option<Auth>,
}

impl Association {
    /// One that knows only its own side.
    pub(crate) fn new(
        parameters: Parameters,
        peer_port: u16,
        local_tag: u32,
        local_tsn: u32,
        secrets: Secrets,
        own: &[IpAddr],
    ) -> Self {
        Self {
            state: State::CookieWait,
            parameters,
            peer_port,
            local_tag,
            peer_tag: 0,
            local_tsn,
            paths: Paths::default(),
            handshake: Handshake::default(),
            ending: Ending::default(),
            agreed: Agreed::default(),
            outbound: Outbound::new(local_tsn, parameters.outbound_streams),
            inbound: Inbound::new(parameters.inbound_streams, parameters.receive_buffer),
            has_sack: false,
            controls: VecDeque::new(),
            reconfig: reconfig::Reconfig::new(local_tsn, 0),
            adaptation: None,
            asconf: asconf::Asconf::new(local_tsn, 0, own.to_vec()),
            secrets,
            auth: None,
        }
    }

    /// Takes over what the peer has offered; `source` is where it came from.
    pub(crate) fn adopt(&mut self, now: Time, offer: &Offer<'_>, source: SocketAddr) {
        self.peer_tag = offer.tag;
        self.outbound.peer_rwnd = offer.a_rwnd as usize;
        self.outbound.streams = self.parameters.outbound_streams.min(offer.inbound_streams);
        self.inbound.streams = self.parameters.inbound_streams.min(offer.outbound_streams);
        self.reconfig = reconfig::Reconfig::new(self.local_tsn, offer.initial_tsn);
        self.inbound.received = Received::new(origin(offer.initial_tsn) - 1);
        let own = core::mem::take(&mut self.asconf.own);
        self.asconf = asconf::Asconf::new(self.local_tsn, offer.initial_tsn, own);
        let ours = self.parameters.extensions;
        self.adaptation = offer.adaptation;
        self.auth = Auth::agree(&ours, &self.secrets, offer);
        let covers_asconf = self.auth.as_ref().is_some_and(Auth::covers_asconf);
        self.agreed = Agreed {
            forward_tsn: ours.partial_reliability && offer.forward_tsn,
            zero_checksum: ours.zero_checksum.is_some()
                && ours.zero_checksum == offer.zero_checksum,
            reconfiguration: ours.reconfiguration && offer.reconfiguration,
            asconf: ours.address_reconfiguration && offer.asconf && covers_asconf,
        };
        self.outbound.is_interleaved = ours.interleaving && offer.i_data;
        self.outbound.queue.is_interleaved = self.outbound.is_interleaved;
        self.add_path(now, source.ip(), source.port());
        for address in &offer.addresses {
            self.add_path(now, *address, source.port());
        }
    }

    /// The peer's end is a new life of it: everything begins anew (RFC 9260 §5.2.4 A).
    pub(crate) fn restart(&mut self, local_tag: u32, local_tsn: u32, random: [u8; RANDOM_BYTES]) {
        let (secrets, own) = (self.secrets.renewed(random), core::mem::take(&mut self.asconf.own));
        let fresh = Self::new(self.parameters, self.peer_port, local_tag, local_tsn, secrets, &own);
        let old = core::mem::replace(self, fresh);
        self.inbound.unread = old.inbound.unread;
    }

    pub(crate) fn add_path(&mut self, now: Time, address: IpAddr, encapsulation_port: u16) {
        self.paths.add(now, address, encapsulation_port, self.parameters.path);
    }

    /// Takes a path away that is not the last one. What was on its way there is to be sent again.
    fn remove_path(&mut self, index: usize) {
        for entry in 0..self.outbound.ring.len() {
            let sent = &self.outbound.ring[entry];
            if usize::from(sent.path) == index && sent.flight == outbound::Flight::Outstanding {
                self.outbound.mark(entry, false);
            }
        }
        let last = self.paths.remove(index) - 1;
        let moved = |it: usize| if it > index { it - 1 } else { it.min(last) };
        self.inbound.sacking.path = moved(self.inbound.sacking.path);
        self.controls.iter_mut().for_each(|control| control.0 = moved(control.0));
        for entry in &mut self.outbound.ring {
            entry.was_elsewhere |= usize::from(entry.path) == index;
            entry.path = path_number(moved(usize::from(entry.path)));
        }
    }

    /// SEND (RFC 9260 §11.1.5). The data leaves at the next [`Association::flush`].
    pub(crate) fn send(&mut self, cx: &mut Context<'_>, message: Outgoing) {
        let is_open =
            matches!(self.state, State::CookieWait | State::CookieEchoed | State::Established);
        let is_stream = message.stream < self.outbound.streams;
        let context = message.context;
        if !is_open || !is_stream || message.payload.is_empty() {
            cx.indicate(Indication::SendFailure(context, Failure::Refused));
            return;
        }
        let held = self.outbound.queued + self.outbound.held + message.payload.len();
        if held > self.parameters.send_buffer as usize {
            self.outbound.wants_buffer = true;
            cx.indicate(Indication::SendFailure(context, Failure::BufferFull));
            return;
        }
        self.outbound.push(message);
    }

    /// ABORT (RFC 9260 §9.1).
    pub(crate) fn abort(&mut self, cx: &mut Context<'_>, causes: &[u8], lost: Lost) {
        if self.peer_tag != 0 {
            let causes = crate::codec::Causes::new(causes);
            self.send_alone(cx, &crate::codec::Chunk::Abort { is_reflected: false, causes });
        }
        self.lose(cx, lost);
    }

    /// COMMUNICATION LOST: everything unacknowledged has failed.
    pub(crate) fn lose(&mut self, cx: &mut Context<'_>, lost: Lost) {
        self.fail_messages(cx);
        self.state = State::Closed;
        cx.indicate(Indication::CommunicationLost(lost));
    }

    pub(crate) fn fail_messages(&mut self, cx: &mut Context<'_>) {
        self.outbound.drain(|context, was_sent| {
            let failure = if was_sent { Failure::Lost } else { Failure::LostUnsent };
            cx.indicate(Indication::SendFailure(context, failure));
        });
    }

    /// SET PRIMARY (RFC 9260 §11.1.6).
    pub(crate) fn set_primary(&mut self, address: IpAddr) {
        if let Some(path) = self.paths.of(address) {
            self.paths.primary = path;
        }
    }

    /// SET PROTOCOL PARAMETERS of everything. What was agreed at the set-up stays.
    pub(crate) fn set_parameters(&mut self, parameters: Parameters) {
        let old = self.parameters;
        self.parameters = Parameters {
            receive_buffer: old.receive_buffer,
            outbound_streams: old.outbound_streams,
            inbound_streams: old.inbound_streams,
            extensions: old.extensions,
            ..parameters
        };
        self.paths.iter_mut().for_each(|path| path.set_parameters(parameters.path));
    }

    /// SET PROTOCOL PARAMETERS of one path.
    pub(crate) fn set_path_parameters(&mut self, address: IpAddr, parameters: PathParameters) {
        if let Some(path) = self.paths.of(address) {
            self.paths[path].set_parameters(parameters);
        }
    }

    /// Another stream scheduler (RFC 8260 §4.3.2).
    pub(crate) fn set_scheduler(&mut self, scheduler: Scheduler) {
        self.outbound.queue.set_scheduler(scheduler);
    }

    /// Priority or weight of a stream (RFC 8260 §4.3.3).
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) {
        if stream < self.outbound.streams {
            self.outbound.queue.set_value(stream, value);
        }
    }

    /// Takes a chunk for the next packet on `path`.
    fn control(&mut self, path: usize, chunk: &crate::codec::Chunk<'_>) {
        /// Chunks that wait for a packet at most; more are an attack.
        const CONTROLS_MAX: usize = 64;
        if self.controls.len() < CONTROLS_MAX {
            let mut bytes = Vec::new();
            chunk.write(&mut bytes);
            self.controls.push_back((path, bytes));
        }
    }
}
