//! The load: an S-CSCF with its terminals, an HLR, a service centre and an MSC in one loop, and the
//! sessions that they begin at a rate, whatever comes of them.

use crate::application::Application;
use crate::figures::{Found, Kind};
use crate::map_texts::{self, Heard};
use crate::nodes::{Nodes, Subscriber};
use crate::sip_texts;
use sip::{Header, Message, Method};
use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use tcu::Indication;

/// A session that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(5);
/// Datagrams that are read in one turn.
const DATAGRAMS: usize = 64;
const DATAGRAM_OCTETS: usize = 65_536;
/// Sleep when there is nothing to do: what a response may wait for unseen.
const IDLE: Duration = Duration::from_micros(20);
/// Subscribers who are registered beforehand, of each kind at each node, and how fast.
const SUBSCRIBERS: u32 = 300;
const REGISTERED_PER_S: f64 = 300.0;
/// The first number of those who register anew.
const NEW: u32 = 100_000;

/// Sessions that begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace<'a> {
    /// Their kinds, in turn.
    pub kinds: &'a [Kind],
    pub per_s: f64,
    /// This long nothing is measured.
    pub warm: Duration,
    pub measured: Duration,
}

#[derive(Debug)]
struct Session {
    kind: Kind,
    due: Instant,
    /// The service centre has its routing information.
    is_routed: bool,
}

/// The other side of the gateways.
pub(crate) struct Load {
    socket: UdpSocket,
    own: SocketAddr,
    gateways: Vec<SocketAddr>,
    hlr: Application,
    centre: Application,
    msc: Application,
    sessions: HashMap<u64, Session>,
    /// The session of each dialogue that the service centre began.
    dialogues: HashMap<u64, u64>,
    /// Sessions in the order in which they began.
    begun: VecDeque<(Instant, u64)>,
    last: u64,
    new: u32,
    measured_from: Instant,
    found: Found,
    octets: Vec<u8>,
    datagram: Vec<u8>,
}

impl Load {
    pub(crate) fn new(nodes: &Nodes, socket: UdpSocket) -> anyhow::Result<Self> {
        socket.set_nonblocking(true)?;
        let connect = |name: &str| Application::connect(&nodes.socket(name), name);
        Ok(Self {
            own: socket.local_addr()?,
            socket,
            gateways: nodes.sip.clone(),
            hlr: connect("hlr")?,
            centre: connect("centre")?,
            msc: connect("msc")?,
            sessions: HashMap::new(),
            dialogues: HashMap::new(),
            begun: VecDeque::new(),
            last: 0,
            new: NEW,
            measured_from: Instant::now(),
            found: Found::new(Duration::ZERO),
            octets: Vec::new(),
            datagram: vec![0; DATAGRAM_OCTETS],
        })
    }

    /// Registers everybody who is to send and get messages.
    pub(crate) fn register(&mut self) -> anyhow::Result<()> {
        let each = SUBSCRIBERS as usize * self.gateways.len();
        let span = Duration::from_secs_f64(2.0 * each as f64 / REGISTERED_PER_S);
        let all = (0..SUBSCRIBERS)
            .flat_map(|number| [false, true].map(|is_circuits| (is_circuits, number)));
        let nodes = 0..self.gateways.len();
        let all: Vec<_> = all
            .flat_map(|(is_circuits, number)| {
                nodes.clone().map(move |node| Subscriber { node, is_circuits, number })
            })
            .collect();
        let mut all = all.into_iter();
        let found = self.run(span, REGISTERED_PER_S, &mut |load, due| {
            if let Some(who) = all.next() {
                load.register_one(due, who);
            }
        })?;
        let why = found.why.clone().unwrap_or_default();
        anyhow::ensure!(found.failed() == 0, "{} did not register: {why}", found.failed());
        Ok(())
    }

    /// Begins sessions at a pace; `mark` is called when what is measured begins and when it ends.
    pub(crate) fn load(&mut self, pace: Pace<'_>, mark: &mut dyn FnMut()) -> anyhow::Result<Found> {
        let (mut count, mut marks) = (0_usize, 0);
        let from = Instant::now() + pace.warm;
        self.measured_from = from;
        let until = from + pace.measured;
        let mut found = self.run(pace.warm + pace.measured, pace.per_s, &mut |load, due| {
            if marks == 0 && due >= from {
                marks = 1;
                mark();
            }
            let kind = pace.kinds[count % pace.kinds.len()];
            let round = count / pace.kinds.len();
            let node = round % load.gateways.len();
            let number = u32::try_from(round / load.gateways.len()).unwrap_or_default();
            count += 1;
            load.begin(kind, due, node, number % SUBSCRIBERS);
        })?;
        mark();
        let late = Instant::now().saturating_duration_since(until);
        if late > LIMIT + Duration::from_secs(1) {
            found.why.get_or_insert_with(|| format!("the load is {late:?} behind"));
        }
        found.measured = pace.measured;
        Ok(found)
    }

    fn run(
        &mut self,
        span: Duration,
        per_s: f64,
        begin: &mut dyn FnMut(&mut Self, Instant),
    ) -> anyhow::Result<Found> {
        self.found = Found::new(span);
        let start = Instant::now();
        let total = (span.as_secs_f64() * per_s) as u64;
        let mut count = 0;
        loop {
            let now = Instant::now();
            while count < total {
                let due = start + Duration::from_secs_f64(count as f64 / per_s);
                if due > now {
                    break;
                }
                count += 1;
                begin(self, due);
            }
            self.expire(now);
            // A load that does not keep up ends all the same.
            let is_over = now >= start + span;
            if is_over && (self.sessions.is_empty() || now >= start + span + LIMIT) {
                break;
            }
            if !self.turn()? {
                std::thread::sleep(IDLE);
            }
        }
        self.found.unbegun = total - count;
        self.expire(Instant::now() + LIMIT);
        Ok(std::mem::replace(&mut self.found, Found::new(Duration::ZERO)))
    }

    fn session(&mut self, kind: Kind, due: Instant) -> u64 {
        self.last += 1;
        self.sessions.insert(self.last, Session { kind, due, is_routed: false });
        self.begun.push_back((Instant::now(), self.last));
        self.last
    }

    fn begin(&mut self, kind: Kind, due: Instant, node: usize, number: u32) {
        let who = Subscriber { node, is_circuits: kind == Kind::Circuits, number };
        match kind {
            Kind::Registration => {
                self.new += 1;
                self.register_one(due, Subscriber { number: self.new, ..who });
            }
            Kind::Submission => {
                let session = self.session(kind, due);
                let body = map_texts::submission(session);
                let mut octets = std::mem::take(&mut self.octets);
                let digits = who.digits();
                sip_texts::message(session, self.own, &digits, None, &body, &mut octets);
                self.send(octets, node);
            }
            Kind::Delivery | Kind::Circuits => {
                let session = self.session(kind, due);
                self.centre.say(&map_texts::routing(session, who));
            }
        }
    }

    fn register_one(&mut self, due: Instant, who: Subscriber) {
        let session = self.session(Kind::Registration, due);
        let mut octets = std::mem::take(&mut self.octets);
        sip_texts::register(session, self.own, &who.digits(), &mut octets);
        self.send(octets, who.node);
    }

    fn send(&mut self, octets: Vec<u8>, node: usize) {
        let to = self.gateways[node];
        self.send_to(octets, to);
    }

    /// Sends it, and keeps the room. What the kernel does not take is a session that fails.
    fn send_to(&mut self, mut octets: Vec<u8>, to: SocketAddr) {
        let _ = self.socket.send_to(&octets, to);
        octets.clear();
        self.octets = octets;
    }

    fn expire(&mut self, now: Instant) {
        while let Some((_, session)) = self.begun.pop_front_if(|it| it.0 + LIMIT <= now) {
            self.fail(session, || "it takes too long".to_owned());
        }
    }

    fn fail(&mut self, session: u64, why: impl FnOnce() -> String) {
        let Some(it) = self.sessions.remove(&session) else { return };
        self.found.of_mut(it.kind).failed += 1;
        self.found.why.get_or_insert_with(|| format!("{}: {}", it.kind.name(), why()));
    }

    fn end(&mut self, session: u64) {
        let Some(it) = self.sessions.remove(&session) else { return };
        if it.due >= self.measured_from {
            self.found.of_mut(it.kind).ends(it.due.elapsed());
        }
    }

    /// Hears and says what can be; whether anything was.
    fn turn(&mut self) -> anyhow::Result<bool> {
        let mut did = false;
        let mut buffer = std::mem::take(&mut self.datagram);
        for _ in 0..DATAGRAMS {
            match self.socket.recv_from(&mut buffer) {
                Ok((count, from)) => {
                    did = true;
                    self.sip(&buffer[..count], from);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.datagram = buffer;
        let mut heard = Vec::new();
        did |= self.hlr.turn(&mut heard)?;
        answer(&mut self.hlr, &mut heard);
        did |= self.msc.turn(&mut heard)?;
        answer(&mut self.msc, &mut heard);
        did |= self.centre.turn(&mut heard)?;
        for it in heard {
            self.centre_heard(&it);
        }
        Ok(did)
    }

    fn sip(&mut self, octets: &[u8], from: SocketAddr) {
        let Ok(message) = Message::parse(octets) else { return };
        let own = message.header(Header::CallId).and_then(sip_texts::number_of);
        match message.status() {
            Some(status) => {
                let Some(session) = own else { return };
                let kind = self.sessions.get(&session).map(|it| it.kind);
                match (kind, status) {
                    (_, 300..) => self.fail(session, || format!("{status}")),
                    (Some(Kind::Registration), 200..) => self.end(session),
                    _ => {}
                }
            }
            None => self.request(&message, octets, from),
        }
    }

    fn request(&mut self, message: &Message<'_>, octets: &[u8], from: SocketAddr) {
        let mut answer = std::mem::take(&mut self.octets);
        sip_texts::ok(message, &mut answer);
        self.send_to(answer, from);
        if message.method() != Method::Message {
            return;
        }
        match map_texts::heard(sip_texts::body(octets)) {
            Some(Heard::Message(report)) => {
                let call_id = message.header(Header::CallId).unwrap_or_default();
                let Some(digits) = sip_texts::digits_of(message.start_line()) else { return };
                self.last += 1;
                let (number, mut octets) = (self.last, std::mem::take(&mut self.octets));
                let answers = Some(call_id);
                sip_texts::message(number, self.own, digits, answers, &report, &mut octets);
                self.send_to(octets, from);
            }
            Some(Heard::Report(is_taken)) => {
                let session = message.header(Header::InReplyTo).and_then(sip_texts::number_of);
                match session {
                    Some(session) if is_taken => self.end(session),
                    Some(session) => self.fail(session, || "RP-ERROR".to_owned()),
                    None => {}
                }
            }
            None => {}
        }
    }

    fn centre_heard(&mut self, it: &Indication) {
        match it {
            Indication::Begin { dialogue, portion, .. } => {
                if let Some(request) = map_texts::answer(*dialogue, &portion.components) {
                    self.centre.say(&request);
                }
            }
            Indication::Begun { reference, dialogue } => {
                self.dialogues.insert(*dialogue, *reference);
            }
            Indication::End { dialogue, portion } => {
                let Some(session) = self.dialogues.remove(dialogue) else { return };
                let is_routed = self.sessions.get(&session).is_some_and(|it| it.is_routed);
                if is_routed && map_texts::is_done(&portion.components) {
                    return self.end(session);
                }
                match map_texts::found(&portion.components).filter(|_| !is_routed) {
                    Some((imsi, node)) => {
                        if let Some(it) = self.sessions.get_mut(&session) {
                            it.is_routed = true;
                        }
                        self.centre.say(&map_texts::forward(session, &imsi, &node, session));
                    }
                    None => self.fail(session, || format!("{:?}", portion.components)),
                }
            }
            Indication::Refused { reference: Some(session), why, .. } => {
                self.fail(*session, || format!("refused: {why:?}"));
            }
            other => {
                let dialogue = other.dialogue().filter(|_| other.is_last());
                let session = dialogue.and_then(|it| self.dialogues.remove(&it));
                if let Some(session) = session {
                    self.fail(session, || format!("{other:?}"));
                }
            }
        }
    }
}

/// Answers what an application was asked.
fn answer(application: &mut Application, heard: &mut Vec<Indication>) {
    for it in heard.drain(..) {
        if let Indication::Begin { dialogue, portion, .. }
        | Indication::Continue { dialogue, portion } = &it
            && let Some(request) = map_texts::answer(*dialogue, &portion.components)
        {
            application.say(&request);
        }
    }
}
