//! The types of TS 29.078, a declaration each: those of phase 4, which extend those of the phases
//! before it. What MAP has as well is in `map::types`.

mod call;
mod charging;
mod contents;
mod errors;
mod events;
mod gprs;
mod parties;
mod phase2;
mod resource;
mod sms;

pub use call::*;
pub use charging::*;
pub use contents::*;
pub use errors::*;
pub use events::*;
pub use gprs::*;
pub use parties::*;
pub use phase2::*;
pub use resource::*;
pub use sms::*;
