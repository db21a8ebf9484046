//! What requests are worth when messages wait too long.

/// What a request is worth, the most valuable first: its place in [`CLASSES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Part of something that was admitted: responses, everything inside a dialog, CANCEL; and
    /// emergency calls (RFC 5031) and those with a Resource-Priority (RFC 4412).
    Held,
    /// A registration by a flow that has a binding.
    Refresh,
    /// A first registration.
    Registration,
    /// A call, or anything else outside of a dialog.
    Call,
}

/// How each class falls as messages wait longer (RFC 7339 §5.10.1 leaves the order to the
/// server): registrations stand before calls, refreshes before first registrations.
pub const CLASSES: &[overload::Class] = &[
    overload::Class::HELD,
    overload::Class::direct(6, 8),
    overload::Class::direct(4, 6),
    overload::Class::queued(1, 4),
];

/// Whether a message, unread, is of a method that never begins anything: it is let in without a
/// look.
#[must_use]
pub fn never_begins(bytes: &[u8]) -> bool {
    match bytes {
        [b'I', b'N', b'V', ..] | [b'R', b'E', b'G', ..] => false,
        [b'S', ..] => bytes.starts_with(b"SIP/2.0 "),
        [b'A' | b'B' | b'C' | b'P' | b'U' | b'I', ..] => {
            let held = [&b"ACK "[..], b"BYE ", b"CANCEL ", b"PRACK ", b"UPDATE ", b"INFO "];
            held.iter().any(|start| bytes.starts_with(start))
        }
        _ => false,
    }
}
