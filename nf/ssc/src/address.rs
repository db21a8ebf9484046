//! Sources as those of whom anything is counted.

use machine::narrow::halves;
use std::net::IpAddr;

/// A number for an IPv4 address or an IPv6 /56.
pub(crate) fn source_number(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => halves(address.to_bits())[1] >> 8,
    }
}
