//! Bridge domains as workers read them: who is a member, and how a frame gets there.

use crate::program::{Bridge, INTERFACES_MAX, Interface, Mode, Pseudowire};
use machine::{Time, narrow};
use std::collections::BTreeMap;

/// Bridge domains are numbered below this, from 1.
pub const BRIDGES_MAX: u32 = table::mac::BRIDGES_MAX as u32;
/// Pseudowires are numbered below this.
pub const PSEUDOWIRES_MAX: u32 = 1 << 20;
/// Members of one domain at most: a flooded frame is copied so often.
pub const MEMBERS_MAX: usize = 1_024;
/// Pseudowires are ports of the MAC table from here on; below are interfaces.
pub const PSEUDOWIRE: u32 = INTERFACES_MAX;

/// A member of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Member {
    /// Its number as a port of the MAC table: an interface, or [`PSEUDOWIRE`] and a number.
    pub(crate) port: u32,
    /// Of a pseudowire: the hop that its frames leave by.
    pub(crate) hop: u32,
    /// Its domain, of 16 bits ([`number`]), or 0.
    pub(crate) bridge: u32,
    /// Members of one group (not 0) do not talk to each other (RFC 4762 §4.4).
    pub(crate) group: u8,
    /// Of an interface: tags on its frames.
    pub(crate) tags: u8,
    /// It is the domain's routed side.
    pub(crate) routed: bool,
}

impl Member {
    /// Whether a frame from this member may leave by the other one.
    #[inline]
    pub(crate) fn talks_to(&self, to: &Self) -> bool {
        self.port != to.port
            && self.bridge == to.bridge
            && (self.group == 0 || self.group != to.group)
    }

    #[inline]
    pub(crate) fn is_pseudowire(&self) -> bool {
        self.port >= PSEUDOWIRE
    }
}

/// A domain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Domain {
    first: u32,
    count: u32,
    pub(crate) there: bool,
    pub(crate) flood_unknown: bool,
    /// Flooded frames a second from each member; 0: any number.
    pub(crate) storm_pps: u32,
}

/// All domains; replaced whole when one changes.
#[derive(Default)]
pub struct Bridges {
    domains: Vec<Domain>,
    members: Vec<Member>,
    /// By interface.
    interfaces: Vec<Member>,
    pseudowires: Vec<Member>,
}

impl Bridges {
    /// As the programs say; pseudowires come with their hops.
    pub fn of(
        bridges: &BTreeMap<u32, Bridge>,
        pseudowires: &BTreeMap<u32, (Pseudowire, u32)>,
        interfaces: &BTreeMap<u32, Interface>,
    ) -> Self {
        let mut made = Self::default();
        let mut by_domain: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
        for interface in interfaces.values() {
            if let Mode::Bridged { bridge, split_horizon, .. } = interface.mode {
                let (port, bridge) = (interface.index, number(bridge).into());
                let tags =
                    u8::from(interface.outer.is_some()) + u8::from(interface.inner.is_some());
                let member =
                    Member { port, bridge, group: split_horizon, tags, ..Member::default() };
                place(&mut made.interfaces, port, member);
                by_domain.entry(bridge).or_default().push(member);
            }
            if let Mode::BridgeRouted { bridge, .. } = interface.mode {
                let (port, bridge) = (interface.index, number(bridge).into());
                let member = Member { port, bridge, routed: true, ..Member::default() };
                place(&mut made.interfaces, port, member);
                by_domain.entry(bridge).or_default().push(member);
            }
        }
        for (wire, hop) in pseudowires.values() {
            let port = PSEUDOWIRE + wire.pseudowire;
            let (bridge, group) = (number(wire.bridge).into(), wire.split_horizon);
            let member = Member { port, hop: *hop, bridge, group, ..Member::default() };
            place(&mut made.pseudowires, wire.pseudowire, member);
            by_domain.entry(bridge).or_default().push(member);
        }
        for bridge in bridges.values() {
            let mut members = by_domain.remove(&bridge.bridge).unwrap_or_default();
            members.truncate(MEMBERS_MAX);
            let domain = Domain {
                first: narrow::place(made.members.len()),
                count: narrow::place(members.len()),
                there: true,
                flood_unknown: bridge.flood_unknown,
                storm_pps: bridge.storm_pps,
            };
            place(&mut made.domains, bridge.bridge, domain);
            made.members.append(&mut members);
        }
        made
    }

    #[inline]
    pub(crate) fn domain(&self, bridge: u32) -> Option<&Domain> {
        self.domains.get(bridge as usize).filter(|domain| domain.there)
    }

    #[inline]
    pub(crate) fn members(&self, domain: &Domain) -> &[Member] {
        &self.members[domain.first as usize..][..domain.count as usize]
    }

    /// The member that a port of the MAC table stands for.
    #[inline]
    pub(crate) fn member(&self, port: u32) -> Option<&Member> {
        let member = match port.checked_sub(PSEUDOWIRE) {
            Some(wire) => self.pseudowires.get(wire as usize),
            None => self.interfaces.get(port as usize),
        };
        member.filter(|member| member.bridge != 0)
    }
}

/// A domain's number as workers and the MAC table have it; 0, which is none, if there cannot be
/// such a domain.
pub fn number(bridge: u32) -> u16 {
    u16::try_from(bridge).ok().filter(|number| *number < table::mac::BRIDGES_MAX).unwrap_or(0)
}

/// Whole seconds, as the MAC table counts time.
pub fn seconds(now: Time) -> u32 {
    narrow::at_most(now.as_millis() / 1_000, u32::MAX)
}

fn place<T: Clone + Default>(list: &mut Vec<T>, at: u32, what: T) {
    let at = at as usize;
    if list.len() <= at {
        list.resize(at + 1, T::default());
    }
    list[at] = what;
}
