//! Bindings as deltas. The standby gets the key of the registrar's hash as well: the names that
//! the core knows a binding by are made with it.

use crate::binding::{Binding, Text};
use crate::registrar::Registrar;
use machine::KeyedHash;
use machine::Time;
use machine::narrow::at_most;
use machine::slots::SlotChange;
use replica::field::{self, Fields};
use replica::flow;
use replica::record::{self, read_key, write_key};
use runtime::Effects;
use sip_stack::RealmId;

/// Kinds of the registrar's deltas stand from here on; those of its function below.
pub const KINDS_FROM: u8 = 16;
const SECRET: u8 = KINDS_FROM;
const BINDING: u8 = KINDS_FROM + 1;
const BINDING_ENDED: u8 = KINDS_FROM + 2;

mod tag {
    // 1 and 2 are the key.
    pub const REALM: u8 = 3;
    pub const CSEQ: u8 = 4;
    pub const GRANTED: u8 = 5;
    pub const FLOW: u8 = 6;
    pub const CALL_ID: u8 = 7;
    pub const REGISTERED: u8 = 8;
    pub const EXPIRES: u8 = 9;
    pub const CORE_EXPIRES: u8 = 10;
    pub const CORE_REFRESH: u8 = 11;
    pub const OUTBOUND: u8 = 12;
    pub const AOR: u8 = 13;
    pub const CONTACT: u8 = 14;
    pub const AGENT: u8 = 15;
    pub const SERVICE_ROUTE: u8 = 16;
    pub const ASSOCIATED: u8 = 17;
    pub const KEY: u8 = 18;
}

const TEXTS: [(u8, Text); 5] = [
    (tag::AOR, Text::Aor),
    (tag::CONTACT, Text::Contact),
    (tag::AGENT, Text::Agent),
    (tag::SERVICE_ROUTE, Text::ServiceRoute),
    (tag::ASSOCIATED, Text::Associated),
];

impl Registrar {
    /// Notes which bindings change from now on, or no more.
    pub const fn watch(&mut self, is_watched: bool) {
        self.bindings.watch(is_watched);
    }

    /// The copy becomes the registrar itself.
    pub fn settle(&mut self) {
        self.bindings.settle();
    }

    /// The next bindings of a snapshot.
    pub fn touch(&mut self, from: u32, most: usize) -> Option<u32> {
        self.bindings.touch(from, most)
    }

    /// Tells the key of the hash.
    pub fn tell_secret(&self, out: &mut Effects) {
        out.delta(|buffer| {
            buffer.push(SECRET);
            field::bytes(buffer, tag::KEY, &self.secret);
        });
    }

    /// Tells what changed.
    pub fn tell(&mut self, out: &mut Effects, scratch: &mut Vec<u8>) {
        self.bindings.tell(|told| match told {
            SlotChange::Stands(_, binding, _) if !binding.is_active() => 0,
            SlotChange::Stands(key, binding, was) => record::tell(out, scratch, was, |buffer| {
                buffer.push(BINDING);
                write_key(buffer, key);
                write_binding(binding, buffer);
            }),
            SlotChange::Gone(next) => {
                record::tell_key(out, BINDING_ENDED, next);
                0
            }
        });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let keys: Vec<_> = self.bindings.iter().map(|(key, _)| key).collect();
        for key in keys {
            if self.bindings.at(key).is_some_and(Binding::is_active) {
                self.unlist(key);
            }
        }
        self.bindings.clear();
        self.pending.clear();
        self.over.clear();
        self.closed.clear();
    }

    /// Makes the change that the active node made; a binding in none of so many realms is not
    /// taken.
    pub fn apply(&mut self, realms: usize, kind: u8, fields: &[u8]) {
        if kind == SECRET {
            let found = Fields::new(fields).find(|&(tag, _)| tag == tag::KEY);
            if let Some(key) = found.and_then(|(_, value)| <[u8; 16]>::try_from(value).ok()) {
                self.secret = key;
                self.hash = KeyedHash::new(&key);
            }
            return;
        }
        // A kind of a later version is none of these.
        let Some(key) = read_key(fields).filter(|_| matches!(kind, BINDING | BINDING_ENDED)) else {
            return;
        };
        if let Some(known) = self.bindings.user_of(key.index)
            && self.bindings.at(known).is_some_and(Binding::is_active)
        {
            self.unlist(known);
        }
        if kind == BINDING_ENDED {
            return self.bindings.take_away(key);
        }
        let Some(binding) = self.bindings.put(key) else { return };
        restore(binding, fields);
        let expires = binding.expires;
        if binding.is_active() && usize::from(binding.realm.0) < realms {
            self.bindings.arm(key, expires);
            self.list(key);
        } else {
            self.bindings.take_away(key);
        }
    }
}

fn write_binding(binding: &Binding, out: &mut Vec<u8>) {
    let numbers = [
        (tag::REALM, binding.realm.0.into()),
        (tag::CSEQ, binding.cseq.into()),
        (tag::GRANTED, binding.granted_s.into()),
        (tag::CALL_ID, binding.call_id),
        (tag::REGISTERED, binding.registered.as_nanos()),
        (tag::EXPIRES, binding.expires.as_nanos()),
        (tag::CORE_EXPIRES, binding.core_expires.as_nanos()),
        (tag::CORE_REFRESH, binding.core_refresh.as_nanos()),
        (tag::OUTBOUND, binding.is_outbound.into()),
    ];
    for (tag, number) in numbers {
        field::number(out, tag, number);
    }
    field::nested(out, tag::FLOW, |out| flow::write(out, &binding.flow));
    for (tag, which) in TEXTS {
        field::bytes(out, tag, binding.text(which));
    }
}

fn restore(binding: &mut Binding, fields: &[u8]) {
    let mut texts = [&b""[..]; 5];
    for (tag, value) in Fields::new(fields) {
        let number = field::read(value);
        match tag {
            tag::REALM => binding.realm = RealmId(at_most(number, u16::MAX)),
            tag::CSEQ => binding.cseq = at_most(number, u32::MAX),
            tag::GRANTED => binding.granted_s = at_most(number, u32::MAX),
            tag::FLOW => binding.flow = flow::read(value),
            tag::CALL_ID => binding.call_id = number,
            tag::REGISTERED => binding.registered = Time::from_nanos(number),
            tag::EXPIRES => binding.expires = Time::from_nanos(number),
            tag::CORE_EXPIRES => binding.core_expires = Time::from_nanos(number),
            tag::CORE_REFRESH => binding.core_refresh = Time::from_nanos(number),
            tag::OUTBOUND => binding.is_outbound = number == 1,
            _ => {
                if let Some(at) = TEXTS.iter().position(|&(text, _)| text == tag) {
                    texts[at] = value;
                }
            }
        }
    }
    if !binding.set_texts(texts) {
        binding.registered = Time::MAX;
    }
}
