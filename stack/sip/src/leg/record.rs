//! A leg as fields of a delta.

use super::{Leg, NOBODY, Span};
use crate::realm::RealmId;
use machine::narrow::{at_most, half};
use machine::slots::Key;
use replica::field::{self, Fields};
use replica::flow;

mod tag {
    pub const REALM: u8 = 1;
    pub const FLOW: u8 = 2;
    pub const FORK: u8 = 3;
    pub const LOCAL_CSEQ: u8 = 4;
    pub const REMOTE_CSEQ: u8 = 5;
    pub const INVITE_CSEQ: u8 = 6;
    pub const TEXT: u8 = 7;
    pub const TARGET_END: u8 = 8;
    pub const ROUTES_END: u8 = 9;
    pub const FORK_AT: u8 = 10;
    pub const TAG: u8 = 11;
    pub const CALL_ID: u8 = 12;
    pub const SEEN: u8 = 13;
    pub const BINDING: u8 = 14;
    pub const CHARGING: u8 = 15;
}

fn number(span: Span) -> u64 {
    u64::from(span.0) << 16 | u64::from(span.1)
}

/// A binding: it has the same key at both nodes.
const fn key(number: u64) -> Key {
    Key { index: half(number >> 32), generation: half(number) }
}

fn unspan(number: u64) -> Span {
    (offset(number >> 16), offset(number & 0xffff))
}

/// An offset that was told; one that no text has where it is too large.
fn offset(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

impl Leg {
    /// Appends everything that the leg is.
    pub fn record(&self, out: &mut Vec<u8>) {
        let numbers = [
            (tag::REALM, self.realm.0.into()),
            (tag::FORK, self.fork.into()),
            (tag::LOCAL_CSEQ, self.local_cseq.into()),
            (tag::REMOTE_CSEQ, self.remote_cseq.into()),
            (tag::INVITE_CSEQ, self.invite_cseq.into()),
            (tag::TARGET_END, self.target_end.into()),
            (tag::ROUTES_END, self.routes_end.into()),
            (tag::FORK_AT, self.fork_at.into()),
            (tag::TAG, number(self.tag)),
            (tag::CALL_ID, number(self.call_id)),
        ];
        for (tag, number) in numbers {
            field::number(out, tag, number);
        }
        field::nested(out, tag::FLOW, |out| flow::write(out, &self.flow));
        if self.binding != NOBODY {
            let Key { index, generation } = self.binding;
            let key = u64::from(index) << 32 | u64::from(generation);
            field::number(out, tag::BINDING, key);
        }
        if self.seen.is_some() {
            field::nested(out, tag::SEEN, |out| flow::write_address(out, self.seen()));
        }
        field::bytes(out, tag::TEXT, &self.text);
        if let Some(line) = &self.charging {
            field::bytes(out, tag::CHARGING, line);
        }
    }

    /// Makes the leg what `record` wrote. Returns whether that is a leg.
    pub fn restore(&mut self, fields: &[u8]) -> bool {
        self.clear();
        for (tag, value) in Fields::new(fields) {
            let number = field::read(value);
            match tag {
                tag::REALM => self.realm = RealmId(at_most(number, u16::MAX)),
                tag::FLOW => self.flow = flow::read(value),
                tag::BINDING => self.binding = key(number),
                tag::SEEN => self.seen = flow::read_address(value).map(Box::new),
                tag::FORK => self.fork = at_most(number, u8::MAX),
                tag::LOCAL_CSEQ => self.local_cseq = at_most(number, u32::MAX),
                tag::REMOTE_CSEQ => self.remote_cseq = at_most(number, u32::MAX),
                tag::INVITE_CSEQ => self.invite_cseq = at_most(number, u32::MAX),
                tag::TEXT => self.text.extend_from_slice(value),
                tag::TARGET_END => self.target_end = offset(number),
                tag::ROUTES_END => self.routes_end = offset(number),
                tag::FORK_AT => self.fork_at = offset(number),
                tag::TAG => self.tag = unspan(number),
                tag::CALL_ID => self.call_id = unspan(number),
                tag::CHARGING => self.charging = Some(value.into()),
                _ => {}
            }
        }
        let ends = [self.target_end, self.routes_end, self.tag.1, self.call_id.1];
        self.text.len() < usize::from(u16::MAX)
            && ends.into_iter().all(|end| usize::from(end) <= self.text.len())
            && self.target_end <= self.routes_end
            && self.tag.0 <= self.tag.1
            && self.call_id.0 <= self.call_id.1
    }
}
