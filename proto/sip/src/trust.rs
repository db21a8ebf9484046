//! The border of a trust domain (RFC 3324 §2.3, TS 24.229 §4.4): headers that mean something
//! only where the network vouches for them. One row each: what becomes of it when it comes from
//! somebody who is not believed, what on its way to somebody who is not trusted, and who says so.
//!
//! What has no row crosses, such as `Identity` (RFC 8224: its signature is its proof),
//! `Geolocation` (RFC 6442: what the caller says of himself) and `P-Called-Party-ID` on its way to
//! him who is called.

use crate::{Header, HeaderSet, Message};

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
    row(Header::PDcsLaes, Always, Always, "RFC 5503 §8"),
    row(Header::PDcsRedirect, Always, Always, "RFC 5503 §8"),
    row(Header::HistoryInfo, Always, PrivateHistory, "RFC 7044 §10.1, TS 24.229 §4.4"),
    row(Header::Diversion, Always, Private, "RFC 5806"),
    row(Header::ResourcePriority, Always, Never, "RFC 4412, RFC 7135, TS 24.229 §4.4"),
    row(Header::Priority, PsapCallback, Never, "RFC 7090 §5, TS 24.229 §4.4"),
    row(Header::PriorityVerstat, Always, Always, "TS 24.229 §4.4"),
    row(Header::AttestationInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::OriginationId, Always, Always, "TS 24.229 §4.4"),
    row(Header::FeatureCaps, Always, Never, "RFC 6809, TS 24.229 §4.4"),
    row(Header::RestorationInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::ServiceInteractInfo, Always, Always, "TS 24.229 §4.4"),
    row(Header::ResponseSource, Always, Always, "TS 24.229 §4.4"),
];

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
    let places = (0..value.len())
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
    }
}
