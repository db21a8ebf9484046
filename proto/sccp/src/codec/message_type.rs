//! Messages and their parameters (Q.713 §2.1, §4).

use super::Parameter;
use Parameter as P;

/// What stands in a message: the fixed part, the variable part behind pointers, the optional part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) fixed: &'static [Parameter],
    pub(crate) variable: &'static [Parameter],
    /// Which may stand in the optional part; none: the message has no pointer to one.
    pub(crate) optional: &'static [Parameter],
}

const fn parts(
    fixed: &'static [Parameter],
    variable: &'static [Parameter],
    optional: &'static [Parameter],
) -> Parts {
    Parts { fixed, variable, optional }
}

const BOTH: &[Parameter] = &[P::DestinationReference, P::SourceReference];
const UNIT: &[Parameter] = &[P::Called, P::Calling, P::Data];
const LONG: &[Parameter] = &[P::Called, P::Calling, P::LongData];
const SEGMENT: &[Parameter] = &[P::Segmentation, P::Importance];

wire::rows! {
    /// Messages of SCCP.
    pub enum MessageType: u8, pub(crate) parts: Parts {
        /// CR.
        ConnectionRequest = 0x01, "CR", parts(
            &[P::SourceReference, P::Class], &[P::Called],
            &[P::Credit, P::Calling, P::Data, P::Hops, P::Importance],
        ), "Q.713 §4.2";
        /// CC.
        ConnectionConfirm = 0x02, "CC", parts(
            &[P::DestinationReference, P::SourceReference, P::Class], &[],
            &[P::Credit, P::Called, P::Data, P::Importance],
        ), "Q.713 §4.3";
        /// CREF.
        ConnectionRefused = 0x03, "CREF", parts(
            &[P::DestinationReference, P::RefusalCause], &[],
            &[P::Called, P::Data, P::Importance],
        ), "Q.713 §4.4";
        /// RLSD.
        Released = 0x04, "RLSD", parts(
            &[P::DestinationReference, P::SourceReference, P::ReleaseCause], &[],
            &[P::Data, P::Importance],
        ), "Q.713 §4.5";
        /// RLC.
        ReleaseComplete = 0x05, "RLC", parts(BOTH, &[], &[]), "Q.713 §4.6";
        /// DT1.
        DataForm1 = 0x06, "DT1", parts(
            &[P::DestinationReference, P::More], &[P::Data], &[],
        ), "Q.713 §4.7";
        /// DT2.
        DataForm2 = 0x07, "DT2", parts(
            &[P::DestinationReference, P::Sequencing], &[P::Data], &[],
        ), "Q.713 §4.8";
        /// AK.
        Acknowledgement = 0x08, "AK", parts(
            &[P::DestinationReference, P::ReceiveSequence, P::Credit], &[], &[],
        ), "Q.713 §4.9";
        /// UDT.
        Unitdata = 0x09, "UDT", parts(&[P::Class], UNIT, &[]), "Q.713 §4.10";
        /// UDTS.
        UnitdataService = 0x0a, "UDTS", parts(&[P::ReturnCause], UNIT, &[]), "Q.713 §4.11";
        /// ED.
        ExpeditedData = 0x0b, "ED", parts(
            &[P::DestinationReference], &[P::Data], &[],
        ), "Q.713 §4.12";
        /// EA.
        ExpeditedAcknowledgement = 0x0c, "EA", parts(
            &[P::DestinationReference], &[], &[],
        ), "Q.713 §4.13";
        /// RSR.
        ResetRequest = 0x0d, "RSR", parts(
            &[P::DestinationReference, P::SourceReference, P::ResetCause], &[], &[],
        ), "Q.713 §4.14";
        /// RSC.
        ResetConfirm = 0x0e, "RSC", parts(BOTH, &[], &[]), "Q.713 §4.15";
        /// ERR.
        Error = 0x0f, "ERR", parts(
            &[P::DestinationReference, P::ErrorCause], &[], &[],
        ), "Q.713 §4.16";
        /// IT.
        InactivityTest = 0x10, "IT", parts(
            &[P::DestinationReference, P::SourceReference, P::Class, P::Sequencing, P::Credit],
            &[], &[],
        ), "Q.713 §4.17";
        /// XUDT.
        ExtendedUnitdata = 0x11, "XUDT", parts(&[P::Class, P::Hops], UNIT, SEGMENT), "Q.713 §4.18";
        /// XUDTS.
        ExtendedUnitdataService = 0x12, "XUDTS", parts(
            &[P::ReturnCause, P::Hops], UNIT, SEGMENT,
        ), "Q.713 §4.19";
        /// LUDT.
        LongUnitdata = 0x13, "LUDT", parts(&[P::Class, P::Hops], LONG, SEGMENT), "Q.713 §4.20";
        /// LUDTS.
        LongUnitdataService = 0x14, "LUDTS", parts(
            &[P::ReturnCause, P::Hops], LONG, SEGMENT,
        ), "Q.713 §4.21";
    }
}

impl MessageType {
    /// Whether its pointers have two octets (Q.713 §2.3).
    pub(crate) const fn is_long(self) -> bool {
        matches!(self, Self::LongUnitdata | Self::LongUnitdataService)
    }
}
