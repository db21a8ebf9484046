//! What labels are for: prefixes and pseudowires.
//!
//! ```text
//! prefix = 2 · family, 2 · length, 1 · prefix                              RFC 5036 §3.4.1
//! PWid   = 80 · C type, 2 · octets of info, 1 · group, 4 · [ID, 4 · parameters]  RFC 8077 §6.1
//! gen.   = 81 · C type, 2 · octets of info, 1 · AGI · SAII · TAII          RFC 8077 §6.2
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

const WILDCARD: u8 = 1;
const PREFIX: u8 = 2;
const PWID: u8 = 0x80;
const GENERALIZED: u8 = 0x81;
const IPV4: u16 = 1;
const IPV6: u16 = 2;
/// The parameter of an interface's MTU.
const MTU: u8 = 1;
/// Elements of a FEC that are read.
const ELEMENTS_MAX: usize = 1_024;

/// A prefix of IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Its address, zero behind its length.
    pub address: IpAddr,
    /// Its length.
    pub length: u8,
}

impl Prefix {
    /// From any address in it; a length beyond its family's counts as that.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Self {
        match address {
            IpAddr::V4(it) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv4Addr::from(u32::from(it) & mask).into(), length }
            }
            IpAddr::V6(it) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv6Addr::from(u128::from(it) & mask).into(), length }
            }
        }
    }
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Which pseudowire, as the one who says it sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PseudowireId {
    /// Both ends have the same number (FEC 128).
    Number(u32),
    /// Each end has a name (FEC 129).
    Names {
        /// The group of attachments, with its type in front.
        group: Box<[u8]>,
        /// The sender's attachment, with its type in front.
        source: Box<[u8]>,
        /// The receiver's attachment, with its type in front.
        target: Box<[u8]>,
    },
}

impl PseudowireId {
    /// The same, as the other end says it.
    #[must_use]
    pub fn reversed(&self) -> Self {
        match self {
            Self::Number(number) => Self::Number(*number),
            Self::Names { group, source, target } => {
                Self::Names { group: group.clone(), source: target.clone(), target: source.clone() }
            }
        }
    }
}

/// A pseudowire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PseudowireFec {
    /// Which; none: all of a group (a wildcard of withdrawals).
    pub id: Option<PseudowireId>,
    /// Its type (RFC 4446 §3.2).
    pub kind: u16,
    /// C: a control word stands in front of its packets.
    pub has_control_word: bool,
    /// Its group.
    pub group: u32,
    /// The MTU of the sender's interface.
    pub mtu: Option<u16>,
}

/// What a label is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fec {
    /// Everything: withdrawals and releases alone.
    Wildcard,
    /// A prefix.
    Prefix(Prefix),
    /// A pseudowire.
    Pseudowire(PseudowireFec),
}

impl Fec {
    /// Reads the elements of a FEC TLV.
    ///
    /// # Errors
    /// When one is cut off or of an unknown type: what follows cannot be found.
    pub(crate) fn read_all(cursor: &mut Cursor<'_>) -> Result<Vec<Self>, Malformed> {
        let mut found = Vec::new();
        while !cursor.is_empty() {
            let violation = cursor.violation("a FEC of an unknown type, or of too many elements");
            let element = match cursor.octet("a FEC is cut off")? {
                WILDCARD => Self::Wildcard,
                PREFIX => Self::Prefix(read_prefix(cursor)?),
                PWID => Self::Pseudowire(read_pseudowire(cursor, false)?),
                GENERALIZED => Self::Pseudowire(read_pseudowire(cursor, true)?),
                _ => return Err(violation),
            };
            if found.len() >= ELEMENTS_MAX {
                return Err(violation);
            }
            found.push(element);
        }
        // §3.4.1: it is the only element.
        if found.len() > 1 && found.contains(&Self::Wildcard) {
            return Err(cursor.violation("a wildcard beside other elements"));
        }
        Ok(found)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Wildcard => out.push(WILDCARD),
            Self::Prefix(prefix) => {
                let taken = usize::from(prefix.length).div_ceil(8);
                let (family, octets) = match prefix.address {
                    IpAddr::V4(it) => (IPV4, it.octets().to_vec()),
                    IpAddr::V6(it) => (IPV6, it.octets().to_vec()),
                };
                out.push(PREFIX);
                out.extend_from_slice(&family.to_be_bytes());
                out.push(prefix.length);
                out.extend_from_slice(&octets[..taken.min(octets.len())]);
            }
            Self::Pseudowire(it) => write_pseudowire(it, out),
        }
    }
}

fn read_prefix(cursor: &mut Cursor<'_>) -> Result<Prefix, Malformed> {
    let what = "a prefix is cut off";
    let unknown = cursor.violation("a prefix of another family, or longer than one can be");
    let family = cursor.be16(what)?;
    let length = cursor.octet(what)?;
    let said = cursor.take(usize::from(length).div_ceil(8), what)?;
    match family {
        IPV4 if length <= 32 => {
            let mut octets = [0; 4];
            octets[..said.len()].copy_from_slice(said);
            Ok(Prefix::new(Ipv4Addr::from(octets).into(), length))
        }
        IPV6 if length <= 128 => {
            let mut octets = [0; 16];
            octets[..said.len()].copy_from_slice(said);
            Ok(Prefix::new(Ipv6Addr::from(octets).into(), length))
        }
        _ => Err(unknown),
    }
}

fn read_pseudowire(
    cursor: &mut Cursor<'_>,
    is_generalized: bool,
) -> Result<PseudowireFec, Malformed> {
    let what = "a pseudowire is cut off";
    let word = cursor.be16(what)?;
    let length = usize::from(cursor.octet(what)?);
    let mut found = PseudowireFec {
        id: None,
        kind: word & 0x7FFF,
        has_control_word: word & 0x8000 != 0,
        group: 0,
        mtu: None,
    };
    if !is_generalized {
        found.group = cursor.be32(what)?;
    }
    let at = cursor.at();
    let mut info = Cursor::new(cursor.take(length, what)?, at, "RFC 8077 §6.1");
    if info.is_empty() {
        return Ok(found);
    }
    if is_generalized {
        let names = [name(&mut info)?, name(&mut info)?, name(&mut info)?];
        let [group, source, target] = names;
        found.id = Some(PseudowireId::Names { group, source, target });
        return Ok(found);
    }
    found.id = Some(PseudowireId::Number(info.be32(what)?));
    found.mtu = read_mtu(&mut info)?;
    Ok(found)
}

/// A type, a length and a value: kept with the type in front.
fn name(info: &mut Cursor<'_>) -> Result<Box<[u8]>, Malformed> {
    let what = "a name of an attachment is cut off";
    let [kind, length] = info.array(what)?;
    let value = info.take(usize::from(length), what)?;
    Ok([&[kind][..], value].concat().into())
}

/// The MTU among the parameters of an interface.
pub(crate) fn read_mtu(info: &mut Cursor<'_>) -> Result<Option<u16>, Malformed> {
    let mut found = None;
    while !info.is_empty() {
        let violation = info.violation("a parameter of an interface is cut off");
        let [kind, length] = info.array("a parameter of an interface is cut off")?;
        let rest = usize::from(length).checked_sub(2).ok_or(violation)?;
        let value = info.take(rest, "a parameter of an interface is cut off")?;
        if let (MTU, &[a, b]) = (kind, value) {
            found = Some(u16::from_be_bytes([a, b]));
        }
    }
    Ok(found)
}

/// The parameters of an interface.
pub(crate) fn mtu_octets(mtu: u16) -> [u8; 4] {
    let [a, b] = mtu.to_be_bytes();
    [MTU, 4, a, b]
}

fn write_pseudowire(it: &PseudowireFec, out: &mut Vec<u8>) {
    let word = u16::from(it.has_control_word) << 15 | it.kind & 0x7FFF;
    let mut info = Vec::new();
    let is_generalized = matches!(it.id, Some(PseudowireId::Names { .. }));
    match &it.id {
        None => {}
        Some(PseudowireId::Number(number)) => {
            info.extend_from_slice(&number.to_be_bytes());
            it.mtu.iter().for_each(|mtu| info.extend_from_slice(&mtu_octets(*mtu)));
        }
        Some(PseudowireId::Names { group, source, target }) => {
            for name in [group, source, target] {
                let (kind, value) = name.split_first().unwrap_or((&0, &[]));
                let value = &value[..value.len().min(80)];
                let length = machine::narrow::at_most(value.len() as u64, 80u8);
                info.extend_from_slice(&[*kind, length]);
                info.extend_from_slice(value);
            }
        }
    }
    out.push(if is_generalized { GENERALIZED } else { PWID });
    out.extend_from_slice(&word.to_be_bytes());
    out.push(machine::narrow::at_most(info.len() as u64, u8::MAX));
    if !is_generalized {
        out.extend_from_slice(&it.group.to_be_bytes());
    }
    out.extend_from_slice(&info);
}
