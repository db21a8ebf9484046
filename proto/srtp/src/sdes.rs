//! Keys in SDP: `a=crypto` (RFC 4568), its offers and answers, and best effort (RFC 8643).

mod answer;
mod line;
mod parse;
mod write;

pub use answer::{
    Agreed, CRYPTO_LINES_MAX, Choice, Mismatch, Offer, Policy, accept, answer, choose, read_all,
};
pub use line::{Crypto, FecOrder, InlineKey, LINE_OCTETS_MAX, SessionParameters, TAG_MAX};
