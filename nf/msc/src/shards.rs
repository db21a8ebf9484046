//! What the shards of a media controller have to do with each other.
//!
//! ```text
//!   shard 0: session controllers, NG, leases,  ── Stands, Packet, Forget ──→ shards 1 …: checks,
//!            streams, forwarder, transcoder    ←── Send, Agreed, Born ──────  handshakes of ends
//! ```
//! - Ports are leased from one table and the forwarder has one control: both are the first shard's,
//!   and with them all that comes by connections, the timers of streams, the pair, the trails. To
//!   hand a stream over would cost more than to take it.
//! - A handshake costs a millisecond of a processor, a stream some microseconds: what an end says
//!   by STUN and DTLS is answered by the shard of its port. It is told of the end with each packet,
//!   so that it knows nothing that the first one does not know; its timers, its answers and what it
//!   counts are its own.
//! - A further shard that dies has cost the handshakes that went on there: peers begin again, and
//!   it is told of ends that this side begins with. The first one that dies is made anew from its
//!   forwarder's memory, as a process would be; the others forget what they had.
//! - What finds no room: a packet is lost, as on its way here; how an end stands, that one is gone,
//!   and what was agreed on are said again.

mod further;
mod siblings;
mod work;

pub use further::Further;
pub(crate) use siblings::Siblings;
pub(crate) use work::Work;

use anchor::Local;
use machine::Duration;

/// The pause before something is told again that was not taken.
const AGAIN: Duration = Duration::from_millis(100);

/// The shard of several that has the end at a port.
fn shard_of(local: Local, shards: u16) -> u16 {
    let further = u64::from(shards.saturating_sub(1).max(1));
    // Ports are even, and those of one block are next to each other.
    let number = u64::from(local.address) << 15 | u64::from(local.port >> 1);
    u16::try_from(1 + number % further).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_dealt_to_all_shards_but_the_first() {
        for shards in 2..=16_u16 {
            let at = |port| shard_of(Local { address: 1, port }, shards);
            let all: Vec<u16> = (20_000..20_200).step_by(2).map(at).collect();
            let count = |shard| all.iter().filter(|it| **it == shard).count();
            assert!((1..shards).all(|it| count(it) >= 100 / usize::from(shards)), "{all:?}");
            assert_eq!(count(0), 0);
            assert_eq!(at(20_000), at(20_001), "RTCP is where RTP is");
        }
    }
}
