//! SIP dialogs (RFC 3261 §12) and what lives inside them, as small pieces that do not know each
//! other.
//!
//! | piece | what it decides | source |
//! |---|---|---|
//! | [`Dialog`] | whose a message is, in which order, where the next request goes | RFC 3261 §12 |
//! | [`RouteSet`] | the hops a request passes | RFC 3261 §12.1, §16.12 |
//! | [`Forks`] | the early dialogs that one INVITE made | RFC 3261 §13.2.2.4 |
//! | [`ReliableSender`], [`ReliableReceiver`] | reliable provisional responses | RFC 3262 |
//! | [`OfferAnswer`] | which description is an offer, which its answer | RFC 3264, RFC 6337 |
//! | [`InviteUsage`] | whose INVITE may run now, and when to try again | RFC 3261 §14 |
//! | [`SessionTimer`] | when to refresh, when to hang up | RFC 4028 |
//! | [`Subscription`] | whether a subscription lives | RFC 6665 |
//!
//! Each is a plain value with time as an argument; a call keeps those that it needs. Timers
//! are read with `deadline()` and fired by the owner, which has one wheel for all.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod forks;
mod invite_usage;
mod offer_answer;
mod reliable;
mod route_set;
mod session_timer;
mod state;
mod subscription;

pub use forks::{FORKS_MAX, Forks};
pub use invite_usage::{InviteUsage, MayInvite, glare_delay};
pub use offer_answer::{OfferAnswer, OfferError, Part};
pub use reliable::{PrackVerdict, ReliableReceiver, ReliableSender, Resend, RseqVerdict};
pub use route_set::{ROUTES_MAX, RouteSet};
pub use session_timer::{SessionAlarm, SessionPolicy, SessionTimer, TooSmall};
pub use state::{Dialog, Side, Verdict};
pub use subscription::{Subscription, SubscriptionPhase};
