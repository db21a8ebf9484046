//! Descriptions of media that somebody else makes, in place of the fixed ones of a flow.

use crate::ladder::Side;

/// Who describes the media of calls, and hears what was described to either end. Calls are told
/// apart by their subscriber: no two calls of one may stand at once.
pub trait Descriptions: core::fmt::Debug + Send + Sync {
    /// Appends what the end `side` of a call says of its media (RFC 4566): an offer if it is the
    /// caller's, an answer if it is the answerer's.
    fn describe(&self, side: Side, call: u32, out: &mut Vec<u8>);

    /// The end `side` of a call was sent this description.
    fn heard(&self, side: Side, call: u32, description: &[u8]);
}
