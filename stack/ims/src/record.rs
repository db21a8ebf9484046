//! An agreement as tagged fields, with the keys of its challenge: they travel by the link of the
//! pair alone, which is encrypted, and stand in no log.

use crate::set::{Associated, Identity, LASTS_MAX, Registration, Set, Stage, Usage};
use crate::settings::Row;
use crate::table::{Copied, Copy};
use aka::Secret;
use aka::digest::SessionKeys;
use machine::Time;
use machine::narrow::{at_most, half};
use machine::slots::Key;
use replica::field::{self, Fields};
use replica::flow::{read_address, write_address};
use secagree::{Choice, Ipsec, List, Mechanism, Name};
use std::net::{IpAddr, SocketAddr};

mod tag {
    // 1 and 2 are the key.
    pub const STAGE: u8 = 3;
    pub const REALM: u8 = 4;
    pub const IMPI: u8 = 5;
    pub const SOURCE: u8 = 6;
    pub const CALL: u8 = 7;
    pub const CSEQ: u8 = 8;
    pub const CALL_ID: u8 = 9;
    pub const BEGUN: u8 = 10;
    pub const PROVEN: u8 = 11;
    pub const FLAGS: u8 = 12;
    pub const CLIENT: u8 = 13;
    pub const SERVER: u8 = 14;
    pub const UE: u8 = 15;
    pub const OWN: u8 = 16;
    pub const LOCAL: u8 = 17;
    pub const INSIDE: u8 = 18;
    pub const PORT: u8 = 19;
    pub const REMOTE: u8 = 20;
    pub const ASSOCIATIONS: u8 = 21;
    pub const REGISTERED_UNTIL: u8 = 22;
    pub const EXPIRES: u8 = 23;
    pub const CK: u8 = 24;
    pub const IK: u8 = 25;
    /// Eight octets for each.
    pub const REGISTERED: u8 = 26;
    /// What [`ipsec::Numbers`] reads.
    pub const NUMBERS: u8 = 27;
}

const FROM_CLEAR: u64 = 1;
const BEHIND_NAT: u64 = 2;
const ACCEPTED: u64 = 4;
const USED: u64 = 8;
const DEREGISTERS: u64 = 16;
const OFFER: u64 = 32;

/// The last place in the order in which sets begin; those here go on behind it.
const ORDER_MAX: u64 = u64::MAX / 2;

const STAGES: [Stage; 5] =
    [Stage::Challenged, Stage::Proven, Stage::Current, Stage::Old, Stage::Ending];

/// Appends the numbers of its associations, which `write` makes.
pub(crate) fn write_numbers(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    field::nested(out, tag::NUMBERS, write);
}

/// Appends an agreement of one of those realms.
pub(crate) fn write(copied: &Copied<'_>, rows: &[Row], out: &mut Vec<u8>) {
    let set = copied.set;
    let flag = |is_set: bool, flag: u64| u64::from(is_set) * flag;
    let usage = set.usage;
    let flags = flag(set.is_from_clear, FROM_CLEAR)
        | flag(set.is_behind_nat, BEHIND_NAT)
        | flag(usage.was_accepted, ACCEPTED)
        | flag(usage.is_used, USED)
        | flag(set.registration.deregisters, DEREGISTERS)
        | flag(copied.is_offer, OFFER);
    let numbers = [
        (tag::STAGE, set.stage as u64),
        (tag::BEGUN, set.begun),
        (tag::PROVEN, usage.proven),
        (tag::FLAGS, flags),
        (tag::PORT, set.identity.port.0.into()),
        (tag::REGISTERED_UNTIL, usage.registered_until.as_nanos()),
        (tag::EXPIRES, set.expires.as_nanos()),
    ];
    numbers.into_iter().for_each(|(tag, number)| field::number(out, tag, number));
    if let Some((call, cseq)) = set.register {
        field::number(out, tag::CALL, call);
        field::number(out, tag::CSEQ, cseq.into());
    }
    let realm = rows.get(set.realm).map_or("", |row| row.realm.name.as_str());
    field::bytes(out, tag::REALM, realm.as_bytes());
    field::bytes(out, tag::IMPI, &set.impi);
    field::bytes(out, tag::CALL_ID, &set.registration.call_id);
    for (tag, ip) in [(tag::SOURCE, set.source), (tag::LOCAL, set.local), (tag::INSIDE, set.inside)]
    {
        field::nested(out, tag, |out| write_address(out, SocketAddr::new(ip, 0)));
    }
    field::nested(out, tag::REMOTE, |out| write_address(out, set.identity.remote));
    field::nested(out, tag::CLIENT, |out| set.client.write(out));
    field::nested(out, tag::SERVER, |out| set.server.write(out));
    if let Some(choice) = set.choice {
        field::nested(out, tag::UE, |out| list_of(choice.of).write(out));
    }
    let registered: Vec<[u8; 8]> = copied.registered.iter().map(|it| it.to_be_bytes()).collect();
    field::bytes(out, tag::REGISTERED, registered.as_flattened());
    let Some(Associated { key, own, keys, .. }) = &set.associated else { return };
    field::nested(out, tag::OWN, |out| list_of(*own).write(out));
    field::number(out, tag::ASSOCIATIONS, u64::from(key.generation) << 32 | u64::from(key.index));
    if let Some(keys) = keys {
        field::bytes(out, tag::CK, keys.ck.expose());
        field::bytes(out, tag::IK, keys.ik.expose());
    }
}

/// One mechanism of IPsec as a list, which is written and read.
fn list_of(ipsec: Ipsec) -> List {
    List(vec![Mechanism { name: Name::Ipsec3gpp(ipsec), q: None, extensions: Vec::new() }])
}

/// An agreement as it was written, with the fields of its numbers; `None`: it cannot be read, or
/// none of the realms has its address.
///
/// What would count or last without end is cut: `now` is the time here.
pub(crate) fn read<'a>(now: Time, fields: &'a [u8], rows: &[Row]) -> Option<(Copy, &'a [u8])> {
    let find = |wanted| Fields::new(fields).find(|(tag, _)| *tag == wanted).map(|(_, it)| it);
    let number = |tag| find(tag).map_or(0, field::read);
    let ip = |tag| -> Option<IpAddr> { read_address(find(tag)?).map(|it| it.ip()) };
    let list = |tag| List::read_written(find(tag)?).ok();
    let until = |tag| Time::from_nanos(number(tag)).min(now + LASTS_MAX);
    let order = |tag| number(tag).min(ORDER_MAX);
    let ipsec = |tag| list(tag).and_then(|list| list.0.first()?.ipsec().copied());
    let name = find(tag::REALM)?;
    let realm = rows.iter().position(|row| row.realm.name.as_bytes() == name)?;
    let stage = STAGES.into_iter().find(|it| *it as u64 == number(tag::STAGE))?;
    let flags = number(tag::FLAGS);
    let is = |flag| flags & flag != 0;
    let local = ip(tag::LOCAL)?;
    let listener = rows.get(realm)?.protected(local)?.port;
    let cseq = |call| (field::read(call), at_most(number(tag::CSEQ), u32::MAX));
    let associated = find(tag::ASSOCIATIONS).map(field::read);
    let associated = associated.and_then(|number| {
        let secret = |tag| Secret::new(find(tag)?);
        let keys = SessionKeys { ck: secret(tag::CK)?, ik: secret(tag::IK)? };
        let key = Key { index: half(number), generation: half(number >> 32) };
        Some(Associated { key, own: ipsec(tag::OWN)?, keys: Some(Box::new(keys)), spent: 0 })
    });
    // Of a copy of a REGISTER that was under way nobody here knows: it offers anew.
    let is_over = matches!(stage, Stage::Current | Stage::Old) && !is(OFFER);
    let (registered, _) = find(tag::REGISTERED).unwrap_or_default().as_chunks::<8>();
    let set = Set {
        stage,
        realm,
        impi: crate::set::cut(find(tag::IMPI)?),
        source: ip(tag::SOURCE)?,
        register: find(tag::CALL).map(cseq).filter(|_| !is_over),
        registration: Registration {
            deregisters: is(DEREGISTERS),
            call_id: (*crate::set::cut(find(tag::CALL_ID).unwrap_or_default())).into(),
        },
        begun: order(tag::BEGUN),
        is_from_clear: is(FROM_CLEAR),
        client: list(tag::CLIENT)?.into(),
        server: list(tag::SERVER)?.into(),
        choice: ipsec(tag::UE).map(|of| Choice { of, pair: (of.alg, of.ealg) }),
        local,
        inside: ip(tag::INSIDE)?,
        is_behind_nat: is(BEHIND_NAT),
        identity: Identity {
            port: listener, // ports of other nodes may have other numbers
            remote: read_address(find(tag::REMOTE)?)?,
        },
        associated: Some(associated?),
        usage: Usage {
            was_accepted: is(ACCEPTED),
            registered_until: until(tag::REGISTERED_UNTIL),
            is_used: is(USED),
            proven: order(tag::PROVEN),
        },
        expires: until(tag::EXPIRES),
        ..Set::default()
    };
    let registered = registered.iter().map(|it| u64::from_be_bytes(*it)).collect();
    Some((Copy { set, is_offer: is(OFFER), registered }, find(tag::NUMBERS)?))
}
