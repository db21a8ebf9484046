//! The messages of a stream (RFC 6733 §3): the length stands in the first four octets.

use super::{HEADER_OCTETS, MESSAGE_OCTETS_MAX, VERSION, be24};

/// What the buffer of a stream begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing whole yet.
    Partial,
    /// A message of so many octets; longer than the buffer: wait for the rest.
    Message(usize),
    /// No message: the stream is broken for good.
    Broken(&'static str),
}

/// Finds the first message of a stream.
#[must_use]
pub fn frame(buffer: &[u8]) -> Framing {
    match buffer.first() {
        Some(&VERSION) => {}
        Some(_) => return Framing::Broken("a version that is not 1"),
        None => return Framing::Partial,
    }
    let Some(length) = be24(buffer, 1) else { return Framing::Partial };
    let length = length as usize;
    match length {
        _ if length < HEADER_OCTETS => Framing::Broken("a message shorter than its header"),
        _ if length > MESSAGE_OCTETS_MAX => Framing::Broken("a message that is too long"),
        _ => Framing::Message(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_as_soon_as_its_length_is_there_and_a_broken_stream_at_once() {
        let table: [(&[u8], Framing); 7] = [
            (&[], Framing::Partial),
            (&[1, 0, 0], Framing::Partial),
            (&[1, 0, 0, 20], Framing::Message(20)),
            (&[1, 2, 0, 0], Framing::Message(128 << 10)),
            (&[1, 2, 0, 4], Framing::Broken("a message that is too long")),
            (&[1, 0, 0, 19], Framing::Broken("a message shorter than its header")),
            (&[0x16, 3], Framing::Broken("a version that is not 1")),
        ];
        for (buffer, framing) in table {
            assert_eq!(frame(buffer), framing, "{buffer:?}");
        }
    }
}
