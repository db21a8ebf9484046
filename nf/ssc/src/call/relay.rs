//! A request on its way from one leg to the other, and what its response needs.

use super::relays::Held;
use super::session::Asked;
use machine::identity::{Side, TAG_BYTES, fork_digit};
use machine::slots::{Key, Reuse};
use machine::{Duration, Time};
use runtime::Flow;
use sip::Method;
use sip_stack::realm::RealmId;
use sip_stack::route::Plan;
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
    /// The realm it came from.
    pub realm_up: RealmId,
    /// The realm it went to.
    pub realm_down: RealmId,
    /// The number in its CSeq as it came.
    pub cseq_up: u32,
    /// The lines that its responses begin with.
    pub head: Vec<u8>,
    /// Where the fork digit of our tag stands in `head`; 0 is nowhere.
    pub fork_at: usize,
    /// The fork it went to, inside a dialog.
    pub fork: u8,
    /// The request as it came, kept while another target could be tried.
    pub request: Vec<u8>,
    /// The 2xx that went back, kept until its ACK.
    pub reply: Vec<u8>,
    /// The Request-URI it left with.
    pub uri: Vec<u8>,
    /// Where it went and what could be tried next.
    pub plan: Option<Plan>,
    /// When it came.
    pub started: Time,
    /// The registrar's record, when it is a REGISTER on its way to the core.
    pub register: Option<Key>,
    /// The binding it was sent by.
    pub subscriber: Option<Key>,
    /// Its session interval, as it left.
    pub session: Asked,
    /// Whether it is the NOTIFY that ends its subscription.
    pub ends_subscription: bool,
    /// Whether ringing was reported.
    pub ringing: bool,
    /// When the next target is tried, or the 2xx is sent again.
    pub again_at: Time,
    /// The present interval of that.
    pub interval: Duration,
    /// When it is given up.
    pub end_at: Time,
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
            realm_up: RealmId(0),
            realm_down: RealmId(0),
            cseq_up: 0,
            head: Vec::new(),
            fork_at: 0,
            fork: 0,
            request: Vec::new(),
            reply: Vec::new(),
            uri: Vec::new(),
            plan: None,
            started: Time::ZERO,
            register: None,
            subscriber: None,
            session: Asked::default(),
            ends_subscription: false,
            ringing: false,
            again_at: Time::MAX,
            interval: Duration::ZERO,
            end_at: Time::MAX,
            held: Held::default(),
        }
    }
}

impl Reuse for Relay {
    fn reuse(&mut self) {
        let head = emptied(&mut self.head);
        let request = emptied(&mut self.request);
        let reply = emptied(&mut self.reply);
        let uri = emptied(&mut self.uri);
        *self = Self { head, request, reply, uri, ..Self::default() };
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
        self.again_at.min(self.end_at)
    }

    /// Turns our tag in the responses to come into that of a fork.
    pub fn set_fork(&mut self, fork: u8) {
        if self.fork_at != 0 {
            self.head[self.fork_at] = fork_digit(fork);
        }
    }

    /// The response `bytes` as it is kept: without our head at `at`, which can be made again from
    /// the request, where it is still there.
    pub fn kept<'a>(&'a self, at: usize, bytes: &'a [u8]) -> Kept<'a> {
        let is_there = bytes.get(at..).is_some_and(|rest| rest.starts_with(&self.head));
        let head = if is_there { at..at + self.head.len() } else { 0..0 };
        let end = self.fork_at + 1;
        let tag = match self.fork_at {
            0 => None,
            _ => self.head.get(end.saturating_sub(TAG_BYTES)..end),
        };
        Kept { bytes, head, tag: tag.unwrap_or_default() }
    }

    /// Names the trail in the service assurance.
    pub fn trail(&self) -> u64 {
        super::trail(self.secret)
    }
}
