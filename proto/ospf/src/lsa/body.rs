//! The bodies of LSAs of RFC 2328 §A.4 and RFC 3101.

use std::net::Ipv4Addr;
use wire::{Cursor, Malformed};

wire::rows! {
    /// What a link of a router leads to.
    pub enum LinkKind: u8 {
        /// Another router.
        PointToPoint = 1, "point-to-point", "RFC 2328 §A.4.2";
        /// A transit network.
        Transit = 2, "transit", "RFC 2328 §A.4.2";
        /// A stub network.
        Stub = 3, "stub", "RFC 2328 §A.4.2";
        /// Another router across an area.
        Virtual = 4, "virtual", "RFC 2328 §A.4.2";
    }
}

/// What a router is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouterFlags {
    /// B: an area border router.
    pub is_border: bool,
    /// E: an AS boundary router.
    pub is_boundary: bool,
    /// V: the end of a virtual link.
    pub is_virtual: bool,
    /// Nt: translates NSSA LSAs whatever others do (RFC 3101 §2.4).
    pub always_translates: bool,
}

/// A link of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// What it leads to.
    pub kind: LinkKind,
    /// The other router; the designated router's address; the stub network.
    pub id: u32,
    /// The router's address on it, or its interface's number; the mask of a stub network.
    pub data: u32,
    /// What it costs.
    pub metric: u16,
}

/// A router LSA.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Router {
    /// What the router is.
    pub flags: RouterFlags,
    /// What it is connected to.
    pub links: Vec<Link>,
}

impl Router {
    /// Reads the body.
    ///
    /// # Errors
    /// When it is cut off or a link is of an unknown kind.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body, super::HEADER_OCTETS, "RFC 2328 §A.4.2");
        let what = "a router LSA is cut off";
        let bits = cursor.octet(what)?;
        cursor.octet(what)?;
        let count = usize::from(cursor.be16(what)?);
        let mut links = Vec::with_capacity(count.min(cursor.rest().len() / 12));
        for _ in 0..count {
            let (id, data) = (cursor.be32(what)?, cursor.be32(what)?);
            let violation = cursor.violation("a link of an unknown kind");
            let kind = LinkKind::of(cursor.octet(what)?).ok_or(violation)?;
            let tos = usize::from(cursor.octet(what)?);
            let metric = cursor.be16(what)?;
            cursor.take(tos * 4, what)?;
            links.push(Link { kind, id, data, metric });
        }
        let flags = RouterFlags {
            is_border: bits & 1 != 0,
            is_boundary: bits & 2 != 0,
            is_virtual: bits & 4 != 0,
            always_translates: bits & 0x10 != 0,
        };
        Ok(Self { flags, links })
    }

    /// The body's octets. More links than an LSA can hold are left out.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        const LINKS_MAX: usize = 5_400;
        let flags = &self.flags;
        let bits = u8::from(flags.is_border)
            | u8::from(flags.is_boundary) << 1
            | u8::from(flags.is_virtual) << 2
            | u8::from(flags.always_translates) << 4;
        let links = &self.links[..self.links.len().min(LINKS_MAX)];
        let count = machine::narrow::index(links.len()).to_be_bytes();
        let mut out = vec![bits, 0, count[0], count[1]];
        for link in links {
            out.extend_from_slice(&link.id.to_be_bytes());
            out.extend_from_slice(&link.data.to_be_bytes());
            out.extend_from_slice(&[link.kind.number(), 0]);
            out.extend_from_slice(&link.metric.to_be_bytes());
        }
        out
    }
}

/// A network LSA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network's mask.
    pub mask: u32,
    /// The routers that are adjacent to the designated router.
    pub routers: Vec<u32>,
}

impl Network {
    /// Reads the body.
    ///
    /// # Errors
    /// When it is cut off, or its mask is none.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body, super::HEADER_OCTETS, "RFC 2328 §A.4.3");
        let mask = mask(&mut cursor)?;
        let mut routers = Vec::with_capacity(cursor.rest().len() / 4);
        while !cursor.is_empty() {
            routers.push(cursor.be32("a router is cut off")?);
        }
        Ok(Self { mask, routers })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = self.mask.to_be_bytes().to_vec();
        self.routers.iter().for_each(|router| out.extend_from_slice(&router.to_be_bytes()));
        out
    }
}

/// A mask of ones and then zeros.
fn mask(cursor: &mut Cursor<'_>) -> Result<u32, Malformed> {
    let violation = cursor.violation("a mask with a hole");
    let mask = cursor.be32("a mask is cut off")?;
    if mask.leading_ones() + mask.trailing_zeros() == 32 || mask == 0 {
        Ok(mask)
    } else {
        Err(violation)
    }
}

/// A summary of a network or of an AS boundary router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The network's mask; 0 for a router.
    pub mask: u32,
    /// What it costs from who says it.
    pub metric: u32,
}

impl Summary {
    /// Reads the body.
    ///
    /// # Errors
    /// When it is cut off, or its mask is none.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body, super::HEADER_OCTETS, "RFC 2328 §A.4.4");
        let mask = mask(&mut cursor)?;
        let metric = cursor.be32("a metric is cut off")? & super::INFINITY;
        Ok(Self { mask, metric })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let metric = self.metric.min(super::INFINITY);
        [self.mask.to_be_bytes(), metric.to_be_bytes()].concat()
    }
}

/// A destination outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct External {
    /// Its mask.
    pub mask: u32,
    /// The metric is larger than any way inside (type 2).
    pub is_type2: bool,
    /// What it costs.
    pub metric: u32,
    /// Where packets are sent; unspecified: to who says it.
    pub forward: Ipv4Addr,
    /// A tag for others.
    pub tag: u32,
}

impl External {
    /// Reads the body.
    ///
    /// # Errors
    /// When it is cut off, or its mask is none.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body, super::HEADER_OCTETS, "RFC 2328 §A.4.5");
        let what = "an external LSA is cut off";
        let mask = mask(&mut cursor)?;
        let word = cursor.be32(what)?;
        let (forward, tag) = (cursor.be32(what)?, cursor.be32(what)?);
        Ok(Self {
            mask,
            is_type2: word & 0x8000_0000 != 0,
            metric: word & super::INFINITY,
            forward: forward.into(),
            tag,
        })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let bit = if self.is_type2 { 0x8000_0000 } else { 0 };
        let word = bit | self.metric.min(super::INFINITY);
        let forward = self.forward.octets();
        [self.mask.to_be_bytes(), word.to_be_bytes(), forward, self.tag.to_be_bytes()].concat()
    }
}
