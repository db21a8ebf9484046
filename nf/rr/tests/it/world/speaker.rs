//! A scripted BGP speaker: a session, what came over it, and UPDATEs that the test makes.

use bgp::codec::{
    AttributeType, Context, EXTENDED_MESSAGE_BYTES_MAX, Flags, Offer, Update, write_attribute,
};
use bgp::family::{Family, FamilySet, Ipv4Prefix};
use bgp::pack::{Announcement, Limits, Withdrawal};
use bgp::{Cause, ConnectionId, In, Indication, Negotiated, Out, PeerAs, Session, Settings, State};
use machine::{Machine, Time};
use runtime::Flow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub enum Want {
    Connect,
    Send(u32, Vec<u8>),
    Close(u32),
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub struct Speaker {
    pub address: IpAddr,
    pub session: Session,
    /// It takes connections.
    pub listens: bool,
    pub up: Option<(ConnectionId, Box<Negotiated>)>,
    /// IPv4 prefixes that it has been told, with their attributes.
    pub routes: BTreeMap<String, Vec<u8>>,
    /// UPDATEs as they came.
    pub updates: Vec<Vec<u8>>,
    pub ended_ribs: BTreeSet<Family>,
    /// Why sessions ended, the last one last.
    pub endings: Vec<Cause>,
    pub refreshes: usize,
    buffers: BTreeMap<u32, Vec<u8>>,
    wants: Vec<Want>,
    outs: Vec<Out>,
}

impl Speaker {
    /// One of the same AS that connects, and takes no connections.
    pub fn client(address: &str) -> Self {
        Self::of(address, 65_000, FamilySet::only(Family::Ipv4Unicast))
    }

    pub fn of(text: &str, asn: u32, families: FamilySet) -> Self {
        let identifier = match text.parse().expect("an address") {
            IpAddr::V4(ip) => ip.to_bits(),
            IpAddr::V6(ip) => ip.to_bits() as u32,
        };
        let mut settings = Settings::new(Offer::modern(asn, identifier, 90, families), PeerAs::Any);
        settings.connect_retry = machine::Duration::from_secs(5);
        Self::with(text, settings)
    }

    pub fn with(text: &str, settings: Settings) -> Self {
        let address: IpAddr = text.parse().expect("an address");
        Self {
            address,
            session: Session::new(settings, 99),
            listens: false,
            up: None,
            routes: BTreeMap::new(),
            updates: Vec::new(),
            ended_ribs: BTreeSet::new(),
            endings: Vec::new(),
            refreshes: 0,
            buffers: BTreeMap::new(),
            wants: Vec::new(),
            outs: Vec::new(),
        }
    }

    pub fn settings(&self) -> Settings {
        self.session.settings().clone()
    }

    /// One that only waits for connections.
    pub fn waiting(text: &str, settings: Settings) -> Self {
        let settings = Settings { passive: true, ..settings };
        let mut it = Self::with(text, settings);
        it.listens = true;
        it
    }

    pub fn is_up(&self) -> bool {
        self.session.state() == State::Established
    }

    pub fn start(&mut self, now: Time) {
        self.tell(now, In::Start);
    }

    pub fn tell(&mut self, now: Time, input: In) {
        self.session.step(now, input, &mut self.outs);
        self.carry_out(now, &[]);
    }

    pub fn tick(&mut self, now: Time) {
        if self.session.deadline().is_some_and(|at| at <= now) {
            self.session.tick(now, &mut self.outs);
            self.carry_out(now, &[]);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.session.deadline()
    }

    pub fn take(&mut self) -> Vec<Want> {
        core::mem::take(&mut self.wants)
    }

    pub fn stands(&mut self, now: Time, flow: &Flow) {
        let id = ConnectionId(flow.conn.0);
        let is_ours = flow.remote == address(super::HERE);
        self.tell(now, if is_ours { In::Connected(id) } else { In::Accepted(id) });
    }

    pub fn lost(&mut self, now: Time, conn: u32) {
        self.tell(now, In::Closed(ConnectionId(conn)));
    }

    pub fn octets(&mut self, now: Time, conn: u32, bytes: &[u8]) {
        let mut buffer = self.buffers.remove(&conn).unwrap_or_default();
        buffer.extend_from_slice(bytes);
        let done = self.session.receive(now, ConnectionId(conn), &buffer, &mut self.outs);
        self.carry_out(now, &buffer);
        buffer.drain(..done);
        self.buffers.insert(conn, buffer);
    }

    fn carry_out(&mut self, now: Time, bytes: &[u8]) {
        for out in core::mem::take(&mut self.outs) {
            match out {
                Out::Connect => self.wants.push(Want::Connect),
                Out::Abandon => {}
                Out::Send(id, message) => self.wants.push(Want::Send(id.0, message)),
                Out::Close(id) => self.wants.push(Want::Close(id.0)),
                Out::Updates(_, range) => self.read(now, &bytes[range]),
                Out::Indicate(indication) => self.indicated(indication),
            }
        }
    }

    fn indicated(&mut self, indication: Indication) {
        match indication {
            Indication::Up(id, negotiated) => self.up = Some((id, negotiated)),
            Indication::Down(cause, _) => {
                self.up = None;
                self.endings.push(cause);
                self.routes.clear();
                self.ended_ribs.clear();
            }
            Indication::Failed(cause) => self.endings.push(cause),
            Indication::Refresh(..) => self.refreshes += 1,
            _ => {}
        }
    }

    fn read(&mut self, _now: Time, bytes: &[u8]) {
        let context = self.context();
        for (_, message) in bgp::codec::Messages::new(bytes, EXTENDED_MESSAGE_BYTES_MAX) {
            let update = Update::read(message, &context).expect("the reflector writes no nonsense");
            assert_eq!(update.violation(), None, "the reflector writes no nonsense");
            self.updates.push(message.to_vec());
            self.ended_ribs.extend(update.end_of_rib());
            let mut scratch = Vec::new();
            let attributes = update.canonical(&mut scratch).to_vec();
            let own = self.settings().offer.identifier.to_be_bytes();
            if update.value(AttributeType::OriginatorId) == Some(&own[..]) {
                continue; // its own route, which comes back (RFC 4456 §8)
            }
            for gone in update.withdrawn() {
                self.routes.remove(&gone.to_string());
            }
            for route in update.announced() {
                self.routes.insert(route.to_string(), attributes.clone());
            }
        }
    }

    fn context(&self) -> Context {
        self.up.as_ref().expect("its session stands").1.context
    }

    /// Announces IPv4 prefixes with this node as their next hop.
    pub fn announce(&mut self, prefixes: &[&str]) {
        let attributes = self.attributes();
        self.announce_with(&attributes, prefixes);
    }

    pub fn announce_with(&mut self, attributes: &[u8], prefixes: &[&str]) {
        let (id, mut out) = (self.connection(), Vec::new());
        let limits = Limits { message_max: 4_096, add_path: false };
        let mut pack = Announcement::plain(limits, attributes, &mut out).expect("they fit");
        prefixes.iter().for_each(|text| pack.prefix(0, prefix(text)));
        pack.finish();
        self.wants.push(Want::Send(id, out));
    }

    pub fn withdraw(&mut self, prefixes: &[&str]) {
        let (id, mut out) = (self.connection(), Vec::new());
        let limits = Limits { message_max: 4_096, add_path: false };
        let mut pack = Withdrawal::plain(limits, &mut out);
        prefixes.iter().for_each(|text| pack.prefix(0, prefix(text)));
        pack.finish();
        self.wants.push(Want::Send(id, out));
    }

    /// Octets as they are.
    pub fn say(&mut self, octets: Vec<u8>) {
        let id = self.connection();
        self.wants.push(Want::Send(id, octets));
    }

    fn connection(&self) -> u32 {
        self.up.as_ref().expect("its session stands").0.0
    }

    /// ORIGIN, AS_PATH, NEXT_HOP, LOCAL_PREF of an internal route, or an external one's.
    pub fn attributes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let IpAddr::V4(ip) = self.address else { panic!("of IPv4") };
        let asn = self.session.settings().offer.asn;
        let is_internal = asn == 65_000;
        let mut path = Vec::new();
        if !is_internal {
            path.extend_from_slice(&[2, 1]);
            path.extend_from_slice(&asn.to_be_bytes());
        }
        let mut put = |kind: AttributeType, value: &[u8]| {
            write_attribute(Flags::TRANSITIVE, kind.number(), value, &mut out);
        };
        put(AttributeType::Origin, &[0]);
        put(AttributeType::AsPath, &path);
        put(AttributeType::NextHop, &ip.octets());
        if is_internal {
            put(AttributeType::LocalPref, &100u32.to_be_bytes());
        }
        out
    }
}

pub fn prefix(text: &str) -> Ipv4Prefix {
    let (address, length) = text.split_once('/').expect("a prefix");
    let address: Ipv4Addr = address.parse().expect("an address");
    Ipv4Prefix::new(address, length.parse().expect("a length")).expect("a prefix")
}
