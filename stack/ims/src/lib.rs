//! IMS access: what a P-CSCF does between the wire and the function that carries its calls
//! (TS 24.229 §5.2.2, TS 33.203 §7): security agreement, keys of AKA, ESP.
//!
//! ```text
//! UE                          Access                          function          S-CSCF
//!  │ REGISTER (clear)  → request: 421, 494, offer kept ──────→ relays ───────────→│
//!  │                                         unkeyed ←──────── 401 with ck, ik ───┤
//!  │ 401, Security-Server ← leaving: four associations stand ← relays             │
//!  ╞═ REGISTER, Security-Verify ═→ packet, request ─────────→ relays ───────────→│
//!  ╞═ 200 ←═══════════════ leaving: lifetime, old sets end ←── relays ←───────────┤
//! ```
//! The function sees one flow for each phone, from the protected server port to the phone's
//! server port, whatever associations carry it; it neither sees keys nor agreements. It shows
//! [`Access`] what comes ([`Access::packet`], [`Access::unkeyed`], [`Access::request`]) and what
//! leaves ([`Access::leaving`]). By TCP inside of ESP several messages may come with one packet
//! ([`Access::next_inside`]), and what leaves leaves at the end of the step
//! ([`Access::leave_inside`]).
//!
//! - **Keys never pass on.** `ck` and `ik` leave every answer before anything keeps or shows it;
//!   those of a 401 wait under its nonce for the set of that challenge ([`keys`]).
//! - **A set ends** when its challenge is not answered, its registration is over, its successor is
//!   used, or the 200 of a de-registration has left ([`set`]).
//! - **What a stranger can begin is bounded** by source and in all ([`Ipsec`]).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod access;
mod associate;
mod charging;
mod config;
mod emergency;
mod explain;
pub mod identity;
mod inside;
mod key_log;
mod keys;
mod leaving;
mod metrics;
mod named;
mod pair;
mod record;
mod refusal;
mod reg_event;
mod replica;
mod request;
mod rewrite;
mod set;
mod settings;
mod show;
mod sources;
mod spent;
mod table;
mod trails;
mod vacated;
mod watch;
mod watches;

pub use access::{Access, Packet};
pub use charging::{CHARGING, Charged};
pub use config::Ipsec;
pub use leaving::Leaving;
pub use metrics::{Metric, RegEventMetric};
pub use refusal::Verdict;
pub use reg_event::{Accepted, Asking, MEDIA_TYPE, Notified, RegEventRow};
pub use replica::KIND;
pub use settings::{Listener, Numbers, Realm, Settings};
pub use show::{ExplainRow, IpsecRow, IpsecShardRow};
