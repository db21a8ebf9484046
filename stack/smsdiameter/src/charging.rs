//! Ro (RFC 8506 §6.3, §6.4; TS 32.299 §5.2.2, TS 32.274): each message of a terminal, and where
//! that is wanted each one to a terminal, is an immediate event, debited before it is taken or
//! delivered, refunded where it was not.
//!
//! ```text
//!   Charge ─→ CCR (EVENT_REQUEST; DIRECT_DEBITING, REFUND_ACCOUNT) ─→ charging system
//!   Charged ←─ verdict ←─ CCA
//! ```

use core::fmt;
use diameter::Outcome;
use diameter::codec::{AvpWriter, Message, ResultCode, Writer};
use diameter::row::Row;
use diameter::rows::{base, ro};
use machine::Time;
use mapsms::identity::{Imsi, Msisdn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sms::Cause;

/// Values of CC-Request-Type and Requested-Action (RFC 8506 §8.3, §8.41).
const EVENT_REQUEST: i32 = 4;
const DIRECT_DEBITING: i32 = 0;
const REFUND_ACCOUNT: i32 = 1;
/// Values of Subscription-Id-Type (RFC 8506 §8.47).
const END_USER_E164: i32 = 0;
const END_USER_IMSI: i32 = 1;
/// Values of SMS-Node, SM-Message-Type and Address-Type (TS 32.299 §7.2).
const IP_SM_GW: i32 = 1;
const SUBMISSION: i32 = 0;
/// Of Interface-Type (TS 32.299 §7.2.83): SM-Message-Type has no value for a delivery.
const MOBILE_TERMINATING: i32 = 2;
const ADDRESS_MSISDN: i32 = 1;
const ADDRESS_OTHER: i32 = 6;
/// Charging of short messages (TS 32.299 §7.1.12, TS 32.274).
pub const SERVICE_CONTEXT: &str = "32274@3gpp.org";

/// Messages of terminals are charged by an online charging system (Ro).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargingKeys {
    /// The realm of the charging system.
    pub realm: String,
    /// Its host, where it is one; absent: whichever the realm's peers choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What is charged (Service-Context-Id).
    #[serde(default = "service_context")]
    pub service_context: String,
    /// Service-Identifier; absent: none is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_identifier: Option<u32>,
    /// Rating-Group; absent: none is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating_group: Option<u32>,
    /// Whether messages to terminals are charged too: their receivers pay.
    #[serde(default)]
    pub deliveries: bool,
    /// What becomes of messages while the charging system does not answer, or cannot say.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What becomes of messages that cannot be charged (RFC 8506 §6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// They are refused, and may be sent again.
    #[default]
    Refuse,
    /// They are taken, and cost nothing.
    Take,
}

fn service_context() -> String {
    SERVICE_CONTEXT.to_owned()
}

/// What is charged.
#[derive(Clone, PartialEq, Eq)]
pub struct Charge {
    /// Who pays.
    pub subscriber: Msisdn,
    /// The subscriber's IMSI, where it is known.
    pub imsi: Option<Imsi>,
    /// The other end, as the first of the messages has it: whom they are for, or whose they are.
    pub other: Option<String>,
    /// Messages.
    pub messages: u32,
    /// They are delivered to who pays.
    pub is_delivery: bool,
}

// Numbers are nothing for logs.
impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages of {:?}", self.messages, self.subscriber)
    }
}

/// What the charging system said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charged {
    /// It is debited.
    Debited,
    /// It may be done, and is not debited.
    Free,
    /// It may not be done.
    Refused(Cause),
}

/// Who asks, in which session, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope<'a> {
    pub host: &'a str,
    pub realm: &'a str,
    pub session: &'a str,
    pub now: Time,
}

/// What an answer is, or that there is none. A code of RFC 8506 refuses with the cause of TS 24.011
/// §E.2 that says the same; all others say that nobody could charge.
pub(crate) fn verdict(outcome: &Outcome, on_failure: OnFailure) -> Charged {
    let failed = match on_failure {
        OnFailure::Refuse => Charged::Refused(Cause::TemporaryFailure),
        OnFailure::Take => Charged::Free,
    };
    match code_of(outcome).and_then(ResultCode::of) {
        Some(ResultCode::Success | ResultCode::LimitedSuccess) => Charged::Debited,
        Some(ResultCode::CreditControlNotApplicable) => Charged::Free,
        Some(
            ResultCode::EndUserServiceDenied
            | ResultCode::CreditLimitReached
            | ResultCode::AuthorizationRejected,
        ) => Charged::Refused(Cause::OperatorBarring),
        Some(ResultCode::UserUnknown) => Charged::Refused(Cause::NotSubscribed),
        Some(ResultCode::RatingFailed) => Charged::Refused(Cause::TransferRejected),
        _ => failed,
    }
}

/// The code of an answer: that of the service, where the answer itself says that it was done.
pub(crate) fn code_of(outcome: &Outcome) -> Option<u32> {
    let Outcome::Answer(octets) = outcome else { return None };
    let message = Message::read(octets).ok()?;
    let code = message.avps().find(&base::RESULT_CODE)?.unsigned32().ok()?;
    let service = message.avps().find(&ro::MULTIPLE_SERVICES_CREDIT_CONTROL);
    let service = service.and_then(|it| it.group().find(&base::RESULT_CODE));
    let service = service.and_then(|it| it.unsigned32().ok());
    let is_done = code / 1_000 == 2;
    Some(service.filter(|_| is_done).unwrap_or(code))
}

fn user(out: &mut AvpWriter<'_>, kind: i32, digits: &str) {
    out.group(&ro::SUBSCRIPTION_ID, |out| {
        out.integer(&ro::SUBSCRIPTION_ID_TYPE, kind);
        out.put(&ro::SUBSCRIPTION_ID_DATA, digits);
    });
}

fn party(out: &mut AvpWriter<'_>, row: &Row, address: &str) {
    let is_number = !address.is_empty() && address.bytes().all(|it| it.is_ascii_digit());
    out.group(row, |out| {
        out.integer(&ro::ADDRESS_TYPE, if is_number { ADDRESS_MSISDN } else { ADDRESS_OTHER });
        out.put(&ro::ADDRESS_DATA, address);
    });
}

/// What is said of the messages (TS 32.299 §7.2.201).
fn information(out: &mut AvpWriter<'_>, charge: &Charge) {
    let (own, other) = (charge.subscriber.digits(), charge.other.as_deref());
    out.integer(&ro::SMS_NODE, IP_SM_GW);
    if charge.is_delivery {
        out.number(&ro::NUMBER_OF_MESSAGES_SENT, charge.messages);
        out.group(&ro::RECIPIENT_INFO, |out| {
            out.group(&ro::DESTINATION_INTERFACE, |out| {
                out.integer(&ro::INTERFACE_TYPE, MOBILE_TERMINATING);
            });
            party(out, &ro::RECIPIENT_ADDRESS, own);
        });
        other.into_iter().for_each(|it| party(out, &ro::ORIGINATOR_RECEIVED_ADDRESS, it));
        return;
    }
    out.integer(&ro::SM_MESSAGE_TYPE, SUBMISSION);
    out.number(&ro::NUMBER_OF_MESSAGES_SENT, charge.messages);
    if let Some(to) = other {
        out.group(&ro::RECIPIENT_INFO, |out| party(out, &ro::RECIPIENT_ADDRESS, to));
    }
    party(out, &ro::ORIGINATOR_RECEIVED_ADDRESS, own);
}

impl ChargingKeys {
    /// What is charged: so many messages.
    fn units(&self, out: &mut AvpWriter<'_>, messages: u32) {
        out.group(&ro::REQUESTED_SERVICE_UNIT, |out| {
            out.number64(&ro::CC_SERVICE_SPECIFIC_UNITS, messages.into());
        });
        if let Some(number) = self.service_identifier {
            out.number(&ro::SERVICE_IDENTIFIER, number);
        }
        if let Some(number) = self.rating_group {
            out.number(&ro::RATING_GROUP, number);
        }
    }

    /// The request (RFC 8506 §3.1).
    pub(crate) fn request(
        &self,
        of: &Envelope<'_>,
        charge: &Charge,
        is_refund: bool,
    ) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        let mut writer = Writer::request(&mut octets, &ro::CREDIT_CONTROL, ro::RO.id)
            .put(&base::SESSION_ID, of.session)
            .put(&base::ORIGIN_HOST, of.host)
            .put(&base::ORIGIN_REALM, of.realm)
            .put(&base::DESTINATION_REALM, &self.realm)
            .number(&base::AUTH_APPLICATION_ID, ro::RO.id)
            .put(&ro::SERVICE_CONTEXT_ID, &self.service_context)
            .integer(&ro::CC_REQUEST_TYPE, EVENT_REQUEST)
            .number(&ro::CC_REQUEST_NUMBER, 0);
        let out = writer.avps();
        if let Some(host) = &self.host {
            out.put(&base::DESTINATION_HOST, host);
        }
        let seconds = i64::try_from(of.now.as_millis() / 1_000).unwrap_or(i64::MAX);
        out.time(&base::EVENT_TIMESTAMP, seconds);
        user(out, END_USER_E164, charge.subscriber.digits());
        if let Some(imsi) = &charge.imsi {
            user(out, END_USER_IMSI, imsi.digits());
        }
        let action = if is_refund { REFUND_ACCOUNT } else { DIRECT_DEBITING };
        out.integer(&ro::REQUESTED_ACTION, action);
        let units = |out: &mut AvpWriter<'_>| self.units(out, charge.messages);
        out.group(&ro::MULTIPLE_SERVICES_CREDIT_CONTROL, units);
        out.group(&ro::SERVICE_INFORMATION, |out| {
            out.group(&ro::SMS_INFORMATION, |out| information(out, charge));
        });
        writer.end().ok().map(|()| octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::Dictionary;

    const KEYS: &str = "realm = \"ocs\"\nservice_identifier = 7\nrating_group = 9";

    fn answer(code: u32, service: Option<u32>) -> Outcome {
        let mut octets = Vec::new();
        Writer::request(&mut octets, &ro::CREDIT_CONTROL, ro::RO.id).end().unwrap();
        let header = Message::read(&octets).unwrap().header;
        octets.clear();
        let mut writer = Writer::answer(&mut octets, &header).number(&base::RESULT_CODE, code);
        if let Some(service) = service {
            let fill = |out: &mut AvpWriter<'_>| out.number(&base::RESULT_CODE, service);
            writer = writer.group(&ro::MULTIPLE_SERVICES_CREDIT_CONTROL, fill);
        }
        writer.end().unwrap();
        Outcome::Answer(octets.into())
    }

    #[test]
    fn a_refusal_has_the_cause_that_says_the_same_and_what_nobody_answers_is_the_operators_choice()
    {
        let refused = Charged::Refused;
        let later = refused(Cause::TemporaryFailure);
        for (outcome, expected, when_taken) in [
            (answer(2001, None), Charged::Debited, Charged::Debited),
            (answer(2001, Some(2001)), Charged::Debited, Charged::Debited),
            (answer(4011, None), Charged::Free, Charged::Free),
            (answer(4010, None), refused(Cause::OperatorBarring), refused(Cause::OperatorBarring)),
            (answer(4012, None), refused(Cause::OperatorBarring), refused(Cause::OperatorBarring)),
            (
                answer(2001, Some(4012)),
                refused(Cause::OperatorBarring),
                refused(Cause::OperatorBarring),
            ),
            // What the answer itself refuses no service has.
            (
                answer(5030, Some(2001)),
                refused(Cause::NotSubscribed),
                refused(Cause::NotSubscribed),
            ),
            (
                answer(5031, None),
                refused(Cause::TransferRejected),
                refused(Cause::TransferRejected),
            ),
            (answer(3002, None), later, Charged::Free),
            (answer(5012, None), later, Charged::Free),
            (answer(9999, None), later, Charged::Free),
            (Outcome::Expired, later, Charged::Free),
            (Outcome::NotSent(ResultCode::UnableToDeliver), later, Charged::Free),
            (Outcome::Answer(bytes::Bytes::from_static(b"x")), later, Charged::Free),
        ] {
            assert_eq!(verdict(&outcome, OnFailure::Refuse), expected, "{outcome:?}");
            assert_eq!(verdict(&outcome, OnFailure::Take), when_taken, "{outcome:?}");
        }
    }

    #[test]
    fn a_request_is_what_its_rows_say_and_names_who_pays_for_how_many() {
        let keys: ChargingKeys = toml::from_str(KEYS).unwrap();
        let charge = Charge {
            subscriber: Msisdn::of("447700900123").unwrap(),
            imsi: Imsi::of("234150000000123"),
            other: Some("447700900999".into()),
            messages: 3,
            is_delivery: false,
        };
        let of = Envelope {
            host: "sms1.example",
            realm: "example",
            session: "sms1;1;1",
            now: Time::from_millis(1_800_000_000_000),
        };
        let dictionary = Dictionary::default();
        for (is_refund, action) in [(false, "DIRECT_DEBITING"), (true, "REFUND_ACCOUNT")] {
            let octets = keys.request(&of, &charge, is_refund).unwrap();
            let message = Message::read(&octets).unwrap();
            dictionary.check(&message).unwrap();
            let mut json = String::new();
            dictionary.to_json(&message, &mut json).unwrap();
            for part in [
                "\"command\":\"CCR\"",
                "\"CC-Request-Type\":\"EVENT_REQUEST\"",
                &format!("\"Requested-Action\":\"{action}\""),
                "\"CC-Service-Specific-Units\":3",
                "\"Service-Context-Id\":\"32274@3gpp.org\"",
                "\"Subscription-Id-Data\":\"447700900123\"",
                "\"Subscription-Id-Data\":\"234150000000123\"",
                "\"SMS-Node\":\"IP-SM-GW\"",
                "\"Address-Data\":\"447700900999\"",
                "\"Service-Identifier\":7",
                "\"Rating-Group\":9",
            ] {
                assert!(json.contains(part), "{part} in {json}");
            }
            let delivered = Charge { is_delivery: true, ..charge.clone() };
            let octets = keys.request(&of, &delivered, is_refund).unwrap();
            let message = Message::read(&octets).unwrap();
            dictionary.check(&message).unwrap();
            json.clear();
            dictionary.to_json(&message, &mut json).unwrap();
            for part in ["\"Interface-Type\":\"MOBILE_TERMINATING\"", "Recipient-Address"] {
                assert!(json.contains(part) && !json.contains("SUBMISSION"), "{part} in {json}");
            }
        }
    }
}
