//! Maps between marks and classes, early drops, and the collector of samples.

use super::Compiler;
use crate::config::{self, Colour, Pe, prefix};
use dataplane::Rank;
use nodes::Program;
use nodes::program::{self, AS_IT_IS, Removed};
use std::net::IpAddr;

/// Colours.
const COLOURS: usize = 3;

impl Compiler<'_> {
    /// The maps of an interface.
    pub(super) fn marking(&mut self, interface: u32, name: &str) {
        let Some(section) = self.pe.marking.iter().find(|it| it.name == *name) else { return };
        let program = marking(interface, section);
        self.out.put(Rank::Use, Removed::Marking(interface), Program::Marking(program));
    }

    pub(super) fn collector(&mut self) {
        let Some(section) = &self.pe.collector else { return };
        let Some(source) = source(self.pe, section) else { return };
        let vrf = self.table(section.vrf.as_deref());
        let config::Collector { address, port, .. } = *section;
        let program = program::Collector { vrf, source, address, port };
        self.out.put(Rank::Tool, Removed::Collector, Program::Collector(program));
    }
}

/// The own address in whose name a collector is told.
pub(crate) fn source(pe: &Pe, collector: &config::Collector) -> Option<IpAddr> {
    let of_table = pe.interface.iter().filter(|it| it.vrf == collector.vrf);
    let own = of_table.flat_map(|it| it.addresses.iter().filter_map(|text| prefix(text)));
    let mut own = own.map(|(address, _)| address);
    own.find(|own| match collector.source {
        Some(source) => *own == source,
        None => own.is_ipv4() == collector.address.is_ipv4(),
    })
}

/// Values out of range were refused before.
fn marking(interface: u32, section: &config::Marking) -> program::Marking {
    let mut made = program::Marking { interface, ..program::Marking::default() };
    if !section.dscp_in.is_empty() {
        made.by_dscp = (0..64).map(|dscp| (dscp >> 3, 0)).collect();
    }
    for row in &section.dscp_in {
        let rows = made.by_dscp.iter_mut().enumerate();
        let named = rows.filter(|(dscp, _)| row.dscp.iter().any(|it| usize::from(*it) == *dscp));
        named.for_each(|(_, it)| *it = (row.class, row.colour as u8));
    }
    if !section.priority_in.is_empty() {
        made.by_priority = (0..8).map(|priority| (priority, 0)).collect();
    }
    for row in &section.priority_in {
        let rows = made.by_priority.iter_mut().enumerate();
        let named = rows.filter(|(at, _)| row.priority.iter().any(|it| usize::from(*it) == *at));
        named.for_each(|(_, it)| *it = (row.class, row.colour as u8));
    }
    if !section.dscp_out.is_empty() {
        made.to_dscp = vec![AS_IT_IS; 8 * COLOURS];
    }
    for row in &section.dscp_out {
        let is_named = |at: usize| {
            row.class.iter().any(|class| usize::from(*class) == at / COLOURS)
                && row.colour.is_none_or(|colour| colour as usize == at % COLOURS)
        };
        let rows = made.to_dscp.iter_mut().enumerate();
        rows.filter(|(at, _)| is_named(*at)).for_each(|(_, it)| *it = row.dscp);
    }
    if !section.priority_out.is_empty() {
        made.to_priority = vec![AS_IT_IS; 8];
    }
    for row in &section.priority_out {
        let rows = made.to_priority.iter_mut().enumerate();
        let named = rows.filter(|(at, _)| row.class.iter().any(|it| usize::from(*it) == *at));
        named.for_each(|(_, it)| *it = row.priority);
    }
    made
}

/// Early drops: a colour that is not named is treated as the one before it.
pub(super) fn wred(section: &config::Wred) -> program::Wred {
    let drops = |it: config::Drops| program::Drops {
        min_octets: it.min_octets,
        max_octets: it.max_octets,
        permille: it.permille,
    };
    let yellow = section.yellow.unwrap_or(section.green);
    [section.green, yellow, section.red.unwrap_or(yellow)].map(drops)
}

const _: () = assert!(Colour::Red as usize == COLOURS - 1);
