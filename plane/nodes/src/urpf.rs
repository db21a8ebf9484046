//! `ip4-urpf`, `ip6-urpf`: whether the source of a packet is reachable, by any interface (loose)
//! or by the one that the packet came in by (strict) (RFC 3704 §2.2, §2.4).

use crate::header::{address6, long};
use crate::program::Urpf;
use crate::view::Shared;
use graph::meta::LINK_LOCAL;
use graph::{Context, Node, Reason, Row, Slot, VECTOR_MAX};
use std::sync::Arc;
use table::epoch::Reader;
use table::hop::{HopLookups, Kind};
use table::vrf::VrfLookups;

const SPOOFED: Reason = Reason(0);
const REASONS4: &[&str] = &["ip4 source not reachable that way"];
const REASONS6: &[&str] = &["ip6 source not reachable that way"];
/// Ways of a group that are looked at: as many as buckets of the largest.
const WAYS_MAX: u32 = 1_024;

/// The node of one family.
pub struct SourceCheck {
    shared: Shared,
    routes: VrfLookups,
    hops: Arc<HopLookups>,
    six: bool,
}

impl SourceCheck {
    /// The node of one worker, for IPv6 or for IPv4.
    #[must_use]
    pub const fn new(shared: Shared, routes: VrfLookups, hops: Arc<HopLookups>, six: bool) -> Self {
        Self { shared, routes, hops, six }
    }

    /// Whether one of the hop's ways out is right.
    fn leads(&self, reader: &Reader, hop: u32, interface: Option<u32>) -> bool {
        let mut members = 0..WAYS_MAX;
        let first = self.hops.resolve(reader, hop, 0);
        let is_right = |hash: u32| {
            let line = self.hops.resolve(reader, hop, hash);
            let is_way = matches!(line.kind, Kind::Rewrite | Kind::Glean);
            is_way && interface.is_none_or(|interface| interface == line.interface)
        };
        // The line of a hop that is no group has the hop's own number.
        if first.hop == hop { is_right(0) } else { members.any(is_right) }
    }
}

impl Node for SourceCheck {
    fn row(&self) -> Row {
        match self.six {
            true => Row::of("ip6-urpf", &[], REASONS6),
            false => Row::of("ip4-urpf", &[], REASONS4),
        }
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let mut tables = [0_u32; VECTOR_MAX];
        for (slot, table) in batch.iter().zip(&mut tables) {
            *table = cx.packets.meta(*slot).vrf;
        }
        let mut hops = [0_u32; VECTOR_MAX];
        let tables = &tables[..batch.len()];
        if self.six {
            let mut sources = [0; VECTOR_MAX];
            for (slot, source) in batch.iter().zip(&mut sources) {
                *source = address6(cx.packets.bytes(*slot), 8);
            }
            let sources = &sources[..batch.len()];
            self.routes.ipv6.lookup_each(cx.reader, tables, sources, &mut hops);
        } else {
            let mut sources = [0; VECTOR_MAX];
            for (slot, source) in batch.iter().zip(&mut sources) {
                *source = long(cx.packets.bytes(*slot), 12);
            }
            let sources = &sources[..batch.len()];
            self.routes.ipv4.lookup_each(cx.reader, tables, sources, &mut hops);
        }
        let (mut right, mut count) = ([Slot(0); VECTOR_MAX], 0);
        for (slot, hop) in batch.iter().zip(hops) {
            let meta = cx.packets.meta(*slot);
            let interface = meta.interface;
            let is_right = match interfaces.row(interface).urpf {
                // It goes no further than here, and routes to it there are none.
                _ if meta.flags & LINK_LOCAL != 0 => true,
                Urpf::Off => true,
                Urpf::Loose => self.leads(cx.reader, hop, None),
                Urpf::Strict => self.leads(cx.reader, hop, Some(interface)),
            };
            if is_right {
                right[count % VECTOR_MAX] = *slot;
                count += 1;
            } else {
                cx.next.drop(*slot, SPOOFED);
            }
        }
        cx.next.onward_all(&right[..count], cx.packets);
    }
}
