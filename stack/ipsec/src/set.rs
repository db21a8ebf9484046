//! A set of security associations: two lanes, each with one association in and one out.

use esp::{Failures, Inbound, Outbound, Usage};
use machine::slots::Reuse;
use runtime::PortId;
use std::net::SocketAddr;

/// One of two lanes. Of a phone's set the first is that of its client port, the second that of its
/// server port (TS 33.203 §7.1); a set with one pair of associations has the first alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Lane {
    /// Its place.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

/// Where packets of a set go outside, and come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// The port that they leave by.
    pub port: PortId,
    /// Our address; of raw packets the port is 0.
    pub local: SocketAddr,
    /// The peer's; of raw packets the port is 0.
    pub remote: SocketAddr,
    /// Whether they are in UDP.
    pub in_udp: bool,
}

/// The associations of a set.
#[derive(Debug)]
pub struct Associations {
    /// Those by which packets come, the first lane first.
    pub inbound: [Option<Inbound>; 2],
    /// Those by which packets leave.
    pub outbound: [Option<Outbound>; 2],
    /// Their way.
    pub path: Path,
    /// What the function knows the set by.
    pub owner: u32,
}

impl Associations {
    /// The peer is somewhere else now.
    pub(crate) fn set_remote(&mut self, remote: SocketAddr) {
        let (address, port) = (remote.ip(), remote.port());
        self.outbound.iter_mut().flatten().for_each(|it| it.set_peer(address, port));
        self.inbound.iter_mut().flatten().for_each(|it| it.set_peer(address, port));
        self.path.remote = remote;
    }

    /// Octets of memory.
    pub(crate) fn size(&self) -> usize {
        let extra = |whole: usize, own: usize| whole.saturating_sub(own);
        let inbound = self.inbound.iter().flatten();
        let outbound = self.outbound.iter().flatten();
        size_of::<Self>()
            + inbound.map(|it| extra(it.size(), size_of::<Inbound>())).sum::<usize>()
            + outbound.map(|it| extra(it.size(), size_of::<Outbound>())).sum::<usize>()
    }
}

/// A slot of the table: reserved until it has associations.
#[derive(Debug, Default)]
pub(crate) struct Set {
    pub associations: Option<Box<Associations>>,
    /// Whether connections of TCP have begun by it.
    pub has_streams: bool,
}

impl Reuse for Set {
    fn reuse(&mut self) {
        *self = Self::default(); // the keys are wiped
    }
}

/// What a set has dropped, its associations together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failed {
    /// Packets that came before or too late.
    pub replayed: u64,
    /// Packets whose ICV is wrong.
    pub forged: u64,
    /// All others.
    pub others: u64,
}

/// What can be told of a set; it has no keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetRow {
    /// Indices by which packets come, the first lane first.
    pub spi_in: [Option<u32>; 2],
    /// Indices by which they leave.
    pub spi_out: [Option<u32>; 2],
    /// Its way.
    pub path: Path,
    /// Packets and octets that came.
    pub came: (u64, u64),
    /// Packets and octets that left.
    pub left: (u64, u64),
    /// What was dropped.
    pub failed: Failed,
    /// Octets of memory.
    pub octets: usize,
}

impl SetRow {
    pub(crate) fn of(set: &Associations) -> Self {
        let sum = |usages: &mut dyn Iterator<Item = Usage>| {
            usages.fold((0, 0), |sum: (u64, u64), usage| {
                (sum.0 + usage.packets, sum.1 + usage.octets)
            })
        };
        let failures = set.inbound.iter().flatten().map(Inbound::failures);
        let failed = failures.fold(Failed::default(), |sum, it: Failures| Failed {
            replayed: sum.replayed + u64::from(it.replayed),
            forged: sum.forged + u64::from(it.forged),
            others: sum.others + u64::from(it.others),
        });
        Self {
            spi_in: set.inbound.each_ref().map(|it| it.as_ref().map(|it| it.spi().0)),
            spi_out: set.outbound.each_ref().map(|it| it.as_ref().map(|it| it.spi().0)),
            path: set.path,
            came: sum(&mut set.inbound.iter().flatten().map(Inbound::usage)),
            left: sum(&mut set.outbound.iter().flatten().map(Outbound::usage)),
            failed,
            octets: set.size(),
        }
    }
}
