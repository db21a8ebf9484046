//! PDUs of versions 0 and 1, both ways (RFC 6810 §5, RFC 8210 §5).

use bgp::codec::Asn;
use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

/// The TCP port of a cache (RFC 8210 §9).
pub const PORT: u16 = 323;
/// Octets of the header.
pub const HEADER_BYTES: usize = 8;
/// Octets of a PDU at most: an Error Report may carry another PDU and text.
pub const PDU_BYTES_MAX: usize = 65_536;
/// Octets of the text of an Error Report that is written, at most.
pub const TEXT_BYTES_MAX: usize = 255;
/// Octets of a PDU that an Error Report which is written repeats, at most.
pub const REPEATED_BYTES_MAX: usize = 1_024;
/// Octets of a Subject Key Identifier.
pub const SKI_BYTES: usize = 20;

wire::rows! {
    /// Versions of the protocol.
    pub enum Version: u8 {
        /// No router keys, no intervals.
        V0 = 0, "0", "RFC 6810 §5.1";
        /// Of today.
        V1 = 1, "1", "RFC 8210 §5.1";
    }
}

wire::rows! {
    /// What is wrong, as an Error Report says it.
    pub enum ErrorCode: u16 {
        /// A PDU is malformed.
        CorruptData = 0, "Corrupt Data", "RFC 8210 §12";
        /// Something broke inside.
        InternalError = 1, "Internal Error", "RFC 8210 §12";
        /// The cache has no data yet: not fatal.
        NoDataAvailable = 2, "No Data Available", "RFC 8210 §12";
        /// The cache takes the query for nonsense.
        InvalidRequest = 3, "Invalid Request", "RFC 8210 §12";
        /// The version is not spoken.
        UnsupportedVersion = 4, "Unsupported Protocol Version", "RFC 8210 §12";
        /// The type is not known.
        UnsupportedPduType = 5, "Unsupported PDU Type", "RFC 8210 §12";
        /// What is withdrawn was not there.
        WithdrawalOfUnknown = 6, "Withdrawal of Unknown Record", "RFC 8210 §12";
        /// What is announced was there already.
        DuplicateAnnouncement = 7, "Duplicate Announcement Received", "RFC 8210 §12";
        /// Another version than the session's.
        UnexpectedVersion = 8, "Unexpected Protocol Version", "RFC 8210 §12";
    }
}

wire::rows! {
    /// The PDUs.
    pub enum PduType: u8 {
        /// The cache has something new.
        SerialNotify = 0, "Serial Notify", "RFC 8210 §5.2";
        /// What is new since a serial number?
        SerialQuery = 1, "Serial Query", "RFC 8210 §5.3";
        /// What is there?
        ResetQuery = 2, "Reset Query", "RFC 8210 §5.4";
        /// Records follow.
        CacheResponse = 3, "Cache Response", "RFC 8210 §5.5";
        /// An IPv4 record.
        Ipv4Prefix = 4, "IPv4 Prefix", "RFC 8210 §5.6";
        /// An IPv6 record.
        Ipv6Prefix = 6, "IPv6 Prefix", "RFC 8210 §5.7";
        /// No more records.
        EndOfData = 7, "End of Data", "RFC 8210 §5.8";
        /// The cache cannot tell what is new.
        CacheReset = 8, "Cache Reset", "RFC 8210 §5.9";
        /// The key of a router.
        RouterKey = 9, "Router Key", "RFC 8210 §5.10";
        /// Something is wrong.
        ErrorReport = 10, "Error Report", "RFC 8210 §5.11";
    }
}

/// A validated ROA payload for IPv4: `asn` may announce the prefix and its parts up to `max` bits.
/// Ordered by prefix, length, AS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vrp4 {
    /// The prefix.
    pub prefix: Ipv4Prefix,
    /// Bits at most of what may be announced.
    pub max: u8,
    /// Who may announce it; AS 0 says that nobody may.
    pub asn: Asn,
}

/// A validated ROA payload for IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vrp6 {
    /// The prefix.
    pub prefix: Ipv6Prefix,
    /// Bits at most of what may be announced.
    pub max: u8,
    /// Who may announce it; AS 0 says that nobody may.
    pub asn: Asn,
}

/// The key of a router (RFC 8210 §5.10), for BGPsec.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouterKey {
    /// Whose.
    pub asn: Asn,
    /// Subject Key Identifier.
    pub ski: [u8; SKI_BYTES],
    /// Subject Public Key Info, as DER.
    pub spki: Box<[u8]>,
}

/// The times that a cache asks for, in seconds (RFC 8210 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Between successful queries.
    pub refresh_s: u32,
    /// After a failed one.
    pub retry_s: u32,
    /// After which data without a successful query no longer counts.
    pub expire_s: u32,
}

impl Intervals {
    /// Those of RFC 8210 §6.
    pub const DEFAULT: Self = Self { refresh_s: 3_600, retry_s: 600, expire_s: 7_200 };

    /// Into the ranges of RFC 8210 §6; the expiry is later than both others.
    #[must_use]
    pub fn clamped(self) -> Self {
        let refresh_s = self.refresh_s.clamp(1, 86_400);
        let retry_s = self.retry_s.clamp(1, 7_200);
        let expire_s = self.expire_s.clamp(600, 172_800).max(refresh_s.max(retry_s) + 1);
        Self { refresh_s, retry_s, expire_s }
    }
}

/// A PDU, as it came or as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pdu<'a> {
    /// Session and serial number of what is new.
    SerialNotify(u16, u32),
    /// Session and serial number of what is known.
    SerialQuery(u16, u32),
    /// Everything is asked for.
    ResetQuery,
    /// The session.
    CacheResponse(u16),
    /// Whether it is announced, and what.
    Ipv4(bool, Vrp4),
    /// Whether it is announced, and what.
    Ipv6(bool, Vrp6),
    /// Session, serial number, and in version 1 the intervals.
    EndOfData(u16, u32, Option<Intervals>),
    /// The serial number is too old.
    CacheReset,
    /// Whether it is announced, AS, SKI, SPKI.
    RouterKey(bool, Asn, [u8; SKI_BYTES], &'a [u8]),
    /// The code, the PDU it is about, and text.
    ErrorReport(u16, &'a [u8], &'a [u8]),
}

/// What octets begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framing<'a> {
    /// A PDU: the number of its version, itself, all of its octets.
    Pdu(u8, Pdu<'a>, &'a [u8]),
    /// One that is not whole.
    Partial,
    /// Something that is none: which error it is, its octets as far as they are trusted, and why.
    Broken(ErrorCode, &'a [u8], Malformed),
}

/// Octets of a PDU of that type, or how many at least.
const fn length(kind: PduType, version: u8) -> (usize, bool) {
    match kind {
        PduType::SerialNotify | PduType::SerialQuery => (12, true),
        PduType::ResetQuery | PduType::CacheResponse | PduType::CacheReset => (8, true),
        PduType::Ipv4Prefix => (20, true),
        PduType::Ipv6Prefix => (32, true),
        PduType::EndOfData => (if version == 0 { 12 } else { 24 }, true),
        PduType::RouterKey => (HEADER_BYTES + SKI_BYTES + 4, false),
        PduType::ErrorReport => (16, false),
    }
}

/// Finds the PDU that `bytes` begin with and reads it.
#[must_use]
pub fn frame(bytes: &[u8]) -> Framing<'_> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Framing::Partial };
    let [version, kind, _, _, l0, l1, l2, l3] = *header;
    let told = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let broken = |code, at, what, spec| {
        let trusted = bytes.get(..told.clamp(HEADER_BYTES, bytes.len())).unwrap_or(bytes);
        Framing::Broken(code, trusted, Malformed::new(at, what, spec))
    };
    let lengths = "RFC 8210 §5";
    if !(HEADER_BYTES..=PDU_BYTES_MAX).contains(&told) {
        return broken(ErrorCode::CorruptData, 4, "no PDU has that length", lengths);
    }
    // A version that is not spoken may have other PDUs; only its errors are understood.
    let is_there = |kind: &PduType| match kind {
        PduType::ErrorReport => true,
        PduType::RouterKey => version == 1,
        _ => version < 2,
    };
    let known = PduType::of(kind).filter(is_there);
    let Some(kind) = known else {
        let code =
            if version < 2 { ErrorCode::UnsupportedPduType } else { ErrorCode::UnsupportedVersion };
        return broken(code, 1, "neither version nor type are known", "RFC 8210 §7");
    };
    let (octets, is_exact) = length(kind, version);
    if told < octets || (is_exact && told != octets) {
        return broken(ErrorCode::CorruptData, 4, "the type does not have that length", lengths);
    }
    let Some(octets) = bytes.get(..told) else { return Framing::Partial };
    match read(kind, octets) {
        Ok(pdu) => Framing::Pdu(version, pdu, octets),
        Err(malformed) => Framing::Broken(ErrorCode::CorruptData, octets, malformed),
    }
}

fn read(kind: PduType, octets: &[u8]) -> Result<Pdu<'_>, Malformed> {
    let half = u16::from_be_bytes([octets[2], octets[3]]);
    let mut cursor = Cursor::new(&octets[HEADER_BYTES..], HEADER_BYTES, kind.spec());
    let cut = "the PDU is cut off";
    Ok(match kind {
        PduType::SerialNotify => Pdu::SerialNotify(half, cursor.be32(cut)?),
        PduType::SerialQuery => Pdu::SerialQuery(half, cursor.be32(cut)?),
        PduType::ResetQuery => Pdu::ResetQuery,
        PduType::CacheResponse => Pdu::CacheResponse(half),
        PduType::CacheReset => Pdu::CacheReset,
        PduType::Ipv4Prefix => {
            let [flags, bits, max, _] = cursor.array(cut)?;
            let address = Ipv4Addr::from(cursor.array::<4>(cut)?);
            let prefix = Ipv4Prefix::new(address, bits).filter(|it| it.address() == address);
            let prefix = checked(prefix, bits, max, 32, &cursor)?;
            Pdu::Ipv4(flags & 1 != 0, Vrp4 { prefix, max, asn: cursor.be32(cut)? })
        }
        PduType::Ipv6Prefix => {
            let [flags, bits, max, _] = cursor.array(cut)?;
            let address = Ipv6Addr::from(cursor.array::<16>(cut)?);
            let prefix = Ipv6Prefix::new(address, bits).filter(|it| it.address() == address);
            let prefix = checked(prefix, bits, max, 128, &cursor)?;
            Pdu::Ipv6(flags & 1 != 0, Vrp6 { prefix, max, asn: cursor.be32(cut)? })
        }
        PduType::EndOfData => {
            let serial = cursor.be32(cut)?;
            Pdu::EndOfData(half, serial, intervals(&mut cursor)?)
        }
        PduType::RouterKey => {
            let ski = cursor.array(cut)?;
            Pdu::RouterKey(octets[2] & 1 != 0, cursor.be32(cut)?, ski, cursor.rest())
        }
        PduType::ErrorReport => {
            let length = cursor.be32(cut)? as usize;
            let about = cursor.take(length, "the repeated PDU is cut off")?;
            let length = cursor.be32("the length of the text is cut off")? as usize;
            let text = cursor.take(length, "the text is cut off")?;
            if !cursor.is_empty() {
                return Err(cursor.violation("octets follow the text"));
            }
            Pdu::ErrorReport(half, about, text)
        }
    })
}

/// The prefix, if the lengths of a record go together (RFC 8210 §5.6).
fn checked<P>(
    prefix: Option<P>,
    bits: u8,
    max: u8,
    address_bits: u8,
    cursor: &Cursor<'_>,
) -> Result<P, Malformed> {
    let prefix = prefix.ok_or_else(|| cursor.violation("bits stand behind the prefix"))?;
    match bits <= max && max <= address_bits {
        true => Ok(prefix),
        false => Err(cursor.violation("the greatest length is no length of such a prefix")),
    }
}

fn intervals(cursor: &mut Cursor<'_>) -> Result<Option<Intervals>, Malformed> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let cut = "the intervals are cut off";
    let refresh_s = cursor.be32(cut)?;
    let retry_s = cursor.be32(cut)?;
    let expire_s = cursor.be32(cut)?;
    Ok(Some(Intervals { refresh_s, retry_s, expire_s }))
}

impl Pdu<'_> {
    /// Appends it. A router key does not exist in version 0 and is left out there.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) {
        use PduType as T;
        let start = out.len();
        let begin = |kind: PduType, half: u16, out: &mut Vec<u8>| {
            out.extend_from_slice(&[version.number(), kind.number()]);
            out.extend_from_slice(&half.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
        };
        match self {
            Self::SerialNotify(session, serial) | Self::SerialQuery(session, serial) => {
                let is_notify = matches!(self, Self::SerialNotify(..));
                begin(if is_notify { T::SerialNotify } else { T::SerialQuery }, *session, out);
                out.extend_from_slice(&serial.to_be_bytes());
            }
            Self::ResetQuery => begin(T::ResetQuery, 0, out),
            Self::CacheResponse(session) => begin(T::CacheResponse, *session, out),
            Self::CacheReset => begin(T::CacheReset, 0, out),
            Self::Ipv4(announced, vrp) => {
                begin(T::Ipv4Prefix, 0, out);
                out.extend_from_slice(&[u8::from(*announced), vrp.prefix.bits(), vrp.max, 0]);
                out.extend_from_slice(&vrp.prefix.address().octets());
                out.extend_from_slice(&vrp.asn.to_be_bytes());
            }
            Self::Ipv6(announced, vrp) => {
                begin(T::Ipv6Prefix, 0, out);
                out.extend_from_slice(&[u8::from(*announced), vrp.prefix.bits(), vrp.max, 0]);
                out.extend_from_slice(&vrp.prefix.address().octets());
                out.extend_from_slice(&vrp.asn.to_be_bytes());
            }
            Self::EndOfData(session, serial, intervals) => {
                begin(T::EndOfData, *session, out);
                out.extend_from_slice(&serial.to_be_bytes());
                if version == Version::V1 {
                    let it = intervals.unwrap_or(Intervals::DEFAULT);
                    let times = [it.refresh_s, it.retry_s, it.expire_s];
                    out.extend(times.into_iter().flat_map(u32::to_be_bytes));
                }
            }
            Self::RouterKey(..) if version == Version::V0 => return,
            Self::RouterKey(announced, asn, ski, spki) => {
                begin(T::RouterKey, u16::from(*announced) << 8, out);
                out.extend_from_slice(ski);
                out.extend_from_slice(&asn.to_be_bytes());
                out.extend_from_slice(spki);
            }
            Self::ErrorReport(code, about, text) => {
                begin(T::ErrorReport, *code, out);
                put_counted(&about[..about.len().min(REPEATED_BYTES_MAX)], out);
                put_counted(&text[..text.len().min(TEXT_BYTES_MAX)], out);
            }
        }
        let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        out[start + 4..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    }
}

fn put_counted(octets: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(octets.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(octets);
}
