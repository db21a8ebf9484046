//! A subscription as tagged fields, for the other node of a pair: it goes on in the same dialog.

use crate::set::LASTS_MAX;
use crate::settings::Row;
use crate::watch::{FarEnd, Stage, Watch};
use dialog::{RouteSet, Subscription, SubscriptionPhase};
use machine::Time;
use machine::narrow::{at_most, halves};
use registrar::Aor;
use replica::field::{self, Fields};
use replica::flow;

mod tag {
    // 1 and 2 are the key.
    pub const STAGE: u8 = 3;
    pub const REALM: u8 = 4;
    pub const IDENTITY: u8 = 5;
    pub const CORE: u8 = 6;
    pub const SECRET_LOW: u8 = 7;
    pub const SECRET_HIGH: u8 = 8;
    pub const TAG: u8 = 9;
    pub const TARGET: u8 = 10;
    pub const ROUTES: u8 = 11;
    pub const FAR_CSEQ: u8 = 12;
    pub const VERSION: u8 = 13;
    pub const CSEQ: u8 = 14;
    pub const GRANTED: u8 = 15;
    pub const EXPIRES: u8 = 16;
    pub const RENEW: u8 = 17;
    pub const DUE: u8 = 18;
    pub const FAILURES: u8 = 19;
    pub const REFUSED: u8 = 20;
    pub const PHASE: u8 = 21;
    pub const UNTIL: u8 = 22;
    pub const PATH: u8 = 23;
    pub const BEGAN: u8 = 24;
}

const PHASES: [SubscriptionPhase; 4] = [
    SubscriptionPhase::NotifyWait,
    SubscriptionPhase::Pending,
    SubscriptionPhase::Active,
    SubscriptionPhase::Terminated,
];

/// Appends a subscription of one of those realms.
pub(crate) fn write(watch: &Watch, rows: &[Row], out: &mut Vec<u8>) {
    let [low, high] = halves(watch.secret);
    let numbers = [
        (tag::STAGE, watch.stage as u64),
        (tag::SECRET_LOW, low),
        (tag::SECRET_HIGH, high),
        (tag::CSEQ, watch.cseq.into()),
        (tag::BEGAN, watch.began.as_nanos()),
        (tag::GRANTED, watch.granted_s.into()),
        (tag::EXPIRES, watch.expires.as_nanos()),
        (tag::RENEW, watch.renew.as_nanos()),
        (tag::DUE, watch.due.as_nanos()),
        (tag::FAILURES, watch.failures.into()),
        (tag::REFUSED, watch.refused.into()),
    ];
    numbers.into_iter().for_each(|(tag, number)| field::number(out, tag, number));
    let realm = rows.get(watch.realm).map_or("", |row| row.realm.name.as_str());
    field::bytes(out, tag::REALM, realm.as_bytes());
    field::bytes(out, tag::IDENTITY, &watch.identity);
    field::bytes(out, tag::PATH, &watch.path);
    field::nested(out, tag::CORE, |out| flow::write(out, &watch.core));
    let far = &watch.far;
    let texts = [(tag::TAG, &far.tag[..]), (tag::TARGET, &far.target)];
    texts.into_iter().for_each(|(tag, text)| field::bytes(out, tag, text));
    field::bytes(out, tag::ROUTES, far.routes.text());
    for (tag, number) in [(tag::FAR_CSEQ, far.cseq), (tag::VERSION, far.version)] {
        if let Some(number) = number {
            field::number(out, tag, number.into());
        }
    }
    if let Some(usage) = &watch.usage {
        field::number(out, tag::PHASE, usage.phase() as u64);
        let until = usage.deadline().unwrap_or(Time::ZERO);
        field::number(out, tag::UNTIL, until.as_nanos());
    }
}

/// A subscription as it was written; `None`: it cannot be read, or its realm is none of those.
pub(crate) fn read(now: Time, fields: &[u8], rows: &[Row]) -> Option<Watch> {
    let find = |wanted| Fields::new(fields).find(|(tag, _)| *tag == wanted).map(|(_, it)| it);
    let number = |tag| find(tag).map_or(0, field::read);
    let until = |tag| Time::from_nanos(number(tag)).min(now + LASTS_MAX + LASTS_MAX);
    let word = |tag| find(tag).map(|value| at_most(field::read(value), u32::MAX));
    let name = find(tag::REALM)?;
    let stage = Stage::ALL.into_iter().find(|it| *it as u64 == number(tag::STAGE))?;
    let phase = find(tag::PHASE).map(field::read);
    let phase = phase.map(|it| PHASES.into_iter().find(|phase| *phase as u64 == it));
    let identity = find(tag::IDENTITY)?;
    Aor::parse(identity)?;
    Some(Watch {
        realm: rows.iter().position(|row| row.realm.name.as_bytes() == name)?,
        identity: identity.into(),
        path: find(tag::PATH)?.into(),
        core: flow::read(find(tag::CORE)?),
        secret: u128::from(number(tag::SECRET_HIGH)) << 64 | u128::from(number(tag::SECRET_LOW)),
        stage,
        usage: match phase {
            Some(phase) => Some(Subscription::restored(phase?, until(tag::UNTIL))),
            None => None,
        },
        far: FarEnd {
            tag: find(tag::TAG)?.into(),
            target: find(tag::TARGET)?.into(),
            routes: RouteSet::restored(find(tag::ROUTES)?)?,
            cseq: word(tag::FAR_CSEQ),
            version: word(tag::VERSION),
        },
        cseq: at_most(number(tag::CSEQ), u32::MAX),
        began: Time::from_nanos(number(tag::BEGAN)).min(now),
        granted_s: at_most(number(tag::GRANTED), u32::MAX),
        expires: until(tag::EXPIRES),
        renew: until(tag::RENEW),
        due: until(tag::DUE),
        failures: at_most(number(tag::FAILURES), u8::MAX),
        refused: at_most(number(tag::REFUSED), u16::MAX),
        is_unneeded: false,
    })
}
