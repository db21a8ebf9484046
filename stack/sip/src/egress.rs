//! The last step of every message: counted, captured, sent.

use crate::realm::{RealmId, Realms};
use event::{Metric, Metrics};
use machine::Time;
use manipulation::{Applied, Direction, RuleConfig, Rules, Scratch};
use runtime::{Effects, Flow, PortId};
use sip::{MESSAGE_BYTES_MAX, Malformed, Message, TOO_LARGE_SPEC};
use trail::{Capture, Event, Field, Seen, protocol_of};

/// A message that rules cannot be applied to.
pub const UNRULED: Malformed =
    Malformed::new(0, "header rules make the message too long", TOO_LARGE_SPEC);

/// A function's metrics of the messages that leave.
#[derive(Debug, Clone, Copy)]
pub struct Counted<F> {
    /// Sent.
    pub sent: F,
    /// Sent again: they have passed the rules already.
    pub resent: F,
    /// Not sent: rules cannot be applied to them, or they are too long.
    pub unsendable: F,
}

/// What every message passes on its way in and out.
#[derive(Debug)]
pub struct Egress<F: Metric> {
    /// The way to the collector.
    pub capture: Capture,
    /// The counters.
    pub metrics: Metrics<F>,
    counted: Counted<F>,
    /// Of what is captured in part, these are never left out: of what comes, and of what leaves.
    tells: [fn(&[u8]) -> bool; 2],
    /// Rules that change what crosses the border of a realm.
    pub rules: Rules,
    /// Ports whose realm has rules for what leaves.
    ruled: Vec<(PortId, RealmId)>,
    splices: Scratch,
    draft: Vec<u8>,
    /// A message as the rules for what comes in changed it; empty between steps.
    pub inbox: Vec<u8>,
    /// What is captured with the message that is dealt with, of the way by which it came; empty:
    /// nothing.
    pub tags: Vec<u8>,
    /// Ports of whose messages the way is known only when they leave: [`Capture::tag`] is told, by
    /// the number of what is sent.
    pub tagged_later: Vec<PortId>,
}

impl<F: Metric> Egress<F> {
    /// With this way to the collector and all counters at zero.
    #[must_use]
    pub fn new(capture: Capture, counted: Counted<F>) -> Self {
        Self {
            capture,
            metrics: Metrics::new(),
            counted,
            tells: [is_wish, is_final],
            rules: Rules::default(),
            ruled: Vec::new(),
            splices: Scratch::default(),
            draft: Vec::new(),
            inbox: Vec::new(),
            tags: Vec::new(),
            tagged_later: Vec::new(),
        }
    }

    /// The same for a function of which each message tells something by itself: where a part of the
    /// trails is captured, all of its messages are.
    #[must_use]
    pub fn telling_all(capture: Capture, counted: Counted<F>) -> Self {
        Self { tells: [|_| true; 2], ..Self::new(capture, counted) }
    }

    /// Takes the rules of a validated configuration.
    pub fn rule(&mut self, rules: &[RuleConfig], realms: &Realms) {
        let names: Vec<&str> = realms.rows().iter().map(|realm| realm.name.as_str()).collect();
        self.rules = Rules::compile(rules, &names).unwrap_or_default();
        let listeners = realms.rows().iter().flat_map(|realm| &realm.listeners);
        let ruled =
            listeners.filter(|listener| self.rules.has_any(listener.realm.0, Direction::Out));
        self.ruled = ruled.map(|listener| (listener.port, listener.realm)).collect();
    }

    /// Appends the message as the rules for what comes in change it.
    pub fn ruled_in(
        &mut self,
        realm: RealmId,
        message: &Message<'_>,
        inbox: &mut Vec<u8>,
    ) -> Applied {
        let wanted = self.rules.has_any(realm.0, Direction::In)
            && self.rules.applies(realm.0, Direction::In, message);
        let splices = &mut self.splices;
        if !wanted {
            return Applied::Unchanged;
        }
        self.rules.apply(realm.0, Direction::In, message, splices, inbox)
    }

    /// Sends what `write` writes as the rules for what leaves change it; nothing when they cannot
    /// be applied.
    fn send_ruled(
        &mut self,
        realm: RealmId,
        to: Flow,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.draft.clear();
        write(&mut self.draft);
        let (draft, rules, splices) = (&self.draft, &self.rules, &mut self.splices);
        out.send(to, |buffer| {
            if draft.len() > MESSAGE_BYTES_MAX {
                return self.metrics.add(self.counted.unsendable, 1);
            }
            match rules.apply_unread(realm.0, Direction::Out, draft, splices, buffer) {
                Applied::Unchanged => buffer.extend_from_slice(draft),
                Applied::Changed => {}
                Applied::Failed => self.metrics.add(self.counted.unsendable, 1),
            }
        });
    }

    /// A message came in.
    #[inline]
    pub fn received(&mut self, now: Time, flow: &Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (flow.remote, flow.local);
        let protocol = protocol_of(flow.transport);
        let seen = Seen { source, destination, protocol, trail, bytes };
        match self.tags.is_empty() {
            true => self.capture.message(now, &seen, self.tells[0]),
            false => self.capture.message_tagged(now, &seen, &self.tags, self.tells[0]),
        }
    }

    /// Sends what `write` writes. What the rules for what leaves cannot be applied to, or what is
    /// longer than a message may be, is not sent: then [`Effects::last`] is `None`.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        to: Flow,
        trail: Option<u64>,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        match self.ruled.iter().find(|(port, _)| *port == to.port) {
            Some(&(_, realm)) => self.send_ruled(realm, to, out, write),
            None => self.send_whole(to, out, write),
        }
        self.left(now, trail, out);
    }

    /// Sends past the rules what `write` writes: an answer that somebody must have, where they
    /// cannot be applied to it.
    #[cold]
    pub fn send_unruled(
        &mut self,
        now: Time,
        to: Flow,
        trail: Option<u64>,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.send_whole(to, out, write);
        self.left(now, trail, out);
    }

    /// Sends what `write` writes, unless it is longer than a message may be.
    #[inline]
    fn send_whole(&self, to: Flow, out: &mut Effects, write: impl FnOnce(&mut Vec<u8>)) {
        out.send(to, |buffer| {
            let start = buffer.len();
            write(buffer);
            if buffer.len() - start > MESSAGE_BYTES_MAX {
                buffer.truncate(start);
                self.metrics.add(self.counted.unsendable, 1);
            }
        });
    }

    /// Whether rules may change what leaves to there.
    #[must_use]
    pub fn is_ruled(&self, to: Flow) -> bool {
        self.ruled.iter().any(|(port, _)| *port == to.port)
    }

    /// Sends once more what has passed the rules already.
    pub fn send_again(
        &mut self,
        now: Time,
        to: Flow,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.metrics.add(self.counted.resent, 1);
        out.send(to, write);
        self.left(now, None, out);
    }

    /// Counts and captures the message that was just sent.
    #[inline]
    fn left(&mut self, now: Time, trail: Option<u64>, out: &Effects) {
        let Some((to, bytes)) = out.last() else { return };
        self.metrics.add(self.counted.sent, 1);
        if self.capture.is_on() {
            let (source, destination) = (to.local, to.remote);
            let protocol = protocol_of(to.transport);
            let seen = Seen { source, destination, protocol, trail, bytes };
            if self.tagged_later.contains(&to.port) {
                let number = out.len() - 1;
                self.capture.message_untagged(now, &seen, number, self.tells[1]);
            } else {
                self.capture.message(now, &seen, self.tells[1]);
            }
        }
    }

    /// Captures a message that was sent past the rules.
    pub fn sent(&mut self, now: Time, to: Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (to.local, to.remote);
        let protocol = protocol_of(to.transport);
        let seen = Seen { source, destination, protocol, trail, bytes };
        self.capture.message(now, &seen, self.tells[1]);
    }

    /// Tells the service assurance what happened.
    pub fn event(
        &mut self,
        now: Time,
        flow: &Flow,
        trail: u64,
        event: Event,
        fields: &[(&str, Field<'_>)],
    ) {
        self.capture.event(now, flow, trail, event, fields);
    }
}

/// Whether a message is a request, but for ACK and PRACK.
fn is_wish(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"SIP/2.0 ") && !bytes.starts_with(b"ACK ") && !bytes.starts_with(b"PRACK ")
}

/// Whether a message is a final response.
fn is_final(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SIP/2.0 ") && !bytes.starts_with(b"SIP/2.0 1")
}
