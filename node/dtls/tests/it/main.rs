//! Handshakes between two of our own over bad paths, and with OpenSSL,
//! which tshark reads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod openssl;
mod pair;
mod tshark;

use dtls::{Certificate, In, Judge, Settings};

/// The profiles of SRTP that the engine has (RFC 5764, RFC 7714).
const PROFILES: [u16; 3] = [0x0001, 0x0007, 0x0008];

fn settings() -> Settings {
    Settings::new(Certificate::generate().unwrap(), &PROFILES)
}

/// Trusts this certificate alone.
fn judge(certificate: &[u8]) -> Judge {
    let named = certificate.to_vec();
    Box::new(move |shown| shown == named)
}

fn expect(certificate: &[u8]) -> In {
    In::Expect(judge(certificate))
}
