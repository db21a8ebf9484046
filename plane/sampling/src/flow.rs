//! Flows of sampled packets, gathered until they end or their place is needed.

use machine::narrow::{half, halves};

/// Flows that a worker gathers at once.
pub(crate) const FLOWS: usize = 4_096;
/// A flow that goes on is told after so long.
const ACTIVE_MS: u64 = 60_000;
/// A flow without packets for so long has ended.
const IDLE_MS: u64 = 15_000;
/// Places that are looked at with each vector.
const SWEPT: usize = 16;

/// `flowEndReason` (RFC 5102 §5.11.3): idle, active, lack of resources.
pub(crate) const IDLE: u8 = 1;
/// The flow goes on.
pub(crate) const ACTIVE: u8 = 2;
/// Another flow needed its place.
pub(crate) const DISPLACED: u8 = 5;

/// What makes a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Key {
    pub(crate) source: u128,
    pub(crate) destination: u128,
    pub(crate) ports: [u16; 2],
    pub(crate) interface: u32,
    pub(crate) protocol: u8,
    pub(crate) service: u8,
    pub(crate) is_ip4: bool,
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) start_ms: u64,
    pub(crate) end_ms: u64,
    pub(crate) octets: u64,
    pub(crate) packets: u64,
    pub(crate) tcp_flags: u8,
}

/// The flows of one worker: each has the one place that its hash says.
pub(crate) struct Flows {
    places: Box<[Option<Flow>]>,
    swept: usize,
}

impl Flows {
    pub(crate) fn new() -> Self {
        Self { places: vec![None; FLOWS].into_boxed_slice(), swept: 0 }
    }

    /// Adds a packet; hands out the flow that had to make room.
    pub(crate) fn add(&mut self, packet: Flow) -> Option<Flow> {
        let place = &mut self.places[hash(&packet.key) as usize % FLOWS];
        match place {
            Some(flow) if flow.key == packet.key => {
                flow.end_ms = packet.end_ms;
                flow.octets += packet.octets;
                flow.packets += 1;
                flow.tcp_flags |= packet.tcp_flags;
                None
            }
            _ => place.replace(packet),
        }
    }

    /// Looks at some places; hands out flows that are to be told, with their reasons.
    pub(crate) fn sweep(&mut self, now_ms: u64, mut told: impl FnMut(&Flow, u8)) {
        for _ in 0..SWEPT {
            self.swept = (self.swept + 1) % FLOWS;
            let place = &mut self.places[self.swept];
            let Some(flow) = place else { continue };
            let reason = match () {
                () if now_ms.saturating_sub(flow.end_ms) >= IDLE_MS => IDLE,
                () if now_ms.saturating_sub(flow.start_ms) >= ACTIVE_MS => ACTIVE,
                () => continue,
            };
            told(flow, reason);
            *place = None;
        }
    }
}

fn hash(key: &Key) -> u32 {
    let mut hash = u64::from(key.interface) << 32
        | u64::from(key.ports[0]) << 16
        | u64::from(key.ports[1]) ^ u64::from(key.protocol) << 56;
    for word in [key.source, key.destination] {
        for half in halves(word) {
            hash = (hash ^ half).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
    }
    half(hash)
}
