//! SIP traffic at rates that SIPp cannot reach: both ends of every call on one shard.
//!
//! A [`Ladder`] is the flow as data. Each [`End`] (the caller's and the answerer's) follows it:
//! it sends its own steps and checks that the others come, in order. Arrivals are open-loop
//! ([`Arrivals`]); what happened is a [`Report`]. [`Generator`] is the function on a shard;
//! [`Registrants`] is the one that registers subscribers, [`Phones`] has those of IMS, which
//! register with AKA and call by IPsec. Whoever has media to send along with
//! calls describes them and hears what the other side described ([`Descriptions`]).
//!
//! How it stays fast: messages are templates with fixed-width holes; the identity in tags,
//! branches and Call-IDs is the slot of the call, so that nothing is looked up; what is sent
//! within a grain of time leaves grouped by kind, in runs of equal length that the runtime hands
//! to the kernel in one piece.
#![forbid(unsafe_code)]

mod arrivals;
mod description;
mod end;
mod generator;
mod ladder;
mod leg;
mod phones;
mod receive;
mod registrants;
mod reinvite;
mod report;
mod restraint;
mod scan;
mod script;
mod search;
mod template;
mod watch;

pub use arrivals::{Arrivals, Spread};
pub use description::Descriptions;
pub use end::{End, Endpoint, LEGS_MAX};
pub use generator::{Generator, LoadConfig, Trial};
pub use ladder::{Body, FlowError, Ladder, STEPS_MAX, Side, Step, What};
pub use phones::{Act, Phones, PhonesConfig};
pub use registrants::{Registrants, RegistrantsConfig, UNDER_WAY_MAX};
pub use report::{Cause, InDialog, Moments, Report, Tally, Times, Timing};
pub use scan::Scan;
pub use search::{Found, Purpose, Search};
pub use watch::{Became, Moment};
