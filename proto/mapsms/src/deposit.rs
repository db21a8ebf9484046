//! What the gateway's own centre makes of what it is given: SMS-DELIVER of SMS-SUBMIT or of text,
//! SMS-STATUS-REPORT, the reports to a sender (TS 23.040 §9.2.2).

use crate::centre::{Centre, Plan, Stored};
use crate::identity::Msisdn;
use machine::{Duration, Time};
use sms::rp::Message;
use sms::{
    Address, Cause, FailureCause, Kind, Made, Parameter, Part, Split, Status, Tpdu, TypeOfNumber,
    Value,
};

/// A validity period of nothing is an attempt.
const VALIDITY_MIN: Duration = Duration::from_secs(60);

/// A service centre of the gateway's own.
#[derive(Debug, Clone)]
pub struct Local {
    /// Digits with one of which numbers of subscribers begin; none: any.
    pub numbers: Vec<String>,
    /// What stands in front of a national number; none: such numbers are unknown.
    pub country_code: Option<String>,
    /// How much is taken, and when it is tried again.
    pub plan: Plan,
    /// How long a message is good that says nothing of that.
    pub validity: Duration,
    /// How long a message is good at most.
    pub validity_max: Duration,
    /// Messages that one text may need.
    pub parts_max: usize,
    /// Quarters of an hour that time stamps are east of Greenwich.
    pub quarters: i8,
}

/// Why a message is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It cannot be.
    Cause(Cause),
    /// The centre does not want it.
    Centre(FailureCause),
}

/// Seconds of the clock since 1970.
fn unix(now: Time) -> i64 {
    i64::try_from(now.as_millis() / 1_000).unwrap_or(i64::MAX)
}

fn stamp(now: Time, quarters: i8) -> sms::Time {
    sms::Time::of_unix(unix(now), quarters)
}

fn written(tpdu: &Tpdu<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    tpdu.write(&mut octets).ok().map(|()| octets)
}

impl Local {
    /// What of a sender's message waits at the centre.
    ///
    /// # Errors
    /// It is not kept: why.
    pub fn stored(
        &self,
        message: &Message<'_>,
        sender: Msisdn,
        centre: &Centre,
        now: Time,
    ) -> Result<Stored, Kept> {
        let invalid = || Kept::Cause(Cause::InvalidMandatory);
        let kind = message.tpdu_kind().ok_or_else(invalid)?;
        if kind == Kind::Command {
            return Err(Kept::Centre(FailureCause::CommandUnsupported));
        }
        let submit = kind.read(message.user_data.unwrap_or_default()).map_err(|_| invalid())?;
        let to = submit.address().and_then(|it| self.dialled(it));
        let to = to.ok_or(Kept::Cause(Cause::UnassignedNumber))?;
        let reference = submit.reference().unwrap_or_default();
        if submit.flag(Parameter::RejectDuplicates) && centre.has_duplicate(&to, &sender, reference)
        {
            return Err(Kept::Centre(FailureCause::DuplicateRejected));
        }
        let from = Address::international(sender.digits()).ok_or_else(invalid)?;
        let tpdu = self.deliver(&submit, from, now).ok_or_else(invalid)?;
        Ok(Stored {
            to,
            sender: Some(sender),
            reference,
            wants_report: submit.flag(Parameter::StatusReportRequest),
            tpdu,
            received: now,
            until: self.until(Some(&submit), now),
            trail: 0,
            sum: 0,
        })
    }

    /// The subscriber that an address names as it was dialled; none if it is none of this
    /// centre's.
    #[must_use]
    pub fn dialled(&self, address: &Address) -> Option<Msisdn> {
        let text = address.text();
        let code = self.country_code.as_deref();
        let digits = match address.number() {
            TypeOfNumber::International => text,
            TypeOfNumber::National => format!("{}{text}", code?),
            TypeOfNumber::Alphanumeric => return None,
            _ => match (text.strip_prefix("00"), text.strip_prefix('0'), code) {
                (Some(rest), _, _) => rest.to_owned(),
                (None, Some(rest), Some(code)) => format!("{code}{rest}"),
                _ => text,
            },
        };
        self.served(Msisdn::of(&digits)?)
    }

    /// The subscriber of that number, if it is one of this centre's.
    #[must_use]
    pub fn served(&self, msisdn: Msisdn) -> Option<Msisdn> {
        let is_served = self.numbers.is_empty()
            || self.numbers.iter().any(|it| msisdn.digits().starts_with(it.as_str()));
        is_served.then_some(msisdn)
    }

    /// Until when a message is good that says so.
    #[must_use]
    pub fn until(&self, submit: Option<&Tpdu<'_>>, now: Time) -> Time {
        let said = submit.and_then(Tpdu::validity).and_then(|it| it.seconds(unix(now)));
        let said = said.and_then(|it| u64::try_from(it).ok()).map(Duration::from_secs);
        now + said.unwrap_or(self.validity).max(VALIDITY_MIN).min(self.validity_max)
    }

    /// SMS-DELIVER of SMS-SUBMIT.
    #[must_use]
    pub fn deliver(&self, submit: &Tpdu<'_>, from: Address, now: Time) -> Option<Vec<u8>> {
        let mut tpdu = Tpdu::new(Kind::Deliver)
            .with(Parameter::OriginatingAddress, Value::Address(from))
            .with(Parameter::ServiceCentreTime, Value::Time(stamp(now, self.quarters)));
        let kept = [
            Parameter::ProtocolIdentifier,
            Parameter::DataCodingScheme,
            Parameter::HeaderIndicator,
            Parameter::ReplyPath,
            Parameter::UserData,
        ];
        for it in kept {
            if let Some(value) = submit.get(it) {
                tpdu = tpdu.with(it, *value);
            }
        }
        let is_asked = submit.flag(Parameter::StatusReportRequest);
        written(&tpdu.with(Parameter::StatusReportIndication, Value::Flag(is_asked)))
    }

    /// SMS-DELIVER for each part of a text; none if it needs too many.
    #[must_use]
    pub fn texts(&self, text: &str, from: Address, reference: u8, now: Time) -> Vec<Vec<u8>> {
        let how = Split { reference: reference.into(), languages: &[] };
        let parts = sms::split(text, how).unwrap_or_default();
        if parts.len() > self.parts_max {
            return Vec::new();
        }
        let deliver = |Part { coding, has_header, data }: &Part| {
            let tpdu = Tpdu::new(Kind::Deliver)
                .with(Parameter::OriginatingAddress, Value::Address(from))
                .octet(Parameter::ProtocolIdentifier, 0)
                .octet(Parameter::DataCodingScheme, coding.0)
                .with(Parameter::ServiceCentreTime, Value::Time(stamp(now, self.quarters)))
                .with(
                    Parameter::UserData,
                    Value::UserData(Made::as_read(data, *coding, *has_header)),
                );
            written(&tpdu)
        };
        parts.iter().map(deliver).collect::<Option<_>>().unwrap_or_default()
    }

    /// SMS-SUBMIT-REPORT of what was taken, or of why it was not.
    #[must_use]
    pub fn submit_report(&self, why: Option<FailureCause>, now: Time) -> Option<Vec<u8>> {
        let kind = if why.is_some() { Kind::SubmitReportError } else { Kind::SubmitReport };
        let mut tpdu = Tpdu::new(kind)
            .with(Parameter::Indicator, Value::Octets(&[0]))
            .with(Parameter::ServiceCentreTime, Value::Time(stamp(now, self.quarters)));
        if let Some(why) = why {
            tpdu = tpdu.octet(Parameter::FailureCause, why.number());
        }
        written(&tpdu)
    }

    /// SMS-STATUS-REPORT of a message, for its sender; none where nobody asked for it.
    #[must_use]
    pub fn status_report(&self, of: &Stored, status: Status, now: Time) -> Option<Stored> {
        let to = of.sender.clone().filter(|_| of.wants_report)?;
        let tpdu = Tpdu::new(Kind::StatusReport)
            .octet(Parameter::MessageReference, of.reference)
            .with(
                Parameter::RecipientAddress,
                Value::Address(Address::international(of.to.digits())?),
            )
            .with(Parameter::ServiceCentreTime, Value::Time(stamp(of.received, self.quarters)))
            .with(Parameter::DischargeTime, Value::Time(stamp(now, self.quarters)))
            .octet(Parameter::Status, status.number());
        Some(Stored {
            to,
            sender: None,
            reference: of.reference,
            wants_report: false,
            tpdu: written(&tpdu)?,
            received: now,
            until: now + self.validity,
            trail: of.trail,
            sum: 0,
        })
    }
}

/// An SMS-SUBMIT that asks for a duplicate to be rejected (TP-RD, TS 23.040 §9.2.2.2).
#[must_use]
pub fn rejecting_duplicates(tpdu: &[u8]) -> Vec<u8> {
    const REJECT_DUPLICATES: u8 = 1 << 2;
    let mut octets = tpdu.to_vec();
    if let Some(first) = octets.first_mut() {
        *first |= REJECT_DUPLICATES;
    }
    octets
}

/// The same TPDU, saying whether more messages wait (TP-MMS, TS 23.040 §9.2.3.2).
#[must_use]
pub fn with_more(tpdu: &[u8], has_more: bool) -> Vec<u8> {
    const NO_MORE: u8 = 4;
    let mut octets = tpdu.to_vec();
    if let Some(first) = octets.first_mut() {
        *first = if has_more { *first & !NO_MORE } else { *first | NO_MORE };
    }
    octets
}

/// Who sent a TPDU and what it says, for a terminal that takes text alone; none if it says nothing
/// that is text.
#[must_use]
pub fn as_text(tpdu: &[u8]) -> Option<(String, String)> {
    let kind = Kind::in_data(sms::Direction::ToTerminal, tpdu)?;
    let read = kind.read(tpdu).ok()?;
    let address = read.address()?;
    let from = match address.number() {
        TypeOfNumber::International => format!("+{}", address.text()),
        _ => address.text(),
    };
    let text = match read.status().filter(|_| kind == Kind::StatusReport) {
        Some(status) => format!("{from}: {}", status.name()),
        None => read.user_data()?.text().ok()??,
    };
    Some((from, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> Local {
        Local {
            numbers: vec!["4477".into()],
            country_code: Some("44".into()),
            plan: Plan { messages_max: 9, messages_per_receiver_max: 9, retries: Vec::new() },
            validity: Duration::from_secs(7_200),
            validity_max: Duration::from_secs(86_400),
            parts_max: 3,
            quarters: 0,
        }
    }

    #[test]
    fn a_number_is_the_same_subscriber_however_it_is_dialled() {
        use sms::NumberingPlan::Isdn;
        let own = Msisdn::of("447700900123");
        for (kind, digits, found) in [
            (TypeOfNumber::International, "447700900123", &own),
            (TypeOfNumber::National, "7700900123", &own),
            (TypeOfNumber::Unknown, "07700900123", &own),
            (TypeOfNumber::Unknown, "00447700900123", &own),
            (TypeOfNumber::Unknown, "447700900123", &own),
            (TypeOfNumber::International, "4915500", &None),
            (TypeOfNumber::Unknown, "112", &None),
        ] {
            let address = Address::digits(kind, Isdn, digits).unwrap();
            assert_eq!(&local().dialled(&address), found, "{kind:?} {digits}");
        }
    }

    #[test]
    fn a_text_becomes_messages_that_say_who_sent_it_and_text_again() {
        let from = Address::international("447700900999").unwrap();
        let now = Time::from_millis(1_795_737_882_000);
        let one = local().texts("Grüße, 50 €", from, 7, now);
        assert_eq!(one.len(), 1);
        assert_eq!(as_text(&one[0]), Some(("+447700900999".into(), "Grüße, 50 €".into())));
        assert_eq!(local().texts(&"x".repeat(400), from, 7, now).len(), 3);
        assert!(local().texts(&"x".repeat(500), from, 7, now).is_empty(), "it needs four");
        assert_eq!(with_more(&one[0], false)[0] & 4, 4);
        assert_eq!(with_more(&one[0], true)[0] & 4, 0);
    }

    #[test]
    fn reports_can_be_read_and_validity_is_held_within_limits() {
        let now = Time::from_millis(1_795_737_882_000);
        let taken = local().submit_report(None, now).unwrap();
        let read = Kind::SubmitReport.read(&taken).unwrap();
        let time = read.time(Parameter::ServiceCentreTime).unwrap();
        assert_eq!(time.unix(), Some(1_795_737_882));
        let refused = local().submit_report(Some(FailureCause::CommandUnsupported), now).unwrap();
        let read = Kind::SubmitReportError.read(&refused).unwrap();
        assert_eq!(read.failure_cause(), Some(FailureCause::CommandUnsupported));
        let of = Stored {
            to: Msisdn::of("447700900123").unwrap(),
            sender: Msisdn::of("447700900999"),
            reference: 9,
            wants_report: true,
            tpdu: Vec::new(),
            received: now,
            until: now,
            trail: 3,
            sum: 0,
        };
        let report = local().status_report(&of, Status::ValidityExpired, now).unwrap();
        let read = Kind::StatusReport.read(&report.tpdu).unwrap();
        assert_eq!((read.reference(), read.status()), (Some(9), Some(Status::ValidityExpired)));
        assert_eq!((report.to.digits(), report.trail), ("447700900999", 3));
        let text = as_text(&report.tpdu).unwrap().1;
        assert_eq!(text, "+447700900123: validity period expired");
        let silent = Stored { wants_report: false, ..of };
        assert_eq!(local().status_report(&silent, Status::Received, now), None);
        for (step, seconds) in [(0, 300), (255, 86_400)] {
            let submit = Tpdu::new(Kind::Submit)
                .with(Parameter::ValidityPeriod, Value::Validity(sms::Validity::Relative(step)));
            let until = local().until(Some(&submit), now);
            assert_eq!(until, now + Duration::from_secs(seconds));
        }
        assert_eq!(local().until(None, now), now + Duration::from_secs(7_200));
    }
}
