//! Two transaction users as scripted endpoints: a caller that places calls of three kinds, and a
//! callee that answers, refuses or lets ring until it is cancelled.

use dialog::Dialog;
use machine::{Duration, Time};
use sim::{Node, Outbox, Random};
use sip::{Header, Message, Method, Writer};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use transaction::{Arrival, Limits, Out, ServerId, Timers, Transactions};

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

/// Things to do at their time, in the order in which they were noted.
#[derive(Debug)]
struct Agenda<T> {
    todo: BTreeMap<(Time, u64), T>,
    noted: u64,
}

impl<T> Agenda<T> {
    fn new() -> Self {
        Self { todo: BTreeMap::new(), noted: 0 }
    }

    fn note(&mut self, at: Time, what: T) {
        self.noted += 1;
        self.todo.insert((at, self.noted), what);
    }

    fn deadline(&self) -> Option<Time> {
        self.todo.first_key_value().map(|((at, _), _)| *at)
    }

    fn due(&mut self, now: Time) -> Vec<T> {
        let later = self.todo.split_off(&(now, u64::MAX));
        core::mem::replace(&mut self.todo, later).into_values().collect()
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
    invite: Option<transaction::ClientId>,
    request: Vec<u8>,
    dialog: Option<Dialog>,
    /// The BYE is on its way, or was.
    hangs_up: bool,
    ack: Vec<u8>,
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
    /// Places `calls` calls from the first of `ends` by way of the second, one every `pace`.
    pub fn new(seed: u64, ends: [SocketAddr; 2], calls: usize, pace: Duration, now: Time) -> Self {
        let seed = Random::new(seed).seed();
        let mut agenda = Agenda::new();
        for call in 0..calls {
            agenda.note(now + pace * call as u32, Todo::Invite(call));
        }
        Self {
            table: Transactions::new(Timers::default(), Limits::default(), seed, 0, now),
            outcomes: vec![Vec::new(); calls],
            byes_done: 0,
            here: ends[0],
            there: ends[1],
            calls: (0..calls).map(|_| Placed::default()).collect(),
            agenda,
            effects: Vec::new(),
        }
    }

    fn invite(&self, call: usize, branch: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let uri = format!("sip:{}-{call}@{}", Kind::of(call).word(), self.there);
        let mut writer = Writer::request(&mut bytes, b"INVITE", uri.as_bytes());
        writer.header(Header::From, format!("<sip:caller@x>;tag=c{call}").as_bytes());
        writer.header(Header::To, format!("<{uri}>").as_bytes());
        writer.header(Header::CallId, call.to_string().as_bytes());
        writer.header(Header::CSeq, b"1 INVITE");
        self.finish(writer, call, branch);
        bytes
    }

    /// The lines that every request of ours has.
    fn finish(&self, mut writer: Writer<'_>, call: usize, branch: &[u8]) {
        let via = format!("SIP/2.0/UDP {};branch={}", self.here, String::from_utf8_lossy(branch));
        writer.header(Header::Via, via.as_bytes());
        writer.header(Header::MaxForwards, b"70");
        writer.header(Header::Contact, format!("<sip:caller-{call}@{}>", self.here).as_bytes());
        writer.end();
    }

    fn in_dialog(&self, method: &[u8], cseq: u32, call: usize, branch: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let dialog = self.calls[call].dialog.as_ref().expect("the call was answered");
        let writer = dialog.begin_request(&mut bytes, method, cseq);
        self.finish(writer, call, branch);
        bytes
    }

    fn start(&mut self, now: Time, method: Method, call: usize, out: &mut Outbox) {
        let (id, branch) = self.table.reserve().expect("the table is large enough");
        let bytes = match method {
            Method::Invite => self.invite(call, &branch),
            _ => self.in_dialog(b"BYE", 2, call, &branch),
        };
        self.table.start_client(now, id, self.there, false, &bytes, call);
        if method == Method::Invite {
            self.calls[call].invite = Some(id);
            self.calls[call].request.clone_from(&bytes);
        }
        out.send(self.here, self.there, bytes);
    }

    fn answered(&mut self, now: Time, call: usize, answer: &Message<'_>, out: &mut Outbox) {
        if self.calls[call].dialog.is_none() {
            let invite = Message::parse(&self.calls[call].request).expect("we wrote it");
            let dialog = Dialog::from_response(&invite, answer).expect("a 2xx makes a dialog");
            self.calls[call].dialog = Some(dialog);
            let branch = self.table.loose_branch();
            self.calls[call].ack = self.in_dialog(b"ACK", 1, call, &branch);
            self.outcomes[call].push(Outcome::Answered);
            self.agenda.note(now + Duration::from_secs(2), Todo::Bye(call));
        }
        out.send(self.here, self.there, self.calls[call].ack.clone());
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
                    self.start(now, Method::Invite, call, out);
                    if Kind::of(call) == Kind::Cancel {
                        let wait = Duration::from_millis(40 * (call % 20) as u64);
                        self.agenda.note(now + wait, Todo::Cancel(call));
                    }
                }
                Todo::Cancel(call) => {
                    let id = self.calls[call].invite.expect("the INVITE went before");
                    self.table.cancel(now, id, None, &mut self.effects);
                }
                Todo::Bye(call) if !self.calls[call].hangs_up => {
                    self.calls[call].hangs_up = true;
                    self.start(now, Method::Bye, call, out);
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
            agenda: Agenda::new(),
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
        let bytes =
            response(&Message::parse(request).expect("it was parsed before"), status, self.here);
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
            let bytes =
                response(&Message::parse(&request).expect("it was parsed before"), 200, self.here);
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
            Kind::Answer => self.agenda.note(now + Duration::from_millis(300), call),
            Kind::Cancel => {}
        }
    }
}

/// The number behind the dash of the Request-URI's user.
fn call_of(message: &Message<'_>) -> usize {
    let user = message.uri().and_then(|uri| uri.user).unwrap_or_default();
    let user = String::from_utf8_lossy(user);
    let (_, number) = user.rsplit_once('-').expect("the user names the call");
    number.parse().expect("a call is a number")
}

fn response(request: &Message<'_>, status: u16, here: SocketAddr) -> Vec<u8> {
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
    if request.method() == Method::Invite && (101..300).contains(&status) {
        let contact = format!("<sip:callee-{}@{here}>", call_of(request));
        writer.header(Header::Contact, contact.as_bytes());
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
