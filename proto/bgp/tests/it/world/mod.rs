//! Two sessions and the streams between them, in virtual time: octets are split and delayed,
//! connections fail, are cut, and cross each other.

use bgp::codec::{Messages, Notice, Update};
use bgp::family::Family;
use bgp::pack::{Announcement, end_of_rib};
use bgp::{Cause, ConnectionId, In, Indication, Negotiated, Out, Session, Settings, State};
use machine::{Duration, Machine, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers from a seed.
pub struct Rng(u64);

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }
}

#[derive(Debug)]
enum Event {
    /// The attempt of an end to connect ends well or not.
    Connect(usize, u64, bool),
    Accept(usize, ConnectionId),
    Octets(usize, ConnectionId, Vec<u8>),
    Closed(usize, ConnectionId),
}

/// What an end was told, with what the world knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    Up(ConnectionId),
    Down(Cause),
    Failed(Cause),
    Other,
}

#[derive(Default)]
struct End {
    /// Number of the attempt under way.
    attempt: Option<u64>,
    buffers: BTreeMap<ConnectionId, Vec<u8>>,
    /// When the last octets on their way to this end arrive.
    last: BTreeMap<ConnectionId, Time>,
}

pub struct World {
    pub now: Time,
    pub sessions: Vec<Session>,
    pub chance: Rng,
    pub told: Vec<(Time, usize, Observed)>,
    pub indications: Vec<(usize, Indication)>,
    /// Numbers that came in UPDATEs: end, connection, number.
    pub came: Vec<(usize, ConnectionId, u32)>,
    pub ends_of_rib: usize,
    /// NOTIFICATIONs of sessions that were established.
    pub sent: BTreeMap<(usize, ConnectionId), u32>,
    /// Every so many-th attempt to connect fails; zero for none.
    pub fails_one_in: u64,
    pub delay_ms_max: u64,
    /// Nothing passes until it is over, and nobody is told.
    pub is_silent: bool,
    ends: Vec<End>,
    events: BTreeMap<(Time, u64), Event>,
    open: BTreeSet<(usize, ConnectionId)>,
    next: u64,
}

impl World {
    pub fn new(seed: u64, settings: [Settings; 2]) -> Self {
        let session =
            |(end, settings): (usize, Settings)| Session::new(settings, seed * 2 + end as u64);
        Self {
            now: Time::from_millis(1),
            sessions: settings.into_iter().enumerate().map(session).collect(),
            chance: Rng::new(seed + 1),
            told: Vec::new(),
            indications: Vec::new(),
            came: Vec::new(),
            ends_of_rib: 0,
            sent: BTreeMap::new(),
            fails_one_in: 0,
            delay_ms_max: 20,
            is_silent: false,
            ends: vec![End::default(), End::default()],
            events: BTreeMap::new(),
            open: BTreeSet::new(),
            next: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn at(&mut self, at: Time, event: Event) {
        let number = self.number();
        self.events.insert((at, number), event);
    }

    fn soon(&mut self) -> Time {
        self.now + Duration::from_millis(1 + self.chance.below(self.delay_ms_max))
    }

    pub fn step(&mut self, end: usize, input: In) {
        let mut out = Vec::new();
        self.sessions[end].step(self.now, input, &mut out);
        self.effects(end, out, &[]);
    }

    pub fn start(&mut self) {
        (0..2).for_each(|end| self.step(end, In::Start));
    }

    fn effects(&mut self, end: usize, out: Vec<Out>, received: &[u8]) {
        for effect in out {
            match effect {
                Out::Connect => {
                    let attempt = self.number();
                    self.ends[end].attempt = Some(attempt);
                    let is_well =
                        self.fails_one_in == 0 || self.chance.below(self.fails_one_in) > 0;
                    let at = self.soon();
                    self.at(at, Event::Connect(end, attempt, is_well));
                }
                Out::Abandon => self.ends[end].attempt = None,
                Out::Send(id, bytes) => self.send(end, id, &bytes),
                Out::Close(id) => self.close(end, id),
                Out::Updates(id, range) => self.updates(end, id, &received[range]),
                Out::Indicate(indication) => self.indicated(end, indication),
            }
        }
    }

    /// Octets on their way, in pieces.
    pub fn send(&mut self, end: usize, id: ConnectionId, bytes: &[u8]) {
        if !self.open.contains(&(end, id)) {
            return;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = (1 + self.chance.below(60) as usize).min(rest.len());
            let soon = self.soon();
            let last = self.ends[1 - end].last.entry(id).or_insert(Time::ZERO);
            let at = soon.max(*last);
            *last = at;
            self.at(at, Event::Octets(1 - end, id, rest[..length].to_vec()));
            rest = &rest[length..];
        }
    }

    fn close(&mut self, end: usize, id: ConnectionId) {
        if self.open.remove(&(end, id)) {
            self.ends[end].buffers.remove(&id);
            let last = self.ends[1 - end].last.get(&id).copied().unwrap_or(Time::ZERO);
            let at = self.soon().max(last);
            self.at(at, Event::Closed(1 - end, id));
        }
    }

    /// A connection is cut: what is on its way is lost.
    pub fn cut(&mut self, id: ConnectionId) {
        self.events.retain(|_, event| {
            !matches!(event, Event::Octets(_, it, _) | Event::Closed(_, it) if *it == id)
        });
        for end in 0..2 {
            let at = self.soon();
            self.at(at, Event::Closed(end, id));
        }
    }

    fn updates(&mut self, end: usize, id: ConnectionId, bytes: &[u8]) {
        let context = self.sessions[end].negotiated().map(|it| it.context).unwrap();
        for (_, message) in Messages::new(bytes, 65_535) {
            let update = Update::read(message, &context).unwrap();
            if let Some(family) = update.end_of_rib() {
                self.ends_of_rib += 1;
                self.step(end, In::EndOfRib(family));
            }
            for (_, prefix) in bgp::family::Ipv4Routes::new(update.announced().octets(), false) {
                self.came.push((end, id, prefix.address().to_bits()));
            }
        }
    }

    /// The owner tells what it has: numbers, as prefixes, and the end.
    fn up(&mut self, end: usize, id: ConnectionId, negotiated: &Negotiated) {
        let attributes =
            [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 192, 0, 2, 1, 0x40, 5, 4, 0, 0, 0, 1];
        let mut buffer = Vec::new();
        let limits = negotiated.limits(Family::Ipv4Unicast);
        let numbers = 20 + self.chance.below(20) as u32;
        for number in 0..numbers {
            let mut packing = Announcement::plain(limits, &attributes, &mut buffer).unwrap();
            packing.prefix(0, bgp::family::Ipv4Prefix::new(number.into(), 32).unwrap());
            packing.finish();
        }
        end_of_rib(Family::Ipv4Unicast, &mut buffer);
        self.sent.insert((end, id), numbers);
        self.send(end, id, &buffer);
        self.step(end, In::Sent(id, u64::from(numbers) + 1));
    }

    fn indicated(&mut self, end: usize, indication: Indication) {
        let told = match &indication {
            Indication::Up(id, negotiated) => {
                let (id, negotiated) = (*id, negotiated.clone());
                self.up(end, id, &negotiated);
                Observed::Up(id)
            }
            Indication::Down(cause, _) => Observed::Down(cause.clone()),
            Indication::Failed(cause) => Observed::Failed(cause.clone()),
            _ => Observed::Other,
        };
        self.told.push((self.now, end, told));
        self.indications.push((end, indication));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Connect(end, attempt, is_well) => {
                if self.ends[end].attempt != Some(attempt) {
                    return;
                }
                self.ends[end].attempt = None;
                if !is_well || self.is_silent {
                    return self.step(end, In::ConnectFailed);
                }
                let id = ConnectionId(self.number() as u32);
                self.open.extend([(0, id), (1, id)]);
                let at = self.soon();
                // The accepting end must know it before octets come.
                self.ends[1 - end].last.insert(id, at);
                self.at(at, Event::Accept(1 - end, id));
                self.step(end, In::Connected(id));
            }
            Event::Accept(end, id) => {
                if self.open.contains(&(end, id)) {
                    self.step(end, In::Accepted(id));
                }
            }
            Event::Octets(end, id, bytes) => self.octets(end, id, &bytes),
            Event::Closed(end, id) => {
                if self.open.remove(&(end, id)) {
                    self.ends[end].buffers.remove(&id);
                    self.step(end, In::Closed(id));
                }
            }
        }
    }

    fn octets(&mut self, end: usize, id: ConnectionId, bytes: &[u8]) {
        if !self.open.contains(&(end, id)) {
            return;
        }
        let mut buffer = self.ends[end].buffers.remove(&id).unwrap_or_default();
        buffer.extend_from_slice(bytes);
        let mut out = Vec::new();
        let taken = self.sessions[end].receive(self.now, id, &buffer, &mut out);
        assert!(taken <= buffer.len());
        self.effects(end, out, &buffer);
        buffer.drain(..taken);
        if self.open.contains(&(end, id)) {
            self.ends[end].buffers.insert(id, buffer);
        }
    }

    /// The next event that can happen now.
    fn next_event(&self) -> Option<(Time, u64)> {
        let passes = |event: &Event| !self.is_silent || matches!(event, Event::Connect(..));
        self.events.iter().find(|(_, event)| passes(event)).map(|(key, _)| *key)
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let timers = self.sessions.iter().filter_map(Machine::deadline).min();
            let event = self.next_event();
            let at = event.map(|(at, _)| at);
            let Some(next) = timers.into_iter().chain(at).min().filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            self.now = next.max(self.now);
            // What waits in the sockets is read before timers fire.
            if let Some(key) = event.filter(|(at, _)| *at <= self.now) {
                let event = self.events.remove(&key).unwrap();
                self.happen(event);
                continue;
            }
            for end in 0..2 {
                let mut out = Vec::new();
                self.sessions[end].tick(self.now, &mut out);
                let next = self.sessions[end].deadline();
                assert!(next.is_none_or(|at| at > self.now), "a timer fired and is armed still");
                self.effects(end, out, &[]);
            }
        }
    }

    pub fn chance_below(&mut self, bound: u64) -> u64 {
        self.chance.below(bound)
    }

    /// An end loses all it knows, without a word.
    pub fn forget(&mut self, end: usize) {
        self.ends[end] = End::default();
        self.open.retain(|(of, _)| *of != end);
    }

    pub fn run_s(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    pub fn states(&self) -> [State; 2] {
        [self.sessions[0].state(), self.sessions[1].state()]
    }

    /// Both are established on the same connection and know no other.
    pub fn agree(&self) -> bool {
        let all: Vec<Vec<ConnectionId>> =
            self.sessions.iter().map(|it| it.connections().collect()).collect();
        self.states() == [State::Established; 2] && all[0].len() == 1 && all[0] == all[1]
    }

    /// Connections that are open at both ends.
    pub fn connections(&self) -> Vec<ConnectionId> {
        let of = |end: usize| self.open.iter().filter(move |it| it.0 == end).map(|it| it.1);
        let other: BTreeSet<ConnectionId> = of(1).collect();
        of(0).filter(|id| other.contains(id)).collect()
    }

    pub fn downs(&self, notice: Notice) -> usize {
        let is_it = |(_, _, told): &&(Time, usize, Observed)| {
            *told == Observed::Down(Cause::Sent(notice))
                || matches!(told, Observed::Down(Cause::Received(it, _)) if *it == notice)
        };
        self.told.iter().filter(is_it).count()
    }
}
