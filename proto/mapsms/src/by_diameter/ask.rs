//! Operations as requests (TS 29.338 §5.3.2, §6.3.2).

use super::tbcd;
use crate::argument::Argument;
use crate::identity::{Imsi, Msisdn};
use diameter::codec::{AvpWriter, Writer};
use diameter::row::{Application, Command};
use diameter::rows::base::USER_NAME;
use diameter::rows::sh::MSISDN;
use diameter::rows::{s6c, sgd};
use map::types::SmDeliveryOutcome;
use sms::RpAddress;

/// Bits of SRR-Flags (TS 29.338 §5.3.3.4).
const GPRS_INDICATOR: u32 = 1;
pub(super) const SM_RP_PRI: u32 = 2;

/// The command that an operation is; none: it has no counterpart.
#[must_use]
pub fn command(argument: &Argument) -> Option<(&'static Application, &'static Command)> {
    Some(match argument {
        Argument::Routing { .. } => (&s6c::S6C, &s6c::SEND_ROUTING_INFO_FOR_SM),
        Argument::Report { .. } => (&s6c::S6C, &s6c::REPORT_SM_DELIVERY_STATUS),
        Argument::Alert { .. } => (&s6c::S6C, &s6c::ALERT_SERVICE_CENTRE),
        Argument::Submit { .. } => (&sgd::SGD, &sgd::MO_FORWARD_SHORT_MESSAGE),
        Argument::Deliver { .. } => (&sgd::SGD, &sgd::MT_FORWARD_SHORT_MESSAGE),
        Argument::Ready { .. } | Argument::Registration { .. } => return None,
    })
}

/// The digits of a service centre's address; others than international ones have no room.
fn centre_of(centre: &RpAddress) -> Option<Vec<u8>> {
    Msisdn::of_address_string(centre.octets()).map(|it| tbcd(it.digits()))
}

fn identified<'a>(writer: Writer<'a>, msisdn: &Msisdn, imsi: Option<&Imsi>) -> Writer<'a> {
    writer.group(&s6c::USER_IDENTIFIER, |out| {
        if let Some(imsi) = imsi {
            out.put(&USER_NAME, imsi.digits());
        }
        out.put(&MSISDN, tbcd(msisdn.digits()));
    })
}

/// Writes what an operation says behind the head of its request; none: it has no room there.
#[must_use]
pub fn write<'a>(argument: &Argument, writer: Writer<'a>) -> Option<Writer<'a>> {
    Some(match argument {
        Argument::Routing { msisdn, centre, has_priority } => {
            let priority = if *has_priority { SM_RP_PRI } else { 0 };
            writer
                .put(&MSISDN, tbcd(msisdn.digits()))
                .put(&s6c::SC_ADDRESS, centre_of(centre)?)
                .number(&s6c::SRR_FLAGS, GPRS_INDICATOR | priority)
        }
        Argument::Report { msisdn, centre, outcome, diagnostic } => {
            let centre = centre_of(centre)?;
            let told = |out: &mut AvpWriter<'_>| outcome_of(*outcome, *diagnostic, out);
            identified(writer, msisdn, None)
                .put(&s6c::SC_ADDRESS, centre)
                .group(&s6c::SM_DELIVERY_OUTCOME, |out| {
                    out.group(&s6c::IP_SM_GW_SM_DELIVERY_OUTCOME, told)
                })
        }
        Argument::Alert { msisdn, centre } => {
            let writer = writer.put(&s6c::SC_ADDRESS, tbcd(centre.digits()));
            identified(writer, msisdn, None)
        }
        Argument::Submit { centre, msisdn, imsi, tpdu } => {
            let writer = writer.put(&s6c::SC_ADDRESS, centre_of(centre)?);
            identified(writer, msisdn, imsi.as_ref()).put(&sgd::SM_RP_UI, tpdu)
        }
        Argument::Deliver { imsi, centre, tpdu } => writer
            .put(&USER_NAME, imsi.digits())
            .put(&s6c::SC_ADDRESS, centre_of(centre)?)
            .put(&sgd::SM_RP_UI, tpdu),
        Argument::Ready { .. } | Argument::Registration { .. } => return None,
    })
}

/// SM-Delivery-Cause (TS 29.338 §5.3.3.19) has the numbers of MAP.
fn outcome_of(outcome: SmDeliveryOutcome, diagnostic: Option<i64>, out: &mut AvpWriter<'_>) {
    let cause = i32::try_from(outcome.number()).unwrap_or_default();
    out.integer(&s6c::SM_DELIVERY_CAUSE, cause);
    if let Some(number) = diagnostic.and_then(|it| u32::try_from(it).ok()) {
        out.number(&s6c::ABSENT_USER_DIAGNOSTIC_SM, number);
    }
}
