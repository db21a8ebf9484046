//! Filters as workers use them: compiled rules, what each does, what each has counted.

use super::fields;
use crate::program::{Direction, Family, Filter, FilterUse, Match, Rule, Verdict};
use graph::{Pool, Slot};
use machine::narrow::{at_most, place};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use table::classifier::{
    Address, Classifier, Flags, Fragment, Header, NO_RULE, NotCompiled, Prefix, Rule as Row,
};
use table::lanes::Lanes;

/// Filters are numbered below this, from 1.
pub const FILTERS_MAX: u32 = 1 << 16;
/// The protocol under which frames are looked at: its ports are EtherType and VLAN.
const PORTED: u8 = 17;

/// Rules of a family, compiled.
enum Rules {
    Ip4(Classifier<u32>),
    /// IPv6, or frames.
    Wide(Classifier<u128>),
}

/// What becomes of a packet; those below [`Outcome::Pass`] are the reasons why it is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(crate) enum Outcome {
    Denied = 0,
    NoRule,
    Red,
    /// It hides what a rule looks at.
    Hidden,
    Pass,
    /// Its rule's verdict asks for more.
    Act,
}

/// A compiled filter.
pub struct Compiled {
    pub(crate) family: Family,
    rules: Rules,
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether a rule looks above the network header.
    looks_above: bool,
    /// What the verdicts come to; the last is for packets that no rule matched, the one before for
    /// those that hide what a rule looks at.
    outcomes: Vec<Outcome>,
    /// By worker: packets and octets by rule; the last two as above.
    cells: Vec<Box<[[AtomicU64; 2]]>>,
}

/// What a worker has counted of each rule, and what each comes to.
#[derive(Clone, Copy)]
pub(crate) struct Tally<'a> {
    cells: &'a [[AtomicU64; 2]],
    outcomes: &'a [Outcome],
}

impl Tally<'_> {
    /// Counts a packet of a rule, or of none, and says what becomes of it.
    #[inline(always)]
    pub(crate) fn count(self, rule: u32, octets: u64) -> Outcome {
        let at = (rule as usize).min(self.outcomes.len() - 1);
        let [packets, sum] = &self.cells[at];
        packets.store(packets.load(Relaxed).wrapping_add(1), Relaxed);
        sum.store(sum.load(Relaxed).wrapping_add(octets), Relaxed);
        self.outcomes[at]
    }
}

/// Why rules make no filter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFilter {
    /// An address of another family than the filter's.
    #[error("rule {0}: an address of another family")]
    Family(usize),
    /// The classifier does not take the rules.
    #[error("the rules cannot be compiled: {0:?}")]
    Rules(NotCompiled),
}

impl Compiled {
    /// Compiled for so many workers.
    pub fn new(filter: &Filter, workers: usize) -> Result<Self, NoFilter> {
        let rules = match filter.family {
            Family::Ip4 => Rules::Ip4(compiled(filter, |address| match address {
                IpAddr::V4(address) => Some(address.to_bits()),
                IpAddr::V6(_) => None,
            })?),
            Family::Ip6 | Family::Ethernet => {
                Rules::Wide(compiled(filter, |address| match address {
                    IpAddr::V6(address) if filter.family == Family::Ip6 => Some(address.to_bits()),
                    _ => None,
                })?)
            }
        };
        let verdicts: Vec<Verdict> = filter.rules.iter().map(|rule| rule.verdict).collect();
        let cells = || (0..verdicts.len() + 2).map(|_| Default::default()).collect();
        let cells = (0..workers.max(1)).map(|_| cells()).collect();
        let outcomes = verdicts.iter().map(|verdict| match verdict {
            Verdict::Permit => Outcome::Pass,
            Verdict::Deny => Outcome::Denied,
            _ => Outcome::Act,
        });
        let unmatched = if filter.family == Family::Ip6 { Outcome::Act } else { Outcome::NoRule };
        let outcomes = outcomes.chain([Outcome::Hidden, unmatched]).collect();
        let (family, looks_above) = (filter.family, looks_above(filter));
        Ok(Self { family, rules, verdicts, looks_above, outcomes, cells })
    }

    /// As the rule of a packet: it hides what a rule looks at.
    fn hidden(&self) -> u32 {
        place(self.verdicts.len())
    }

    /// Where a worker counts. Only the worker of that number does so.
    pub(crate) fn tally(&self, worker: usize) -> Tally<'_> {
        let outcomes = &self.outcomes[..];
        // Of as many cells as outcomes.
        Tally { cells: &self.cells[worker][..outcomes.len()], outcomes }
    }

    /// Packets and octets of each rule, and last of what no rule matched, of all workers.
    pub fn counted(&self) -> Vec<(u64, u64)> {
        let mut sums = vec![(0, 0); self.verdicts.len() + 1];
        for cells in &self.cells {
            let rules = cells[..self.verdicts.len()].iter().chain(cells.last());
            for (sum, cell) in sums.iter_mut().zip(rules) {
                sum.0 += cell[0].load(Relaxed);
                sum.1 += cell[1].load(Relaxed);
            }
        }
        sums
    }
}

/// What packets of one family say, side by side.
pub(crate) struct Headers {
    lanes: Lanes,
    ip4: Vec<Header<u32>>,
    wide: Vec<Header<u128>>,
}

impl Default for Headers {
    fn default() -> Self {
        Self { lanes: Lanes::best(), ip4: Vec::new(), wide: Vec::new() }
    }
}

impl Headers {
    /// The rule of each packet.
    #[inline]
    pub(crate) fn classify(
        &mut self,
        filter: &Compiled,
        packets: &Pool,
        batch: &[Slot],
        rules: &mut [u32],
    ) {
        let has_unusual = match &filter.rules {
            Rules::Ip4(classifier) => {
                self.ip4.resize(batch.len(), Header::default());
                let has_unusual = match self.lanes {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    // SAFETY: a processor with AVX2 has SSSE3.
                    Lanes::Avx2 | Lanes::Avx512 => unsafe {
                        read_all4_ssse3(packets, batch, &mut self.ip4)
                    },
                    _ => read_all4(packets, batch, &mut self.ip4, fields::read_ip4),
                };
                classifier.lookup(&self.ip4, rules);
                has_unusual
            }
            Rules::Wide(classifier) => {
                let read = if filter.family == Family::Ip6 { fields::ip6 } else { fields::frame };
                self.wide.resize(batch.len(), Header::default());
                for (slot, header) in batch.iter().zip(&mut self.wide) {
                    *header = read(looked_at(packets, *slot, filter.family));
                }
                classifier.lookup(&self.wide, rules);
                filter.looks_above
            }
        };
        if has_unusual && filter.looks_above {
            hide(filter, packets, batch, rules);
        }
    }
}

/// Takes those packets from their rules that hide what a rule looks at.
#[inline(never)]
fn hide(filter: &Compiled, packets: &Pool, batch: &[Slot], rules: &mut [u32]) {
    for (slot, rule) in batch.iter().zip(rules) {
        let packet = looked_at(packets, *slot, filter.family);
        // Most packets of IPv6 have no extension headers.
        let is_plain = filter.family == Family::Ip6
            && packet.get(6).is_some_and(|next| !fields::is_extension(*next));
        if !is_plain && fields::hides_transport(packet) {
            *rule = filter.hidden();
        }
    }
}

/// Whether a rule looks above the network header: there the header has to be seen whole.
fn looks_above(filter: &Filter) -> bool {
    let is_six = filter.family == Family::Ip6;
    filter.family != Family::Ethernet
        && filter.rules.iter().any(|rule| {
            let it = &rule.matches;
            let has_ports = !it.source_ports.is_empty() || !it.destination_ports.is_empty();
            // What protocol it is stands behind extension headers.
            let has_protocol = is_six && !it.protocols.is_empty();
            has_ports || has_protocol || !it.icmp.is_empty() || !it.tcp_flags.is_empty()
        })
}

/// The header of each packet; whether any is unusual.
#[inline(always)]
fn read_all4(
    packets: &Pool,
    batch: &[Slot],
    headers: &mut [Header<u32>],
    read: impl Fn(&[u8], &mut Header<u32>) -> bool,
) -> bool {
    let mut has_unusual = false;
    for (slot, header) in batch.iter().zip(headers) {
        let Some(octets) = network_header(packets, *slot) else {
            *header = fields::ip4(looked_at(packets, *slot, Family::Ip4));
            has_unusual = true;
            continue;
        };
        has_unusual |= !read(octets, header);
    }
    has_unusual
}

/// As [`read_all4`], sixteen octets at once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "ssse3")]
fn read_all4_ssse3(packets: &Pool, batch: &[Slot], headers: &mut [Header<u32>]) -> bool {
    read_all4(packets, batch, headers, |octets, header| fields::read_ip4_ssse3(octets, header))
}

/// A packet from its network header on, if that was found.
#[inline(always)]
fn network_header(packets: &Pool, slot: Slot) -> Option<&[u8]> {
    let meta = packets.meta(slot);
    if meta.l3 == 0 {
        return None;
    }
    let end = usize::from(meta.offset) + usize::from(meta.length);
    packets.cell(slot).get(usize::from(meta.l3)..end)
}

/// A packet from where its filter looks at it.
#[inline(always)]
fn looked_at(packets: &Pool, slot: Slot, family: Family) -> &[u8] {
    let meta = packets.meta(slot);
    let start = match family {
        Family::Ip4 | Family::Ip6 if meta.l3 != 0 => meta.l3,
        _ => meta.offset,
    };
    let end = usize::from(meta.offset) + usize::from(meta.length);
    packets.cell(slot).get(usize::from(start)..end).unwrap_or(&[])
}

/// What becomes of a packet that no rule matched.
pub(crate) const UNMATCHED: u32 = NO_RULE;

fn compiled<A: Address>(
    filter: &Filter,
    address: impl Fn(IpAddr) -> Option<A>,
) -> Result<Classifier<A>, NoFilter> {
    let mut rows = Vec::with_capacity(filter.rules.len());
    for (at, rule) in filter.rules.iter().enumerate() {
        let prefix = |given: Option<(IpAddr, u8)>| match given {
            None => Ok(Prefix::new(A::from_high(0), 0)),
            Some((ip, length)) => {
                address(ip).map(|ip| Prefix::new(ip, length)).ok_or(NoFilter::Family(at))
            }
        };
        let mut row = fields_of(rule, place(at));
        row.source = prefix(rule.matches.source)?;
        row.destination = prefix(rule.matches.destination)?;
        if filter.family == Family::Ethernet {
            frames_of(&rule.matches, &mut row);
        }
        rows.push(row);
    }
    Classifier::compile(&rows).map_err(NoFilter::Rules)
}

fn fields_of<A: Address>(rule: &Rule, verdict: u32) -> Row<A> {
    let any = || Prefix::new(A::from_high(0), 0);
    let matches = &rule.matches;
    let ranges = |list: &[(u16, u16)]| list.iter().map(|(from, to)| *from..=*to).collect();
    Row {
        source: any(),
        destination: any(),
        protocols: matches.protocols.clone(),
        source_ports: ranges(&matches.source_ports),
        destination_ports: ranges(&matches.destination_ports),
        icmp: matches.icmp.iter().map(|(kind, from, to)| (*kind, *from..=*to)).collect(),
        tcp_flags: matches.tcp_flags.iter().map(|(value, mask)| flags(*value, *mask)).collect(),
        dscp: matches.dscp.clone(),
        fragments: match matches.fragment {
            None => Vec::new(),
            Some(false) => vec![Fragment::Whole],
            Some(true) => vec![Fragment::First, Fragment::Later],
        },
        lengths: ranges(&matches.lengths),
        verdict,
    }
}

const fn flags(value: u8, mask: u8) -> Flags {
    Flags { value, mask }
}

/// Frames are looked at as if their MAC addresses were addresses and EtherType and VLAN ports.
fn frames_of<A: Address>(matches: &Match, row: &mut Row<A>) {
    let prefix = |mac: Option<([u8; 6], u8)>| match mac {
        None => Prefix::new(A::from_high(0), 0),
        Some(([a, b, c, d, e, f], length)) => {
            let bits = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            Prefix::new(A::from_high(u128::from(bits) << 80), length.min(48))
        }
    };
    row.source = prefix(matches.macs[0]);
    row.destination = prefix(matches.macs[1]);
    row.source_ports.extend(matches.ethertypes.iter().map(|kind| *kind..=*kind));
    row.protocols = vec![PORTED];
}

/// Which filters there are and who passes them; replaced whole when one changes.
#[derive(Default)]
pub struct Filters {
    rows: Vec<Option<Arc<Compiled>>>,
    /// By direction and family, then by interface.
    uses: [[Vec<u16>; 3]; 2],
}

impl Filters {
    /// As the programs say.
    pub fn of(
        rows: &BTreeMap<u32, Arc<Compiled>>,
        uses: &BTreeMap<(u32, Direction, Family), FilterUse>,
    ) -> Self {
        let mut made = Self::default();
        for (number, row) in rows {
            let at = *number as usize;
            made.rows.resize(made.rows.len().max(at + 1), None);
            made.rows[at] = Some(Arc::clone(row));
        }
        for ((interface, direction, family), used) in uses {
            let list = &mut made.uses[*direction as usize][*family as usize];
            let at = *interface as usize;
            list.resize(list.len().max(at + 1), 0);
            list[at] = at_most(used.filter.into(), u16::MAX);
        }
        made
    }

    /// The number of the filter that packets pass; 0 is none.
    #[inline]
    pub(crate) fn used(&self, direction: Direction, family: Family, interface: u32) -> u16 {
        let list = &self.uses[direction as usize][family as usize];
        list.get(interface as usize).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn filter(&self, number: u16) -> Option<&Compiled> {
        self.rows.get(usize::from(number))?.as_deref()
    }
}
