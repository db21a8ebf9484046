//! How long a message may be that the controller takes: what it makes of one must fit into a
//! message again. A request on a leg is what came in, the text of the leg in place of the headers
//! of its dialog, a Via and little else; a target that was refreshed may come on top.

use sip::{Header, MESSAGE_BYTES_MAX, Malformed, Message, TOO_LARGE_SPEC};

/// Octets of what a leg keeps of one message: Contact, Record-Route, From, To, Call-ID.
pub const DIALOG_BYTES_MAX: usize = 8 << 10;
/// Octets of a message that is taken. Legs (two messages' worth) and what the controller writes
/// itself have the rest.
pub const TAKEN_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 3 * DIALOG_BYTES_MAX;

/// The message, if it is short enough to be dealt with.
///
/// # Errors
/// It is not; a request gets 513 (RFC 3261 §21.5.7).
pub fn checked<'a, 'm>(message: &'a Message<'m>) -> Result<&'a Message<'m>, Malformed> {
    let octets = message.raw().len();
    if octets > TAKEN_BYTES_MAX {
        let what = "message is too long to be passed on";
        return Err(Malformed::new(TAKEN_BYTES_MAX, what, TOO_LARGE_SPEC));
    }
    // What is shorter as a whole has no long dialog in it.
    if octets > DIALOG_BYTES_MAX && dialog_bytes(message) > DIALOG_BYTES_MAX {
        let what = "the headers of its dialog are too long";
        return Err(Malformed::new(0, what, TOO_LARGE_SPEC));
    }
    Ok(message)
}

/// Octets of the headers that a dialog is made of.
fn dialog_bytes(message: &Message<'_>) -> usize {
    let kept = [Header::Contact, Header::RecordRoute, Header::From, Header::To, Header::CallId];
    let lines = message.lines().filter(|line| kept.contains(&line.header));
    lines.map(|line| line.value.len()).sum()
}
