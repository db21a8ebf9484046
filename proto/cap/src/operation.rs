//! The operations of CAP: number, name, timer, and for the phases that have them class, argument,
//! result and errors (TS 29.078 §6 to §8).

use crate::error::Error;
use crate::types::{
    ApplyChargingArg, ApplyChargingGprsArg, ApplyChargingReportArg, ApplyChargingReportGprsArg,
    AssistRequestInstructionsArg, CallGapArg, CallInformationReportArg, CallInformationRequestArg,
    CancelArg, CancelGprsArg, CollectInformationArg, ConnectArg, ConnectGprsArg, ConnectSmsArg,
    ConnectToResourceArg, ContinueGprsArg, ContinueWithArgumentArg,
    DisconnectForwardConnectionWithArgumentArg, DisconnectLegArg, EntityReleasedArg,
    EntityReleasedGprsArg, EstablishTemporaryConnectionArg, EventReportBcsmArg, EventReportGprsArg,
    EventReportSmsArg, FurnishChargingInformationArg, FurnishChargingInformationGprsArg,
    FurnishChargingInformationSmsArg, InitialDpArg, InitialDpArgPhase2, InitialDpGprsArg,
    InitialDpSmsArg, InitiateCallAttemptArg, InitiateCallAttemptRes, MoveLegArg,
    PlayAnnouncementArg, PlayToneArg, PromptAndCollectUserInformationArg, ReceivedInformationArg,
    ReleaseCallArg, ReleaseGprsArg, ReleaseSmsArg, RequestReportBcsmEventArg,
    RequestReportGprsEventArg, RequestReportSmsEventArg, ResetTimerArg, ResetTimerGprsArg,
    ResetTimerSmsArg, SendChargingInformationArg, SendChargingInformationGprsArg,
    SpecializedResourceReportArg, SplitLegArg,
};
use machine::Duration;
use tcap::operation::Timer;

/// Short: 1 to 10 seconds (TS 29.078 §6).
pub const S: Timer = timer("short", 10);
/// Medium: 1 to 60 seconds.
pub const M: Timer = timer("medium", 60);
/// Long: a second to 30 minutes.
pub const L: Timer = timer("long", 1_800);

const fn timer(name: &'static str, max_s: u64) -> Timer {
    Timer { name, min: Duration::from_secs(1), max: Duration::from_secs(max_s) }
}

tcap::operations! {
    /// An operation; versions are phases of CAMEL.
    pub enum Operation: Error {
        InitialDp = 0, "initialDP", S, "TS 29.078 §11.20" {
            3..=4 Two (InitialDpArg) -> () [
                MissingCustomerRecord, MissingParameter, ParameterOutOfRange, SystemFailure,
                TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
            1..=2 Two (InitialDpArgPhase2) -> () [
                MissingCustomerRecord, MissingParameter, ParameterOutOfRange, SystemFailure,
                TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        AssistRequestInstructions = 16, "assistRequestInstructions", S, "TS 29.078 §11.4" {
            2..=4 Two (AssistRequestInstructionsArg) -> () [
                MissingCustomerRecord, MissingParameter, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        EstablishTemporaryConnection = 17, "establishTemporaryConnection", M, "TS 29.078 §11.17" {
            2..=4 Two (EstablishTemporaryConnectionArg) -> () [
                ETcFailed, MissingParameter, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter, UnknownCsid,
            ];
        }
        DisconnectForwardConnection = 18, "disconnectForwardConnection", S, "TS 29.078 §11.13" {
            2..=4 Two () -> () [SystemFailure, TaskRefused, UnexpectedComponentSequence];
        }
        ConnectToResource = 19, "connectToResource", S, "TS 29.078 §11.10" {
            2..=4 Two (ConnectToResourceArg) -> () [
                MissingParameter, SystemFailure, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownCsid,
            ];
        }
        Connect = 20, "connect", S, "TS 29.078 §11.9" {
            1..=4 Two (ConnectArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
                UnknownLegId,
            ];
        }
        ReleaseCall = 22, "releaseCall", S, "TS 29.078 §11.26" {
            1..=4 Four (ReleaseCallArg) -> () [];
        }
        RequestReportBcsmEvent = 23, "requestReportBCSMEvent", S, "TS 29.078 §11.27" {
            1..=4 Two (RequestReportBcsmEventArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
                UnknownLegId,
            ];
        }
        EventReportBcsm = 24, "eventReportBCSM", S, "TS 29.078 §11.18" {
            1..=4 Four (EventReportBcsmArg) -> () [];
        }
        CollectInformation = 27, "collectInformation", S, "TS 29.078 §11.8A" {
            4..=4 Two (CollectInformationArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        Continue = 31, "continue", S, "TS 29.078 §11.11" {
            1..=4 Four () -> () [];
        }
        InitiateCallAttempt = 32, "initiateCallAttempt", S, "TS 29.078 §11.21" {
            4..=4 One (InitiateCallAttemptArg) -> (InitiateCallAttemptRes) [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        ResetTimer = 33, "resetTimer", S, "TS 29.078 §11.28" {
            2..=4 Two (ResetTimerArg) -> () [
                MissingParameter, ParameterOutOfRange, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownCsid,
            ];
        }
        FurnishChargingInformation = 34, "furnishChargingInformation", S, "TS 29.078 §11.19" {
            2..=4 Two (FurnishChargingInformationArg) -> () [
                MissingParameter, TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue,
                UnexpectedParameter, UnknownLegId,
            ];
        }
        ApplyCharging = 35, "applyCharging", S, "TS 29.078 §11.2" {
            2..=4 Two (ApplyChargingArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                UnexpectedDataValue, ParameterOutOfRange, SystemFailure, TaskRefused, UnknownLegId,
                UnknownCsid,
            ];
        }
        ApplyChargingReport = 36, "applyChargingReport", S, "TS 29.078 §11.3" {
            2..=4 Two (ApplyChargingReportArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                UnexpectedDataValue, UnknownCsid, UnknownLegId, ParameterOutOfRange, SystemFailure,
                TaskRefused,
            ];
        }
        CallGap = 41, "callGap", S, "TS 29.078 §11.5" {
            3..=4 Four (CallGapArg) -> () [];
        }
        CallInformationReport = 44, "callInformationReport", S, "TS 29.078 §11.6" {
            2..=4 Four (CallInformationReportArg) -> () [];
        }
        CallInformationRequest = 45, "callInformationRequest", S, "TS 29.078 §11.7" {
            2..=4 Two (CallInformationRequestArg) -> () [
                MissingParameter, ParameterOutOfRange, RequestedInfoError, SystemFailure,
                TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
                UnknownLegId,
            ];
        }
        SendChargingInformation = 46, "sendChargingInformation", S, "TS 29.078 §11.29" {
            2..=4 Two (SendChargingInformationArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                ParameterOutOfRange, SystemFailure, TaskRefused, UnexpectedDataValue, UnknownLegId,
            ];
        }
        PlayAnnouncement = 47, "playAnnouncement", L, "TS 29.078 §11.23" {
            2..=4 Two (PlayAnnouncementArg) -> () [
                Canceled, MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
                UnavailableResource, UnknownCsid,
            ];
        }
        PromptAndCollectUserInformation = 48,
            "promptAndCollectUserInformation", L, "TS 29.078 §11.25" {
            2..=4 One (PromptAndCollectUserInformationArg) -> (ReceivedInformationArg) [
                Canceled, ImproperCallerResponse, MissingParameter, ParameterOutOfRange,
                SystemFailure, TaskRefused, UnexpectedComponentSequence, UnavailableResource,
                UnexpectedDataValue, UnexpectedParameter, UnknownCsid,
            ];
        }
        SpecializedResourceReport = 49, "specializedResourceReport", S, "TS 29.078 §11.30" {
            4..=4 Four (SpecializedResourceReportArg) -> () [];
            2..=3 Four (ber::Null) -> () [];
        }
        Cancel = 53, "cancel", S, "TS 29.078 §11.8" {
            2..=4 Two (CancelArg) -> () [CancelFailed, MissingParameter, TaskRefused, UnknownCsid];
        }
        ActivityTest = 55, "activityTest", S, "TS 29.078 §11.1" {
            1..=4 Three () -> () [];
        }
        InitialDpSms = 60, "initialDPSMS", S, "TS 29.078 §12.5" {
            3..=4 Two (InitialDpSmsArg) -> () [
                MissingCustomerRecord, MissingParameter, ParameterOutOfRange, SystemFailure,
                TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        FurnishChargingInformationSms = 61, "furnishChargingInformationSMS", S, "TS 29.078 §12.4" {
            3..=4 Two (FurnishChargingInformationSmsArg) -> () [
                MissingParameter, TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue,
                UnexpectedParameter,
            ];
        }
        ConnectSms = 62, "connectSMS", S, "TS 29.078 §12.1" {
            3..=4 Two (ConnectSmsArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        RequestReportSmsEvent = 63, "requestReportSMSEvent", S, "TS 29.078 §12.7" {
            3..=4 Two (RequestReportSmsEventArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        EventReportSms = 64, "eventReportSMS", S, "TS 29.078 §12.3" {
            3..=4 Four (EventReportSmsArg) -> () [];
        }
        ContinueSms = 65, "continueSMS", S, "TS 29.078 §12.2" {
            3..=4 Four () -> () [];
        }
        ReleaseSms = 66, "releaseSMS", S, "TS 29.078 §12.6" {
            3..=4 Four (ReleaseSmsArg) -> () [];
        }
        ResetTimerSms = 67, "resetTimerSMS", S, "TS 29.078 §12.8" {
            3..=4 Two (ResetTimerSmsArg) -> () [
                MissingParameter, ParameterOutOfRange, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        ActivityTestGprs = 70, "activityTestGPRS", S, "TS 29.078 §13.1" {
            3..=3 Three () -> () [];
        }
        ApplyChargingGprs = 71, "applyChargingGPRS", S, "TS 29.078 §13.2" {
            3..=3 Two (ApplyChargingGprsArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                UnexpectedDataValue, ParameterOutOfRange, SystemFailure, TaskRefused, UnknownPdpId,
            ];
        }
        ApplyChargingReportGprs = 72, "applyChargingReportGPRS", S, "TS 29.078 §13.3" {
            3..=3 One (ApplyChargingReportGprsArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                UnexpectedDataValue, ParameterOutOfRange, SystemFailure, TaskRefused, UnknownPdpId,
            ];
        }
        CancelGprs = 73, "cancelGPRS", S, "TS 29.078 §13.4" {
            3..=3 Two (CancelGprsArg) -> () [MissingParameter, TaskRefused, UnknownPdpId];
        }
        ConnectGprs = 74, "connectGPRS", S, "TS 29.078 §13.5" {
            3..=3 Two (ConnectGprsArg) -> () [
                MissingParameter, ParameterOutOfRange, UnknownPdpId, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        ContinueGprs = 75, "continueGPRS", S, "TS 29.078 §13.6" {
            3..=3 Two (ContinueGprsArg) -> () [MissingParameter, UnknownPdpId, UnexpectedDataValue];
        }
        EntityReleasedGprs = 76, "entityReleasedGPRS", S, "TS 29.078 §13.7" {
            3..=3 One (EntityReleasedGprsArg) -> () [MissingParameter, TaskRefused, UnknownPdpId];
        }
        FurnishChargingInformationGprs = 77,
            "furnishChargingInformationGPRS", S, "TS 29.078 §13.9" {
            3..=3 Two (FurnishChargingInformationGprsArg) -> () [
                MissingParameter, TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue,
                UnexpectedParameter, UnknownPdpId,
            ];
        }
        InitialDpGprs = 78, "initialDPGPRS", S, "TS 29.078 §13.10" {
            3..=3 Two (InitialDpGprsArg) -> () [
                MissingCustomerRecord, MissingParameter, ParameterOutOfRange, SystemFailure,
                TaskRefused, UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
            ];
        }
        ReleaseGprs = 79, "releaseGPRS", S, "TS 29.078 §13.11" {
            3..=3 Two (ReleaseGprsArg) -> () [MissingParameter, TaskRefused, UnknownPdpId];
        }
        EventReportGprs = 80, "eventReportGPRS", S, "TS 29.078 §13.8" {
            3..=3 One (EventReportGprsArg) -> () [UnknownPdpId];
        }
        RequestReportGprsEvent = 81, "requestReportGPRSEvent", S, "TS 29.078 §13.12" {
            3..=3 Two (RequestReportGprsEventArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, TaskRefused,
                UnexpectedComponentSequence, UnexpectedDataValue, UnexpectedParameter,
                UnknownPdpId,
            ];
        }
        ResetTimerGprs = 82, "resetTimerGPRS", S, "TS 29.078 §13.13" {
            3..=3 Two (ResetTimerGprsArg) -> () [
                MissingParameter, ParameterOutOfRange, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownPdpId,
            ];
        }
        SendChargingInformationGprs = 83, "sendChargingInformationGPRS", S, "TS 29.078 §13.14" {
            3..=3 Two (SendChargingInformationGprsArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                ParameterOutOfRange, SystemFailure, TaskRefused, UnexpectedDataValue, UnknownPdpId,
            ];
        }
        DisconnectForwardConnectionWithArgument = 86,
            "disconnectForwardConnectionWithArgument", S, "TS 29.078 §11.14" {
            4..=4 Two (DisconnectForwardConnectionWithArgumentArg) -> () [
                MissingParameter, SystemFailure, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownCsid,
            ];
        }
        ContinueWithArgument = 88, "continueWithArgument", S, "TS 29.078 §11.12" {
            3..=4 Two (ContinueWithArgumentArg) -> () [
                MissingParameter, ParameterOutOfRange, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownLegId, UnknownCsid,
            ];
        }
        DisconnectLeg = 90, "disconnectLeg", S, "TS 29.078 §11.15" {
            4..=4 One (DisconnectLegArg) -> () [
                MissingParameter, SystemFailure, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownLegId,
            ];
        }
        MoveLeg = 93, "moveLeg", S, "TS 29.078 §11.22" {
            4..=4 One (MoveLegArg) -> () [
                MissingParameter, SystemFailure, TaskRefused, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownLegId,
            ];
        }
        SplitLeg = 95, "splitLeg", S, "TS 29.078 §11.31" {
            4..=4 One (SplitLegArg) -> () [
                MissingParameter, UnexpectedComponentSequence, UnexpectedParameter,
                UnexpectedDataValue, SystemFailure, TaskRefused, UnknownLegId,
            ];
        }
        EntityReleased = 96, "entityReleased", S, "TS 29.078 §11.16" {
            4..=4 Four (EntityReleasedArg) -> () [];
        }
        PlayTone = 97, "playTone", S, "TS 29.078 §11.24" {
            4..=4 Two (PlayToneArg) -> () [
                MissingParameter, ParameterOutOfRange, SystemFailure, UnexpectedComponentSequence,
                UnexpectedDataValue, UnexpectedParameter, UnknownLegId, UnknownCsid,
            ];
        }
    }
}
