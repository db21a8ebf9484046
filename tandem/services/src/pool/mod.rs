//! The site's pool of sessions: its section, its keeper, and the thread that takes reports and
//! grants between controllers and keeper. `kit/pool` has the machines.
//!
//! ```text
//!  shard ←─ ask pool/exchange ─ LicenceAgent ──(same process)──→ LicenceService
//!                                  └─ UDP, sealed by the secret ─→ LicenceService of another
//! process
//! ```

mod licence_agent;
mod licence_service;
mod section;

pub use licence_agent::LicenceAgent;
pub use licence_service::{LicenceService, PoolMetric, questions};
pub use section::{Section, interruptions};

/// The keeper's name as a function of the site.
pub const POOL: &str = "pool";
/// Longest message between processes, octets.
const MESSAGE_BYTES_MAX: usize = 512;
