//! What a table knows of a peer as a source of routes.

use crate::NONE;
use machine::Time;

/// A peer's routes in one table.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Attribute sets of an older epoch are stale, and are purged when that is wanted.
    pub(crate) epoch: u32,
    /// Its newest attribute set; the others hang on it.
    pub(crate) sets: u32,
    /// How many paths it has.
    pub(crate) paths: u32,
    /// How many of them its import policy refused.
    pub(crate) refused: u32,
    /// Octets of its attribute sets, and of the keys and payloads of its paths where they are long.
    pub(crate) octets: u64,
    /// When its next request to be told everything anew is followed.
    pub(crate) refresh_from: Time,
    /// What comes for the family is ignored until the session ends (RFC 7606 §2).
    pub(crate) is_disabled: bool,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            epoch: 0,
            sets: NONE,
            paths: 0,
            refused: 0,
            octets: 0,
            refresh_from: Time::ZERO,
            is_disabled: false,
        }
    }
}
