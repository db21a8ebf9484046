//! Errors of MAP and values of Experimental-Result-Code (TS 29.338 §7.3, TS 29.229 §6.2.2.1).

use super::VERSION;
use crate::invoked::{Refused, failure_of};
use ber::Element;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::rows::{VENDOR_3GPP, base, s6c, sgd};
use map::Error;
use map::types::{AbsentSubscriberSmParam, SmEnumeratedDeliveryFailureCause as Cause};

/// `DIAMETER_ERROR_SM_DELIVERY_FAILURE`, `DIAMETER_ERROR_ABSENT_USER`.
const DELIVERY_FAILURE: u32 = 5555;
const ABSENT_USER: u32 = 5550;
/// Of several, the first one is what a code means.
const ERRORS: &[(Error, u32)] = &[
    (Error::UnknownSubscriber, 5001),
    (Error::UnidentifiedSubscriber, 5001),
    (Error::AbsentSubscriberSm, ABSENT_USER),
    (Error::SubscriberBusyForMtSms, 5551),
    (Error::FacilityNotSupported, 5552),
    (Error::IllegalSubscriber, 5553),
    (Error::IllegalEquipment, 5554),
    (Error::SmDeliveryFailure, DELIVERY_FAILURE),
    (Error::TeleserviceNotProvisioned, 5556),
    (Error::CallBarred, 5557),
    (Error::MessageWaitingListFull, 5558),
];

/// Why a subscriber is absent, of whichever node says so.
const DIAGNOSTICS: [&diameter::row::Row; 4] = [
    &s6c::ABSENT_USER_DIAGNOSTIC_SM,
    &s6c::MSC_ABSENT_USER_DIAGNOSTIC_SM,
    &s6c::MME_ABSENT_USER_DIAGNOSTIC_SM,
    &s6c::SGSN_ABSENT_USER_DIAGNOSTIC_SM,
];

/// The error of an answer that says none was done; `code` is its Experimental-Result-Code.
pub(super) fn read(code: Option<u32>, message: &Message<'_>) -> Refused {
    let avps = message.avps();
    match code {
        Some(DELIVERY_FAILURE) => {
            let failure = avps.find(&sgd::SM_DELIVERY_FAILURE_CAUSE).map(|it| it.group());
            let cause = failure.and_then(|it| it.find(&sgd::SM_ENUMERATED_DELIVERY_FAILURE_CAUSE));
            let cause = cause.and_then(|it| it.integer32().ok());
            let cause = cause.and_then(|it| Cause::of(it.into()));
            let report = failure.and_then(|it| it.find(&sgd::SM_DIAGNOSTIC_INFO));
            let report = report.or_else(|| avps.find(&sgd::SM_RP_UI)).map(|it| it.data);
            Refused::delivery(VERSION, cause.unwrap_or(Cause::EquipmentProtocolError), report)
        }
        Some(ABSENT_USER) => {
            let found = DIAGNOSTICS.iter().find_map(|row| avps.find(row)?.unsigned32().ok());
            match found {
                Some(diagnostic) => Refused::absent(diagnostic.into()),
                None => Refused::of(Error::AbsentSubscriberSm),
            }
        }
        code => {
            let found = code.and_then(|code| ERRORS.iter().find(|it| it.1 == code));
            Refused::of(found.map_or(Error::SystemFailure, |it| it.0))
        }
    }
}

fn diagnostic_of(refused: &Refused) -> Option<u32> {
    let element = Element::only(refused.parameter.as_ref()?).ok()?;
    let it = AbsentSubscriberSmParam::read(element).ok()?;
    u32::try_from(it.integer(AbsentSubscriberSmParam::AbsentSubscriberDiagnosticSm)?).ok()
}

/// Writes an error; one without a counterpart is that the node cannot comply.
pub(super) fn write<'a>(refused: &Refused, writer: Writer<'a>) -> Writer<'a> {
    let Some((error, code)) = ERRORS.iter().find(|it| it.0 == refused.error) else {
        return writer.result(ResultCode::UnableToComply);
    };
    let writer = writer.group(&base::EXPERIMENTAL_RESULT, |out| {
        out.number(&base::VENDOR_ID, VENDOR_3GPP);
        out.number(&base::EXPERIMENTAL_RESULT_CODE, *code);
    });
    match error {
        Error::AbsentSubscriberSm => match diagnostic_of(refused) {
            Some(number) => writer.number(&s6c::ABSENT_USER_DIAGNOSTIC_SM, number),
            None => writer,
        },
        Error::SmDeliveryFailure => {
            let (cause, report) = failure_of(refused.parameter.as_ref());
            let cause = cause.unwrap_or(Cause::EquipmentProtocolError).number();
            writer.group(&sgd::SM_DELIVERY_FAILURE_CAUSE, |out| {
                let number = i32::try_from(cause).unwrap_or_default();
                out.integer(&sgd::SM_ENUMERATED_DELIVERY_FAILURE_CAUSE, number);
                if let Some(report) = report {
                    out.put(&sgd::SM_DIAGNOSTIC_INFO, report);
                }
            })
        }
        _ => writer,
    }
}
