//! What becomes of the calls of an end, for who follows them one by one.

use crate::report::Cause;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// The answer came that sets it up.
    Answered,
    /// It ended as the flow says.
    Over,
    /// The element under test refused it, with this status.
    Refused(u16),
    /// It failed.
    Failed(Cause),
}

/// Something that happened to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The number that [`crate::End::call`] gave it.
    pub call: u64,
    /// What.
    pub became: Became,
}
