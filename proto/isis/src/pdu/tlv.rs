//! TLVs: type, 1 · length, 1 · value (ISO 10589 §9.3).

use wire::{Cursor, Malformed};

wire::rows! {
    /// TLVs of PDUs.
    pub enum TlvKind: u8 {
        /// Areas of a system.
        AreaAddresses = 1, "Area Addresses", "ISO 10589 §9.5";
        /// Neighbours, with narrow metrics.
        IsReachability = 2, "IS Neighbours", "ISO 10589 §9.8";
        /// Systems that were heard on a LAN.
        LanNeighbours = 6, "IS Neighbours of a LAN", "ISO 10589 §9.5";
        /// Nothing, to make a hello longer.
        Padding = 8, "Padding", "ISO 10589 §9.5";
        /// What a database has.
        LspEntries = 9, "LSP Entries", "ISO 10589 §9.10";
        /// Who sent it knows a secret.
        Authentication = 10, "Authentication", "RFC 5304 §2";
        /// Who made a purge.
        PurgeOriginator = 13, "Purge Originator Identification", "RFC 6232 §3";
        /// Neighbours, with wide metrics.
        ExtendedIsReachability = 22, "Extended IS Reachability", "RFC 5305 §3";
        /// Prefixes of IPv4, with narrow metrics.
        IpInternal = 128, "IP Internal Reachability", "RFC 1195 §5.3.3";
        /// Protocols that are routed.
        Protocols = 129, "Protocols Supported", "RFC 1195 §5.3.1";
        /// Prefixes of IPv4 outside, with narrow metrics.
        IpExternal = 130, "IP External Reachability", "RFC 1195 §5.3.4";
        /// Addresses of IPv4.
        IpAddresses = 132, "IP Interface Addresses", "RFC 1195 §5.3.5";
        /// An address that is always reached.
        RouterId = 134, "Traffic Engineering Router ID", "RFC 5305 §4.3";
        /// Prefixes of IPv4, with wide metrics.
        ExtendedIp = 135, "Extended IP Reachability", "RFC 5305 §4";
        /// The name of a system.
        Hostname = 137, "Dynamic Hostname", "RFC 5301 §3";
        /// Restart.
        Restart = 211, "Restart", "RFC 8706 §3.1";
        /// Addresses of IPv6.
        Ipv6Addresses = 232, "IPv6 Interface Addresses", "RFC 5308 §3";
        /// Prefixes of IPv6.
        Ipv6 = 236, "IPv6 Reachability", "RFC 5308 §2";
        /// Both ends of a link of two hear each other.
        ThreeWay = 240, "Point-to-Point Three-Way Adjacency", "RFC 5303 §3.1";
        /// What a router can do.
        Capability = 242, "Router Capability", "RFC 7981 §2";
    }
}

/// A TLV, or a TLV inside of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Its type.
    pub number: u8,
    /// Where its value begins.
    pub at: usize,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// Its row, if it has one: only where it stands in a PDU.
    #[must_use]
    pub const fn kind(&self) -> Option<TlvKind> {
        TlvKind::of(self.number)
    }

    /// Its value, to be read field by field.
    #[must_use]
    pub const fn cursor(&self, spec: &'static str) -> Cursor<'a> {
        Cursor::new(self.value, self.at, spec)
    }
}

/// The TLVs of a text, in order; ends with the first that is cut off, which is told.
#[derive(Debug, Clone)]
pub struct Tlvs<'a> {
    cursor: Cursor<'a>,
    has_failed: bool,
}

impl<'a> Tlvs<'a> {
    /// Those of `text`, which begins `at` octets into its PDU.
    #[must_use]
    pub const fn new(text: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor::new(text, at, "ISO 10589 §9.3"), has_failed: false }
    }

    fn take(&mut self) -> Result<Tlv<'a>, Malformed> {
        let [number, length] = self.cursor.array("a TLV is cut off")?;
        let at = self.cursor.at();
        let value = self.cursor.take(usize::from(length), "a TLV is longer than its PDU")?;
        Ok(Tlv { number, at, value })
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed || self.cursor.is_empty() {
            return None;
        }
        let taken = self.take();
        self.has_failed = taken.is_err();
        Some(taken)
    }
}

/// Octets that the value of a TLV may have.
pub const VALUE_MAX: usize = 255;

/// Appends a TLV. One longer than can be is left out.
pub fn write_tlv(out: &mut Vec<u8>, number: u8, value: &[u8]) {
    if let Ok(length) = u8::try_from(value.len()) {
        out.extend_from_slice(&[number, length]);
        out.extend_from_slice(value);
    }
}

/// Appends as many TLVs as the pieces need, each of which stands in one whole.
pub fn write_pieces<T: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    kind: TlvKind,
    pieces: impl IntoIterator<Item = T>,
) {
    let mut value: Vec<u8> = Vec::new();
    for piece in pieces {
        let piece = piece.as_ref();
        if value.len() + piece.len() > VALUE_MAX {
            write_tlv(out, kind.number(), &value);
            value.clear();
        }
        value.extend_from_slice(piece);
    }
    if !value.is_empty() {
        write_tlv(out, kind.number(), &value);
    }
}
