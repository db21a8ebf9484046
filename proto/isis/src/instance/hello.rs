//! Hellos come and go: adjacencies (ISO 10589 §8.2, §8.4, RFC 5303).

use super::{ALL_IS, ALL_L1_IS, ALL_L2_IS, Instance, Out};
use crate::address::{AreaAddress, Level, Levels, Snpa, SystemId};
use crate::adjacency::{Adjacency, AdjacencyKey, AdjacencyState};
use crate::circuit::Circuit;
use crate::discard::Discard;
use crate::lsp::{NLPID_IPV4, NLPID_IPV6};
use crate::pdu::{
    Authentication, Hello, HelloKind, HelloTlvs, Pdu, Restart, ThreeWay, ThreeWayState, TlvKind,
    write_hello,
};
use crate::settings::LinkType;
use machine::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr};

/// A neighbour that hears something new is told soon.
const SOON: Duration = Duration::from_millis(50);
/// Addresses that are kept of a neighbour.
const ADDRESSES_MAX: usize = 32;
/// MAC addresses that a system may have on a LAN at once: one that changes it has two for a while.
const PLACES_MAX: usize = 2;
/// A neighbour's hellos hold for no longer, whatever they say.
const HOLD_MAX_S: u16 = 300;

/// Until when a hello holds.
pub(super) fn holds(now: Time, hello: &Hello) -> Time {
    now + Duration::from_secs(hello.hold_s.clamp(1, HOLD_MAX_S).into())
}

/// A hello that came.
pub(super) struct Heard<'a> {
    pub(super) circuit: u32,
    pub(super) source: Snpa,
    pub(super) hello: &'a Hello,
    pub(super) tlvs: HelloTlvs,
    /// Octets that it is padded to; 0: it is not.
    pub(super) padded: u16,
}

/// Which adjacency of which circuit.
pub(super) type AdjacencyId = (u32, AdjacencyKey);

/// How far we are when the neighbour is that far (RFC 5303 §3.2).
const fn three_way(now: AdjacencyState, theirs: ThreeWayState) -> AdjacencyState {
    match (now, theirs) {
        (_, ThreeWayState::Down) => AdjacencyState::Initializing,
        (AdjacencyState::Down, ThreeWayState::Up) => AdjacencyState::Down,
        (_, ThreeWayState::Initializing | ThreeWayState::Up) => AdjacencyState::Up,
    }
}

/// Where PDUs of a level go.
pub(super) fn destination(circuit: &Circuit, level: Level) -> Snpa {
    match (circuit.settings.link, level) {
        (LinkType::PointToPoint, _) => ALL_IS,
        (LinkType::Broadcast, Level::One) => ALL_L1_IS,
        (LinkType::Broadcast, Level::Two) => ALL_L2_IS,
    }
}

impl Instance {
    pub(super) fn circuit_up(&mut self, now: Time, index: u32) {
        let Some(it) = self.circuits.get_mut(&index).filter(|it| !it.is_up) else { return };
        it.is_up = true;
        let hello = Duration::from_secs(it.settings.hello_s.into());
        it.heard_at = now + hello;
        if !it.settings.is_passive {
            for state in &mut it.levels {
                state.hello_at = now;
                state.elects_at = now + hello * 2;
                state.is_undecided = true;
            }
        }
        self.changed(now);
    }

    pub(super) fn circuit_down(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        let Some(it) = self.circuits.get(&index).filter(|it| it.is_up) else { return };
        let keys: Vec<AdjacencyKey> = it.adjacencies.keys().copied().collect();
        keys.into_iter().for_each(|key| self.lose(now, (index, key), out));
        let Some(it) = self.circuits.get_mut(&index) else { return };
        *it = Circuit {
            sids: core::mem::take(&mut it.sids),
            ..Circuit::new(it.settings.clone(), it.id, it.active)
        };
        self.changed(now);
    }

    pub(super) fn neighbour_down(
        &mut self,
        now: Time,
        index: u32,
        system: SystemId,
        out: &mut Vec<Out>,
    ) {
        let Some(it) = self.circuits.get(&index) else { return };
        let of = it.adjacencies.iter().filter(|(_, it)| it.system == system);
        let keys: Vec<AdjacencyKey> = of.map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.lose(now, (index, key), out));
    }

    /// Adjacencies that were silent for too long.
    pub(super) fn end_holds(&mut self, now: Time, out: &mut Vec<Out>) {
        let all = self.circuits.iter().flat_map(|(index, circuit)| {
            let silent = circuit.adjacencies.iter().filter(|(_, it)| it.hold_until <= now);
            silent.map(|(key, _)| (*index, *key))
        });
        let silent: Vec<AdjacencyId> = all.collect();
        silent.into_iter().for_each(|id| self.lose(now, id, out));
    }

    /// An adjacency is gone.
    fn lose(&mut self, now: Time, id: AdjacencyId, out: &mut Vec<Out>) {
        self.set_state(now, id, AdjacencyState::Down, out);
        if let Some(circuit) = self.circuits.get_mut(&id.0) {
            circuit.adjacencies.remove(&id.1);
            circuit.levels.iter_mut().for_each(|it| it.is_undecided = true);
        }
    }

    pub(super) fn set_state(
        &mut self,
        now: Time,
        id: AdjacencyId,
        state: AdjacencyState,
        out: &mut Vec<Out>,
    ) {
        let Some(circuit) = self.circuits.get_mut(&id.0) else { return };
        let Some(it) = circuit.adjacencies.get_mut(&id.1) else { return };
        let was = core::mem::replace(&mut it.state, state);
        if was == state {
            return;
        }
        let (system, levels) = (it.system, it.levels);
        out.push(Out::Adjacency { circuit: id.0, system, levels, state });
        for level in &mut circuit.levels {
            level.is_undecided = true;
            level.hello_at = level.hello_at.min(now + SOON);
        }
        if was != AdjacencyState::Up && state != AdjacencyState::Up {
            return;
        }
        for level in levels.each() {
            if state == AdjacencyState::Up {
                self.begin_flooding(now, id.0, level);
            } else if !self.circuits.get(&id.0).is_some_and(|it| it.floods(level)) {
                self.end_flooding(id.0, level);
            }
        }
        self.changed(now);
    }

    pub(super) fn hello(
        &mut self,
        now: Time,
        from: (u32, Snpa),
        hello: &Hello,
        pdu: &Pdu<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        if hello.system == self.settings.system {
            return Err(Discard::OwnSystem);
        }
        let tlvs = HelloTlvs::read(pdu).map_err(|_| Discard::Malformed)?;
        let is_lan = self.circuits.get(&from.0).is_some_and(Circuit::is_lan);
        let is_padded =
            pdu.tlvs().map_while(Result::ok).any(|tlv| tlv.kind() == Some(TlvKind::Padding));
        let padded = if is_padded { machine::narrow::index(pdu.octets.len()) } else { 0 };
        let heard = Heard { circuit: from.0, source: from.1, hello, tlvs, padded };
        match (hello.kind, pdu.kind.level()) {
            (HelloKind::Lan { .. }, Some(level)) if is_lan => {
                self.lan_hello(now, level, &heard, out)
            }
            (HelloKind::PointToPoint { .. }, None) if !is_lan => {
                self.point_to_point_hello(now, &heard, out)
            }
            _ => Err(Discard::CircuitType),
        }
    }

    fn shares_area(&self, areas: &[AreaAddress]) -> bool {
        areas.iter().any(|area| self.settings.areas.contains(area))
    }

    fn lan_hello(
        &mut self,
        now: Time,
        level: Level,
        heard: &Heard<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        if !heard.hello.levels.has(level) {
            return Err(Discard::Level);
        }
        if level == Level::One && !self.shares_area(&heard.tlvs.areas) {
            return Err(Discard::Area);
        }
        let id = (heard.circuit, AdjacencyKey::Lan(level, heard.source));
        let circuit = self.circuits.get(&heard.circuit).ok_or(Discard::Circuit)?;
        let hears_us = heard.tlvs.neighbours.contains(&circuit.settings.snpa);
        let state = if hears_us { AdjacencyState::Up } else { AdjacencyState::Initializing };
        self.heard(now, id, heard, (level.into(), state), out)
    }

    fn point_to_point_hello(
        &mut self,
        now: Time,
        heard: &Heard<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let circuit = self.circuits.get(&heard.circuit).ok_or(Discard::Circuit)?;
        let said = heard.tlvs.three_way;
        let meant = said.and_then(|it| it.neighbour);
        let is_ours = meant.is_none_or(|(system, number)| {
            system == self.settings.system && (number == 0 || number == circuit.settings.index)
        });
        if !is_ours {
            return Err(Discard::ThreeWay);
        }
        let id = (heard.circuit, AdjacencyKey::PointToPoint);
        // While a neighbour lives, another system is none, though it holds the key: its hellos of
        // another link have no number (RFC 5304).
        let has_proof = !matches!(circuit.settings.authentication, Authentication::Null);
        let is_other =
            circuit.adjacencies.get(&id.1).is_some_and(|it| it.system != heard.hello.system);
        if has_proof && is_other {
            return Err(Discard::Adjacencies);
        }
        let may = circuit.active.and(heard.hello.levels);
        let may = if self.shares_area(&heard.tlvs.areas) { may } else { may.and(Levels::TWO) };
        let present = circuit.adjacencies.get(&id.1);
        let present = present.filter(|it| it.system == heard.hello.system);
        let now_state = present.map_or(AdjacencyState::Down, |it| it.state);
        if may == Levels::NONE {
            self.lose(now, id, out);
            return Err(Discard::Area);
        }
        let is_answer = heard.tlvs.restart.is_some_and(|it| it.is_answer);
        let us = Some((self.settings.system, circuit.settings.index));
        let is_up_with_us =
            |said: ThreeWay| said.state == ThreeWayState::Up && said.neighbour == us;
        let state = match said {
            None => AdjacencyState::Up,
            // Who bore our restart never went down (RFC 8706 §3.2.1); nor did who did not notice.
            Some(said) if self.restarting.is_some() && (is_answer || is_up_with_us(said)) => {
                AdjacencyState::Up
            }
            Some(said) => three_way(now_state, said.state),
        };
        if state == AdjacencyState::Down {
            return Err(Discard::ThreeWay);
        }
        self.heard(now, id, heard, (may, state), out)
    }

    /// What both kinds of hellos have in common.
    fn heard(
        &mut self,
        now: Time,
        id: AdjacencyId,
        heard: &Heard<'_>,
        now_is: (Levels, AdjacencyState),
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let (levels, state) = now_is;
        let limit = self.settings.limits.adjacencies;
        let helps = self.settings.helps_restart;
        let circuit = self.circuits.get(&id.0).ok_or(Discard::Circuit)?;
        let present = circuit.adjacencies.get(&id.1);
        let is_other = present.is_some_and(|it| {
            it.system != heard.hello.system || it.state == AdjacencyState::Up && it.levels != levels
        });
        let is_new = present.is_none();
        if is_new && circuit.places(levels, heard.hello.system) >= PLACES_MAX {
            return Err(Discard::Adjacencies);
        }
        if is_new && levels.each().any(|level| circuit.count(level) >= limit) {
            // Whoever does not hear us gives way.
            let key = circuit.oldest_initializing(levels).ok_or(Discard::Adjacencies)?;
            self.lose(now, (id.0, key), out);
        }
        if is_other {
            self.lose(now, id, out);
        }
        let circuit = self.circuits.get_mut(&id.0).ok_or(Discard::Circuit)?;
        let it = circuit.adjacencies.entry(id.1);
        let it = it.or_insert_with(|| Adjacency::new(heard.hello.system, heard.source, now));
        it.levels = levels;
        let asks = heard.tlvs.restart.filter(|it| it.is_request && helps);
        if asks.is_some() && it.state == AdjacencyState::Up {
            self.bear_restart(now, id, heard);
            return Ok(());
        }
        it.is_restarting = false;
        it.hold_until = holds(now, heard.hello);
        let has_changed = take_hello(it, heard);
        if has_changed {
            circuit.levels.iter_mut().for_each(|it| it.is_undecided = true);
            self.changed(now);
        }
        self.set_state(now, id, state, out);
        self.notice_restart(now, id, heard);
        Ok(())
    }

    /// Hellos that are due leave.
    pub(super) fn send_hellos(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.planned.is_some_and(|it| it.0 <= now) {
            self.planned = None;
        }
        let up = self.circuits.iter().filter(|(_, it)| it.is_up && !it.settings.is_passive);
        let indices: Vec<u32> = up.map(|(index, _)| *index).collect();
        for index in indices {
            for level in Level::ALL {
                self.send_hello(now, index, level, out);
            }
        }
    }

    fn send_hello(&mut self, now: Time, index: u32, level: Level, out: &mut Vec<Out>) {
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        if circuit.level(level).hello_at > now {
            return;
        }
        let is_lan = circuit.is_lan();
        let silent = circuit.silent_until().filter(|_| self.restarting.is_some());
        if let Some(until) = silent.filter(|until| *until > now) {
            circuit.level_mut(level).hello_at = until;
            return;
        }
        let is_sent = if is_lan { circuit.active.has(level) } else { level == Level::One };
        if !is_sent {
            circuit.level_mut(level).hello_at = Time::MAX;
            return;
        }
        let every = circuit.hello_every(level);
        circuit.level_mut(level).hello_at = now + every;
        let of = is_lan.then_some(level);
        let restart = self.said_of_restart(now, index, of);
        let Some(circuit) = self.circuits.get(&index) else { return };
        let settings = &circuit.settings;
        // Until it is elected again, the pseudonode is the one that the others still have.
        let heard_lan = circuit.up(level).map(|it| it.lan).find(|it| it.pseudonode != 0);
        let heard_lan = heard_lan.filter(|_| self.restarting.is_some());
        let kind = match of {
            Some(level) => HelloKind::Lan {
                priority: settings.priority,
                lan: circuit.level(level).lan.or(heard_lan).unwrap_or_default(),
            },
            None => HelloKind::PointToPoint { circuit: circuit.id },
        };
        let hold_s = settings.hello_s.saturating_mul(settings.multiplier);
        let hello = Hello { levels: circuit.active, system: self.settings.system, hold_s, kind };
        let tlvs = self.hello_tlvs(circuit, of, restart);
        let octets = if settings.pads_hellos { settings.mtu } else { 0 };
        let octets = write_hello(of, &hello, &tlvs, octets, &settings.authentication);
        let destination = destination(circuit, level);
        out.push(Out::Send { circuit: index, destination, octets });
    }

    fn hello_tlvs(
        &self,
        circuit: &Circuit,
        level: Option<Level>,
        restart: Option<Restart>,
    ) -> HelloTlvs {
        let addresses = own_addresses(circuit);
        let all = circuit.adjacencies.iter();
        let heard = all.filter_map(|(key, _)| match key {
            AdjacencyKey::Lan(of, snpa) if Some(*of) == level => Some(*snpa),
            _ => None,
        });
        let three_way = level.is_none().then(|| {
            let neighbour = circuit.adjacencies.get(&AdjacencyKey::PointToPoint);
            ThreeWay {
                state: match neighbour.map(|it| it.state) {
                    None | Some(AdjacencyState::Down) => ThreeWayState::Down,
                    Some(AdjacencyState::Initializing) => ThreeWayState::Initializing,
                    Some(AdjacencyState::Up) => ThreeWayState::Up,
                },
                circuit: circuit.settings.index,
                neighbour: neighbour.map(|it| (it.system, it.circuit)),
            }
        });
        HelloTlvs {
            areas: self.settings.areas.clone(),
            protocols: protocols(circuit),
            addresses,
            ipv6: circuit.settings.link_local.into_iter().collect(),
            neighbours: heard.collect(),
            three_way,
            restart,
        }
    }
}

/// Own addresses of IPv4.
pub(super) fn own_addresses(circuit: &Circuit) -> Vec<Ipv4Addr> {
    let all = circuit.settings.addresses.iter();
    let found = all.filter_map(|(address, _)| match address {
        IpAddr::V4(it) => Some(*it),
        IpAddr::V6(_) => None,
    });
    found.collect()
}

/// Protocols of a circuit.
pub(super) fn protocols(circuit: &Circuit) -> Vec<u8> {
    let settings = &circuit.settings;
    let has_ipv6 = settings.link_local.is_some();
    let has_ipv4 = settings.addresses.iter().any(|it| it.0.is_ipv4());
    let ipv4 = (has_ipv4 || !has_ipv6).then_some(NLPID_IPV4);
    ipv4.into_iter().chain(has_ipv6.then_some(NLPID_IPV6)).collect()
}

/// What a hello says of its sender; whether what we say or our routes depend on what is new.
fn take_hello(it: &mut Adjacency, heard: &Heard<'_>) -> bool {
    let before = (it.priority, it.lan, it.circuit, it.is_suppressed);
    if let HelloKind::Lan { priority, lan } = heard.hello.kind {
        (it.priority, it.lan) = (priority, lan);
    }
    it.padded = heard.padded;
    it.circuit = heard.tlvs.three_way.map_or(0, |it| it.circuit);
    it.is_suppressed = heard.tlvs.restart.is_some_and(|it| it.suppresses);
    let tlvs = &heard.tlvs;
    let addresses = &tlvs.addresses[..tlvs.addresses.len().min(ADDRESSES_MAX)];
    let ipv6 = &tlvs.ipv6[..tlvs.ipv6.len().min(ADDRESSES_MAX)];
    let is_elsewhere = it.addresses != addresses || it.ipv6 != ipv6;
    if is_elsewhere {
        (it.addresses, it.ipv6) = (addresses.to_vec(), ipv6.to_vec());
    }
    let is_other = before != (it.priority, it.lan, it.circuit, it.is_suppressed);
    (is_other || is_elsewhere) && it.state == AdjacencyState::Up
}
