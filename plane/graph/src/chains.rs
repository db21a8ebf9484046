//! Features join a path by configuration: an arc is a stretch of the path, and each interface has
//! its own chain of features on it.
//!
//! ```text
//!   ip4-input ──arc ip4-in──→ [urpf] → [filter] → [policer] ──→ ip4-lookup     interface 7
//!                             [filter] ───────────────────────→ ip4-lookup     interface 9
//!                             ────────────────────────────────→ ip4-lookup     all others
//! ```
//! A packet carries its place in a flat list of nodes (`Meta::cursor`): going on is one load.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::epoch::{Domain, Published, Publisher};

/// Arcs of a graph at most.
pub const ARCS_MAX: usize = 32;
/// Interfaces with features of their own are numbered below this.
pub const INTERFACES_MAX: usize = 65_536;
/// The bit of an arc's number that says: chains go by the interface a packet leaves by.
const BY_TRANSMIT: u8 = 0x80;

/// An arc's number, and whether its chains go by the interface a packet came in by or leaves by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct ArcId(pub(crate) u8, u8);

impl ArcId {
    /// Arc `number`, whose chains go by the interface that a packet came in by.
    #[must_use]
    pub const fn received(number: u8) -> Self {
        Self(number, 0)
    }

    /// Arc `number`, whose chains go by the interface that a packet leaves by.
    #[must_use]
    pub const fn transmitted(number: u8) -> Self {
        Self(number, BY_TRANSMIT)
    }

    #[inline]
    pub(crate) const fn by_transmit(self) -> bool {
        self.1 != 0
    }
}

/// An arc as declared: its features in the order in which they come.
#[derive(Clone, Debug)]
pub struct ArcRow {
    /// Its number.
    pub id: ArcId,
    /// Its name, e.g. `ip4-in`.
    pub name: &'static str,
    /// The nodes that send packets along it.
    pub starts: Cow<'static, [&'static str]>,
    /// The nodes that may join it, first to last.
    pub features: Cow<'static, [&'static str]>,
    /// The node at its end.
    pub end: &'static str,
}

/// Why a chain cannot be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// No arc has this name.
    #[error("there is no arc {0}")]
    NoArc(String),
    /// No such feature on the arc.
    #[error("arc {arc} has no feature {feature}: it has {has}")]
    NoFeature {
        /// The arc.
        arc: &'static str,
        /// What was asked for.
        feature: String,
        /// What it has.
        has: String,
    },
    /// The interface's number is too high.
    #[error("interface {0}: numbers go to {INTERFACES_MAX}")]
    Interface(u32),
}

/// All chains as the workers see them.
pub struct Chains {
    /// By arc and interface: the cursor; an arc where nobody has a feature has none.
    starts: Vec<Vec<u32>>,
    /// Node after node; the first `ARCS_MAX` entries are the arcs' ends.
    steps: Vec<u16>,
}

impl Chains {
    #[inline]
    pub(crate) fn starts(&self, arc: ArcId) -> Option<&[u32]> {
        self.starts.get(usize::from(arc.0)).filter(|starts| !starts.is_empty()).map(Vec::as_slice)
    }

    #[inline]
    pub(crate) fn end(&self, arc: ArcId) -> u16 {
        self.steps[usize::from(arc.0)]
    }

    #[inline]
    pub(crate) fn step(&self, cursor: u32) -> u16 {
        self.steps[cursor as usize]
    }
}

/// The chains of all workers: the one who changes them.
pub struct ChainsWriter {
    arcs: Vec<ArcRow>,
    nodes: BTreeMap<String, u16>,
    enabled: BTreeMap<(ArcId, u32), u64>,
    publisher: Publisher<Chains>,
}

impl ChainsWriter {
    pub(crate) fn new(
        domain: &Arc<Domain>,
        arcs: Vec<ArcRow>,
        nodes: BTreeMap<String, u16>,
    ) -> Self {
        let chains = compile(&arcs, &nodes, &BTreeMap::new());
        Self { arcs, nodes, enabled: BTreeMap::new(), publisher: Publisher::new(domain, chains) }
    }

    /// What the workers read.
    #[must_use]
    pub fn published(&self) -> Arc<Published<Chains>> {
        self.publisher.published()
    }

    /// Gives an interface these features on an arc (in the arc's order, whatever the order here)
    /// and no others. Nothing changes before [`ChainsWriter::publish`].
    ///
    /// # Errors
    /// When there is no such arc, feature or interface.
    pub fn set(&mut self, arc: &str, interface: u32, features: &[&str]) -> Result<(), Refused> {
        let row = self.arcs.iter().find(|row| row.name == arc);
        let row = row.ok_or_else(|| Refused::NoArc(arc.to_owned()))?;
        if interface as usize >= INTERFACES_MAX {
            return Err(Refused::Interface(interface));
        }
        let mut bits = 0_u64;
        for feature in features {
            let at = row.features.iter().position(|name| name == feature);
            bits |= 1
                << at.ok_or_else(|| Refused::NoFeature {
                    arc: row.name,
                    feature: (*feature).to_owned(),
                    has: row.features.join(", "),
                })?;
        }
        match bits {
            0 => self.enabled.remove(&(row.id, interface)),
            _ => self.enabled.insert((row.id, interface), bits),
        };
        Ok(())
    }

    /// Makes what was set true for the packets from now on.
    pub fn publish(&mut self) {
        self.publisher.publish(compile(&self.arcs, &self.nodes, &self.enabled));
    }

    /// Features of an interface on an arc, in their order.
    #[must_use]
    pub fn features(&self, arc: &str, interface: u32) -> Vec<&'static str> {
        let Some(row) = self.arcs.iter().find(|row| row.name == arc) else { return Vec::new() };
        let bits = self.enabled.get(&(row.id, interface)).copied().unwrap_or(0);
        chosen(row, bits).collect()
    }
}

fn chosen(row: &ArcRow, bits: u64) -> impl Iterator<Item = &'static str> + '_ {
    row.features
        .iter()
        .enumerate()
        .filter(move |(at, _)| bits >> at & 1 == 1)
        .map(|(_, name)| *name)
}

/// Chains that are alike are one: a thousand interfaces with the same features share their steps.
fn compile(
    arcs: &[ArcRow],
    nodes: &BTreeMap<String, u16>,
    enabled: &BTreeMap<(ArcId, u32), u64>,
) -> Chains {
    let mut steps = vec![0; ARCS_MAX];
    for row in arcs {
        steps[usize::from(row.id.0)] = nodes[row.end];
    }
    let mut starts = vec![Vec::new(); ARCS_MAX];
    let mut known: BTreeMap<(ArcId, u64), u32> = BTreeMap::new();
    for row in arcs {
        let of_arc = enabled.range((row.id, 0)..=(row.id, u32::MAX));
        for ((_, interface), bits) in of_arc {
            let cursor = *known.entry((row.id, *bits)).or_insert_with(|| {
                let cursor = machine::narrow::place(steps.len());
                steps.extend(chosen(row, *bits).map(|name| nodes[name]));
                steps.push(nodes[row.end]);
                cursor
            });
            let starts = &mut starts[usize::from(row.id.0)];
            let needed = *interface as usize + 1;
            if starts.len() < needed {
                starts.resize(needed, u32::from(row.id.0));
            }
            starts[*interface as usize] = cursor;
        }
    }
    Chains { starts, steps }
}
