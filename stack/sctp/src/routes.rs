//! Which of our addresses a packet leaves from when the machine leaves that to the routes.

use core::net::IpAddr;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// How long an answer of the routes is believed.
const LIFE: Duration = Duration::from_secs(10);
/// Destinations remembered; more are forgotten all at once.
const DESTINATIONS_MAX: usize = 4_096;

/// Looks a route up: the source address that the kernel would choose.
pub(crate) type Lookup = fn(IpAddr) -> Option<IpAddr>;

/// Source addresses by destination, as the routes say.
#[derive(Debug)]
pub(crate) struct Routes {
    lookup: Option<Lookup>,
    known: BTreeMap<IpAddr, IpAddr>,
    since: Time,
}

impl Routes {
    /// Without a `lookup` the address that has most leading bits in common counts.
    pub(crate) const fn new(lookup: Option<Lookup>) -> Self {
        Self { lookup, known: BTreeMap::new(), since: Time::ZERO }
    }

    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// One of `own` for `destination`; `None` when none is of its family.
    pub(crate) fn source(
        &mut self,
        now: Time,
        own: &[IpAddr],
        destination: IpAddr,
    ) -> Option<IpAddr> {
        if let [only] = own {
            return (only.is_ipv4() == destination.is_ipv4()).then_some(*only);
        }
        if now.since(self.since) > LIFE || self.known.len() >= DESTINATIONS_MAX {
            self.known.clear();
            self.since = now;
        }
        if let Some(source) = self.known.get(&destination) {
            return Some(*source);
        }
        let routed = self.lookup.and_then(|lookup| lookup(destination));
        let routed = routed.filter(|source| own.contains(source));
        let source = routed.or_else(|| nearest(own, destination))?;
        self.known.insert(destination, source);
        Some(source)
    }
}

/// The address of the same family with the longest common prefix (RFC 6724 §5, rule 8); the first
/// of several.
fn nearest(own: &[IpAddr], destination: IpAddr) -> Option<IpAddr> {
    let same = own.iter().filter(|it| it.is_ipv4() == destination.is_ipv4());
    same.rev().max_by_key(|it| common(**it, destination)).copied()
}

fn common(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn without_routes_the_nearest_address_of_the_family_is_the_source() {
        let own = [ip("10.1.0.1"), ip("10.2.0.1"), ip("fd00:2::1")];
        let mut routes = Routes::new(None);
        let mut source = |to| routes.source(Time::ZERO, &own, ip(to));
        assert_eq!(source("10.2.0.9"), Some(own[1]));
        assert_eq!(source("10.1.200.9"), Some(own[0]));
        assert_eq!(source("192.0.2.1"), Some(own[0]), "the first of several");
        assert_eq!(source("fd00::5"), Some(own[2]));
        assert_eq!(Routes::new(None).source(Time::ZERO, &own[..1], ip("::1")), None);
    }

    #[test]
    fn what_the_routes_say_counts_when_it_is_ours_and_is_asked_again_after_a_while() {
        let own = [ip("10.1.0.1"), ip("10.2.0.1")];
        let mut routes = Routes::new(Some(|to| match to.to_string().as_str() {
            "10.1.0.9" => Some(IpAddr::from([10, 2, 0, 1])),
            _ => Some(IpAddr::from([192, 0, 2, 77])),
        }));
        assert_eq!(routes.source(Time::ZERO, &own, ip("10.1.0.9")), Some(own[1]));
        assert_eq!(routes.source(Time::ZERO, &own, ip("10.1.0.8")), Some(own[0]));
        assert_eq!(routes.known.len(), 2);
        let later = Time::ZERO + LIFE + Duration::from_secs(1);
        assert_eq!(routes.source(later, &own, ip("10.1.0.9")), Some(own[1]));
        assert_eq!(routes.known.len(), 1);
    }
}
