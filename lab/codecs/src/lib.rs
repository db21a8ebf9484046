//! Our codecs beside those of others: `cargo bench -p tandem-codecs`. What the benches alone need
//! stands among the dependencies of tests of this crate and nowhere else.
#![forbid(unsafe_code)]
