//! What of a packet the rules see.

/// An address of a family: `u32` is IPv4, `u128` is IPv6, the first bit of the wire highest.
pub trait Address: Copy + Default + Ord + std::fmt::Debug + Send + Sync + 'static {
    /// Bits of the address.
    const BITS: u8;
    /// The protocol number of this family's ICMP.
    const ICMP: u8;
    /// The address in the high bits of 128.
    fn high(self) -> u128;
    /// The address back from the high bits of 128.
    fn from_high(bits: u128) -> Self;
}

impl Address for u32 {
    const BITS: u8 = 32;
    const ICMP: u8 = 1;

    #[inline(always)]
    fn high(self) -> u128 {
        u128::from(self) << 96
    }

    #[inline(always)]
    fn from_high(bits: u128) -> Self {
        (bits >> 96) as Self
    }
}

impl Address for u128 {
    const BITS: u8 = 128;
    const ICMP: u8 = 58;

    #[inline(always)]
    fn high(self) -> u128 {
        self
    }

    #[inline(always)]
    fn from_high(bits: u128) -> Self {
        bits
    }
}

/// Whether a packet is a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Fragment {
    /// None.
    #[default]
    Whole = 0,
    /// The one that holds the header of the next layer.
    First = 1,
    /// One that does not: rules on ports, ICMP types or TCP flags do not match it.
    Later = 2,
}

impl Fragment {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::First, Self::Later];
}

/// The fields of one packet, in the order of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Header<A> {
    /// Source address.
    pub source: A,
    /// Destination address.
    pub destination: A,
    /// Source port; for ICMP type · 256 + code; 0 where there is none.
    pub source_port: u16,
    /// Destination port; 0 where there is none.
    pub destination_port: u16,
    /// Length of the packet from the IP header on, in bytes.
    pub length: u16,
    /// The protocol above (IPv6: behind the extension headers).
    pub protocol: u8,
    /// The flags byte of TCP (RFC 9293 §3.1); 0 for others.
    pub tcp_flags: u8,
    /// The six bits of the DSCP.
    pub dscp: u8,
    /// Whether it is a fragment.
    pub fragment: Fragment,
}
