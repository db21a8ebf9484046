//! How much work a document may make: the parser compares each attribute of an element with those
//! before it, and each namespace that an element declares with all that are in scope.

use crate::{ATTRIBUTES_MAX, DEPTH_MAX, NAMESPACES_MAX};
use wire::Malformed;

const SPEC: &str = "RFC 3680 §5.4";

/// What stands between two places and is no element, and how it ends.
const PASSED_OVER: [(&[u8], &[u8]); 3] =
    [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// A start tag.
struct Tag {
    /// Behind it.
    end: usize,
    /// Namespaces that it declares.
    namespaces: usize,
    is_empty: bool,
}

/// Looks at a document before it is parsed. What is no well-formed XML the parser finds, which
/// comes no further than this.
pub(crate) fn check(text: &[u8]) -> Result<(), Malformed> {
    // Of each element that is open, the namespaces that it declares.
    let mut open: Vec<usize> = Vec::new();
    let (mut in_scope, mut at) = (0, 0);
    while let Some(begin) = find(text, at, b"<") {
        let passed_over = PASSED_OVER.iter().find(|(word, _)| text[begin..].starts_with(word));
        if let Some((word, end)) = passed_over {
            let Some(found) = find(text, begin + word.len(), end) else { return Ok(()) };
            at = found + end.len();
            continue;
        }
        if text[begin..].starts_with(b"<!") {
            return Ok(()); // a document type, which is refused where it begins
        }
        if text[begin..].starts_with(b"</") {
            in_scope -= open.pop().unwrap_or(0);
            at = begin + 2;
            continue;
        }
        let Some(tag) = tag(text, begin)? else { return Ok(()) };
        if in_scope + tag.namespaces > NAMESPACES_MAX {
            return Err(Malformed::new(begin, "it has too many namespaces in scope", SPEC));
        }
        if !tag.is_empty {
            open.push(tag.namespaces);
            in_scope += tag.namespaces;
        }
        if open.len() > DEPTH_MAX {
            return Err(Malformed::new(begin, "its elements are too deep", SPEC));
        }
        at = tag.end;
    }
    Ok(())
}

fn find(text: &[u8], from: usize, word: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(word.len()).position(|it| it == word).map(|at| from + at)
}

/// The start tag that begins there; one without an end: none.
fn tag(text: &[u8], begin: usize) -> Result<Option<Tag>, Malformed> {
    let (mut at, mut behind) = (begin + 1, begin + 1);
    let (mut attributes, mut namespaces) = (0, 0);
    while let Some(octet) = text.get(at) {
        if *octet == b'>' {
            let is_empty = text[at - 1] == b'/';
            return Ok(Some(Tag { end: at + 1, namespaces, is_empty }));
        }
        if !matches!(octet, b'"' | b'\'') {
            at += 1;
            continue;
        }
        attributes += 1;
        namespaces += usize::from(declares(&text[behind..at]));
        if attributes > ATTRIBUTES_MAX {
            return Err(Malformed::new(begin, "an element has too many attributes", SPEC));
        }
        let Some(end) = find(text, at + 1, &[*octet]) else { return Ok(None) };
        at = end + 1;
        behind = at;
    }
    Ok(None)
}

/// Whether the attribute whose name and equals sign end there declares a namespace.
fn declares(before: &[u8]) -> bool {
    let is_no_name = |octet: &u8| octet.is_ascii_whitespace() || *octet == b'=';
    let mut words = before.split(is_no_name).rev();
    words.find(|word| !word.is_empty()).is_some_and(|name| name.starts_with(b"xmlns"))
}
