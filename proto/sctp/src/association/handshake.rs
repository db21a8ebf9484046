//! The initiator's side of the four-way handshake (RFC 9260 §5.1), T1-init and T1-cookie.

use super::path::Path;
use super::{Association, PathState, State};
use crate::codec::{Cause, Causes, Chunk, List, Parameter, Parameters};
use crate::effects::{Context, Indication, Lost};
use crate::offer::{Offer, Own};
use core::net::{IpAddr, SocketAddr};
use machine::{Duration, Time};

/// Octets of a State Cookie at most: more does not fit a packet.
const COOKIE_BYTES_MAX: usize = 8192;
/// Life that a new cookie is asked for beyond the round trip (RFC 9260 §5.2.6).
const PRESERVATIVE_EXTRA_MAX: Duration = Duration::from_secs(1);

/// What is under way of the four-way handshake.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// Times that INIT or COOKIE ECHO was sent again.
    pub(super) tries: u16,
    pub(super) t1: Option<Time>,
    /// When INIT or COOKIE ECHO was sent, if only once: its answer measures the round trip.
    sent_at: Option<Time>,
    cookie: Vec<u8>,
    /// Cookie Preservative to ask for, ms.
    preservative: u32,
}

impl Association {
    /// ASSOCIATE: sends the INIT. Addresses that the user has named are confirmed (RFC 9260 §5.4).
    pub(crate) fn initiate(&mut self, cx: &mut Context<'_>) {
        self.state = State::CookieWait;
        self.paths.iter_mut().for_each(|path| path.state = PathState::Active);
        self.send_init(cx);
    }

    fn send_init(&mut self, cx: &mut Context<'_>) {
        let mut parameters = Vec::new();
        self.own(cx).write_parameters(&mut parameters);
        if self.handshake.preservative > 0 {
            Parameter::CookiePreservative(self.handshake.preservative).write(&mut parameters);
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
        self.handshake.t1 = Some(cx.now + self.paths[self.paths.primary].rto);
        self.handshake.sent_at = (self.handshake.tries == 0).then_some(cx.now);
    }

    /// The answer to INIT or COOKIE ECHO is here.
    fn measure_greeting(&mut self, now: Time) {
        if let Some(at) = self.handshake.sent_at.take() {
            self.paths.primary_mut().measured(now.since(at));
        }
    }

    /// T1-init or T1-cookie expired: the next address is tried.
    pub(super) fn t1_expired(&mut self, cx: &mut Context<'_>) {
        self.handshake.t1 = None;
        self.handshake.tries += 1;
        if self.handshake.tries > self.parameters.max_init_retransmits {
            return self.lose(cx, Lost::Unreachable);
        }
        self.paths.primary_mut().back_off();
        let rto = self.paths[self.paths.primary].rto;
        if self.state == State::CookieWait {
            self.paths.primary = (self.paths.primary + 1) % self.paths.len();
            self.paths.primary_mut().rto = rto;
            return self.send_init(cx);
        }
        self.send_cookie_echo(cx, &[]);
    }

    /// An INIT ACK in COOKIE-WAIT (RFC 9260 §5.1 C).
    pub(super) fn init_ack(&mut self, cx: &mut Context<'_>, offer: &Offer<'_>, from: SocketAddr) {
        self.peer_tag = offer.tag;
        if let Some(what) = offer.violation() {
            return self.offend(cx, &Cause::InvalidParameter, what);
        }
        if let Some(name) = offer.host_name {
            return self.offend(cx, &Cause::UnresolvableAddress(name), "a host name");
        }
        let Some(cookie) = offer.cookie.filter(|cookie| cookie.len() <= COOKIE_BYTES_MAX) else {
            let missing = Cause::MissingParameter(List::new(&[0, 7]));
            return self.offend(cx, &missing, "INIT ACK without a cookie");
        };
        self.handshake.cookie = cookie.to_vec();
        let asked = self.paths[self.paths.primary].address;
        let rto = self.paths[self.paths.primary].rto;
        self.adopt(cx.now, offer, from);
        self.forget_unlisted(offer, asked, from);
        // The path that answered is the primary, unless nobody has named it.
        let is_confirmed = |path: &usize| self.paths[*path].state == PathState::Active;
        let answered = self.paths.of(from.ip()).filter(is_confirmed);
        let confirmed = answered.or_else(|| (0..self.paths.len()).find(is_confirmed));
        self.paths.primary = confirmed.unwrap_or(self.paths.primary);
        self.paths.primary_mut().rto = rto;
        self.measure_greeting(cx.now);
        self.state = State::CookieEchoed;
        self.handshake.tries = 0;
        let mut report = Vec::new();
        if !offer.unrecognized.is_empty() {
            Cause::UnrecognizedParameters(&offer.unrecognized).write(&mut report);
        }
        self.send_cookie_echo(cx, &report);
    }

    /// Addresses that the user has named and the peer has not are no addresses of its
    /// (RFC 9260 §5.1.2), but for the one asked when no other is confirmed.
    fn forget_unlisted(&mut self, offer: &Offer<'_>, asked: IpAddr, from: SocketAddr) {
        let is_its = |address: IpAddr| address == from.ip() || offer.addresses.contains(&address);
        let is_sure = |path: &Path| path.state == PathState::Active && is_its(path.address);
        let keeps_asked = !self.paths.iter().any(is_sure);
        for index in (0..self.paths.len()).rev() {
            let address = self.paths[index].address;
            let stays = is_its(address) || (keeps_asked && address == asked);
            if !stays {
                self.remove_path(index);
            }
        }
    }

    /// Sends COOKIE ECHO, with an ERROR behind it when there is something to report.
    fn send_cookie_echo(&mut self, cx: &mut Context<'_>, report: &[u8]) {
        let cookie = core::mem::take(&mut self.handshake.cookie);
        let path = self.paths.for_try(self.handshake.tries);
        match report {
            [] => self.send_on(cx, path, &Chunk::CookieEcho(&cookie)),
            _ => {
                let error = Chunk::Error(Causes::new(report));
                self.send_together(cx, path, &[Chunk::CookieEcho(&cookie), error]);
            }
        }
        self.handshake.cookie = cookie;
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
        self.handshake.t1 = None;
        self.handshake.tries = 0;
        self.handshake.cookie = Vec::new();
        self.paths.primary_mut().state = PathState::Active;
        let rto = self.parameters.path.rto_initial;
        self.paths.iter_mut().filter(|path| path.srtt.is_none()).for_each(|path| path.rto = rto);
        self.begin_heartbeats(cx);
        self.paths.primary_mut().begin_search(cx.now);
        let (ours, theirs) = (self.outbound.streams, self.inbound.streams);
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
        if self.handshake.preservative > 0 {
            return self.lose(cx, Lost::StaleCookie);
        }
        // The time it took, and no more than a second beyond.
        let path = &self.paths[self.paths.primary];
        let took =
            self.handshake.sent_at.map(|at| cx.now.since(at)).or(path.srtt).unwrap_or(path.rto);
        let late = Duration::from_micros(staleness_us.into()).min(PRESERVATIVE_EXTRA_MAX);
        self.handshake.preservative =
            u32::try_from((took + late).as_millis()).unwrap_or(u32::MAX).max(1);
        self.state = State::CookieWait;
        self.peer_tag = 0;
        self.send_init(cx);
    }

    /// An INIT ACK in COOKIE-WAIT that cannot be read.
    pub(super) fn malformed_init_ack(&mut self, cx: &mut Context<'_>, tag: u32) {
        self.peer_tag = tag;
        self.offend(cx, &Cause::InvalidParameter, "INIT ACK is malformed");
    }

    /// ABORT for what the peer did in its INIT ACK. One that gives no tag is answered with ours,
    /// which was in its packet (RFC 9260 §3.3.3).
    fn offend(&mut self, cx: &mut Context<'_>, cause: &Cause<'_>, what: &'static str) {
        let mut causes = Vec::new();
        cause.write(&mut causes);
        if self.peer_tag == 0 {
            self.peer_tag = self.local_tag;
            let causes = Causes::new(&causes);
            self.send_alone(cx, &Chunk::Abort { is_reflected: true, causes });
            return self.lose(cx, Lost::ProtocolViolation(what));
        }
        self.abort(cx, &causes, Lost::ProtocolViolation(what));
    }
}

impl Association {
    /// COOKIE ACK goes into the next packet, before everything else, to where the cookie came from
    /// if that address is confirmed (RFC 9260 §5.4, §6.4).
    pub(crate) fn acknowledge_cookie(&mut self, from: IpAddr) {
        let path =
            self.paths.of(from).map_or(self.paths.primary, |path| self.paths.for_reply(path));
        let mut chunk = Vec::new();
        Chunk::CookieAck.write(&mut chunk);
        self.controls.push_front((path, chunk));
    }

    /// The peer restarts while we shut down (RFC 9260 §5.2.4 A).
    pub(crate) fn refuse_restart(&mut self, cx: &mut Context<'_>) {
        let mut causes = Vec::new();
        Cause::CookieWhileShuttingDown.write(&mut causes);
        let path = self.paths.for_data();
        self.send_together(cx, path, &[Chunk::ShutdownAck, Chunk::Error(Causes::new(&causes))]);
    }
}
