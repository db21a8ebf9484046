//! Who is let in: admission of calls for any function that takes them over SIP, and of their
//! refusals what must be remembered.
//!
//! ```text
//!  request, unread ─→ Refused: asks again? ─→ Admission: by class, by wait ─→ Queue ─┐
//!                         └ the same answer       └ 503, tallied                     │
//!  call ─→ LicenceShare ─→ Limits: units ─→ realm ─→ next hop ─→ subscriber ─→ Grant ←┘
//!          the site's pool         └ Excess: the answer to it       released with the call
//! ```
//! The counters, classes and queues are those of [`overload`]; here is what they stand for in a
//! function with realms, next hops and subscribers. A function embeds one [`OverloadControl`] in
//! each shard.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod callers;
mod class;
mod config;
mod cost;
mod emergency;
mod limits;
mod overload_control;
mod protected;
mod refused;
mod share;
mod show;
mod source_policing;
mod tally;

pub use callers::Callers;
pub use class::{CLASSES, Class, never_begins};
pub use config::{CallLimit, Overload, Resources};
pub use emergency::{Emergencies, Known};
pub use limits::{Answer, Asking, Excess, Grant, Kind, Limits, RealmLimits, Settings};
pub use overload_control::OverloadControl;
pub use protected::Protected;
pub use refused::{Refused, TAG_BYTES};
pub use share::{LicenceShare, PoolRow, ReportRow};
pub use show::{LimitRow, UnitsRow};
pub use source_policing::{Kernel, SourcePolicing};
pub use tally::{Tallied, Tally};
