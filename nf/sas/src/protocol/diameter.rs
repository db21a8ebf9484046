//! Diameter (RFC 6733) as a row: what belongs together has a Session-Id, commands say what is
//! asked, the answer's code how it went.
//!
//! ```text
//!   header ─ AVPs ─┬ Session-Id, or what the agent says → trail
//!                  ├ MSISDN, User-Name, hosts           → keys
//!                  └ Result-Code, Experimental-Result   → outcome, where nothing else decides
//! ```
//! Most requests are a leg of something else: of a message of SIP that waits for their answer. They
//! say what a trail is about only as long as SIP and TCAP do not.

use super::dialogue::words::Talk;
use super::{Row, Signal, Taken, Then};
use crate::config::Keep;
use crate::keys;
use crate::line::Line;
use crate::live::{Live, Phase, text};
use crate::trail::{Kind, Outcome, printable};
use core::ops::Range;
use diameter::Dictionary;
use diameter::codec::{Avps, DEPTH_MAX, HEADER_OCTETS, Message, ResultCode};
use diameter::row::{Kind as Data, Row as Avp};
use diameter::rows::{base, cx, s6c, sgd, sh};
use std::sync::LazyLock;

/// AVPs whose data is secret, and what keeps it. Both kinds of User-Data have whatever an
/// application or an operator has put into a profile.
const SECRETS: [(&Avp, Keep); 8] = [
    (&cx::SIP_AUTHENTICATE, Keep::Keys),
    (&cx::SIP_AUTHORIZATION, Keep::Credentials),
    (&cx::CONFIDENTIALITY_KEY, Keep::Keys),
    (&cx::INTEGRITY_KEY, Keep::Keys),
    (&cx::USER_DATA, Keep::Bodies),
    (&sh::USER_DATA, Keep::Bodies),
    (&sgd::SM_RP_UI, Keep::Bodies),
    (&sgd::SM_DIAGNOSTIC_INFO, Keep::Bodies),
];

/// Every command and AVP that has a name.
static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::default);

pub(super) const ROW: Row = Row { kind: hep::KIND_DIAMETER, take, describe };

fn take(payload: &[u8], keep: &[Keep], then: &mut Then<'_>) {
    let read = Message::read(payload).ok();
    let keeps_all = keep.len() == Keep::ALL.len();
    let found = match (&read, keeps_all) {
        (_, true) => Vec::new(),
        (Some(message), false) => secrets(message, keep),
        // Nobody knows where the secret is.
        (None, false) => core::iter::once(0..payload.len()).collect(),
    };
    let clean = (!found.is_empty()).then(|| {
        let mut octets = payload.to_vec();
        found.into_iter().for_each(|it| octets[it].fill(0));
        octets
    });
    let is_malformed = read.is_none();
    let payload = clean.as_deref().unwrap_or(payload);
    let signal = Message::read(payload).ok();
    then(Taken {
        payload,
        signal: signal.as_ref().filter(|_| !is_malformed).map(|it| -> &dyn Signal { it }),
        is_redacted: clean.is_some() && !is_malformed,
        is_malformed,
        is_carried: false,
    });
}

/// Where the secrets of a message are.
fn secrets(message: &Message<'_>, keep: &[Keep]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let all = HEADER_OCTETS..message.octets().len();
    within(message.avps(), all, (keep, 0), &mut found);
    found
}

fn within(
    avps: Avps<'_>,
    place: Range<usize>,
    of: (&[Keep], usize),
    found: &mut Vec<Range<usize>>,
) {
    let (keep, depth) = of;
    let mut at = place.start;
    for avp in avps {
        let Ok(avp) = avp else {
            // What cannot be read may be anything, up to the end of what it stands in.
            return found.push(at..place.end);
        };
        let from = avp.at + avp.whole.len() - avp.data.len();
        let data = from..from + avp.data.len();
        at = (avp.at + avp.whole.len().next_multiple_of(4)).min(place.end);
        let secret = SECRETS.iter().find(|it| avp.is(it.0));
        match (secret, DICTIONARY.row(avp.vendor, avp.code)) {
            (Some((_, keeps)), _) if keep.contains(keeps) => {}
            (Some(_), _) | (None, None) => found.push(data),
            (None, Some(row)) => match row.kind {
                Data::Grouped(_) if depth < DEPTH_MAX => {
                    within(avp.group(), data, (keep, depth + 1), found);
                }
                Data::Grouped(_) => found.push(data),
                _ => {}
            },
        }
    }
}

fn word<'a>(message: &Message<'a>, row: &Avp) -> &'a [u8] {
    message.avps().find(row).map(|it| it.data).unwrap_or_default()
}

/// What an answer says came of its request: the number of the code, and its name.
fn result(message: &Message<'_>) -> Option<(u32, String)> {
    if message.is_request() {
        return None;
    }
    let avps = message.avps();
    if let Some(code) = avps.find(&base::RESULT_CODE).and_then(|it| it.unsigned32().ok()) {
        return Some((code, named(ResultCode::of(code).map(ResultCode::name), code)));
    }
    let group = avps.find(&base::EXPERIMENTAL_RESULT)?.group();
    let code = group.find(&base::EXPERIMENTAL_RESULT_CODE)?.unsigned32().ok()?;
    let name = DICTIONARY.experimental_result(message.header.application, code);
    Some((code, named(name, code)))
}

fn named(name: Option<&str>, code: u32) -> String {
    name.map_or_else(|| code.to_string(), |it| it.trim_start_matches("DIAMETER_").to_owned())
}

const fn is_done(code: u32) -> bool {
    code / 1_000 == 2
}

/// Its name, and of an answer what it says came of it.
fn title(message: &Message<'_>) -> String {
    let command = DICTIONARY.command(&message.header).ok();
    let number = || format!("command {}", message.header.command);
    let name = command.map(|it| if message.is_request() { it.request } else { it.answer });
    let name = name.map_or_else(number, str::to_owned);
    match result(message) {
        Some((_, result)) => format!("{name} {result}"),
        None => name,
    }
}

impl Signal for Message<'_> {
    /// None: the first leg of a message is that of SIP, whichever was seen first.
    fn leg(&self) -> Option<&[u8]> {
        None
    }

    fn joins(&self, each: &mut dyn FnMut(&[u8])) {
        let session = word(self, &base::SESSION_ID);
        if !session.is_empty() {
            each(session);
        }
    }

    fn begins(&self) -> bool {
        self.is_request()
    }

    fn is_of_dialogue(&self) -> bool {
        true
    }

    fn observe(&self, live: &mut Live, at_us: u64, _leg: usize) {
        find_by(live, self);
        let is_session = self.header.application == base::BASE.id;
        match self.is_request() {
            true => live.unanswered = live.unanswered.saturating_add(1),
            false => live.unanswered = live.unanswered.saturating_sub(1),
        }
        if live.sip.has_request || live.talk.is_some() {
            return;
        }
        if is_session {
            live.trail.kind = Kind::Session;
            return;
        }
        decide(live, at_us, self);
    }
}

/// What a trail is about that nothing but Diameter has said.
fn decide(live: &mut Live, at_us: u64, message: &Message<'_>) {
    if live.trail.kind != Kind::Dialogue {
        live.trail.kind = Kind::Dialogue;
        let far = [&base::DESTINATION_HOST, &base::DESTINATION_REALM];
        let far = far.into_iter().map(|row| word(message, row)).find(|it| !it.is_empty());
        live.trail.from = text(word(message, &base::ORIGIN_HOST));
        live.trail.to = text(far.unwrap_or_default());
    }
    let Some((code, name)) = result(message) else {
        live.phase = Phase::Early;
        return;
    };
    live.trail.outcome = if is_done(code) { Outcome::Ok } else { Outcome::Failed };
    live.trail.status = u16::try_from(code).unwrap_or_default();
    live.trail.cause = match is_done(code) {
        true => Box::default(),
        false => text(name.as_bytes()),
    };
    if live.unanswered == 0 {
        live.phase = Phase::Over;
        live.trail.ended_us = at_us;
    }
}

/// Adds what its users, hosts and session can be found by.
fn find_by(live: &mut Live, message: &Message<'_>) {
    for row in [&base::ORIGIN_HOST, &base::DESTINATION_HOST] {
        let host = printable(word(message, row));
        if !host.is_empty() {
            keys::add_name(&mut live.keys, &host);
        }
    }
    let session = word(message, &base::SESSION_ID);
    if !session.is_empty() {
        keys::add_call_id(&mut live.keys, session);
    }
    of_user(live, message.avps());
    for row in [&s6c::USER_IDENTIFIER, &sh::USER_IDENTITY] {
        if let Some(group) = message.avps().find(row) {
            of_user(live, group.group());
        }
    }
}

fn of_user(live: &mut Live, avps: Avps<'_>) {
    if let Some(number) = avps.find(&sh::MSISDN) {
        keys::add_digits(&mut live.keys, &digits(number.data));
    }
    let name = avps.find(&base::USER_NAME).and_then(|it| it.text().ok());
    if let Some(imsi) = name.filter(|it| it.bytes().all(|octet| octet.is_ascii_digit())) {
        keys::add_digits(&mut live.keys, imsi);
    }
    if let Some(identity) = avps.find(&cx::PUBLIC_IDENTITY) {
        keys::add_uri(&mut live.keys, identity.data);
    }
}

/// TBCD (TS 29.002 §17.7.8), up to the filler.
fn digits(octets: &[u8]) -> String {
    let nibbles = octets.iter().flat_map(|it| [it & 0xf, it >> 4]);
    nibbles.map_while(|it| char::from_digit(it.into(), 10)).collect()
}

fn describe(payload: &[u8], _talk: &mut Talk) -> Line {
    let Ok(message) = Message::read(payload) else { return Line::default() };
    let session = word(&message, &base::SESSION_ID);
    let host = word(&message, &base::ORIGIN_HOST);
    Line {
        leg: (!session.is_empty()).then(|| printable(session)),
        method: Some(title(&message)),
        failed: result(&message).is_some_and(|it| !is_done(it.0)),
        node: (!host.is_empty()).then(|| printable(host)),
        text: Some(in_full(&message)),
        ..Line::default()
    }
}

/// The message by the names of its AVPs.
fn in_full(message: &Message<'_>) -> String {
    let mut json = String::new();
    if DICTIONARY.to_json(message, &mut json).is_err() {
        return title(message);
    }
    let read = serde_json::from_str::<serde_json::Value>(&json).ok();
    let pretty = read.and_then(|it| serde_json::to_string_pretty(&it).ok());
    format!("{}\n{}", title(message), pretty.unwrap_or(json))
}
