//! The last step of every message: counted, captured, sent.

use crate::capture::{Capture, Seen};
use crate::facts::Fact;
use crate::token::hex;
use crate::write::number;
use event::Sheet;
use machine::Time;
use runtime::{Effects, Flow};

/// What every message passes on its way in and out.
#[derive(Debug)]
pub struct Wire {
    /// The way to the collector.
    pub capture: Capture,
    /// The counters.
    pub facts: Sheet<Fact>,
    scratch: Vec<u8>,
}

impl Wire {
    /// With this way to the collector and all counters at zero.
    pub fn new(capture: Capture) -> Self {
        Self { capture, facts: Sheet::new(), scratch: Vec::new() }
    }

    /// A message came in.
    #[inline]
    pub fn received(&mut self, now: Time, flow: &Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (flow.remote, flow.local);
        let transport = flow.transport;
        self.capture.message(now, &Seen { source, destination, transport, trail, bytes });
    }

    /// Sends what `write` writes.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        to: Flow,
        trail: Option<u64>,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        out.send(to, write);
        self.facts.add(Fact::MessagesSent, 1);
        if self.capture.is_on() {
            let Some((to, bytes)) = out.last() else { return };
            let (source, destination) = (to.local, to.remote);
            let transport = to.transport;
            self.capture.message(now, &Seen { source, destination, transport, trail, bytes });
        }
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

/// A value in an event.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    /// Text as it stood in a message; what is not UTF-8 is replaced.
    Text(&'a [u8]),
    /// A number.
    Number(u64),
}

/// A JSON string.
fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &octet in text {
        match octet {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', octet]),
            0x20..0x7f => out.push(octet),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&hex(u64::from(octet))[14..]);
            }
        }
    }
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
