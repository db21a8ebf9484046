//! The links of a function.
//!
//! ```text
//!   Down ─ 1 s ─→ Opening ─ Up: hello ─ challenge: proof ─ welcome ─→ Standing
//!    ↑                │                                                  │
//!    └────── refused, bye, no welcome within 10 s, the connection ends ──┘ its dialogues are over
//! ```

use crate::config::Section;
use crate::link::{Link, State};
use machine::Time;
use runtime::{Effects, Flow, In, PortId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use tcu::{ClientEvent, Indication, Portion, Refusal, Request};

/// What was counted since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Messages that came.
    pub received: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Links that stood and were lost.
    pub losses: u64,
    /// Dialogues that found no room here, or no link.
    pub shed: u64,
    /// Messages that could not be read.
    pub unread: u64,
}

/// A link as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TcuLinkRow {
    /// Its name.
    pub link: String,
    /// Where it leads.
    pub address: String,
    /// The application there.
    pub application: String,
    /// `down`, `opening` or `standing`.
    pub state: &'static str,
    /// For how long, milliseconds.
    pub for_ms: u64,
    /// Why it does not stand; empty: nothing has happened yet.
    pub why: String,
    /// The gateway's name, once it stood.
    pub gateway: String,
    /// The subsystem of the application, once it stood.
    pub subsystem: Option<u8>,
    /// Dialogues under way on it.
    pub dialogues: u64,
    /// Messages that came.
    pub received: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// How often it was lost.
    pub losses: u64,
}

/// The links of a function.
///
/// Whoever calls [`Links::step`], [`Links::tick`], [`Links::configure`] or [`Links::request`] then
/// takes everything from [`Links::indication`].
#[derive(Debug)]
pub struct Links {
    links: BTreeMap<PortId, Link>,
    /// By the numbers of here: which link, and its own number.
    dialogues: BTreeMap<u64, (PortId, u64)>,
    numbers: BTreeMap<(PortId, u64), u64>,
    /// Dialogues that were asked for: their reference, where.
    begins: BTreeMap<u64, PortId>,
    told: VecDeque<Indication>,
    last: u64,
    dialogues_max: usize,
    instance: String,
    is_draining: bool,
    counts: Counts,
}

impl Links {
    /// The links of a section, none of which is opened before [`Links::tick`].
    #[must_use]
    pub fn new(section: &Section<'_>, now: Time) -> Self {
        let mut it = Self {
            links: BTreeMap::new(),
            dialogues: BTreeMap::new(),
            numbers: BTreeMap::new(),
            begins: BTreeMap::new(),
            told: VecDeque::new(),
            last: 0,
            dialogues_max: section.dialogues_max,
            instance: section.name.to_owned(),
            is_draining: false,
            counts: Counts::default(),
        };
        it.add(now, section);
        it
    }

    fn add(&mut self, now: Time, section: &Section<'_>) {
        for (config, flow) in section.flows() {
            let made = || Link::new(config, flow, section.name, now);
            self.links.entry(flow.port).or_insert_with(made);
        }
    }

    /// Another configuration: links that are written as before stand on.
    pub fn configure(&mut self, now: Time, section: &Section<'_>, out: &mut Effects) {
        self.dialogues_max = section.dialogues_max;
        let stays = |port: &PortId, link: &Link| {
            section.flows().iter().any(|(config, flow)| {
                flow.port == *port && **config == link.config && section.name == self.instance
            })
        };
        let gone = self.links.iter().filter(|(port, link)| !stays(port, link));
        let gone: Vec<PortId> = gone.map(|it| *it.0).collect();
        for port in gone {
            self.lose(now, port, "it is not configured any more", out);
            self.links.remove(&port);
        }
        section.name.clone_into(&mut self.instance);
        self.add(now, section);
        self.tick(now, out);
    }

    /// Whether at least one link stands.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.links.values().any(|it| it.state == State::Standing)
    }

    /// Dialogues under way.
    #[must_use]
    pub fn dialogues(&self) -> usize {
        self.dialogues.len()
    }

    /// The connection that a dialogue is on.
    #[must_use]
    pub fn flow_of(&self, dialogue: u64) -> Option<Flow> {
        self.links.get(&self.dialogues.get(&dialogue)?.0)?.flow
    }

    /// The connection on which a dialogue was asked for that is not begun yet.
    #[must_use]
    pub fn flow_of_begin(&self, reference: u64) -> Option<Flow> {
        self.links.get(self.begins.get(&reference)?)?.flow
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// What the function is to be told next.
    pub fn indication(&mut self) -> Option<Indication> {
        self.told.pop_front()
    }

    /// Takes what happened on a port; whether it was one of a link.
    pub fn step(&mut self, now: Time, input: &In<'_>, out: &mut Effects) -> bool {
        match input {
            In::Up { flow } if self.links.contains_key(&flow.port) => self.up(*flow, out),
            In::Down { flow, why } if self.links.contains_key(&flow.port) => {
                self.down(now, flow, why);
            }
            In::Message { flow, bytes } if self.links.contains_key(&flow.port) => {
                self.received(now, flow, bytes, out);
            }
            In::Written { flow, left, .. } => match self.links.get_mut(&flow.port) {
                Some(link) => link.waits = *left,
                None => return false,
            },
            In::Drain => {
                self.is_draining = true;
                for link in self.links.values_mut().filter(|it| it.state == State::Standing) {
                    link.request(&Request::State { in_service: false }, out);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Opens links that are due, and gives up those that take too long.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        let due = self.links.iter().filter(|it| it.1.due <= now).map(|it| *it.0);
        for port in due.collect::<Vec<_>>() {
            let Some(link) = self.links.get_mut(&port) else { continue };
            match link.state {
                State::Down => {
                    link.turn(now, State::Opening);
                    out.open(link.target);
                }
                State::Opening => self.lose(now, port, "the gateway does not answer", out),
                State::Standing => {}
            }
        }
    }

    /// When [`Links::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.links.values().map(|it| it.due).filter(|it| *it != Time::MAX).min()
    }

    fn up(&mut self, flow: Flow, out: &mut Effects) {
        let Some(link) = self.links.get_mut(&flow.port) else { return };
        match link.state {
            State::Opening => link.greet(flow, &self.instance, out),
            // One that was given up: nobody waits for it.
            State::Down | State::Standing => out.close(flow),
        }
    }

    fn down(&mut self, now: Time, flow: &Flow, why: &str) {
        let link = self.links.get(&flow.port).filter(|it| it.state != State::Down);
        // That of a connection before this one changes nothing.
        if link.is_some_and(|it| it.flow.is_none_or(|own| own.conn == flow.conn)) {
            self.forget(now, flow.port, why);
        }
    }

    fn received(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let Some(link) = self.links.get_mut(&flow.port) else { return };
        if link.flow.is_none_or(|it| it.conn != flow.conn) {
            return;
        }
        link.received += 1;
        self.counts.received += 1;
        let mut events = Vec::new();
        let answer = link.client().received(bytes, &mut |event| events.push(event));
        match answer {
            Ok(octets) if octets.is_empty() => {}
            Ok(octets) => link.write(&octets, out),
            Err(violation) => return self.lose(now, flow.port, violation.what, out),
        }
        for event in events {
            self.heard(now, flow.port, event, out);
        }
    }

    fn heard(&mut self, now: Time, port: PortId, event: ClientEvent, out: &mut Effects) {
        let Some(link) = self.links.get_mut(&port) else { return };
        match event {
            ClientEvent::Welcome(welcome) => {
                link.turn(now, State::Standing);
                link.why.clear();
                (link.subsystem, link.gateway) = (welcome.subsystem, welcome.function);
                let (name, gateway) = (&*link.config.name, &*link.gateway);
                tracing::info!(target: "link", name, gateway, "the link stands");
                if self.is_draining {
                    link.request(&Request::State { in_service: false }, out);
                }
            }
            ClientEvent::Bye(why) => {
                self.lose(now, port, &why, out);
            }
            ClientEvent::Indication(Indication::Slow(is_slow)) => link.is_slow = is_slow,
            ClientEvent::Indication(it) => self.indicated(port, it, out),
            // What is said here is well-formed; a dialogue of which something was not understood
            // ends by its time.
            ClientEvent::Malformed(_) | ClientEvent::Unread(_) => self.counts.unread += 1,
        }
    }

    /// A primitive: its dialogue is numbered as here.
    fn indicated(&mut self, port: PortId, mut it: Indication, out: &mut Effects) {
        let is_new = matches!(
            it,
            Indication::Begin { .. } | Indication::Begun { .. } | Indication::Resume { .. }
        );
        let begun = match &it {
            Indication::Begun { reference, .. } => Some(*reference),
            Indication::Refused { reference, .. } => *reference,
            _ => None,
        };
        if let Some(reference) = begun {
            self.begins.remove(&reference);
        }
        let is_last = it.is_last();
        if let Some(place) = it.dialogue_mut() {
            let theirs = *place;
            let number = match self.numbers.get(&(port, theirs)) {
                Some(number) => Some(*number),
                None if is_new => self.numbered(port, theirs),
                None => None,
            };
            let Some(number) = number else {
                // Without room here it is over; of one that is over nothing more is said.
                if is_new && let Some(link) = self.links.get_mut(&port) {
                    self.counts.shed += 1;
                    let portion = Portion::default();
                    link.request(&Request::UAbort { dialogue: theirs, portion }, out);
                }
                if begun.is_some() {
                    let (reference, why) = (begun, Refusal::Full);
                    self.told.push_back(Indication::Refused { reference, dialogue: None, why });
                }
                return;
            };
            *place = number;
            if is_last {
                self.over(number);
            }
        }
        self.told.push_back(it);
    }

    /// Those that were asked for have their room: what others begin does not take it.
    fn numbered(&mut self, port: PortId, theirs: u64) -> Option<u64> {
        if self.dialogues.len() + self.begins.len() >= self.dialogues_max {
            return None;
        }
        self.last += 1;
        self.dialogues.insert(self.last, (port, theirs));
        self.numbers.insert((port, theirs), self.last);
        self.links.get_mut(&port).into_iter().for_each(|it| it.dialogues += 1);
        Some(self.last)
    }

    fn over(&mut self, number: u64) {
        let Some(place) = self.dialogues.remove(&number) else { return };
        self.numbers.remove(&place);
        if let Some(link) = self.links.get_mut(&place.0) {
            link.dialogues = link.dialogues.saturating_sub(1);
        }
    }

    /// Asks for something: a dialogue begins on the link with the fewest.
    pub fn request(&mut self, mut request: Request, out: &mut Effects) {
        if let Request::Begin { reference, calling, .. } = &request {
            let (reference, subsystem) = (*reference, calling.subsystem);
            let has_room = self.dialogues.len() + self.begins.len() < self.dialogues_max;
            let links = self.links.iter_mut().filter(|it| has_room && it.1.takes(subsystem));
            let Some((port, link)) = links.min_by_key(|it| it.1.dialogues) else {
                self.counts.shed += 1;
                let (reference, why) = (Some(reference), Refusal::Full);
                return self.told.push_back(Indication::Refused { reference, dialogue: None, why });
            };
            self.begins.insert(reference, *port);
            self.counts.sent += 1;
            return link.request(&request, out);
        }
        let Some(number) = request.dialogue() else { return };
        // One that was lost with its link is known to be.
        let Some((port, theirs)) = self.dialogues.get(&number).copied() else { return };
        request.dialogue_mut().into_iter().for_each(|it| *it = theirs);
        if let Some(link) = self.links.get_mut(&port) {
            self.counts.sent += 1;
            link.request(&request, out);
        }
        if matches!(request, Request::End { .. } | Request::UAbort { .. }) {
            self.over(number);
        }
    }

    /// Ends the connection of a link, and what went on over it.
    fn lose(&mut self, now: Time, port: PortId, why: &str, out: &mut Effects) {
        if let Some(link) = self.links.get(&port).filter(|it| it.state != State::Down) {
            out.close(link.flow.unwrap_or(link.target));
        }
        self.forget(now, port, why);
    }

    /// The connection of a link is over, or was never there.
    fn forget(&mut self, now: Time, port: PortId, why: &str) {
        let Some(link) = self.links.get_mut(&port) else { return };
        if link.state == State::Standing {
            link.losses += 1;
            self.counts.losses += 1;
            let name = &*link.config.name;
            tracing::warn!(target: "link", name, why, "the link is lost");
        }
        link.turn(now, State::Down);
        why.clone_into(&mut link.why);
        (link.flow, link.waits, link.is_slow) = (None, 0, false);
        let own = |it: &(PortId, u64)| it.0 == port;
        let gone = self.dialogues.iter().filter(|it| own(it.1)).map(|it| *it.0);
        for number in gone.collect::<Vec<_>>() {
            self.over(number);
            let (dialogue, why) = (Some(number), Refusal::Unknown);
            self.told.push_back(Indication::Refused { reference: None, dialogue, why });
        }
        let unbegun: Vec<u64> =
            self.begins.iter().filter(|it| *it.1 == port).map(|it| *it.0).collect();
        for reference in unbegun {
            self.begins.remove(&reference);
            let (reference, why) = (Some(reference), Refusal::Unknown);
            self.told.push_back(Indication::Refused { reference, dialogue: None, why });
        }
    }

    /// Every link.
    #[must_use]
    pub fn rows(&self, now: Time) -> Vec<TcuLinkRow> {
        let row = |it: &Link| TcuLinkRow {
            link: it.config.name.clone(),
            address: it.config.address.clone(),
            application: it.config.application.clone(),
            state: it.state.name(),
            for_ms: machine::narrow::millis(now - it.since),
            why: it.why.clone(),
            gateway: it.gateway.clone(),
            subsystem: (!it.gateway.is_empty()).then_some(it.subsystem),
            dialogues: it.dialogues,
            received: it.received,
            sent: it.sent,
            losses: it.losses,
        };
        self.links.values().map(row).collect()
    }

    /// Links that do not stand: their names, and why.
    pub fn lacking(&self) -> impl Iterator<Item = (&str, &str)> {
        let down = self.links.values().filter(|it| it.state != State::Standing);
        down.map(|it| (&*it.config.name, &*it.why))
    }
}
