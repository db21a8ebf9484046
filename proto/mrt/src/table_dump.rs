//! TABLE_DUMP: the old form, one route of one peer a record, two-octet ASes (RFC 6396 §4.2).

use crate::peers::{Peer, read_address, read_asn};
use bgp::family::{Family, Ipv4Prefix, Ipv6Prefix};
use core::net::IpAddr;
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 6396 §4.2";
const AFI_IPV4: u16 = 1;
const AFI_IPV6: u16 = 2;

/// A route of one peer, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableDump<'a> {
    /// The number of the view.
    pub view: u16,
    /// Its number in the dump, modulo 65,536.
    pub sequence: u16,
    /// The address the prefix begins with; 4 or 16 octets tell the family.
    pub address: IpAddr,
    /// The length of the prefix.
    pub bits: u8,
    /// When it came, in seconds since 1970.
    pub originated_s: u32,
    /// Whose it is; its identifier is not told.
    pub peer: Peer,
    /// Offset in the file of its attributes.
    pub at: usize,
    /// Its attributes as they came, with ASes of two octets; see [`crate::canonical`].
    pub attributes: &'a [u8],
}

impl<'a> TableDump<'a> {
    /// `None`: its address family is not understood.
    pub(crate) fn read(body: &'a [u8], at: usize, afi: u16) -> Result<Option<Self>, Malformed> {
        if afi != AFI_IPV4 && afi != AFI_IPV6 {
            return Ok(None);
        }
        let is_ipv6 = afi == AFI_IPV6;
        let mut cursor = Cursor::new(body, at, SPEC);
        let view = cursor.be16("the number of the view is cut off")?;
        let sequence = cursor.be16("the sequence number is cut off")?;
        let address = read_address(&mut cursor, is_ipv6)?;
        let bits_at = cursor;
        let bits = cursor.octet("the length of the prefix is cut off")?;
        if bits > if is_ipv6 { 128 } else { 32 } {
            return Err(bits_at.violation("the prefix is longer than an address"));
        }
        cursor.octet("the status is cut off")?;
        let originated_s = cursor.be32("the time of the path is cut off")?;
        let peer_address = read_address(&mut cursor, is_ipv6)?;
        let asn = read_asn(&mut cursor, false)?;
        let length = cursor.be16("the length of the attributes is cut off")?;
        let at = cursor.at();
        let attributes = cursor.take(usize::from(length), "the attributes are cut off")?;
        if !cursor.is_empty() {
            return Err(cursor.violation("octets follow the attributes"));
        }
        let peer = Peer { identifier: 0, address: peer_address, asn };
        let dump = Self { view, sequence, address, bits, originated_s, peer, at, attributes };
        Ok(Some(dump))
    }

    /// The family.
    #[must_use]
    pub const fn family(&self) -> Family {
        match self.address {
            IpAddr::V4(_) => Family::Ipv4Unicast,
            IpAddr::V6(_) => Family::Ipv6Unicast,
        }
    }

    /// Appends the prefix as it stands on the wire of BGP.
    pub fn write_nlri(&self, out: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(it) => {
                Ipv4Prefix::new(it, self.bits).into_iter().for_each(|it| it.write(out))
            }
            IpAddr::V6(it) => {
                Ipv6Prefix::new(it, self.bits).into_iter().for_each(|it| it.write(out))
            }
        }
    }
}
