//! Messages as JSON, for people and tests: the names of the rows, and what has none as digits.
//!
//! ```text
//! {"command":"UDR","application":"Sh","flags":"RP","hop-by-hop":7,"end-to-end":9,"avps":[
//!   {"Session-Id":"as.example;1;2"},{"User-Identity":[{"MSISDN":"94710000"}]},
//!   {"AVP 10415:9999":"00ff","flags":"V"}]}
//! ```
//! - Octets are hexadecimal digits, a Time the seconds since 1970, an Enumerated its name.
//! - `flags` of an AVP stands there where it is not what the row says.
//! - Data that is not what the row says is `{"octets":"…"}`: whatever came can be shown.

mod read;
mod write;

/// The key of octets that are not what the row says.
const OCTETS: &str = "octets";
/// The key of flags.
const FLAGS: &str = "flags";
/// What the key of an AVP without a row begins with.
const UNKNOWN: &str = "AVP ";
