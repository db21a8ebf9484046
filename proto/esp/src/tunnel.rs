//! Tunnel mode: the outer header (RFC 4301 §5.1.2) and congestion (RFC 6040).

use crate::Dropped;
use crate::ip::{V4_HEADER, V6_HEADER, set_v4_checksum};
use core::net::IpAddr;

/// The DSCP of the outer header (RFC 4301 §5.1.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dscp {
    /// That of the inner one.
    Copy,
    /// This one, six bits.
    Set(u8),
}

/// Whether an outer header of IPv4 forbids fragments (RFC 4301 §8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Df {
    /// As the inner one says; of IPv6 inside, it does.
    Copy,
    /// It does.
    Set,
    /// It does not.
    Clear,
}

/// The ends of a tunnel as our side sees them, and its outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tunnel {
    /// Our address.
    pub local: IpAddr,
    /// The other end's.
    pub remote: IpAddr,
    /// The DSCP.
    pub dscp: Dscp,
    /// Whether fragments are forbidden, in IPv4.
    pub df: Df,
    /// TTL or hop limit.
    pub hop_limit: u8,
}

impl Tunnel {
    /// A tunnel that copies DSCP and DF.
    #[must_use]
    pub const fn between(local: IpAddr, remote: IpAddr) -> Self {
        Self { local, remote, dscp: Dscp::Copy, df: Df::Copy, hop_limit: 64 }
    }

    /// Octets of the outer header.
    pub(crate) const fn header(&self) -> usize {
        if self.local.is_ipv6() { V6_HEADER } else { V4_HEADER }
    }

    /// Writes the outer header of a packet; length, protocol and checksum are set later.
    pub(crate) fn write(&self, header: &mut [u8], inner: Inner, identification: u16) {
        let class = match self.dscp {
            Dscp::Copy => inner.class,
            Dscp::Set(dscp) => dscp << 2 | inner.class & ECN,
        };
        header.fill(0);
        match (self.local, self.remote) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                header[0] = 0x45;
                header[1] = class;
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                let df = match self.df {
                    Df::Copy => inner.df,
                    Df::Set => true,
                    Df::Clear => false,
                };
                header[6] = if df { 0x40 } else { 0 };
                header[8] = self.hop_limit;
                header[12..16].copy_from_slice(&local.octets());
                header[16..20].copy_from_slice(&remote.octets());
            }
            (IpAddr::V6(local), IpAddr::V6(remote)) => {
                header[0] = 0x60 | class >> 4;
                header[1] = class << 4;
                header[7] = self.hop_limit;
                header[8..24].copy_from_slice(&local.octets());
                header[24..40].copy_from_slice(&remote.octets());
            }
            // `Parameters` are refused that have such ends.
            _ => {}
        }
    }
}

/// What of an inner header goes into the outer one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner {
    /// DSCP and ECN.
    pub class: u8,
    pub df: bool,
}

impl Inner {
    /// Of a packet whose header has been read.
    pub fn of(packet: &[u8], is_v6: bool) -> Self {
        Self { class: class(packet, is_v6), df: is_v6 || packet[6] & 0x40 != 0 }
    }
}

/// The two bits of ECN, and what they say (RFC 3168 §5).
const ECN: u8 = 3;
const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const CE: u8 = 3;

fn class(packet: &[u8], is_v6: bool) -> u8 {
    if is_v6 { packet[0] << 4 | packet[1] >> 4 } else { packet[1] }
}

/// Takes over into a packet what its outer header met on the way (RFC 6040 §4.2).
pub(crate) fn decapsulate(outer: u8, packet: &mut [u8], is_v6: bool) -> Result<(), Dropped> {
    let inner = class(packet, is_v6);
    let ecn = match (inner & ECN, outer & ECN) {
        (NOT_ECT, CE) => return Err(Dropped::Congested),
        (NOT_ECT, _) => NOT_ECT,
        (_, CE) => CE,
        (CE, _) => CE,
        (_, ECT_1) => ECT_1,
        (same, _) => same,
    };
    if ecn == inner & ECN {
        return Ok(());
    }
    let class = inner & !ECN | ecn;
    if is_v6 {
        packet[1] = packet[1] & 0x0f | class << 4;
    } else {
        packet[1] = class;
        let header = usize::from(packet[0] & 15) * 4;
        set_v4_checksum(&mut packet[..header]);
    }
    Ok(())
}

/// DSCP and ECN of an outer header.
pub(crate) fn outer_class(packet: &[u8], is_v6: bool) -> u8 {
    class(packet, is_v6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040 figure 4: rows of the inner field, columns Not-ECT, ECT(0), ECT(1), CE outside.
    #[test]
    fn congestion_that_was_met_is_taken_over() {
        for (inner, row) in [
            (0, [Some(0), Some(0), Some(0), None]),
            (2, [Some(2), Some(2), Some(1), Some(3)]),
            (1, [Some(1), Some(1), Some(1), Some(3)]),
            (3, [Some(3), Some(3), Some(3), Some(3)]),
        ] {
            for (outer, expected) in [0, 2, 1, 3].into_iter().zip(row) {
                let mut v4 = [0; 20];
                (v4[0], v4[1]) = (0x45, 0xb8 | inner);
                set_v4_checksum(&mut v4);
                let verdict = decapsulate(outer, &mut v4, false).map(|()| v4[1]);
                assert_eq!(verdict.ok(), expected.map(|it| 0xb8 | it), "{inner} {outer}");
                assert_eq!(crate::checksum::folded(crate::checksum::sum(&v4)), 0xffff);
                let mut v6 = [0; 40];
                (v6[0], v6[1]) = (0x6b, 0x8f | inner << 4);
                let verdict = decapsulate(outer, &mut v6, true).map(|()| (v6[0], v6[1]));
                assert_eq!(verdict.ok(), expected.map(|it| (0x6b, 0x8f | it << 4)));
            }
        }
    }
}
