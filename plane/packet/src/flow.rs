//! Flow hashes: packets of one flow have one hash, which differs from plane to plane by a seed, so
//! that routers in a row do not all choose alike.

use crate::header::{IP4, IP6, TCP, UDP, address6, long, word};
use machine::narrow::{half, halves};

/// Mixes 64 bits (the finaliser of MurmurHash3).
#[inline]
const fn mixed(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

/// Of an IPv4 packet: addresses, protocol, and ports where every packet of the flow has them
/// (fragments have none).
#[inline]
#[must_use]
pub fn ip4(packet: &[u8], seed: u32) -> u32 {
    let addresses = u64::from(long(packet, 12)) << 32 | u64::from(long(packet, 16));
    let Some(protocol) = packet.get(9).copied() else { return 0 };
    let whole = word(packet, 6) & 0x3fff == 0;
    let has_ports = whole && matches!(protocol, TCP | UDP) && packet[0] & 15 == 5;
    let ports = if has_ports { long(packet, IP4) } else { 0 };
    let rest = u64::from(ports) << 8 | u64::from(protocol);
    half(mixed(addresses ^ mixed(rest ^ u64::from(seed) << 40)))
}

/// Of an IPv6 packet: addresses, flow label, next header and ports.
#[inline]
#[must_use]
pub fn ip6(packet: &[u8], seed: u32) -> u32 {
    let Some(protocol) = packet.get(6).copied() else { return 0 };
    let ports = if matches!(protocol, TCP | UDP) { long(packet, IP6) } else { 0 };
    let label = long(packet, 0) & 0xf_ffff;
    let rest = u64::from(ports) << 8 | u64::from(protocol);
    let mut bits = mixed(rest ^ u64::from(seed) << 40) ^ u64::from(label);
    for address in [address6(packet, 8), address6(packet, 24)] {
        let [low, high] = halves(address);
        bits = mixed(bits ^ high).wrapping_add(low);
    }
    half(mixed(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_spread_flows_and_keep_fragments_together() {
        let mut packet = [0_u8; 40];
        (packet[0], packet[9]) = (0x45, UDP);
        let mut seen = [0_u32; 64];
        for flow in 0..64_000_u32 {
            packet[16..20].copy_from_slice(&flow.to_be_bytes());
            seen[ip4(&packet, 7) as usize % 64] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        packet[21] = 1;
        let one = ip4(&packet, 7);
        packet[21] = 2;
        assert_ne!(one, ip4(&packet, 7));
        assert_ne!(ip4(&packet, 8), ip4(&packet, 7));
        packet[6] = 0x20;
        let first = ip4(&packet, 7);
        packet[21] = 3;
        assert_eq!(first, ip4(&packet, 7), "a fragment goes by its addresses");
    }
}
