//! What a site runs beside its functions: the pool of sessions that its controllers share, the
//! arbiter by which pairs of other machines know who serves, the files that reflectors record in.
#![forbid(unsafe_code)]

pub mod arbiter;
pub mod pool;
pub mod recording;
