//! Neighbours: found by asking, kept by asking again, forgotten when they answer no more
//! (RFC 826, RFC 4861 §7.3).
//!
//! ```text
//!   wanted → Asked ──answer──→ Known ──60 s──→ Probed ──answer──→ Known
//!              │ 3 tries                          │ 3 tries
//!              └→ forgotten; a gateway is asked for again every 5 s
//! ```

use super::hops::{adjacency, with};
use super::routes::Why;
use super::{Out, Plane, Refused};
use crate::hop::DOWN;
use crate::program::{Mac, Neighbour};
use crate::{arp, nd};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;
use table::hop::{Hop, Kind, Line};

/// Neighbours of all interfaces at most.
pub const NEIGHBOURS_MAX: usize = 65_536;
/// Neighbours that were asked for and have not answered, at most.
pub const ASKED_MAX: usize = 4_096;
/// Packets held for a neighbour at most: the last ones.
pub const HELD_MAX: usize = 3;
/// Between two questions.
pub const RETRANSMIT: Duration = Duration::from_secs(1);
/// Questions without an answer.
pub const TRIES_MAX: u8 = 3;
/// After an answer, until a neighbour is asked again.
pub const REACHABLE: Duration = Duration::from_secs(60);
/// Between two rounds of questions for a gateway that does not answer.
pub const GATEWAY_PAUSE: Duration = Duration::from_secs(5);

type Key = (u32, IpAddr);
type Held = (u32, Box<[u8]>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Asked,
    Known,
    Probed,
    Static,
}

struct Entry {
    number: u32,
    hop: u32,
    state: State,
    mac: Option<Mac>,
    held: Vec<Held>,
    /// Hops of the control process that go by it.
    users: u32,
    tries: u8,
    due: Time,
}

/// All neighbours.
#[derive(Default)]
pub(super) struct Neighbours {
    entries: BTreeMap<Key, Entry>,
    numbers: BTreeMap<u32, Key>,
    last_number: u32,
    due: BTreeSet<(Time, u32)>,
    asked: usize,
    announce: Vec<Key>,
}

impl Neighbours {
    pub(super) fn hop(&self, key: &Key) -> Option<u32> {
        self.entries.get(key).map(|entry| entry.hop)
    }

    /// Every neighbour: its address, its MAC address if known, and its state in a word.
    pub(super) fn list(&self) -> impl Iterator<Item = (Key, Option<Mac>, String)> {
        self.entries.iter().map(|(key, it)| (*key, it.mac, format!("{:?}", it.state)))
    }

    fn of_interface(&self, interface: u32) -> Vec<Key> {
        let keys = self.entries.keys().filter(|key| key.0 == interface);
        keys.copied().collect()
    }

    pub(super) fn statics(&self) -> Vec<Key> {
        let fixed = self.entries.iter().filter(|(_, entry)| entry.state == State::Static);
        fixed.map(|(key, _)| *key).collect()
    }

    fn schedule(&mut self, key: &Key, at: Time) {
        if let Some(entry) = self.entries.get_mut(key) {
            self.due.remove(&(entry.due, entry.number));
            entry.due = at;
            self.due.insert((at, entry.number));
        }
    }

    fn set(&mut self, key: &Key, state: State) {
        if let Some(entry) = self.entries.get_mut(key) {
            self.asked -= usize::from(entry.state == State::Asked);
            self.asked += usize::from(state == State::Asked);
            (entry.state, entry.tries) = (state, 0);
        }
    }
}

impl Plane {
    /// Announces an own address with the next tick (RFC 5227 §3, RFC 4861 §7.2.6).
    pub(super) fn announce(&mut self, interface: u32, address: IpAddr) {
        self.neighbours.announce.push((interface, address));
    }

    /// A neighbour that is new is asked for with the next tick.
    fn neighbour_entry(&mut self, key: Key) -> Result<(), Refused> {
        if self.neighbours.entries.contains_key(&key) {
            return Ok(());
        }
        let known = &self.neighbours;
        if known.entries.len() >= NEIGHBOURS_MAX || known.asked >= ASKED_MAX {
            return Err(Refused::Full("neighbours"));
        }
        let number = self.neighbours.last_number + 1;
        let hop = self.hops.add(Hop::Line(self.glean_neighbour(key.0, number)))?;
        self.hops.mark(hop, false)?;
        self.neighbours.last_number = number;
        let (state, due) = (State::Asked, self.now);
        let entry =
            Entry { number, hop, state, mac: None, held: Vec::new(), users: 0, tries: 0, due };
        self.neighbours.asked += 1;
        self.neighbours.entries.insert(key, entry);
        self.neighbours.numbers.insert(number, key);
        self.neighbours.due.insert((due, number));
        Ok(())
    }

    fn glean_neighbour(&self, interface: u32, number: u32) -> Line {
        match self.link(interface) {
            Some(link) => with(Line::new(Kind::Glean, 0), interface, number, link.mtu),
            None => Line::dropping(DOWN, 0),
        }
    }

    pub(super) fn neighbour_used(&mut self, key: Key) -> Result<(), Refused> {
        if !self.links.contains_key(&key.0) {
            return Err(Refused::Missing { what: "interface", number: key.0.into() });
        }
        self.neighbour_entry(key)?;
        if let Some(entry) = self.neighbours.entries.get_mut(&key) {
            entry.users += 1;
        }
        Ok(())
    }

    pub(super) fn neighbour_released(&mut self, key: Key) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return Ok(()) };
        entry.users = entry.users.saturating_sub(1);
        if entry.users == 0 && entry.state == State::Asked && entry.held.is_empty() {
            return self.forget(key);
        }
        Ok(())
    }

    /// A static neighbour.
    pub(super) fn neighbour(&mut self, said: &Neighbour) -> Result<(), Refused> {
        let key = (said.interface, said.address);
        if !self.links.contains_key(&key.0) {
            return Err(Refused::Missing { what: "interface", number: key.0.into() });
        }
        if said.mac[0] & 1 == 1 {
            return Err(Refused::Conflict("a neighbour has no group address".to_owned()));
        }
        self.neighbour_entry(key)?;
        self.neighbours.set(&key, State::Static);
        self.neighbours.schedule(&key, Time::MAX);
        self.resolved(key, said.mac)
    }

    pub(super) fn remove_neighbour(&mut self, key: Key) -> Result<(), Refused> {
        let entry = self.neighbours.entries.get(&key);
        if entry.is_none_or(|entry| entry.state != State::Static) {
            return Err(Refused::Missing { what: "neighbour", number: key.0.into() });
        }
        self.lost(key).map(|_| ())
    }

    /// Its MAC address is this: everything that leads to it is made true.
    fn resolved(&mut self, key: Key, mac: Mac) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return Ok(()) };
        let hop = entry.hop;
        let is_new = entry.mac.replace(mac) != Some(mac);
        if is_new {
            self.refresh_neighbour(key)?;
        }
        if let (Some(vrf), true) = (self.vrf_of(key.0), self.is_on_link(key)) {
            let bits = if key.1.is_ipv4() { 32 } else { 128 };
            self.own_route(vrf, (key.1, bits), (Why::Neighbour, key.0), Some(hop))?;
        }
        Ok(())
    }

    /// Whether the address is in a subnet of the interface.
    fn is_on_link(&self, (interface, address): Key) -> bool {
        let subnets = self.addresses.get(&interface);
        subnets.is_some_and(|subnets| {
            subnets.iter().any(|(own, length)| *own != address && shares(*own, address, *length))
        })
    }

    fn refresh_neighbour(&mut self, key: Key) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.entries.get(&key) else { return Ok(()) };
        let (hop, number, mac) = (entry.hop, entry.number, entry.mac);
        let link = self.link(key.0);
        let line = match (&link, mac) {
            (Some(link), Some(mac)) => adjacency(link, key.0, key.1, mac)?,
            _ => self.glean_neighbour(key.0, number),
        };
        self.hops.change(hop, Hop::Line(line))?;
        Ok(self.hops.mark(hop, line.kind == Kind::Rewrite)?)
    }

    pub(super) fn refresh_neighbours(&mut self, interface: u32) -> Result<(), Refused> {
        let keys = self.neighbours.of_interface(interface);
        keys.into_iter().try_for_each(|key| self.refresh_neighbour(key))
    }

    pub(super) fn forget_neighbours(&mut self, interface: u32) -> Result<(), Refused> {
        let keys = self.neighbours.of_interface(interface);
        keys.into_iter().try_for_each(|key| self.lost(key).map(|_| ()))
    }

    pub(super) fn forget_neighbours_of(
        &mut self,
        interface: u32,
        subnet: IpAddr,
        length: u8,
    ) -> Result<(), Refused> {
        let keys = self.neighbours.of_interface(interface).into_iter();
        let keys = keys.filter(|key| shares(subnet, key.1, length) && !self.is_on_link(*key));
        let keys: Vec<Key> = keys.collect();
        keys.into_iter().try_for_each(|key| self.lost(key).map(|_| ()))
    }

    /// Nobody knows its MAC address any more; without users it is forgotten. Says whether it was
    /// known.
    fn lost(&mut self, key: Key) -> Result<bool, Refused> {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return Ok(false) };
        let was_known = entry.mac.take().is_some();
        entry.held.clear();
        let users = entry.users;
        if let Some(vrf) = self.vrf_of(key.0) {
            let bits = if key.1.is_ipv4() { 32 } else { 128 };
            self.own_route(vrf, (key.1, bits), (Why::Neighbour, key.0), None)?;
        }
        if users == 0 {
            self.forget(key)?;
        } else {
            self.neighbours.set(&key, State::Asked);
            self.neighbours.schedule(&key, self.now + GATEWAY_PAUSE);
            self.refresh_neighbour(key)?;
        }
        Ok(was_known)
    }

    fn forget(&mut self, key: Key) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.entries.remove(&key) else { return Ok(()) };
        self.neighbours.asked -= usize::from(entry.state == State::Asked);
        self.neighbours.numbers.remove(&entry.number);
        self.neighbours.due.remove(&(entry.due, entry.number));
        Ok(self.hops.remove(entry.hop)?)
    }

    /// A worker has a packet for a neighbour.
    pub(super) fn neighbour_wanted(
        &mut self,
        (interface, number): (u32, u32),
        address: IpAddr,
        held: Held,
        out: &mut Vec<Out>,
    ) {
        let key = match number {
            0 => Some((interface, address)),
            number => self.neighbours.numbers.get(&number).copied(),
        };
        // Without room the packet is gone, as any other that waits too long.
        let Some(key) = key.filter(|key| self.neighbour_entry(*key).is_ok()) else { return };
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        if entry.mac.is_some() {
            out.push(Out::Route { vrf: held.0, packet: held.1 });
            return;
        }
        if entry.held.len() >= HELD_MAX {
            entry.held.remove(0);
        }
        entry.held.push(held);
    }

    /// A neighbour answered, or spoke of itself.
    pub(super) fn neighbour_heard(
        &mut self,
        key: Key,
        mac: Mac,
        answered: bool,
        out: &mut Vec<Out>,
    ) {
        let known = self.neighbours.entries.get(&key).map(|entry| (entry.state, entry.mac));
        let (state, before) = match known {
            Some(known) => known,
            // One that asks for us will want an answer to what comes next.
            None if !answered && self.is_neighbourly(key) && self.neighbour_entry(key).is_ok() => {
                (State::Asked, None)
            }
            None => return,
        };
        if state == State::Static || self.resolved(key, mac).is_err() {
            return;
        }
        if answered || before != Some(mac) {
            self.neighbours.set(&key, State::Known);
            self.neighbours.schedule(&key, self.now + REACHABLE);
        }
        if before != Some(mac) {
            let (interface, address) = key;
            out.push(Out::Neighbour { interface, address, mac: Some(mac) });
        }
        let entry = self.neighbours.entries.get_mut(&key);
        let held = entry.map(|entry| std::mem::take(&mut entry.held)).unwrap_or_default();
        out.extend(held.into_iter().map(|(vrf, packet)| Out::Route { vrf, packet }));
    }

    fn is_neighbourly(&self, key: Key) -> bool {
        let link_local = matches!(key.1, IpAddr::V6(address) if address.is_unicast_link_local());
        self.links.contains_key(&key.0) && (link_local || self.is_on_link(key))
    }

    /// Asks whom it is time to ask.
    pub(super) fn neighbours_due(&mut self, out: &mut Vec<Out>) {
        for (interface, address) in std::mem::take(&mut self.neighbours.announce) {
            if let Some(link) = self.link(interface) {
                let frame = match address {
                    IpAddr::V4(own) => arp::request(&link, own, own, None),
                    IpAddr::V6(own) => nd::announcement(&link, own),
                };
                out.push(Out::Send { interface, frame });
            }
        }
        while let Some((at, number)) = self.neighbours.due.first().copied() {
            if at > self.now {
                break;
            }
            self.neighbours.due.pop_first();
            if let Some(key) = self.neighbours.numbers.get(&number).copied() {
                self.neighbour_due(key, out);
            }
        }
    }

    fn neighbour_due(&mut self, key: Key, out: &mut Vec<Out>) {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        if entry.state == State::Known {
            self.neighbours.set(&key, State::Probed);
        }
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        let (interface, address) = key;
        if entry.tries >= TRIES_MAX {
            let held = std::mem::take(&mut entry.held);
            out.extend(held.into_iter().map(|(vrf, packet)| Out::Unreachable {
                interface,
                vrf,
                packet,
            }));
            // What cannot be taken out of the tables stays and is asked for again.
            if matches!(self.lost(key), Ok(true)) {
                out.push(Out::Neighbour { interface, address, mac: None });
            }
            return;
        }
        entry.tries += 1;
        let known = entry.mac;
        self.neighbours.schedule(&key, self.now + RETRANSMIT);
        out.extend(self.question(key, known).map(|frame| Out::Send { interface, frame }));
    }

    /// The frame that asks for a neighbour, in the name of an address that shares its subnet.
    fn question(&self, (interface, address): Key, known: Option<Mac>) -> Option<Vec<u8>> {
        let link = self.link(interface)?;
        let own = self.addresses.get(&interface);
        let own = own.map(Vec::as_slice).unwrap_or_default();
        let same = |one: &&(IpAddr, u8)| one.0.is_ipv4() == address.is_ipv4();
        let best = own.iter().find(|(own, length)| shares(*own, address, *length));
        let best = best.or_else(|| own.iter().find(same)).map(|(own, _)| *own);
        match (address, best) {
            (IpAddr::V4(address), Some(IpAddr::V4(own))) => {
                Some(arp::request(&link, own, address, known))
            }
            (IpAddr::V6(address), Some(IpAddr::V6(own))) => {
                let scoped = address.is_unicast_link_local() && !own.is_unicast_link_local();
                let own = if scoped { crate::addresses::link_local(link.mac) } else { own };
                Some(nd::solicitation(&link, own, address, known))
            }
            _ => None,
        }
    }
}

/// Whether two addresses share a prefix.
fn shares(one: IpAddr, other: IpAddr, length: u8) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let differ = u32::from(one) ^ u32::from(other);
            differ.leading_zeros() >= u32::from(length)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let differ = u128::from(one) ^ u128::from(other);
            differ.leading_zeros() >= u32::from(length)
        }
        _ => false,
    }
}
