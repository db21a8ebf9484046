//! A phone on sockets of this machine that a person or a scene uses, step by step, and its home
//! where nobody else plays it.
//!
//! ```text
//! register ─→ call ─→ serve: whoever calls is answered ─→ deregister
//!    each turns the sockets of the phone, and of its home, until it is over or takes too long
//! ```

use crate::text::{Draw, description};
use crate::{Config, Event, Handset, Home, Packet, Sockets, State};
use anyhow::{Context, bail};
use machine::Time;
use sip::{Header, Message, Method};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How long one step may take: a transaction (64 x T1), and something.
const STEP_MAX: Duration = Duration::from_secs(35);
/// A step that takes longer is late.
const LATE: Duration = Duration::from_secs(4);
/// A request that nobody answers is sent again after this.
const AGAIN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);
const DATAGRAM_MAX: usize = 65_536;
/// Requests of others that the home has answered, and answers that it has got, at most.
const KEPT_MAX: usize = 64;

/// A home network on a socket of this machine.
#[derive(Debug)]
pub struct HomeServer {
    home: Home,
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// Answers to its own requests.
    answers: Vec<Vec<u8>>,
    /// From where it was asked last.
    asked_from: Option<SocketAddr>,
}

impl HomeServer {
    /// Binds the address that the P-CSCF has for its S-CSCF.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(mut home: Home, listen: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(listen)?;
        socket.set_nonblocking(true)?;
        home.answer_calls_at(socket.local_addr()?);
        let (buffer, answers) = (vec![0; DATAGRAM_MAX], Vec::new());
        Ok(Self { home, socket, buffer, answers, asked_from: None })
    }

    /// What it knows.
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    fn turn(&mut self, now: Time) {
        while let Ok((octets, from)) = self.socket.recv_from(&mut self.buffer) {
            let bytes = &self.buffer[..octets];
            let is_answer = bytes.starts_with(b"SIP/2.0 ");
            if !is_answer {
                self.asked_from = Some(from);
            } else if self.answers.len() < KEPT_MAX {
                self.answers.push(bytes.to_vec());
            }
            if let Some(answer) = self.home.receive(now, from, bytes) {
                let _ = self.socket.send_to(&answer, from); // it is lost, as on any wire
            }
        }
        for (to, notify) in self.home.notifies() {
            let _ = self.socket.send_to(&notify, to);
        }
    }
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Its Call-ID on the caller's leg.
    pub call_id: String,
    /// The statuses of the answers to its INVITE, in order.
    pub statuses: Vec<u16>,
}

/// A phone in use.
#[derive(Debug)]
pub struct Terminal {
    handset: Handset,
    sockets: Sockets,
    home: Option<HomeServer>,
    began: Instant,
    /// When it registered last.
    registered: Instant,
    draw: Draw,
    /// What came under protection and was not looked at yet.
    came: Vec<Vec<u8>>,
    /// The Call-IDs of calls that were answered.
    taken: Vec<Vec<u8>>,
    failed: Option<State>,
}

/// A request that is placed, and what names its transaction and dialog.
struct Dialog {
    to: String,
    call_id: String,
    tag: String,
    /// The far end's tag and contact, once it has answered.
    far_tag: String,
    target: String,
}

/// Who sends a request.
struct Sender {
    via: SocketAddr,
    from: String,
    contact: String,
}

impl Sender {
    /// Somebody in the network.
    fn network(own: SocketAddr) -> Self {
        let contact = format!("sip:network@{own}");
        Self { via: own, from: contact.clone(), contact }
    }
}

/// What is sent: a method, in the transaction of perhaps another.
struct What<'a> {
    method: &'a str,
    transaction: &'a str,
    cseq: u32,
    body: &'a [u8],
}

impl<'a> What<'a> {
    const fn new(method: &'a str, cseq: u32, body: &'a [u8]) -> Self {
        Self { method, transaction: method, cseq, body }
    }
}

impl Terminal {
    /// Opens the sockets of a phone; raw ones need `CAP_NET_RAW`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(config: Config, home: Option<HomeServer>) -> io::Result<Self> {
        let sockets = Sockets::open(&config)?;
        let draw = Draw::new(config.seed ^ 0x7e51);
        let handset = Handset::new(config);
        let began = Instant::now();
        Ok(Self {
            handset,
            sockets,
            home,
            began,
            registered: began,
            draw,
            came: Vec::new(),
            taken: Vec::new(),
            failed: None,
        })
    }

    /// The phone.
    #[must_use]
    pub const fn handset(&self) -> &Handset {
        &self.handset
    }

    /// Calls of others that it has answered.
    #[must_use]
    pub const fn taken(&self) -> usize {
        self.taken.len()
    }

    /// What its home knows.
    #[must_use]
    pub fn home(&self) -> Option<&Home> {
        self.home.as_ref().map(HomeServer::home)
    }

    /// Registers, or registers again.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn register(&mut self) -> anyhow::Result<()> {
        self.act(Handset::register, State::Registered)
    }

    /// The same; `late` is called once if that takes long.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn register_saying(&mut self, late: &mut dyn FnMut()) -> anyhow::Result<()> {
        self.act_saying(Handset::register, State::Registered, late)
    }

    /// De-registers.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn deregister(&mut self) -> anyhow::Result<()> {
        self.act(Handset::deregister, State::Off)
    }

    fn act(
        &mut self,
        act: fn(&mut Handset, Time, &mut Vec<Packet>),
        wanted: State,
    ) -> anyhow::Result<()> {
        self.act_saying(act, wanted, &mut || {})
    }

    fn act_saying(
        &mut self,
        act: fn(&mut Handset, Time, &mut Vec<Packet>),
        wanted: State,
        late: &mut dyn FnMut(),
    ) -> anyhow::Result<()> {
        let (now, mut out) = (self.now(), Vec::new());
        (self.failed, self.registered) = (None, Instant::now());
        act(&mut self.handset, now, &mut out);
        self.sockets.send(&out);
        let is_over = |it: &Self| it.failed.is_some() || it.handset.state() == wanted;
        if !self.until(LATE, is_over) {
            late();
            self.until(STEP_MAX, is_over);
        }
        match self.failed.unwrap_or_else(|| self.handset.state()) {
            state if state == wanted => Ok(()),
            State::Refused(status) => bail!("the network answers {status}"),
            State::Failed(why) => bail!("{why}"),
            _ => bail!("nobody answers"),
        }
    }

    /// Calls somebody, talks for a while, and hangs up.
    ///
    /// # Errors
    /// Why the call was not answered or did not end well.
    pub fn call(&mut self, to: &str, talk: Duration) -> anyhow::Result<Called> {
        let [call_id, tag] = [self.draw.word(), self.draw.word()];
        let (far_tag, target) = (String::new(), to.to_owned());
        let mut dialog = Dialog { to: to.to_owned(), call_id, tag, far_tag, target };
        let body = self.description();
        let (answer, statuses) = self.ask(&dialog, &What::new("INVITE", 1, &body))?;
        let message = Message::parse(&answer).ok().context("the answer cannot be read")?;
        let status = message.status().unwrap_or_default();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        dialog.far_tag = message.to_tag().map(text).unwrap_or_default();
        if let Some(contact) = message.header(Header::Contact).map(text) {
            dialog.target = contact.split(['<', '>']).nth(1).unwrap_or(&contact).to_owned();
        }
        let is_answered = (200..300).contains(&status);
        // That of a refusal belongs to the transaction of its INVITE (RFC 3261 §17.1.1.3).
        let transaction = if is_answered { "ACK" } else { "INVITE" };
        let ack = What { transaction, ..What::new("ACK", 1, b"") };
        let ack = request(&dialog, &self.sender(), &ack);
        self.send(&ack);
        if !is_answered {
            bail!("{to} answers {status}");
        }
        self.serve(talk);
        let (end, _) = self.ask(&dialog, &What::new("BYE", 2, b""))?;
        let status = Message::parse(&end).ok().and_then(|it| it.status()).unwrap_or_default();
        anyhow::ensure!(status == 200, "the BYE is answered {status}");
        Ok(Called { call_id: dialog.call_id, statuses })
    }

    /// The P-CSCF's address in the core, from where its home was asked.
    #[must_use]
    pub fn pcscf(&self) -> Option<SocketAddr> {
        self.home.as_ref()?.asked_from
    }

    /// Its home calls it, by the P-CSCF at its address in the core, and hangs up after a while.
    ///
    /// # Errors
    /// Why the call was not answered or did not end well.
    pub fn be_called(&mut self, pcscf: SocketAddr, talk: Duration) -> anyhow::Result<Called> {
        let impi = self.handset.config().subscriber.impi.clone();
        let home = self.home.as_ref().context("its home is another's")?;
        let own = home.socket.local_addr()?;
        let contact = home.home.contact(&impi).context("it is not registered")?;
        let contact = String::from_utf8_lossy(contact).into_owned();
        let target = contact.split(['<', '>']).nth(1).unwrap_or(&contact).to_owned();
        let [call_id, tag] = [self.draw.word(), self.draw.word()];
        let mut dialog =
            Dialog { to: target.clone(), call_id, tag, far_tag: String::new(), target };
        let (sender, body) = (Sender::network(own), description(own.ip()));
        let invite = request(&dialog, &sender, &What::new("INVITE", 1, &body));
        let (answer, statuses) = self.home_asks(pcscf, &invite, "INVITE")?;
        let message = Message::parse(&answer).ok().context("the answer cannot be read")?;
        let status = message.status().unwrap_or_default();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        dialog.far_tag = message.to_tag().map(text).unwrap_or_default();
        anyhow::ensure!((200..300).contains(&status), "the phone answers {status}");
        let contact = message.header(Header::Contact).map(text).unwrap_or_default();
        dialog.target = contact.split(['<', '>']).nth(1).unwrap_or(&dialog.target).to_owned();
        let ack = request(&dialog, &sender, &What::new("ACK", 1, b""));
        self.home_sends(pcscf, &ack)?;
        self.serve(talk);
        let bye = request(&dialog, &sender, &What::new("BYE", 2, b""));
        self.home_asks(pcscf, &bye, "BYE")?;
        Ok(Called { call_id: dialog.call_id, statuses })
    }

    /// Answers whoever calls, for a while, and registers again when half of its time is over (TS
    /// 24.229 §5.1.1.4.1).
    pub fn serve(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.turn();
            self.refresh();
            self.came.clear();
            std::thread::sleep(PAUSE);
        }
    }

    fn refresh(&mut self) {
        let is_registered = self.handset.state() == State::Registered;
        let half = Duration::from_secs(u64::from(self.handset.granted_s().max(2)) / 2);
        if is_registered && self.registered.elapsed() > half {
            self.registered = Instant::now();
            let (now, mut out) = (self.now(), Vec::new());
            self.handset.register(now, &mut out);
            self.sockets.send(&out);
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }

    /// Sends a request until it has its final answer, which is returned with the statuses of all.
    fn ask(&mut self, dialog: &Dialog, what: &What<'_>) -> anyhow::Result<(Vec<u8>, Vec<u16>)> {
        let (request, method) = (request(dialog, &self.sender(), what), what.method);
        let (mut statuses, mut sent) = (Vec::new(), None::<Instant>);
        let end = Instant::now() + STEP_MAX;
        while Instant::now() < end {
            if statuses.is_empty() && sent.is_none_or(|at| at.elapsed() > AGAIN) {
                self.send(&request);
                sent = Some(Instant::now());
            }
            self.turn();
            if let Some(answer) = final_answer(&mut self.came, method, &mut statuses) {
                return Ok((answer, statuses));
            }
            std::thread::sleep(PAUSE);
        }
        bail!("nobody answers the {method}")
    }

    /// The same by the home, to the P-CSCF.
    fn home_asks(
        &mut self,
        pcscf: SocketAddr,
        request: &[u8],
        method: &str,
    ) -> anyhow::Result<(Vec<u8>, Vec<u16>)> {
        let (mut statuses, mut sent) = (Vec::new(), None::<Instant>);
        let end = Instant::now() + STEP_MAX;
        while Instant::now() < end {
            if statuses.is_empty() && sent.is_none_or(|at| at.elapsed() > AGAIN) {
                self.home_sends(pcscf, request)?;
                sent = Some(Instant::now());
            }
            self.turn();
            self.came.clear();
            let answers = self.home.as_mut().map(|home| core::mem::take(&mut home.answers));
            let found = final_answer(&mut answers.unwrap_or_default(), method, &mut statuses);
            if let Some(answer) = found {
                return Ok((answer, statuses));
            }
            std::thread::sleep(PAUSE);
        }
        bail!("nobody answers the {method} of the network")
    }

    fn home_sends(&self, pcscf: SocketAddr, bytes: &[u8]) -> anyhow::Result<()> {
        let home = self.home.as_ref().context("its home is another's")?;
        home.socket.send_to(bytes, pcscf)?;
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) {
        let mut out = Vec::new();
        self.handset.send(bytes, &mut out);
        self.sockets.send(&out);
    }

    fn until(&mut self, most: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = Instant::now() + most;
        while !done(self) && Instant::now() < end {
            self.turn();
            std::thread::sleep(PAUSE);
        }
        done(self)
    }

    /// Takes what has come, and answers requests.
    fn turn(&mut self) {
        let now = self.now();
        let (mut packets, mut out) = (Vec::new(), Vec::new());
        // Sockets that fail give nothing, and the step takes too long.
        let _ = self.sockets.receive(&mut packets);
        packets.iter().for_each(|packet| self.handset.receive(now, packet, &mut out));
        self.handset.tick(now, &mut out);
        while let Some(event) = self.handset.event() {
            match event {
                Event::Came(bytes) if bytes.starts_with(b"SIP/2.0 ") => self.came.push(bytes),
                Event::Came(bytes) => self.asked(&bytes, &mut out),
                Event::Failed(state) => self.failed = Some(state),
                Event::Registered | Event::Deregistered => {}
            }
        }
        self.sockets.send(&out);
        if let Some(home) = &mut self.home {
            home.turn(now);
        }
    }

    fn asked(&mut self, request: &[u8], out: &mut Vec<Packet>) {
        if request.starts_with(b"INVITE ") {
            let call_id = Message::parse(request).map(|it| it.call_id().to_vec());
            self.taken.extend(call_id.ok().filter(|it| !self.taken.contains(it)));
            let body = self.description();
            return self.handset.answer(request, 200, &body, out);
        }
        self.handset.answer(request, 200, b"", out);
    }

    fn description(&self) -> Vec<u8> {
        description(self.handset.config().address)
    }

    fn sender(&self) -> Sender {
        let (via, subscriber) = (self.handset.contact(), &self.handset.config().subscriber);
        let contact = format!("sip:{}@{via}", subscriber.user());
        Sender { via, from: subscriber.impu.clone(), contact }
    }
}

/// A request of a dialog.
fn request(dialog: &Dialog, sender: &Sender, what: &What<'_>) -> Vec<u8> {
    let Dialog { to, call_id, tag, far_tag, target } = dialog;
    let Sender { via, from, contact } = sender;
    let What { method, transaction, cseq, body } = what;
    let far_tag = if far_tag.is_empty() { String::new() } else { format!(";tag={far_tag}") };
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    let length = body.len();
    let text = format!(
        "{method} {target} SIP/2.0\r\n\
         Via: SIP/2.0/UDP {via};branch=z9hG4bK{call_id}{transaction}\r\n\
         Max-Forwards: 70\r\nFrom: <{from}>;tag={tag}\r\nTo: <{to}>{far_tag}\r\n\
         Call-ID: {call_id}\r\nCSeq: {cseq} {method}\r\nContact: <{contact}>\r\n{kind}\
         Content-Length: {length}\r\n\r\n"
    );
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The final answer to a request among what came; statuses of all answers to it are noted.
fn final_answer(came: &mut Vec<Vec<u8>>, method: &str, statuses: &mut Vec<u16>) -> Option<Vec<u8>> {
    for bytes in came.drain(..) {
        let Ok(message) = Message::parse(&bytes) else { continue };
        let asked = message.cseq().method;
        if asked != Method::Invite && asked != Method::Bye || asked.name() != method {
            continue;
        }
        let status = message.status().unwrap_or_default();
        statuses.push(status);
        if status >= 200 {
            return Some(bytes);
        }
    }
    None
}
