//! Fields that are this feature's own.

use super::Place;
use wire::field::value::socket;
use wire::{Cursor, Malformed};

/// The document of these words: their page.
pub(super) const SPEC: &str = "plane/media program";

/// The violation `what` of a field.
pub(super) const fn violation(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

/// Routing table, address and port, which are all that is left.
pub(super) fn place_of(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Place, Malformed> {
    let vrf = cursor.be32(what)?;
    let rest = cursor.take(cursor.rest().len(), what)?;
    let place = socket(rest).map_err(|_| violation(what))?;
    Ok(Place { vrf, address: place.ip(), port: place.port() })
}

/// A place of a field.
pub(super) fn place(value: &[u8]) -> Result<Place, Malformed> {
    place_of(&mut Cursor::new(value, 0, SPEC), "a place is routing table, address and port")
}
