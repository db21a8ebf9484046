//! What the network asks of the gateway, as it stands in operations of MAP, and what it is
//! answered.

use crate::identity::{Imsi, Msisdn};
use ber::{Element, Writer};
use bytes::Bytes;
use map::types::{
    AbsentSubscriberSmParam, LocationInfoWithLmsi, MtForwardSmArg, MtForwardSmRes,
    ReportSmDeliveryStatusArg, RoutingInfoForSmArg, RoutingInfoForSmRes, SmDeliveryFailureCause,
    SmDeliveryOutcome, SmEnumeratedDeliveryFailureCause, SmRpDa, SmRpOa,
};
use map::{Error, Operation};
use sms::{Cause, RpAddress};
use tcu::{Code, Component};
use wire::Malformed;

/// An operation that was invoked here.
#[derive(Clone, PartialEq, Eq)]
pub enum Invoked {
    /// Where is a subscriber?
    Routing {
        /// Who.
        msisdn: Msisdn,
        /// Who asks.
        centre: RpAddress,
        /// SM-RP-PRI.
        has_priority: bool,
    },
    /// Here is a message.
    Deliver {
        /// A correlation IMSI.
        imsi: Imsi,
        /// Of whom it is.
        centre: RpAddress,
        /// The TPDU.
        tpdu: Vec<u8>,
        /// Another message follows in the dialogue.
        has_more: bool,
    },
    /// A delivery came to an end.
    Report {
        /// Of whom.
        msisdn: Msisdn,
        /// The service centre.
        centre: RpAddress,
        /// How.
        outcome: SmDeliveryOutcome,
        /// Why the subscriber was absent.
        diagnostic: Option<i64>,
    },
}

// Texts and subscribers are nothing for logs.
impl core::fmt::Debug for Invoked {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Routing { .. } => "Routing",
            Self::Deliver { .. } => "Deliver",
            Self::Report { .. } => "Report",
        })
    }
}

/// Why an operation was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The error.
    pub error: Error,
    /// What is said about it.
    pub parameter: Option<Bytes>,
}

impl Refused {
    /// An error alone.
    #[must_use]
    pub const fn of(error: Error) -> Self {
        Self { error, parameter: None }
    }

    /// The subscriber is absent; why (TS 23.040 §3.3.2).
    #[must_use]
    pub fn absent(diagnostic: i64) -> Self {
        let mut octets = Vec::new();
        Writer::new(&mut octets).record::<AbsentSubscriberSmParam>(|out| {
            out.integer(AbsentSubscriberSmParam::AbsentSubscriberDiagnosticSm, diagnostic);
        });
        Self { error: Error::AbsentSubscriberSm, parameter: Some(octets.into()) }
    }

    /// The terminal did not take the message: why, and its report.
    #[must_use]
    pub fn delivery(
        version: u8,
        cause: SmEnumeratedDeliveryFailureCause,
        report: Option<&[u8]>,
    ) -> Self {
        let mut octets = Vec::new();
        let mut out = Writer::new(&mut octets);
        match version {
            1 => out.integer(ber::Tag::ENUMERATED, cause.number()),
            _ => out.record::<SmDeliveryFailureCause>(|out| {
                let row = SmDeliveryFailureCause::SmEnumeratedDeliveryFailureCause;
                out.integer(row, cause.number());
                if let Some(report) = report.filter(|it| !it.is_empty()) {
                    out.octets(SmDeliveryFailureCause::DiagnosticInfo, report);
                }
            }),
        }
        Self { error: Error::SmDeliveryFailure, parameter: Some(octets.into()) }
    }

    /// As a component.
    #[must_use]
    pub fn component(self, id: i8) -> Component {
        let code = Code::Local(self.error.code());
        Component::Error { id, code, parameter: self.parameter }
    }
}

impl Invoked {
    /// Reads an argument; none of an operation that the gateway does not serve.
    ///
    /// # Errors
    /// It is not of its type.
    pub fn read(operation: Operation, octets: &[u8]) -> Result<Option<Self>, Malformed> {
        let element = Element::only(octets)?;
        Ok(match operation {
            Operation::SendRoutingInfoForSm => Self::routing(element)?,
            Operation::MtForwardSm | Operation::MoForwardSm => Self::delivery(element)?,
            Operation::ReportSmDeliveryStatus => Self::report(element)?,
            _ => None,
        })
    }

    fn routing(element: Element<'_>) -> Result<Option<Self>, Malformed> {
        let it = RoutingInfoForSmArg::read(element)?;
        let msisdn = number(it.get(RoutingInfoForSmArg::Msisdn));
        let centre = address(it.get(RoutingInfoForSmArg::ServiceCentreAddress));
        let has_priority = it.boolean(RoutingInfoForSmArg::SmRpPri).unwrap_or_default();
        let both = msisdn.zip(centre);
        Ok(both.map(|(msisdn, centre)| Self::Routing { msisdn, centre, has_priority }))
    }

    fn delivery(element: Element<'_>) -> Result<Option<Self>, Malformed> {
        let it = MtForwardSmArg::read(element)?;
        let to = it.get(MtForwardSmArg::SmRpDa).map(SmRpDa::read).transpose()?.flatten();
        let of = it.get(MtForwardSmArg::SmRpOa).map(SmRpOa::read).transpose()?.flatten();
        let imsi = match to {
            Some((SmRpDa::Imsi, value)) => whole(value).and_then(|it| Imsi::of_tbcd(&it)),
            _ => None,
        };
        let centre = match of {
            Some((SmRpOa::ServiceCentreAddressOa, value)) => address(Some(value)),
            _ => None,
        };
        let tpdu = it.get(MtForwardSmArg::SmRpUi).and_then(whole);
        let has_more = it.get(MtForwardSmArg::MoreMessagesToSend).is_some();
        let all = imsi.zip(centre).zip(tpdu);
        Ok(all.map(|((imsi, centre), tpdu)| Self::Deliver { imsi, centre, tpdu, has_more }))
    }

    fn report(element: Element<'_>) -> Result<Option<Self>, Malformed> {
        let it = ReportSmDeliveryStatusArg::read(element)?;
        let msisdn = number(it.get(ReportSmDeliveryStatusArg::Msisdn));
        let centre = address(it.get(ReportSmDeliveryStatusArg::ServiceCentreAddress));
        let outcome = it.integer(ReportSmDeliveryStatusArg::SmDeliveryOutcome);
        let outcome = outcome.and_then(SmDeliveryOutcome::of);
        let diagnostic = it.integer(ReportSmDeliveryStatusArg::AbsentSubscriberDiagnosticSm);
        let all = msisdn.zip(centre).zip(outcome);
        Ok(all.map(|((msisdn, centre), outcome)| Self::Report {
            msisdn,
            centre,
            outcome,
            diagnostic,
        }))
    }
}

fn whole(element: Element<'_>) -> Option<Vec<u8>> {
    element.octets().ok().map(|it| it.iter().collect())
}

fn number(element: Option<Element<'_>>) -> Option<Msisdn> {
    element.and_then(whole).and_then(|it| Msisdn::of_address_string(&it))
}

fn address(element: Option<Element<'_>>) -> Option<RpAddress> {
    element.and_then(whole).and_then(|it| RpAddress::of(&it).ok()).filter(|it| !it.is_none())
}

/// Routing information: a correlation IMSI, and this gateway as the node that has the subscriber.
#[must_use]
pub fn routing_result(imsi: &Imsi, gateway: &Msisdn) -> Bytes {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, &imsi.tbcd());
        let row = RoutingInfoForSmRes::LocationInfoWithLmsi;
        out.within::<LocationInfoWithLmsi>(row, |out| {
            let own = gateway.address_string();
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, own.octets());
        });
    });
    octets.into()
}

/// What the HLR said of a subscriber: the IMSI, and the nodes in the order in which it did.
#[must_use]
pub fn routing_of(result: &[u8]) -> Option<(Imsi, Vec<Msisdn>)> {
    let it = RoutingInfoForSmRes::read(Element::only(result).ok()?).ok()?;
    let imsi =
        it.get(RoutingInfoForSmRes::Imsi).and_then(whole).and_then(|it| Imsi::of_tbcd(&it))?;
    let location = it.get(RoutingInfoForSmRes::LocationInfoWithLmsi)?;
    let location = LocationInfoWithLmsi::read(location).ok()?;
    let first = number(location.get(LocationInfoWithLmsi::NetworkNodeNumber));
    let second = location
        .get(LocationInfoWithLmsi::AdditionalNumber)
        .and_then(|it| map::types::AdditionalNumber::read(it).ok().flatten())
        .and_then(|it| number(Some(it.1)));
    Some((imsi, first.into_iter().chain(second).collect()))
}

/// The result of a delivery, with the terminal's report; none in versions that have no result.
#[must_use]
pub fn delivery_result(version: u8, report: Option<&[u8]>) -> Option<Bytes> {
    let report = report.filter(|it| version >= 3 && !it.is_empty())?;
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<MtForwardSmRes>(|out| {
        out.octets(MtForwardSmRes::SmRpUi, report);
    });
    Some(octets.into())
}

/// The report in the result of a submission or a delivery.
#[must_use]
pub fn report_of(result: &[u8]) -> Option<Vec<u8>> {
    let it = MtForwardSmRes::read(Element::only(result).ok()?).ok()?;
    it.get(MtForwardSmRes::SmRpUi).and_then(whole)
}

/// Cause and report of `sm-DeliveryFailure`.
#[must_use]
pub fn failure_of(
    parameter: Option<&Bytes>,
) -> (Option<SmEnumeratedDeliveryFailureCause>, Option<Vec<u8>>) {
    let Some(element) = parameter.and_then(|it| Element::only(it).ok()) else {
        return (None, None);
    };
    let of = SmEnumeratedDeliveryFailureCause::of;
    if element.tag() == ber::Tag::ENUMERATED {
        return (element.integer().ok().and_then(of), None);
    }
    let Ok(it) = SmDeliveryFailureCause::read(element) else { return (None, None) };
    let cause = it.integer(SmDeliveryFailureCause::SmEnumeratedDeliveryFailureCause).and_then(of);
    (cause, it.get(SmDeliveryFailureCause::DiagnosticInfo).and_then(whole))
}

/// The cause that a terminal is told of an error of a service centre, with the centre's report
/// (TS 24.011 §E.2, TS 23.040 §9.3.3).
#[must_use]
pub fn cause_of(error: Option<Error>, parameter: Option<&Bytes>) -> (Cause, Option<Vec<u8>>) {
    let cause = match error {
        Some(Error::SmDeliveryFailure) => {
            let (cause, report) = failure_of(parameter);
            let cause = match cause {
                Some(SmEnumeratedDeliveryFailureCause::UnknownServiceCentre) => {
                    Cause::UnassignedNumber
                }
                Some(SmEnumeratedDeliveryFailureCause::ScCongestion) => Cause::Congestion,
                Some(SmEnumeratedDeliveryFailureCause::InvalidSmeAddress) => {
                    Cause::TransferRejected
                }
                Some(SmEnumeratedDeliveryFailureCause::SubscriberNotScSubscriber) => {
                    Cause::UnidentifiedSubscriber
                }
                _ => Cause::TransferRejected,
            };
            return (cause, report);
        }
        Some(Error::SystemFailure) => Cause::NetworkOutOfOrder,
        Some(Error::FacilityNotSupported) => Cause::FacilityRejected,
        Some(Error::UnknownSubscriber) => Cause::UnknownSubscriber,
        Some(Error::CallBarred) => Cause::CallBarred,
        Some(Error::DataMissing | Error::UnexpectedDataValue) => Cause::SemanticallyIncorrect,
        _ => Cause::TemporaryFailure,
    };
    (cause, None)
}
