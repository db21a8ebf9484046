//! Nodes joined by connections that are carried by hand, in virtual time.

use crate::random::random;
use bytes::Bytes;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::rows::{base, sh};
use diameter::{
    Action, Connection, Dictionary, Hop, In, Indication, Node, Out, Outcome, Outgoing, Parameters,
    PeerId, PeerSettings, RequestId, Route, Settings,
};
use machine::{Duration, Machine, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const SECOND: Duration = Duration::from_secs(1);

/// What a node does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Answers at once.
    Answers,
    /// Keeps them.
    Keeps,
}

pub struct Site {
    pub node: Node,
    pub name: String,
    pub service: Service,
    /// Session-Ids that its application was given, and the T bit.
    pub seen: Vec<(String, bool)>,
    /// What its application keeps.
    pub kept: Vec<(RequestId, Bytes)>,
    /// What became of its requests.
    pub ends: Vec<(u64, Outcome)>,
    pub ups: usize,
    pub downs: Vec<&'static str>,
    pub complaints: usize,
}

enum Event {
    In(usize, In),
    Message(Connection, Bytes),
    Lost(Connection),
}

pub struct World {
    pub now: Time,
    pub sites: Vec<Site>,
    events: BTreeMap<(Time, u64), Event>,
    /// By connection: whose end it is, and the other one.
    ends: BTreeMap<Connection, (usize, Connection)>,
    next: u64,
    /// Nodes that hear and say nothing.
    pub silent: BTreeSet<usize>,
    /// Nodes that cannot be connected to.
    pub absent: BTreeSet<usize>,
    /// Every message that was sent: from, octets.
    pub wire: Vec<(usize, Bytes)>,
    pub dice: Box<dyn FnMut() -> u64>,
}

pub fn settings(name: &str, realm: &str, applications: &[u32], relays: bool) -> Settings {
    Settings {
        host: format!("{name}.{realm}"),
        realm: realm.to_owned(),
        product: String::from("Tandem"),
        vendor: 0,
        addresses: Vec::new(),
        origin_state: 7,
        applications: applications.to_vec(),
        relays,
        shard: 0,
        seed: u128::from_be_bytes(core::array::from_fn(|n| {
            name.as_bytes().get(n).copied().unwrap_or(7)
        })),
        parameters: Parameters {
            t_connect: SECOND,
            t_connect_max: SECOND * 4,
            ..Parameters::default()
        },
    }
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            now: Time::from_millis(1_700_000_000_000),
            sites: Vec::new(),
            events: BTreeMap::new(),
            ends: BTreeMap::new(),
            next: 1,
            silent: BTreeSet::new(),
            absent: BTreeSet::new(),
            wire: Vec::new(),
            dice: Box::new(random(seed)),
        }
    }

    pub fn add(&mut self, settings: Settings) -> usize {
        let name = settings.host.clone();
        let node = Node::new(settings, Arc::new(Dictionary::default()), self.now).unwrap();
        let (seen, kept, ends) = (Vec::new(), Vec::new(), Vec::new());
        let (service, ups, downs, complaints) = (Service::Answers, 0, Vec::new(), 0);
        self.sites.push(Site { node, name, service, seen, kept, ends, ups, downs, complaints });
        self.sites.len() - 1
    }

    /// A peer of a node.
    pub fn peer(&mut self, at: usize, of: usize, connects: bool) -> PeerId {
        let settings = PeerSettings { host: self.sites[of].name.clone(), realm: None, connects };
        self.sites[at].node.add_peer(self.now, settings).unwrap()
    }

    pub fn route(&mut self, at: usize, realm: Option<&str>, peers: &[(PeerId, u8)]) {
        let hop = |it: &(PeerId, u8)| Hop { peer: it.0, priority: it.1, weight: 1 };
        let action = Action::Relay(peers.iter().map(hop).collect());
        let route = Route { realm: realm.map(str::to_owned), application: None, action };
        self.sites[at].node.add_route(route).unwrap();
    }

    /// The octets of a UDR.
    pub fn udr(&self, at: usize, session: &str, realm: &str, host: Option<&str>) -> Vec<u8> {
        let own = self.sites[at].node.settings();
        let mut octets = Vec::new();
        let mut writer = Writer::request(&mut octets, &sh::USER_DATA_COMMAND, sh::SH.id)
            .put(&base::SESSION_ID, session)
            .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
                out.number(&base::VENDOR_ID, 10_415);
                out.number(&base::AUTH_APPLICATION_ID, sh::SH.id);
            })
            .integer(&base::AUTH_SESSION_STATE, 1)
            .put(&base::ORIGIN_HOST, &own.host)
            .put(&base::ORIGIN_REALM, &own.realm)
            .put(&base::DESTINATION_REALM, realm);
        if let Some(host) = host {
            writer = writer.put(&base::DESTINATION_HOST, host);
        }
        let writer = writer
            .group(&sh::USER_IDENTITY, |out| out.put(&sh::MSISDN, [0x94, 0x71]))
            .integer(&sh::DATA_REFERENCE, 25);
        writer.end().unwrap();
        octets
    }

    pub fn ask(&mut self, at: usize, token: u64, realm: &str, host: Option<&str>) {
        let message = self.udr(at, &format!("s;{token}"), realm, host);
        let input = In::Request(Outgoing { token, message, timeout: None });
        self.act(at, input);
    }

    /// The application of a node answers what it keeps.
    pub fn answer_kept(&mut self, at: usize) {
        for (request, octets) in core::mem::take(&mut self.sites[at].kept) {
            let answer = self.uda(at, &octets);
            self.act(at, In::Answer(request, answer));
        }
    }

    fn uda(&self, at: usize, request: &[u8]) -> Vec<u8> {
        let request = Message::read(request).unwrap();
        let own = self.sites[at].node.settings();
        let mut octets = Vec::new();
        let mut writer = Writer::answer(&mut octets, &request.header);
        writer.avps().copy(request.avps().find(&base::SESSION_ID).unwrap().whole);
        let writer = writer
            .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
                out.number(&base::VENDOR_ID, 10_415);
                out.number(&base::AUTH_APPLICATION_ID, sh::SH.id);
            })
            .result(ResultCode::Success)
            .integer(&base::AUTH_SESSION_STATE, 1)
            .put(&base::ORIGIN_HOST, &own.host)
            .put(&base::ORIGIN_REALM, &own.realm)
            .put(&sh::USER_DATA, b"<Sh-Data/>");
        writer.end().unwrap();
        octets
    }

    pub fn act(&mut self, at: usize, input: In) {
        let mut out = Vec::new();
        self.sites[at].node.step(self.now, input, &mut out);
        self.follow(at, out);
    }

    pub fn with(&mut self, at: usize, act: impl FnOnce(&mut Node, Time, &mut Vec<Out>)) {
        let mut out = Vec::new();
        act(&mut self.sites[at].node, self.now, &mut out);
        self.follow(at, out);
    }

    fn plan(&mut self, delay_ms: u64, event: Event) {
        self.next += 1;
        self.events.insert((self.now + Duration::from_millis(delay_ms), self.next), event);
    }

    fn follow(&mut self, at: usize, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Connect(peer) => self.connect(at, peer),
                Out::Send(way, octets) => {
                    self.wire.push((at, octets.clone()));
                    if self.silent.contains(&at) {
                        continue;
                    }
                    if let Some((_, far)) = self.ends.get(&way).copied() {
                        self.plan(1, Event::Message(far, octets));
                    }
                }
                Out::Close(way) => {
                    if let Some((_, far)) = self.ends.remove(&way) {
                        self.plan(1, Event::Lost(far));
                    }
                }
                Out::Indicate(indication) => self.indicate(at, indication),
            }
        }
    }

    fn connect(&mut self, at: usize, peer: PeerId) {
        let host = self.sites[at].node.peer(peer).unwrap().host;
        let far = self.sites.iter().position(|site| site.name == host).unwrap();
        if self.absent.contains(&far) {
            return self.plan(5, Event::In(at, In::NotConnected(peer, "nobody listens")));
        }
        let (one, two) = (Connection(self.next * 2), Connection(self.next * 2 + 1));
        self.ends.insert(one, (at, two));
        self.ends.insert(two, (far, one));
        self.plan(2, Event::In(at, In::Connected(peer, one, Vec::new())));
        self.plan(2, Event::In(far, In::Accepted(two, Vec::new())));
    }

    fn indicate(&mut self, at: usize, indication: Indication) {
        let site = &mut self.sites[at];
        match indication {
            Indication::Request(request, _, octets) => {
                let message = Message::read(&octets).unwrap();
                let session = message.avps().find(&base::SESSION_ID).unwrap().text().unwrap();
                let again = message.header.flags.has(0x10);
                site.seen.push((session.to_owned(), again));
                site.kept.push((request, octets));
                if site.service == Service::Answers {
                    self.answer_kept(at);
                }
            }
            Indication::Answer(token, outcome) => site.ends.push((token, outcome)),
            Indication::PeerUp(_) => site.ups += 1,
            Indication::PeerDown(_, why) => site.downs.push(why),
            Indication::Complaint(..) => site.complaints += 1,
        }
    }

    /// The other side of a connection breaks without a word.
    pub fn cut(&mut self, between: (usize, usize)) {
        let is_it = |(_, (at, far)): &(&Connection, &(usize, Connection))| {
            let far = self.ends.get(far).map(|it| it.0);
            *at == between.0 && far == Some(between.1)
        };
        let cut: Vec<Connection> = self.ends.iter().filter(is_it).map(|it| *it.0).collect();
        for way in cut {
            if let Some((_, far)) = self.ends.get(&way).copied() {
                self.plan(0, Event::Lost(way));
                self.plan(0, Event::Lost(far));
            }
        }
    }

    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let own = self.sites.iter().filter_map(|site| site.node.deadline());
            let events = self.events.keys().next().map(|it| it.0);
            let Some(next) = own.chain(events).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            self.deliver();
            for at in 0..self.sites.len() {
                let mut out = Vec::new();
                self.sites[at].node.tick(self.now, &mut out);
                self.follow(at, out);
            }
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            match entry.remove() {
                Event::In(at, input) => {
                    let way = match input {
                        In::Connected(_, way, _) | In::Accepted(way, _) => Some(way),
                        _ => None,
                    };
                    if way.is_none_or(|way| self.ends.contains_key(&way)) {
                        self.act(at, input);
                    } else if let In::Connected(peer, ..) = input {
                        self.act(at, In::NotConnected(peer, "it was closed"));
                    }
                }
                Event::Message(way, octets) => {
                    let at = self.ends.get(&way).map(|it| it.0);
                    if let Some(at) = at.filter(|at| !self.silent.contains(at)) {
                        self.act(at, In::Message(way, octets));
                    }
                }
                Event::Lost(way) => {
                    if let Some((at, _)) = self.ends.remove(&way) {
                        self.act(at, In::Lost(way, "it broke"));
                    }
                }
            }
        }
    }

    pub fn watchdog(&self, at: usize, peer: PeerId) -> &'static str {
        self.sites[at].node.peer(peer).unwrap().watchdog
    }

    /// Tokens that ended, in order, each with whether it was answered.
    pub fn ended(&self, at: usize) -> Vec<(u64, bool)> {
        let mut all: Vec<_> = self.sites[at]
            .ends
            .iter()
            .map(|(token, outcome)| (*token, matches!(outcome, Outcome::Answer(_))))
            .collect();
        all.sort_unstable();
        all
    }
}
