//! What the data of an AVP says (RFC 6733 §4.2, §4.3).

use super::{Avp, Avps, ResultCode, Violation};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds from 1900 to 1970: the epoch of a Time until February 2036 (RFC 5905 §6).
const EPOCH_1900: i64 = 2_208_988_800;
/// AddressType of IPv4 and IPv6 (RFC 6733 §4.3.1, IANA "Address Family Numbers").
const FAMILY_IPV4: u16 = 1;
const FAMILY_IPV6: u16 = 2;

impl<'a> Avp<'a> {
    pub(crate) fn length(&self, what: &'static str, spec: &'static str) -> Violation {
        Violation::new(ResultCode::InvalidAvpLength, self.at, what, spec).with(self.whole)
    }

    pub(crate) fn value(&self, what: &'static str, spec: &'static str) -> Violation {
        Violation::new(ResultCode::InvalidAvpValue, self.data_at(), what, spec).with(self.whole)
    }

    fn array<const N: usize>(&self, what: &'static str) -> Result<[u8; N], Violation> {
        self.data.try_into().map_err(|_| self.length(what, "RFC 6733 §4.2"))
    }

    /// An Unsigned32.
    ///
    /// # Errors
    /// It has not four octets.
    #[inline]
    pub fn unsigned32(&self) -> Result<u32, Violation> {
        self.array("a number that has not four octets").map(u32::from_be_bytes)
    }

    /// An Unsigned64.
    ///
    /// # Errors
    /// It has not eight octets.
    pub fn unsigned64(&self) -> Result<u64, Violation> {
        self.array("a number that has not eight octets").map(u64::from_be_bytes)
    }

    /// An Integer32 or Enumerated.
    ///
    /// # Errors
    /// It has not four octets.
    #[inline]
    pub fn integer32(&self) -> Result<i32, Violation> {
        self.array("a number that has not four octets").map(i32::from_be_bytes)
    }

    /// An Integer64.
    ///
    /// # Errors
    /// It has not eight octets.
    pub fn integer64(&self) -> Result<i64, Violation> {
        self.array("a number that has not eight octets").map(i64::from_be_bytes)
    }

    /// A UTF8String, DiameterIdentity, DiameterURI or filter rule.
    ///
    /// # Errors
    /// It is not UTF-8.
    #[inline]
    pub fn text(&self) -> Result<&'a str, Violation> {
        let wrong = |_| self.value("text that is not UTF-8", "RFC 6733 §4.3.1");
        core::str::from_utf8(self.data).map_err(wrong)
    }

    /// A Time, in seconds since 1970: from 1968 on. Values with the highest bit clear are of the
    /// era that begins in 2036 (RFC 6733 §4.3.1).
    ///
    /// # Errors
    /// It has not four octets.
    pub fn time(&self) -> Result<i64, Violation> {
        let seconds = i64::from(self.unsigned32()?);
        let era = if seconds & 1 << 31 == 0 { 1 << 32 } else { 0 };
        Ok(seconds + era - EPOCH_1900)
    }

    /// An Address of IP; `None` for one of another family.
    ///
    /// # Errors
    /// The length is not that of its family.
    pub fn address(&self) -> Result<Option<IpAddr>, Violation> {
        let wrong = |what| self.length(what, "RFC 6733 §4.3.1");
        let Some((family, rest)) = self.data.split_first_chunk::<2>() else {
            return Err(wrong("an address without its family"));
        };
        match u16::from_be_bytes(*family) {
            FAMILY_IPV4 => match <[u8; 4]>::try_from(rest) {
                Ok(octets) => Ok(Some(Ipv4Addr::from(octets).into())),
                Err(_) => Err(wrong("an IPv4 address that has not four octets")),
            },
            FAMILY_IPV6 => match <[u8; 16]>::try_from(rest) {
                Ok(octets) => Ok(Some(Ipv6Addr::from(octets).into())),
                Err(_) => Err(wrong("an IPv6 address that has not sixteen octets")),
            },
            _ => Ok(None),
        }
    }

    /// The AVPs of a group.
    #[inline]
    #[must_use]
    pub const fn group(&self) -> Avps<'a> {
        Avps::new(self.data, self.data_at())
    }
}

/// A Time for seconds since 1970; `None` for one before 1968 or in 2104 and later.
pub(crate) fn time_octets(seconds: i64) -> Option<[u8; 4]> {
    let since_1900 = seconds.checked_add(EPOCH_1900)?;
    let is_known = (1 << 31..(1 << 32) + (1 << 31)).contains(&since_1900);
    is_known.then(|| machine::narrow::half(since_1900.cast_unsigned()).to_be_bytes())
}

/// An Address: the octets of its family and of itself, and how many there are.
pub(crate) fn address_octets(address: IpAddr) -> ([u8; 18], usize) {
    let mut octets = [0; 18];
    let (family, length) = match address {
        IpAddr::V4(it) => {
            octets[2..6].copy_from_slice(&it.octets());
            (FAMILY_IPV4, 6)
        }
        IpAddr::V6(it) => {
            octets[2..].copy_from_slice(&it.octets());
            (FAMILY_IPV6, 18)
        }
    };
    octets[..2].copy_from_slice(&family.to_be_bytes());
    (octets, length)
}
