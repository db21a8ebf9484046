//! Values of single attributes.

use super::tlv::Tlvs;
use super::{Asn, Identifier, be16, be32};
use crate::family::Label;

wire::rows! {
    /// Where a route comes from; the lower is preferred.
    pub enum Origin: u8 {
        /// From inside of its AS.
        Igp = 0, "IGP", "RFC 4271 §5.1.1";
        /// By the protocol EGP.
        Egp = 1, "EGP", "RFC 4271 §5.1.1";
        /// Otherwise.
        Incomplete = 2, "INCOMPLETE", "RFC 4271 §5.1.1";
    }
}

/// Who aggregated (RFC 4271 §5.1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregator {
    /// Its AS.
    pub asn: Asn,
    /// Its identifier.
    pub identifier: Identifier,
}

impl Aggregator {
    /// Reads AGGREGATOR or AS4_AGGREGATOR: six octets, or eight.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        match value.len() {
            6 => Some(Self { asn: Asn::from(be16(value, 0)), identifier: be32(value, 2) }),
            8 => Some(Self { asn: be32(value, 0), identifier: be32(value, 4) }),
            _ => None,
        }
    }

    /// Its eight octets.
    #[must_use]
    pub fn octets(self) -> [u8; 8] {
        (u64::from(self.asn) << 32 | u64::from(self.identifier)).to_be_bytes()
    }
}

/// The metric of AIGP, from its first TLV of type 1 (RFC 7311 §3).
#[must_use]
pub fn aigp_metric(value: &[u8]) -> Option<u64> {
    let metric = Tlvs::aigp(value).map_while(|it| it).find(|tlv| tlv.kind == 1)?;
    Some(u64::from_be_bytes(metric.value.try_into().ok()?))
}

/// The tunnel of a multicast service (RFC 6514 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PmsiTunnel<'a> {
    /// Flags; the lowest asks leaves to tell themselves.
    pub flags: u8,
    /// The kind of tunnel: 6 is ingress replication.
    pub kind: u8,
    /// The label, or the VNI in all of its 24 bits.
    pub label: Label,
    /// Which tunnel, in the manner of its kind.
    pub identifier: &'a [u8],
}

impl<'a> PmsiTunnel<'a> {
    /// Reads one. `None` if it is malformed.
    #[must_use]
    pub fn read(value: &'a [u8]) -> Option<Self> {
        let ([flags, kind, a, b, c], identifier) = value.split_first_chunk::<5>()?;
        Some(Self { flags: *flags, kind: *kind, label: Label::of([*a, *b, *c]), identifier })
    }
}
