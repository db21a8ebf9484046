//! The machine: what comes, what leaves, what time ends.

use crate::charging::{self, Charged};
use crate::emergency::Emergencies;
use crate::explain::Failures;
use crate::inside::{self, Reading};
use crate::key_log::KeyLog;
use crate::keys::{self, Keys};
use crate::metrics::Metric;
use crate::named::Named;
use crate::pair::Pair;
use crate::refusal::Verdict;
use crate::rewrite;
use crate::set::{Identity, Set, Stage};
use crate::settings::{Listener, Row, Settings};
use crate::table::Table;
use crate::trails::Trails;
use crate::watches::Watches;
use event::{MetricCells, Metrics};
use ipsec::{Arrived, Endpoint, Lane, Streams, Way};
use machine::slots::Key;
use machine::{Duration, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use runtime::{ChannelEvent, Effects, Flow, PortId, Transport};
use sip::{HeaderSet, Message, Method};
use std::net::{IpAddr, SocketAddr};
use trail::{Capture, Event};

/// What is left to a set whose successor is used, or whose last answer has left: as long as copies
/// of messages may come (64 x T1, TS 24.229 §5.2.2).
pub(crate) const LINGERING: Duration = Duration::from_secs(32);

/// How many ports are tried by which a phone could be known.
const IDENTITIES: usize = 64;
/// The least of them, but for its own.
const PORTS_FROM: u16 = 1_024;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// It came to a port that is none of ours.
    Foreign,
    /// It was dropped, and counted.
    Dropped,
    /// A message of SIP was in it, which stands in [`Access::text`]: it came by this flow.
    Message(Flow),
}

/// IMS access of one shard.
#[derive(Debug)]
pub struct Access {
    pub(crate) rows: Vec<Row>,
    pub(crate) esp: Endpoint,
    pub(crate) streams: Streams,
    pub(crate) reading: Option<Reading>,
    pub(crate) table: Table,
    pub(crate) keys: Keys,
    pub(crate) failures: Failures,
    pub(crate) key_log: KeyLog,
    pub(crate) emergencies: Emergencies,
    pub(crate) watches: Watches,
    pub(crate) trails: Trails,
    pub(crate) metrics: Metrics<Metric>,
    pub(crate) random: ChaCha12Rng,
    pub(crate) secret: u64,
    /// The set by which the message came that is dealt with in this step.
    pub(crate) came: Option<Key>,
    pub(crate) named: Named,
    /// When the core last sent a challenge without keys.
    pub(crate) keyless: Option<Time>,
    pub(crate) pair: Pair,
    pub(crate) text: Vec<u8>,
    due: Vec<Key>,
}

impl Access {
    /// Without agreements; `seed` is secret.
    #[must_use]
    pub fn new(settings: &Settings, shard: u16, seed: [u8; 32], now: Time) -> Self {
        let mut random = ChaCha12Rng::from_seed(seed);
        let [indices, secret, nonces, numbers] = [(); 4].map(|()| random.next_u64());
        Self {
            rows: settings.realms.iter().map(Row::of).collect(),
            esp: Endpoint::new(settings.esp(), shard, indices, now),
            streams: Streams::new(numbers, settings.tcp_idle()),
            reading: None,
            table: Table::new(settings.agreements_max(), secret, now),
            keys: Keys::new(nonces),
            failures: Failures::default(),
            key_log: KeyLog::default(),
            emergencies: Emergencies::default(),
            watches: Watches::new(shard, now),
            trails: Trails::default(),
            metrics: Metrics::new(),
            random,
            secret,
            came: None,
            named: Named::default(),
            keyless: None,
            pair: Pair::default(),
            text: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Takes other settings. Agreements of a realm or a listener that is gone end.
    pub fn configure(&mut self, settings: &Settings) {
        let rows: Vec<Row> = settings.realms.iter().map(Row::of).collect();
        let keys: Vec<Key> = self.table.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(set) = self.table.at_mut(key) else { continue };
            let name = self.rows.get(set.realm).map(|row| row.realm.name.as_str());
            let place = rows.iter().position(|row| Some(row.realm.name.as_str()) == name);
            let stands = |at: usize| {
                let has_listener =
                    set.associated.is_none() || rows[at].listener(set.identity.port).is_some();
                let has_address = rows[at].protected(set.local).is_some();
                has_listener && has_address
            };
            match place.filter(|at| stands(*at)) {
                Some(at) => set.realm = at,
                None => self.end(key, "its realm or its listener is gone"),
            }
        }
        let names: Vec<String> = self.rows.iter().map(|row| row.realm.name.clone()).collect();
        self.watches.remap(|realm| {
            let is_it = |row: &Row| {
                names.get(realm) == Some(&row.realm.name) && row.realm.section.reg_event
            };
            rows.iter().position(is_it)
        });
        self.rows = rows;
        self.forget_refused_inside();
        self.table.set_max(settings.agreements_max());
        self.esp.configure(settings.esp());
        self.streams.set_idle(settings.tcp_idle());
    }

    /// Whether no realm has IPsec: then there is nothing to ask here.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether messages of that port are looked at by [`Access::request`] and
    /// [`Access::leaving`].
    #[must_use]
    pub fn owns(&self, port: PortId) -> bool {
        self.row(port).is_some()
    }

    /// Whether a port is one of raw sockets, which the first shard has.
    #[must_use]
    pub fn is_raw(&self, port: PortId) -> bool {
        let mut addresses = self.rows.iter().flat_map(|row| &row.realm.addresses);
        addresses.any(|address| address.raw == port)
    }

    /// Takes a packet that came from the network to any port of the function.
    pub fn packet(&mut self, now: Time, flow: &Flow, bytes: &[u8]) -> Packet {
        self.came = None;
        if !self.esp.owns(flow.port) {
            return match self.row(flow.port) {
                Some((_, listener)) if listener.is_protected => {
                    self.esp.refuse_clear();
                    Packet::Dropped
                }
                _ => Packet::Foreign,
            };
        }
        let arrived = self.esp.unprotect(now, flow, bytes);
        let message = arrived.and_then(|arrived| match arrived.protocol {
            ipsec::TCP => inside::segment(self, now, &arrived),
            _ => self.message(now, &arrived),
        });
        message.map_or(Packet::Dropped, Packet::Message)
    }

    /// The next message of a connection of TCP inside of ESP that the last packet was of: it stands
    /// in [`Access::text`], and came by this flow. To be called until there is none.
    pub fn next_inside(&mut self, now: Time) -> Option<Flow> {
        inside::next(self, now)
    }

    /// What leaves by connections of TCP inside of ESP: `leaves` gets each packet with its flow. To
    /// be called at the end of each step, after [`Access::leaving`].
    pub fn leave_inside(&mut self, now: Time, leaves: impl FnMut(Flow, &[u8])) {
        self.streams.leave(now, &mut self.esp, leaves);
    }

    /// Forgets all connections of TCP inside of ESP: another node has them.
    pub fn forget_inside(&mut self) {
        self.streams.clear();
        self.reading = None;
    }

    /// Gives up connections of TCP of phones whose realm carries none any more.
    fn forget_refused_inside(&mut self) {
        let carries = |set: &Set| {
            let row = self.rows.get(set.realm);
            row.is_some_and(|row| row.inside(set.local).is_some())
        };
        let refused = self.table.iter().filter(|(_, set)| !carries(set));
        for set in refused.filter_map(|(_, set)| set.associations()) {
            for lane in [Lane::First, Lane::Second] {
                self.streams.abort(Way { set, lane });
            }
        }
        if self.is_off() {
            self.forget_inside(); // nobody asks for what leaves any more
        }
    }

    /// The message that [`Access::packet`] found; whoever takes it may give its room back by
    /// [`Access::reuse`].
    #[must_use]
    pub fn text(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.text)
    }

    /// Room for the next message.
    pub fn reuse(&mut self, text: Vec<u8>) {
        self.text = text;
        self.came = None;
    }

    fn message(&mut self, now: Time, arrived: &Arrived) -> Option<Flow> {
        let key = self.table.user_of(arrived.owner)?;
        let set = self.table.at(key).filter(|set| set.associations() == Some(arrived.set))?;
        let local = SocketAddr::new(set.local, set.own()?.port_s);
        self.text.clear();
        self.text.extend_from_slice(&self.esp.octets()[arrived.payload.clone()]);
        if set.stage == Stage::Challenged {
            self.prove(now, key)?;
        }
        self.came_by(now, key);
        let set = self.table.at(key)?;
        Some(Flow::to(set.identity.port, Transport::Udp, local, set.identity.remote))
    }

    /// The message in [`Access::text`] came by that set.
    pub(crate) fn came_by(&mut self, now: Time, key: Key) {
        self.came = Some(key);
        let set = self.table.at(key).filter(|set| set.stage == Stage::Current);
        let is_first = set.is_some_and(|set| !set.usage.is_used);
        if is_first && !self.text.starts_with(b"REGISTER ") {
            self.used(now, key);
        }
    }

    /// Whoever sends by associations has the card, and is known by its flow from now on. Of its
    /// agreements those beyond the limit end.
    pub(crate) fn prove(&mut self, now: Time, key: Key) -> Option<()> {
        let Some(identity) = self.identity(now, key) else {
            let set = self.table.at(key)?;
            let why = "its source has no port left by which it could be known";
            self.failures.note(now, &set.impi, set.identity.remote, why);
            self.metrics.add(Metric::OfSource, 1);
            self.end(key, why);
            return None;
        };
        if let Some(spare) = self.table.prove(key, identity) {
            self.metrics.add(Metric::MadeWay, 1);
            self.end(spare, "its phone has more agreements than it may (TS 33.203 §7.4)");
        }
        Some(())
    }

    /// By what the function knows the phone: its address and server port, which stay through all
    /// of its registrations. No two private identities ever have the same, in whatever mode: one
    /// that finds it taken, or registered by another that has left it, gets another port. Whoever
    /// has proven no card takes none.
    fn identity(&mut self, now: Time, key: Key) -> Option<Identity> {
        let set = self.table.at(key)?;
        let Identity { port: listener, remote } = set.identity;
        let known = self.table.by_impi(&set.impi).iter().rev().find_map(|other| {
            let other = self.table.at(*other)?;
            let Identity { port, remote: known } = other.identity;
            (known.ip() == remote.ip() && port == listener).then_some(other.identity)
        });
        if known.is_some() {
            return known;
        }
        let (mut port, impi) = (set.choice?.of.port_s, set.impi.clone());
        for _ in 0..IDENTITIES {
            let remote = SocketAddr::new(remote.ip(), port);
            let identity = Identity { port: listener, remote };
            if self.table.is_free(now, identity, &impi) {
                return Some(identity);
            }
            let above = u32::from(u16::MAX - PORTS_FROM);
            port = PORTS_FROM + u16::try_from(self.random.next_u32() % above).unwrap_or(0);
        }
        None
    }

    /// The phone has taken a set into use: its others are left to what is under way
    /// (TS 33.203 §7.4).
    fn used(&mut self, now: Time, key: Key) {
        let Some(set) = self.table.at_mut(key) else { return };
        set.usage.is_used = true;
        let impi = set.impi.clone();
        let others: Vec<Key> = self.table.by_impi(&impi).to_vec();
        for other in others.into_iter().filter(|other| *other != key) {
            let Some(set) = self.table.at(other) else { continue };
            if set.stage == Stage::Old {
                let expires = set.expires.min(now + LINGERING);
                self.table.advance(other, Stage::Old, expires);
            }
        }
    }

    /// Whether the port is one in the clear of a realm where phones must agree: a registration is
    /// not accepted there.
    #[must_use]
    pub fn must_agree(&self, port: PortId) -> bool {
        let row = self.row(port).filter(|(_, listener)| !listener.is_protected);
        row.is_some_and(|(realm, _)| self.rows[realm].realm.section.required)
    }

    /// Whether a flow is one of phones with agreements, and none is known there: whoever gets it
    /// next must not find the registration of another. To be asked after [`Access::take_over`]:
    /// what was told of the agreement may be missing, where its registration was told.
    #[must_use]
    pub fn is_nobodys(&self, flow: &Flow) -> bool {
        let identity = self.known_by(flow);
        self.row(flow.port).is_some_and(|(_, listener)| listener.is_protected)
            && self.table.by_identity(identity).is_empty()
            && self.table.vacated.at(identity).is_none()
    }

    /// Whether what comes by a port has come by associations: who sends it has the card.
    pub(crate) fn has_proven(&self, port: PortId) -> bool {
        self.row(port).is_some_and(|(_, listener)| listener.is_protected)
    }

    /// The flows by which the function may know a phone of that flow: by datagrams, and by TCP
    /// inside of ESP. `None`: it came by no associations.
    pub(crate) fn flows_of(&self, flow: &Flow) -> Option<[Flow; 2]> {
        let (realm, listener) =
            self.row(flow.port).filter(|(_, listener)| listener.is_protected)?;
        let to = |port, transport| Flow::to(port, transport, flow.local, flow.remote);
        let datagrams =
            self.rows[realm].protected(listener.ip).map(|it| to(it.port, Transport::Udp));
        let inside = self.rows[realm].inside(listener.ip).map(|it| to(it.port, Transport::Tcp));
        Some([datagrams.unwrap_or(*flow), inside.unwrap_or(*flow)])
    }

    /// Whether a phone of that flow has an agreement; `None` where none is made.
    #[must_use]
    pub fn has_agreement(&self, flow: &Flow) -> Option<bool> {
        self.row(flow.port).filter(|(_, listener)| listener.is_protected)?;
        Some(!self.table.by_identity(self.known_by(flow)).is_empty())
    }

    /// Whether a REGISTER offers an agreement: the core must challenge it, and nobody accepts it in
    /// the core's place.
    #[must_use]
    pub fn is_offer(&self, flow: &Flow, message: &Message<'_>) -> bool {
        let is_clear = self.row(flow.port).is_some_and(|(_, listener)| !listener.is_protected);
        is_clear && self.table.by_register(self.register(message, flow.remote)).is_some()
    }

    /// Whether emergency calls of phones that are not registered are taken at the port
    /// (TS 24.229 §5.2.10).
    #[must_use]
    pub fn takes_emergencies(&self, port: PortId) -> bool {
        self.row(port).is_some_and(|(realm, _)| self.rows[realm].realm.section.emergency)
    }

    /// Takes the keys out of an answer of the core, whatever its status: [`Verdict::Changed`], and
    /// `out` has the answer without them (TS 24.229 §5.2.2). `believes`: those of a 401 are kept
    /// for the phone. One with a challenge that cannot be read is [`Verdict::Dropped`].
    pub fn unkeyed(
        &mut self,
        now: Time,
        bytes: &[u8],
        believes: bool,
        out: &mut Vec<u8>,
    ) -> Verdict {
        if self.is_off() || !rewrite::may_challenge(bytes) {
            return Verdict::Passes;
        }
        let Ok(message) = Message::parse(rewrite::after_blank_lines(bytes)) else {
            self.metrics.add(Metric::Unreadable, 1);
            return Verdict::Dropped;
        };
        let taken = rewrite::without_keys(&message, out);
        if let Some((nonce, keys)) = taken
            && believes
            && message.status() == Some(401)
        {
            self.metrics.add(Metric::KeysTaken, 1);
            let lost = self.keys.put(now, &nonce, keys);
            self.metrics.add(Metric::KeysLost, lost);
        }
        if out.is_empty() { Verdict::Passes } else { Verdict::Changed }
    }

    /// Appends what the core is told of a REGISTER, or of a request that begins a dialog or stands
    /// alone, that came by the port `from` and leaves from `own` (TS 24.229 §5.2.2, §5.2.6.3).
    /// `secret` is the request's own: copies of it get the same names. Gives the headers that the
    /// request itself must not have then.
    pub fn tell_core(
        &self,
        from: PortId,
        method: Method,
        own: IpAddr,
        secret: u128,
        out: &mut Vec<u8>,
    ) -> HeaderSet {
        let Some((realm, _)) = self.row(from) else { return HeaderSet::default() };
        charging::write(&self.rows[realm].realm.section, method, own, secret, out);
        charging::OWN
    }

    /// Appends what the core is told of a request within a dialog that a phone has begun, as
    /// [`Access::tell_core`] under that secret.
    pub fn tell_core_within(&self, from: PortId, own: IpAddr, secret: u128, out: &mut Vec<u8>) {
        if let Some((realm, _)) = self.row(from) {
            charging::write_within(&self.rows[realm].realm.section, own, secret, out);
        }
    }

    /// What becomes of the charging vector in a request of the core that goes to a phone by the
    /// port `to`.
    #[must_use]
    pub fn charged(&self, to: PortId, vector: &[u8]) -> Option<Charged> {
        let (realm, _) = self.row(to)?;
        charging::charged(&self.rows[realm].realm.section, vector)
    }

    /// Tells the trails of registrations what became of their agreements since this was called
    /// last. To be called in each step, before [`Access::tell_standby`].
    pub fn tell(&mut self, now: Time, capture: &mut Capture) {
        self.esp.tick(now);
        self.trails.capture(now, capture);
    }

    /// Writes the keys of associations that were made since this was called last, where their realm
    /// wants that. To be called in each step, after [`Access::leaving`].
    pub fn write_keys(&mut self, out: &mut Effects) {
        self.key_log.write(&self.rows, out);
    }

    /// What became of a channel that [`Access::write_keys`] has opened.
    pub fn channel(&mut self, port: PortId, event: &ChannelEvent<'_>) {
        self.key_log.channel(&self.rows, port, event);
    }

    /// Ends a set with its associations, and says why.
    pub(crate) fn end(&mut self, key: Key, why: &str) {
        if let Some(set) = self.table.at(key) {
            self.trails.over(set, Event::AgreementEnded, why);
        }
        self.table.remove(key, &mut self.esp);
    }

    /// Ends what is over.
    pub fn tick(&mut self, now: Time) {
        self.emergencies.tick(now);
        self.streams.tick(now);
        let lost = self.keys.tick(now);
        self.metrics.add(Metric::KeysLost, lost);
        let mut due = core::mem::take(&mut self.due);
        self.table.expire(now, &mut due);
        for key in due.drain(..) {
            let Some(set) = self.table.at(key) else { continue };
            if set.expires > now {
                continue;
            }
            let why = match set.stage {
                Stage::Challenged => "the challenge was not answered in time",
                Stage::Proven => "the core did not say in time what it thinks of the response",
                Stage::Current => "its registration is over",
                Stage::Old => "its phone has a newer agreement",
                Stage::Offered | Stage::Ending => "",
            };
            if matches!(set.stage, Stage::Challenged | Stage::Proven) {
                self.failures.note(now, &set.impi, set.identity.remote, why);
            }
            if !why.is_empty() {
                self.trails.over(set, Event::AgreementEnded, why);
            }
            if matches!(set.stage, Stage::Challenged | Stage::Proven | Stage::Current) {
                self.metrics.add(Metric::Expired, 1);
            }
            self.table.remove(key, &mut self.esp);
        }
        self.due = due;
        self.gauges();
    }

    /// When [`Access::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let others = self.keys.deadline().into_iter().chain(self.emergencies.deadline());
        let others = others.chain(self.watches.deadline()).chain(self.streams.deadline());
        self.table.deadline().into_iter().chain(others).min()
    }

    /// The metrics: of the agreements, of ESP, and of subscriptions to registrations.
    #[must_use]
    pub fn cells(&self) -> [MetricCells; 3] {
        [self.metrics.cells(), self.esp.cells(), self.watches.metrics.cells()]
    }

    /// The count of one metric.
    #[must_use]
    pub fn count(&self, metric: Metric) -> u64 {
        self.metrics.read(metric)
    }

    /// The count of one metric of subscriptions to registrations.
    #[must_use]
    pub fn reg_event_count(&self, metric: crate::metrics::RegEventMetric) -> u64 {
        self.watches.metrics.read(metric)
    }

    /// The count of one metric of ESP.
    #[must_use]
    pub fn esp_count(&self, metric: ipsec::Metric) -> u64 {
        self.esp.count(metric)
    }

    pub(crate) fn gauges(&self) {
        let (under_way, current) = self.table.counts();
        self.metrics.set(Metric::UnderWay, under_way as u64);
        self.metrics.set(Metric::Standing, current as u64);
    }

    /// The realm and the listener behind a port.
    pub(crate) fn row(&self, port: PortId) -> Option<(usize, Listener)> {
        self.rows.iter().enumerate().find_map(|(at, row)| Some((at, *row.listener(port)?)))
    }

    /// By what a phone is known, whatever carries what it says.
    pub(crate) fn known_by(&self, flow: &Flow) -> Identity {
        let found = self.row(flow.port).filter(|(_, listener)| listener.is_inside);
        let sibling = found.and_then(|(realm, listener)| self.rows[realm].protected(listener.ip));
        let port = sibling.map_or(flow.port, |listener| listener.port);
        Identity { port, remote: flow.remote }
    }

    /// The number of a REGISTER.
    pub(crate) fn register(&self, message: &Message<'_>, source: SocketAddr) -> (u64, u32) {
        let mut octets = message.call_id().to_vec();
        match source.ip() {
            std::net::IpAddr::V4(address) => octets.extend_from_slice(&address.octets()),
            std::net::IpAddr::V6(address) => octets.extend_from_slice(&address.octets()),
        }
        (keys::hash(self.secret, &octets), message.cseq().number)
    }

    /// The set by which a phone got or gets the answer to that REGISTER.
    pub(crate) fn carrying(&self, flow: &Flow, register: (u64, u32)) -> Option<Key> {
        let keys = self.table.by_identity(self.known_by(flow));
        let is_it =
            |key: &&Key| self.table.at(**key).is_some_and(|set| set.register == Some(register));
        keys.iter().rev().find(is_it).copied()
    }

    /// The set by which everything else goes to a phone: the newest that it uses, until it uses a
    /// newer one (TS 33.203 §7.4), else the newest whose registration stands, else the newest.
    pub(crate) fn reaching(&self, flow: &Flow) -> Option<Key> {
        let keys = self.table.by_identity(self.known_by(flow));
        let rank = |set: &Set| match set.stage {
            Stage::Current if set.usage.is_used => 5,
            Stage::Old if set.usage.is_used => 4,
            Stage::Current => 3,
            Stage::Old => 2,
            Stage::Proven | Stage::Challenged => 1,
            Stage::Ending | Stage::Offered => 0,
        };
        let ranked = keys.iter().filter_map(|key| Some((rank(self.table.at(*key)?), *key)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, key)| key)
    }
}
