//! A request on its way from one leg to the other, and what its response needs.

use super::relays::Held;
use machine::identity::{Side, TAG_BYTES, fork_digit};
use machine::slots::{Key, Reuse};
use machine::{Duration, Time};
use runtime::Flow;
use sip::Method;
use sip_stack::realm::RealmId;
use sip_stack::route::Plan;
use sip_stack::session::Asked;
use transaction::{ClientId, Kept, ServerId};

/// Buffers larger than this are given back to the allocator with the record.
const BUFFER_KEPT_MAX: usize = 4096;

/// How far a relay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing came back.
    #[default]
    Calling,
    /// A provisional response came back.
    Proceeding,
    /// The asking side gave up, or we did for it.
    Cancelled,
    /// A 2xx to an INVITE went back and waits for its ACK.
    Answered,
}

/// The realms that a request crosses.
#[derive(Debug, Default)]
pub struct Crossed {
    /// The one it came from.
    pub up: RealmId,
    /// The one it went to.
    pub down: RealmId,
}

/// What is kept of a request, and of its responses.
#[derive(Debug, Default)]
pub struct Texts {
    /// The lines that its responses begin with.
    pub head: Vec<u8>,
    /// Where the fork digit of our tag stands in `head`; 0 is nowhere.
    pub fork_at: usize,
    /// The request as it came, kept while another target could be tried.
    pub request: Vec<u8>,
    /// The 2xx that went back, kept until its ACK.
    pub reply: Vec<u8>,
    /// The Request-URI it left with.
    pub uri: Vec<u8>,
    /// Lines that its responses have: by them the core knows who answers, and its records of
    /// charging know the answer.
    pub told: Box<[u8]>,
}

/// When a request came, and when it wants to be looked at.
#[derive(Debug)]
pub struct Timing {
    /// When it came.
    pub started: Time,
    /// When the next target is tried, or the 2xx is sent again.
    pub again_at: Time,
    /// The present interval of that.
    pub interval: Duration,
    /// When it is given up.
    pub end_at: Time,
}

impl Default for Timing {
    fn default() -> Self {
        let (started, interval) = (Time::ZERO, Duration::ZERO);
        Self { started, again_at: Time::MAX, interval, end_at: Time::MAX }
    }
}

/// What the registrar knows of a request.
#[derive(Debug, Default)]
pub struct Registration {
    /// Its record, when it is a REGISTER on its way to the core.
    pub pending: Option<Key>,
    /// The binding it was sent by.
    pub sender: Option<Key>,
}

/// One request between two legs.
#[derive(Debug)]
pub struct Relay {
    /// The transaction it came in with.
    pub server: Option<ServerId>,
    /// The transaction it went out with.
    pub client: Option<ClientId>,
    /// The call it belongs to or began.
    pub call: Option<Key>,
    /// The side it came from.
    pub from: Side,
    /// Whether it began its dialog or stands outside of any.
    pub initial: bool,
    /// Its method.
    pub method: Method,
    /// How far it is.
    pub phase: Phase,
    /// The secret its tokens and its trail are made from.
    pub secret: u128,
    /// Where responses go.
    pub upstream: Flow,
    /// The realms it came from and went to.
    pub realms: Crossed,
    /// The number in its CSeq as it came.
    pub cseq_up: u32,
    /// What is kept of it, and of its responses.
    pub texts: Texts,
    /// The fork it went to, inside a dialog.
    pub fork: u8,
    /// Where it went and what could be tried next.
    pub plan: Option<Plan>,
    /// When it came, and when it wants to be looked at.
    pub timing: Timing,
    /// What the registrar knows of it.
    pub registration: Registration,
    /// Its session interval, as it left.
    pub session: Asked,
    /// Whether it is the NOTIFY that ends its subscription.
    pub ends_subscription: bool,
    /// Whether ringing was reported.
    pub ringing: bool,
    /// What it takes of the memory.
    pub held: Held,
}

impl Default for Relay {
    fn default() -> Self {
        Self {
            server: None,
            client: None,
            call: None,
            from: Side::A,
            initial: false,
            method: Method::Other,
            phase: Phase::Calling,
            secret: 0,
            upstream: Flow::NOWHERE,
            realms: Crossed::default(),
            cseq_up: 0,
            texts: Texts::default(),
            fork: 0,
            plan: None,
            timing: Timing::default(),
            registration: Registration::default(),
            session: Asked::default(),
            ends_subscription: false,
            ringing: false,
            held: Held::default(),
        }
    }
}

impl Reuse for Relay {
    fn reuse(&mut self) {
        let texts = &mut self.texts;
        let texts = Texts {
            head: emptied(&mut texts.head),
            fork_at: 0,
            request: emptied(&mut texts.request),
            reply: emptied(&mut texts.reply),
            uri: emptied(&mut texts.uri),
            told: Box::default(),
        };
        *self = Self { texts, ..Self::default() };
    }
}

fn emptied(buffer: &mut Vec<u8>) -> Vec<u8> {
    let mut buffer = core::mem::take(buffer);
    buffer.clear();
    if buffer.capacity() > BUFFER_KEPT_MAX {
        buffer = Vec::new();
    }
    buffer
}

impl Relay {
    /// When the relay wants to be looked at.
    pub fn due(&self) -> Time {
        self.timing.again_at.min(self.timing.end_at)
    }

    /// Turns our tag in the responses to come into that of a fork.
    pub fn set_fork(&mut self, fork: u8) {
        if self.texts.fork_at != 0 {
            self.texts.head[self.texts.fork_at] = fork_digit(fork);
        }
    }

    /// The response `bytes` as it is kept: without our head at `at`, which can be made again from
    /// the request, where it is still there.
    pub fn kept<'a>(&'a self, at: usize, bytes: &'a [u8]) -> Kept<'a> {
        let is_there = bytes.get(at..).is_some_and(|rest| rest.starts_with(&self.texts.head));
        let head = if is_there { at..at + self.texts.head.len() } else { 0..0 };
        let end = self.texts.fork_at + 1;
        let tag = match self.texts.fork_at {
            0 => None,
            _ => self.texts.head.get(end.saturating_sub(TAG_BYTES)..end),
        };
        Kept { bytes, head, tag: tag.unwrap_or_default() }
    }

    /// Names the trail in the service assurance.
    pub fn trail(&self) -> u64 {
        super::trail(self.secret)
    }
}
