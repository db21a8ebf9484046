//! A pool of sessions that several functions draw from: one [`LeaseServer`], many [`LeaseClient`]s.
//!
//! ```text
//!   LeaseClient ──Report{held, live, short, serial}──→ LeaseServer   what it holds, runs and
//! lacked
//!          ←─Grant{block, spare, serial}─────────          what it may hold and let idle
//! ```
//! Each drawer holds a block and starts sessions within it without asking: no session waits for
//! the keeper. The sessions that nobody uses are shared out as headroom: `spare` is the high mark
//! of a drawer, what is idle above it goes back with the next report; half of it (and not less
//! than a few) is the low mark, below which the keeper adds to the block.
//!
//! - **A block is a lease** of [`LEASE`]. The drawer counts it from the moment it sent the report,
//!   the keeper from the moment it heard it, so that the drawer's ends first and the leases that
//!   drawers believe in are never more than the pool, whatever is lost, doubled or late.
//! - **A grant says the whole block** and is repeated until the report of its serial number comes.
//! - **A new life** of a drawer (started again, or the standby of a pair that took over) takes the
//!   place of the one before: the block of that one is free at once.
//! - **A keeper that starts** learns the blocks from the reports for [`LEASE`] and grants nothing
//!   meanwhile: it renews valid leases and greets the others.
//! - **A keeper that is away** costs nothing for a while: after [`QUIET`] a drawer starts sessions
//!   beyond its block, as many as the overdraft, until the grace time ends. Then the block holds.
//! - **An answer** bears the stamp of its report, a report the number of the keeper's life: what
//!   was recorded on the wire and is sent again later changes nothing.
#![forbid(unsafe_code)]

mod lease_client;
mod lease_server;
pub mod message;

pub use lease_client::{LeaseClient, Standing, Terms};
pub use lease_server::{LeaseServer, Level, Row, Share};

use machine::{Duration, Time};

/// A drawer that hears no answer for this long takes the keeper for away.
pub const QUIET: Duration = Duration::from_secs(3);
/// How long a block is held without a renewal.
pub const LEASE: Duration = Duration::from_secs(10);
/// Drawers of one keeper; further ones are not heard.
pub const DRAWERS_MAX: usize = 512;

/// Idle sessions that are few, however small the headroom is.
const FEW: u32 = 16;

/// The low mark of a drawer whose high mark is `spare`: with no more idle ones it draws.
const fn low_mark(spare: u32) -> u32 {
    if spare / 2 > FEW { spare / 2 } else { FEW }
}

/// What a drawer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The life of the keeper that it heard last; zero: none yet.
    pub keeper: u64,
    /// Tells one life of the drawer from the next; the later one is greater.
    pub life: u64,
    /// When it was sent, by the drawer's clock; each one later than the one before.
    pub stamp: Time,
    /// The serial number of the last grant that it took.
    pub serial: u64,
    /// Sessions that it holds by a lease that has not run out.
    pub held: u32,
    /// Sessions that run.
    pub live: u32,
    /// Sessions that it refused since the last report because the block was used up.
    pub short: u32,
}

/// What the keeper says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The keeper's life.
    pub keeper: u64,
    /// The life of the drawer that it is for.
    pub life: u64,
    /// The stamp of the report that it answers.
    pub stamp: Time,
    /// Counts the grants of this drawer; zero: only a greeting.
    pub serial: u64,
    /// Sessions that it may hold.
    pub block: u32,
    /// Idle sessions that it may keep; it returns the others.
    pub spare: u32,
}
