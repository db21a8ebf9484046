//! Any octets as keys and rows of the store of an IP short message gateway: what is read is written
//! so that it is read again as the same.

use ipsmgw::store::{Key, Row};

/// Looks at the octets as a key, and as a row.
pub fn run(octets: &[u8]) {
    if let Some(key) = Key::of(octets) {
        assert_eq!(Key::of(&key.octets()), Some(key));
    }
    if let Some(row) = Row::of(octets) {
        assert_eq!(Row::of(&row.octets()), Some(row));
    }
}
