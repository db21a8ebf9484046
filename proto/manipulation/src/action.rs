//! What a rule does, as splices of the message it does it to.

use super::condition::Groups;
use super::pattern::{Pattern, unfolded};
use super::splice::{Splices, offset};
use super::target::{REASON_BIT, Target, URI_BIT};
use super::template::Template;
use sip::{Header, HeaderIndex, HeaderSet, NameAddr, Scheme, Shape, Start};

/// One action, compiled.
#[derive(Debug, Clone)]
pub enum Action {
    /// A further line.
    Add(Target, Template),
    /// One line with this value, changed or added.
    Set(Target, Template),
    /// No line.
    Remove(Target),
    /// Every match becomes the value.
    Replace(Target, Pattern, Template),
    /// Another name.
    Rename(Target, Target),
    /// The Request-URI's user part.
    UriUser(Template),
    /// The Request-URI's host.
    UriHost(Template),
    /// The response's reason phrase.
    Reason(Template),
}

impl Action {
    /// What it changes, one bit per header.
    pub fn bits(&self) -> HeaderSet {
        match self {
            Self::Add(target, _)
            | Self::Set(target, _)
            | Self::Remove(target)
            | Self::Replace(target, ..) => target.bit(),
            Self::Rename(from, to) => from.bit().and(to.bit()),
            Self::UriUser(_) | Self::UriHost(_) => URI_BIT,
            Self::Reason(_) => REASON_BIT,
        }
    }

    /// Appends the splices that do it; says whether there were any.
    pub fn plan(&self, message: &HeaderIndex<'_>, groups: &Groups, splices: &mut Splices) -> bool {
        let before = splices.len();
        match self {
            Self::Add(target, value) => {
                let is_enough = target.header.shape() == Shape::Single && target.is_in(message);
                if !is_enough {
                    add(target, value, message, groups, splices);
                }
            }
            Self::Set(target, value) => set(target, value, message, groups, splices),
            Self::Remove(target) => {
                for line in target.lines(message) {
                    splices.drop(offset(message, line.raw), line.raw.len());
                }
            }
            Self::Replace(target, pattern, value) => {
                for line in target.lines(message) {
                    let header = target.header;
                    let old = changeable(header, line.value);
                    replace(header, old, pattern, value, message, splices);
                }
            }
            Self::Rename(from, to) => {
                for line in from.lines(message) {
                    let at = offset(message, line.name);
                    splices.write(at, line.name.len(), |out| out.extend_from_slice(&to.name));
                }
            }
            Self::UriUser(user) => uri_user(user, message, groups, splices),
            Self::UriHost(host) => uri_host(host, message, groups, splices),
            Self::Reason(reason) => {
                if let Start::Response { reason: old, .. } = message.start() {
                    splices.write(offset(message, old), old.len(), |out| {
                        reason.write(out, |number| groups.text(message.raw(), number));
                    });
                }
            }
        }
        splices.len() > before
    }
}

/// The part of a value that may change: of From and To what stands before the parameters, because
/// their tags name the dialog (RFC 3261 §12).
#[inline]
fn changeable(header: Header, value: &[u8]) -> &[u8] {
    if !matches!(header, Header::From | Header::To) {
        return value;
    }
    let params = NameAddr::parse(value).map_or(0, |address| address.params.len());
    value[..value.len() - params].trim_ascii_end()
}

fn add(
    target: &Target,
    value: &Template,
    message: &HeaderIndex<'_>,
    groups: &Groups,
    splices: &mut Splices,
) {
    splices.write(message.head_end(), 0, |out| {
        out.extend_from_slice(&target.name);
        out.extend_from_slice(b": ");
        value.write(out, |number| groups.text(message.raw(), number));
        out.extend_from_slice(b"\r\n");
    });
}

fn set(
    target: &Target,
    value: &Template,
    message: &HeaderIndex<'_>,
    groups: &Groups,
    splices: &mut Splices,
) {
    let mut lines = target.lines(message);
    let Some(first) = lines.next() else { return add(target, value, message, groups, splices) };
    let old = changeable(target.header, first.value);
    let is_fit = splices.write_checked(offset(message, old), old.len(), |out| {
        let start = out.len();
        value.write(out, |number| groups.text(message.raw(), number));
        is_fit(target.header, &out[start..])
    });
    if !is_fit {
        splices.refuse();
    }
    for line in lines {
        splices.drop(offset(message, line.raw), line.raw.len());
    }
}

/// Whether a value may stand in the header: From and To must stay readable whatever groups caught.
#[inline]
fn is_fit(header: Header, value: &[u8]) -> bool {
    !matches!(header, Header::From | Header::To)
        || NameAddr::parse(value).is_ok_and(|address| address.params.is_empty())
}

fn replace(
    header: Header,
    old: &[u8],
    pattern: &Pattern,
    value: &Template,
    message: &HeaderIndex<'_>,
    splices: &mut Splices,
) {
    let (place, length) = (offset(message, old), old.len());
    let flat = unfolded(old);
    let old = flat.as_ref().map_or(old, |(text, _)| text);
    let mut is_found = false;
    let is_done = splices.write_checked(place, length, |out| {
        let begin = out.len();
        let (mut copied, mut at) = (0, 0);
        while at <= old.len() {
            let caught = pattern.find(old, at);
            let Some((caught, (start, end))) = caught.and_then(|c| Some((c, c.span(0)?))) else {
                break;
            };
            is_found = true;
            out.extend_from_slice(&old[copied..start]);
            value.write(out, |number| {
                caught.span(number).map_or(&b""[..], |(start, end)| &old[start..end])
            });
            copied = end;
            at = if end > start { end } else { end + 1 };
        }
        out.extend_from_slice(&old[copied..]);
        is_found && is_fit(header, &out[begin..])
    });
    if is_found && !is_done {
        splices.refuse();
    }
}

/// A user part may hold what RFC 3261 §25.1 lets it; anything else leaves the URI as it is.
fn uri_user(user: &Template, message: &HeaderIndex<'_>, groups: &Groups, splices: &mut Splices) {
    let Some(uri) = message.uri() else { return };
    let (at, length, end) = match (uri.scheme, uri.user) {
        (Scheme::Other, _) => return,
        (_, Some(old)) => (offset(message, old), old.len(), &b""[..]),
        (_, None) => (offset(message, uri.host), 0, &b"@"[..]),
    };
    let is_user =
        |octet: &u8| octet.is_ascii_alphanumeric() || b"-_.!~*'()%&=+$,;?/#".contains(octet);
    splices.write_checked(at, length, |out| {
        let start = out.len();
        user.write(out, |number| groups.text(message.raw(), number));
        let is_good = out.len() > start && out[start..].iter().all(is_user);
        out.extend_from_slice(end);
        is_good
    });
}

fn uri_host(host: &Template, message: &HeaderIndex<'_>, groups: &Groups, splices: &mut Splices) {
    let Some(uri) = message.uri() else { return };
    if uri.host.is_empty() {
        return;
    }
    let is_host = |octet: &u8| octet.is_ascii_alphanumeric() || b"-_.[]:".contains(octet);
    splices.write_checked(offset(message, uri.host), uri.host.len(), |out| {
        let start = out.len();
        host.write(out, |number| groups.text(message.raw(), number));
        out.len() > start && out[start..].iter().all(is_host)
    });
}
