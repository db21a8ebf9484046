//! Connection-oriented control (SCOC, Q.714 §3): connections of classes 2 and 3.
//!
//! ```text
//!   N-CONNECT req ─ CR ─→ Requested ─ CC ─→ Active ─ RLSD ─→ Releasing ─ RLC ─→ frozen ─→ free
//!   CR came ─ N-CONNECT ind ─→ Offered ─ CC ─→ Active        (RLSD came: RLC, frozen)
//! ```
//! A procedure takes a section out of the table and either keeps it or freezes its reference:
//! nothing else becomes of one.

mod coupling;
mod flow;
mod parameters;
mod primitives;
mod receive;
mod replica;
mod request;
mod section;
mod status;
mod table;
mod timers;

pub(crate) use coupling::Onward;
pub use parameters::ConnectionParameters;
pub use primitives::{
    Accept, Connect, ConnectionEvent, ConnectionInput, Disconnect, Disconnected, Inform,
};
pub(crate) use receive::Offer;
pub use replica::{ConnectionReport, Restored, Standing};
pub(crate) use section::{Source, Way};
pub use status::ConnectionStatus;
pub(crate) use table::{Connections, Effect};
