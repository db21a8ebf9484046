//! Security agreement between a phone and its first proxy (RFC 3329), as IMS makes it
//! (TS 33.203 §7, Annex H; TS 24.229 §5.1.1, §5.2.2).
//!
//! ```text
//! UE                                                     P-CSCF
//!  │ REGISTER, Security-Client: what it can, SPIs, ports   │ rules::unprotected, choose
//!  ├──────────────────────────────────────────────────────→│
//!  │ 401, Security-Server: what the network can, its own   │
//!  │←──────────────────────────────────────────────────────┤ Agreement
//!  │ choose                      four associations stand   │
//!  │ REGISTER, Security-Client again, Security-Verify      │ rules::protected
//!  ├═══════════════════════════════════════════════════════→
//! ```
//! Who stands between the two and offers less than both can is seen: the lists come again under the
//! protection that was agreed, and must be the same.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod associations;
mod choose;
mod ipsec;
mod kept;
mod list;
mod mechanism;
pub mod rules;

pub use associations::{Agreement, Association, End, Pair, Peer, Transport};
pub use choose::{Choice, Preference, choose, choose_server};
pub use ipsec::{Alg, Ealg, EspKeys, Ipsec, Mode, Protocol};
pub use kept::Kept;
pub use list::{LIST_MAX, List, OCTETS_MAX};
pub use mechanism::{Mechanism, Name, Q};
