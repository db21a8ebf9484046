//! Control-plane policing: what is for this system is counted by class and by source before it
//! takes a place in any queue, so that no flood of one kind starves another.

use crate::bucket::{Rate, SharedBucket};
use crate::header::{ICMP, ICMP6, TCP, UDP, word};
use crate::program::{Class, ProtectionRow};
use machine::Time;

/// Classes.
const CLASSES: usize = 10;
/// Buckets of sources; sources with the same hash share one.
const SOURCES: usize = 4_096;

/// The rows in force, by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    rows: [(Rate, Rate); CLASSES],
}

/// In all, burst, of one source.
const DEFAULTS: [(u32, u32, u32); CLASSES] = [
    (2_000, 500, 100),
    (1_000, 200, 200),
    (20_000, 4_000, 5_000),
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
            (Rate { per_second, burst }, of_source)
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
            made.rows[row.class as usize] = (all, Rate { per_second: source, burst });
        }
        made
    }
}

/// What the workers of a plane have let through, all together. A worker that refuses a packet
/// writes nothing: a flood costs the others no cache line beyond what it is allowed.
pub struct Admitted {
    classes: [SharedBucket; CLASSES],
    sources: Box<[SharedBucket]>,
}

impl Default for Admitted {
    fn default() -> Self {
        let sources = (0..SOURCES).map(|_| SharedBucket::default()).collect();
        Self { classes: Default::default(), sources }
    }
}

impl Admitted {
    /// Whether a packet of this class and source (a hash of its address) may go up.
    #[inline]
    pub fn admits(&self, rows: &Protection, class: Class, source: u32, now: Time) -> bool {
        let (all, each) = rows.rows[class as usize];
        let mixed = (source ^ (class as u32) << 24).wrapping_mul(0x9e37_79b1) >> 20;
        // The source is asked first: one that floods takes nothing from the others of its class.
        self.sources[mixed as usize % SOURCES].take(each, now)
            && self.classes[class as usize].take(all, now)
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
        UDP if matches!(destination, 3_784 | 3_785 | 4_784) => Class::Bfd,
        TCP if destination == 22 || destination == 830 => Class::Management,
        UDP if destination == 161 => Class::Management,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_echoes_takes_nothing_from_bgp_nor_one_source_from_another() {
        let rows = Protection::default();
        let guard = Admitted::default();
        let mut passed = [0; 3];
        for tick in 0..100_000_u64 {
            let now = Time::from_nanos(1_000_000_000 + tick * 10_000);
            passed[0] += u32::from(guard.admits(&rows, Class::Icmp, 1, now));
            if tick % 100 == 0 {
                passed[1] += u32::from(guard.admits(&rows, Class::Bgp, 1, now));
                passed[2] += u32::from(guard.admits(&rows, Class::Bgp, 2, now));
            }
        }
        assert_eq!(passed[1..], [1_000, 1_000]);
        assert!((390..=410).contains(&passed[0]), "200 a second and a burst: {}", passed[0]);
        let rows = Protection::of(&[ProtectionRow {
            class: Class::Icmp,
            rate_pps: 0,
            burst: 1,
            source_pps: 0,
        }]);
        assert!(!Admitted::default().admits(&rows, Class::Icmp, 1, Time::from_millis(1)));
    }

    #[test]
    fn workers_together_admit_what_one_alone_would() {
        let (rows, admitted) = (Protection::default(), Admitted::default());
        let mut passed = 0;
        for tick in 0..200_000 {
            let now = Time::from_nanos(1_000_000_000 + tick * 5_000);
            let workers =
                (0..4).filter(|source| admitted.admits(&rows, Class::Bgp, source * 7, now));
            passed += workers.count();
        }
        assert!((23_990..=24_010).contains(&passed), "4,000 at once, 20,000 a second: {passed}");
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
