//! Plays scenarios: what roles say to each other in dialogues of TCAP, as a file tells it, once or
//! at a rate, and measures how long the answers take.
//!
//! ```text
//!   file ─ config ─→ File ─ compile ─→ Program      every name known, every value fits its type
//!                                         │
//!   Arrivals ─ due ─→ Player ─ Request ─→ endpoint ─→ a gateway, by `tcu` over a socket
//!                        ↑                       ├──→ a gateway, by a stack of its own over M3UA
//!                        └──── Indication ───────┤
//!                                                └──→ the other roles of the same process
//! ```
//! - A [`File`] has roles, tables of subscribers and scenarios. A scenario is a list of steps: it
//!   sends messages, waits for others, and pauses. One that begins by waiting for a BEGIN answers:
//!   of those the first is played that fits what came.
//! - The [`Player`] is a machine: time and indications in, requests out. One [`Play`](play) of a
//!   scenario has its values and up to four dialogues of any roles.
//! - Arrivals are open-loop ([`sip_load::Arrivals`]); of a ramp, a measurement and a drain, only
//!   what was due in the measurement is measured.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod built_in;
mod came;
mod cast;
mod changes;
mod compile;
mod connection;
mod endpoint;
mod file;
mod filter;
mod inside;
mod message;
mod path;
mod play;
mod player;
mod program;
mod report;
mod run;
mod seen;
mod sip;
mod stack;
mod table;
mod template;
mod validate;
mod world;

pub use built_in::{BuiltIn, built_in};
pub use changes::Changes;
pub use compile::{Mistakes, read, read_changed};
pub use file::{Awaited, File, Load, Role, Scenario, Sent, Spread, Step};
pub use inside::{Delivery, Inside};
pub use player::{In, Player, Want, Wanted};
pub use program::Program;
pub use report::{Cause, Phase, Report, ScenarioReport};
pub use run::{Options, run};
pub use world::World;

/// The filters of templates: the name of each, and what it does.
#[must_use]
pub fn filters() -> &'static [(&'static str, &'static str)] {
    &filter::FILTERS
}
