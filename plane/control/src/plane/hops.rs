//! Hops: from the control process's numbers to those of the table, and the plane's own.

use super::Plane;
use machine::narrow::{at_most, place};
use nodes::Refused;
use nodes::frame;
use nodes::header::{TYPE_IP4, TYPE_IP6, TYPE_MPLS};
use nodes::hop::{
    BLACKHOLE, BROADCAST, DOWN, NEXT_IP4, NEXT_IP6, NEXT_LABELS, PROHIBITED, TO_ALL, UNREACHABLE,
};
use nodes::interfaces::Row;
use nodes::mpls::entry::{IMPLICIT_NULL, LABELS};
use nodes::mpls::push;
use program::{self, Discard, HOPS_MAX, Hop, LABELS_MAX, MEMBERS_MAX, Mac};
use std::collections::BTreeMap;
use std::net::IpAddr;
use table::hop::{self as table_hop, HopError, Hops, Kind, Line, Member, Push};

/// Numbers of hops in the table.
pub(super) struct Numbers {
    /// By the control process's number; 0: there is none.
    said: Vec<u32>,
    /// Which neighbour a hop of the control process goes by.
    via: BTreeMap<u32, (u32, IpAddr)>,
    local: u32,
    /// By interface: the subnets' hop, and that of their broadcast addresses.
    gleans: BTreeMap<u32, u32>,
    broadcasts: BTreeMap<u32, u32>,
}

impl Numbers {
    pub(super) fn new(hops: &mut Hops) -> Result<Self, Refused> {
        let local = hops.add(table_hop::Hop::Line(Line::new(Kind::Local, 0)))?;
        // Groups whose members are all gone.
        let nobody = table_hop::Hop::Line(Line::dropping(UNREACHABLE, 0));
        hops.change(table_hop::NO_MEMBER, nobody)?;
        let (gleans, broadcasts) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { said: Vec::new(), via: BTreeMap::new(), local, gleans, broadcasts })
    }

    /// The table's number of a hop.
    pub(crate) fn of(&self, id: u32) -> Result<u32, Refused> {
        let number = self.said.get(id as usize).copied().filter(|number| *number != 0);
        number.ok_or(Refused::Missing { what: "hop", number: id.into() })
    }

    pub(super) const fn local(&self) -> u32 {
        self.local
    }

    /// All numbers of the control process.
    pub(super) fn said(&self) -> Vec<u32> {
        let there = self.said.iter().enumerate().filter(|(_, number)| **number != 0);
        there.map(|(id, _)| place(id)).collect()
    }

    fn set(&mut self, id: u32, number: u32) {
        let at = id as usize;
        self.said.resize(self.said.len().max(at + 1), 0);
        self.said[at] = number;
    }
}

impl Plane {
    /// What a hop of the table is, as people say it: `10.0.0.2 at interface 3`; a push is what
    /// carries it. `None`: there is no such hop, or it is a group of others. Nothing is walked:
    /// traces name thousands.
    #[must_use]
    pub fn hop_words(&self, number: u32) -> Option<String> {
        let numbers = &self.numbers;
        if number == numbers.local {
            return Some("local".to_owned());
        }
        if let Some((interface, address)) = self.neighbours.of_hop(number) {
            return Some(format!("{address} at interface {interface}"));
        }
        let line = match self.hops.hop(number)? {
            table_hop::Hop::Push(push) => return self.hop_words(push.over),
            table_hop::Hop::Line(line) => line,
            _ => return None,
        };
        let interface = line.interface;
        let is_in = |known: &BTreeMap<u32, u32>| known.get(&interface) == Some(&number);
        match () {
            () if is_in(&numbers.gleans) => Some(format!("connected at interface {interface}")),
            () if is_in(&numbers.broadcasts) => Some(format!("broadcast at interface {interface}")),
            () => None,
        }
    }

    /// How often what a hop leads to was written so far.
    #[must_use]
    pub const fn tables_written(&self) -> u64 {
        self.hops.written()
    }

    pub(super) fn hop(&mut self, id: u32, hop: &Hop) -> Result<(), Refused> {
        if id == 0 || id >= HOPS_MAX {
            let limit = u64::from(HOPS_MAX) - 1;
            return Err(Refused::Number { what: "hop", number: id.into(), limit });
        }
        let via = match hop {
            Hop::Via { interface, gateway: Some(gateway), .. } => Some((*interface, *gateway)),
            _ => None,
        };
        if let Some(key) = via {
            self.neighbour_used(key)?;
        }
        let before = self.numbers.of(id).map_or(0, |number| self.peer(number));
        let done = self.made(hop).and_then(|made| match self.numbers.of(id) {
            Ok(number) => Ok(self.hops.change(number, made).map(|()| number)?),
            Err(_) => Ok(self.hops.add(made)?),
        });
        let released = match &done {
            Ok(number) => {
                // Cross-connects know their other end.
                self.changed.links |= before != self.peer(*number);
                self.numbers.set(id, *number);
                match via {
                    Some(key) => self.numbers.via.insert(id, key),
                    None => self.numbers.via.remove(&id),
                }
            }
            Err(_) => via,
        };
        if let Some(key) = released {
            self.neighbour_released(key)?;
        }
        done.map(|_| ())
    }

    pub(super) fn remove_hop(&mut self, id: u32) -> Result<(), Refused> {
        let number = self.numbers.of(id)?;
        let peer = self.peer(number);
        self.hops.remove(number)?;
        self.changed.links |= peer != 0;
        self.numbers.set(id, 0);
        match self.numbers.via.remove(&id) {
            Some(key) => self.neighbour_released(key),
            None => Ok(()),
        }
    }

    /// The interface that a hop is the end of, if it is one.
    pub(super) fn peer(&self, number: u32) -> u32 {
        match self.hops.hop(number) {
            Some(table_hop::Hop::Line(line)) if line.kind == Kind::CrossConnect => line.argument,
            _ => 0,
        }
    }

    /// A hop of the control process as the table has it.
    fn made(&mut self, hop: &Hop) -> Result<table_hop::Hop, Refused> {
        let line = |line| Ok(table_hop::Hop::Line(line));
        let argument = |kind, argument| line(with(Line::new(kind, 0), 0, argument, 0));
        match hop {
            Hop::Drop { reason } => line(Line::dropping(
                match reason {
                    Discard::Blackhole => BLACKHOLE,
                    Discard::Unreachable => UNREACHABLE,
                    Discard::Prohibited => PROHIBITED,
                },
                0,
            )),
            Hop::Local => line(Line::new(Kind::Local, 0)),
            Hop::Via { interface, gateway, labels } => self.via(*interface, *gateway, labels),
            Hop::Push(said) => self.push(said),
            Hop::Group { members, .. } => self.group(members),
            Hop::Backup { primary, backup } => Ok(table_hop::Hop::Backup {
                primary: self.numbers.of(*primary)?,
                backup: self.numbers.of(*backup)?,
            }),
            Hop::Vrf { vrf } if !self.vrfs.has(*vrf) => {
                Err(Refused::Missing { what: "vrf", number: (*vrf).into() })
            }
            Hop::Vrf { vrf } => argument(Kind::LookupVrf, *vrf),
            Hop::Bridge { bridge } => argument(Kind::Bridge, *bridge),
            Hop::Interface { interface } => {
                line(with(Line::new(Kind::CrossConnect, 0), *interface, *interface, 0))
            }
        }
    }

    fn via(
        &mut self,
        interface: u32,
        gateway: Option<IpAddr>,
        labels: &[u32],
    ) -> Result<table_hop::Hop, Refused> {
        if !self.links.contains_key(&interface) {
            return Err(Refused::Missing { what: "interface", number: interface.into() });
        }
        check_labels(labels)?;
        let over = match gateway {
            Some(gateway) => self.neighbours.hop(&(interface, gateway)),
            None if labels.is_empty() => Some(self.glean_hop(interface)?),
            None => return Err(Refused::Conflict("labels need a gateway".to_owned())),
        };
        let over = over.ok_or(Refused::Missing { what: "neighbour", number: interface.into() })?;
        let is_labelled = !labels.is_empty();
        Ok(table_hop::Hop::Push(Push {
            over,
            octets: push::stack(labels, 0),
            ether_type: is_labelled.then_some(TYPE_MPLS),
            next: is_labelled.then_some(NEXT_LABELS),
            counter: 0,
        }))
    }

    /// Labels over another hop.
    fn push(&self, said: &program::Push) -> Result<table_hop::Hop, Refused> {
        check_labels(&said.labels)?;
        let over = self.numbers.of(said.over)?;
        let form = push::form(said);
        let hashed = push::ENTROPY | push::FLOW_LABEL;
        let below = match self.hops.hop(over) {
            Some(table_hop::Hop::Push(below)) => below.next.unwrap_or(0),
            _ => 0,
        };
        if below & NEXT_LABELS != 0 && below & (hashed | push::CONTROL_WORD) != 0 {
            let why = "entropy, flow label and control word go with the innermost labels";
            return Err(Refused::Conflict(why.to_owned()));
        }
        if form & hashed == hashed {
            return Err(Refused::Conflict("one of entropy and flow label".to_owned()));
        }
        let octets = push::stack(&said.labels, form);
        let (ether_type, next) = (Some(TYPE_MPLS), Some(form));
        Ok(table_hop::Hop::Push(Push { over, octets, ether_type, next, counter: 0 }))
    }

    fn group(&self, members: &[(u32, u32)]) -> Result<table_hop::Hop, Refused> {
        if members.len() > MEMBERS_MAX {
            let (number, limit) = (members.len() as u64, MEMBERS_MAX as u64);
            return Err(Refused::Number { what: "members", number, limit });
        }
        let most = members.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
        let shift = (32 - most.leading_zeros()).saturating_sub(16);
        let member = |(id, weight): &(u32, u32)| {
            let weight = (weight >> shift).max(u32::from(*weight > 0));
            let weight = at_most(weight.into(), u16::MAX);
            Ok(Member { hop: self.numbers.of(*id)?, weight })
        };
        Ok(table_hop::Hop::Group(members.iter().map(member).collect::<Result<_, Refused>>()?))
    }

    /// The hop of an interface's subnets: ask for the packet's destination.
    pub(super) fn glean_hop(&mut self, interface: u32) -> Result<u32, Refused> {
        if let Some(number) = self.numbers.gleans.get(&interface) {
            return Ok(*number);
        }
        let number = self.hops.add(table_hop::Hop::Line(self.glean_line(interface)))?;
        self.numbers.gleans.insert(interface, number);
        Ok(number)
    }

    fn glean_line(&self, interface: u32) -> Line {
        match self.link(interface) {
            Some(link) => with(Line::new(Kind::Glean, 0), interface, 0, link.mtu),
            None => Line::dropping(DOWN, 0),
        }
    }

    /// The hop of the broadcast addresses of an interface's subnets.
    pub(super) fn broadcast_hop(&mut self, interface: u32) -> Result<u32, Refused> {
        if let Some(number) = self.numbers.broadcasts.get(&interface) {
            return Ok(*number);
        }
        let number = self.hops.add(table_hop::Hop::Line(self.broadcast_line(interface)))?;
        self.numbers.broadcasts.insert(interface, number);
        Ok(number)
    }

    /// For this system where it came by the interface itself; sent on where that is allowed.
    fn broadcast_line(&self, interface: u32) -> Line {
        let Some(link) = self.link(interface) else { return Line::dropping(BROADCAST, 0) };
        let line = with(Line::new(Kind::Local, NEXT_IP4), interface, TO_ALL, link.mtu);
        let sent_on = link.directed_broadcast;
        let octets = frame::header(&link, [0xff; 6], TYPE_IP4);
        sent_on.then(|| line.with_rewrite(&octets)).flatten().unwrap_or(line)
    }

    /// The plane's own hops of an interface as it is now.
    pub(super) fn refresh_own_hops(&mut self, interface: u32) -> Result<(), Refused> {
        if let Some(number) = self.numbers.gleans.get(&interface).copied() {
            let line = self.glean_line(interface);
            self.hops.change(number, table_hop::Hop::Line(line))?;
        }
        if let Some(number) = self.numbers.broadcasts.get(&interface).copied() {
            let line = self.broadcast_line(interface);
            self.hops.change(number, table_hop::Hop::Line(line))?;
        }
        Ok(())
    }
}

fn check_labels(labels: &[u32]) -> Result<(), Refused> {
    let limit = u64::from(LABELS) - 1;
    if let Some(label) = labels.iter().find(|label| **label >= LABELS) {
        return Err(Refused::Number { what: "label", number: u64::from(*label), limit });
    }
    if labels.contains(&IMPLICIT_NULL) {
        return Err(Refused::Conflict("implicit null is no label: leave it out".to_owned()));
    }
    if labels.len() > LABELS_MAX {
        let (number, limit) = (labels.len() as u64, LABELS_MAX as u64);
        return Err(Refused::Number { what: "labels", number, limit });
    }
    Ok(())
}

/// The line of a neighbour whose MAC address is known.
pub(super) fn adjacency(
    link: &Row,
    interface: u32,
    address: IpAddr,
    mac: Mac,
) -> Result<Line, HopError> {
    let (next, ethertype) = match address {
        IpAddr::V4(_) => (NEXT_IP4, TYPE_IP4),
        IpAddr::V6(_) => (NEXT_IP6, TYPE_IP6),
    };
    let line = Line::rewriting(next, interface, &frame::header(link, mac, ethertype));
    Ok(with(line.ok_or(HopError::Rewrite)?, interface, 0, link.mtu))
}

/// The line with its fields set.
pub(super) fn with(line: Line, interface: u32, argument: u32, mtu_bytes: u16) -> Line {
    let mut line = line;
    (line.interface, line.argument, line.mtu_bytes) = (interface, argument, mtu_bytes);
    line
}
