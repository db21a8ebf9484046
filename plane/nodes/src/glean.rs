//! `glean`: packets for a neighbour whose MAC address is not known. A few of them are handed to the
//! plane, which asks for the neighbour and sends them once it has answered (RFC 1122 §2.3.2.2, RFC
//! 4861 §7.2.2); the rest are dropped.

use crate::bucket::{Bucket, Buckets, Rate};
use crate::header::{IP4, IP6, address6, age_ip4, long};
use crate::view::{Heard, Shared};
use graph::meta::OWN;
use graph::{Context, Node, Pool, Reason, Row, Slot};
use machine::Time;
use machine::narrow::halves;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use table::hop::{HopLookups, Kind};

/// What a worker asks of the plane in all.
pub const ASKED: Rate = Rate { per_second: 10_000, burst: 512 };
/// … and because of packets from one interface to neighbours on another: who scans one network
/// takes nothing from the others', nor from those who reach it by another interface.
pub const ASKED_FROM_TO: Rate = Rate { per_second: 500, burst: 256 };
/// Buckets of such pairs.
const PAIRS: usize = 4_096;
/// Neighbours that were asked for lately, by hash.
const LATELY: usize = 1_024;
/// How long one neighbour is not asked for again, nanoseconds.
const PAUSE: u64 = 20_000_000;
/// Packets for one neighbour that the plane is handed in that time, and holds.
pub const HELD_MAX: usize = 8;

const ASKED_FOR: Reason = Reason(0);
const LATELY_ASKED: Reason = Reason(1);
const LIMITED: Reason = Reason(2);
const ANSWERED: Reason = Reason(3);
const LIMITED_PAIR: Reason = Reason(4);
const REASONS: &[&str] = &[
    "neighbour asked for, packet held",
    "neighbour asked for already",
    "neighbours asked for too often",
    "neighbour answered meanwhile",
    "neighbours asked for too often from one interface",
];

/// The node.
pub struct Glean {
    shared: Shared,
    hops: Arc<HopLookups>,
    all: Bucket,
    pairs: Buckets,
    lately: Box<[Asked]>,
}

/// A neighbour that was asked for lately.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    key: u64,
    /// For so long it is not asked for again.
    until: u64,
    /// Packets that the plane may still be handed: none where it was not asked.
    left: usize,
}

impl Glean {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared, hops: Arc<HopLookups>) -> Self {
        let lately = vec![Asked::default(); LATELY].into_boxed_slice();
        let pairs = Buckets::new(PAIRS, shared.key);
        Self { shared, hops, all: Bucket::default(), pairs, lately }
    }

    fn ask(&mut self, slot: Slot, interface: u32, neighbour: u32, cx: &mut Context<'_>) -> Reason {
        let (vrf, address) = (cx.packets.meta(slot).vrf, destination(cx.packets.bytes(slot)));
        let key = match (neighbour, address) {
            (0, IpAddr::V4(address)) => u64::from(u32::from(address)),
            (0, IpAddr::V6(address)) => {
                let [low, high] = halves(u128::from(address));
                high ^ low
            }
            _ => u64::from(neighbour) << 32,
        };
        let from = cx.packets.meta(slot).interface;
        let pair = u64::from(from) << 32 | u64::from(interface);
        if let Err(reason) = self.may_tell(key ^ u64::from(interface) << 48, pair, cx.now) {
            return reason;
        }
        age(slot, cx.packets);
        let packet = cx.packets.bytes(slot).into();
        let heard = Heard::Unresolved { interface, neighbour, address, vrf, packet };
        if self.shared.tell(heard) { ASKED_FOR } else { LIMITED }
    }

    /// Whether the plane may be handed one more packet for a neighbour. Those that follow the one
    /// for which it was asked take nothing from others.
    fn may_tell(&mut self, key: u64, pair: u64, now: Time) -> Result<(), Reason> {
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % LATELY;
        let it = &mut self.lately[place];
        if it.key == key && now.as_nanos() < it.until {
            it.left = it.left.checked_sub(1).ok_or(LATELY_ASKED)?;
            return Ok(());
        }
        *it = Asked { key, until: now.as_nanos() + PAUSE, left: 0 };
        if !self.pairs.take(pair, ASKED_FROM_TO, now) {
            return Err(LIMITED_PAIR);
        }
        if !self.all.take(ASKED, now) {
            return Err(LIMITED);
        }
        it.left = HELD_MAX - 1;
        Ok(())
    }
}

impl Node for Glean {
    fn row(&self) -> Row {
        Row::of("glean", &[], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let hops = Arc::clone(&self.hops);
        for slot in batch {
            let line = *hops.resolve(cx.reader, cx.packets.meta(*slot).hop, 0);
            let reason = match line.kind {
                Kind::Glean => self.ask(*slot, line.interface, line.argument, cx),
                _ => ANSWERED,
            };
            cx.next.drop(*slot, reason);
        }
    }
}

fn destination(packet: &[u8]) -> IpAddr {
    match packet.first().map(|first| first >> 4) {
        Some(6) => Ipv6Addr::from(address6(packet, 24)).into(),
        _ => Ipv4Addr::from(long(packet, 16)).into(),
    }
}

/// When it is sent it comes from this system, whose packets do not age.
fn age(slot: Slot, packets: &mut Pool) {
    let (meta, packet) = packets.packet_mut(slot);
    if meta.flags & OWN != 0 {
        return;
    }
    if packet.len() >= IP6 && packet[0] >> 4 == 6 {
        packet[7] = packet[7].saturating_sub(1);
    } else if let Some(header) = packet.first_chunk_mut::<IP4>() {
        age_ip4(header);
    }
}
