//! The application contexts of CAP: for each phase of CAMEL that has one its object identifier, and
//! the operations that initiator and responder may invoke (TS 29.078 §5.6, §6 to §8; TS 09.78).

use crate::operation::Operation;

/// A context in a phase of CAMEL.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// 1 to 4.
    pub phase: u8,
    /// Contents octets of its object identifier.
    pub oid: [u8; 7],
    /// What the side that begins the dialogue may invoke.
    pub initiator: &'static [Operation],
    /// What the other side may invoke.
    pub responder: &'static [Operation],
}

macro_rules! contexts {
    ($($row:ident = $asn:literal, $spec:literal {
        $($phase:literal $oid:tt [$($ours:ident),*] [$($theirs:ident),*];)+
    })+) => {
        /// An application context.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Context { $(#[doc = concat!("`", $asn, "` (", $spec, ").")] $row),+ }

        impl Context {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$row),+];

            /// The name as the specification writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$row => $asn),+ }
            }

            /// Document and section.
            #[must_use]
            pub const fn spec(self) -> &'static str {
                match self { $(Self::$row => $spec),+ }
            }

            /// The phases that have it, the highest first.
            #[must_use]
            pub const fn phases(self) -> &'static [Phase] {
                match self { $(Self::$row => const { &[$(Phase {
                    phase: $phase,
                    oid: $oid,
                    initiator: &[$(Operation::$ours),*],
                    responder: &[$(Operation::$theirs),*],
                }),+] }),+ }
            }
        }
    };
}

impl Context {
    /// What it is in that phase, if there is one.
    #[must_use]
    pub fn phase(self, phase: u8) -> Option<&'static Phase> {
        self.phases().iter().find(|it| it.phase == phase)
    }

    /// Context and phase of an object identifier by its contents octets.
    #[must_use]
    pub fn of_oid(contents: &[u8]) -> Option<(Self, u8)> {
        Self::ALL.iter().find_map(|context| {
            let phase = context.phases().iter().find(|it| it.oid == contents)?;
            Some((*context, phase.phase))
        })
    }
}

contexts! {
    GsmSsf = "capssf-scfGenericAC", "TS 29.078 §6.1" {
        4 [4, 0, 0, 1, 23, 3, 4]
            [InitialDp, EntityReleased, EventReportBcsm, ApplyChargingReport,
             CallInformationReport, SpecializedResourceReport]
            [ActivityTest, EstablishTemporaryConnection, RequestReportBcsmEvent,
             FurnishChargingInformation, ReleaseCall, CallInformationRequest, Cancel,
             ApplyCharging, Connect, ContinueWithArgument, DisconnectLeg, MoveLeg, SplitLeg,
             DisconnectForwardConnection, DisconnectForwardConnectionWithArgument,
             ConnectToResource, PlayTone, SendChargingInformation, PlayAnnouncement,
             PromptAndCollectUserInformation, CollectInformation, Continue, ResetTimer, CallGap,
             InitiateCallAttempt];
        3 [4, 0, 0, 1, 21, 3, 4]
            [InitialDp, EventReportBcsm, ApplyChargingReport, CallInformationReport,
             SpecializedResourceReport]
            [ActivityTest, EstablishTemporaryConnection, RequestReportBcsmEvent,
             FurnishChargingInformation, ReleaseCall, CallInformationRequest, Cancel,
             ApplyCharging, Connect, DisconnectForwardConnection, ConnectToResource,
             SendChargingInformation, PlayAnnouncement, PromptAndCollectUserInformation,
             Continue, ResetTimer, ContinueWithArgument, CallGap];
        2 [4, 0, 0, 1, 0, 50, 1]
            [InitialDp, EventReportBcsm, ApplyChargingReport, CallInformationReport,
             SpecializedResourceReport]
            [ActivityTest, EstablishTemporaryConnection, RequestReportBcsmEvent,
             FurnishChargingInformation, ReleaseCall, CallInformationRequest, Cancel,
             ApplyCharging, Connect, DisconnectForwardConnection, ConnectToResource,
             SendChargingInformation, PlayAnnouncement, PromptAndCollectUserInformation,
             Continue, ResetTimer];
        1 [4, 0, 0, 1, 0, 50, 0]
            [InitialDp, EventReportBcsm]
            [Connect, ReleaseCall, RequestReportBcsmEvent, Continue, ActivityTest];
    }
    AssistHandoff = "capssf-scfAssistHandoffAC", "TS 29.078 §6.1" {
        4 [4, 0, 0, 1, 23, 3, 6]
            [AssistRequestInstructions, SpecializedResourceReport]
            [ActivityTest, Cancel, DisconnectForwardConnection,
             DisconnectForwardConnectionWithArgument, ConnectToResource, PlayAnnouncement,
             PromptAndCollectUserInformation, ResetTimer];
        3 [4, 0, 0, 1, 21, 3, 6]
            [AssistRequestInstructions, SpecializedResourceReport]
            [ActivityTest, Cancel, DisconnectForwardConnection, ConnectToResource,
             PlayAnnouncement, PromptAndCollectUserInformation, ResetTimer];
        2 [4, 0, 0, 1, 0, 51, 1]
            [AssistRequestInstructions, SpecializedResourceReport]
            [ActivityTest, Cancel, DisconnectForwardConnection, ConnectToResource,
             PlayAnnouncement, PromptAndCollectUserInformation, ResetTimer];
    }
    GsmScf = "capscf-ssfGenericAC", "TS 29.078 §6.1" {
        4 [4, 0, 0, 1, 23, 3, 8]
            [ActivityTest, EstablishTemporaryConnection, RequestReportBcsmEvent,
             FurnishChargingInformation, ReleaseCall, CallInformationRequest, Cancel,
             ApplyCharging, Connect, ContinueWithArgument, DisconnectLeg, MoveLeg, SplitLeg,
             DisconnectForwardConnection, DisconnectForwardConnectionWithArgument,
             ConnectToResource, PlayTone, InitiateCallAttempt, PlayAnnouncement,
             PromptAndCollectUserInformation, CollectInformation, Continue, ResetTimer]
            [EntityReleased, EventReportBcsm, ApplyChargingReport, CallInformationReport,
             SpecializedResourceReport];
    }
    GsmSrf = "gsmSRF-gsmSCF-ac", "TS 29.078 §6.2" {
        4 [4, 0, 0, 1, 22, 3, 14]
            [AssistRequestInstructions, SpecializedResourceReport]
            [PlayAnnouncement, PromptAndCollectUserInformation, Cancel, ActivityTest];
        3 [4, 0, 0, 1, 20, 3, 14]
            [AssistRequestInstructions, SpecializedResourceReport]
            [PlayAnnouncement, PromptAndCollectUserInformation, Cancel, ActivityTest];
        2 [4, 0, 0, 1, 0, 52, 1]
            [AssistRequestInstructions, SpecializedResourceReport]
            [PlayAnnouncement, PromptAndCollectUserInformation, Cancel, ActivityTest];
    }
    Sms = "cap-sms-AC", "TS 29.078 §7.2" {
        4 [4, 0, 0, 1, 23, 3, 61]
            [InitialDpSms, EventReportSms]
            [ConnectSms, ReleaseSms, RequestReportSmsEvent, ResetTimerSms,
             FurnishChargingInformationSms, ContinueSms];
        3 [4, 0, 0, 1, 21, 3, 61]
            [InitialDpSms, EventReportSms]
            [ConnectSms, ReleaseSms, RequestReportSmsEvent, ResetTimerSms,
             FurnishChargingInformationSms, ContinueSms];
    }
    GprsSsf = "cap-gprssf-scfAC", "TS 29.078 §8.2" {
        3 [4, 0, 0, 1, 21, 3, 50]
            [InitialDpGprs, EventReportGprs, ApplyChargingReportGprs, EntityReleasedGprs]
            [ConnectGprs, ContinueGprs, ReleaseGprs, RequestReportGprsEvent, ResetTimerGprs,
             FurnishChargingInformationGprs, ApplyChargingGprs, CancelGprs,
             SendChargingInformationGprs];
    }
    GprsScf = "cap-gsmscf-gprsssfAC", "TS 29.078 §8.2" {
        3 [4, 0, 0, 1, 21, 3, 51]
            [ReleaseGprs, RequestReportGprsEvent, FurnishChargingInformationGprs,
             ApplyChargingGprs, ActivityTestGprs, CancelGprs, SendChargingInformationGprs]
            [EventReportGprs, ApplyChargingReportGprs, EntityReleasedGprs];
    }
}
