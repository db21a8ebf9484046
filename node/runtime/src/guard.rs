//! What the far ends of a stream port must prove before they are spoken to: a key that signs every
//! segment (RFC 2385), and how near they are (RFC 5082).

use driver::guard::{self, MD5_KEY_BYTES_MAX, Prefix};
use machine::{Duration, Time};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::{fmt, io};

/// Guards of one port. The kernel keeps a key for each, in memory that it grants a socket
/// (`net.core.optmem_max`, 128 KB).
pub const GUARDS_MAX: usize = 4_096;

/// A key that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// Keeps a key.
    #[must_use]
    pub fn new(key: impl Into<Vec<u8>>) -> Self {
        Self(key.into().into())
    }

    /// The key, for whoever signs with it.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What the far ends within a prefix must prove. Of several guards the one with the longest prefix
/// counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The far ends: an address and the bits of it that count.
    pub prefix: (IpAddr, u8),
    /// The key of TCP MD5 (RFC 2385), 1 to 80 octets: segments without it, or with another one,
    /// are dropped by the kernel.
    pub md5: Option<Secret>,
    /// The least TTL or hop limit that their segments may arrive with (RFC 5082 §3: 255 means
    /// next door).
    pub ttl_min: Option<u8>,
    /// TTL or hop limit of what is sent to them. The answer to their SYN has the highest of all
    /// guards.
    pub ttl: Option<u8>,
}

impl Guard {
    /// Who it is about, for the kernel.
    pub(crate) const fn who(&self) -> Prefix {
        Prefix { ip: self.prefix.0, bits: self.prefix.1 }
    }
}

/// The guard that counts for a far end: the one with the longest prefix.
#[must_use]
pub fn guard_for(guards: &[Guard], remote: IpAddr) -> Option<&Guard> {
    let fits = guards.iter().filter(|guard| guard.who().contains(remote));
    fits.max_by_key(|guard| guard.prefix.1)
}

/// What is wrong with these guards, in words for a person.
pub(crate) fn violation(guards: &[Guard]) -> Option<String> {
    if guards.len() > GUARDS_MAX {
        return Some(format!("more than {GUARDS_MAX} guards"));
    }
    guards.iter().enumerate().find_map(|(at, guard)| {
        let (ip, bits) = guard.prefix;
        let name = format!("the guard of {ip}/{bits}");
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        if bits > longest {
            return Some(format!("{name}: a prefix has at most {longest} bits"));
        }
        let octets = guard.md5.as_ref().map(|key| key.reveal().len());
        if octets.is_some_and(|octets| octets == 0 || octets > MD5_KEY_BYTES_MAX) {
            return Some(format!("{name}: a key has 1 to {MD5_KEY_BYTES_MAX} octets"));
        }
        if guard.ttl == Some(0) || guard.ttl_min == Some(0) {
            return Some(format!("{name}: a TTL is 1 to 255"));
        }
        let twice = |other: &Guard| other.prefix.1 == bits && other.who().contains(ip);
        if guards[..at].iter().any(twice) {
            return Some(format!("{name}: there are two"));
        }
        let wider = |other: &&Guard| other.prefix.1 < bits && other.who().contains(ip);
        let outer = guards.iter().filter(wider).find(|other| other.md5.is_some());
        let outer = outer.filter(|_| guard.md5.is_none())?;
        let (ip, bits) = outer.prefix;
        Some(format!("{name} has no key and lies within {ip}/{bits}, which has one"))
    })
}

type Keys<'a> = HashMap<Prefix, &'a Secret>;

fn keys(guards: &[Guard], is_ipv4: bool) -> Keys<'_> {
    let family = guards.iter().filter(|guard| guard.prefix.0.is_ipv4() == is_ipv4);
    family.filter_map(|guard| Some((guard.who(), guard.md5.as_ref()?))).collect()
}

/// Lets a listening socket demand what `guards` says, when it demands what `before` says.
pub(crate) fn arm_listener(
    listener: &impl AsFd,
    is_ipv4: bool,
    before: &[Guard],
    guards: &[Guard],
) -> io::Result<()> {
    let (old, new) = (keys(before, is_ipv4), keys(guards, is_ipv4));
    for (whom, _) in old.iter().filter(|(whom, _)| !new.contains_key(whom)) {
        // It may never have been there, when setting it failed.
        let _: io::Result<()> = guard::demand_md5(listener, *whom, &[]);
    }
    for (whom, key) in new.iter().filter(|(whom, key)| old.get(whom) != Some(key)) {
        guard::demand_md5(listener, *whom, key.reveal())?;
    }
    let family = || guards.iter().filter(|guard| guard.prefix.0.is_ipv4() == is_ipv4);
    let ttl = family().filter_map(|guard| guard.ttl).max();
    if ttl.is_some() || before.iter().any(|guard| guard.ttl.is_some()) {
        guard::set_ttl(listener, is_ipv4, ttl)?;
    }
    if family().any(|guard| guard.ttl_min.is_some()) {
        guard::keep_syn(listener)?;
    }
    Ok(())
}

/// Lets a socket that is about to connect demand of its far end what its guard says.
pub(crate) fn arm_connecting(
    socket: &impl AsFd,
    remote: IpAddr,
    guards: &[Guard],
) -> io::Result<()> {
    let Some(found) = guard_for(guards, remote) else { return Ok(()) };
    let bits = if remote.is_ipv4() { 32 } else { 128 };
    if let Some(key) = &found.md5 {
        guard::demand_md5(socket, Prefix { ip: remote, bits }, key.reveal())?;
    }
    arm_distance(socket, remote, found)
}

/// What a connection attempt that nobody answered is told of, where a key is asked for.
const UNSIGNED: &str =
    "nobody answers there, and segments with a wrong or no password came to this machine";
/// What a listening port is told of.
pub(crate) const UNPROVEN: &str = "segments with a wrong or no password came to this machine";
/// Between two looks at what came to listening ports.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);
const UNANSWERED: &str = "nobody answers there, or not with the password that is configured here";
/// That such segments came counts for so long.
const FRESH: Duration = Duration::from_secs(180);

/// What the kernel counts of segments that were not signed as was demanded: those of all sockets of
/// the network namespace, so it is asked only where a key is.
#[derive(Debug, Default)]
pub(crate) struct Unproven {
    count: Option<u64>,
    grew: Option<Time>,
    /// It is looked at from time to time.
    pub(crate) is_watched: bool,
}

impl Unproven {
    /// Asks the kernel; whether more were dropped since.
    pub(crate) fn look(&mut self, now: Time) -> bool {
        let Ok(count) = guard::unproven_segments() else { return false };
        let has_grown = self.count.replace(count).is_some_and(|before| before < count);
        self.grew = if has_grown { Some(now) } else { self.grew };
        has_grown
    }

    /// Why nobody answered, of whom a key is asked.
    pub(crate) fn words(&self, now: Time) -> &'static str {
        let is_fresh = self.grew.is_some_and(|at| now.since(at) < FRESH);
        if is_fresh { UNSIGNED } else { UNANSWERED }
    }
}

/// Looks at a connection that was accepted: whether it came from near enough. From now on the
/// kernel looks at its segments.
pub(crate) fn admit(stream: &impl AsFd, remote: IpAddr, guards: &[Guard]) -> io::Result<bool> {
    let Some(found) = guard_for(guards, remote) else { return Ok(true) };
    if let Some(ttl_min) = found.ttl_min
        && guard::syn_ttl(stream)?.is_none_or(|ttl| ttl < ttl_min)
    {
        return Ok(false);
    }
    arm_distance(stream, remote, found).map(|()| true)
}

fn arm_distance(socket: &impl AsFd, remote: IpAddr, found: &Guard) -> io::Result<()> {
    if found.ttl.is_some() {
        guard::set_ttl(socket, remote.is_ipv4(), found.ttl)?;
    }
    match found.ttl_min {
        Some(ttl_min) => guard::set_ttl_min(socket, remote.is_ipv4(), ttl_min),
        None => Ok(()),
    }
}

/// Tries guards on a socket that goes nowhere; why the kernel cannot keep them, in words.
pub(crate) fn rehearse(guards: &[Guard], is_ipv4: bool) -> Result<(), String> {
    if let Some(violation) = violation(guards) {
        return Err(violation);
    }
    let tried =
        guard::scratch(is_ipv4).and_then(|socket| arm_listener(&socket, is_ipv4, &[], guards));
    tried.map_err(|error| match error.kind() {
        io::ErrorKind::OutOfMemory => {
            String::from("the kernel keeps no more keys for one port (net.core.optmem_max)")
        }
        _ if guard::knows_md5().is_ok_and(|known| !known) => {
            String::from("this kernel has no TCP MD5 (CONFIG_TCP_MD5SIG)")
        }
        _ => format!("its guards cannot be set: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(ip: &str, bits: u8, key: Option<&str>) -> Guard {
        let md5 = key.map(Secret::new);
        Guard { prefix: (ip.parse().unwrap(), bits), md5, ttl_min: None, ttl: None }
    }

    #[test]
    fn a_secret_is_never_shown() {
        let shown = format!("{:?}", guard("192.0.2.0", 24, Some("tell nobody")));
        assert!(!shown.contains("tell") && !shown.contains("116"), "{shown}");
        assert_eq!(Secret::new("tell nobody").reveal(), b"tell nobody");
    }

    #[test]
    fn the_longest_prefix_counts_and_families_stay_apart() {
        let guards = [
            guard("0.0.0.0", 0, None),
            guard("192.0.2.77", 24, Some("a")),
            guard("192.0.2.1", 32, Some("b")),
            guard("2001:db8::", 33, Some("c")),
        ];
        let key = |ip: &str| {
            let found = guard_for(&guards, ip.parse().unwrap());
            found.map(|guard| guard.md5.as_ref().map(|key| key.reveal().to_vec()))
        };
        assert_eq!(key("198.51.100.1"), Some(None));
        assert_eq!(key("192.0.2.200"), Some(Some(b"a".to_vec())));
        assert_eq!(key("192.0.2.1"), Some(Some(b"b".to_vec())));
        assert_eq!(key("2001:db8:7fff::1"), Some(Some(b"c".to_vec())));
        assert_eq!(key("2001:db8:8000::1"), None);
        assert_eq!(violation(&guards), None);
    }

    #[test]
    fn guards_that_cannot_be_kept_are_named() {
        let long = "x".repeat(81);
        let cases = [
            (vec![guard("10.0.0.0", 33, None)], "at most 32 bits"),
            (vec![guard("10.0.0.0", 8, Some(""))], "1 to 80 octets"),
            (vec![guard("10.0.0.0", 8, Some(&long))], "1 to 80 octets"),
            (vec![guard("10.0.0.0", 8, None), guard("10.9.9.9", 8, None)], "there are two"),
            (vec![guard("10.1.0.0", 16, None), guard("10.0.0.0", 8, Some("k"))], "has no key"),
            (vec![Guard { ttl: Some(0), ..guard("10.0.0.0", 8, None) }], "1 to 255"),
            (vec![guard("10.0.0.0", 8, None); GUARDS_MAX + 1], "more than"),
        ];
        for (guards, words) in cases {
            let violation = violation(&guards).unwrap();
            assert!(violation.contains(words), "{violation}");
        }
    }
}
