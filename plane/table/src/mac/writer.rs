//! The one writer of a MAC table: learns what workers tell, moves, freezes, ages, keeps limits.

use super::learner::{Learner, Ring};
use super::lines::{Lines, PROBES_MAX, SLOTS};
use super::moves::{MoveRule, Movers, OnMoves};
use super::{BRIDGES_MAX, Entry, MacKey, Macs, PORTS_MAX};
use crate::epoch::{Domain, Publisher, RetireList};
use crate::lanes::Lanes;
use machine::narrow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Addresses that a table may be made for at most.
pub const MACS_MAX: usize = 1 << 24;
/// This part of a table is for addresses that were not learnt.
const KEPT_DIVISOR: usize = 64;
/// Seconds in which all ages are looked at once.
const SWEEP_S: u32 = 4;
/// Lines that one of several calls a second sweeps: it does not keep a core for long.
const SWEPT_PER_POLL: usize = 512;
/// Addresses taken from each worker's ring in one poll.
const LEARNT_PER_POLL: usize = 4_096;
/// Cleared slots that wait for one end of an epoch together.
const CLEARED_MAX: usize = 256;

/// Where an entry comes from when it is set by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As if a frame had been seen: ages and moves.
    Learnt,
    /// Told by the control plane: does not age, moves to where a frame is seen.
    Control,
    /// Configured: neither ages nor moves.
    Static,
}

/// How a bridge treats its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeRule {
    /// Whether addresses are learnt from frames.
    pub learn: bool,
    /// Seconds after which an address that is no source any more is forgotten; 0 is never.
    pub ageing_s: u32,
    /// Addresses of this bridge at most.
    pub macs_max: u32,
    /// When moves are too many; `None`: never.
    pub moves: Option<MoveRule>,
}

impl Default for BridgeRule {
    fn default() -> Self {
        let moves = Some(MoveRule::default());
        Self { learn: true, ageing_s: 300, macs_max: u32::MAX, moves }
    }
}

/// What happened to an address: for the control plane (EVPN advertises it), logs and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// Learnt at a port.
    Learnt(MacKey, u32),
    /// Moved: from, to.
    Moved(MacKey, u32, u32),
    /// Forgotten after its time: the port it was at.
    Aged(MacKey, u32),
    /// Moved too often: stays at this port, or is blocked, by the rule of its bridge.
    Frozen(MacKey, u32),
    /// Not frozen any more.
    Thawed(MacKey),
    /// Not learnt: why, and at which port.
    Refused(MacKey, u32, MacRefused),
}

/// Why an address was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacRefused {
    /// The table is full.
    TableFull,
    /// The bridge has as many as it may.
    BridgeFull,
    /// The port has as many as it may.
    PortFull,
    /// No line near its home has room; another seed would place it elsewhere.
    Crowded,
    /// Group address, or bridge or port out of range.
    Malformed,
}

#[derive(Clone, Copy, Default)]
struct BridgeState {
    rule: Option<BridgeRule>,
    macs: u32,
}

#[derive(Clone, Copy)]
struct PortState {
    macs: u32,
    macs_max: u32,
}

impl Default for PortState {
    fn default() -> Self {
        Self { macs: 0, macs_max: u32::MAX }
    }
}

/// A slot that was cleared, in which generation of the lines.
struct Cleared {
    generation: u32,
    line: u32,
    slot: u8,
}

/// Where an entry stands.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    slot: usize,
}

/// The writer.
pub struct MacWriter {
    lines: Publisher<Lines>,
    macs: Arc<Macs>,
    macs_max: usize,
    len: usize,
    /// Slots of each line that were cleared and may still be looked at.
    held: Vec<u8>,
    /// Addresses that stand beyond each line, which they looked at first.
    beyond: Vec<u32>,
    generation: u32,
    cleared: Vec<Cleared>,
    waiting: RetireList<Vec<Cleared>>,
    rings: Vec<Arc<Ring>>,
    bridges: BTreeMap<u16, BridgeState>,
    ports: BTreeMap<u32, PortState>,
    movers: Movers,
    swept: usize,
    to_sweep: usize,
    polled_s: u32,
}

impl MacWriter {
    /// An empty table for `macs_max` addresses (at most [`MACS_MAX`]).
    ///
    /// # Panics
    /// When the kernel gives no memory for an empty table.
    #[must_use]
    pub fn new(domain: &Arc<Domain>, macs_max: usize, seed: u64) -> Self {
        Self::with_lanes(domain, macs_max, seed, Lanes::best())
    }

    /// As [`MacWriter::new`], looked up by the given kind of code.
    ///
    /// # Panics
    /// When the kernel gives no memory for an empty table.
    #[must_use]
    pub fn with_lanes(domain: &Arc<Domain>, macs_max: usize, seed: u64, lanes: Lanes) -> Self {
        let first = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D;
        let second = first.rotate_left(31).wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1;
        let lines = Lines::new(PROBES_MAX, [first, second]).expect("memory for an empty table");
        let length = lines.len();
        let lines = Publisher::new(domain, lines);
        let macs = Arc::new(Macs { lines: lines.published(), lanes });
        Self {
            lines,
            macs,
            macs_max: macs_max.clamp(1, MACS_MAX),
            len: 0,
            held: vec![0; length],
            beyond: vec![0; length],
            generation: 0,
            cleared: Vec::new(),
            waiting: RetireList::new(domain),
            rings: Vec::new(),
            bridges: BTreeMap::new(),
            ports: BTreeMap::new(),
            movers: Movers::default(),
            swept: 0,
            to_sweep: 0,
            polled_s: 0,
        }
    }

    /// What workers look up in.
    #[must_use]
    pub fn macs(&self) -> Arc<Macs> {
        Arc::clone(&self.macs)
    }

    /// A learner for one more worker.
    pub fn learner(&mut self) -> Learner {
        let ring = Ring::new();
        self.rings.retain(|ring| Arc::strong_count(ring) > 1);
        self.rings.push(Arc::clone(&ring));
        Learner::new(ring)
    }

    /// Addresses in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Addresses of a bridge.
    #[must_use]
    pub fn bridge_len(&self, bridge: u16) -> u32 {
        self.bridges.get(&bridge).map_or(0, |bridge| bridge.macs)
    }

    /// Addresses at a port, of all bridges.
    #[must_use]
    pub fn port_len(&self, port: u32) -> u32 {
        self.ports.get(&port).map_or(0, |port| port.macs)
    }

    /// Sets the rule of a bridge; one without has the default rule.
    pub fn rule_bridge(&mut self, bridge: u16, rule: BridgeRule) {
        self.bridges.entry(bridge).or_default().rule = Some(rule);
    }

    /// Limits the addresses at a port.
    pub fn limit_port(&mut self, port: u32, macs_max: u32) {
        self.ports.entry(port).or_default().macs_max = macs_max;
    }

    /// The entry of an address.
    #[must_use]
    pub fn entry(&self, key: MacKey) -> Entry {
        self.place(key).map_or(Entry::UNKNOWN, |(_, entry)| entry)
    }

    /// Sets an address by hand, new or not; limits count for [`Kind::Learnt`] only.
    ///
    /// # Errors
    /// [`MacRefused`] when it cannot be taken.
    pub fn set(
        &mut self,
        key: MacKey,
        port: u32,
        kind: Kind,
        now_s: u32,
    ) -> Result<(), MacRefused> {
        if key.is_group() || port >= PORTS_MAX || key.bridge() >= BRIDGES_MAX - 1 {
            return Err(MacRefused::Malformed);
        }
        let entry = Entry::new(
            port,
            match kind {
                Kind::Learnt => 0,
                Kind::Control => Entry::CONTROL,
                Kind::Static => Entry::STATIC,
            },
        );
        if let Some((place, old)) = self.place(key) {
            self.relocate(place, old.port(), entry);
            self.lines.value().line(place.line).refresh(place.slot, now_s);
            return Ok(());
        }
        self.admit(key, port, kind)?;
        self.put(key, entry, now_s)
    }

    /// Takes an address out.
    pub fn remove(&mut self, key: MacKey) -> Option<Entry> {
        let (place, entry) = self.place(key)?;
        self.clear(place, key, entry);
        Some(entry)
    }

    /// Forgets what was learnt at a port (or told by the control plane); configured ones stay.
    pub fn flush_port(&mut self, port: u32) -> usize {
        self.flush(|_, entry| entry.port() == port)
    }

    /// Forgets what was learnt in a bridge (or told by the control plane); configured ones stay.
    pub fn flush_bridge(&mut self, bridge: u16) -> usize {
        self.flush(|key, _| key.bridge() == bridge)
    }

    /// Thaws an address by hand.
    pub fn thaw(&mut self, key: MacKey) -> bool {
        let Some((place, entry)) = self.place(key) else { return false };
        let thawed = Entry(entry.0 & !(Entry::FROZEN | Entry::BLOCKED));
        self.lines.value().line(place.line).set(place.slot, thawed);
        entry != thawed
    }

    /// Calls `each` with every address, its entry and the second it was last a source.
    pub fn for_each(&self, mut each: impl FnMut(MacKey, Entry, u32)) {
        let lines = self.lines.value();
        for (line, slot) in (0..lines.len()).flat_map(|at| (0..SLOTS).map(move |slot| (at, slot))) {
            let line = lines.line(line);
            if let Some(key) = line.key(slot) {
                each(key, line.entry(slot), line.age(slot));
            }
        }
    }

    /// Calls `each` with addresses as [`MacWriter::for_each`] does, from a place of the table on,
    /// and looks at `places` of them at most. `each` says whether it took the address; if not, that
    /// is where to go on. The place where the next call goes on; `None`: that was all.
    pub fn walk(
        &self,
        from: usize,
        places: usize,
        mut each: impl FnMut(MacKey, Entry, u32) -> bool,
    ) -> Option<usize> {
        let lines = self.lines.value();
        let all = lines.len() * SLOTS;
        let end = from.saturating_add(places).min(all);
        for place in from..end {
            let (line, slot) = (lines.line(place / SLOTS), place % SLOTS);
            let Some(key) = line.key(slot) else { continue };
            if !each(key, line.entry(slot), line.age(slot)) {
                return Some(place);
            }
        }
        (end < all).then_some(end)
    }

    /// The writer's turn, some times a second: takes what workers told, thaws, and ages a part of
    /// the table by the time that passed. `now_s` is the clock that workers check with.
    pub fn poll(&mut self, now_s: u32, mut event: impl FnMut(MacEvent)) {
        for at in 0..self.rings.len() {
            for _ in 0..LEARNT_PER_POLL {
                let Some((key, port, seen_s)) = self.rings[at].take() else { break };
                if let Some(what) = self.learn(key, port, seen_s, now_s) {
                    event(what);
                }
            }
        }
        while let Some(key) = self.movers.thaw(now_s) {
            if self.thaw(key) {
                event(MacEvent::Thawed(key));
            }
        }
        self.sweep(now_s, &mut event);
        self.reclaim();
    }

    fn rule(&self, bridge: u16) -> BridgeRule {
        self.bridges.get(&bridge).and_then(|bridge| bridge.rule).unwrap_or_default()
    }

    fn learn(&mut self, key: MacKey, port: u32, seen_s: u32, now_s: u32) -> Option<MacEvent> {
        let rule = self.rule(key.bridge());
        if !rule.learn {
            return None;
        }
        let Some((place, old)) = self.place(key) else {
            return Some(match self.set(key, port, Kind::Learnt, seen_s) {
                Ok(()) => MacEvent::Learnt(key, port),
                Err(refused) => MacEvent::Refused(key, port, refused),
            });
        };
        self.lines.value().line(place.line).refresh(place.slot, seen_s);
        if old.port() == port || old.is_static() || old.is_frozen() || old.is_blocked() {
            return None;
        }
        if port >= PORTS_MAX {
            return Some(MacEvent::Refused(key, port, MacRefused::Malformed));
        }
        let state = self.ports.get(&port).copied().unwrap_or_default();
        if state.macs >= state.macs_max {
            // It stays where it is, and is no mover: frames at a full port freeze nothing.
            return Some(MacEvent::Refused(key, port, MacRefused::PortFull));
        }
        if let Some(moves) = rule.moves.filter(|moves| self.movers.count(key, moves, now_s)) {
            return Some(self.freeze(key, place, old, &moves, now_s));
        }
        self.relocate(place, old.port(), Entry::new(port, 0));
        Some(MacEvent::Moved(key, old.port(), port))
    }

    fn freeze(
        &mut self,
        key: MacKey,
        place: Place,
        old: Entry,
        rule: &MoveRule,
        now_s: u32,
    ) -> MacEvent {
        let flag = match rule.then {
            OnMoves::Freeze => Entry::FROZEN,
            OnMoves::Block => Entry::FROZEN | Entry::BLOCKED,
        };
        self.lines.value().line(place.line).set(place.slot, Entry(old.0 | flag));
        if rule.hold_s != 0 {
            self.movers.freeze(key, now_s.saturating_add(rule.hold_s));
        }
        MacEvent::Frozen(key, old.port())
    }

    /// Whether a new address may come; counts it.
    fn admit(&mut self, key: MacKey, port: u32, kind: Kind) -> Result<(), MacRefused> {
        let limited = kind == Kind::Learnt;
        // What hosts make up leaves room for what is configured.
        let kept = if limited { self.macs_max / KEPT_DIVISOR } else { 0 };
        if self.len >= self.macs_max - kept {
            return Err(MacRefused::TableFull);
        }
        let macs_max = self.rule(key.bridge()).macs_max;
        let bridge = self.bridges.entry(key.bridge()).or_default();
        if limited && bridge.macs >= macs_max {
            return Err(MacRefused::BridgeFull);
        }
        let state = self.ports.entry(port).or_default();
        if limited && state.macs >= state.macs_max {
            return Err(MacRefused::PortFull);
        }
        Ok(())
    }

    /// Changes port and flags of an entry in place.
    fn relocate(&mut self, place: Place, from: u32, entry: Entry) {
        self.lines.value().line(place.line).set(place.slot, entry);
        if let Some(state) = self.ports.get_mut(&from) {
            state.macs -= 1;
        }
        self.ports.entry(entry.port()).or_default().macs += 1;
    }

    fn place(&self, key: MacKey) -> Option<(Place, Entry)> {
        let lines = self.lines.value();
        let home = lines.home(key);
        for at in home..home + PROBES_MAX {
            let line = lines.line(at);
            let slots = line.with_key(key);
            if slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                let place = Place { line: at & (lines.len() - 1), slot };
                return Some((place, line.entry(slot)));
            }
            if self.beyond[at & (lines.len() - 1)] == 0 {
                break;
            }
        }
        None
    }

    fn put(&mut self, key: MacKey, entry: Entry, now_s: u32) -> Result<(), MacRefused> {
        let lines = self.lines.value();
        // Half full: then one address in twenty stands beyond its home.
        let crowded = self.len >= lines.len() * SLOTS / 2;
        if crowded || !put(lines, &self.held, &mut self.beyond, key, entry, now_s) {
            self.rebuild()?;
            let lines = self.lines.value();
            if !put(lines, &self.held, &mut self.beyond, key, entry, now_s) {
                return Err(MacRefused::Crowded);
            }
        }
        self.len += 1;
        self.bridges.entry(key.bridge()).or_default().macs += 1;
        self.ports.entry(entry.port()).or_default().macs += 1;
        Ok(())
    }

    /// Builds twice as many lines beside the old ones and publishes them.
    fn rebuild(&mut self) -> Result<(), MacRefused> {
        let old = self.lines.value();
        let length = (old.len() * 2).max(self.len.next_power_of_two() / 2);
        if length > MACS_MAX {
            return Err(MacRefused::Crowded);
        }
        let new = Lines::new(length, old.secrets()).map_err(|_| MacRefused::TableFull)?;
        let (held, mut beyond) = (vec![0; length], vec![0; length]);
        for (line, slot) in (0..old.len()).flat_map(|at| (0..SLOTS).map(move |slot| (at, slot))) {
            let line = old.line(line);
            let Some(key) = line.key(slot) else { continue };
            if !put(&new, &held, &mut beyond, key, line.entry(slot), line.age(slot)) {
                return Err(MacRefused::Crowded);
            }
        }
        (self.held, self.beyond) = (held, beyond);
        self.generation = self.generation.wrapping_add(1);
        self.swept = 0;
        self.lines.publish(new);
        Ok(())
    }

    fn clear(&mut self, place: Place, key: MacKey, entry: Entry) {
        let lines = self.lines.value();
        lines.line(place.line).clear(place.slot);
        let mut at = lines.home(key);
        while at & (lines.len() - 1) != place.line {
            let line = at & (lines.len() - 1);
            self.beyond[line] -= 1;
            lines.mark(line, self.beyond[line] != 0);
            at += 1;
        }
        self.held[place.line] |= 1 << place.slot;
        let (line, slot) = (narrow::place(place.line), narrow::at_most(place.slot as u64, u8::MAX));
        self.cleared.push(Cleared { generation: self.generation, line, slot });
        self.len -= 1;
        if let Some(bridge) = self.bridges.get_mut(&key.bridge()) {
            bridge.macs -= 1;
        }
        if let Some(port) = self.ports.get_mut(&entry.port()) {
            port.macs -= 1;
        }
        if self.cleared.len() >= CLEARED_MAX {
            self.reclaim();
        }
    }

    fn flush(&mut self, of: impl Fn(MacKey, Entry) -> bool) -> usize {
        let before = self.len;
        for line in 0..self.lines.value().len() {
            self.clear_in(line, |key, entry, _| !entry.is_static() && of(key, entry), &mut |_| ());
        }
        self.reclaim();
        before - self.len
    }

    /// Clears those entries of a line that `which` says, of key, entry and age.
    fn clear_in(
        &mut self,
        line: usize,
        which: impl Fn(MacKey, Entry, u32) -> bool,
        event: &mut impl FnMut(MacEvent),
    ) {
        for slot in 0..SLOTS {
            let held = self.lines.value().line(line);
            let Some(key) = held.key(slot) else { continue };
            let entry = held.entry(slot);
            if which(key, entry, held.age(slot)) {
                self.clear(Place { line, slot }, key, entry);
                event(MacEvent::Aged(key, entry.port()));
            }
        }
    }

    /// Looks at the ages of as many lines as the time since the last call asks for: a part at each
    /// call of a second, what is left after it at once.
    fn sweep(&mut self, now_s: u32, event: &mut impl FnMut(MacEvent)) {
        let length = self.lines.value().len();
        let passed = now_s.saturating_sub(self.polled_s).min(SWEEP_S) as usize;
        self.polled_s = now_s;
        let late = if passed == 0 { 0 } else { std::mem::take(&mut self.to_sweep) };
        self.to_sweep += length * passed / SWEEP_S as usize;
        let part = self.to_sweep.min(if passed > 1 { length } else { SWEPT_PER_POLL });
        self.to_sweep -= part;
        if late + part == 0 {
            return;
        }
        let rules: BTreeMap<u16, u32> =
            self.bridges.iter().filter_map(|(at, b)| Some((*at, b.rule?.ageing_s))).collect();
        let otherwise = BridgeRule::default().ageing_s;
        let old = |key: MacKey, entry: Entry, age_s| {
            let ages = !entry.is_static() && !entry.is_control();
            let ageing_s = rules.get(&key.bridge()).copied().unwrap_or(otherwise);
            ages && ageing_s != 0 && now_s.saturating_sub(age_s) >= ageing_s
        };
        for _ in 0..late + part {
            let line = self.swept & (length - 1);
            self.swept = line + 1;
            self.clear_in(line, old, event);
        }
    }

    fn reclaim(&mut self) {
        if !self.cleared.is_empty() {
            self.waiting.retire(std::mem::take(&mut self.cleared));
        }
        let (held, generation) = (&mut self.held, self.generation);
        self.waiting.free(|slots| {
            for slot in slots.iter().filter(|slot| slot.generation == generation) {
                held[slot.line as usize] &= !(1 << slot.slot);
            }
        });
    }
}

/// Puts a new key at or beyond its home; false if no line near has room.
fn put(
    lines: &Lines,
    held: &[u8],
    beyond: &mut [u32],
    key: MacKey,
    entry: Entry,
    age_s: u32,
) -> bool {
    let (home, mask) = (lines.home(key), lines.len() - 1);
    let room = |at: &usize| {
        (0..SLOTS)
            .find(|slot| held[at & mask] & 1 << slot == 0 && lines.line(*at).key(*slot).is_none())
    };
    let Some((at, slot)) = (home..home + PROBES_MAX).find_map(|at| Some((at, room(&at)?))) else {
        return false;
    };
    // The key first, then the way to it.
    lines.line(at).fill(slot, key, entry, age_s);
    for line in (home..at).map(|line| line & mask) {
        beyond[line] += 1;
        lines.mark(line, true);
    }
    true
}
