//! Neighbours that have answered this system where they are, or that the operator named. What they
//! say next has a part of its own, so that no flood of others makes them look silent.

use crate::bucket::mixed;
use crate::program::Mac;
use machine::narrow::halves;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places of neighbours, twice as many as the plane keeps; a set of [`WAYS`] is searched. Who finds
/// no place is a stranger, no more.
const PLACES: usize = 32_768;
const WAYS: usize = 4;

/// Neighbours of all interfaces, written by the plane and read by its workers.
pub struct Known {
    key: u64,
    places: Box<[AtomicU64]>,
}

impl Known {
    pub(super) fn new(key: u64) -> Self {
        Self { key, places: (0..PLACES).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The number of a neighbour, if it is known to have this MAC address.
    #[must_use]
    pub fn of(&self, interface: u32, address: IpAddr, mac: Mac) -> Option<u64> {
        let number = self.number(interface, address, mac);
        self.set(number).iter().any(|place| place.load(Relaxed) == number).then_some(number)
    }

    /// It is there. Only the plane calls this, and the next.
    pub fn note(&self, interface: u32, address: IpAddr, mac: Mac) {
        let number = self.number(interface, address, mac);
        let set = self.set(number);
        let has = |wanted: u64| set.iter().find(|place| place.load(Relaxed) == wanted);
        let first = set.first();
        if let Some(place) = has(number).or_else(|| has(0)).or(first) {
            place.store(number, Relaxed);
        }
    }

    /// It is there no more.
    pub fn forget(&self, interface: u32, address: IpAddr, mac: Mac) {
        let number = self.number(interface, address, mac);
        let places = self.set(number).iter().filter(|place| place.load(Relaxed) == number);
        places.for_each(|place| place.store(0, Relaxed));
    }

    fn set(&self, number: u64) -> &[AtomicU64] {
        let first = (number >> 16) as usize % (PLACES / WAYS) * WAYS;
        &self.places[first..first + WAYS]
    }

    fn number(&self, interface: u32, address: IpAddr, [a, b, c, d, e, f]: Mac) -> u64 {
        let address = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let mac = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let [high, low] = halves(address);
        let parts = [high, low, mac, u64::from(interface)];
        parts.iter().fold(self.key, |sum, part| mixed(sum ^ part, self.key)) | 1 << 63
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_known_by_its_interface_and_both_its_addresses() {
        let known = Known::new(7);
        let at = |last: u8| IpAddr::from([10, 0, 0, last]);
        let mac = |last: u8| [2, 0, 0, 0, 0, last];
        known.note(1, at(1), mac(1));
        assert!(known.of(1, at(1), mac(1)).is_some());
        for (interface, address, of) in [(2, 1, 1), (1, 2, 1), (1, 1, 2)] {
            assert_eq!(known.of(interface, at(address), mac(of)), None);
        }
        known.forget(1, at(1), mac(1));
        assert_eq!(known.of(1, at(1), mac(1)), None);
    }
}
