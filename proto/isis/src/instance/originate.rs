//! What we say ourselves (ISO 10589 §7.3.2 to §7.3.10): our fragments, and those of the pseudonodes
//! of LANs where we are designated. All is made anew; what differs from what was said is said.

use super::Instance;
use super::hello::{own_addresses, protocols};
use crate::address::{FragmentId, Level, Levels, LspId, NodeId};
use crate::circuit::Circuit;
use crate::lsp::{
    AdjacencySid, Content, Neighbour, PrefixSid, Reach, SID_NO_PHP, SID_READVERTISED,
};
use crate::pdu::{LSP_HEADER_OCTETS, LspFlags, Summary, write_lsp};
use crate::routes::{Route, RouteKind};
use crate::settings::Prefix;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The B flag of an adjacency SID is not set: labels are not protected unless routes say so.
const ADJACENCY_FLAGS: u8 = 0;
/// The F flag: the label is for IPv6.
const ADJACENCY_IPV6: u8 = 0x80;

/// Time between two looks at all that we say, as far as PDUs have them taken.
const PACE: Duration = Duration::from_millis(100);

type Wanted = BTreeMap<FragmentId, (LspFlags, Vec<u8>)>;

impl Instance {
    pub(super) fn originate_all(&mut self, now: Time) {
        let is_due = self.own.due.is_some_and(|at| at <= now);
        if is_due {
            self.own.due = None;
        }
        if self.restarting.is_some() || !(self.own.is_stale || is_due) {
            return;
        }
        let paced_until = self.own.paced_until;
        if now < paced_until && !is_due {
            self.own.is_stale = false;
            self.own.due = Some(self.own.due.map_or(paced_until, |due| due.min(paced_until)));
            return;
        }
        self.own.is_stale = false;
        self.own.paced_until = now + PACE;
        let mut wanted = Wanted::new();
        for level in self.settings.levels.each() {
            self.want(level, &mut wanted);
        }
        for level in Level::ALL {
            self.withdraw(now, level, &wanted);
        }
        self.own.at.retain(|id, _| wanted.contains_key(id));
        self.own.said.retain(|id, _| wanted.contains_key(id));
        self.own.contested.retain(|id| wanted.contains_key(id));
        for (id, (flags, tlvs)) in wanted {
            self.originate(now, id, flags, tlvs);
        }
    }

    /// What is not said any more is purged.
    fn withdraw(&mut self, now: Time, level: Level, wanted: &Wanted) {
        let system = self.settings.system;
        let of = |pseudonode, fragment| LspId { node: NodeId { system, pseudonode }, fragment };
        let all = self.data(level).lsdb.range(of(0, 0), of(u8::MAX, u8::MAX));
        let gone = all.filter(|(id, it)| !it.is_purge() && !wanted.contains_key(&(level, **id)));
        let gone: Vec<LspId> = gone.map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.purge(now, level, id, None));
    }

    fn originate(&mut self, now: Time, id: FragmentId, flags: LspFlags, tlvs: Vec<u8>) {
        let (level, lsp) = id;
        let entry = self.data(level).lsdb.of(lsp);
        let is_live = entry.is_some_and(|it| !it.is_purge());
        let is_said = self.own.said.get(&id).is_some_and(|it| it.0 == flags && it.1 == tlvs);
        if is_live && is_said && !self.own.contested.contains(&id) {
            return;
        }
        let sequence = entry.map_or(0, |it| it.summary.sequence).checked_add(1);
        let earliest = self.own.at.get(&id).map(|at| *at + self.settings.periods.lsp);
        if let Some(at) = earliest.filter(|at| *at > now) {
            self.own.due = Some(self.own.due.map_or(at, |due| due.min(at)));
            return;
        }
        let Some(sequence) = sequence else {
            // Behind the last number it begins anew, once the last form is forgotten (§7.3.16.1).
            self.purge(now, level, lsp, None);
            return;
        };
        let lifetime_s = self.settings.periods.lifetime_s;
        let summary = Summary { lifetime_s, id: lsp, sequence, checksum: 0 };
        let authentication = &self.settings.authentication[level.at()];
        let octets = write_lsp(level, &summary, flags, &tlvs, authentication);
        let checksum = u16::from_be_bytes([octets[24], octets[25]]);
        self.own.contested.remove(&id);
        self.own.at.insert(id, now);
        self.own.said.insert(id, (flags, tlvs));
        self.counts.originated += 1;
        self.install(now, level, Summary { checksum, ..summary }, flags, &octets);
        self.flood(level, lsp, None);
    }

    /// All that shall be said in a level.
    fn want(&self, level: Level, wanted: &mut Wanted) {
        let is_level2 = self.settings.levels.has(Level::Two);
        let own = LspFlags {
            is_attached: level == Level::One && is_level2 && self.own.is_attached,
            is_overloaded: self.settings.is_overloaded,
            is_level2,
        };
        self.want_node(level, NodeId::of(self.settings.system), own, &self.said(level), wanted);
        for circuit in self.circuits.values().filter(|it| it.is_up) {
            let state = circuit.level(level);
            if let Some(lan) = state.lan.filter(|_| state.is_designated) {
                let others = circuit.up(level).map(|it| it.system);
                let all = core::iter::once(self.settings.system).chain(others);
                let neighbours = all
                    .map(|system| Neighbour { node: NodeId::of(system), ..Neighbour::default() });
                let content = Content { neighbours: neighbours.collect(), ..Content::default() };
                let flags = LspFlags { is_level2, ..LspFlags::default() };
                self.want_node(level, lan, flags, &content, wanted);
            }
        }
    }

    fn want_node(
        &self,
        level: Level,
        node: NodeId,
        flags: LspFlags,
        content: &Content,
        wanted: &mut Wanted,
    ) {
        let taken = LSP_HEADER_OCTETS + self.settings.authentication[level.at()].octets();
        let room = usize::from(self.settings.lsp_octets).saturating_sub(taken);
        let fragments = content.fragments(self.settings.style, room);
        for (tlvs, fragment) in fragments.into_iter().zip(0..=u8::MAX) {
            wanted.insert((level, LspId { node, fragment }), (flags, tlvs));
        }
    }

    /// What the system itself says in a level.
    fn said(&self, level: Level) -> Content {
        let settings = &self.settings;
        let up = || self.circuits.values().filter(|it| it.is_up && it.active.has(level));
        let protocols: BTreeSet<u8> = up().flat_map(protocols).collect();
        let addresses: Vec<_> = up().flat_map(own_addresses).take(60).collect();
        Content {
            areas: settings.areas.clone(),
            protocols: protocols.into_iter().collect(),
            hostname: (!settings.hostname.is_empty()).then(|| settings.hostname.clone()),
            router: settings.router.or_else(|| addresses.first().copied()),
            addresses,
            segment_routing: settings.segment_routing.clone(),
            neighbours: up().flat_map(|circuit| neighbours(circuit, level)).collect(),
            reaches: self.reaches(level),
            purged_by: Vec::new(),
        }
    }

    fn reaches(&self, level: Level) -> Vec<Reach> {
        let mut found: BTreeMap<Prefix, Reach> = BTreeMap::new();
        let between = self.routes.iter().filter_map(|(prefix, route)| {
            let goes = match (level, route.kind) {
                (Level::Two, RouteKind::Level1) => true,
                (Level::One, RouteKind::Level2) => self.settings.leaking.takes(prefix),
                _ => false,
            };
            goes.then(|| between_levels(*prefix, route, level == Level::One))
        });
        if self.settings.levels == Levels::BOTH {
            found.extend(between.map(|reach| (reach.prefix, reach)));
        }
        let up = self.circuits.values().filter(|it| it.is_up && it.settings.levels.has(level));
        for circuit in up {
            for prefix in circuit.settings.prefixes() {
                let metric = circuit.settings.metric;
                let own = found.entry(prefix).or_insert_with(|| Reach::new(prefix, metric));
                *own = Reach::new(prefix, own.metric.min(metric));
            }
        }
        for (prefix, said) in self.own.advertised.iter().filter(|it| it.1.levels.has(level)) {
            let metric = found.get(prefix).map_or(said.metric, |it| it.metric.min(said.metric));
            let reach = Reach {
                is_external: said.is_external,
                tag: said.tag,
                sid: said.sid,
                ..Reach::new(*prefix, metric)
            };
            found.insert(*prefix, reach);
        }
        found.into_values().collect()
    }
}

/// A route of one level as the other is told of it (RFC 5302, RFC 8667 §2.1.2).
fn between_levels(prefix: Prefix, route: &Route, is_down: bool) -> Reach {
    let flags = SID_READVERTISED | SID_NO_PHP;
    let sid = route.sid.map(|it| PrefixSid { flags: it.flags | flags, ..it });
    Reach {
        is_down,
        is_external: route.has_external_metric,
        has_external_metric: route.has_external_metric,
        tag: route.tag,
        sid,
        ..Reach::new(prefix, route.cost)
    }
}

/// Neighbours that a circuit gives us.
fn neighbours(circuit: &Circuit, level: Level) -> Vec<Neighbour> {
    let (metric, index) = (circuit.settings.metric, circuit.settings.index);
    let address = own_addresses(circuit).first().copied();
    let sids = |is_lan: bool| {
        let labelled =
            circuit.up(level).filter_map(|it| Some((it, *circuit.sids.get(&it.system)?)));
        let made = labelled.map(move |(it, sid)| AdjacencySid {
            flags: if it.addresses.is_empty() { ADJACENCY_IPV6 } else { ADJACENCY_FLAGS },
            weight: 0,
            neighbour: is_lan.then_some(it.system),
            sid,
            is_label: true,
        });
        made.collect::<Vec<AdjacencySid>>()
    };
    let told = || circuit.adjacencies.values().filter(|it| it.is_advertised(level));
    if circuit.is_lan() {
        let lan = circuit.level(level).lan.filter(|_| told().next().is_some());
        let made = lan.map(|node| Neighbour {
            node,
            metric,
            link: Some([index, 0]),
            address,
            sids: sids(true),
            is_wide: true,
        });
        return made.into_iter().collect();
    }
    let made = told().map(|it| Neighbour {
        node: NodeId::of(it.system),
        metric,
        link: Some([index, it.circuit]),
        address,
        sids: sids(false),
        is_wide: true,
    });
    made.collect()
}
