//! Values of fields, each checked for its length.

use crate::row::StreamId;
use crate::side::Side;
use core::net::{IpAddr, SocketAddr};
use wire::field::{self, Fields};
use wire::{Cursor, Malformed};

/// The document of the messages: their page.
pub(super) const SPEC: &str = "row";

/// The offence `what` of a field.
pub(super) const fn offence(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

/// Runs `take` for each field.
///
/// # Errors
/// Those of `take`, and a field that is cut off.
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

/// Appends a small number: a field with as few octets as it takes.
pub(super) fn put(out: &mut Vec<u8>, tag: u8, number: u64) {
    let octets = number.to_be_bytes();
    let skipped = octets.iter().take_while(|octet| **octet == 0).count().min(7);
    field::bytes(out, tag, &octets[skipped..]);
}

pub(super) fn put_side(out: &mut Vec<u8>, tag: u8, side: Side) {
    put(out, tag, u64::from(side == Side::B));
}

pub(super) fn side(value: &[u8]) -> Result<Side, Malformed> {
    Ok(if flag(value)? { Side::B } else { Side::A })
}

pub(super) fn put_id(out: &mut Vec<u8>, tag: u8, id: StreamId) {
    let mut octets = [0; 9];
    octets[..8].copy_from_slice(&id.call.to_be_bytes());
    octets[8] = id.line;
    field::bytes(out, tag, &octets);
}

pub(super) fn id(value: &[u8]) -> Result<StreamId, Malformed> {
    let mut cursor = Cursor::new(value, 0, SPEC);
    let call = cursor.be64("the name of a stream is not 9 octets")?;
    let line = cursor.octet("the name of a stream is not 9 octets")?;
    end(&cursor)?;
    Ok(StreamId { call, line })
}

pub(super) fn end(cursor: &Cursor<'_>) -> Result<(), Malformed> {
    if cursor.is_empty() { Ok(()) } else { Err(cursor.offence("a field is too long")) }
}

pub(super) fn put_place(out: &mut Vec<u8>, tag: u8, place: SocketAddr) {
    field::nested(out, tag, |out| {
        push_ip(out, place.ip());
        out.extend_from_slice(&place.port().to_be_bytes());
    });
}

pub(super) fn place(value: &[u8]) -> Result<SocketAddr, Malformed> {
    let what = "a place is not an address and a port";
    let (ip, port) = value.split_last_chunk::<2>().ok_or(offence(what))?;
    let ip = ip_of(ip).ok_or(offence(what))?;
    Ok(SocketAddr::new(ip, u16::from_be_bytes(*port)))
}

pub(super) fn put_address(out: &mut Vec<u8>, tag: u8, ip: IpAddr) {
    field::nested(out, tag, |out| push_ip(out, ip));
}

pub(super) fn address(value: &[u8]) -> Result<IpAddr, Malformed> {
    ip_of(value).ok_or(offence("an address is neither 4 nor 16 octets"))
}

fn push_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
}

fn ip_of(octets: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
}

/// What a message must have.
pub(super) fn required<T>(value: Option<T>) -> Result<T, Malformed> {
    value.ok_or(offence("a field lacks"))
}
