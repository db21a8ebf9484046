//! Connectivity checks (ICE, RFC 8445) and DTLS (RFC 5764) of ends.
//!
//! ```text
//!   STUN ─→ Agent, lite ─→ answer · Nominated ─→ the flow expects packets from there alone
//!   DTLS ─→ Handshake ──→ answers · Keys ──────→ the flow's guard
//! ```
//! An end has an agent and a handshake when its first packet comes, or, where this side begins,
//! when it is known where the end is. Both go with the port. Nothing here knows of a forwarder or
//! of streams: what leaves, and what was agreed on, is in [`Came`].

use crate::agreement::{Agreed, Kept};
use anchor::{Checks, End, Guard, Local};
use core::net::{IpAddr, SocketAddr};
use dtls::{Handshake, In, Out, Role};
use hashbrown::HashMap;
use machine::bucket::{Bucket, Rate};
use machine::{Machine as _, Time, Wheel};
use media::program::{Keys, Place};
use packet::datagram::Datagram;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore as _;
use srtp::dtls::{Description, Keys as Master, Role as SrtpRole};
use srtp::{KeyEntry, MasterKey, Parameters, Suite};
use stun::ice::{Agent, Credentials, Pair, Role as IceRole, Settings as IceSettings};

/// The component of RTP, and that of RTCP (RFC 8445 §13).
const RTP: u8 = 1;
const RTCP: u8 = 2;
/// Suites that DTLS may agree on.
const SUITES: [Suite; 4] = [
    Suite::AeadAes128Gcm,
    Suite::AeadAes256Gcm,
    Suite::AesCm128HmacSha1_80,
    Suite::AesCm128HmacSha1_32,
];

/// Hellos of DTLS that are heard, of all ends of a shard together: one may cost a millisecond of a
/// processor, and whoever is not heard says its hello again.
const ATTEMPTS_PER_S: f64 = 400.0;
const ATTEMPTS_BURST: u32 = 400;

/// What is known of an end beside its description, as far as checks and handshakes ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// Where connectivity checks say that it is.
    pub nominated: Option<SocketAddr>,
    /// DTLS has agreed on keys.
    pub has_keys: bool,
}

impl From<Agreed> for Known {
    fn from(it: Agreed) -> Self {
        Self { nominated: it.nominated, has_keys: it.keys.is_some() }
    }
}

/// The classes of packets, in the order of the packet channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Connectivity checks.
    Stun,
    /// Records of DTLS.
    Dtls,
}

/// A packet that came to the port of an end.
pub struct Received<'a> {
    /// What it is.
    pub class: Class,
    /// What came.
    pub datagram: &'a Datagram<'a>,
    /// The end, as it is described.
    pub end: &'a End,
    /// The address and port that it came to.
    pub place: Place,
    /// Whether that port is the one of RTCP.
    pub is_rtcp: bool,
    /// What is known of the end.
    pub known: Known,
}

/// A datagram that leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    /// By the routes of this table.
    pub vrf: u32,
    /// Its source: a port of an end.
    pub from: SocketAddr,
    /// Its destination.
    pub to: SocketAddr,
    /// What it says.
    pub payload: Vec<u8>,
}

/// What came of a packet, or of time.
#[derive(Debug, Default)]
pub struct Came {
    /// What leaves.
    pub sends: Vec<Sent>,
    /// What is agreed of ends now.
    pub changes: Vec<Change>,
    /// Handshakes that will have no keys.
    pub failures: u64,
    /// Times that an end said to have nothing that suits.
    pub unsuited: u64,
    /// Hellos that were not heard since too many came.
    pub postponed: u64,
}

/// What is agreed of an end.
#[derive(Debug, PartialEq)]
pub struct Change {
    /// The end, as it was described when that was agreed on.
    pub end: Box<End>,
    /// What that is.
    pub what: What,
}

/// What that is.
#[derive(Debug, PartialEq)]
pub enum What {
    /// It is there, its checks say.
    Nominated(SocketAddr),
    /// Its packets are protected with these, what comes and what leaves.
    Keys(Box<[Keys; 2]>),
}

impl Change {
    /// Whether it is of the end as that is described.
    pub fn is_of(&self, end: &End) -> bool {
        let is_same = match self.what {
            What::Nominated(_) => self.end.checks == end.checks,
            What::Keys(_) => {
                let of = peer(&self.end).zip(peer(end));
                of.is_some_and(|(before, now)| before.goes_on_as(now))
            }
        };
        is_same && self.end.local == end.local
    }

    /// Makes it so.
    pub fn apply(self, kept: &mut Kept) {
        let End { checks, guard, .. } = *self.end;
        match (self.what, guard) {
            (What::Nominated(place), _) => kept.nominated = checks.map(|it| (*it, place)),
            (What::Keys(keys), Guard::Dtls { peer, .. }) => kept.keys = Some((*peer, keys)),
            (What::Keys(_), Guard::None | Guard::Keys { .. }) => {}
        }
    }
}

/// What signalling says of the certificate of an end.
fn peer(end: &End) -> Option<&Description> {
    match &end.guard {
        Guard::Dtls { peer, .. } => Some(peer),
        Guard::None | Guard::Keys { .. } => None,
    }
}

/// A handshake of an end.
struct Shaking {
    handshake: Handshake,
    /// The end, as it was described when it began.
    end: Box<End>,
    place: Place,
    /// Where what is sent by itself goes.
    towards: Option<SocketAddr>,
}

/// Connectivity checks of an end.
struct Checking {
    agent: Agent,
    checks: Checks,
}

/// The agents and handshakes of ends.
pub struct Ends {
    dtls: Option<dtls::Settings>,
    agents: HashMap<Local, Checking>,
    shaking: HashMap<Local, Shaking>,
    /// Who is heard of an end: who is signalled and began, or who has shown that it is there.
    heard: HashMap<Local, SocketAddr>,
    wheel: Wheel<Local>,
    /// Hellos that were heard of late, of all ends.
    attempts: Bucket,
    random: ChaCha12Rng,
}

/// The profiles of SRTP that DTLS may agree on.
fn profiles() -> Vec<u16> {
    SUITES.iter().filter_map(|suite| suite.profile()).collect()
}

impl Ends {
    /// None; without a certificate there is no DTLS.
    pub fn new(now: Time, certificate: Option<dtls::Certificate>, random: ChaCha12Rng) -> Self {
        Self {
            dtls: certificate.map(|it| dtls::Settings::new(it, &profiles())),
            agents: HashMap::new(),
            shaking: HashMap::new(),
            heard: HashMap::new(),
            wheel: Wheel::new(now),
            attempts: Bucket::default(),
            random,
        }
    }

    /// When [`Ends::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// Ends with an agent, and handshakes that go on.
    pub fn len(&self) -> (usize, usize) {
        (self.agents.len(), self.shaking.len())
    }

    /// An end stands, or is another one: who begins does when it is known where the end is.
    pub fn stands(&mut self, now: Time, end: &End, place: Option<Place>, known: Known) -> Came {
        let mut came = Came::default();
        let Guard::Dtls { peer, role } = &end.guard else {
            self.shaking.remove(&end.local);
            self.heard.remove(&end.local);
            return came;
        };
        // Another certificate is another association.
        let before = self.shaking.get(&end.local).and_then(|it| self::peer(&it.end));
        if before.is_some_and(|before| !before.goes_on_as(peer)) {
            self.shaking.remove(&end.local);
        }
        let is_shaking = self.shaking.contains_key(&end.local);
        // Whoever is signalled to be elsewhere may come from there.
        if !known.has_keys && !is_shaking {
            self.heard.remove(&end.local);
        }
        if known.has_keys && !is_shaking {
            return came;
        }
        let waits_for_checks = end.checks.is_some() && known.nominated.is_none();
        let (true, Some(place)) = (*role == SrtpRole::Client && !waits_for_checks, place) else {
            return came;
        };
        self.begin(now, end, place, known.nominated.or(end.remote));
        self.run(now, end.local, In::Started, &mut came);
        came
    }

    /// A packet came to the port of an end.
    pub fn packet(&mut self, now: Time, received: &Received<'_>) -> Came {
        match received.class {
            Class::Stun => self.check(now, received),
            Class::Dtls if received.is_rtcp => Came::default(),
            Class::Dtls => self.record(now, received),
        }
    }

    fn check(&mut self, now: Time, received: &Received<'_>) -> Came {
        let Received { datagram, end, place, is_rtcp, .. } = *received;
        let component = if is_rtcp { RTCP } else { RTP };
        let mut came = Came::default();
        let Some(checks) = &end.checks else { return came };
        let is_its = |it: &Checking| it.checks == **checks;
        if !self.agents.get(&end.local).is_some_and(is_its) {
            let Some(settings) = settings(checks) else { return came };
            let mut seed = [0; 32];
            self.random.fill_bytes(&mut seed);
            let agent = Agent::new(settings, seed);
            self.agents.insert(end.local, Checking { agent, checks: (**checks).clone() });
        }
        let Some(checking) = self.agents.get_mut(&end.local) else { return came };
        let pair = Pair { component, local: datagram.to, remote: datagram.from };
        let mut told = Vec::new();
        checking.agent.datagram(now, pair, datagram.payload, &mut told);
        for what in told {
            match what {
                stun::ice::Out::Send(it) => {
                    let (from, to, payload) = (it.local, it.remote, it.octets);
                    came.sends.push(Sent { vrf: place.vrf, from, to, payload });
                }
                stun::ice::Out::Nominated(pair) if pair.component == RTP => {
                    let what = What::Nominated(pair.remote);
                    came.changes.push(Change { end: Box::new(end.clone()), what });
                    self.nominated(now, received, pair.remote, &mut came);
                }
                stun::ice::Out::Nominated(_) | stun::ice::Out::ConsentLost(_) => {}
            }
        }
        came
    }

    /// It is known where an end is: who begins does.
    fn nominated(
        &mut self,
        now: Time,
        received: &Received<'_>,
        remote: SocketAddr,
        came: &mut Came,
    ) {
        let Received { end, place, .. } = *received;
        if let Guard::Dtls { role: SrtpRole::Client, .. } = end.guard {
            self.begin(now, end, place, Some(remote));
            self.run(now, end.local, In::Started, came);
        }
        if let Some(shaking) = self.shaking.get_mut(&end.local) {
            shaking.towards = Some(remote);
        }
    }

    /// A record of DTLS.
    fn record(&mut self, now: Time, received: &Received<'_>) -> Came {
        let Received { datagram, end, place, known, .. } = received;
        let mut came = Came::default();
        if peer(end).is_none() || !self.is_there(received) {
            return came;
        }
        if is_hello(datagram.payload) && !self.attempt(now) {
            came.postponed += 1;
            return came;
        }
        self.begin(now, end, *place, known.nominated);
        let input = In::From(datagram.from, datagram.payload.to_vec());
        self.run(now, end.local, input, &mut came);
        came
    }

    /// Whether records from where these come are of the end, or may be.
    fn is_there(&mut self, received: &Received<'_>) -> bool {
        let Received { datagram, end, known, .. } = received;
        let from = datagram.from;
        if let Some(place) = known.nominated {
            return place == from;
        }
        // Of an end with checks nobody is believed before those have chosen.
        let is_signalled = end.remote == Some(from);
        let is_host = |ip: Option<IpAddr>| ip == Some(from.ip());
        let may_latch = end.latching
            && (end.latching_anywhere
                || is_host(end.remote.map(|it| it.ip()))
                || is_host(end.signaller));
        if end.checks.is_some() || !(is_signalled || may_latch) {
            return false;
        }
        match self.heard.get(&end.local) {
            Some(heard) if *heard == from => true,
            // As with media: whoever is signalled takes it back from one of whom nothing was, until
            // there are keys. What that one began goes.
            Some(_) if is_signalled && !known.has_keys => {
                self.shaking.remove(&end.local);
                self.heard.insert(end.local, from);
                true
            }
            Some(_) => false,
            None if is_signalled => {
                // What somebody else began, and showed nothing, goes.
                let is_answer = |it: &Shaking| it.towards.is_none_or(|place| place == from);
                if !self.shaking.get(&end.local).is_none_or(is_answer) {
                    self.shaking.remove(&end.local);
                }
                self.heard.insert(end.local, from);
                true
            }
            None => true,
        }
    }

    /// Makes the handshake of an end, if there is none.
    fn begin(&mut self, now: Time, end: &End, place: Place, towards: Option<SocketAddr>) {
        let (Guard::Dtls { peer, role }, Some(dtls)) = (&end.guard, &self.dtls) else { return };
        // A packet may come ahead of what says that the end is another one.
        let before = self.shaking.get(&end.local).and_then(|it| self::peer(&it.end));
        if before.is_some_and(|before| !before.goes_on_as(peer)) {
            self.shaking.remove(&end.local);
        }
        let role = match role {
            SrtpRole::Client => Role::Client,
            SrtpRole::Server => Role::Server,
        };
        self.shaking.entry(end.local).or_insert_with(|| {
            let mut handshake = Handshake::new(dtls, role, now);
            let judge = Description::clone(peer);
            let expect = In::Expect(Box::new(move |certificate| judge.names(certificate)));
            // Nothing has come that this could conclude.
            handshake.step(now, expect, &mut Vec::new());
            Shaking { handshake, end: Box::new(end.clone()), place, towards }
        });
    }

    fn run(&mut self, now: Time, local: Local, input: In, came: &mut Came) {
        let from = if let In::From(from, _) = &input { Some(*from) } else { None };
        let mut told = Vec::new();
        if let Some(shaking) = self.shaking.get_mut(&local) {
            shaking.handshake.step(now, input, &mut told);
        }
        self.did(local, from, told, came);
    }

    /// Does what a handshake wants done, and sees to its time. An answer to a datagram goes to
    /// where that came from; what is sent by itself goes there only once who is there has shown
    /// that it is: a cookie came back from there, or it has the keys.
    fn did(&mut self, local: Local, from: Option<SocketAddr>, told: Vec<Out>, came: &mut Came) {
        let Some(shaking) = self.shaking.get_mut(&local) else { return };
        if let Some(place) = from.filter(|_| told.iter().any(shows_itself)) {
            shaking.towards = from;
            self.heard.insert(local, place);
        }
        let is_refused = |what: &Out| matches!(what, Out::Refused(_) | Out::Failed(_));
        if told.iter().any(is_refused) {
            self.heard.remove(&local);
        }
        let (place, towards) = (shaking.place, from.or(shaking.towards));
        let end = shaking.end.clone();
        if let Some(at) = shaking.handshake.deadline() {
            self.wheel.arm(at, local);
        }
        if shaking.handshake.is_over() {
            self.shaking.remove(&local);
        }
        for what in told {
            match what {
                Out::Send(payload) => {
                    let Some(to) = towards else { continue };
                    let from = SocketAddr::new(place.address, place.port);
                    came.sends.push(Sent { vrf: place.vrf, from, to, payload });
                }
                Out::Keys(keys) => match of_handshake(&keys) {
                    Some(keys) => {
                        came.changes.push(Change { end: end.clone(), what: What::Keys(keys) });
                    }
                    None => came.failures += 1,
                },
                Out::Refused(_) | Out::Failed(_) => came.failures += 1,
                Out::Unsuited => came.unsuited += 1,
                Out::Closed => {}
            }
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) -> Came {
        let (mut due, mut came) = (Vec::new(), Came::default());
        self.wheel.expire(now, &mut due);
        for local in due {
            let mut told = Vec::new();
            let Some(shaking) = self.shaking.get_mut(&local) else { continue };
            // One that was armed in vain is armed for its time again, and no more than once a tick.
            if shaking.handshake.deadline().is_some_and(|at| at > now) {
                continue;
            }
            shaking.handshake.tick(now, &mut told);
            self.did(local, None, told, &mut came);
        }
        came
    }

    /// Whether one more hello is heard.
    fn attempt(&mut self, now: Time) -> bool {
        let rate = Rate::new(ATTEMPTS_PER_S, Some(ATTEMPTS_BURST));
        let has_room = self.attempts.has_room(now, rate);
        if has_room {
            self.attempts.take(now, rate);
        }
        has_room
    }

    /// Whether a handshake of the end at a port goes on.
    pub fn has(&self, local: Local) -> bool {
        self.shaking.contains_key(&local)
    }

    /// Another node has the ends.
    pub fn forget_all(&mut self) {
        self.agents.clear();
        self.shaking.clear();
    }

    /// Nothing of before counts.
    pub fn clear(&mut self) {
        self.forget_all();
        self.heard.clear();
    }

    /// A port has no end any more.
    pub fn forget(&mut self, local: Local) {
        self.agents.remove(&local);
        self.shaking.remove(&local);
        self.heard.remove(&local);
    }
}

/// The type of a record that has a message of a handshake (RFC 6347 §4.1), and where its type is.
const HANDSHAKE: u8 = 22;
const MESSAGE_AT: usize = 13;
/// Types of messages (RFC 6347 §4.3.2).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// Where a server's random number is, and how that of one begins which asks for a cookie
/// (RFC 8446 §4.1.3).
const RANDOM_AT: usize = 27;
const RETRY: [u8; 4] = [0xcf, 0x21, 0xad, 0x74];

/// Whether a datagram begins with that message of a handshake.
fn begins_with(datagram: &[u8], message: u8) -> bool {
    datagram.first() == Some(&HANDSHAKE) && datagram.get(MESSAGE_AT) == Some(&message)
}

fn is_hello(datagram: &[u8]) -> bool {
    begins_with(datagram, CLIENT_HELLO)
}

/// Whether what a handshake wants done says that the peer is where its datagram came from: a
/// server says its own hello when its cookie came back, and keys have both.
fn shows_itself(what: &Out) -> bool {
    match what {
        Out::Keys(_) => true,
        Out::Send(payload) => {
            let random = payload.get(RANDOM_AT..RANDOM_AT + RETRY.len());
            begins_with(payload, SERVER_HELLO) && random != Some(&RETRY)
        }
        _ => false,
    }
}

fn settings(checks: &Checks) -> Option<IceSettings> {
    let Checks { name, password, remote_name, remote_password } = checks;
    Some(IceSettings {
        local: Credentials::read(name, password).ok()?,
        remote: Credentials::read(remote_name, remote_password).ok(),
        role: IceRole::Controlled,
        asks_consent: false,
    })
}

/// The keys of a handshake: of what comes, and of what leaves.
fn of_handshake(keys: &dtls::Keys) -> Option<Box<[Keys; 2]>> {
    let suite = Suite::of_profile(keys.profile)?;
    let role = match keys.role {
        Role::Client => SrtpRole::Client,
        Role::Server => SrtpRole::Server,
    };
    let Master { ours, theirs } = Master::of(suite, &keys.material, role)?;
    let of = |key: MasterKey| Keys {
        parameters: Parameters::of(suite),
        entries: vec![KeyEntry::alone(key)],
    };
    Some(Box::new([of(theirs), of(ours)]))
}
