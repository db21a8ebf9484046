//! Router advertisements that cannot be (RFC 4861 §6.2.1).

use super::{Issues, is_prefix};
use crate::compile::HOST_BITS;
use crate::config::{Advertise, Interface, prefix};
use config::Issue;
use core::ops::RangeInclusive;

const INTERVAL_S: RangeInclusive<u16> = 4..=1_800;
const LIFETIME_MAX_S: u16 = 9_000;
const REACHABLE_MAX_MS: u32 = 3_600_000;
/// The least MTU of IPv6 (RFC 8200 §5).
const MTU_MIN: u16 = 1_280;
/// As many as one packet takes.
const PREFIXES_MAX: usize = 32;
const RESOLVERS_MAX: usize = 8;

pub(super) fn validate_advertise(path: &str, interface: &Interface, issues: Issues<'_>) {
    let Some(it) = &interface.advertise else { return };
    let path = format!("{path}.advertise");
    let own = interface.addresses.iter().filter_map(|text| prefix(text));
    if !own.into_iter().any(|(address, _)| address.is_ipv6()) {
        let what = "an interface without an IPv6 address has nothing to speak from";
        issues.push(Issue::new(&path, what, "add one to `addresses`"));
    }
    let mut each = |key: &str, is_wrong: bool, what: String, hint: String| {
        if is_wrong {
            issues.push(Issue::new(format!("{path}.{key}"), what, hint));
        }
    };
    let range = |value: u64| format!("{value} is out of range");
    let interval = it.interval_s;
    let hint = format!("use {} to {}", INTERVAL_S.start(), INTERVAL_S.end());
    each("interval_s", !INTERVAL_S.contains(&interval), range(interval.into()), hint);
    let lifetime = it.lifetime_s.unwrap_or(0);
    let is_lifetime = lifetime == 0 || (interval..=LIFETIME_MAX_S).contains(&lifetime);
    let hint = format!("use 0, or {interval} to {LIFETIME_MAX_S}");
    each("lifetime_s", !is_lifetime, range(lifetime.into()), hint);
    let hint = format!("use {REACHABLE_MAX_MS} or less");
    each("reachable_ms", it.reachable_ms > REACHABLE_MAX_MS, range(it.reachable_ms.into()), hint);
    let mtu = it.mtu.unwrap_or(MTU_MIN);
    let hint = format!("use {MTU_MIN} or more");
    each("mtu", mtu < MTU_MIN, "less than every IPv6 link has".to_owned(), hint);
    let hint = format!("use {PREFIXES_MAX} or fewer");
    each("prefix", it.prefix.len() > PREFIXES_MAX, "more than a packet takes".to_owned(), hint);
    let hint = format!("use {RESOLVERS_MAX} or fewer");
    let is_long = it.resolvers.len() > RESOLVERS_MAX;
    each("resolvers", is_long, "more than a packet takes".to_owned(), hint);
    validate_prefixes(&path, it, issues);
}

fn validate_prefixes(path: &str, it: &Advertise, issues: Issues<'_>) {
    for (n, said) in it.prefix.iter().enumerate() {
        let path = format!("{path}.prefix[{n}]");
        let read = is_prefix(&format!("{path}.prefix"), &said.prefix, issues);
        if read.is_some_and(|address| address.is_ipv4()) {
            let what = "hosts hear of IPv6 prefixes only";
            issues.push(Issue::new(format!("{path}.prefix"), what, "write `2001:db8::/64`"));
        }
        let length = prefix(&said.prefix).map(|(_, length)| length);
        if said.autonomous == Some(true) && length.is_some_and(|length| length != HOST_BITS) {
            let what = "hosts make addresses of prefixes of 64 bits only";
            issues.push(Issue::new(format!("{path}.autonomous"), what, "remove it"));
        }
        if said.preferred_s > said.valid_s {
            let what = "preferred longer than valid";
            let hint = format!("use {} or less", said.valid_s);
            issues.push(Issue::new(format!("{path}.preferred_s"), what, hint));
        }
    }
}
