//! Where the owner's routing policy has its say.

use crate::Kind;
use bgp::family::Family;
use core::fmt;

/// A route that a policy judges.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its family.
    pub family: Family,
    /// Its key, as `Route::split` gives it; empty for policies that do not look at it.
    pub key: &'a [u8],
    /// Its attributes, ASes of four octets.
    pub attributes: &'a [u8],
    /// Its next hop of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub next_hop: &'a [u8],
    /// Where it comes from.
    pub from: Kind,
}

/// Whether routes of a family go through policies. Wishes for route targets are no routes: they
/// say what is to be sent.
pub(crate) const fn is_judged(family: Family) -> bool {
    !matches!(family, Family::RouteTarget)
}

/// What becomes of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Changed {
    /// Its attributes.
    pub attributes: Vec<u8>,
    /// Its next hop of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub next_hop: Vec<u8>,
}

/// What a policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The route goes through as it is.
    Accept,
    /// It goes through with the attributes that were written.
    Changed,
    /// It does not go through.
    Reject,
}

/// The owner's policies by number. What they say may depend on nothing but what they are given.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Whether that policy looks at the key of a route. If not, it is asked once for all routes of
    /// an attribute set.
    fn depends_on_key(&self, number: u32) -> bool;

    /// Judges a route; writes what becomes of it to `out` if it says [`Verdict::Changed`].
    fn judge(&self, number: u32, subject: &Subject<'_>, out: &mut Changed) -> Verdict;
}
