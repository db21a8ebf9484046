//! Whether an answer answers its offer (RFC 3264 §6).

use crate::Session;

/// Why an answer is none for its offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// It has another number of streams (§6).
    StreamCount,
    /// Stream `0`, counted from zero, is of another kind (§6).
    Kind(usize),
    /// Stream `0` was refused by the offer but has a port in the answer (§6).
    Port(usize),
    /// Stream `0` goes a way that was not offered (§6.1).
    Direction(usize),
}

/// Compares `answer` with `offer`, stream by stream.
///
/// # Errors
/// The first [`Mismatch`].
pub fn fits(offer: &Session<'_>, answer: &Session<'_>) -> Result<(), Mismatch> {
    if offer.media().count() != answer.media().count() {
        return Err(Mismatch::StreamCount);
    }
    for (at, (offered, answered)) in offer.media().zip(answer.media()).enumerate() {
        if !offered.kind.eq_ignore_ascii_case(answered.kind) {
            return Err(Mismatch::Kind(at));
        }
        if offered.is_refused() && !answered.is_refused() {
            return Err(Mismatch::Port(at));
        }
        if !answered.is_refused() && !answered.direction().answers(offered.direction()) {
            return Err(Mismatch::Direction(at));
        }
    }
    Ok(())
}
