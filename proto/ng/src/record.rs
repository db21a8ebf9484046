//! A call as a standby knows it: names, dialogs and session as tagged fields.
//!
//! Of the flags of its commands those stay that say where packets may come from: each offer says
//! the others anew. One that waits for its answer is answered with the usual ones.

use crate::call::{Call, Other, TAGS_MAX};
use crate::engine::NAME_OCTETS_MAX;
use crate::flags;
use anchor::{Fork, Policy, Session};
use machine::Time;
use wire::field::{self, Fields};

mod tag {
    pub const NUMBER: u8 = 1;
    pub const NAME: u8 = 2;
    pub const TAG: u8 = 3;
    pub const INTERFACE_A: u8 = 4;
    pub const INTERFACE_B: u8 = 5;
    pub const OTHER: u8 = 6;
    pub const CURRENT: u8 = 7;
    pub const CREATED: u8 = 8;
    pub const SIGNALLED: u8 = 9;
    pub const LATCHING_A: u8 = 10;
    pub const LATCHING_B: u8 = 11;
    pub const SESSION: u8 = 12;
}

mod other_tag {
    pub const TAG: u8 = 1;
    pub const BRANCH: u8 = 2;
    pub const IS_GONE: u8 = 3;
}

const LATCHING: u64 = 1;
const ANYWHERE: u64 = 2;

/// Appends a call of that name.
pub(crate) fn write(name: &[u8], call: &Call, out: &mut Vec<u8>) {
    field::number(out, tag::NUMBER, call.number);
    field::bytes(out, tag::NAME, name);
    field::bytes(out, tag::TAG, &call.tag);
    for (tag, interface) in [tag::INTERFACE_A, tag::INTERFACE_B].iter().zip(&call.interfaces) {
        if let Some(interface) = interface {
            field::bytes(out, *tag, interface);
        }
    }
    for other in &call.others {
        field::nested(out, tag::OTHER, |out| {
            field::bytes(out, other_tag::TAG, &other.tag);
            if let Some(branch) = &other.branch {
                field::bytes(out, other_tag::BRANCH, branch);
            }
            field::number(out, other_tag::IS_GONE, other.is_gone.into());
        });
    }
    if let Some(fork) = call.current {
        field::number(out, tag::CURRENT, fork.0.into());
    }
    field::number(out, tag::CREATED, call.created.as_nanos());
    field::number(out, tag::SIGNALLED, call.signalled.as_nanos());
    for (tag, policy) in [tag::LATCHING_A, tag::LATCHING_B].iter().zip(&call.policies) {
        let latching = if policy.latching { LATCHING } else { 0 };
        let anywhere = if policy.latching_anywhere { ANYWHERE } else { 0 };
        field::number(out, *tag, latching | anywhere);
    }
    field::nested(out, tag::SESSION, |out| call.session.record(out));
}

/// A call and its name; `None`: it is none.
pub(crate) fn read(fields: &[u8]) -> Option<(Box<[u8]>, Call)> {
    let (mut number, mut name, mut own, mut session) = (None, None, None, None);
    let (mut interfaces, mut policies) = ([None, None], [flags::usual(), flags::usual()]);
    let (mut others, mut current) = (Vec::new(), None);
    let (mut created, mut signalled) = (Time::ZERO, Time::ZERO);
    let text = |value: &[u8]| -> Option<Box<[u8]>> {
        (value.len() <= NAME_OCTETS_MAX).then(|| value.into())
    };
    for (tag, value) in Fields::new(fields) {
        match tag {
            tag::NUMBER => number = Some(field::read(value)),
            tag::NAME => name = text(value),
            tag::TAG => own = text(value),
            tag::INTERFACE_A => interfaces[0] = text(value),
            tag::INTERFACE_B => interfaces[1] = text(value),
            tag::OTHER if others.len() < TAGS_MAX => others.push(other(value)?),
            tag::CURRENT => current = Some(Fork(u16::try_from(field::read(value)).ok()?)),
            tag::CREATED => created = Time::from_nanos(field::read(value)),
            tag::SIGNALLED => signalled = Time::from_nanos(field::read(value)),
            tag::LATCHING_A => latching(&mut policies[0], value),
            tag::LATCHING_B => latching(&mut policies[1], value),
            tag::SESSION => session = Some(Session::restore(value)?),
            _ => {}
        }
    }
    let call = Call {
        number: number?,
        session: session?,
        policies,
        interfaces,
        tag: own?,
        others,
        current,
        created,
        signalled,
        heard: signalled,
        packets: 0,
        held: 0,
        is_coded: false,
    };
    Some((name?, call))
}

fn other(fields: &[u8]) -> Option<Other> {
    let mut other = Other { tag: Box::default(), branch: None, is_gone: false };
    for (tag, value) in Fields::new(fields) {
        match tag {
            _ if value.len() > NAME_OCTETS_MAX => return None,
            other_tag::TAG => other.tag = value.into(),
            other_tag::BRANCH => other.branch = Some(value.into()),
            other_tag::IS_GONE => other.is_gone = field::read(value) == 1,
            _ => {}
        }
    }
    Some(other)
}

fn latching(policy: &mut Policy, value: &[u8]) {
    let number = field::read(value);
    policy.latching = number & LATCHING != 0;
    policy.latching_anywhere = number & ANYWHERE != 0;
}
