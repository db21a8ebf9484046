//! [`Message::check`]: every known header held to its row's grammar.
//!
//! [`Message::parse`] reads what routing needs; an element that must answer 400 to anything
//! malformed (RFC 3261 §16.3 says when) asks for the rest here.

use crate::address::NameAddr;
use crate::cseq::CSeq;
use crate::header::{Grammar, Header, Shape};
use crate::message::{Line, Message};
use crate::octet::{self, SPACE, TOKEN, URI};
use crate::param::{self, Items};
use crate::via::Via;
use crate::view;
use wire::Malformed;

const SPEC: &str = "RFC 3261 §25.1";

impl Message<'_> {
    /// Holds every header with a row to its grammar, and its shape: what stands once stands once.
    ///
    /// # Errors
    /// The first value that is malformed, with the offset of the value in the message.
    pub fn check(&self) -> Result<(), Malformed> {
        for line in self.lines() {
            let at = line.value.as_ptr() as usize - self.raw().as_ptr() as usize;
            check_line(&line).map_err(|m| m.shifted(at))?;
            let is_single = line.header.shape() == Shape::Single;
            if is_single && self.lines_of(line.header).nth(1).is_some() {
                return Err(Malformed::new(at, "header stands twice", "RFC 3261 §7.3.1"));
            }
        }
        Ok(())
    }
}

/// Holds one line's value to the grammar of its header, as [`Message::check`] does.
///
/// # Errors
/// The first violation; its offset counts from the start of the value.
pub fn check_header(header: Header, value: &[u8]) -> Result<(), Malformed> {
    check_line(&Line { header, name: b"", value, raw: b"" })
}

/// Checks the values of one line; offsets count from the start of the line's value.
fn check_line(line: &Line<'_>) -> Result<(), Malformed> {
    let grammar = line.header.grammar();
    if line.header.shape() != Shape::List {
        return check_value(line.header, grammar, line.value);
    }
    if grammar == Grammar::Contact && line.value == b"*" {
        return Ok(());
    }
    if grammar != Grammar::Text && has_empty_item(line.value) {
        return Err(Malformed::new(0, "comma without a value", SPEC));
    }
    for item in Items::new(line.value) {
        let at = item.as_ptr() as usize - line.value.as_ptr() as usize;
        check_value(line.header, grammar, item).map_err(|m| m.shifted(at))?;
    }
    Ok(())
}

/// An empty list is fine where tokens may be none; an empty item between commas is not.
fn has_empty_item(value: &[u8]) -> bool {
    let commas = CommaCount { rest: value }.count();
    !octet::trim(value).is_empty() && Items::new(value).count() != commas + 1
}

/// The commas of a list outside of quotes and angle brackets.
struct CommaCount<'a> {
    rest: &'a [u8],
}

impl Iterator for CommaCount<'_> {
    type Item = ();

    fn next(&mut self) -> Option<()> {
        let end = param::item_end(self.rest);
        self.rest = self.rest.get(end + 1..)?;
        Some(())
    }
}

fn check_value(header: Header, grammar: Grammar, value: &[u8]) -> Result<(), Malformed> {
    match grammar {
        Grammar::Text => Ok(()),
        Grammar::Token => token(header, value),
        Grammar::Media => media(header, value),
        Grammar::Number => number(header, value),
        Grammar::Address | Grammar::Contact => address(value).map(|_| ()),
        Grammar::Route => route(value),
        Grammar::Reference => reference(header, value),
        Grammar::Via => Via::parse(value).map(|_| ()),
        Grammar::CallId => call_id(header, value),
        Grammar::CSeq => CSeq::parse(value).map(|_| ()),
        Grammar::Credentials => credentials(header, value),
        Grammar::Date => date(header, value),
        Grammar::RAck => view::RAck::parse(value).map(|_| ()),
        Grammar::Replaces => view::Replaces::parse(value).map(|_| ()),
        Grammar::Seconds => match header {
            Header::SessionExpires => view::SessionExpires::parse(value).map(|_| ()),
            Header::MinSe => view::min_se(value).map(|_| ()),
            _ => view::RetryAfter::parse(value).map(|_| ()),
        },
        Grammar::Warning => warning(header, value),
    }
}

fn token(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let end = octet::run(value, 0, TOKEN);
    if end == 0 {
        return Err(Malformed::new(0, "value is no token", header.spec()));
    }
    params(value, end)
}

fn media(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let slash = octet::skip_space(value, octet::run(value, 0, TOKEN));
    let start = octet::skip_space(value, slash + 1);
    let end = octet::run(value, start, TOKEN);
    if slash == 0 || value.get(slash) != Some(&b'/') || end == start {
        return Err(Malformed::new(0, "value is no media type", header.spec()));
    }
    params(value, end)
}

fn params(value: &[u8], at: usize) -> Result<(), Malformed> {
    param::check(&value[at..]).map_err(|m| m.shifted(at))
}

fn number(header: Header, value: &[u8]) -> Result<(), Malformed> {
    match octet::number::<u32>(value, u32::MAX.into()) {
        Some(_) => Ok(()),
        None => Err(Malformed::new(0, "value is not 0 to 2^32 - 1", header.spec())),
    }
}

/// An address; `expires` and `q` of a Contact are numbers.
fn address(value: &[u8]) -> Result<NameAddr<'_>, Malformed> {
    let address = NameAddr::parse(value)?;
    let start = address.uri.as_ptr() as usize - value.as_ptr() as usize;
    address.parse_uri().map_err(|m| m.shifted(start))?;
    let expires = address.param(b"expires");
    if expires.is_some_and(|text| octet::number::<u32>(text, u32::MAX.into()).is_none()) {
        let what = "expires is not 0 to 2^32 - 1";
        return Err(Malformed::new(0, what, Header::Contact.spec()));
    }
    Ok(address)
}

fn route(value: &[u8]) -> Result<(), Malformed> {
    if memchr::memchr(b'<', value).is_none() {
        return Err(Malformed::new(0, "URI stands outside of < >", "RFC 3261 §20.34"));
    }
    address(value).map(|_| ())
}

fn reference(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let end = octet::run(value, 1, URI);
    if value.first() != Some(&b'<') || value.get(end) != Some(&b'>') {
        return Err(Malformed::new(0, "value is no URI in < >", header.spec()));
    }
    params(value, end + 1)
}

fn call_id(header: Header, value: &[u8]) -> Result<(), Malformed> {
    if value.is_empty() || value.iter().any(|&octet| octet::is(octet, SPACE)) {
        return Err(Malformed::new(0, "Call-ID is no word", header.spec()));
    }
    Ok(())
}

/// A scheme, then anything for a scheme but Digest, whose parameters are `name=value`.
fn credentials(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let end = octet::run(value, 0, TOKEN);
    if end == 0 || octet::skip_space(value, end) == end {
        return Err(Malformed::new(0, "credentials without a scheme", header.spec()));
    }
    if !octet::same(&value[..end], b"Digest") {
        return Ok(());
    }
    for item in Items::new(&value[end..]) {
        let equals = memchr::memchr(b'=', item).unwrap_or(0);
        if !octet::is_token(octet::trim(&item[..equals])) {
            let at = item.as_ptr() as usize - value.as_ptr() as usize;
            return Err(Malformed::new(at, "Digest parameter is not name=value", header.spec()));
        }
    }
    Ok(())
}

const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// `Sat, 13 Nov 2010 23:29:00 GMT`; no other zone (RFC 3261 §20.17).
fn date(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let is_number = |text: &[u8], min: u64, max: u64| {
        octet::number::<u64>(text, max).is_some_and(|number| number >= min)
    };
    let is_date = value.len() == 29
        && DAYS.contains(&&value[..3])
        && is_number(&value[5..7], 1, 31)
        && MONTHS.contains(&&value[8..11])
        && is_number(&value[12..16], 0, 9999)
        && is_number(&value[17..19], 0, 23)
        && is_number(&value[20..22], 0, 59)
        && is_number(&value[23..25], 0, 60)
        && [(3, 5, &b", "[..]), (7, 8, b" "), (11, 12, b" "), (16, 17, b" "), (19, 20, b":")]
            .iter()
            .all(|&(start, end, text)| &value[start..end] == text)
        && &value[22..23] == b":"
        && &value[25..] == b" GMT";
    if is_date {
        return Ok(());
    }
    Err(Malformed::new(0, "date is not in GMT as RFC 1123 has it", header.spec()))
}

fn warning(header: Header, value: &[u8]) -> Result<(), Malformed> {
    let mut parts = value.splitn(3, |&octet| octet == b' ');
    let code = parts.next().unwrap_or(b"");
    let agent = parts.next().unwrap_or(b"");
    let text = octet::trim(parts.next().unwrap_or(b""));
    let is_code = code.len() == 3 && octet::number::<u16>(code, 999).is_some();
    let is_text = text.first() == Some(&b'"') && octet::quoted_end(text, 0) == Some(text.len());
    if is_code && !agent.is_empty() && is_text {
        return Ok(());
    }
    let what = "warning is not a code of three digits, an agent and a quoted text";
    Err(Malformed::new(0, what, header.spec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: Header, value: &str) -> Result<(), &'static str> {
        check_header(header, value.as_bytes()).map_err(|violation| violation.what)
    }

    #[test]
    fn values_that_follow_their_grammar_pass() {
        for (header, value) in [
            (Header::Supported, ""),
            (Header::Supported, "100rel, timer"),
            (Header::Accept, "application/sdp;level=1, text/*;q=0.5, */*"),
            (Header::Contact, "*"),
            (Header::Contact, "\"a,b\" <sip:a@b>;expires=5, sip:c@d"),
            (Header::Date, "Sat, 13 Nov 2010 23:29:00 GMT"),
            (Header::Warning, "307 isi.edu \"Session parameter, not understood\""),
            (Header::Authorization, "Digest username=\"a,b\", realm=\"c\""),
            (Header::Authorization, "NoOneKnowsThisScheme opaque-data=here"),
            (Header::AlertInfo, "<http://www.example.com/sounds/moo.wav>;x=1"),
            (Header::RetryAfter, "18000;duration=3600"),
            (Header::MaxBreadth, "60"),
        ] {
            assert_eq!(check(header, value), Ok(()), "{header:?}: {value}");
        }
    }

    #[test]
    fn values_that_do_not_are_named() {
        for (header, value, what) in [
            (Header::Supported, "a,,b", "comma without a value"),
            (Header::Supported, "a,", "comma without a value"),
            (Header::Accept, "sdp", "value is no media type"),
            (Header::Contact, "\"Joe\" <sip:joe@example.org>;;;;", "parameter without a name"),
            (Header::Contact, "<sip:a@b>;expires=280297596632815", "expires is not 0 to 2^32 - 1"),
            (
                Header::Date,
                "Fri, 01 Jan 2010 16:00:00 EST",
                "date is not in GMT as RFC 1123 has it",
            ),
            (
                Header::Warning,
                "1812 overture \"In Progress\"",
                "warning is not a code of three digits, an agent and a quoted text",
            ),
            (Header::Route, "sip:a@b", "URI stands outside of < >"),
            (Header::Expires, "36893488147419103232", "value is not 0 to 2^32 - 1"),
            (Header::Authorization, "Digest", "credentials without a scheme"),
        ] {
            assert_eq!(check(header, value), Err(what), "{header:?}: {value}");
        }
    }
}
