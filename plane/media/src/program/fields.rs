//! Values of fields, each checked for its length.

use super::Place;
use core::net::{IpAddr, SocketAddr};
use wire::field::{self, Fields};
use wire::{Cursor, Malformed};

/// The document of these words: their page.
pub(super) const SPEC: &str = "plane/media program";

/// The offence `what` of a field.
pub(super) const fn offence(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

/// Runs `take` for each field.
pub(super) fn each<'a>(
    octets: &'a [u8],
    mut take: impl FnMut(u8, &'a [u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut fields = Fields::new(octets);
    for (tag, value) in fields.by_ref() {
        take(tag, value)?;
    }
    if fields.rest().is_empty() { Ok(()) } else { Err(offence("a field is cut off")) }
}

/// A number that fits `T`.
pub(super) fn number<T: TryFrom<u64>>(value: &[u8]) -> Result<T, Malformed> {
    let fits = !value.is_empty() && value.len() <= 8;
    let number = fits.then(|| field::read(value)).and_then(|number| T::try_from(number).ok());
    number.ok_or(offence("a number does not fit its field"))
}

/// A flag.
pub(super) fn flag(value: &[u8]) -> Result<bool, Malformed> {
    match value {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(offence("a flag is not 0 or 1")),
    }
}

/// Appends a number with as few octets as it takes.
pub(super) fn put(out: &mut Vec<u8>, tag: u8, number: u64) {
    let octets = number.to_be_bytes();
    let skipped = octets.iter().take_while(|octet| **octet == 0).count().min(7);
    field::bytes(out, tag, &octets[skipped..]);
}

/// Nothing may follow.
pub(super) fn end(cursor: &Cursor<'_>) -> Result<(), Malformed> {
    if cursor.is_empty() { Ok(()) } else { Err(offence("a field is too long")) }
}

/// What must be there.
pub(super) fn required<T>(value: Option<T>) -> Result<T, Malformed> {
    value.ok_or(offence("a field lacks"))
}

/// Routing table, address and port, which are all that is left.
pub(super) fn place_of(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Place, Malformed> {
    let vrf = cursor.be32(what)?;
    let rest = cursor.take(cursor.rest().len(), what)?;
    let place = socket(rest).map_err(|_| offence(what))?;
    Ok(Place { vrf, address: place.ip(), port: place.port() })
}

/// A place of a field.
pub(super) fn place(value: &[u8]) -> Result<Place, Malformed> {
    place_of(&mut Cursor::new(value, 0, SPEC), "a place is routing table, address and port")
}

pub(super) fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// Appends an address with a port.
pub(super) fn put_socket(out: &mut Vec<u8>, tag: u8, socket: SocketAddr) {
    field::nested(out, tag, |out| {
        put_address(out, socket.ip());
        out.extend_from_slice(&socket.port().to_be_bytes());
    });
}

/// An address.
pub(super) fn address(value: &[u8]) -> Result<IpAddr, Malformed> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Ok(octets.into());
    }
    let octets = <[u8; 16]>::try_from(value);
    octets.map(IpAddr::from).map_err(|_| offence("an address is not 4 or 16 octets"))
}

/// An address with a port.
pub(super) fn socket(value: &[u8]) -> Result<SocketAddr, Malformed> {
    let parts = value.split_last_chunk::<2>();
    let (ip, port) = parts.ok_or(offence("a place is not an address and a port"))?;
    Ok(SocketAddr::new(address(ip)?, u16::from_be_bytes(*port)))
}
