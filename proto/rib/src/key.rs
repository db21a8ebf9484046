//! What tables are keyed by: five octets for IPv4, seventeen for IPv6, any octets for the others.

use crate::hash::Hash;
use bgp::family::{Family, Ipv4Prefix, Ipv4Routes, Ipv6Prefix, Ipv6Routes, RouteKey, Routes};
use bgp::pack::{Announcement, TooLong, Withdrawal};

/// What is routed.
pub(crate) trait Key: Clone + Eq {
    /// Whether keys may be long, and have payloads: what a path of them takes is counted.
    const IS_LONG: bool;

    fn hash(&self, hash: Hash) -> u64;

    /// The octets that `Route::split` gives.
    fn octets(&self, out: &mut Vec<u8>);

    /// How many octets a long key takes; a short one counts as none.
    fn weight(&self) -> u64;

    /// The key of those octets.
    fn read(family: Family, octets: &[u8]) -> Option<Self>;

    /// Path identifier, key and payload of each route.
    fn each(routes: Routes<'_>, take: impl FnMut(u32, Self, &[u8]));

    fn announce(
        &self,
        route: Parts<'_>,
        to: &mut Announcement<'_, '_>,
        scratch: &mut Vec<u8>,
    ) -> Result<(), TooLong>;

    fn withdraw(&self, route: Parts<'_>, to: &mut Withdrawal<'_>, scratch: &mut Vec<u8>);
}

/// What a route is beside its key.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) family: Family,
    pub(crate) path_id: u32,
    pub(crate) payload: &'a [u8],
}

/// Plain prefixes: their routes, how they are packed, how they are hashed.
macro_rules! plain {
    ($prefix:ty, $routes:ty, $put:ident, |$this:ident, $hash:ident| $hashed:expr) => {
        impl Key for $prefix {
            const IS_LONG: bool = false;

            #[inline]
            fn hash(&self, $hash: Hash) -> u64 {
                let $this = self;
                $hashed
            }

            fn octets(&self, out: &mut Vec<u8>) {
                self.write(out);
            }

            #[inline]
            fn weight(&self) -> u64 {
                0
            }

            fn read(_: Family, octets: &[u8]) -> Option<Self> {
                Self::read(octets).map(|(prefix, _)| prefix)
            }

            #[inline]
            fn each(routes: Routes<'_>, mut take: impl FnMut(u32, Self, &[u8])) {
                for (path_id, prefix) in <$routes>::new(routes.octets(), routes.layout().add_path) {
                    take(path_id, prefix, &[]);
                }
            }

            #[inline]
            fn announce(
                &self,
                route: Parts<'_>,
                to: &mut Announcement<'_, '_>,
                _: &mut Vec<u8>,
            ) -> Result<(), TooLong> {
                to.$put(route.path_id, *self);
                Ok(())
            }

            fn withdraw(&self, route: Parts<'_>, to: &mut Withdrawal<'_>, _: &mut Vec<u8>) {
                to.$put(route.path_id, *self);
            }
        }
    };
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
const fn halves(bits: u128) -> [u64; 2] {
    [(bits >> 64) as u64, bits as u64]
}

plain!(Ipv4Prefix, Ipv4Routes<'_>, prefix, |it, hash| hash.word(it.packed()));
plain!(Ipv6Prefix, Ipv6Routes<'_>, ipv6_prefix, |it, hash| {
    let [high, low] = halves(it.address().to_bits());
    hash.words(high ^ u64::from(it.bits()).rotate_right(8), low)
});

impl Key for RouteKey {
    const IS_LONG: bool = true;

    fn hash(&self, hash: Hash) -> u64 {
        hash.octets(self.octets())
    }

    fn octets(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::octets(self));
    }

    fn weight(&self) -> u64 {
        Self::octets(self).len() as u64
    }

    fn read(family: Family, octets: &[u8]) -> Option<Self> {
        Some(Self::new(family, 0, octets))
    }

    fn each(routes: Routes<'_>, mut take: impl FnMut(u32, Self, &[u8])) {
        let (mut key, mut payload) = (Vec::with_capacity(64), Vec::with_capacity(64));
        for route in routes {
            key.clear();
            payload.clear();
            route.split(&mut key, &mut payload);
            take(route.path_id, Self::new(route.family, 0, &key), &payload);
        }
    }

    fn announce(
        &self,
        route: Parts<'_>,
        to: &mut Announcement<'_, '_>,
        scratch: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        scratch.clear();
        route.family.join(Self::octets(self), route.payload, scratch);
        to.route(route.path_id, scratch)
    }

    fn withdraw(&self, route: Parts<'_>, to: &mut Withdrawal<'_>, scratch: &mut Vec<u8>) {
        scratch.clear();
        route.family.join_withdrawn(Self::octets(self), scratch);
        // What could be announced can be withdrawn.
        let _ = to.route(route.path_id, scratch);
    }
}
