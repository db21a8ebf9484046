//! Control-plane policing: what is for this system is counted by class, by source and by interface
//! before it takes a place in any queue, so that no flood of one kind starves another.
//!
//! ```text
//!   connected (BGP, LDP): its own share ───────────────────────────────────┐
//!   near: source ──────────→ interface, ¾ → all strangers, ¾ ──────────────┴→ the class
//!   far:  source → far, ½ → interface, ¾ → all strangers, ¾ ───────────────┘
//!   known neighbour: an eighth of a source → interface, as much as a source ──→ the class
//! ```
//! Near is what has a hop limit of 255 or goes to a group of the link, which no router sends on.
//! Far ones take of an interface what they have of the class at most, so that near ones have the
//! rest, and a source that they forge is another one. The halves are those of BGP, LDP and OSPF. A
//! connection is one by which this system itself has sent data: no forged source has that. A known
//! neighbour is one that answered where it is; all others of a link are one source.

mod connections;
mod known;

pub use connections::Connections;
pub use known::Known;

use crate::bucket::{Rate, SharedBucket, mixed};
use crate::header::{ICMP, ICMP6, TCP, UDP, word};
use crate::mpls::echo;
use crate::program::{Class, ProtectionRow};
use machine::Time;
use machine::narrow::slot;

/// Classes.
const CLASSES: usize = 11;
/// Buckets of sources, and of interfaces; those with the same hash, which is keyed, share one.
const SOURCES: usize = 4_096;
/// Of a rate, what one interface may have, and what strangers may who say that they are near: the
/// rest is there for others and for connections.
const THREE_QUARTERS: u32 = 3;
/// Of a rate, what strangers from afar may have.
const HALF: u32 = 2;
/// Of the rate of a source, what one known neighbour may have.
const NEIGHBOURS: u32 = 8;

/// The rates of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rates {
    all: Rate,
    source: Rate,
    /// Of an interface, and of strangers.
    most: Rate,
    far: Rate,
    /// Of a known neighbour.
    neighbour: Rate,
}

impl Rates {
    fn of(all: Rate, source: Rate) -> Self {
        let part = |of: u32| (of / NEIGHBOURS).max(of.min(1));
        let neighbour = Rate { per_second: part(source.per_second), burst: part(source.burst) };
        let (most, far) = (quarters(all, THREE_QUARTERS), quarters(all, HALF));
        Self { all, source, most, far, neighbour }
    }
}

/// So many quarters of a rate; something, unless it is nothing.
fn quarters(rate: Rate, count: u32) -> Rate {
    let part = |of: u32| (of / 4 * count + of % 4 * count / 4).max(of.min(1));
    Rate { per_second: part(rate.per_second), burst: part(rate.burst) }
}

/// The rows in force, by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    rows: [Rates; CLASSES],
}

/// In all, burst, of one source.
const DEFAULTS: [(u32, u32, u32); CLASSES] = [
    (2_000, 500, 500),
    (1_000, 200, 200),
    (20_000, 4_000, 5_000),
    (5_000, 1_000, 1_000),
    (5_000, 1_000, 1_000),
    (5_000, 1_000, 1_000),
    (20_000, 2_000, 2_000),
    (5_000, 1_000, 2_000),
    (500, 100, 50),
    (10_000, 1_000, 10_000),
    (2_000, 500, 500),
];

impl Default for Protection {
    fn default() -> Self {
        let rows = DEFAULTS.map(|(per_second, burst, source)| {
            let of_source = Rate { per_second: source, burst: burst.min(source) };
            Rates::of(Rate { per_second, burst }, of_source)
        });
        Self { rows }
    }
}

impl Protection {
    /// The defaults, and these rows instead of those of their classes.
    #[must_use]
    pub fn of(rows: &[ProtectionRow]) -> Self {
        let mut made = Self::default();
        for row in rows {
            let all = Rate { per_second: row.rate_pps, burst: row.burst };
            let source = if row.source_pps == 0 { row.rate_pps } else { row.source_pps };
            let burst = row.burst.min(source);
            made.rows[row.class as usize] = Rates::of(all, Rate { per_second: source, burst });
        }
        made
    }
}

/// How well the sender of a packet for this system is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It belongs to a connection: the number of that.
    Connected(u64),
    /// It comes from a neighbour that is known: the number of that.
    Neighbour(u64),
    /// It was sent on this link (RFC 5082), or to a group of it.
    Near,
    /// It may come from anywhere.
    Far,
}

/// Who wants something of the control plane.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// What the packet is.
    pub class: Class,
    /// Its source, as a number.
    pub source: u64,
    /// Where it came in.
    pub interface: u32,
    /// How well it is known.
    pub standing: Standing,
}

/// What the workers of a plane have let through, all together. A worker that refuses a packet
/// takes nothing of the class: a flood costs the others no more than what it is allowed.
pub struct Admitted {
    key: u64,
    classes: [SharedBucket; CLASSES],
    strangers: [SharedBucket; CLASSES],
    far: [SharedBucket; CLASSES],
    sources: Box<[SharedBucket]>,
    interfaces: Box<[SharedBucket]>,
    /// Connections of this system.
    pub connections: Connections,
    /// Its neighbours.
    pub known: Known,
}

impl Default for Admitted {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Admitted {
    /// Nothing yet; the hashes have this key.
    #[must_use]
    pub fn new(key: u64) -> Self {
        let buckets = || (0..SOURCES).map(|_| SharedBucket::default()).collect();
        Self {
            key,
            classes: Default::default(),
            strangers: Default::default(),
            far: Default::default(),
            sources: buckets(),
            interfaces: buckets(),
            connections: Connections::new(key),
            known: Known::new(key),
        }
    }

    /// Whether a packet may go up.
    #[inline]
    pub fn admits(&self, rows: &Protection, asker: Asker, now: Time) -> bool {
        let Asker { class, source, interface, standing } = asker;
        let at = class as usize;
        let Rates { all, source: each, most, far, neighbour } = rows.rows[at];
        let place = |of: u64, turn: u64| {
            let hash = mixed(of.rotate_left(4) ^ class as u64, self.key.rotate_left(8) ^ turn);
            slot(hash, SOURCES)
        };
        // Who floods is asked first: it takes nothing from the others of its class.
        if let Standing::Connected(number) = standing {
            return self.sources[place(number, 1)].take(each, now)
                && self.classes[at].take(all, now);
        }
        if let Standing::Neighbour(number) = standing {
            return self.sources[place(number, 1)].take(neighbour, now)
                && self.interfaces[place(interface.into(), 4)].take(each, now)
                && self.classes[at].take(all, now);
        }
        let has_connections = Connections::are_of(class);
        let has_known = has_connections || class == Class::Neighbours;
        let has_halves = has_connections || class == Class::Ospf;
        let is_far = has_halves && standing == Standing::Far;
        self.sources[place(source, if is_far { 5 } else { 2 })].take(each, now)
            && (!is_far || self.far[at].take(far, now))
            && self.interfaces[place(interface.into(), 3)].take(most, now)
            && (!has_known || self.strangers[at].take(most, now))
            && self.classes[at].take(all, now)
    }
}

/// The class of a packet for this system, by its protocol and what follows the IP header.
#[must_use]
pub fn class(protocol: u8, rest: &[u8]) -> Class {
    let (source, destination) = (word(rest, 0), word(rest, 2));
    let has = |port: u16| source == port || destination == port;
    match protocol {
        ICMP => Class::Icmp,
        ICMP6 if matches!(rest.first(), Some(133..=137)) => Class::Neighbours,
        ICMP6 => Class::Icmp,
        89 => Class::Ospf,
        TCP if has(179) => Class::Bgp,
        TCP | UDP if has(646) => Class::Ldp,
        UDP if destination == echo::PORT => Class::Ldp,
        UDP if matches!(destination, 3_784 | 3_785 | 4_784) => Class::Bfd,
        TCP if destination == 22 || destination == 830 => Class::Management,
        UDP if destination == 161 => Class::Management,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(class: Class, source: u64, interface: u32) -> Asker {
        Asker { class, source, interface, standing: Standing::Near }
    }

    #[test]
    fn a_flood_of_echoes_takes_nothing_from_bgp_nor_one_source_from_another() {
        let rows = Protection::default();
        let guard = Admitted::default();
        let mut passed = [0; 3];
        for tick in 0..100_000_u64 {
            let now = Time::from_nanos(1_000_000_000 + tick * 10_000);
            passed[0] += u32::from(guard.admits(&rows, asks(Class::Icmp, 1, 1), now));
            if tick % 100 == 0 {
                passed[1] += u32::from(guard.admits(&rows, asks(Class::Bgp, 1, 1), now));
                passed[2] += u32::from(guard.admits(&rows, asks(Class::Bgp, 2, 1), now));
            }
        }
        assert_eq!(passed[1..], [1_000, 1_000]);
        assert!((340..=360).contains(&passed[0]), "200 a second and 150 at once: {}", passed[0]);
        let rows = Protection::of(&[ProtectionRow {
            class: Class::Icmp,
            rate_pps: 0,
            burst: 1,
            source_pps: 0,
        }]);
        let icmp = asks(Class::Icmp, 1, 1);
        assert!(!Admitted::default().admits(&rows, icmp, Time::from_millis(1)));
    }

    #[test]
    fn workers_together_admit_what_one_alone_would() {
        let (rows, admitted) = (Protection::default(), Admitted::default());
        let mut passed = 0;
        for tick in 0..200_000 {
            let now = Time::from_nanos(1_000_000_000 + tick * 5_000);
            let asks = |worker| asks(Class::Bfd, u64::from(worker) * 7, worker);
            passed += (0..40).filter(|it| admitted.admits(&rows, asks(*it), now)).count();
        }
        assert!((21_990..=22_010).contains(&passed), "2,000 at once, 20,000 a second: {passed}");
    }

    #[test]
    fn no_number_of_sources_of_one_interface_takes_all_of_a_class() {
        let (rows, guard) = (Protection::default(), Admitted::new(7));
        let mut passed = [0; 2];
        for tick in 0..100_000_u64 {
            let now = Time::from_nanos(1_000_000_000 + tick * 10_000);
            let flood = asks(Class::Other, tick, 1);
            passed[0] += u32::from(guard.admits(&rows, flood, now));
            if tick % 250 == 0 {
                passed[1] += u32::from(guard.admits(&rows, asks(Class::Other, 9, 2), now));
            }
        }
        assert_eq!(passed[1], 400, "all that another interface asks");
        assert!((1_870..=1_880).contains(&passed[0]), "1,500 a second, 375 at once: {passed:?}");
    }

    #[test]
    fn connections_have_their_part_whoever_else_asks_from_wherever() {
        let (rows, guard) = (Protection::default(), Admitted::new(7));
        let mut passed = [0; 3];
        for tick in 0..200_000_u64 {
            let now = Time::from_nanos(1_000_000_000 + tick * 5_000);
            let stranger = |standing| Asker {
                class: Class::Bgp,
                source: tick,
                interface: (tick % 50) as u32,
                standing,
            };
            passed[0] += u32::from(guard.admits(&rows, stranger(Standing::Far), now));
            passed[1] += u32::from(guard.admits(&rows, stranger(Standing::Near), now));
            if tick % 50 == 0 {
                let known = stranger(Standing::Connected(3));
                passed[2] += u32::from(guard.admits(&rows, known, now));
            }
        }
        assert_eq!(passed[2], 4_000);
        assert!(passed[0] <= 12_010 && passed[1] >= 5_000, "far ones at most half: {passed:?}");
        assert!(passed[0] + passed[1] <= 18_010, "strangers three quarters: {passed:?}");
    }

    #[test]
    fn whoever_is_far_away_leaves_the_hellos_of_the_link_that_he_comes_by() {
        for class in [Class::Ldp, Class::Ospf] {
            let (rows, guard) = (Protection::default(), Admitted::new(7));
            let (mut hellos, mut flood) = (0, 0);
            for tick in 0..200_000_u64 {
                let now = Time::from_nanos(1_000_000_000 + tick * 5_000);
                // The neighbour's own address is among the sources.
                let far = Asker { standing: Standing::Far, ..asks(class, tick % 50, 1) };
                flood += u32::from(guard.admits(&rows, far, now));
                if tick % 2_000 == 0 {
                    hellos += u32::from(guard.admits(&rows, asks(class, 7, 1), now));
                }
            }
            assert_eq!(hellos, 100, "{class:?}: all of them");
            assert!(flood > 1_000, "{class:?}: and the flood has its half");
        }
    }

    #[test]
    fn known_neighbours_have_their_part_however_many_interfaces_flood() {
        let (rows, guard) = (Protection::default(), Admitted::new(7));
        let (mut known, mut others) = (0, 0);
        for tick in 0..200_000_u64 {
            let now = Time::from_nanos(1_000_000_000 + tick * 5_000);
            let interface = (tick % 50) as u32;
            others += u32::from(guard.admits(
                &rows,
                asks(Class::Neighbours, interface.into(), interface),
                now,
            ));
            if tick % 4_000 == 0 {
                let standing = Standing::Neighbour(tick / 4_000 % 5);
                let asker = Asker { standing, ..asks(Class::Neighbours, 9, 9) };
                known += u32::from(guard.admits(&rows, asker, now));
            }
        }
        assert_eq!(known, 50, "all of them");
        assert!(others <= 1_880, "{others}: three quarters, and of 500 at once");
    }

    #[test]
    fn classes_are_those_of_the_protocols() {
        let ports = |source: u16, destination: u16| {
            let mut rest = source.to_be_bytes().to_vec();
            rest.extend(destination.to_be_bytes());
            rest
        };
        assert_eq!(class(TCP, &ports(40_000, 179)), Class::Bgp);
        assert_eq!(class(TCP, &ports(179, 40_000)), Class::Bgp);
        assert_eq!(class(UDP, &ports(646, 646)), Class::Ldp);
        assert_eq!(class(UDP, &ports(50_000, 3_784)), Class::Bfd);
        assert_eq!(class(TCP, &ports(50_000, 22)), Class::Management);
        assert_eq!(class(UDP, &ports(50_000, 22)), Class::Other);
        assert_eq!(class(ICMP6, &[135]), Class::Neighbours);
        assert_eq!(class(ICMP6, &[128]), Class::Icmp);
        assert_eq!(class(89, &[]), Class::Ospf);
    }
}
