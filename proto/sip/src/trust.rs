//! The border of a trust domain (RFC 3324 §2.3, TS 24.229 §4.4): headers that mean something
//! only where the network vouches for them. One row each: what becomes of it when it comes from
//! somebody who is not believed, what on its way to somebody who is not trusted, and who says so.
//!
//! What has no row crosses, such as `Identity` (RFC 8224: its signature is its proof),
//! `Geolocation` (RFC 6442: what the caller says of himself) and `P-Called-Party-ID` on its way to
//! him who is called.

//!
//! Where a header may cross but a parameter in it speaks for the network, the parameter alone is
//! taken out ([`PARAM_ROWS`]).

use crate::{Header, HeaderSet, Items, Message, octet, unescaped};

/// When a header does not cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It crosses.
    Never,
    /// It does not.
    Always,
    /// Where it says `network-provided`, which a terminal does not say (TS 24.229 §5.2.6.3).
    NetworkProvided,
    /// Where it says more than `supported`: it grants media (RFC 5009).
    Granting,
    /// Where it says `psap-callback`, which the network alone may say (RFC 7090 §5).
    PsapCallback,
    /// Where the caller wants to be hidden: `Privacy` with `id`, `user` or `header` (RFC 3323
    /// §4.2, RFC 3325 §9.3), or a `privacy` parameter of its own.
    Private,
    /// Where former targets are to be hidden: `Privacy` with `history`, `user`, `session` or
    /// `header`, in the message or in an entry (RFC 7044 §10.1).
    PrivateHistory,
}

/// One header at the border.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The header.
    pub header: Header,
    /// When it is dropped on its way in, from who is not believed.
    pub inward: When,
    /// When it is dropped on its way out, to who is not trusted.
    pub outward: When,
    /// Who says so.
    pub spec: &'static str,
}

const fn row(header: Header, inward: When, outward: When, spec: &'static str) -> Row {
    Row { header, inward, outward, spec }
}

use When::{Always, Granting, NetworkProvided, Never, Private, PrivateHistory, PsapCallback};

/// Every header that does not cross as it likes.
pub const ROWS: &[Row] = &[
    row(Header::PAssertedIdentity, Always, Private, "RFC 3325 §5, §7"),
    row(Header::PPreferredIdentity, Never, Always, "RFC 3325 §5, §6"),
    row(Header::RemotePartyId, Always, Private, "draft-ietf-sip-privacy-04"),
    row(Header::PAssertedService, Always, Always, "RFC 6050 §4.1"),
    row(Header::PPreferredService, Never, Always, "RFC 6050 §4.2"),
    row(Header::PServedUser, Always, Always, "RFC 5502 §6, RFC 8498"),
    row(Header::PCalledPartyId, Always, Never, "RFC 7315 §4.2"),
    row(Header::PAssociatedUri, Always, Never, "RFC 7315 §4.1"),
    row(Header::PProfileKey, Always, Always, "RFC 5002"),
    row(Header::PUserDatabase, Always, Always, "RFC 4457"),
    row(Header::PChargingVector, Always, Always, "RFC 7315 §4.6"),
    row(Header::PChargingFunctionAddresses, Always, Always, "RFC 7315 §4.5"),
    row(Header::PChargeInfo, Always, Always, "RFC 8496"),
    row(Header::RelayedCharge, Always, Always, "TS 24.229 §4.4"),
    row(Header::PVisitedNetworkId, Always, Always, "RFC 7315 §4.3"),
    row(Header::PAccessNetworkInfo, NetworkProvided, Always, "RFC 7315 §4.4, TS 24.229 §4.4"),
    row(Header::CellularNetworkInfo, NetworkProvided, Always, "TS 24.229 §4.4"),
    row(Header::PPrivateNetworkIndication, Always, Always, "RFC 7316"),
    row(Header::PEarlyMedia, Granting, Never, "RFC 5009"),
    row(Header::PMediaAuthorization, Always, Never, "RFC 3313"),
    row(Header::PRefusedUriList, Always, Never, "RFC 5318"),
    row(Header::PDcsBillingInfo, Always, Always, "RFC 5503 §7"),
    row(Header::PDcsOsps, Always, Always, "RFC 5503 §6"),
    row(Header::PDcsTracePartyId, Always, Always, "RFC 5503 §5"),
    row(Header::PDcsLaes, Always, Always, "RFC 5503 §8"),
    row(Header::PDcsRedirect, Always, Always, "RFC 5503 §8"),
    row(Header::HistoryInfo, Always, PrivateHistory, "RFC 7044 §10.1, TS 24.229 §4.4"),
    row(Header::Diversion, Always, Private, "RFC 5806"),
    row(Header::ResourcePriority, Always, Never, "RFC 4412, RFC 7135, TS 24.229 §4.4"),
    row(Header::Priority, PsapCallback, Never, "RFC 7090 §5, TS 24.229 §4.4"),
    row(Header::PriorityVerstat, Always, Always, "TS 24.229 §4.4"),
    row(Header::AdditionalIdentity, Always, Always, "TS 24.229 §4.4"),
    row(Header::AttestationInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::OriginationId, Always, Always, "TS 24.229 §4.4"),
    row(Header::FeatureCaps, Always, Never, "RFC 6809, TS 24.229 §4.4"),
    row(Header::RestorationInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::ServiceInteractInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::ResponseSource, Always, Always, "TS 24.229 §4.4"),
];

/// One parameter at the border: it is taken out of what comes from who is not believed.
#[derive(Debug, Clone, Copy)]
pub struct ParamRow {
    /// The headers it may stand in.
    pub headers: &'static [Header],
    /// Its name.
    pub name: &'static str,
    /// Who says so.
    pub spec: &'static str,
}

const CREDENTIALS: &[Header] = &[Header::Authorization, Header::ProxyAuthorization];
const PARTIES: &[Header] =
    &[Header::From, Header::PPreferredIdentity, Header::PAssertedIdentity, Header::RemotePartyId];

const fn claim(headers: &'static [Header], name: &'static str, spec: &'static str) -> ParamRow {
    ParamRow { headers, name, spec }
}

/// Every parameter that only the network may write.
pub const PARAM_ROWS: &[ParamRow] = &[
    claim(CREDENTIALS, "integrity-protected", "TS 24.229 §5.2.2, §7.2A.2"),
    claim(PARTIES, "verstat", "TS 24.229 §7.2A.20"),
    claim(PARTIES, "cpc", "TS 24.229 §7.2A.12"),
    claim(PARTIES, "oli", "TS 24.229 §7.2A.12"),
];

/// The headers of these rows.
const CLAIMING: HeaderSet = HeaderSet::of(CREDENTIALS).and(HeaderSet::of(PARTIES));

/// Whether a request may have parameters of [`PARAM_ROWS`]: a look that costs little.
#[must_use]
#[inline]
pub fn may_claim(message: &Message<'_>) -> bool {
    let (from, tag) = (message.from(), message.from_tag().unwrap_or_default());
    // A tag is there as a rule, and nothing else.
    let has_params =
        from.params.len() > b";tag=".len() + tag.len() || memchr::memchr(b';', from.uri).is_some();
    let others = [
        Header::Authorization,
        Header::ProxyAuthorization,
        Header::PPreferredIdentity,
        Header::PAssertedIdentity,
        Header::RemotePartyId,
    ];
    message.is_request() && (has_params || others.into_iter().any(|header| message.has(header)))
}

/// Appends a message without the parameters of [`PARAM_ROWS`], but for those in headers of
/// `passes`. `false`, and nothing is appended: it has none.
pub fn write_unclaimed(message: &Message<'_>, passes: HeaderSet, out: &mut Vec<u8>) -> bool {
    let (begin, raw) = (out.len(), message.raw());
    let (mut copied, mut is_changed) = (0, false);
    let claiming = message.rows().enumerate();
    let claiming = claiming.filter(|(_, (row, _))| CLAIMING.has(*row) && !passes.has(*row));
    for line in claiming.map(|(number, _)| message.line(number)) {
        let at = line.value.as_ptr() as usize - raw.as_ptr() as usize;
        out.extend_from_slice(&raw[copied..at]);
        copied = at + line.value.len();
        is_changed |= if CREDENTIALS.contains(&line.header) {
            credentials(line.header, line.value, out)
        } else {
            address(line.header, line.value, out)
        };
    }
    if is_changed {
        out.extend_from_slice(&raw[copied..]);
    } else {
        out.truncate(begin);
    }
    is_changed
}

/// Whether a parameter does not cross in that header.
fn is_claim(header: Header, name: &[u8]) -> bool {
    PARAM_ROWS.iter().any(|row| is(name, row.name.as_bytes()) && row.headers.contains(&header))
}

/// Writes credentials without what only the network may say; says whether there was any.
fn credentials(header: Header, value: &[u8], out: &mut Vec<u8>) -> bool {
    let scheme = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    let is_ours = |item: &&[u8]| {
        let name = &item[..memchr::memchr(b'=', item).unwrap_or(item.len())];
        is_claim(header, name.trim_ascii())
    };
    if !Items::new(&value[scheme..]).any(|item| is_ours(&item)) {
        out.extend_from_slice(value);
        return false;
    }
    out.extend_from_slice(&value[..scheme]);
    for (n, item) in Items::new(&value[scheme..]).filter(|item| !is_ours(item)).enumerate() {
        out.extend_from_slice(if n == 0 { b" " } else { b", " });
        out.extend_from_slice(item);
    }
    true
}

/// Writes an address without what only the network may say, be it a parameter of the URI, of its
/// user part or of the header; says whether there was any.
fn address(header: Header, value: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut at, mut copied, mut is_changed) = (0, 0, false);
    while let Some(behind) = memchr::memchr2(b'"', b';', &value[at..]) {
        at += behind;
        if value[at] == b'"' {
            at = octet::quoted_end(value, at).unwrap_or(value.len());
            continue;
        }
        let end = param_end(value, at + 1);
        let param = &value[at + 1..end];
        let name = &param[..memchr::memchr(b'=', param).unwrap_or(param.len())];
        if is_claim(header, unescaped(name.trim_ascii()).trim_ascii()) {
            out.extend_from_slice(&value[copied..at]);
            (copied, is_changed) = (end, true);
        }
        at = end;
    }
    out.extend_from_slice(&value[copied..]);
    is_changed
}

/// Where a parameter ends that begins at `at`.
fn param_end(value: &[u8], mut at: usize) -> usize {
    while let Some(octet) = value.get(at) {
        match octet {
            b';' | b'>' | b'<' | b'@' | b'?' | b',' | b':' => break,
            b'"' => at = octet::quoted_end(value, at).unwrap_or(value.len()),
            _ => at += 1,
        }
    }
    at
}

/// The rows of one direction that depend on what a message says.
const INWARD_WORDS: [(Header, When); words(true)] = depending(true);
const OUTWARD_WORDS: [(Header, When); words(false)] = depending(false);
const INWARD: HeaderSet = always(true);
const OUTWARD: HeaderSet = always(false);

const fn when(row: &Row, inward: bool) -> When {
    if inward { row.inward } else { row.outward }
}

const fn always(inward: bool) -> HeaderSet {
    let (mut set, mut at) = (HeaderSet::of(&[]), 0);
    while at < ROWS.len() {
        if matches!(when(&ROWS[at], inward), Always) {
            set = set.and(HeaderSet::of(&[ROWS[at].header]));
        }
        at += 1;
    }
    set
}

const fn words(inward: bool) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < ROWS.len() {
        count += !matches!(when(&ROWS[at], inward), Always | Never) as usize;
        at += 1;
    }
    count
}

const fn depending<const N: usize>(inward: bool) -> [(Header, When); N] {
    let mut found = [(Header::Unknown, Never); N];
    let (mut count, mut at) = (0, 0);
    while at < ROWS.len() {
        let rule = when(&ROWS[at], inward);
        if !matches!(rule, Always | Never) {
            found[count] = (ROWS[at].header, rule);
            count += 1;
        }
        at += 1;
    }
    found
}

/// The headers that a message from who is not believed loses.
#[must_use]
#[inline]
pub fn inward(message: &Message<'_>) -> HeaderSet {
    met(INWARD, &INWARD_WORDS, message)
}

/// The headers that a message loses on its way to who is not trusted.
#[must_use]
#[inline]
pub fn outward(message: &Message<'_>) -> HeaderSet {
    met(OUTWARD, &OUTWARD_WORDS, message)
}

/// The set, and the rows whose condition is met.
#[inline]
fn met(mut set: HeaderSet, rules: &[(Header, When)], message: &Message<'_>) -> HeaderSet {
    for &(header, rule) in rules {
        if message.has(header) && rule.is_met(header, message) {
            set = set.and(HeaderSet::of(&[header]));
        }
    }
    set
}

impl When {
    /// Whether a header does not cross; all its lines are looked at, and fall together.
    #[cold]
    fn is_met(self, header: Header, message: &Message<'_>) -> bool {
        let any = |is_it: fn(&[u8]) -> bool| message.lines_of(header).any(|line| is_it(line.value));
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::NetworkProvided => any(|value| has_word(value, b"network-provided")),
            Self::Granting => any(|value| split(value).any(|word| !is(word, b"supported"))),
            Self::PsapCallback => any(|value| has_word(value, b"psap-callback")),
            Self::Private => any(has_privacy) || asks(message, &[b"id", b"user", b"header"]),
            Self::PrivateHistory => {
                any(has_privacy) || asks(message, &[b"history", b"user", b"session", b"header"])
            }
        }
    }
}

/// Whether the message's Privacy has one of these words.
fn asks(message: &Message<'_>, words: &[&[u8]]) -> bool {
    let mut lines = message.lines_of(Header::Privacy);
    lines.any(|line| words.iter().any(|word| has_word(line.value, word)))
}

fn is(word: &[u8], wanted: &[u8]) -> bool {
    word.eq_ignore_ascii_case(wanted)
}

/// The words of a value, whatever stands between them: rather one too many than one too few.
fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = value.split(|octet| !octet.is_ascii_alphanumeric() && !b"-_.".contains(octet));
    words.filter(|word| !word.is_empty())
}

fn has_word(value: &[u8], wanted: &[u8]) -> bool {
    split(value).any(|word| is(word, wanted))
}

/// Whether a value has a `privacy` of its own, as a parameter or as a header of its URI, that asks
/// for some.
fn has_privacy(value: &[u8]) -> bool {
    const NAME: &[u8] = b"privacy";
    let places = memchr::memchr2_iter(b'p', b'P', value)
        .filter(|&at| value.get(at..at + NAME.len()).is_some_and(|name| is(name, NAME)));
    places.filter_map(|at| value[at + NAME.len()..].trim_ascii_start().strip_prefix(b"=")).any(
        |asked| split(asked).next().is_some_and(|word| !is(word, b"off") && !is(word, b"none")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(more: &str) -> [Vec<&'static str>; 2] {
        let text = format!(
            "INVITE sip:b@y SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK1\r\n\
             From: <sip:a@x>;tag=1\r\nTo: <sip:b@y>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n\
             {more}Content-Length: 0\r\n\r\n"
        );
        let message = Message::parse(text.as_bytes()).unwrap();
        [inward(&message), outward(&message)].map(|set| {
            let lost = message.lines().filter(|line| set.has(line.header));
            lost.map(|line| line.header.name()).collect()
        })
    }

    #[test]
    fn every_row_is_dropped_where_it_says_and_nowhere_else() {
        for row in ROWS {
            let name = row.header.name();
            let value = match row.inward {
                NetworkProvided => "3GPP-E-UTRAN;network-provided",
                Granting => "sendrecv",
                PsapCallback => "psap-callback",
                _ => "<sip:x@y>",
            };
            let [inward, outward] = losses(&format!("{name}: {value}\r\nPrivacy: header\r\n"));
            assert_eq!(inward == [name], row.inward != Never, "{name}");
            assert_eq!(outward == [name], row.outward != Never, "{name}");
            assert!(!row.spec.is_empty());
        }
    }

    #[test]
    fn what_depends_on_words_crosses_without_them() {
        for (line, inward, outward) in [
            ("P-Access-Network-Info: IEEE-802.11;i-wlan-node-id=1", false, true),
            ("P-Access-Network-Info: 3GPP-UTRAN; Network-Provided", true, true),
            ("P-Access-Network-Info: x, y;a=\"b\";network-provided;z=1", true, true),
            ("P-Early-Media: supported", false, false),
            ("P-Early-Media: supported, sendonly", true, false),
            ("Priority: emergency", false, false),
            ("Priority: psap-callback", true, false),
            ("P-Asserted-Identity: <sip:a@x>", true, false),
            ("History-Info: <sip:a@x>;index=1", true, false),
            ("History-Info: <sip:a@x?Privacy=history>;index=1", true, true),
            ("History-Info: <sip:a@x?Privacy=none>;index=1", true, false),
            ("Diversion: <sip:a@x>;reason=no-answer;privacy=off", true, false),
            ("Diversion: <sip:a@x>;privacy = \"full\"", true, true),
            ("Diversion: \"Privacy First\" <sip:a@x>", true, false),
            ("Remote-Party-ID: <sip:a@x>;PRIVACY=name", true, true),
            ("Identity: abc;info=<https://x>", false, false),
            ("X-Unknown: privacy=full", false, false),
        ] {
            let [lost_in, lost_out] = losses(&format!("{line}\r\n"));
            assert_eq!((!lost_in.is_empty(), !lost_out.is_empty()), (inward, outward), "{line}");
        }
    }

    #[test]
    fn what_speaks_for_the_network_is_taken_out_of_credentials_and_addresses() {
        for (line, left) in [
            (
                "Authorization: Digest username=\"a\",integrity-protected=\"yes\", nonce=\"x,y\"",
                Some("Authorization: Digest username=\"a\", nonce=\"x,y\""),
            ),
            ("Authorization: Digest INTEGRITY-Protected = tls-yes", Some("Authorization: Digest")),
            (
                "Proxy-Authorization: Digest a=b,\r\n integrity-protected=ip-assoc-yes",
                Some("Proxy-Authorization: Digest a=b"),
            ),
            ("Authorization: Digest realm=\"integrity-protected=yes\", b=c", None),
            (
                "P-Preferred-Identity: \"v;cpc=x\" <sip:+1;verstat=No-TN-Validation@h;CPC=test>",
                Some("P-Preferred-Identity: \"v;cpc=x\" <sip:+1@h>"),
            ),
            (
                "P-Asserted-Identity: <tel:+1;v%65rstat=No;oli=1;ext=5>, <sip:a@b;cpc>",
                Some("P-Asserted-Identity: <tel:+1;ext=5>, <sip:a@b>"),
            ),
            (
                "Remote-Party-ID: <sip:a@b>;party=calling;cpc=x",
                Some("Remote-Party-ID: <sip:a@b>;party=calling"),
            ),
            ("P-Preferred-Identity: <sip:a@b;cpcx=1;xoli=2>", None),
            ("Reply-To: <tel:+1;verstat=x>", None),
            ("Contact: <sip:a@b;oli=1>", None),
        ] {
            let [cleaned, _] = unclaimed("<sip:a@x>;tag=1", &format!("{line}\r\n"));
            let expected = left.map(|left| format!("{left}\r\n"));
            assert_eq!(cleaned.is_some(), expected.is_some(), "{line}");
            if let Some((cleaned, expected)) = cleaned.zip(expected) {
                assert!(cleaned.contains(&expected), "{cleaned}");
            }
        }
        for (from, left) in [
            ("<tel:+1;verstat=TN-Validation-Passed>;tag=1", Some("<tel:+1>;tag=1")),
            ("tel:+1;verstat=x;tag=1", Some("tel:+1;tag=1")),
            ("\"A\" <sip:+1;cpc=operator@x>;tag=1;oli = \"62\"", Some("\"A\" <sip:+1@x>;tag=1")),
            ("<sip:a@x;user=phone>;tag=1;x", None),
            ("<sip:a@x>;tag=1", None),
        ] {
            let [cleaned, looked] = unclaimed(from, "");
            let expected = left.map(|left| format!("From: {left}\r\n"));
            assert_eq!(cleaned.is_some(), expected.is_some(), "{from}");
            assert!(looked.is_some() || expected.is_none(), "the short look sees it: {from}");
            if let Some((cleaned, expected)) = cleaned.zip(expected) {
                assert!(cleaned.contains(&expected), "{cleaned}");
            }
        }
    }

    /// The message as it crosses if it claims something, and whether the short look says so.
    fn unclaimed(from: &str, more: &str) -> [Option<String>; 2] {
        let text = format!(
            "INVITE sip:b@y SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK1\r\nFrom: {from}\r\n\
             To: <sip:b@y>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n{more}Content-Length: 0\r\n\r\n"
        );
        let message = Message::parse(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        let is_changed = write_unclaimed(&message, HeaderSet::default(), &mut out);
        assert_eq!(is_changed, !out.is_empty());
        if is_changed {
            Message::parse(&out).unwrap();
        }
        let looked = may_claim(&message).then(String::new);
        [is_changed.then(|| String::from_utf8(out).unwrap()), looked]
    }

    #[test]
    fn privacy_is_asked_for_by_its_words() {
        for (privacy, identity, history) in [
            ("none", false, false),
            ("id", true, false),
            ("ID ; critical", true, false),
            ("history", false, true),
            ("user;header;session", true, true),
            ("idle", false, false),
        ] {
            let text = format!(
                "P-Asserted-Identity: <sip:a@x>\r\nHistory-Info: <sip:b@y>;index=1\r\n\
                 Privacy: {privacy}\r\n"
            );
            let [_, lost] = losses(&text);
            assert_eq!(lost.contains(&"P-Asserted-Identity"), identity, "{privacy}");
            assert_eq!(lost.contains(&"History-Info"), history, "{privacy}");
        }
    }

    #[test]
    fn the_page_on_the_controller_shows_every_row() {
        let page = include_str!("../../../docs/sbc.md");
        for Row { header, inward, outward, spec } in ROWS {
            let word = |when: When| match when {
                Never => "crosses",
                Always => "dropped",
                NetworkProvided => "dropped with `network-provided`",
                Granting => "dropped unless `supported` only",
                PsapCallback => "dropped with `psap-callback`",
                Private => "dropped with Privacy",
                PrivateHistory => "dropped with Privacy for history",
            };
            let (name, inward, outward) = (header.name(), word(*inward), word(*outward));
            let line = format!("  | {name} | {inward} | {outward} | {spec} |\n");
            assert!(page.contains(&line), "docs/sbc.md lacks\n{line}");
        }
        for ParamRow { headers, name, spec } in PARAM_ROWS {
            let names: Vec<&str> = headers.iter().map(|header| header.name()).collect();
            let line = format!("  | `{name}` | {} | {spec} |\n", names.join(", "));
            assert!(page.contains(&line), "docs/sbc.md lacks\n{line}");
        }
    }
}
