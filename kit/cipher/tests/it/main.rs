//! The one test program of the crate.
#![allow(missing_docs)]

mod chains;
mod jobs;
mod law;
mod peer;
mod vectors;

/// The octets of hexadecimal digits; blanks are passed over.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("hexadecimal")
    };
    digits.chunks(2).map(octet).collect()
}
