//! Short messages over Diameter peers, for any function that deals with them: Sh with home
//! subscriber servers, S6c and SGd with those, service centres and MMEs, Ro with charging systems.
//!
//! ```text
//!   a flow: HomeQuestion, PeerQuestion, Charge ─→ Applications ─→ UDR, SRR, OFR, CCR … ─→ Peers
//!   a flow ←─ Event ←───────────────────────────┘  ↑   └←─ answers, PNR, SRR, RDR, TFR ←──┘
//!   the keys of a function, lent: Section ─────────┘
//! ```
//! - `sh.rs`, `messages.rs` and `debit.rs` each have the questions of one reference point, what
//!   their answers mean, and what peers ask by it.
//! - A request is believed where its origin is who may ask that, and where it comes the way on
//!   which that one is asked.
//! - A message that passes is a leg of the trail of the flow that it is of (`legs.rs`).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod applications;
mod askers;
mod charging;
mod debit;
mod destinations;
mod home;
mod legs;
mod messages;
mod metrics;
mod section;
mod sh;
mod show;
mod xml;

pub use applications::{Applications, Event};
pub use charging::{Charge, Charged, ChargingKeys, OnFailure, SERVICE_CONTEXT};
pub use debit::Wanted;
pub use destinations::{DestinationKeys, Place, Role, digits_of, home_of, place, reached};
pub use home::{
    Caller, HomeAnswer, HomeKeys, HomeQuestion, PeerQuestion, by_diameter, is_by_diameter,
};
pub use metrics::HomeMetric;
pub use section::Section;
