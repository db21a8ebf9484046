//! The site's pool of sessions: its section, its keeper, and the thread that takes reports and
//! grants between controllers and keeper. `kit/pool` has the machines.
//!
//! ```text
//!  shard ←─ ask pool/exchange ─ Steward ──(same process)──→ Keeping
//!                                  └─ UDP, sealed by the secret ─→ Keeping of another process
//! ```

mod keeping;
mod section;
mod steward;

pub use keeping::Keeping;
pub use section::Section;
pub use steward::{EXCHANGE, Steward};

/// The keeper's name as a function of the site.
pub const POOL: &str = "pool";
/// Longest message between processes, octets.
const MESSAGE_BYTES_MAX: usize = 512;
