//! What the management side may ask: rows for people and programs.

use crate::effects::{In as Input, Written};
use crate::function::ShortMessageGateway;
use crate::place::Left;
use crate::store::{Form, Key, Row};
use diameter_stack::{
    DiameterActRow, DiameterConnectionRow, DiameterPeerRow, DiameterTraceRow,
    LIMIT as LIMIT_OF_TRACE, PEER,
};
use keyed::StoreRow;
use machine::Time;
use mapsms::identity::Msisdn;
use mapsms::rows::SUBSCRIBERS;
use mapsms::silent::Whom;
use question::{Condition, Parameter, Question, question, questions, rows};
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use sctp_stack::{SctpAssociationRow, SctpPathRow};
use serde_json::Value;
use sip_stack::NextHopRow;
use sms::{Address, TypeOfNumber};
use tcu_stack::TcuLinkRow;

/// Rows of one answer at most, unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
/// Octets of a text that an operator sends.
const TEXT_MAX: usize = 8_192;
/// Probable cause of what cannot be reached, in the words of X.733.
const UNREACHED: &str = "communications-subsystem-failure";
const STORAGE: &str = "storage-capacity-problem";

rows! {
    /// A subscriber whose terminal takes messages.
    pub(crate) struct SmsRegistrationRow {
        number: String,
        identity: String,
        s_cscf: String,
        /// `sms` (application/vnd.3gpp.sms) or `text` (text/plain).
        takes: &'static str,
        contacts: Vec<String>,
        expires_at_us: u64,
    }

    /// A message that waits.
    pub(crate) struct PendingRow {
        id: u64,
        to: String,
        from: String,
        /// `message` or `status report`.
        kind: &'static str,
        octets: usize,
        received_at_us: u64,
        expires_at_us: u64,
        /// Failures in a row of its receiver.
        failures: u32,
        /// When its receiver is tried next; nothing while one of its messages is under way.
        due_at_us: Option<u64>,
        why: &'static str,
        /// Its trail in the service assurance.
        trail: String,
    }

    /// A text that was taken.
    pub(crate) struct SentRow {
        /// Messages that it needed; all of them are stored.
        messages: usize,
    }

    /// What is tried again.
    pub(crate) struct RetriedRow {
        /// Messages that wait, for whoever is tried.
        messages: usize,
    }

    /// What is under way while the nodes change places.
    pub(crate) struct HandOverRow {
        shard: u16,
        /// With which the other node could not go on.
        requests: usize,
    }

    /// What is captured for the service assurance.
    pub(crate) struct SmsCaptureRow {
        collector: Option<String>,
        captured: u64,
        shed: u64,
        trouble: Option<&'static str>,
    }
}

/// What a question comes with.
struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
    out: &'a mut Effects,
}

type Serve = fn(&mut ShortMessageGateway, &mut Asked<'_>) -> Result<Value, AskError>;

const LIMIT: Parameter = Parameter::number("limit", "rows at most");
const ASSOCIATION: Parameter = Parameter::text("association", "only this association");
const SEND: &str = "sms/send";

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// Subscribers whose terminals take messages.
    Ask "sms/registrations" [LIMIT, Parameter::text("number", "what their numbers begin with")]
        -> Vec<SmsRegistrationRow>,
        |it, asked| it.show_registrations(asked.now, asked.ask);
    /// Messages that wait, and why.
    Ask "sms/pending" [LIMIT, Parameter::text("to", "only for this number")] -> Vec<PendingRow>,
        |it, asked| it.show_pending(asked.ask);
    /// Tries messages that wait now.
    Act "sms/retry" [Parameter::text("to", "only those for this number")] -> Vec<RetriedRow>,
        |it, asked| it.retry(asked.now, asked.ask, asked.out);
    /// Leaves new requests to the other node of the pair.
    Internal "hand-over" [Parameter::text("left", "what is left unanswered").required()]
        -> Vec<HandOverRow>, |it, asked| it.show_hand_over(asked.now, asked.ask);
    /// The targets of the next hops.
    Ask "next-hops" [] -> Vec<NextHopRow>, |it, asked| Ok(it.border.show_next_hops(asked.now));
    /// The peers of Diameter: whether each is open, since when, and why it is not.
    Ask "diameter/peers" [] -> Vec<DiameterPeerRow>, |it, _| Ok(it.by_diameter.peer_rows());
    /// The connections of Diameter, those among them that have not said who they are.
    Ask "diameter/connections" [] -> Vec<DiameterConnectionRow>,
        |it, _| Ok(it.by_diameter.connection_rows());
    /// The last messages of Diameter by their headers, the newest last.
    Ask "diameter/trace" [LIMIT_OF_TRACE, PEER] -> Vec<DiameterTraceRow>,
        |it, asked| it.by_diameter.trace(asked.ask);
    /// Connects to a peer of Diameter now.
    Act "diameter/connect" [PEER.required()] -> Vec<DiameterActRow>,
        |it, asked| it.by_diameter.operate(asked.now, asked.ask, true, asked.out);
    /// Disconnects a peer of Diameter, until it is connected to again.
    Act "diameter/disconnect" [PEER.required()] -> Vec<DiameterActRow>,
        |it, asked| it.by_diameter.operate(asked.now, asked.ask, false, asked.out);
    /// The SCTP associations.
    Ask "sctp/associations" [ASSOCIATION] -> Vec<SctpAssociationRow>,
        |it, asked| it.by_diameter.associations(asked.ask);
    /// The paths of the SCTP associations.
    Ask "sctp/paths" [ASSOCIATION] -> Vec<SctpPathRow>,
        |it, asked| it.by_diameter.paths(asked.ask);
    /// The ways into the SS7 network.
    Ask "links" [] -> Vec<TcuLinkRow>, |it, asked| Ok(it.links.rows(asked.now));
    /// The store.
    Ask "store" [] -> Vec<StoreRow>, |it, _| Ok(vec![it.store.row()]);
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| Ok(it.alarms(asked.now));
    /// What is captured for the service assurance.
    Ask "capture" [] -> Vec<SmsCaptureRow>, |it, asked| Ok(it.show_capture(asked.now));
}

/// What is answered later: when it is on disk.
const LATER: Question = question! {
    /// Sends a text; it is answered when it is stored.
    Act "sms/send" [
        Parameter::text("to", "number of the receiver").required(),
        Parameter::text("text", "what is said").required(),
        Parameter::text("from", "number or letters of the sender; absent: the centre's number"),
    ] -> Vec<SentRow>
};

/// What a gateway may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).chain([LATER]).collect()
}

/// What an operator is told of a text.
pub(crate) fn taken(outcome: Result<usize, &'static str>) -> Answered {
    match outcome {
        Ok(messages) => Ok(question::value(vec![SentRow { messages }])),
        Err(why) => Err(AskError::BadParameter(why.to_owned())),
    }
}

fn wrong(what: &str) -> AskError {
    AskError::BadParameter(what.to_owned())
}

fn number_of(text: &str) -> Result<Msisdn, AskError> {
    let wrong = || wrong("a number is digits with the country code");
    Msisdn::of(text.trim_start_matches('+')).ok_or_else(wrong)
}

fn limit(ask: &Ask) -> Result<usize, AskError> {
    match ask.params.get("limit").map(|text| text.parse::<usize>()) {
        None => Ok(ROWS_MAX),
        Some(Ok(limit)) => Ok(limit.min(ROWS_MAX)),
        Some(Err(_)) => Err(wrong("limit is a number")),
    }
}

/// A sender: a number, or up to eleven letters.
fn sender_of(text: &str) -> Result<Address, AskError> {
    let digits = text.trim_start_matches('+');
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    let address = if is_number { Address::international(digits) } else { Address::letters(text) };
    address.ok_or_else(|| wrong("from is a number, or up to eleven letters"))
}

impl ShortMessageGateway {
    /// Answers a question at once, or later under a ticket.
    pub(crate) fn asked_later(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        if ask.path != SEND || !self.own.part.has_flows() {
            return Some(self.shown(now, ask, out));
        }
        if self.own.place.is_standby() {
            return Some(Err(wrong("this node is the standby: ask the active one")));
        }
        let text = |name: &str| ask.params.get(name);
        let to = text("to").ok_or_else(|| wrong("to is missing"));
        let to = to.and_then(|it| number_of(it));
        let said = text("text").filter(|it| !it.is_empty() && it.len() <= TEXT_MAX);
        let said = said.cloned().ok_or_else(|| wrong("text is 1 to 8,192 octets"));
        let from = text("from").map(|it| sender_of(it)).transpose();
        let all = to.and_then(|to| said.and_then(|said| from.map(|from| (to, said, from))));
        match all {
            Err(error) => Some(Err(error)),
            Ok((to, text, from)) => {
                let text = Written(text);
                let make = |ticket| Input::Operator { ticket, to, from, text };
                self.operate(now, make, ticket, out);
                None
            }
        }
    }

    /// Answers a question, or does what is asked.
    pub(crate) fn shown(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<Value, AskError> {
        self.gauges();
        let is_of_part = match ask.path.as_str() {
            "next-hops" => self.own.part.has_sip(),
            "alarms" | "capture" | "hand-over" => true,
            _ => self.own.part.has_flows(),
        };
        let serve = question::find(QUESTIONS, &ask.path).filter(|_| is_of_part);
        let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
        serve(self, &mut Asked { now, ask, out })
    }

    fn show_registrations(
        &self,
        now: Time,
        ask: &Ask,
    ) -> Result<Vec<SmsRegistrationRow>, AskError> {
        let begins = ask.params.get("number").map_or("", |it| it.trim_start_matches('+'));
        let digits = begins.as_bytes();
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(wrong("a number is digits with the country code"));
        }
        let prefix = [SUBSCRIBERS, digits].concat();
        let rows = self.store.beginning(now, &prefix).filter_map(|(key, row, until)| {
            let (Key::Subscriber(number), Row::Subscriber(row)) = (Key::of(key)?, Row::of(row)?)
            else {
                return None;
            };
            Some(SmsRegistrationRow {
                number: number.digits().to_owned(),
                identity: row.identity,
                s_cscf: row.s_cscf,
                takes: if row.form == Form::Text { "text" } else { "sms" },
                contacts: row.contacts,
                expires_at_us: until.as_micros(),
            })
        });
        Ok(rows.take(limit(ask)?).collect())
    }

    fn show_pending(&self, ask: &Ask) -> Result<Vec<PendingRow>, AskError> {
        let to = ask.params.get("to").map(|it| number_of(it)).transpose()?;
        let wanted = |it: &Msisdn| to.as_ref().is_none_or(|to| to == it);
        let rows = self.gateway.pending().filter(|it| wanted(&it.stored.to)).map(|it| {
            let from = it.stored.shown().map(|from| match from.number() {
                TypeOfNumber::International => format!("+{}", from.text()),
                _ => from.text(),
            });
            let kind = sms::Kind::in_data(sms::Direction::ToTerminal, &it.stored.tpdu);
            let is_report = kind == Some(sms::Kind::StatusReport);
            let trail = machine::identity::hex(it.stored.trail);
            PendingRow {
                id: it.number,
                to: it.stored.to.digits().to_owned(),
                from: from.unwrap_or_default(),
                kind: if is_report { "status report" } else { "message" },
                octets: it.stored.tpdu.len(),
                received_at_us: it.stored.received.as_micros(),
                expires_at_us: it.stored.until.as_micros(),
                failures: it.failures,
                due_at_us: it.due.map(Time::as_micros),
                why: it.why,
                trail: String::from_utf8_lossy(&trail).into_owned(),
            }
        });
        Ok(rows.take(limit(ask)?).collect())
    }

    fn retry(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<Vec<RetriedRow>, AskError> {
        let to = ask.params.get("to").map(|it| number_of(it)).transpose()?;
        let wanted = |it: &Msisdn| to.as_ref().is_none_or(|to| to == it);
        let messages = self.gateway.pending().filter(|it| wanted(&it.stored.to)).count();
        self.tell(now, Input::Retry(to), out);
        Ok(vec![RetriedRow { messages }])
    }

    fn show_hand_over(&mut self, now: Time, ask: &Ask) -> Result<Vec<HandOverRow>, AskError> {
        let left = match ask.params.get("left").map(String::as_str) {
            Some("nothing") => Left::Nothing,
            Some("beginnings") => Left::Beginnings,
            Some("requests") => Left::Requests,
            _ => return Err(wrong("left is what is left unanswered")),
        };
        let requests = self.hand_over(now, left);
        Ok(vec![HandOverRow { shard: self.own.shard, requests }])
    }

    fn show_capture(&self, now: Time) -> Vec<SmsCaptureRow> {
        let capture = &self.wire.capture;
        vec![SmsCaptureRow {
            collector: self.config.capture.clone(),
            captured: capture.captured,
            shed: capture.shed,
            trouble: capture.trouble(now),
        }]
    }

    fn alarms(&self, now: Time) -> Vec<Condition> {
        let mut rows = if self.own.part.has_sip() { self.border.alarms() } else { Vec::new() };
        rows.extend(self.by_diameter.alarms());
        let is_connected = self.links.is_connected();
        for (link, why) in self.links.lacking() {
            let severity = if is_connected { "major" } else { "critical" };
            let effect = match is_connected {
                true => "",
                false => "; no message goes to SS7 or comes from there",
            };
            let is_starting = why.is_empty();
            let why = if is_starting { "it is being opened" } else { why };
            let text = format!("the link {link} does not stand: {why}{effect}");
            let row = Condition::new("link-down", link, severity, text);
            rows.push(row.starting(is_starting).caused_by(UNREACHED));
        }
        if is_connected || self.config.link.is_empty() {
            rows.extend(self.gateway.silent(now).map(|(whom, count)| {
                let (name, subject, what) = match whom {
                    Whom::Hlr(network) => ("hlr-silent", network, "the HLR of the network"),
                    Whom::Centre(number) => ("centre-silent", number, "the service centre"),
                };
                let text = format!("{what} {subject} has not answered the last {count} questions");
                Condition::new(name, subject, "major", text).caused_by(UNREACHED)
            }));
        }
        rows.extend(self.store.alarms());
        let status = self.store.status();
        let (waiting, most) = (self.gateway.waiting().0, self.config.centre.messages_max as usize);
        let limits = self.config.store.limits();
        if waiting >= most || status.rows >= limits.rows_max || status.octets >= limits.octets_max {
            let text = format!("the store is full: {waiting} messages wait, {} rows", status.rows);
            rows.push(Condition::new("store-full", "store", "critical", text).caused_by(STORAGE));
        }
        if let Some(why) = self.records.trouble() {
            let text = format!("records of messages are lost: {why}");
            let row = Condition::new("cdr-unwritable", "cdr", "major", text);
            rows.push(row.caused_by(STORAGE));
        }
        if let Some(why) = self.wire.capture.trouble(now) {
            let text = format!("the collector of captured messages takes none: {why}");
            let row = Condition::new("capture-shed", "capture", "minor", text);
            rows.push(row.caused_by(UNREACHED));
        }
        rows
    }
}
