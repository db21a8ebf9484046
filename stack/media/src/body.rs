//! Session descriptions in bodies: whole bodies, and parts of multipart ones (RFC 2046 §5.1,
//! RFC 5621).

use core::ops::Range;
use memchr::memmem;

/// Parts of a body that are looked at.
const PARTS_MAX: usize = 16;

/// Where the description of a session stands in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// There is none.
    Nothing,
    /// It is the whole body.
    Whole,
    /// It is one part of several, and no more.
    Part(Range<usize>),
    /// There is one that cannot be read here: it is compressed, or says its own length.
    Unreadable,
    /// There are several, or one where none is taken from: some would pass beside the one that is
    /// rewritten.
    Beside,
}

/// Whether something in it is a description, or may be one.
#[must_use]
pub fn has_any(content_type: &[u8], body: &[u8]) -> bool {
    find(content_type, body) != Found::Nothing
}

/// Descriptions that begin in a text, whatever it is said to be (RFC 8866 §5.1).
fn beginnings(text: &[u8]) -> usize {
    let starts_line = |at: &usize| at.checked_sub(1).is_none_or(|at| b"\r\n".contains(&text[at]));
    memmem::find_iter(text, b"v=0").filter(starts_line).count()
}

/// Looks for the description of a session in a body of that Content-Type.
#[must_use]
pub fn find(content_type: &[u8], body: &[u8]) -> Found {
    if body.is_empty() {
        return Found::Nothing;
    }
    let beginnings = beginnings(body);
    if is_sdp(content_type) {
        return if beginnings > 1 { Found::Beside } else { Found::Whole };
    }
    let is_multipart =
        content_type.get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"multipart/"));
    let found = match boundary(content_type).filter(|_| is_multipart) {
        Some(boundary) => in_parts(boundary, body),
        None => Found::Nothing,
    };
    match found {
        Found::Nothing if beginnings > 0 => Found::Beside,
        Found::Part(_) if beginnings > 1 => Found::Beside,
        found => found,
    }
}

fn is_sdp(content_type: &[u8]) -> bool {
    const SDP: &[u8] = b"application/sdp";
    let name = content_type.trim_ascii_start().get(..SDP.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(SDP))
        && !content_type.trim_ascii_start().get(SDP.len()).is_some_and(|octet| {
            octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'+' | b'.')
        })
}

fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    content_type.split(|&octet| octet == b';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_at_checked(memchr::memchr(b'=', parameter)?)?;
        if !name.trim_ascii().eq_ignore_ascii_case(b"boundary") {
            return None;
        }
        let value = value[1..].trim_ascii();
        let value =
            value.strip_prefix(b"\"").map_or(value, |it| it.strip_suffix(b"\"").unwrap_or(it));
        // RFC 2046 §5.1.1.
        (1..=70).contains(&value.len()).then_some(value)
    })
}

fn in_parts(boundary: &[u8], body: &[u8]) -> Found {
    let delimiter = [b"--", boundary].concat();
    let starts_line = |at: usize| at == 0 || body[..at].ends_with(b"\n");
    let marks: Vec<usize> = memmem::find_iter(body, &delimiter)
        .filter(|&at| starts_line(at))
        .take(PARTS_MAX + 1)
        .collect();
    let mut found = Found::Nothing;
    for (n, &mark) in marks.iter().enumerate() {
        let after = mark + delimiter.len();
        if body[after..].starts_with(b"--") {
            break;
        }
        if n == PARTS_MAX {
            return Found::Beside;
        }
        let Some(line) = memchr::memchr(b'\n', &body[after..]) else { break };
        let start = after + line + 1;
        // The line end in front of a delimiter belongs to that.
        let end = marks.get(n + 1).map_or(body.len(), |&next| {
            let before = &body[..next];
            let cut = before.strip_suffix(b"\r\n").or_else(|| before.strip_suffix(b"\n"));
            cut.unwrap_or(before).len()
        });
        let Some(part) = body.get(start..end) else { continue };
        match in_part(part) {
            Found::Part(range) if found == Found::Nothing => {
                found = Found::Part(start + range.start..start + range.end);
            }
            Found::Part(_) | Found::Beside => return Found::Beside,
            Found::Unreadable => return Found::Unreadable,
            Found::Nothing | Found::Whole => {}
        }
    }
    found
}

/// Whether a part has parts of its own among which a description is named.
fn nests(kind: &[u8], part: &[u8]) -> bool {
    const SDP: &[u8] = b"application/sdp";
    kind.get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"multipart/"))
        && part.windows(SDP.len()).any(|it| it.eq_ignore_ascii_case(SDP))
}

/// A part: its own headers, an empty line, and what it has.
fn in_part(part: &[u8]) -> Found {
    let (mut at, mut sdp, mut odd, mut other) = (0, false, false, false);
    loop {
        let Some(length) = memchr::memchr(b'\n', &part[at..]) else { return Found::Nothing };
        let line = part[at..at + length].trim_ascii();
        at += length + 1;
        if line.is_empty() {
            break;
        }
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if is(b"Content-Type") || is(b"c") {
            if nests(value, part) {
                return Found::Beside;
            }
            sdp = is_sdp(value);
        } else if is(b"Content-Disposition") {
            // Another session's: early media of its own (RFC 3959), recording metadata.
            other = !value.get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"session"));
        } else if is(b"Content-Encoding") || is(b"Content-Length") {
            odd = true;
        } else if is(b"Content-Transfer-Encoding") {
            let plain = [&b"binary"[..], b"8bit", b"7bit"];
            odd |= !plain.iter().any(|it| value.eq_ignore_ascii_case(it));
        }
    }
    match (sdp && at < part.len(), odd) {
        (false, _) => Found::Nothing,
        (true, _) if other => Found::Beside,
        (true, true) => Found::Unreadable,
        (true, false) => Found::Part(at..part.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(kind: &[u8], body: &'a [u8]) -> Option<&'a [u8]> {
        match find(kind, body) {
            Found::Part(range) => Some(&body[range]),
            _ => None,
        }
    }

    #[test]
    fn a_whole_body_is_one_by_its_type() {
        for kind in [&b"application/sdp"[..], b"Application/SDP; charset=utf-8"] {
            assert_eq!(find(kind, b"v=0\r\n"), Found::Whole);
        }
        for kind in [&b"text/plain"[..], b"application/sdpfrag", b"application/sdp-other", b""] {
            assert_eq!(find(kind, b"v=0\r\n"), Found::Beside);
            assert_eq!(find(kind, b"a=candidate\r\n"), Found::Nothing);
        }
        assert_eq!(find(b"application/sdp", b""), Found::Nothing);
        assert_eq!(find(b"application/sdp", b"v=0\r\ns=-\r\nv=0\r\n"), Found::Beside);
    }

    #[test]
    fn one_part_of_several_is_found_without_the_line_end_of_its_delimiter() {
        let kind = b"multipart/mixed;boundary=\"b 1\"";
        let body = b"preamble --b 1\r\n--b 1\r\nContent-Type: application/pidf+xml\r\n\r\n<a/>\r\n\
            --b 1\r\nContent-ID: <x>\r\nContent-Type: application/sdp\r\n\r\nv=0\r\ns=-\r\n\
            \r\n--b 1--\r\n";
        assert_eq!(part(kind, body), Some(&b"v=0\r\ns=-\r\n"[..]));
        let body = b"--b 1\nc: application/sdp\n\nv=0\n\n--b 1--";
        assert_eq!(part(kind, body), Some(&b"v=0\n"[..]));
        assert_eq!(find(b"multipart/mixed", body), Found::Beside);
    }

    #[test]
    fn what_is_compressed_is_not_taken_for_nothing_and_other_sessions_are() {
        let kind = b"multipart/mixed; boundary=x";
        let body = |line: &str| {
            format!("--x\r\nContent-Type: application/sdp\r\n{line}\r\n\r\nv=0\r\n\r\n--x--\r\n")
        };
        for line in ["Content-Encoding: gzip", "Content-Transfer-Encoding: base64"] {
            assert_eq!(find(kind, body(line).as_bytes()), Found::Unreadable);
        }
        let early = body("Content-Disposition: early-session");
        assert_eq!(find(kind, early.as_bytes()), Found::Beside);
        let own = body("Content-Disposition: session;handling=required");
        assert!(matches!(find(kind, own.as_bytes()), Found::Part(_)));
    }

    #[test]
    fn no_description_passes_beside_the_one_that_is_taken() {
        let kind = b"multipart/mixed; boundary=x";
        let sdp = "--x\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n\r\n";
        let text = "--x\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
        let of = |parts: &str| find(kind, format!("{parts}--x--\r\n").as_bytes());
        assert!(matches!(of(&format!("{text}{sdp}")), Found::Part(_)));
        assert_eq!(of(&format!("{sdp}{sdp}")), Found::Beside);
        let nested = "--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\
            Content-Type: Application/SDP\r\nContent-Transfer-Encoding: base64\r\n\r\n\
            dj0wCg==\r\n--y--\r\n";
        assert_eq!(of(nested), Found::Beside);
        assert_eq!(of(&text.repeat(16)), Found::Nothing);
        assert_eq!(of(&format!("{}{sdp}", text.repeat(16))), Found::Beside);
        assert_eq!(of(&sdp.replace("application/sdp", "text/plain")), Found::Beside);
        assert_eq!(find(b"", b"v=0\r\n"), Found::Beside);
        assert!(has_any(b"", b"v=0\r\n") && !has_any(b"text/plain", b"busy\r\n"));
    }

    #[test]
    fn bodies_cut_anywhere_are_looked_at_without_harm() {
        let body = b"--x\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n\r\n--x\r\n\r\n--x--\r\n";
        for cut in 0..body.len() {
            for from in 0..cut {
                let _ = find(b"multipart/mixed; boundary=x", &body[from..cut]);
            }
        }
    }
}
