//! Cutting a stream into messages (RFC 3261 §18.3; RFC 5626 §3.5.1 for keep-alives).

use crate::header::Header;
use crate::message::MESSAGE_BYTES_MAX;
use crate::octet::{self, SPACE, TOKEN};
use wire::Malformed;

const SPEC: &str = "RFC 3261 §18.3";

/// The end of a line and the empty line that ends the head.
const HEAD_END: &[u8] = b"\n\r\n";

/// What the head of a stream's buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing whole yet.
    Partial,
    /// That many octets of CRLF: a keep-alive; a double CRLF wants a single one in return.
    Skip(usize),
    /// The next message is this long; longer than the buffer means that its body is on its way.
    Message(usize),
    /// The stream cannot be understood any more: close it.
    Broken(Malformed),
}

/// Looks at the head of a stream's buffer. Every message of a stream says its length
/// (RFC 3261 §20.14); without Content-Length the stream is broken.
#[must_use]
pub fn frame(buffer: &[u8]) -> Framing {
    let blank = buffer.iter().take_while(|&&octet| octet == b'\r' || octet == b'\n').count();
    if blank > 0 {
        return Framing::Skip(blank);
    }
    if buffer.first().is_some_and(|&octet| !octet::is(octet, TOKEN)) {
        return Framing::Broken(Malformed::new(0, "stream does not speak SIP", SPEC));
    }
    let head = &buffer[..buffer.len().min(MESSAGE_BYTES_MAX)];
    match read_head(head) {
        Ok(Some((body, length))) if body + length <= MESSAGE_BYTES_MAX => {
            Framing::Message(body + length)
        }
        Ok(None) if buffer.len() < MESSAGE_BYTES_MAX => Framing::Partial,
        Ok(_) => Framing::Broken(Malformed::new(head.len(), "message is too long", SPEC)),
        Err(violation) => Framing::Broken(violation),
    }
}

/// Whether a buffer of whose first `seen` octets [`frame`] made nothing whole is worth another
/// look: only an empty line ends a head. It looks at the octets behind `seen`, so that a head that
/// comes octet by octet is not read anew from its beginning with each.
#[must_use]
pub fn ends_head(buffer: &[u8], seen: usize) -> bool {
    let new = buffer.get(seen.saturating_sub(HEAD_END.len() - 1)..).unwrap_or_default();
    buffer.len() >= MESSAGE_BYTES_MAX || memchr::memmem::find(new, HEAD_END).is_some()
}

/// Where the body starts, and the value of the only Content-Length before it; `None` until the
/// empty line came.
fn read_head(head: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let mut found = None;
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'\n', &head[at..]) {
        let line = &head[at..at + length];
        let start = at;
        at += length + 1;
        if line == b"\r" {
            let missing = Malformed::new(start, "no Content-Length in a stream", SPEC);
            return found.ok_or(missing).map(|length| Some((at, length)));
        }
        if matches!(line.first(), Some(b'C' | b'c' | b'L' | b'l')) {
            let is_folded = matches!(head.get(at), Some(b' ' | b'\t'));
            if let Some(length) = content_length(line, start, is_folded)?
                && found.replace(length).is_some()
            {
                return Err(Malformed::new(start, "header stands twice", "RFC 3261 §7.3.1"));
            }
        }
    }
    Ok(None)
}

/// The value of a Content-Length line, or `None` if it is another's.
fn content_length(line: &[u8], start: usize, is_folded: bool) -> Result<Option<usize>, Malformed> {
    let name_end = octet::run(line, 0, TOKEN);
    if Header::parse(&line[..name_end]) != Header::ContentLength {
        return Ok(None);
    }
    let colon = octet::run(line, name_end, SPACE);
    let value = octet::trim(line.get(colon + 1..).unwrap_or(b""));
    let length = octet::number(value, MESSAGE_BYTES_MAX as u64).filter(|_| !is_folded);
    let what = "Content-Length is not a number within the limit";
    let violation = Malformed::new(start, what, "RFC 3261 §20.14");
    length.map(Some).ok_or(violation)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "OPTIONS sip:a@b SIP/2.0\r\n";

    #[test]
    fn a_message_is_as_long_as_its_header_and_its_content_length() {
        for (header, length) in
            [("Content-Length: 5\r\n", 5), ("l:0\r\n", 0), ("CONTENT-length \t :  12  \r\n", 12)]
        {
            let text = format!("{HEAD}{header}X: y\r\n\r\nhello");
            let expected = text.len() - 5 + length;
            assert_eq!(frame(text.as_bytes()), Framing::Message(expected));
        }
    }

    #[test]
    fn a_stream_is_partial_until_the_empty_line_came() {
        let text = format!("{HEAD}l: 0\r\n\r\n");
        for end in 0..text.len() {
            assert_eq!(frame(&text.as_bytes()[..end]), Framing::Partial, "{end}");
        }
    }

    #[test]
    fn a_head_that_is_partial_stays_so_until_new_octets_end_it() {
        let whole = format!("{HEAD}l: 0\r\nX: \r \n\r\n");
        let whole = whole.as_bytes();
        for seen in 1..whole.len() {
            for end in seen..=whole.len() {
                let is_partial = frame(&whole[..end]) == Framing::Partial;
                assert_eq!(ends_head(&whole[..end], seen), !is_partial, "{seen}..{end}");
            }
        }
        let long = "A".repeat(MESSAGE_BYTES_MAX);
        assert!(!ends_head(&long.as_bytes()[1..], MESSAGE_BYTES_MAX - 2));
        assert!(ends_head(long.as_bytes(), MESSAGE_BYTES_MAX - 1), "it is too long");
    }

    #[test]
    fn keep_alives_are_skipped() {
        assert_eq!(frame(b"\r\n\r\nOPTIONS"), Framing::Skip(4));
        assert_eq!(frame(b"\r\n"), Framing::Skip(2));
    }

    #[test]
    fn a_stream_that_cannot_be_cut_is_broken() {
        for (text, what) in [
            (format!("{HEAD}X: y\r\n\r\n"), "no Content-Length in a stream"),
            (format!("{HEAD}l: x\r\n\r\n"), "Content-Length is not a number within the limit"),
            (format!("{HEAD}l: -1\r\n\r\n"), "Content-Length is not a number within the limit"),
            (
                format!("{HEAD}l: 1\r\n 2\r\n\r\n"),
                "Content-Length is not a number within the limit",
            ),
            (format!("{HEAD}l: 1\r\nl: 1\r\n\r\n"), "header stands twice"),
            (format!("{HEAD}l: 65535\r\n\r\n"), "message is too long"),
            ("\u{16}\u{3}".to_owned(), "stream does not speak SIP"),
            ("A".repeat(MESSAGE_BYTES_MAX), "message is too long"),
        ] {
            match frame(text.as_bytes()) {
                Framing::Broken(violation) => assert_eq!(violation.what, what),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }
}
