//! Registration information: nothing panics, and what is read is written and read back as the same.

use reginfo::Reginfo;

/// Runs one input: a document.
pub fn run(octets: &[u8]) {
    let Ok(read) = Reginfo::read(octets) else { return };
    let mut written = Vec::new();
    read.write(&mut written);
    // Written out it may be longer than a document may be.
    if written.len() <= reginfo::OCTETS_MAX {
        assert_eq!(Reginfo::read(&written), Ok(read));
    }
}
