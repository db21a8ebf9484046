//! The last step of every message: counted, captured, sent.

use crate::capture::{Capture, Seen};
use crate::config::Ssc;
use crate::facts::Fact;
use crate::realm::{RealmId, Realms};
use crate::token::hex;
use crate::write::number;
use event::Sheet;
use machine::Time;
use manipulation::{Applied, Direction, Rules, Scratch};
use runtime::{Effects, Flow, PortId};
use sip::{Malformed, Message, TOO_LARGE_SPEC};

/// A message that rules cannot be applied to.
pub const UNRULED: Malformed =
    Malformed::new(0, "header rules make the message too long", TOO_LARGE_SPEC);

/// What every message passes on its way in and out.
#[derive(Debug)]
pub struct Wire {
    /// The way to the collector.
    pub capture: Capture,
    /// The counters.
    pub facts: Sheet<Fact>,
    /// Rules that change what crosses the border of a realm.
    pub rules: Rules,
    /// Ports whose realm has rules for what leaves.
    ruled: Vec<(PortId, RealmId)>,
    splices: Scratch,
    draft: Vec<u8>,
    scratch: Vec<u8>,
}

impl Wire {
    /// With this way to the collector and all counters at zero.
    pub fn new(capture: Capture) -> Self {
        Self {
            capture,
            facts: Sheet::new(),
            rules: Rules::default(),
            ruled: Vec::new(),
            splices: Scratch::default(),
            draft: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Takes the rules of a validated configuration.
    pub fn rule(&mut self, config: &Ssc, realms: &Realms) {
        let names: Vec<&str> = config.realm.iter().map(|realm| realm.name.as_str()).collect();
        self.rules = Rules::compile(&config.rule, &names).unwrap_or_default();
        let doors = realms.rows().iter().flat_map(|realm| &realm.doors);
        let ruled = doors.filter(|door| self.rules.has_any(door.realm.0, Direction::Out));
        self.ruled = ruled.map(|door| (door.port, door.realm)).collect();
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
            match rules.apply_unread(realm.0, Direction::Out, draft, splices, buffer) {
                Applied::Unchanged => buffer.extend_from_slice(draft),
                Applied::Changed => {}
                Applied::Failed => self.facts.add(Fact::Unsendable, 1),
            }
        });
    }

    /// A message came in.
    #[inline]
    pub fn received(&mut self, now: Time, flow: &Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (flow.remote, flow.local);
        let transport = flow.transport;
        let seen = Seen { source, destination, transport, trail, bytes };
        self.capture.message(now, &seen, is_wish);
    }

    /// Sends what `write` writes. What the rules for what leaves cannot be applied to is not sent:
    /// then [`Effects::last`] is `None`.
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
            None => out.send(to, write),
        }
        self.left(now, trail, out);
    }

    /// Sends once more what has passed the rules already.
    pub fn send_again(
        &mut self,
        now: Time,
        to: Flow,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.facts.add(Fact::Resent, 1);
        out.send(to, write);
        self.left(now, None, out);
    }

    /// Counts and captures the message that was just sent.
    #[inline]
    fn left(&mut self, now: Time, trail: Option<u64>, out: &Effects) {
        let Some((to, bytes)) = out.last() else { return };
        self.facts.add(Fact::MessagesSent, 1);
        if self.capture.is_on() {
            let (source, destination) = (to.local, to.remote);
            let transport = to.transport;
            let seen = Seen { source, destination, transport, trail, bytes };
            self.capture.message(now, &seen, is_final);
        }
    }

    /// Captures a message that was sent past the rules.
    pub fn sent(&mut self, now: Time, to: Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (to.local, to.remote);
        let transport = to.transport;
        let seen = Seen { source, destination, transport, trail, bytes };
        self.capture.message(now, &seen, is_final);
    }

    /// Tells the service assurance what happened, in the past tense: a JSON object with `event`
    /// and the given fields.
    pub fn event(
        &mut self,
        now: Time,
        flow: &Flow,
        trail: u64,
        name: &str,
        fields: &[(&str, Field<'_>)],
    ) {
        if !self.capture.is_on() {
            return;
        }
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        text.extend_from_slice(b"{\"event\":");
        quoted(&mut text, name.as_bytes());
        for (key, value) in fields {
            text.push(b',');
            quoted(&mut text, key.as_bytes());
            text.push(b':');
            match value {
                Field::Text(value) => quoted(&mut text, value),
                Field::Number(value) => number(&mut text, *value),
            }
        }
        text.push(b'}');
        let (source, destination) = (flow.remote, flow.local);
        let transport = flow.transport;
        let trail = Some(trail);
        self.capture.event(now, &Seen { source, destination, transport, trail, bytes: &text });
        self.scratch = text;
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

/// A value in an event.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    /// Text as it stood in a message; what is not UTF-8 is replaced.
    Text(&'a [u8]),
    /// A number.
    Number(u64),
}

/// A JSON string.
fn quoted(out: &mut Vec<u8>, mut text: &[u8]) {
    out.push(b'"');
    let is_odd = |octet: &u8| !matches!(octet, 0x20..0x7f) || matches!(octet, b'"' | b'\\');
    while let Some(at) = text.iter().position(is_odd) {
        out.extend_from_slice(&text[..at]);
        match text[at] {
            octet @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', octet]),
            octet => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&hex(u64::from(octet))[14..]);
            }
        }
        text = &text[at + 1..];
    }
    out.extend_from_slice(text);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_so_that_json_reads_it_back() {
        let mut out = Vec::new();
        quoted(&mut out, b"a\"b\\c\r\n\xff");
        let read: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(read, "a\"b\\c\r\n\u{ff}");
    }
}
