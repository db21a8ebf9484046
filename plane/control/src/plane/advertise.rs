//! When interfaces advertise this router (RFC 4861 §6.2.4 to §6.2.6): three times soon, then now
//! and then, and soon after somebody asks; a last time with lifetime 0 when it ends.

use super::Plane;
use machine::Time;
use machine::narrow::millis;
use nodes::addresses::link_local;
use nodes::advertisement;
use nodes::{Out, Refused};
use program::Advertisement;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Advertisements that come soon after each other in the beginning …
const INITIAL_MAX: u8 = 3;
/// … and the longest time between them (MAX_INITIAL_RTR_ADVERT_INTERVAL).
const INITIAL: Duration = Duration::from_secs(16);
/// Least time between two (MIN_DELAY_BETWEEN_RAS).
const BETWEEN_MIN: Duration = Duration::from_secs(3);
/// Longest time until a solicitation is answered (MAX_RA_DELAY_TIME).
const ANSWER_MAX: Duration = Duration::from_millis(500);
/// Time until a link that is down is looked at again.
const DOWN_PAUSE: Duration = Duration::from_secs(1);
/// Seconds between two at most: the range (RFC 4861 §6.2.1).
const INTERVALS_S: core::ops::RangeInclusive<u16> = 4..=1_800;
/// A packet of the least MTU has room for so many.
const PREFIXES_MAX: usize = 32;
/// As for prefixes.
const RESOLVERS_MAX: usize = 8;

struct Entry {
    said: Advertisement,
    initial: u8,
    /// When the last one was sent.
    last: Option<Time>,
    due: Time,
}

/// The interfaces that advertise.
#[derive(Default)]
pub(super) struct Advertisements {
    entries: BTreeMap<u32, Entry>,
    due: BTreeSet<(Time, u32)>,
    /// The last words of those that ended.
    farewells: Vec<(u32, Vec<u8>)>,
    dice: u32,
}

impl Advertisements {
    pub(super) fn new(seed: u32) -> Self {
        Self { dice: seed | 1, ..Self::default() }
    }

    pub(super) fn said(&self) -> impl Iterator<Item = u32> {
        self.entries.keys().copied()
    }

    fn schedule(&mut self, interface: u32, at: Time) {
        if let Some(entry) = self.entries.get_mut(&interface) {
            self.due.remove(&(entry.due, interface));
            entry.due = at;
            self.due.insert((at, interface));
        }
    }

    /// A time between two, at random.
    fn random(&mut self, from: Duration, to: Duration) -> Duration {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 17;
        self.dice ^= self.dice << 5;
        let span = millis(to.saturating_sub(from));
        from + Duration::from_millis((u64::from(self.dice) * (span + 1)) >> 32)
    }
}

impl Plane {
    pub(super) fn advertisement(&mut self, said: &Advertisement) -> Result<(), Refused> {
        check(said)?;
        if self.vrf_of(said.interface).is_none() {
            return Err(Refused::Missing { what: "interface", number: said.interface.into() });
        }
        let known = self.advertisements.entries.get(&said.interface);
        if known.is_some_and(|known| known.said == *said) {
            return Ok(());
        }
        // What changed is told as if it were new (RFC 4861 §6.2.4).
        let last = known.and_then(|known| known.last);
        let due = known.map_or(self.now, |known| known.due);
        let entry = Entry { said: said.clone(), initial: 0, last, due };
        self.advertisements.entries.insert(said.interface, entry);
        self.advertise_soon(said.interface, Duration::ZERO);
        Ok(())
    }

    pub(super) fn remove_advertisement(&mut self, interface: u32) {
        let Some(entry) = self.advertisements.entries.remove(&interface) else { return };
        self.advertisements.due.remove(&(entry.due, interface));
        if entry.last.is_some()
            && let Some(frame) = self.advertised(interface, &entry.said, 0)
        {
            self.advertisements.farewells.push((interface, frame));
        }
    }

    /// A host asked for routers: all are told, unless that is to happen sooner anyway.
    pub(super) fn routers_solicited(&mut self, interface: u32) {
        if self.advertisements.entries.contains_key(&interface) {
            let delay = self.advertisements.random(Duration::ZERO, ANSWER_MAX);
            self.advertise_soon(interface, delay);
        }
    }

    fn advertise_soon(&mut self, interface: u32, delay: Duration) {
        let Some(entry) = self.advertisements.entries.get(&interface) else { return };
        let earliest = entry.last.map_or(self.now, |last| self.now.max(last + BETWEEN_MIN));
        let is_scheduled = self.advertisements.due.contains(&(entry.due, interface));
        if !is_scheduled || earliest + delay < entry.due {
            self.advertisements.schedule(interface, earliest + delay);
        }
    }

    /// Advertises where it is time to.
    pub(super) fn advertisements_due(&mut self, out: &mut Vec<Out>) {
        let farewells = std::mem::take(&mut self.advertisements.farewells);
        out.extend(farewells.into_iter().map(|(interface, frame)| Out::Send { interface, frame }));
        while let Some((at, interface)) = self.advertisements.due.first().copied() {
            if at > self.now {
                break;
            }
            self.advertisements.due.pop_first();
            self.advertise(interface, out);
        }
    }

    fn advertise(&mut self, interface: u32, out: &mut Vec<Out>) {
        let Some(entry) = self.advertisements.entries.get(&interface) else { return };
        let said = entry.said.clone();
        let Some(frame) = self.advertised(interface, &said, said.lifetime_s) else {
            // Whoever comes back begins anew.
            if let Some(entry) = self.advertisements.entries.get_mut(&interface) {
                entry.initial = 0;
            }
            return self.advertisements.schedule(interface, self.now + DOWN_PAUSE);
        };
        out.push(Out::Send { interface, frame });
        let seconds = |seconds: u16| Duration::from_secs(seconds.into());
        let (least, most) = (seconds(said.interval_min_s), seconds(said.interval_max_s));
        let Some(entry) = self.advertisements.entries.get_mut(&interface) else { return };
        entry.last = Some(self.now);
        let is_initial = entry.initial < INITIAL_MAX;
        entry.initial = entry.initial.saturating_add(1);
        let pause = self.advertisements.random(least.max(BETWEEN_MIN), most);
        let pause = if is_initial { pause.min(INITIAL) } else { pause };
        self.advertisements.schedule(interface, self.now + pause);
    }

    /// The frame, if the interface is up and has an address to speak from.
    fn advertised(&self, interface: u32, said: &Advertisement, lifetime_s: u16) -> Option<Vec<u8>> {
        let link = self.link(interface)?;
        let own = self.speaker(interface).or_else(|| {
            let own = self.addresses.get(&interface)?;
            own.iter().any(|(own, _)| own.is_ipv6()).then(|| link_local(link.mac))
        })?;
        Some(advertisement::frame(&link, own, said, lifetime_s))
    }

    /// A link-local address that was said.
    fn speaker(&self, interface: u32) -> Option<Ipv6Addr> {
        self.addresses.get(&interface)?.iter().find_map(|(own, _)| match own {
            IpAddr::V6(own) if own.is_unicast_link_local() => Some(*own),
            _ => None,
        })
    }
}

/// RFC 4861 §6.2.1.
fn check(said: &Advertisement) -> Result<(), Refused> {
    let refused = |why: &str| Err(Refused::Conflict(why.to_owned()));
    match said {
        it if !INTERVALS_S.contains(&it.interval_max_s) => {
            refused("advertisements come every 4 to 1,800 seconds")
        }
        it if it.interval_min_s < 3 || it.interval_min_s > it.interval_max_s => {
            refused("advertisements are three seconds apart at least")
        }
        it if it.lifetime_s != 0 && !(it.interval_max_s..=9_000).contains(&it.lifetime_s) => {
            refused("a router lives from one advertisement to the next, and 9,000 s at most")
        }
        it if it.prefixes.len() > PREFIXES_MAX || it.resolvers.len() > RESOLVERS_MAX => {
            refused("more prefixes or resolvers than one packet takes")
        }
        it if it.prefixes.iter().any(|it| it.length > 128 || it.preferred_s > it.valid_s) => {
            refused("a prefix is valid as long as it is preferred, and 128 bits long at most")
        }
        _ => Ok(()),
    }
}
