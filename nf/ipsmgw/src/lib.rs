//! IP short message gateway (TS 23.204, TS 24.341): short messages between SIP and MAP, as machines
//! over effects.
//!
//! ```text
//!              MESSAGE, third-party REGISTER          TC-user primitives (proto/tcu)
//!   S-CSCF ⇄ ──────────────┐                    ┌──────────────── ⇄ HLR, service centres, MSCs
//!                          Gateway: flows ── effects
//!                             │ ↑ questions and answers
//!                           rows that outlive a flow: who is registered, correlates, or waits
//! ```
//! - `smsip` reads and writes what of SIP the flows have to do with.
//! - [`Gateway`] is a [`machine::Machine`]: [`In`] says what happened, [`Out`] what shall be done.
//!   It knows no socket, no transaction of SIP and no store: [`ShortMessageGateway`] has those.
//! - A flow is one record: a registration, a submission, a question for routing information, a
//!   delivery, or something that is told on. Its number stands in the Call-ID of what it sends,
//!   with a proof, so that a report finds it (In-Reply-To), and names its dialogues and questions.
//! - Messages of one sender to one subscriber are delivered one after the other; references of RP
//!   messages are not shared by what is under way to a subscriber.
//! - What fails, fails closed: without an asserted identity, with a correlation IMSI that was never
//!   given out, from an address that may not ask, nothing is relayed.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod account;
mod ask;
mod by_diameter;
mod calls;
pub mod config;
mod delivery;
mod effects;
mod flow;
mod function;
mod gateway;
mod gauges;
mod handing;
mod known;
mod metrics;
pub mod network;
mod notice;
mod pair;
mod peer_operation;
mod peers;
mod place;
mod records;
mod registration;
mod routing;
mod sending;
mod settings;
mod shards;
mod shared;
mod standby;
mod step;
mod stored;
mod submission;
mod text;
mod wire;

pub use ask::questions;
pub use effects::{
    Attempt, Body, Direction, In, Out, Received, Record, Register, Route, Sending, Sent, Way,
    Written,
};
pub use function::{ShortMessageGateway, start};
pub use gateway::{Gateway, Seeds};
pub use mapsms::asking::{Reply, Silence};
pub use mapsms::deposit::Local;
pub use mapsms::identity::{Correlations, Imsi, Msisdn};
pub use mapsms::outcomes::{OutcomeMetric, outcomes};
pub use mapsms::rows::{MESSAGES, SUBSCRIBERS};
pub use mapsms::silent::Whom;
pub use mapsms::{centre, store};
pub use metrics::Metric;
pub use records::{CdrKeys, RecordMetric};
pub use settings::{Hlr, Home, Network, Settings, Shares, Subsystems, Terminals};
pub use smsdiameter::{
    Charge, Charged, ChargingKeys, DestinationKeys, HomeAnswer, HomeKeys, HomeMetric, HomeQuestion,
    OnFailure, PeerQuestion, Place, Role,
};
pub use wire::SipMetric;
