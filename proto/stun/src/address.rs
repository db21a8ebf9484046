//! Addresses as attributes (RFC 8489 §14.1, §14.2).

use crate::message::{COOKIE, TransactionId};
use core::net::{IpAddr, SocketAddr};
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 8489 §14.1";
const IPV4: u8 = 1;
const IPV6: u8 = 2;
/// Octets of the value with an address of IPv6.
const VALUE_BYTES_MAX: usize = 20;

/// What the port and the address of XOR-MAPPED-ADDRESS are changed with.
fn mask(transaction: &TransactionId) -> [u8; 16] {
    let mut mask = [0; 16];
    mask[..4].copy_from_slice(&COOKIE);
    mask[4..].copy_from_slice(&transaction.0);
    mask
}

/// Changes the value of MAPPED-ADDRESS into that of XOR-MAPPED-ADDRESS, and back.
fn change(value: &mut [u8], transaction: &TransactionId) {
    let mask = mask(transaction);
    let (port, address) = value.split_at_mut(4);
    port[2..].iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
    address.iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
}

/// Reads the value of MAPPED-ADDRESS; `at` is where it begins.
pub(crate) fn read(value: &[u8], at: usize) -> Result<SocketAddr, Malformed> {
    let mut cursor = Cursor::new(value, at, SPEC);
    let cut = "the address is cut off";
    let [_, family] = cursor.array(cut)?;
    let port = cursor.be16(cut)?;
    let address: IpAddr = match family {
        IPV4 => cursor.array::<4>(cut)?.into(),
        IPV6 => cursor.array::<16>(cut)?.into(),
        _ => return Err(Malformed::new(at + 1, "the family of the address is unknown", SPEC)),
    };
    match cursor.is_empty() {
        true => Ok(SocketAddr::new(address, port)),
        false => Err(cursor.violation("octets follow the address")),
    }
}

/// Reads the value of XOR-MAPPED-ADDRESS; `at` is where it begins.
pub(crate) fn read_xor(
    value: &[u8],
    transaction: &TransactionId,
    at: usize,
) -> Result<SocketAddr, Malformed> {
    let mut plain = [0; VALUE_BYTES_MAX];
    let Some(plain) = plain.get_mut(..value.len()).filter(|it| it.len() >= 4) else {
        return Err(Malformed::new(at, "the address has no such length", "RFC 8489 §14.2"));
    };
    plain.copy_from_slice(value);
    change(plain, transaction);
    read(plain, at)
}

/// Appends the value of MAPPED-ADDRESS, or with a transaction that of XOR-MAPPED-ADDRESS.
pub(crate) fn write(address: SocketAddr, xor: Option<&TransactionId>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0, if address.is_ipv4() { IPV4 } else { IPV6 }]);
    out.extend_from_slice(&address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
    if let Some(transaction) = xor {
        change(&mut out[start..], transaction);
    }
}
