//! Two transaction users as scripted endpoints: a caller that places calls of three kinds, and a
//! callee that answers, refuses or lets ring until it is cancelled.

use machine::{Duration, Time};
use sim::{Node, Outbox, Random};
use sip::transaction::{Arrival, Limits, Out, ServerId, Timers, Transactions};
use sip::{Header, Message, Method, Writer};
use std::net::SocketAddr;

/// Effects of the table, as both endpoints keep them.
type Effects = Vec<Out<SocketAddr, usize>>;
type Table = Transactions<SocketAddr, usize>;

/// How a call ended on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Answered,
    Refused,
    Cancelled,
    /// Caller: nobody answered. Callee: the ACK never came.
    Lost,
}

/// What the caller does with call `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Answer,
    Refuse,
    Cancel,
}

impl Kind {
    pub fn of(call: usize) -> Self {
        [Self::Answer, Self::Refuse, Self::Cancel][call % 3]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Refuse => "refuse",
            Self::Cancel => "cancel",
        }
    }
}

/// A list of things to do at their time.
#[derive(Debug)]
struct Agenda<T>(Vec<(Time, T)>);

impl<T: Copy> Agenda<T> {
    fn deadline(&self) -> Option<Time> {
        self.0.iter().map(|(at, _)| *at).min()
    }

    fn due(&mut self, now: Time) -> Vec<T> {
        let due = self.0.iter().filter(|(at, _)| *at <= now).map(|(_, what)| *what).collect();
        self.0.retain(|(at, _)| *at > now);
        due
    }
}

fn flush(effects: &mut Effects, from: SocketAddr, out: &mut Outbox) {
    for effect in effects.drain(..) {
        if let Out::Send { to, bytes } = effect {
            out.send(from, to, &*bytes);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Todo {
    Invite(usize),
    Cancel(usize),
    Bye(usize),
}

/// One call as the caller sees it.
#[derive(Debug, Default)]
struct Placed {
    invite: Option<sip::transaction::ClientId>,
    /// The BYE is on its way, or was.
    hangs_up: bool,
    ack: Option<Vec<u8>>,
}

/// Places calls.
pub struct Caller {
    pub table: Table,
    pub outcomes: Vec<Vec<Outcome>>,
    pub byes_done: usize,
    here: SocketAddr,
    there: SocketAddr,
    calls: Vec<Placed>,
    agenda: Agenda<Todo>,
    effects: Effects,
}

impl Caller {
    pub fn new(seed: u64, ends: [SocketAddr; 2], calls: usize, now: Time) -> Self {
        let seed = Random::new(seed).seed();
        let at = |n: usize| now + Duration::from_millis(20 * n as u64);
        Self {
            table: Transactions::new(Timers::default(), Limits::default(), seed, 0, now),
            outcomes: vec![Vec::new(); calls],
            byes_done: 0,
            here: ends[0],
            there: ends[1],
            calls: (0..calls).map(|_| Placed::default()).collect(),
            agenda: Agenda((0..calls).map(|n| (at(n), Todo::Invite(n))).collect()),
            effects: Vec::new(),
        }
    }

    fn request(&self, method: Method, call: usize, branch: &[u8], to_tag: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let uri = format!("sip:{}@{}", Kind::of(call).word(), self.there);
        let name = method.name();
        let mut writer = Writer::request(&mut bytes, name.as_bytes(), uri.as_bytes());
        let via = format!("SIP/2.0/UDP {};branch={}", self.here, String::from_utf8_lossy(branch));
        writer.header(Header::Via, via.as_bytes());
        writer.header(Header::MaxForwards, b"70");
        writer.header(Header::From, format!("<sip:caller@x>;tag=c{call}").as_bytes());
        let tag = if to_tag.is_empty() { String::new() } else { format!(";tag={to_tag}") };
        writer.header(Header::To, format!("<{uri}>{tag}").as_bytes());
        writer.header(Header::CallId, call.to_string().as_bytes());
        let number = if method == Method::Bye { 2 } else { 1 };
        writer.header(Header::CSeq, format!("{number} {name}").as_bytes());
        writer.end();
        bytes
    }

    fn start(&mut self, now: Time, method: Method, call: usize, tag: &str, out: &mut Outbox) {
        let (id, branch) = self.table.reserve().expect("the table is large enough");
        let bytes = self.request(method, call, &branch, tag);
        self.table.start_client(now, id, self.there, false, &bytes, call);
        if method == Method::Invite {
            self.calls[call].invite = Some(id);
        }
        out.send(self.here, self.there, bytes);
    }

    fn answered(&mut self, now: Time, call: usize, answer: &Message<'_>, out: &mut Outbox) {
        if self.calls[call].ack.is_none() {
            let branch = self.table.loose_branch();
            let tag = String::from_utf8_lossy(answer.to_tag().unwrap_or_default());
            self.calls[call].ack = Some(self.request(Method::Ack, call, &branch, &tag));
            self.outcomes[call].push(Outcome::Answered);
            self.agenda.0.push((now + Duration::from_secs(2), Todo::Bye(call)));
        }
        if let Some(ack) = &self.calls[call].ack {
            out.send(self.here, self.there, ack.clone());
        }
    }

    fn response(&mut self, now: Time, call: usize, answer: &Message<'_>, out: &mut Outbox) {
        let status = answer.status().unwrap_or_default();
        match (answer.method(), status) {
            (_, 100..200) => {}
            (Method::Invite, 200..300) => self.answered(now, call, answer, out),
            (Method::Invite, 487) => self.outcomes[call].push(Outcome::Cancelled),
            (Method::Invite, _) => self.outcomes[call].push(Outcome::Refused),
            _ => self.byes_done += 1,
        }
    }
}

impl Node for Caller {
    fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        _: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        let message = Message::parse(bytes).expect("both ends write well-formed messages");
        let arrival = self.table.receive(now, from, false, &message, &mut self.effects);
        if let Arrival::Response { user, .. } = arrival {
            self.response(now, user, &message, out);
        }
        flush(&mut self.effects, self.here, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        for todo in self.agenda.due(now) {
            match todo {
                Todo::Invite(call) => {
                    self.start(now, Method::Invite, call, "", out);
                    if Kind::of(call) == Kind::Cancel {
                        let wait = Duration::from_millis(40 * (call % 20) as u64);
                        self.agenda.0.push((now + wait, Todo::Cancel(call)));
                    }
                }
                Todo::Cancel(call) => {
                    let id = self.calls[call].invite.expect("the INVITE went before");
                    self.table.cancel(now, id, None, &mut self.effects);
                }
                Todo::Bye(call) if !self.calls[call].hangs_up => {
                    self.calls[call].hangs_up = true;
                    self.start(now, Method::Bye, call, "callee", out);
                }
                Todo::Bye(_) => {}
            }
        }
        self.table.tick(now, &mut self.effects);
        for effect in &self.effects {
            match effect {
                Out::Timeout { user, .. } if self.calls[*user].hangs_up => self.byes_done += 1,
                Out::Timeout { user, .. } => self.outcomes[*user].push(Outcome::Lost),
                _ => {}
            }
        }
        flush(&mut self.effects, self.here, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.agenda.deadline().into_iter().chain(self.table.deadline()).min()
    }
}

/// A 2xx that waits for its ACK (RFC 3261 §13.3.1.4).
#[derive(Debug)]
struct Unacknowledged {
    call: usize,
    bytes: Vec<u8>,
    to: SocketAddr,
    resend: Time,
    interval: Duration,
    give_up: Time,
}

/// One call as the callee sees it.
#[derive(Debug, Default, Clone)]
struct Taken {
    invite: Option<(ServerId, SocketAddr, Vec<u8>)>,
}

/// Takes calls.
pub struct Callee {
    pub table: Table,
    pub outcomes: Vec<Vec<Outcome>>,
    here: SocketAddr,
    calls: Vec<Taken>,
    unacknowledged: Vec<Unacknowledged>,
    agenda: Agenda<usize>,
    effects: Effects,
}

impl Callee {
    pub fn new(seed: u64, here: SocketAddr, calls: usize, now: Time) -> Self {
        let seed = Random::new(seed).seed();
        Self {
            table: Transactions::new(Timers::default(), Limits::default(), seed, 1, now),
            outcomes: vec![Vec::new(); calls],
            here,
            calls: vec![Taken::default(); calls],
            unacknowledged: Vec::new(),
            agenda: Agenda(Vec::new()),
            effects: Vec::new(),
        }
    }

    fn respond(
        &mut self,
        now: Time,
        id: ServerId,
        to: SocketAddr,
        answer: (u16, &[u8]),
        out: &mut Outbox,
    ) {
        let (status, request) = answer;
        let bytes = response(&Message::parse(request).expect("it was parsed before"), status);
        self.table.respond(now, id, status, &bytes);
        out.send(self.here, to, bytes);
    }

    /// Answers the INVITE of `call` with `status`, once.
    fn finish(&mut self, now: Time, call: usize, status: u16, out: &mut Outbox) {
        let Some((id, to, request)) = self.calls[call].invite.take() else { return };
        self.respond(now, id, to, (status, &request), out);
        let outcome = match status {
            200 => Outcome::Answered,
            487 => Outcome::Cancelled,
            _ => Outcome::Refused,
        };
        self.outcomes[call].push(outcome);
        if status == 200 {
            let t1 = Duration::from_millis(500);
            let bytes = response(&Message::parse(&request).expect("it was parsed before"), 200);
            self.unacknowledged.push(Unacknowledged {
                call,
                bytes,
                to,
                resend: now + t1,
                interval: t1,
                give_up: now + t1 * 64,
            });
        }
    }

    fn request(
        &mut self,
        now: Time,
        from: SocketAddr,
        id: ServerId,
        message: &Message<'_>,
        out: &mut Outbox,
    ) {
        let call = call_of(message);
        self.table.set_user(id, call);
        let bytes = message.raw();
        if message.method() == Method::Bye {
            self.unacknowledged.retain(|waiting| waiting.call != call);
            return self.respond(now, id, from, (200, bytes), out);
        }
        self.respond(now, id, from, (100, bytes), out);
        self.respond(now, id, from, (180, bytes), out);
        self.calls[call].invite = Some((id, from, bytes.to_vec()));
        match Kind::of(call) {
            Kind::Refuse => self.finish(now, call, 486, out),
            Kind::Answer => self.agenda.0.push((now + Duration::from_millis(300), call)),
            Kind::Cancel => {}
        }
    }
}

fn call_of(message: &Message<'_>) -> usize {
    String::from_utf8_lossy(message.call_id()).parse().expect("a Call-ID is a call's number")
}

fn response(request: &Message<'_>, status: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::response(&mut bytes, status, sip::reason(status).as_bytes());
    for line in request.lines() {
        match line.header {
            Header::Via | Header::From | Header::CallId | Header::CSeq => writer.copy(&line),
            Header::To if request.to_tag().is_none() && status > 100 => {
                writer.header_with(Header::To, |out| {
                    out.extend_from_slice(line.value);
                    out.extend_from_slice(b";tag=callee");
                });
            }
            Header::To => writer.copy(&line),
            _ => {}
        }
    }
    writer.end();
    bytes
}

impl Node for Callee {
    fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        _: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        let message = Message::parse(bytes).expect("both ends write well-formed messages");
        match self.table.receive(now, from, false, &message, &mut self.effects) {
            Arrival::Request(id) => self.request(now, from, id, &message, out),
            Arrival::Cancel { id, invite } => {
                let status = if invite.is_some() { 200 } else { 481 };
                self.respond(now, id, from, (status, bytes), out);
                if let Some((_, call)) = invite {
                    self.finish(now, call, 487, out);
                }
            }
            Arrival::Ack2xx => {
                let call = call_of(&message);
                self.unacknowledged.retain(|waiting| waiting.call != call);
            }
            _ => {}
        }
        flush(&mut self.effects, self.here, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        for call in self.agenda.due(now) {
            self.finish(now, call, 200, out);
        }
        for waiting in &mut self.unacknowledged {
            if waiting.resend <= now && waiting.give_up > now {
                waiting.interval = (waiting.interval * 2).min(Duration::from_secs(4));
                waiting.resend = now + waiting.interval;
                out.send(self.here, waiting.to, waiting.bytes.clone());
            }
        }
        self.unacknowledged.retain(|waiting| waiting.give_up > now);
        self.table.tick(now, &mut self.effects);
        flush(&mut self.effects, self.here, out);
    }

    fn deadline(&self) -> Option<Time> {
        let waiting = self.unacknowledged.iter().map(|waiting| waiting.resend.min(waiting.give_up));
        waiting.chain(self.agenda.deadline()).chain(self.table.deadline()).min()
    }
}
