//! What is asked of the network, as operations of MAP: their components are the same in every
//! version, so that one way of writing serves all; what a later version adds stands behind a test
//! of the version.

use crate::identity::{Imsi, Msisdn};
use ber::{Tag, Writer};
use bytes::Bytes;
use map::types::{
    AlertReason, AlertServiceCentreArg, AnyTimeModificationArg, MoForwardSmArg,
    ModificationInstruction, ModificationRequestForIpSmGwData, MtForwardSmArg, ReadyForSmArg,
    ReportSmDeliveryStatusArg, RoutingInfoForSmArg, SmDeliveryOutcome, SmRpDa, SmRpOa,
    SubscriberIdentity,
};
use map::{Context, Operation};
use sms::RpAddress;

/// The version from which on a component is known.
const THIRD: u8 = 3;

/// An operation that the gateway invokes.
#[derive(Clone, PartialEq, Eq)]
pub enum Argument {
    /// A message of a terminal, for a service centre.
    Submit {
        /// The service centre, as the terminal named it.
        centre: RpAddress,
        /// Whose message it is.
        msisdn: Msisdn,
        /// The subscriber's IMSI.
        imsi: Option<Imsi>,
        /// The TPDU.
        tpdu: Vec<u8>,
    },
    /// A message of a service centre, for an MSC, SGSN or MME.
    Deliver {
        /// The subscriber's own IMSI.
        imsi: Imsi,
        /// The service centre.
        centre: RpAddress,
        /// The TPDU.
        tpdu: Vec<u8>,
    },
    /// Where a subscriber is.
    Routing {
        /// Who.
        msisdn: Msisdn,
        /// The service centre that wants to know.
        centre: RpAddress,
        /// Whether it is to be tried even where the subscriber is known to be absent.
        has_priority: bool,
    },
    /// A subscriber can be reached, or has memory, again.
    Ready {
        /// Who.
        imsi: Imsi,
        /// Why.
        reason: AlertReason,
    },
    /// What became of a delivery.
    Report {
        /// Of whom.
        msisdn: Msisdn,
        /// The service centre.
        centre: RpAddress,
        /// What.
        outcome: SmDeliveryOutcome,
        /// Why the subscriber was absent (TS 23.040 §3.3.2).
        diagnostic: Option<i64>,
    },
    /// A service centre may try again.
    Alert {
        /// Who can be reached.
        msisdn: Msisdn,
        /// The service centre.
        centre: Msisdn,
    },
    /// This gateway serves a subscriber, or no longer.
    Registration {
        /// Who.
        msisdn: Msisdn,
        /// The gateway's own address.
        gateway: Msisdn,
        /// Whether it does.
        is_registered: bool,
    },
}

impl core::fmt::Debug for Argument {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.operation(THIRD))
    }
}

impl Argument {
    /// The application context, in its highest version.
    #[must_use]
    pub const fn context(&self) -> (Context, u8) {
        match self {
            Self::Submit { .. } => (Context::ShortMsgMoRelay, 3),
            Self::Deliver { .. } => (Context::ShortMsgMtRelay, 3),
            Self::Routing { .. } | Self::Report { .. } => (Context::ShortMsgGateway, 3),
            Self::Ready { .. } => (Context::MwdMngt, 3),
            Self::Alert { .. } => (Context::ShortMsgAlert, 2),
            Self::Registration { .. } => (Context::AnyTimeInfoHandling, 3),
        }
    }

    /// The operation in a version.
    #[must_use]
    pub const fn operation(&self, version: u8) -> Operation {
        match self {
            Self::Submit { .. } => Operation::MoForwardSm,
            Self::Deliver { .. } if version < THIRD => Operation::MoForwardSm,
            Self::Deliver { .. } => Operation::MtForwardSm,
            Self::Routing { .. } => Operation::SendRoutingInfoForSm,
            Self::Report { .. } => Operation::ReportSmDeliveryStatus,
            Self::Ready { .. } if version == 1 => Operation::NoteSubscriberPresent,
            Self::Ready { .. } => Operation::ReadyForSm,
            Self::Alert { .. } if version == 1 => Operation::AlertServiceCentreWithoutResult,
            Self::Alert { .. } => Operation::AlertServiceCentre,
            Self::Registration { .. } => Operation::AnyTimeModification,
        }
    }

    /// The argument in a version.
    #[must_use]
    pub fn encode(&self, version: u8) -> Bytes {
        let mut octets = Vec::with_capacity(256);
        let mut out = Writer::new(&mut octets);
        match self {
            Self::Submit { .. } | Self::Deliver { .. } => self.forward(version, &mut out),
            Self::Routing { msisdn, centre, has_priority } => {
                out.record::<RoutingInfoForSmArg>(|out| {
                    out.octets(RoutingInfoForSmArg::Msisdn, msisdn.address_string().octets());
                    out.boolean(RoutingInfoForSmArg::SmRpPri, *has_priority);
                    out.octets(RoutingInfoForSmArg::ServiceCentreAddress, centre.octets());
                    if version >= THIRD {
                        out.null(RoutingInfoForSmArg::GprsSupportIndicator);
                    }
                });
            }
            Self::Ready { imsi, .. } if version == 1 => {
                out.octets(Tag::OCTET_STRING, &imsi.tbcd());
            }
            Self::Ready { imsi, reason } => out.record::<ReadyForSmArg>(|out| {
                out.octets(ReadyForSmArg::Imsi, &imsi.tbcd());
                out.integer(ReadyForSmArg::AlertReason, reason.number());
            }),
            Self::Report { .. } => self.report(version, &mut out),
            Self::Alert { msisdn, centre } => out.record::<AlertServiceCentreArg>(|out| {
                out.octets(AlertServiceCentreArg::Msisdn, msisdn.address_string().octets());
                let centre = centre.address_string();
                out.octets(AlertServiceCentreArg::ServiceCentreAddress, centre.octets());
            }),
            Self::Registration { .. } => self.registration(&mut out),
        }
        octets.into()
    }

    fn forward(&self, version: u8, out: &mut Writer<'_>) {
        match self {
            Self::Submit { centre, msisdn, imsi, tpdu } => out.record::<MoForwardSmArg>(|out| {
                out.within::<SmRpDa>(MoForwardSmArg::SmRpDa, |out| {
                    out.octets(SmRpDa::ServiceCentreAddressDa, centre.octets());
                });
                out.within::<SmRpOa>(MoForwardSmArg::SmRpOa, |out| {
                    out.octets(SmRpOa::Msisdn, msisdn.address_string().octets());
                });
                out.octets(MoForwardSmArg::SmRpUi, tpdu);
                if let Some(imsi) = imsi.as_ref().filter(|_| version >= THIRD) {
                    out.octets(MoForwardSmArg::Imsi, &imsi.tbcd());
                }
            }),
            Self::Deliver { imsi, centre, tpdu } => out.record::<MtForwardSmArg>(|out| {
                out.within::<SmRpDa>(MtForwardSmArg::SmRpDa, |out| {
                    out.octets(SmRpDa::Imsi, &imsi.tbcd());
                });
                out.within::<SmRpOa>(MtForwardSmArg::SmRpOa, |out| {
                    out.octets(SmRpOa::ServiceCentreAddressOa, centre.octets());
                });
                out.octets(MtForwardSmArg::SmRpUi, tpdu);
            }),
            _ => {}
        }
    }

    fn report(&self, version: u8, out: &mut Writer<'_>) {
        let Self::Report { msisdn, centre, outcome, diagnostic } = self else { return };
        out.record::<ReportSmDeliveryStatusArg>(|out| {
            out.octets(ReportSmDeliveryStatusArg::Msisdn, msisdn.address_string().octets());
            out.octets(ReportSmDeliveryStatusArg::ServiceCentreAddress, centre.octets());
            out.integer(ReportSmDeliveryStatusArg::SmDeliveryOutcome, outcome.number());
            if version < THIRD {
                return;
            }
            if let Some(number) = diagnostic {
                out.integer(ReportSmDeliveryStatusArg::AbsentSubscriberDiagnosticSm, *number);
            }
            out.null(ReportSmDeliveryStatusArg::IpSmGwIndicator);
            out.integer(ReportSmDeliveryStatusArg::IpSmGwSmDeliveryOutcome, outcome.number());
            if let Some(number) = diagnostic {
                let row = ReportSmDeliveryStatusArg::IpSmGwAbsentSubscriberDiagnosticSm;
                out.integer(row, *number);
            }
        });
    }

    fn registration(&self, out: &mut Writer<'_>) {
        let Self::Registration { msisdn, gateway, is_registered } = self else { return };
        let instruction = match is_registered {
            true => ModificationInstruction::Activate,
            false => ModificationInstruction::Deactivate,
        };
        out.record::<AnyTimeModificationArg>(|out| {
            out.within::<SubscriberIdentity>(AnyTimeModificationArg::SubscriberIdentity, |out| {
                out.octets(SubscriberIdentity::Msisdn, msisdn.address_string().octets());
            });
            let own = gateway.address_string();
            out.octets(AnyTimeModificationArg::GsmScfAddress, own.octets());
            let row = AnyTimeModificationArg::ModificationRequestForIpSmGwData;
            out.within::<ModificationRequestForIpSmGwData>(row, |out| {
                let row = ModificationRequestForIpSmGwData::ModifyRegistrationStatus;
                out.integer(row, instruction.number());
            });
        });
    }
}
