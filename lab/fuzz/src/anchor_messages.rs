//! Messages of session and media controllers: what is read is written and read again as the same.

use anchor::row::{Message, read, write};

pub fn run(octets: &[u8]) {
    let mut rest = octets;
    while let Ok(Some((envelope, length))) = read(rest) {
        assert!(length <= rest.len() && length > 0);
        if envelope.message != Message::Unknown {
            let mut again = Vec::new();
            // Text may take more octets than it came in: then it is too long to be told on.
            if write(&envelope, &mut again).is_ok() {
                assert_eq!(read(&again), Ok(Some((envelope, again.len()))));
            }
        }
        rest = &rest[length..];
    }
}
