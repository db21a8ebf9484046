//! The initiator's side of the four-way handshake (RFC 9260 §5.1), T1-init and T1-cookie.

use super::{Association, PathState, State};
use crate::codec::{Cause, Causes, Chunk, List, Parameter, Parameters};
use crate::effects::{Context, Indication, Lost};
use crate::offer::{Offer, Own};
use core::net::SocketAddr;
use machine::Time;

/// Octets of a State Cookie at most: more does not fit a packet.
const COOKIE_BYTES_MAX: usize = 8192;

impl Association {
    /// ASSOCIATE: sends the INIT.
    pub(crate) fn initiate(&mut self, cx: &mut Context<'_>) {
        self.state = State::CookieWait;
        self.paths[self.primary].state = PathState::Active;
        self.send_init(cx);
    }

    fn send_init(&mut self, cx: &mut Context<'_>) {
        let mut parameters = Vec::new();
        self.own(cx).write_parameters(&mut parameters);
        if self.preservative > 0 {
            Parameter::CookiePreservative(self.preservative).write(&mut parameters);
        }
        let init = self.own(cx).init(Parameters::new(&parameters));
        self.send_alone(cx, &Chunk::Init(init));
        self.start_t1(cx);
    }

    pub(crate) fn own<'a>(&'a self, cx: &Context<'a>) -> Own<'a> {
        Own {
            tag: self.local_tag,
            initial_tsn: self.local_tsn,
            addresses: cx.addresses,
            settings: &self.parameters,
            random: &self.secrets.random,
        }
    }

    fn start_t1(&mut self, cx: &Context<'_>) {
        self.t1 = Some(cx.now + self.paths[self.primary].rto);
        self.greeted_at = (self.tries == 0).then_some(cx.now);
    }

    /// The answer to INIT or COOKIE ECHO is here.
    fn measure_greeting(&mut self, now: Time) {
        if let Some(at) = self.greeted_at.take() {
            self.paths[self.primary].measured(now.since(at));
        }
    }

    /// T1-init or T1-cookie expired: the next address is tried.
    pub(super) fn t1_expired(&mut self, cx: &mut Context<'_>) {
        self.t1 = None;
        self.tries += 1;
        if self.tries > self.parameters.max_init_retransmits {
            return self.lose(cx, Lost::Unreachable);
        }
        self.paths[self.primary].back_off();
        let rto = self.paths[self.primary].rto;
        if self.state == State::CookieWait {
            self.primary = (self.primary + 1) % self.paths.len();
            self.paths[self.primary].rto = rto;
            return self.send_init(cx);
        }
        self.send_cookie_echo(cx, &[]);
    }

    /// An INIT ACK in COOKIE-WAIT (RFC 9260 §5.1 C).
    pub(super) fn init_ack(&mut self, cx: &mut Context<'_>, offer: &Offer<'_>, from: SocketAddr) {
        if offer.violation().is_some() {
            self.peer_tag = offer.tag;
            return self.offend(cx, &Cause::InvalidParameter, "INIT ACK with a zero");
        }
        let Some(cookie) = offer.cookie.filter(|cookie| cookie.len() <= COOKIE_BYTES_MAX) else {
            self.peer_tag = offer.tag;
            let missing = Cause::MissingParameter(List::new(&[0, 7]));
            return self.offend(cx, &missing, "INIT ACK without a cookie");
        };
        self.cookie = cookie.to_vec();
        let asked = self.paths[self.primary].address;
        self.adopt(cx.now, offer, from);
        // The path that answered is the primary; the one asked keeps its place.
        self.primary = self.path_of(from.ip()).unwrap_or(self.primary);
        let rto = self.path_of(asked).map(|path| self.paths[path].rto);
        self.paths[self.primary].state = PathState::Active;
        if let Some(rto) = rto {
            self.paths[self.primary].rto = rto;
        }
        self.measure_greeting(cx.now);
        self.state = State::CookieEchoed;
        self.tries = 0;
        let mut report = Vec::new();
        if !offer.unrecognized.is_empty() {
            Cause::UnrecognizedParameters(&offer.unrecognized).write(&mut report);
        }
        if let Some(name) = offer.host_name {
            Cause::UnresolvableAddress(name).write(&mut report);
        }
        self.send_cookie_echo(cx, &report);
    }

    /// Sends COOKIE ECHO, with an ERROR behind it when there is something to report.
    fn send_cookie_echo(&mut self, cx: &mut Context<'_>, report: &[u8]) {
        let cookie = core::mem::take(&mut self.cookie);
        match report {
            [] => self.send_alone(cx, &Chunk::CookieEcho(&cookie)),
            _ => {
                let error = Chunk::Error(Causes::new(report));
                self.send_together(cx, &[Chunk::CookieEcho(&cookie), error]);
            }
        }
        self.cookie = cookie;
        self.start_t1(cx);
    }

    /// A COOKIE ACK (RFC 9260 §5.1 E).
    pub(super) fn cookie_ack(&mut self, cx: &mut Context<'_>) {
        if self.state == State::CookieEchoed {
            self.measure_greeting(cx.now);
            self.establish(cx);
        }
    }

    /// Both sides know each other.
    pub(crate) fn establish(&mut self, cx: &mut Context<'_>) {
        self.state = State::Established;
        self.t1 = None;
        self.tries = 0;
        self.cookie = Vec::new();
        self.paths[self.primary].state = PathState::Active;
        let rto = self.parameters.path.rto_initial;
        self.paths.iter_mut().filter(|path| path.srtt.is_none()).for_each(|path| path.rto = rto);
        self.begin_heartbeats(cx);
        self.paths[self.primary].begin_search(cx.now);
        let (ours, theirs) = (self.outbound_streams, self.inbound_streams);
        cx.indicate(Indication::CommunicationUp(ours, theirs));
        if let Some(indication) = self.adaptation {
            cx.indicate(Indication::AdaptationLayer(indication));
        }
    }

    /// The peer says that its cookie is stale (RFC 9260 §5.2.6): once more, with a longer life.
    pub(super) fn stale_cookie(&mut self, cx: &mut Context<'_>, staleness_us: u32) {
        if self.state != State::CookieEchoed {
            return;
        }
        if self.preservative > 0 {
            return self.lose(cx, Lost::StaleCookie);
        }
        self.preservative = (staleness_us / 1000).saturating_mul(2).max(1);
        self.state = State::CookieWait;
        self.peer_tag = 0;
        self.send_init(cx);
    }

    /// ABORT for what the peer did in its INIT ACK.
    fn offend(&mut self, cx: &mut Context<'_>, cause: &Cause<'_>, what: &'static str) {
        let mut causes = Vec::new();
        cause.write(&mut causes);
        self.abort(cx, &causes, Lost::ProtocolViolation(what));
    }
}

impl Association {
    /// COOKIE ACK goes into the next packet, before data.
    pub(crate) fn acknowledge_cookie(&mut self) {
        self.control(self.primary, &Chunk::CookieAck);
    }

    /// The peer restarts while we shut down (RFC 9260 §5.2.4 A).
    pub(crate) fn refuse_restart(&mut self, cx: &mut Context<'_>) {
        let mut causes = Vec::new();
        Cause::CookieWhileShuttingDown.write(&mut causes);
        self.send_together(cx, &[Chunk::ShutdownAck, Chunk::Error(Causes::new(&causes))]);
    }
}
