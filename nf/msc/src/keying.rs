//! Connectivity checks (ICE, RFC 8445) and DTLS (RFC 5764) of ends, as their packets come up from
//! the forwarder.
//!
//! ```text
//!   door: STUN ─→ Agent, lite ─→ answer · Nominated ─→ the flow expects packets from there alone
//!         DTLS ─→ Handshake ──→ answers · Keys ──────→ the flow's guard
//! ```
//! An end has an agent and a handshake when its first packet comes, or, where this side begins,
//! when it is known where the end is. Both go with the port.

use crate::agreement::{Agreed, Kept};
use anchor::{Checks, End, Guard, Local, Stream};
use core::net::{IpAddr, SocketAddr};
use dataplane::{DoorEvent, PacketDoor};
use dtls::{Handshake, In, Out, Role};
use hashbrown::HashMap;
use machine::bucket::{Bucket, Rate};
use machine::{Machine as _, Time, Wheel};
use media::program::{CLASS_DTLS, CLASS_STUN, Keys, Place};
use nodes::datagram::Datagram;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore as _;
use runtime::{Effects, PacketRecord, PacketTo};
use srtp::dtls::{Description, Fingerprint, Hash, Keys as Master, Role as SrtpRole};
use srtp::{KeyEntry, MasterKey, Parameters, Suite};
use stun::ice::{Agent, Credentials, Pair, Role as IceRole, Settings as IceSettings};

/// Records of a ring for each class: checks come often, handshakes seldom.
const SHARES: [(&str, u16); 2] = [(CLASS_STUN, 96), (CLASS_DTLS, 64)];
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

/// Hellos of DTLS that are heard, of all ends together: one may cost a millisecond of a processor,
/// and whoever is not heard says its hello again.
const ATTEMPTS_PER_S: f64 = 400.0;
const ATTEMPTS_BURST: u32 = 400;

/// The classes of the door, with their shares of its rings.
pub(crate) fn classes() -> Vec<(String, u16)> {
    SHARES.map(|(name, share)| (name.to_owned(), share)).into()
}

/// A packet that came to the port of an end.
pub(crate) struct Received<'a> {
    /// What came.
    pub datagram: &'a Datagram<'a>,
    /// The end, as it is described.
    pub end: &'a End,
    /// The address and port that it came to.
    pub place: Place,
    /// Whether that port is the one of RTCP.
    pub is_rtcp: bool,
    /// What is agreed of the end.
    pub agreed: Agreed,
}

/// What came of a packet, or of time.
#[derive(Debug, Default)]
pub(crate) struct Came {
    /// What is agreed of ends now.
    pub changes: Vec<(Local, Change)>,
    /// Handshakes that will have no keys.
    pub failures: u64,
    /// Times that an end said to have nothing that suits.
    pub unsuited: u64,
    /// Hellos that were not heard since too many came.
    pub postponed: u64,
}

/// What is agreed of an end.
#[derive(Debug)]
pub(crate) enum Change {
    /// It is there, these checks say.
    Nominated(Box<Checks>, SocketAddr),
    /// Packets of who is described so are protected with these, what comes and what leaves.
    Keys(Box<Description>, Box<[Keys; 2]>),
}

impl Change {
    /// Makes it so.
    pub fn apply(self, kept: &mut Kept) {
        match self {
            Self::Nominated(checks, place) => kept.nominated = Some((*checks, place)),
            Self::Keys(peer, keys) => kept.keys = Some((*peer, keys)),
        }
    }
}

/// A handshake of an end.
struct Shaking {
    handshake: Handshake,
    /// What signalling said of the end's certificate.
    peer: Description,
    place: Place,
    /// Where what is sent by itself goes.
    towards: Option<SocketAddr>,
}

/// Connectivity checks of an end.
struct Checking {
    agent: Agent,
    checks: Checks,
}

/// All agents and handshakes.
pub(crate) struct Keying {
    door: PacketDoor,
    dtls: Option<dtls::Settings>,
    fingerprint: Option<Fingerprint>,
    agents: HashMap<Local, Checking>,
    shaking: HashMap<Local, Shaking>,
    /// Who is heard of an end: who is signalled and began, or who has shown that it is there.
    heard: HashMap<Local, SocketAddr>,
    wheel: Wheel<Local>,
    /// Hellos that were heard of late, of all ends.
    attempts: Bucket,
    /// Packets that came up by the door.
    pub ups: Bucket,
}

/// The profiles of SRTP that DTLS may agree on.
fn profiles() -> Vec<u16> {
    SUITES.iter().filter_map(|suite| suite.profile()).collect()
}

impl Keying {
    /// None; without a certificate there is no DTLS.
    pub fn new(now: Time, door: PacketDoor, certificate: Option<dtls::Certificate>) -> Self {
        let fingerprint = certificate.as_ref().map(|it| Fingerprint::of(Hash::Sha256, it.der()));
        Self {
            door,
            dtls: certificate.map(|it| dtls::Settings::new(it, &profiles())),
            fingerprint,
            agents: HashMap::new(),
            shaking: HashMap::new(),
            heard: HashMap::new(),
            wheel: Wheel::new(now),
            attempts: Bucket::default(),
            ups: Bucket::default(),
        }
    }

    /// The fingerprint of the certificate that DTLS shows.
    pub const fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// Takes what happened at the door; a packet, if one came.
    pub fn step<'a>(
        &mut self,
        now: Time,
        port: runtime::PortId,
        event: runtime::ChannelEvent<'a>,
    ) -> Option<(PacketRecord, Datagram<'a>)> {
        match self.door.step(now, port, event) {
            Some(DoorEvent::Packet(record, packet)) => Some((record, Datagram::read(packet)?)),
            _ => None,
        }
    }

    /// When [`Keying::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        [self.wheel.deadline(), self.door.deadline()].into_iter().flatten().min()
    }

    /// A stream stands, or is another one: who begins does when it is known where the end is.
    pub fn stands(
        &mut self,
        now: Time,
        stream: &Stream,
        places: [Option<Place>; 2],
        agreed: [Agreed; 2],
        out: &mut Effects,
    ) -> Came {
        let mut came = Came::default();
        for ((end, place), agreed) in stream.ends.iter().zip(places).zip(agreed) {
            let Guard::Dtls { peer, role } = &end.guard else {
                self.shaking.remove(&end.local);
                self.heard.remove(&end.local);
                continue;
            };
            // Another certificate is another association.
            let known = self.shaking.get(&end.local);
            if known.is_some_and(|known| !known.peer.goes_on_as(peer)) {
                self.shaking.remove(&end.local);
            }
            // Whoever is signalled to be elsewhere may come from there.
            if agreed.keys.is_none() && !self.shaking.contains_key(&end.local) {
                self.heard.remove(&end.local);
            }
            if agreed.keys.is_some() && !self.shaking.contains_key(&end.local) {
                continue;
            }
            let waits_for_checks = end.checks.is_some() && agreed.nominated.is_none();
            let (true, Some(place)) = (*role == SrtpRole::Client && !waits_for_checks, place)
            else {
                continue;
            };
            let towards = agreed.nominated.or(end.remote);
            self.begin(now, end, place, towards);
            self.run(now, end.local, In::Started, out, &mut came);
        }
        came
    }

    /// A packet came to the port of an end.
    pub fn packet(
        &mut self,
        now: Time,
        record: PacketRecord,
        received: &Received<'_>,
        random: &mut ChaCha12Rng,
        out: &mut Effects,
    ) -> Came {
        if record.class == 0 {
            self.check(now, received, random, out)
        } else if received.is_rtcp {
            Came::default()
        } else {
            self.record(now, received, out)
        }
    }

    fn check(
        &mut self,
        now: Time,
        received: &Received<'_>,
        random: &mut ChaCha12Rng,
        out: &mut Effects,
    ) -> Came {
        let Received { datagram, end, place, is_rtcp, .. } = *received;
        let component = if is_rtcp { RTCP } else { RTP };
        let mut came = Came::default();
        let Some(checks) = &end.checks else { return came };
        let is_its = |it: &Checking| it.checks == **checks;
        if !self.agents.get(&end.local).is_some_and(is_its) {
            let Some(settings) = settings(checks) else { return came };
            let mut seed = [0; 32];
            random.fill_bytes(&mut seed);
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
                    let answer = Datagram { from: it.local, to: it.remote, payload: &it.octets };
                    self.send(place.vrf, &answer, out);
                }
                stun::ice::Out::Nominated(pair) if pair.component == RTP => {
                    let change = Change::Nominated(checks.clone(), pair.remote);
                    came.changes.push((end.local, change));
                    self.nominated(now, received, pair.remote, out, &mut came);
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
        out: &mut Effects,
        came: &mut Came,
    ) {
        let Received { end, place, .. } = *received;
        if let Guard::Dtls { role: SrtpRole::Client, .. } = end.guard {
            self.begin(now, end, place, Some(remote));
            self.run(now, end.local, In::Started, out, came);
        }
        if let Some(shaking) = self.shaking.get_mut(&end.local) {
            shaking.towards = Some(remote);
        }
    }

    /// A record of DTLS.
    fn record(&mut self, now: Time, received: &Received<'_>, out: &mut Effects) -> Came {
        let Received { datagram, end, place, agreed, .. } = received;
        let mut came = Came::default();
        if !matches!(end.guard, Guard::Dtls { .. }) || !self.is_there(received) {
            return came;
        }
        if is_hello(datagram.payload) && !self.attempt(now) {
            came.postponed += 1;
            return came;
        }
        self.begin(now, end, *place, agreed.nominated);
        let input = In::From(datagram.from, datagram.payload.to_vec());
        self.run(now, end.local, input, out, &mut came);
        came
    }

    /// Whether records from where these come are of the end, or may be.
    fn is_there(&mut self, received: &Received<'_>) -> bool {
        let Received { datagram, end, agreed, .. } = received;
        let from = datagram.from;
        if let Some(place) = agreed.nominated {
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
            Some(_) if is_signalled && agreed.keys.is_none() => {
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
            Shaking { handshake, peer: Description::clone(peer), place, towards }
        });
    }

    fn run(&mut self, now: Time, local: Local, input: In, out: &mut Effects, came: &mut Came) {
        let from = if let In::From(from, _) = &input { Some(*from) } else { None };
        let mut told = Vec::new();
        if let Some(shaking) = self.shaking.get_mut(&local) {
            shaking.handshake.step(now, input, &mut told);
        }
        self.did(local, from, told, out, came);
    }

    /// Does what a handshake wants done, and sees to its time. An answer to a datagram goes to
    /// where that came from; what is sent by itself goes there only once who is there has shown
    /// that it is: a cookie came back from there, or it has the keys.
    fn did(
        &mut self,
        local: Local,
        from: Option<SocketAddr>,
        told: Vec<Out>,
        out: &mut Effects,
        came: &mut Came,
    ) {
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
        let peer = shaking.peer.clone();
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
                    self.send(place.vrf, &Datagram { from, to, payload: &payload }, out);
                }
                Out::Keys(keys) => match of_handshake(&keys) {
                    Some(keys) => {
                        let change = Change::Keys(Box::new(peer.clone()), keys);
                        came.changes.push((local, change));
                    }
                    None => came.failures += 1,
                },
                Out::Refused(_) | Out::Failed(_) => came.failures += 1,
                Out::Unsuited => came.unsuited += 1,
                Out::Closed => {}
            }
        }
    }

    fn send(&mut self, vrf: u32, datagram: &Datagram<'_>, out: &mut Effects) {
        self.door.send(out, PacketTo::Vrf(vrf), |octets| datagram.write(octets));
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) -> Came {
        self.door.tick(now, out);
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
            self.did(local, None, told, out, &mut came);
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
