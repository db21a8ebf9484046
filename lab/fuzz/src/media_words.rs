//! What a forwarder's feature of media and its control say to each other: any octets are what they
//! mean or are refused, and what was read is the same when it is written and read again.

use media::program::{Name, Notice, Said};

/// Runs one input: the length of a key, the key, and the value behind it.
pub fn run(octets: &[u8]) {
    if let Ok(notice) = Notice::read(octets) {
        assert_eq!(Notice::read(&notice.value()), Ok(notice));
    }
    let Some((length, rest)) = octets.split_first() else { return };
    let (key, value) = rest.split_at(usize::from(*length).min(rest.len()));
    if let Ok(name) = Name::read(key) {
        assert_eq!(name.key(), key, "a name is written one way");
    }
    if let Ok(said) = Said::read(key, value) {
        assert_eq!(Said::read(&said.name().key(), &said.value()), Ok(said));
    }
}
