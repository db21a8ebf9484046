//! A connection: its numbers, what waits, and its states (RFC 9293 §3.3).

use crate::carried::{Held, Resumed};
use crate::segment::{Flags, Segment};
use crate::timer::Timer;
use machine::{Duration, Time};
use std::collections::VecDeque;

/// Octets that wait to be sent or acknowledged, at most.
pub const QUEUE_MAX: usize = 262_144;
/// Octets that came and were not taken, at most; the window that is offered.
pub const INCOMING_MAX: usize = 65_535;
/// How long an end that has closed first answers copies. Twice the longest that a segment lives
/// would be four minutes (RFC 9293 §3.4.2): what carries it drops copies by their numbers, and what
/// is late is late by seconds.
pub const TIME_WAIT: Duration = Duration::from_secs(32);
/// A far end that says nothing of it takes so much (RFC 9293 §3.7.1: 536 over IPv4, 1,220 over
/// IPv6).
const MSS_UNSAID: u16 = 536;
/// The least that is believed: an end that said 1 would cost a header for each octet.
pub(crate) const MSS_LEAST: u16 = 216;
/// Segments that leave before the first is acknowledged (RFC 5681 §3.1).
const SEGMENTS_AT_FIRST: usize = 3;
/// Room that an end keeps for octets that come next.
const ROOM: usize = 4_096;
/// Acknowledgments within a time that answer what fits no window (RFC 5961 §7).
const ANSWERS_MAX: u8 = 10;
const ANSWERS_TIME: Duration = Duration::from_secs(1);

/// Whether a number comes before another (RFC 9293 §3.4).
pub(crate) const fn is_before(one: u32, other: u32) -> bool {
    one != other && other.wrapping_sub(one) < 1 << 31
}

/// A count of octets as the difference of two numbers.
pub(crate) const fn between(from: u32, to: u32) -> usize {
    to.wrapping_sub(from) as usize
}

/// A number so many octets further; counts are bounded by [`QUEUE_MAX`].
pub(crate) fn after(number: u32, octets: usize) -> u32 {
    number.wrapping_add(u32::try_from(octets).unwrap_or(0))
}

/// How far a connection is (RFC 9293 §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Our SYN waits for its answer.
    SynSent,
    /// The other's SYN was answered.
    SynReceived,
    /// Octets pass.
    Established,
    /// We have closed.
    FinWait1,
    /// We have closed, and the other knows.
    FinWait2,
    /// The other has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// The other has closed, and then we.
    LastAck,
    /// Copies are answered.
    TimeWait,
    /// It is no more.
    Closed,
}

/// Why a connection is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Both ends have closed it.
    Ended,
    /// The far end has reset it, or refused it.
    Reset,
    /// Nobody answers.
    Silence,
    /// This end has given it up.
    Aborted,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub(crate) state: State,
    pub(crate) why: Option<Why>,
    /// Our port and the other's.
    ports: (u16, u16),
    own_mss: u16,
    pub(crate) out: Out,
    pub(crate) in_: In,
    /// When the state of now began, and when octets last passed.
    pub(crate) since: Time,
    pub(crate) passed: Time,
    /// How far another process has what passes, where one is told.
    pub(crate) held: Option<Held>,
    /// Another process has begun it, and the far end has not said yet what it has.
    pub(crate) resumed: Option<Resumed>,
}

/// What the far end takes (RFC 9293 §3.3.1: SND.WND, SND.WL1, SND.WL2).
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub octets: usize,
    /// The segment that said so: its number, and what it acknowledged.
    pub of: (u32, u32),
    /// The most that it ever took.
    pub most: usize,
}

/// What leaves (RFC 9293 §3.3.1: SND).
#[derive(Debug)]
pub(crate) struct Out {
    /// The first octet that was not acknowledged, the next to be sent, and the highest that was.
    pub una: u32,
    pub nxt: u32,
    pub max: u32,
    /// Octets from [`Out::una`] on; SYN and FIN are no octets.
    pub queue: VecDeque<u8>,
    /// Whether a FIN follows, and its number once it has left.
    pub closes: bool,
    pub fin: Option<u32>,
    pub window: Window,
    pub mss: usize,
    pub congestion: usize,
    pub threshold: usize,
    pub duplicates: u8,
    /// Until this is acknowledged nothing more is taken for a loss.
    pub recovers: u32,
    pub timer: Timer,
    pub again_at: Option<Time>,
    pub retries: u8,
    /// One octet may leave against a closed window.
    pub probes: bool,
    /// A SYN must leave.
    pub syn: bool,
    /// Our SYN was acknowledged.
    pub begun: bool,
    /// A RST must leave, with that number.
    pub reset: Option<u32>,
}

/// What comes (RFC 9293 §3.3.1: RCV).
#[derive(Debug)]
pub(crate) struct In {
    pub nxt: u32,
    pub octets: Vec<u8>,
    /// An acknowledgment must leave.
    pub acks: bool,
    /// The last SYN that came before ours was acknowledged, and whether it must be answered.
    pub met: Option<Syn>,
    pub meets: bool,
    /// How many have answered what fits no window, since when.
    answers: (u8, Time),
}

/// What a SYN says of its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syn {
    pub seq: u32,
    pub mss: Option<u16>,
    pub window: u16,
}

impl Syn {
    pub const fn of(it: &Segment<'_>) -> Self {
        Self { seq: it.seq, mss: it.mss, window: it.window }
    }
}

impl In {
    const fn new(now: Time) -> Self {
        let answers = (0, now);
        Self { nxt: 0, octets: Vec::new(), acks: false, met: None, meets: false, answers }
    }

    /// A SYN came where an answer to ours was waited for: it is answered like a connection's first
    /// (RFC 9293 §3.5), and nothing else follows from it.
    pub fn meets(&mut self, now: Time, syn: Syn) {
        self.met = Some(syn);
        self.meets = self.may_answer(now);
    }

    /// Something came that fits no window. Two ends that disagree would answer each other for ever.
    pub fn answer(&mut self, now: Time) {
        self.acks |= self.may_answer(now);
    }

    fn may_answer(&mut self, now: Time) -> bool {
        if now.since(self.answers.1) >= ANSWERS_TIME {
            self.answers = (0, now);
        }
        let may = self.answers.0 < ANSWERS_MAX;
        self.answers.0 += u8::from(may);
        may
    }

    /// Most connections are idle most of the time: of a long message they keep no room.
    pub fn rest(&mut self) {
        if self.octets.is_empty() && self.octets.capacity() > ROOM {
            self.octets = Vec::new();
        }
    }
}

impl Out {
    fn new(iss: u32) -> Self {
        Self {
            una: iss,
            nxt: iss,
            max: iss,
            queue: VecDeque::new(),
            closes: false,
            fin: None,
            window: Window::default(),
            mss: usize::from(MSS_UNSAID),
            congestion: 0,
            threshold: usize::MAX,
            duplicates: 0,
            recovers: iss,
            timer: Timer::new(),
            again_at: None,
            retries: 0,
            probes: false,
            syn: true,
            begun: false,
            reset: None,
        }
    }

    /// What the far end takes in a segment.
    pub fn takes(&mut self, said: Option<u16>, own: u16) {
        let said = said.unwrap_or(MSS_UNSAID).max(MSS_LEAST).min(own);
        self.mss = usize::from(said);
        self.congestion = self.mss * SEGMENTS_AT_FIRST;
    }

    /// The far end takes so many octets, as the segment with these numbers says.
    pub fn offered(&mut self, window: u16, of: (u32, u32)) {
        let octets = usize::from(window);
        self.window = Window { octets, of, most: self.window.most.max(octets) };
    }

    /// Numbers on their way.
    pub fn in_flight(&self) -> usize {
        between(self.una, self.nxt)
    }

    /// Octets that have not left.
    pub fn unsent(&self) -> usize {
        let fin = usize::from(self.fin.is_some_and(|fin| is_before(fin, self.nxt)));
        let controls = fin + usize::from(!self.begun && self.nxt != self.una);
        self.queue.len().saturating_sub(self.in_flight().saturating_sub(controls))
    }
}

impl Connection {
    /// One that begins here: from our port to the other's, with that first number; `mss` is what
    /// one segment may carry.
    #[must_use]
    pub fn open(now: Time, ports: (u16, u16), iss: u32, mss: u16) -> Self {
        let (state, out, in_) = (State::SynSent, Out::new(iss), In::new(now));
        let (held, resumed) = (None, None);
        let (since, passed) = (now, now);
        Self { state, why: None, ports, own_mss: mss, out, in_, since, passed, held, resumed }
    }

    /// One that a segment begins; `None`: it is no SYN.
    #[must_use]
    pub fn accept(now: Time, syn: &Segment<'_>, iss: u32, mss: u16) -> Option<Self> {
        if !syn.is_first() {
            return None;
        }
        let mut it = Self::open(now, (syn.destination, syn.source), iss, mss);
        it.state = State::SynReceived;
        it.in_.nxt = syn.seq.wrapping_add(1);
        it.out.takes(syn.mss, mss);
        it.out.offered(syn.window, (syn.seq, iss));
        Some(it)
    }

    /// One whose SYN was answered by [`Segment::answer`] and by nobody remembered, as its
    /// acknowledgment comes; `mss` is ours and what the SYN said. `None`: it is no such.
    #[must_use]
    pub fn proven(now: Time, ack: &Segment<'_>, mss: (u16, u16)) -> Option<Self> {
        let begins = ack.flags.has(Flags::SYN) || ack.flags.has(Flags::RST);
        if begins || !ack.flags.has(Flags::ACK) {
            return None;
        }
        let (flags, seq) = (Flags::SYN, ack.seq.wrapping_sub(1));
        let syn = Segment { flags, seq, mss: Some(mss.1), payload: &[], ..*ack };
        let mut it = Self::accept(now, &syn, ack.ack.wrapping_sub(1), mss.0)?;
        (it.out.syn, it.out.nxt, it.out.max) = (false, ack.ack, ack.ack);
        it.receive(now, ack);
        Some(it)
    }

    /// How far it is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Why it is no more.
    #[must_use]
    pub const fn why(&self) -> Option<Why> {
        self.why
    }

    /// When octets last passed, or when it began.
    #[must_use]
    pub const fn passed(&self) -> Time {
        self.passed
    }

    /// Octets that wait to be sent or acknowledged.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.out.queue.len()
    }

    /// Octets that it holds: those that wait, and those that nobody has taken.
    #[must_use]
    pub fn held(&self) -> usize {
        self.out.queue.len() + self.in_.octets.len()
    }

    /// Whether octets may still be given to [`Connection::send`].
    #[must_use]
    pub const fn is_open(&self) -> bool {
        let may = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        may && !self.out.closes
    }

    /// Whether the far end sends no more.
    #[must_use]
    pub const fn is_half_closed(&self) -> bool {
        matches!(self.state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait)
    }

    /// Whether a SYN begins another connection in its place: it is over but for copies, and the SYN
    /// is none of them (RFC 9293 §3.10.7.4).
    #[must_use]
    pub fn makes_way_for(&self, syn: &Segment<'_>) -> bool {
        let is_syn = syn.flags.has(Flags::SYN) && !syn.flags.has(Flags::ACK);
        match self.state {
            State::Closed => true,
            State::TimeWait => is_syn && is_before(self.in_.nxt, syn.seq),
            _ => false,
        }
    }

    /// Appends octets that leave; `false`, and nothing is appended: it takes no more, or there is
    /// no room ([`QUEUE_MAX`]).
    pub fn send(&mut self, octets: &[u8]) -> bool {
        if !self.is_open() || self.out.queue.len() + octets.len() > QUEUE_MAX {
            return false;
        }
        self.out.queue.extend(octets);
        true
    }

    /// No more octets leave than those that wait.
    pub const fn close(&mut self) {
        if self.is_open() {
            self.out.closes = true;
        }
    }

    /// Gives it up: a RST leaves, and it is no more.
    pub fn abort(&mut self) {
        if self.state == State::Closed {
            return;
        }
        if !matches!(self.state, State::SynSent | State::TimeWait) {
            self.out.reset = Some(self.out.nxt);
        }
        self.in_.octets = Vec::new();
        self.over(Why::Aborted);
    }

    /// What came, in order; whoever takes octets takes them out.
    pub const fn incoming(&mut self) -> &mut Vec<u8> {
        &mut self.in_.octets
    }

    pub(crate) fn over(&mut self, why: Why) {
        self.state = State::Closed;
        self.why.get_or_insert(why);
        self.out.queue = VecDeque::new();
        self.out.again_at = None;
        self.in_.acks = false;
    }

    pub(crate) const fn advance(&mut self, now: Time, state: State) {
        self.state = state;
        self.since = now;
    }

    pub(crate) const fn ports(&self) -> (u16, u16) {
        self.ports
    }

    pub(crate) const fn own_mss(&self) -> u16 {
        self.own_mss
    }

    /// Octets of memory.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.out.queue.capacity() + self.in_.octets.capacity()
    }
}
