//! Where a message ends: a line of JSON, or a frame of tagged fields with its length in front.
//!
//! ```text
//!   '{' … '\n'                            JSON; so is any other line
//!   0x16, length in 3 octets, message     tagged fields
//! ```

/// Octets of one message, its frame included, at most.
pub const MESSAGE_OCTETS_MAX: usize = 65_536;
/// What a frame of tagged fields begins with: SYN, with which no JSON does.
pub(crate) const MARK: u8 = 0x16;
/// Octets in front of tagged fields.
pub(crate) const HEAD: usize = 4;

/// What stands at the front of what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing whole yet.
    Partial,
    /// Octets that mean nothing: empty lines.
    Skip(usize),
    /// A message of so many octets, which may not all be there.
    Message(usize),
    /// Nothing that can be read: the connection is to be closed.
    Broken(&'static str),
}

/// Finds the first message.
#[must_use]
pub fn cut(buffer: &[u8]) -> Cut {
    let blank = buffer.iter().take_while(|it| matches!(it, b'\n' | b'\r' | b' ')).count();
    match buffer {
        [] => Cut::Partial,
        _ if blank > 0 => Cut::Skip(blank),
        [MARK, a, b, c, ..] => {
            let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            match length + HEAD {
                whole if whole <= MESSAGE_OCTETS_MAX => Cut::Message(whole),
                _ => Cut::Broken("a message is longer than 65,536 octets"),
            }
        }
        [MARK, ..] => Cut::Partial,
        // What is no object is answered as any other message that is none.
        _ => match buffer.iter().take(MESSAGE_OCTETS_MAX).position(|it| *it == b'\n') {
            Some(end) => Cut::Message(end + 1),
            None if buffer.len() >= MESSAGE_OCTETS_MAX => {
                Cut::Broken("a line is longer than 65,536 octets")
            }
            None => Cut::Partial,
        },
    }
}

/// Whether [`cut`] may now find more than before, of whose first `seen` octets it made
/// [`Cut::Partial`].
#[must_use]
pub fn ends_within(buffer: &[u8], seen: usize) -> bool {
    match buffer.first() {
        Some(octet) if *octet != MARK => {
            let new = buffer.get(seen..).unwrap_or_default();
            buffer.len() >= MESSAGE_OCTETS_MAX || new.contains(&b'\n')
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_frames_are_cut_and_what_is_too_long_is_refused() {
        assert_eq!(cut(b"{}\n{"), Cut::Message(3));
        assert_eq!((cut(b""), cut(b"{\"a\":")), (Cut::Partial, Cut::Partial));
        assert_eq!(cut(b"\r\n{}\n"), Cut::Skip(2));
        assert_eq!(cut(&[MARK, 0, 1, 2, 9]), Cut::Message(0x106));
        assert_eq!((cut(&[MARK, 0]), cut(b"x")), (Cut::Partial, Cut::Partial));
        assert_eq!(cut(b"GET / HTTP/1.1\r\n\r\n"), Cut::Message(16), "it is answered");
        assert!(matches!(cut(&[MARK, 1, 0, 0]), Cut::Broken(_)));
        let long = vec![b'{'; MESSAGE_OCTETS_MAX];
        assert!(matches!(cut(&long), Cut::Broken(_)) && ends_within(&long, 5));
        assert!(!ends_within(b"{\"a\"", 2) && ends_within(b"{}\n", 2));
    }
}
