//! The routes of a field, of any family, with or without path identifiers.

use super::{Family, Ipv4Prefix, Ipv6Prefix, Layout, RouteKey};
use crate::codec::be32;
use core::fmt;
use wire::Malformed;

/// Octets of a path identifier (RFC 7911 §3).
const PATH_ID_BYTES: usize = 4;

/// A route, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route<'a> {
    /// Its family.
    pub family: Family,
    /// How it is written.
    pub layout: Layout,
    /// Its path identifier, zero without one (RFC 7911 §3).
    pub path_id: u32,
    /// Its octets, without path identifier.
    pub wire: &'a [u8],
}

impl Route<'_> {
    /// Appends what is routed to `key`, the rest to `payload`.
    pub fn split(&self, key: &mut Vec<u8>, payload: &mut Vec<u8>) {
        (self.family.row().split)(self.wire, self.layout, key, payload);
    }

    /// What is routed, as a value of its own.
    #[must_use]
    pub fn key(&self) -> RouteKey {
        let (mut key, mut payload) = (Vec::with_capacity(64), Vec::with_capacity(64));
        self.split(&mut key, &mut payload);
        RouteKey::new(self.family, self.path_id, &key)
    }
}

impl fmt::Display for Route<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut key, mut payload) = (Vec::with_capacity(64), Vec::with_capacity(64));
        self.split(&mut key, &mut payload);
        fmt::Display::fmt(&self.family.show(&key), f)
    }
}

/// The routes of a field.
#[derive(Debug, Clone, Copy)]
pub struct Routes<'a> {
    family: Family,
    layout: Layout,
    rest: &'a [u8],
}

impl<'a> Routes<'a> {
    /// The routes of `field`. They end where the field is malformed: see [`Routes::check`].
    #[must_use]
    pub const fn new(family: Family, layout: Layout, field: &'a [u8]) -> Self {
        Self { family, layout, rest: field }
    }

    /// The family.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// How they are written.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// The octets of those that were not read yet.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many routes there are, those of types that nobody knows included.
    ///
    /// # Errors
    /// The first violation, with its offset in the field.
    #[inline]
    pub fn check(&self) -> Result<usize, Malformed> {
        match self.family {
            Family::Ipv4Unicast | Family::Ipv4Multicast => {
                check_prefixes(self.rest, self.layout, 32)
            }
            Family::Ipv6Unicast | Family::Ipv6Multicast => {
                check_prefixes(self.rest, self.layout, 128)
            }
            _ => self.check_each(),
        }
    }

    fn check_each(&self) -> Result<usize, Malformed> {
        let (mut rest, mut count) = (self.rest, 0);
        while !rest.is_empty() {
            let at = self.rest.len() - rest.len();
            let path = if self.layout.add_path { PATH_ID_BYTES } else { 0 };
            let Some(wire) = rest.get(path..) else { return Err(path_id_lacks(at)) };
            let length = (self.family.row().length)(wire, self.layout);
            rest = &wire[length.map_err(|it| it.shifted(at + path))?..];
            count += 1;
        }
        Ok(count)
    }
}

fn path_id_lacks(at: usize) -> Malformed {
    Malformed::new(at, "the path identifier is cut off", "RFC 7911 §3")
}

/// The same as checking each, for plain prefixes: they are the many.
#[inline]
fn check_prefixes(field: &[u8], layout: Layout, bits_max: u8) -> Result<usize, Malformed> {
    let (mut at, mut count) = (0, 0);
    let path = if layout.add_path { PATH_ID_BYTES } else { 0 };
    while at < field.len() {
        let Some(&bits) = field.get(at + path) else { return Err(path_id_lacks(at)) };
        if bits > bits_max {
            let what = "the prefix is longer than an address";
            return Err(Malformed::new(at + path, what, "RFC 7606 §5.3"));
        }
        let next = at + path + 1 + super::octets_of(bits);
        if next > field.len() {
            let what = "the prefix is cut off";
            return Err(Malformed::new(at + path, what, "RFC 7606 §5.3"));
        }
        (at, count) = (next, count + 1);
    }
    Ok(count)
}

impl<'a> Iterator for Routes<'a> {
    type Item = Route<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.family.row();
        while !self.rest.is_empty() {
            let (mut path_id, mut wire) = (0, self.rest);
            self.rest = &[];
            if self.layout.add_path {
                path_id = be32(wire.get(..PATH_ID_BYTES)?, 0);
                wire = &wire[PATH_ID_BYTES..];
            }
            let length = (row.length)(wire, self.layout).ok()?;
            let (wire, rest) = wire.split_at(length);
            self.rest = rest;
            if (row.is_recognized)(wire) {
                return Some(Route { family: self.family, layout: self.layout, path_id, wire });
            }
        }
        None
    }
}

macro_rules! prefix_routes {
    ($(#[$doc:meta])* $name:ident, $prefix:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a> {
            rest: &'a [u8],
            add_path: bool,
        }

        impl<'a> $name<'a> {
            /// The prefixes of `field`; they end where it is malformed.
            #[must_use]
            pub const fn new(field: &'a [u8], add_path: bool) -> Self {
                Self { rest: field, add_path }
            }
        }

        impl Iterator for $name<'_> {
            type Item = (u32, $prefix);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let mut path_id = 0;
                if self.add_path {
                    let (octets, rest) = self.rest.split_first_chunk::<PATH_ID_BYTES>()?;
                    path_id = u32::from_be_bytes(*octets);
                    self.rest = rest;
                }
                let Some((prefix, taken)) = $prefix::read(self.rest) else {
                    self.rest = &[];
                    return None;
                };
                self.rest = self.rest.get(taken..).unwrap_or_default();
                Some((path_id, prefix))
            }
        }
    };
}

prefix_routes! {
    /// Path identifiers (zero without) and prefixes of a field of plain IPv4 routes.
    Ipv4Routes, Ipv4Prefix
}

prefix_routes! {
    /// Path identifiers (zero without) and prefixes of a field of plain IPv6 routes.
    Ipv6Routes, Ipv6Prefix
}
