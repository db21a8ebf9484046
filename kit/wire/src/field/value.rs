//! Values of fields, each checked for its length: what a field has beside what these say is for
//! whoever reads it.

use super::{Fields, bytes, nested, read};
use crate::{Cursor, Malformed};
use core::net::{IpAddr, SocketAddr};

/// The document of these values: their page.
const SPEC: &str = "tagged fields";

const fn violation(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

/// Runs `take` for each field.
///
/// # Errors
/// Those of `take`, and a field that is cut off.
pub fn each<'a>(
    octets: &'a [u8],
    mut take: impl FnMut(u8, &'a [u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut fields = Fields::new(octets);
    for (tag, value) in fields.by_ref() {
        take(tag, value)?;
    }
    if fields.rest().is_empty() { Ok(()) } else { Err(violation("a field is cut off")) }
}

/// A number that fits `T`.
///
/// # Errors
/// None, more than eight octets, or a number past `T`.
pub fn number<T: TryFrom<u64>>(value: &[u8]) -> Result<T, Malformed> {
    let fits = !value.is_empty() && value.len() <= 8;
    let number = fits.then(|| read(value)).and_then(|number| T::try_from(number).ok());
    number.ok_or(violation("a number does not fit its field"))
}

/// A flag.
///
/// # Errors
/// Anything but one octet of 0 or 1.
pub fn flag(value: &[u8]) -> Result<bool, Malformed> {
    match value {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(violation("a flag is not 0 or 1")),
    }
}

/// Nothing may follow.
///
/// # Errors
/// Something does.
pub const fn end(cursor: &Cursor<'_>) -> Result<(), Malformed> {
    if cursor.is_empty() { Ok(()) } else { Err(violation("a field is too long")) }
}

/// What must be there.
///
/// # Errors
/// It is not.
pub fn required<T>(value: Option<T>) -> Result<T, Malformed> {
    value.ok_or(violation("a field lacks"))
}

/// An address.
///
/// # Errors
/// Neither 4 nor 16 octets.
pub fn address(value: &[u8]) -> Result<IpAddr, Malformed> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Ok(octets.into());
    }
    let octets = <[u8; 16]>::try_from(value);
    octets.map(IpAddr::from).map_err(|_| violation("an address is neither 4 nor 16 octets"))
}

/// An address with a port.
///
/// # Errors
/// Neither 6 nor 18 octets.
pub fn socket(value: &[u8]) -> Result<SocketAddr, Malformed> {
    let parts = value.split_last_chunk::<2>();
    let (ip, port) = parts.ok_or(violation("a place is not an address and a port"))?;
    Ok(SocketAddr::new(address(ip)?, u16::from_be_bytes(*port)))
}

/// Appends a number with as few octets as it takes.
pub fn put(out: &mut Vec<u8>, tag: u8, number: u64) {
    let octets = number.to_be_bytes();
    let skipped = octets.iter().take_while(|octet| **octet == 0).count().min(7);
    bytes(out, tag, &octets[skipped..]);
}

/// Appends the octets of an address.
pub fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// Appends an address.
pub fn put_address(out: &mut Vec<u8>, tag: u8, address: IpAddr) {
    nested(out, tag, |out| push_address(out, address));
}

/// Appends an address with a port.
pub fn put_socket(out: &mut Vec<u8>, tag: u8, socket: SocketAddr) {
    nested(out, tag, |out| {
        push_address(out, socket.ip());
        out.extend_from_slice(&socket.port().to_be_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written_and_others_are_refused() {
        let sockets = ["192.0.2.1:5004", "[2001:db8::1]:0"].map(|it| it.parse().unwrap());
        let mut text = Vec::new();
        for number in [0, 255, 256, u64::MAX] {
            put(&mut text, 1, number);
        }
        for socket in sockets {
            put_socket(&mut text, 2, socket);
            put_address(&mut text, 3, socket.ip());
        }
        let (mut numbers, mut places, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        let all = each(&text, |tag, value| {
            match tag {
                1 => numbers.push(number::<u64>(value)?),
                2 => places.push(socket(value)?),
                _ => hosts.push(address(value)?),
            }
            Ok(())
        });
        assert_eq!(all, Ok(()));
        assert_eq!(numbers, [0, 255, 256, u64::MAX]);
        assert_eq!(places, sockets);
        assert_eq!(hosts, sockets.map(|it| it.ip()));
        assert!(each(&text[..text.len() - 1], |_, _| Ok(())).is_err());
        assert!(number::<u8>(&[1, 0]).is_err() && number::<u64>(&[]).is_err());
        assert!(number::<u64>(&[0; 9]).is_err());
        assert!(flag(&[2]).is_err() && flag(&[]).is_err() && flag(&[0, 1]).is_err());
        for octets in [0, 1, 3, 5, 7, 15, 17, 19] {
            assert!(socket(&vec![0; octets]).is_err(), "{octets}");
            assert!(address(&vec![0; octets]).is_err(), "{octets}");
        }
        assert!(required::<u8>(None).is_err());
    }
}
