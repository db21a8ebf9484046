//! Any octets as a URI and as an address: no panic, a URI equals itself, violations lie inside.

use sip::{NameAddr, Uri, Via};

pub fn run(bytes: &[u8]) {
    match Uri::parse(bytes) {
        Ok(uri) => {
            let same = uri;
            assert!(uri == same);
            assert!(uri.digits().count() <= bytes.len());
            let _ = (uri.ipv6(), uri.lr());
        }
        Err(violation) => assert!(violation.at <= bytes.len()),
    }
    match NameAddr::parse(bytes) {
        Ok(address) => drop((address.parse_uri(), address.tag(), address.expires_s())),
        Err(violation) => assert!(violation.at <= bytes.len()),
    }
    if let Err(violation) = Via::parse(bytes) {
        assert!(violation.at <= bytes.len());
    }
}
