//! What a site runs beside its functions: the pool of sessions that its controllers share, and the
//! arbiter by which pairs of other machines know who serves.
#![forbid(unsafe_code)]

pub mod arbiter;
pub mod pool;
