//! Two user agents that stand a failover as real ones do: they send again what is not answered
//! (RFC 3261 §17.1), and hold dialogs whose requests go wherever the address leads.
//!
//! ```text
//! caller ── INVITE ──→ … ──→ callee   then, halfway, a re-INVITE; at the end a BYE of either
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);
/// A request without a final answer for this long has failed. Longer than a failover, shorter than
/// Timer B so that a run ends.
const PATIENCE: Duration = Duration::from_secs(12);
/// Looks for what is to be sent again.
const LOOK: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_micros(100);
/// An answer later than this did not come to the first transmission.
const PROMPT: Duration = Duration::from_millis(450);
const DATAGRAM_MAX: usize = 8_192;
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
    m=audio 40000 RTP/AVP 0\r\n";

/// Where the agents and the system under test are.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub caller: SocketAddr,
    pub callee: SocketAddr,
    pub access: SocketAddr,
}

/// How calls are made.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub rate: f64,
    pub hold: Duration,
    /// What Call-IDs and branches begin with, different in each run.
    pub name: &'static str,
}

/// A request or a 2xx that waits for its answer or ACK.
#[derive(Debug)]
struct Waiting {
    bytes: String,
    to: SocketAddr,
    cseq: u32,
    next: Instant,
    interval: Duration,
    until: Instant,
    /// Whether a provisional answer stopped the retransmissions.
    is_proceeding: bool,
}

impl Waiting {
    fn new(bytes: String, to: SocketAddr, cseq: u32, now: Instant) -> Self {
        let (next, until) = (now + T1, now + PATIENCE);
        Self { bytes, to, cseq, next, interval: T1, until, is_proceeding: false }
    }
}

/// One end of a call.
#[derive(Debug, Default)]
struct Leg {
    call_id: String,
    local: String,
    remote: String,
    target: String,
    cseq: u32,
    waiting: Option<Waiting>,
    /// The 2xx whose ACK has not come.
    answer: Option<Waiting>,
    is_over: bool,
}

/// What became of a call.
#[derive(Debug)]
pub struct Call {
    /// When its INVITE was sent first.
    pub started: Instant,
    /// When its ACK was sent.
    pub established: Option<Instant>,
    /// Whether the answer came to the first transmission.
    pub is_prompt: bool,
    /// Whether it was changed by a re-INVITE.
    pub is_changed: bool,
    /// Whether both ends know that it is over.
    pub is_over: bool,
    /// When both ends knew.
    pub ended: Option<Instant>,
    /// Why it failed.
    pub failure: Option<String>,
    /// When that showed.
    pub failed: Option<Instant>,
    caller: Leg,
    callee: Leg,
    ends_by_callee: bool,
}

/// Both agents and all their calls.
pub struct Ends {
    places: Places,
    caller: UdpSocket,
    callee: UdpSocket,
    pub calls: Vec<Call>,
    branch: u64,
    plan: Plan,
    first_open: usize,
    next_due: Instant,
    names: HashMap<String, usize>,
}

fn socket(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The value of a header's first line; empty when there is none.
pub fn header<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_default()
}

/// The URI in a `<…>` value.
pub fn uri(value: &str) -> &str {
    value.split_once('<').map_or(value, |(_, rest)| rest).split('>').next().unwrap_or_default()
}

fn cseq(text: &str) -> (u32, &str) {
    let (number, method) = header(text, "CSeq").split_once(' ').unwrap_or_default();
    (number.parse().unwrap_or(0), method)
}

impl Ends {
    /// Agents that rest.
    ///
    /// # Errors
    /// When their addresses cannot be bound.
    pub fn new(places: Places, plan: Plan) -> io::Result<Self> {
        let (caller, callee) = (socket(places.caller)?, socket(places.callee)?);
        Ok(Self {
            places,
            caller,
            callee,
            calls: Vec::new(),
            branch: 0,
            plan,
            first_open: 0,
            next_due: Instant::now(),
            names: HashMap::new(),
        })
    }

    /// Places calls for `time`, or only attends to those that stand.
    pub fn run(&mut self, time: Duration, places_calls: bool) {
        let begin = Instant::now();
        let base = self.calls.len() as f64;
        while begin.elapsed() < time {
            if places_calls {
                let due = base + begin.elapsed().as_secs_f64() * self.plan.rate;
                while (self.calls.len() as f64) < due {
                    self.place();
                }
            }
            if !self.turn() {
                thread::sleep(PAUSE);
            }
            if !places_calls && self.is_idle() {
                return;
            }
        }
    }

    /// Whether every call is over or has failed.
    pub fn is_idle(&self) -> bool {
        self.first_open == self.calls.len()
    }

    fn turn(&mut self) -> bool {
        let mut buffer = [0; DATAGRAM_MAX];
        let mut worked = false;
        while let Ok((length, _)) = self.caller.recv_from(&mut buffer) {
            worked = true;
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            self.arrived(&text, true);
        }
        while let Ok((length, from)) = self.callee.recv_from(&mut buffer) {
            worked = true;
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if text.starts_with("INVITE") && !header(&text, "To").contains(";tag=") {
                self.invited(&text, from);
            } else {
                self.arrived(&text, false);
            }
        }
        let now = Instant::now();
        if now >= self.next_due {
            self.next_due = now + LOOK;
            self.timers(now);
        }
        worked
    }

    fn place(&mut self) {
        let (now, n) = (Instant::now(), self.calls.len());
        let caller = Leg {
            call_id: format!("{}-{n}", self.plan.name),
            local: format!("<sip:c{n}@example.com>;tag=c{n}"),
            remote: format!("<sip:d{n}@example.org>"),
            target: format!("sip:d{n}@{}", self.places.access),
            ..Leg::default()
        };
        self.names.insert(caller.call_id.clone(), n);
        self.calls.push(Call {
            started: now,
            established: None,
            is_prompt: false,
            is_changed: false,
            is_over: false,
            ended: None,
            failure: None,
            failed: None,
            caller,
            callee: Leg::default(),
            ends_by_callee: n % 2 == 1,
        });
        self.request(n, true, "INVITE");
    }

    /// Sends a request on one leg, and keeps it.
    fn request(&mut self, n: usize, by_caller: bool, method: &str) {
        self.calls[n].leg(by_caller).cseq += 1;
        let (text, number) = self.write(n, by_caller, method);
        let (now, to) = (Instant::now(), self.calls[n].to(self.places.access, by_caller));
        self.send(by_caller, &text, to);
        self.calls[n].leg(by_caller).waiting = Some(Waiting::new(text, to, number, now));
    }

    fn write(&mut self, n: usize, by_caller: bool, method: &str) -> (String, u32) {
        self.branch += 1;
        let own = if by_caller { self.places.caller } else { self.places.callee };
        let name = self.plan.name;
        let leg = self.calls[n].leg(by_caller);
        let mut text = format!(
            "{method} {} SIP/2.0\r\nVia: SIP/2.0/UDP {own};rport;branch=z9hG4bK{}{}\r\n\
             Max-Forwards: 70\r\nFrom: {}\r\nTo: {}\r\nCall-ID: {}\r\nCSeq: {} {method}\r\n\
             Contact: <sip:x{n}@{own}>\r\n",
            leg.target, name, self.branch, leg.local, leg.remote, leg.call_id, leg.cseq,
        );
        body(&mut text, method == "INVITE");
        (text, leg.cseq)
    }

    fn send(&self, by_caller: bool, text: &str, to: SocketAddr) {
        let socket = if by_caller { &self.caller } else { &self.callee };
        // What the network refuses is sent again.
        let _ = socket.send_to(text.as_bytes(), to);
    }

    /// A new call for the callee.
    fn invited(&mut self, text: &str, from: SocketAddr) {
        let user = uri(header(text, "From")).trim_start_matches("sip:c");
        let number = user.split('@').next().and_then(|digits| digits.parse::<usize>().ok());
        let Some(n) = number.filter(|&n| n < self.calls.len()) else { return };
        let call_id = header(text, "Call-ID");
        if self.calls[n].callee.call_id != call_id {
            self.names.insert(call_id.to_owned(), n);
            self.calls[n].callee = Leg {
                call_id: call_id.to_owned(),
                local: format!("{};tag=d{n}", header(text, "To")),
                remote: header(text, "From").to_owned(),
                target: uri(header(text, "Contact")).to_owned(),
                ..Leg::default()
            };
        }
        self.accept(n, false, text, from);
    }

    /// Answers a request with 200; that to an INVITE is sent again until its ACK.
    fn accept(&mut self, n: usize, at_caller: bool, text: &str, to: SocketAddr) {
        let (number, method) = cseq(text);
        let reply = self.answer(n, at_caller, text, "200 OK");
        self.send(at_caller, &reply, to);
        if method == "INVITE" {
            let waiting = Waiting::new(reply, to, number, Instant::now());
            self.calls[n].leg(at_caller).answer = Some(waiting);
        }
    }

    fn answer(&mut self, n: usize, at_caller: bool, text: &str, status: &str) -> String {
        let own = if at_caller { self.places.caller } else { self.places.callee };
        let mut reply = format!("SIP/2.0 {status}\r\n");
        for line in text.lines().take_while(|line| !line.is_empty()) {
            let name = line.split(':').next().unwrap_or_default();
            if matches!(name, "Via" | "From" | "Call-ID" | "CSeq") {
                let _ = write!(reply, "{line}\r\n");
            } else if name == "To" {
                let tag = if line.contains(";tag=") { "" } else { &format!(";tag=d{n}") };
                let _ = write!(reply, "{line}{tag}\r\n");
            }
        }
        let _ = write!(reply, "Contact: <sip:x{n}@{own}>\r\n");
        body(&mut reply, cseq(text).1 == "INVITE" && status.starts_with("200"));
        reply
    }

    /// A message inside a call.
    fn arrived(&mut self, text: &str, at_caller: bool) {
        let Some(&n) = self.names.get(header(text, "Call-ID")) else { return };
        if let Some(rest) = text.strip_prefix("SIP/2.0 ") {
            let status = rest.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            return self.answered(n, at_caller, text, status);
        }
        let access = self.places.access;
        let to = if at_caller { access } else { self.calls[n].to(access, false) };
        match text.split(' ').next().unwrap_or_default() {
            "ACK" => {
                let number = cseq(text).0;
                let leg = self.calls[n].leg(at_caller);
                if leg.answer.as_ref().is_some_and(|answer| answer.cseq == number) {
                    leg.answer = None;
                }
            }
            "BYE" => {
                let reply = self.answer(n, at_caller, text, "200 OK");
                self.send(at_caller, &reply, to);
                let leg = self.calls[n].leg(at_caller);
                (leg.is_over, leg.answer) = (true, None);
                self.settle(n);
            }
            _ => self.accept(n, at_caller, text, to),
        }
    }

    /// A response to a request of ours.
    fn answered(&mut self, n: usize, at_caller: bool, text: &str, status: u16) {
        let (number, method) = cseq(text);
        let call = &mut self.calls[n];
        if status < 200 {
            if let Some(waiting) = &mut call.leg(at_caller).waiting
                && waiting.cseq == number
                && method == "INVITE"
            {
                waiting.is_proceeding = true;
            }
            return;
        }
        let is_awaited = call.leg(at_caller).waiting.as_ref().is_some_and(|w| w.cseq == number);
        if is_awaited {
            call.leg(at_caller).waiting = None;
        }
        match method {
            "INVITE" if status < 300 => self.accepted(n, text, is_awaited),
            "BYE" if status < 300 || status == 481 => {
                call.leg(at_caller).is_over = true;
                self.settle(n);
            }
            _ if is_awaited => {
                call.failure = Some(format!("{method} was answered {status}"));
                self.settle(n);
            }
            _ => {}
        }
    }

    /// The caller's INVITE was accepted: it acknowledges, each time anew.
    fn accepted(&mut self, n: usize, text: &str, is_awaited: bool) {
        let now = Instant::now();
        let call = &mut self.calls[n];
        if is_awaited && call.established.is_none() {
            call.caller.remote = header(text, "To").to_owned();
            call.caller.target = uri(header(text, "Contact")).to_owned();
            call.established = Some(now);
            call.is_prompt = now - call.started < PROMPT;
        } else if is_awaited {
            call.is_changed = true;
        }
        let kept = std::mem::replace(&mut self.calls[n].caller.cseq, cseq(text).0);
        let (ack, _) = self.write(n, true, "ACK");
        self.calls[n].caller.cseq = kept;
        self.send(true, &ack, self.places.access);
    }

    fn settle(&mut self, n: usize) {
        let call = &mut self.calls[n];
        call.is_over = call.caller.is_over && call.callee.is_over;
        if call.is_over && call.ended.is_none() {
            call.ended = Some(Instant::now());
        }
        if call.failure.is_some() && call.failed.is_none() {
            call.failed = Some(Instant::now());
        }
        if call.failure.is_some() || call.is_over {
            for leg in [&mut call.caller, &mut call.callee] {
                (leg.waiting, leg.answer) = (None, None);
            }
        }
    }

    /// Sends again, gives up, changes and ends what is due.
    fn timers(&mut self, now: Instant) {
        while self.calls.get(self.first_open).is_some_and(Call::is_closed) {
            self.first_open += 1;
        }
        for n in self.first_open..self.calls.len() {
            if self.calls[n].is_closed() {
                continue;
            }
            for by_caller in [true, false] {
                self.again(n, by_caller, now);
            }
            self.progress(n, now);
        }
    }

    fn again(&mut self, n: usize, by_caller: bool, now: Instant) {
        let mut resend = Vec::new();
        let mut failure = None;
        let leg = self.calls[n].leg(by_caller);
        for (waiting, what) in [(&mut leg.waiting, "request"), (&mut leg.answer, "2xx")] {
            let Some(waiting) = waiting else { continue };
            if now >= waiting.until {
                let line = waiting.bytes.lines().next().unwrap_or_default();
                failure = Some(format!("{what} without an answer: {line}"));
            } else if now >= waiting.next && !waiting.is_proceeding {
                waiting.interval = (waiting.interval * 2).min(T2);
                waiting.next = now + waiting.interval;
                resend.push((waiting.bytes.clone(), waiting.to));
            }
        }
        for (text, to) in resend {
            self.send(by_caller, &text, to);
        }
        if failure.is_some() {
            self.calls[n].failure = failure;
            self.settle(n);
        }
    }

    /// Halfway a re-INVITE, at the end a BYE.
    fn progress(&mut self, n: usize, now: Instant) {
        let hold = self.plan.hold;
        let call = &mut self.calls[n];
        let Some(since) = call.established.map(|at| now - at) else { return };
        let is_quiet = call.caller.waiting.is_none() && call.callee.waiting.is_none();
        if !is_quiet || call.callee.answer.is_some() || call.caller.is_over || call.callee.is_over {
            return;
        }
        if !call.is_changed {
            if since >= hold / 2 {
                self.request(n, true, "INVITE");
            }
        } else if since >= hold {
            let by_caller = !call.ends_by_callee;
            self.request(n, by_caller, "BYE");
        }
    }
}

impl Call {
    fn leg(&mut self, is_caller: bool) -> &mut Leg {
        if is_caller { &mut self.caller } else { &mut self.callee }
    }

    const fn is_closed(&self) -> bool {
        self.is_over || self.failure.is_some()
    }

    /// Whether it stood, was changed and ended on both sides.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.failure.is_none() && self.is_changed && self.is_over
    }

    /// Where a leg's requests go: to the address in its target.
    fn to(&self, access: SocketAddr, by_caller: bool) -> SocketAddr {
        if by_caller {
            return access;
        }
        let host = self.callee.target.rsplit('@').next().unwrap_or_default();
        let host = host.trim_start_matches("sip:").split(';').next().unwrap_or_default();
        host.parse().unwrap_or(access)
    }
}

/// Appends type, length and the body itself.
pub fn body(text: &mut String, has_sdp: bool) {
    let (kind, sdp) = if has_sdp { ("Content-Type: application/sdp\r\n", SDP) } else { ("", "") };
    let _ = write!(text, "{kind}Content-Length: {}\r\n\r\n{sdp}", sdp.len());
}
