//! Neighbours: found by asking, kept by asking again, forgotten when they answer no more
//! (RFC 826, RFC 4861 §7.3).
//!
//! ```text
//!   wanted → Asked ──answer──→ Known ──60 s──→ Probed ──answer──→ Known
//!              │ 3 tries          ↑ 5 s            │ 3 tries
//!              │               spoke of itself     │
//!              └→ forgotten, and not asked for during 3 s; a gateway is asked again every 5 s,
//!                 and at once when a packet goes there
//! ```
//! Nobody may fill the table (RFC 6583): `entries` says who gives way to whom.

mod entries;
mod heard;
mod shares;

pub use entries::{GATEWAYS_OF_INTERFACE_MAX, NEIGHBOURS_MAX, Reason, Resolution};

use super::Plane;
use super::hops::{adjacency, with};
use super::routes::Why;
pub(super) use entries::Neighbours;
use entries::{Class, Held, Key, State};
use heard::CLAIM_RETRANSMIT;
use machine::Time;
use nodes::feature::Watched;
use nodes::glean::HELD_MAX;
use nodes::hop::DOWN;
use nodes::{Out, Refused, Token};
use nodes::{arp, nd};
use program::{Mac, Neighbour};
use shares::Holder;
use std::net::IpAddr;
use std::time::Duration;
use table::hop::{Hop, Kind, Line};

/// Octets of them at most: one of the longest packets.
pub const HELD_OCTETS_MAX: usize = 10_240;
/// Between two questions.
pub const RETRANSMIT: Duration = Duration::from_secs(1);
/// Questions without an answer.
pub const TRIES_MAX: u8 = 3;
/// After an answer, until a neighbour is asked again.
pub const REACHABLE: Duration = Duration::from_secs(60);
/// After it spoke of itself, until a neighbour is asked (RFC 4861 §10, DELAY_FIRST_PROBE_TIME).
pub const DELAY: Duration = Duration::from_secs(5);
/// Between the announcements of an address that goes from one system to another.
const AGAIN: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(400),
    Duration::from_millis(500),
    Duration::from_secs(2),
];
/// Between two rounds of questions for a gateway that does not answer.
pub const GATEWAY_PAUSE: Duration = Duration::from_secs(5);

impl Plane {
    /// Announces an own address with the next tick (RFC 5227 §3, RFC 4861 §7.2.6).
    pub(super) fn announce(&mut self, interface: u32, address: IpAddr) {
        self.neighbours.announce.insert((interface, address), (self.now, 0));
    }

    /// An address is no own one any more.
    pub(super) fn unannounce(&mut self, interface: u32, address: IpAddr) {
        self.neighbours.announce.remove(&(interface, address));
    }

    /// An interface is another one, or up again: what could not be announced there is now.
    pub(super) fn announce_late(&mut self, interface: u32) {
        if self.link(interface).is_none() {
            return;
        }
        let (now, first) = (self.now, IpAddr::from([0; 4]));
        let of_it = self.neighbours.announce.range_mut((interface, first)..);
        let of_it = of_it.take_while(|(key, _)| key.0 == interface);
        let waiting = of_it.filter(|(_, (at, _))| *at == Time::MAX);
        waiting.for_each(|(_, (at, _))| *at = now);
    }

    /// Whether another system says that an own address is its own, which goes from one to the
    /// other.
    pub(super) fn is_claimed(&self, interface: u32, address: IpAddr, mac: Mac) -> bool {
        self.has_address(interface, address)
            && self.link(interface).is_some_and(|link| link.mac != mac)
            && self.gives_way(interface, address)
    }

    /// Whether that is what the system shows that takes this one's place; `None`: it has nothing to
    /// show.
    pub(super) fn is_heir(&self, token: Option<Token>) -> Option<bool> {
        let mut heirs = self.features.iter().filter_map(|feature| feature.heir()).peekable();
        heirs.peek()?;
        Some(heirs.any(|heir| Some(heir) == token))
    }

    fn has_address(&self, interface: u32, address: IpAddr) -> bool {
        let own = self.addresses.get(&interface);
        own.is_some_and(|own| own.iter().any(|(own, _)| *own == address))
    }

    fn gives_way(&self, interface: u32, address: IpAddr) -> bool {
        let vrf = self.vrf_of(interface).unwrap_or(0);
        self.features.iter().any(|feature| feature.gives_way(vrf, address))
    }

    /// Gives up an address that another system has taken ([`Out::Claimed`]).
    ///
    /// # Errors
    /// It is not there.
    pub fn give_way(&mut self, interface: u32, address: IpAddr) -> Result<(), Refused> {
        let own = self.addresses.get(&interface).into_iter().flatten();
        let lengths: Vec<u8> = own.filter(|(own, _)| *own == address).map(|(_, it)| *it).collect();
        for length in lengths {
            self.remove_address(interface, address, length)?;
        }
        let now = self.now;
        self.features.iter_mut().for_each(|feature| feature.gave_way(now));
        Ok(())
    }

    /// Announces addresses whose time has come. Those that go from one system to another are
    /// announced again: neighbours may have lost the first one. While its interface is down, an
    /// address waits: nobody would hear of it.
    fn announcements_due(&mut self, out: &mut Vec<Out>) {
        let now = self.now;
        let due = self.neighbours.announce.extract_if(.., |_, (at, _)| *at <= now);
        for (key, (_, told)) in due.collect::<Vec<_>>() {
            let (interface, address) = key;
            let Some(link) = self.link(interface) else {
                self.neighbours.announce.insert(key, (Time::MAX, 0));
                continue;
            };
            let token = self.features.iter().find_map(|feature| feature.token());
            let token = token.filter(|_| self.gives_way(interface, address));
            let frame = match address {
                IpAddr::V4(own) => arp::announcement(&link, own, token),
                IpAddr::V6(own) => nd::announcement(&link, own, token),
            };
            out.push(Out::Send { interface, frame });
            if let Some(after) = AGAIN.get(told).filter(|_| self.gives_way(interface, address)) {
                self.neighbours.announce.insert(key, (now + *after, told + 1));
            }
        }
    }

    /// A neighbour that is new is asked for with the next tick. `class` says for whom others give
    /// way; `None`: the control process names it.
    fn neighbour_entry(&mut self, key: Key, class: Option<Class>) -> Result<(), Reason> {
        if self.neighbours.entries.contains_key(&key) {
            return Ok(());
        }
        let vrf = self.vrf_of(key.0).unwrap_or(0);
        self.make_room((vrf, key.0), class)?;
        let number = self.neighbours.next_number();
        let hop = self.hops.add(Hop::Line(self.glean_neighbour(key.0, number)));
        let hop = hop.map_err(|_| Reason::Full)?;
        if self.hops.mark(hop, false).is_err() {
            return Err(Reason::Full);
        }
        let users = u32::from(class.is_none());
        self.neighbours.insert(key, vrf, hop, self.now, users);
        Ok(())
    }

    /// Lets neighbours go until there is room for one more.
    fn make_room(&mut self, holder: Holder, class: Option<Class>) -> Result<(), Reason> {
        while let Some((key, why)) = self.neighbours.room(holder, class)? {
            self.neighbours.count(key.0, why);
            self.lost(key).map_err(|_| Reason::Full)?;
        }
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
        let holder = (self.vrf_of(key.0).unwrap_or(0), key.0);
        if !self.neighbours.may_be_gateway(&key, holder) {
            return Err(Refused::Full("gateways of an interface"));
        }
        let is_new = !self.neighbours.entries.contains_key(&key);
        self.neighbour_kept(key)?;
        if let Some(entry) = self.neighbours.entries.get_mut(&key) {
            entry.users += u32::from(!is_new);
        }
        self.neighbours.rank(&key);
        Ok(())
    }

    /// A neighbour that the control process names has room while anybody has.
    fn neighbour_kept(&mut self, key: Key) -> Result<(), Refused> {
        let made = self.neighbour_entry(key, None);
        made.map_err(|_| Refused::Full("neighbours"))
    }

    pub(super) fn neighbour_released(&mut self, key: Key) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return Ok(()) };
        entry.users = entry.users.saturating_sub(1);
        if entry.users == 0 && entry.state == State::Asked && entry.held.is_empty() {
            return self.forget(key);
        }
        self.neighbours.rank(&key);
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
        let is_new = !self.neighbours.entries.contains_key(&key);
        self.neighbour_kept(key)?;
        if let Some(entry) = self.neighbours.entries.get_mut(&key) {
            entry.users -= u32::from(is_new);
            entry.claim = None;
        }
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
        let before = entry.mac.replace(mac);
        let has_answered = entry.confirmed || entry.state == State::Static;
        let is_new = before != Some(mac);
        if let Some(before) = before.filter(|_| is_new) {
            self.shared.admitted.known.forget(key.0, key.1, before);
        }
        if has_answered {
            self.shared.admitted.known.note(key.0, key.1, mac);
        }
        if is_new {
            self.refresh_neighbour(key)?;
            self.neighbours.rank(&key);
        }
        if let (Some(vrf), true) = (self.vrf_of(key.0), self.is_on_link(key)) {
            let bits = if key.1.is_ipv4() { 32 } else { 128 };
            self.own_route(vrf, key.1, bits, (Why::Neighbour, key.0), Some(hop))?;
        }
        Ok(())
    }

    /// Whether the address is in a subnet of the interface.
    fn is_on_link(&self, key: Key) -> bool {
        let (interface, address) = key;
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
        let (guard, is_lost) = self.neighbours.watched.get(&key).copied().unwrap_or_default();
        self.hops.guard(hop, guard)?;
        Ok(self.hops.mark(hop, line.kind == Kind::Rewrite && !is_lost)?)
    }

    /// Neighbours that features watch, or found lost, or back.
    pub(super) fn follow_watched(&mut self) {
        let all: Vec<Watched> = self.features.iter_mut().flat_map(|it| it.watched()).collect();
        for Watched { interface, address, guard, is_lost } in all {
            let key = (interface, address);
            match guard {
                0 => drop(self.neighbours.watched.remove(&key)),
                guard => drop(self.neighbours.watched.insert(key, (guard, is_lost))),
            }
            // What finds no room is as it was until the neighbour changes.
            let _ = self.refresh_neighbour(key);
        }
    }

    pub(super) fn refresh_neighbours(&mut self, interface: u32) -> Result<(), Refused> {
        let keys = self.neighbours.of_interface(interface);
        keys.into_iter().try_for_each(|key| self.refresh_neighbour(key))
    }

    pub(super) fn forget_neighbours(&mut self, interface: u32) -> Result<(), Refused> {
        self.neighbours.forget_link(interface);
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
        let before = entry.mac.take();
        (entry.confirmed, entry.claim) = (false, None);
        let held = std::mem::take(&mut entry.held);
        let users = entry.users;
        held.iter().for_each(|_| self.neighbours.count(key.0, Reason::HeldUnanswered));
        if let Some(mac) = before {
            self.shared.admitted.known.forget(key.0, key.1, mac);
        }
        if let Some(vrf) = self.vrf_of(key.0) {
            let bits = if key.1.is_ipv4() { 32 } else { 128 };
            self.own_route(vrf, key.1, bits, (Why::Neighbour, key.0), None)?;
        }
        if users == 0 {
            self.forget(key)?;
        } else {
            self.neighbours.set(&key, State::Asked);
            self.neighbours.schedule(&key, self.now + GATEWAY_PAUSE);
            self.refresh_neighbour(key)?;
        }
        Ok(before.is_some())
    }

    fn forget(&mut self, key: Key) -> Result<(), Refused> {
        let Some(entry) = self.neighbours.remove(&key) else { return Ok(()) };
        Ok(self.hops.remove(entry.hop)?)
    }

    /// A worker has a packet for a neighbour.
    pub(super) fn neighbour_wanted(
        &mut self,
        interface: u32,
        number: u32,
        address: IpAddr,
        held: Held,
        out: &mut Vec<Out>,
    ) {
        let key = match number {
            0 => Some((interface, address)),
            number => self.neighbours.numbers.get(&number).copied(),
        };
        let Some(key) = key else { return };
        if !self.neighbours.entries.contains_key(&key) {
            let made = self.neighbours.may_ask(key, self.now);
            if let Err(why) = made.and_then(|()| self.neighbour_entry(key, Some(Class::Asked))) {
                self.neighbours.count(key.0, why);
                if why == Reason::Silent {
                    let (vrf, packet) = held;
                    out.push(Out::Unreachable { interface, vrf, packet });
                }
                return;
            }
        }
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        if entry.mac.is_some() {
            out.push(Out::Route { vrf: held.0, packet: held.1 });
            return;
        }
        entry.held.push(held);
        let octets = |held: &[Held]| held.iter().map(|(_, packet)| packet.len()).sum::<usize>();
        let mut displaced = 0;
        while entry.held.len() > HELD_MAX || octets(&entry.held) > HELD_OCTETS_MAX {
            entry.held.remove(0);
            displaced += 1;
        }
        // A gateway between two rounds of questions is wanted now.
        let asks_at = entry.answers_until.max(self.now);
        if entry.users > 0 && entry.tries == 0 && entry.due > asks_at {
            self.neighbours.schedule(&key, asks_at);
        }
        (0..displaced).for_each(|_| self.neighbours.count(key.0, Reason::HeldDisplaced));
    }

    fn is_neighbourly(&self, key: Key) -> bool {
        let link_local = matches!(key.1, IpAddr::V6(address) if address.is_unicast_link_local());
        self.links.contains_key(&key.0) && (link_local || self.is_on_link(key))
    }

    /// Asks whom it is time to ask.
    pub(super) fn neighbours_due(&mut self, out: &mut Vec<Out>) {
        self.announcements_due(out);
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
        if self.claim_due(key, out) {
            return;
        }
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        let (interface, address) = key;
        if entry.tries >= TRIES_MAX {
            let held = std::mem::take(&mut entry.held);
            if entry.mac.is_none() && entry.users == 0 {
                self.neighbours.falls_silent(key, self.now);
            }
            held.iter().for_each(|_| self.neighbours.count(interface, Reason::HeldUnanswered));
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
        entry.answers_until = self.now + RETRANSMIT;
        let known = entry.mac;
        let wait = if entry.claim.is_some() { CLAIM_RETRANSMIT } else { RETRANSMIT };
        self.neighbours.schedule(&key, self.now + wait);
        out.extend(self.question(key, known).map(|frame| Out::Send { interface, frame }));
    }

    /// The frame that asks for a neighbour, in the name of an address that shares its subnet.
    fn question(&self, key: Key, known: Option<Mac>) -> Option<Vec<u8>> {
        let (interface, address) = key;
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
                let own = if scoped { nodes::addresses::link_local(link.mac) } else { own };
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
