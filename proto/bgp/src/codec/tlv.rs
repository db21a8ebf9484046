//! Type, length, value, as some attributes nest them.

use super::be16;

/// A type with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// The type.
    pub kind: u16,
    /// The value.
    pub value: &'a [u8],
}

/// How type and length are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// Type of one octet, length of two that counts both (RFC 7311 §3).
    Aigp,
    /// Type and length of two octets (RFC 9012 §2).
    Tunnel,
    /// Type of one octet; length of one octet, or of two from type 128 on (RFC 9012 §2).
    SubTlv,
}

/// Nested values; `None` where the rest does not fit.
#[derive(Debug, Clone, Copy)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
    head: Head,
}

impl<'a> Tlvs<'a> {
    /// The TLVs of AIGP.
    #[must_use]
    pub const fn aigp(value: &'a [u8]) -> Self {
        Self { rest: value, head: Head::Aigp }
    }

    /// Whether every length fits.
    #[must_use]
    pub fn are_whole(mut self) -> bool {
        self.all(|it| it.is_some())
    }

    /// Octets of the head, and of the value.
    fn lengths(&self) -> Option<(usize, usize)> {
        match (self.head, self.rest) {
            (Head::Aigp, [_, high, low, ..]) => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                Some((3, length.checked_sub(3)?))
            }
            (Head::Tunnel, [_, _, high, low, ..]) => {
                Some((4, usize::from(u16::from_be_bytes([*high, *low]))))
            }
            (Head::SubTlv, [kind, length, ..]) if *kind < 128 => Some((2, usize::from(*length))),
            (Head::SubTlv, [_, high, low, ..]) => {
                Some((3, usize::from(u16::from_be_bytes([*high, *low]))))
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Option<Tlv<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let &first = self.rest.first()?;
        let lengths = self.lengths().filter(|(head, length)| head + length <= self.rest.len());
        let Some((head, length)) = lengths else {
            self.rest = &[];
            return Some(None);
        };
        let kind = if self.head == Head::Tunnel { be16(self.rest, 0) } else { u16::from(first) };
        let (whole, rest) = self.rest.split_at(head + length);
        self.rest = rest;
        Some(Some(Tlv { kind, value: &whole[head..] }))
    }
}

/// The tunnels of TUNNEL_ENCAPSULATION, and what each is like (RFC 9012 §2, §3).
#[derive(Debug, Clone, Copy)]
pub struct TunnelTlvs<'a>(&'a [u8]);

impl<'a> TunnelTlvs<'a> {
    /// The tunnels of a value.
    #[must_use]
    pub const fn new(value: &'a [u8]) -> Self {
        Self(value)
    }

    /// The tunnels; they end where the value is malformed.
    pub fn tunnels(&self) -> impl Iterator<Item = Tlv<'a>> + use<'a> {
        Tlvs { rest: self.0, head: Head::Tunnel }.map_while(|it| it)
    }

    /// The sub-TLVs of a tunnel.
    #[must_use]
    pub const fn of(tunnel: Tlv<'a>) -> Tlvs<'a> {
        Tlvs { rest: tunnel.value, head: Head::SubTlv }
    }

    /// Whether every length fits, inside of each tunnel as well (RFC 9012 §13).
    #[must_use]
    pub fn are_whole(&self) -> bool {
        Tlvs { rest: self.0, head: Head::Tunnel }
            .all(|tunnel| tunnel.is_some_and(|tunnel| Self::of(tunnel).are_whole()))
    }
}
