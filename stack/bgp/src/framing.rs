//! Messages of a stream, as the runtime cuts them: many at once are one step.

use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Framing, HEADER_BYTES, MESSAGE_BYTES_MAX};
use runtime::Frame;

/// Octets of whole messages that are cut from a stream at once: many UPDATEs are one step.
const RUN_BYTES_MAX: usize = EXTENDED_MESSAGE_BYTES_MAX;

/// As many whole messages as are there, up to 65,535 octets: what [`crate::In::Octets`] takes.
#[must_use]
pub fn frame(buffer: &[u8]) -> Frame {
    let mut at = 0;
    loop {
        match bgp::codec::frame(&buffer[at..], EXTENDED_MESSAGE_BYTES_MAX) {
            Framing::Message(_, message) if at + message.len() <= RUN_BYTES_MAX => {
                at += message.len();
            }
            Framing::Message(..) => return Frame::Message(at),
            Framing::Partial if at > 0 => return Frame::Message(at),
            Framing::Partial => return awaited(buffer),
            Framing::Broken(_) if at > 0 => return Frame::Message(at),
            // The session answers it with a NOTIFICATION.
            Framing::Broken(_) => return Frame::Message(buffer.len().min(MESSAGE_BYTES_MAX)),
        }
    }
}

/// How long the message will be whose beginning is there.
fn awaited(buffer: &[u8]) -> Frame {
    match buffer.get(16..HEADER_BYTES) {
        Some(header) => {
            let length = usize::from(u16::from_be_bytes([header[0], header[1]]));
            Frame::Message(length.max(buffer.len() + 1))
        }
        None => Frame::Partial,
    }
}
