//! Bridge domains, their pseudowires and MAC addresses, and cross-connects.

use super::notices::Notices;
use graph::Plan;
use machine::Time;
use nodes::arcs::NAME_OUT;
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::l2::bridge::{self, BRIDGES_MAX, Bridges, PSEUDOWIRE, PSEUDOWIRES_MAX, seconds};
use nodes::l2::{BridgeInput, CrossConnect};
use nodes::{Out, Refused};
use program::{
    Bridge, BridgeMember, Interface, Mac, Mode, Program, Pseudowire, Removed, StaticMac,
};
use std::collections::{BTreeMap, BTreeSet};
use table::epoch::Publisher;
use table::mac::{BridgeRule, Entry, Kind, MacKey, MacWriter, MoveRule, OnMoves};

/// MAC addresses of all bridge domains at most.
const MACS_MAX: usize = 1 << 20;
/// Seconds within which moves of an address are counted (RFC 7432 §15.1).
const MOVES_WINDOW_S: u32 = 180;
/// Seconds after which an address that moved too often is free again.
const MOVES_HOLD_S: u32 = 600;

/// A MAC address of a bridge domain, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownMac {
    /// The domain.
    pub bridge: u32,
    /// The address.
    pub mac: Mac,
    /// Behind which member it is.
    pub member: BridgeMember,
    /// How it stands there.
    pub entry: Entry,
    /// Seconds since it was a source.
    pub idle_s: u32,
}

/// The feature.
pub(crate) struct Bridging {
    bridges: BTreeMap<u32, Bridge>,
    /// With their hops as the table numbers them.
    pseudowires: BTreeMap<u32, (Pseudowire, u32)>,
    out: Publisher<Bridges>,
    macs: MacWriter,
    static_macs: BTreeSet<(u32, Mac)>,
    notices: Notices,
    changed: bool,
}

impl Bridging {
    fn bridge(&mut self, bridge: &Bridge) -> Result<(), Refused> {
        bridge_number(bridge.bridge)?;
        if bridge.bridge == 0 {
            return Err(Refused::Conflict("bridges are numbered from 1".to_owned()));
        }
        let moves = MoveRule {
            moves: bridge.moves_max,
            window_s: MOVES_WINDOW_S,
            hold_s: MOVES_HOLD_S,
            then: OnMoves::Freeze,
        };
        let rule = BridgeRule {
            learn: bridge.learn,
            ageing_s: bridge.ageing_s,
            macs_max: bridge.macs_max,
            moves: (bridge.moves_max > 0).then_some(moves),
        };
        self.macs.rule_bridge(bridge::number(bridge.bridge), rule);
        self.bridges.insert(bridge.bridge, bridge.clone());
        self.changed = true;
        Ok(())
    }

    /// A bridge domain is gone, with what it has learnt.
    fn remove_bridge(&mut self, bridge: u32) {
        if self.bridges.remove(&bridge).is_some() {
            self.macs.flush_bridge(bridge::number(bridge));
            self.changed = true;
        }
    }

    fn pseudowire(&mut self, wire: &Pseudowire, hop: u32) -> Result<(), Refused> {
        Refused::above("pseudowire", wire.pseudowire, PSEUDOWIRES_MAX - 1)?;
        bridge_number(wire.bridge)?;
        self.limit(PSEUDOWIRE + wire.pseudowire, wire.macs_max);
        self.pseudowires.insert(wire.pseudowire, (wire.clone(), hop));
        self.changed = true;
        Ok(())
    }

    /// A pseudowire is gone, and what was learnt from it.
    fn remove_pseudowire(&mut self, wire: u32) {
        if self.pseudowires.remove(&wire).is_some() {
            self.macs.flush_port(PSEUDOWIRE + wire);
            self.changed = true;
        }
    }

    /// Limits the addresses behind a member of a bridge; 0: no limit.
    fn limit(&mut self, port: u32, macs_max: u32) {
        self.macs.limit_port(port, if macs_max == 0 { u32::MAX } else { macs_max });
    }

    fn static_mac(&mut self, mac: &StaticMac, now: Time) -> Result<(), Refused> {
        bridge_number(mac.bridge)?;
        let port = match mac.member {
            BridgeMember::Interface(interface) => {
                Refused::interface(interface).map(|()| interface)?
            }
            BridgeMember::Pseudowire(wire) => {
                Refused::above("pseudowire", wire, PSEUDOWIRES_MAX - 1)?;
                PSEUDOWIRE + wire
            }
        };
        self.fix(mac.bridge, mac.mac, port, now)?;
        self.static_macs.insert((mac.bridge, mac.mac));
        Ok(())
    }

    /// An address neither moves nor ages.
    fn fix(&mut self, bridge: u32, mac: Mac, port: u32, now: Time) -> Result<(), Refused> {
        let key = MacKey::new(bridge::number(bridge), mac);
        let set = self.macs.set(key, port, Kind::Static, seconds(now));
        set.map_err(|_| Refused::Full("MAC addresses"))
    }

    fn remove_static_mac(&mut self, bridge: u32, mac: Mac) {
        if self.static_macs.remove(&(bridge, mac)) {
            self.macs.remove(MacKey::new(bridge::number(bridge), mac));
        }
    }

    /// The MAC address of a bridge's routed side, before and from now on.
    fn routed_side(
        &mut self,
        interface: u32,
        before: Option<(u32, Mac)>,
        after: Option<(u32, Mac)>,
        now: Time,
    ) -> Result<(), Refused> {
        // What may be refused first: then all is as it was.
        if let Some(side) = after {
            bridge_number(side.0)?;
            self.fix(side.0, side.1, interface, now)?;
        }
        if let Some((bridge, mac)) = before.filter(|_| before != after) {
            self.macs.remove(MacKey::new(bridge::number(bridge), mac));
        }
        Ok(())
    }

    /// Calls `each` with MAC addresses of all bridge domains as [`MacWriter::walk`] does.
    pub(crate) fn walk_macs(
        &self,
        now: Time,
        from: usize,
        places: usize,
        mut each: impl FnMut(KnownMac) -> bool,
    ) -> Option<usize> {
        let now_s = seconds(now);
        self.macs.walk(from, places, |key, entry, heard_s| {
            let member = match entry.port().checked_sub(PSEUDOWIRE) {
                Some(wire) => BridgeMember::Pseudowire(wire),
                None => BridgeMember::Interface(entry.port()),
            };
            each(KnownMac {
                bridge: key.bridge().into(),
                mac: key.mac(),
                member,
                entry,
                idle_s: now_s.saturating_sub(heard_s),
            })
        })
    }

    /// MAC addresses that a bridge domain has learnt or was told.
    pub(crate) fn macs(&self, bridge: u32) -> u32 {
        self.macs.bridge_len(bridge::number(bridge))
    }

    /// Where a MAC address of a bridge domain is.
    pub(crate) fn mac(&self, bridge: u32, mac: Mac) -> Entry {
        self.macs.entry(MacKey::new(bridge::number(bridge), mac))
    }
}

/// Refuses a bridge domain that cannot be.
pub(crate) fn bridge_number(bridge: u32) -> Result<(), Refused> {
    Refused::above("bridge", bridge, BRIDGES_MAX - 2)
}

/// The bridge domain of an interface.
const fn domain(interface: &Interface) -> Option<u32> {
    match interface.mode {
        Mode::Bridged { bridge, .. } | Mode::BridgeRouted { bridge, .. } => Some(bridge),
        Mode::Routed { .. } | Mode::CrossConnect { .. } => None,
    }
}

/// The domain of which an interface is the routed side, and its MAC address there.
fn side(interface: &Interface) -> Option<(u32, Mac)> {
    match interface.mode {
        Mode::BridgeRouted { bridge, .. } => interface.mac.map(|mac| (bridge, mac)),
        _ => None,
    }
}

impl Feature for Bridging {
    fn new(start: &Start<'_>) -> Self {
        Self {
            bridges: BTreeMap::new(),
            pseudowires: BTreeMap::new(),
            out: Publisher::new(start.domain, Bridges::default()),
            macs: MacWriter::new(start.domain, MACS_MAX, start.seed.into()),
            static_macs: BTreeSet::new(),
            notices: Notices::default(),
            changed: false,
        }
    }

    fn name(&self) -> &'static str {
        "bridging"
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        match program {
            Program::Bridge(bridge) => self.bridge(bridge)?,
            Program::Pseudowire(wire) => self.pseudowire(wire, change.hop(wire.hop)?)?,
            Program::StaticMac(mac) => self.static_mac(mac, change.now())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        match removed {
            Removed::Bridge(bridge) => self.remove_bridge(*bridge),
            Removed::Pseudowire(wire) => self.remove_pseudowire(*wire),
            Removed::StaticMac(bridge, mac) => self.remove_static_mac(*bridge, *mac),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let macs = self.static_macs.iter().map(|(at, mac)| Removed::StaticMac(*at, *mac));
        let wires = self.pseudowires.keys().map(|wire| Removed::Pseudowire(*wire));
        macs.chain(wires).chain(self.bridges.keys().map(|it| Removed::Bridge(*it))).collect()
    }

    /// What was learnt there is forgotten if it is no member of that bridge any more.
    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        change: &mut Change<'_>,
    ) -> Result<(), Refused> {
        let Some(index) = after.or(before).map(|link| link.index) else { return Ok(()) };
        let (old, new) = (before.and_then(side), after.and_then(side));
        let stays =
            before.zip(after).is_some_and(|(before, after)| domain(before) == domain(after));
        self.routed_side(index, old, new, change.now())?;
        if !stays {
            self.macs.flush_port(index);
        }
        self.changed = true;
        if let Some(Mode::Bridged { macs_max, .. }) = after.map(|link| &link.mode) {
            self.limit(index, *macs_max);
        }
        Ok(())
    }

    fn publish(&mut self, interfaces: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.changed) {
            let bridges = Bridges::of(&self.bridges, &self.pseudowires, interfaces);
            self.out.publish(bridges);
        }
    }

    /// Learns what workers saw, and lets addresses age.
    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        let notices = &mut self.notices;
        let told = |event| out.extend(notices.of(event, now).map(Out::Mac));
        self.macs.poll(seconds(now), told);
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let (bridges, macs) = (self.out.published(), self.macs.macs());
        let learner = self.macs.learner();
        plan.node(CrossConnect::new(worker.shared.clone())).node(BridgeInput::new(
            worker.shared.clone(),
            bridges,
            macs,
            learner,
        ))
    }

    fn joins(&self) -> Vec<Join> {
        let from = |node| Join::From { arc: NAME_OUT, node };
        vec![from("cross-connect"), from("bridge-input")]
    }
}
