//! The operations of MAP: number, name, timer, and for each range of versions of their application
//! contexts class, argument, result and errors (TS 29.002 §17.6, GSM 09.02 §14.6).

use crate::error::Error;
use crate::types::{
    ActivateTraceModeArg, ActivateTraceModeRes, AlertServiceCentreArg, AnyTimeInterrogationArg,
    AnyTimeInterrogationRes, AnyTimeModificationArg, AnyTimeModificationRes,
    AnyTimeSubscriptionInterrogationArg, AnyTimeSubscriptionInterrogationRes,
    AuthenticationFailureReportArg, AuthenticationFailureReportRes, CancelLocationArg,
    CancelLocationRes, CancelVcsgLocationArg, CancelVcsgLocationRes, CheckImeiArg, CheckImeiRes,
    DeactivateTraceModeArg, DeactivateTraceModeRes, DeleteSubscriberDataArg,
    DeleteSubscriberDataRes, EquipmentStatus, EraseCcEntryArg, EraseCcEntryRes, FailureReportArg,
    FailureReportRes, ForwardAccessSignallingArg, ForwardGroupCallSignallingArg, GuidanceInfo,
    Imei, Imsi, InformServiceCentreArg, InsertSubscriberDataArg, InsertSubscriberDataRes,
    InterrogateSsRes, IsdnAddressString, IstAlertArg, IstAlertRes, IstCommandArg, IstCommandRes,
    MoForwardSmArg, MoForwardSmRes, MtForwardSmArg, MtForwardSmRes, MtForwardSmVgcsArg,
    MtForwardSmVgcsRes, NoteMmEventArg, NoteMmEventRes, NoteMsPresentForGprsArg,
    NoteMsPresentForGprsRes, NoteSubscriberDataModifiedArg, NoteSubscriberDataModifiedRes,
    Password, PrepareGroupCallArg, PrepareGroupCallRes, PrepareHoArg, PrepareHoRes,
    PrepareSubsequentHoArg, PrepareSubsequentHoRes, ProcessAccessSignallingArg,
    ProcessGroupCallSignallingArg, ProvideRoamingNumberArg, ProvideRoamingNumberRes,
    ProvideSubscriberInfoArg, ProvideSubscriberInfoRes, ProvideSubscriberLocationArg,
    ProvideSubscriberLocationRes, PurgeMsArg, PurgeMsRes, ReadyForSmArg, ReadyForSmRes,
    RegisterCcEntryArg, RegisterCcEntryRes, RegisterSsArg, ReleaseResourcesArg,
    ReleaseResourcesRes, RemoteUserFreeArg, RemoteUserFreeRes, ReportSmDeliveryStatusArg,
    ReportSmDeliveryStatusRes, ResetArg, RestoreDataArg, RestoreDataRes, ResumeCallHandlingArg,
    ResumeCallHandlingRes, RoutingInfoForLcsArg, RoutingInfoForLcsRes, RoutingInfoForSmArg,
    RoutingInfoForSmRes, SendAuthenticationInfoArg, SendAuthenticationInfoRes, SendEndSignalArg,
    SendEndSignalRes, SendGroupCallEndSignalArg, SendGroupCallEndSignalRes, SendGroupCallInfoArg,
    SendGroupCallInfoRes, SendIdentificationArg, SendIdentificationRes, SendRoutingInfoArg,
    SendRoutingInfoForGprsArg, SendRoutingInfoForGprsRes, SendRoutingInfoRes, SetReportingStateArg,
    SetReportingStateRes, SsCode, SsForBsCode, SsInfo, SsInvocationNotificationArg,
    SsInvocationNotificationRes, StatusReportArg, StatusReportRes, SubscriberLocationReportArg,
    SubscriberLocationReportRes, Tmsi, UpdateGprsLocationArg, UpdateGprsLocationRes,
    UpdateLocationArg, UpdateLocationRes, UpdateVcsgLocationArg, UpdateVcsgLocationRes, UssdArg,
    UssdRes,
};
use crate::v2;
use machine::Duration;
use tcap::operation::Timer;

/// 3 to 10 seconds (TS 29.002 §17.1.2).
pub const S: Timer = timer("s", 3, 10);
/// 15 to 30 seconds.
pub const M: Timer = timer("m", 15, 30);
/// 1 to 10 minutes.
pub const ML: Timer = timer("ml", 60, 600);
/// 28 to 38 hours.
pub const L: Timer = timer("l", 28 * 3_600, 38 * 3_600);
/// 10 minutes, of processUnstructuredSS-Request (TS 29.002 §17.6.4).
pub const USSD: Timer = timer("10 minutes", 600, 600);

const fn timer(name: &'static str, min_s: u64, max_s: u64) -> Timer {
    Timer { name, min: Duration::from_secs(min_s), max: Duration::from_secs(max_s) }
}

tcap::operations! {
    /// An operation. `mo-ForwardSM` is `forwardSM` in versions 1 and 2.
    pub enum Operation: Error {
        UpdateLocation = 2, "updateLocation", M, "TS 29.002 §8.1.2" {
            3..=3 One (UpdateLocationArg) -> (UpdateLocationRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                RoamingNotAllowed,
            ];
            1..=2 One (v2::UpdateLocationArg) -> (v2::UpdateLocationRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                RoamingNotAllowed,
            ];
        }
        CancelLocation = 3, "cancelLocation", M, "TS 29.002 §8.1.3" {
            3..=3 One (CancelLocationArg) -> (optional CancelLocationRes) [
                DataMissing, UnexpectedDataValue,
            ];
            1..=2 One (v2::CancelLocationArg) -> () [
                DataMissing, UnexpectedDataValue, UnidentifiedSubscriber,
            ];
        }
        ProvideRoamingNumber = 4, "provideRoamingNumber", M, "TS 29.002 §10.2" {
            3..=3 One (ProvideRoamingNumberArg) -> (ProvideRoamingNumberRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                OrNotAllowed, AbsentSubscriber, NoRoamingNumberAvailable,
            ];
            1..=2 One (v2::ProvideRoamingNumberArg) -> (IsdnAddressString) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                AbsentSubscriber, NoRoamingNumberAvailable,
            ];
        }
        NoteSubscriberDataModified = 5, "noteSubscriberDataModified", M, "TS 29.002 §8.11.5" {
            3..=3 One (NoteSubscriberDataModifiedArg) -> (optional NoteSubscriberDataModifiedRes) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        ResumeCallHandling = 6, "resumeCallHandling", M, "TS 29.002 §10.3" {
            3..=4 One (ResumeCallHandlingArg) -> (optional ResumeCallHandlingRes) [
                ForwardingFailed, OrNotAllowed, UnexpectedDataValue, DataMissing,
            ];
        }
        InsertSubscriberData = 7, "insertSubscriberData", M, "TS 29.002 §8.8.1" {
            3..=3 One (InsertSubscriberDataArg) -> (optional InsertSubscriberDataRes) [
                DataMissing, UnexpectedDataValue, UnidentifiedSubscriber,
            ];
            1..=2 One (v2::InsertSubscriberDataArg) -> (optional v2::InsertSubscriberDataRes) [
                DataMissing, UnexpectedDataValue, UnidentifiedSubscriber,
            ];
        }
        DeleteSubscriberData = 8, "deleteSubscriberData", M, "TS 29.002 §8.8.2" {
            3..=3 One (DeleteSubscriberDataArg) -> (optional DeleteSubscriberDataRes) [
                DataMissing, UnexpectedDataValue, UnidentifiedSubscriber,
            ];
            1..=2 One (v2::DeleteSubscriberDataArg) -> (optional v2::DeleteSubscriberDataRes) [
                DataMissing, UnexpectedDataValue, UnidentifiedSubscriber,
            ];
        }
        SendParameters = 9, "sendParameters", M, "GSM 09.02 §14.6.1" {
            1..=1 One (v2::SendParametersArg) -> (v2::SentParameterList) [
                UnexpectedDataValue, UnknownSubscriber, UnidentifiedSubscriber,
            ];
        }
        RegisterSs = 10, "registerSS", M, "TS 29.002 §11.1" {
            2..=2 One (RegisterSsArg) -> (optional SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, CallBarred, IllegalSsOperation, SsErrorStatus,
                SsIncompatibility,
            ];
            1..=1 One (v2::RegisterSsArg) -> (optional v2::SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsErrorStatus, SsSubscriptionViolation, SsIncompatibility,
            ];
        }
        EraseSs = 11, "eraseSS", M, "TS 29.002 §11.2" {
            2..=2 One (SsForBsCode) -> (optional SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, CallBarred, IllegalSsOperation, SsErrorStatus,
            ];
            1..=1 One (v2::SsForBsCode) -> (optional v2::SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsErrorStatus, SsSubscriptionViolation,
            ];
        }
        ActivateSs = 12, "activateSS", M, "TS 29.002 §11.3" {
            2..=2 One (SsForBsCode) -> (optional SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, CallBarred, IllegalSsOperation, SsErrorStatus,
                SsSubscriptionViolation, SsIncompatibility, NegativePwCheck,
                NumberOfPwAttemptsViolation,
            ];
            1..=1 One (v2::SsForBsCode) -> (optional v2::SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsErrorStatus, SsSubscriptionViolation, SsIncompatibility,
                NegativePwCheck, NumberOfPwAttemptsViolation,
            ];
        }
        DeactivateSs = 13, "deactivateSS", M, "TS 29.002 §11.4" {
            2..=2 One (SsForBsCode) -> (optional SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, CallBarred, IllegalSsOperation, SsErrorStatus,
                SsSubscriptionViolation, NegativePwCheck, NumberOfPwAttemptsViolation,
            ];
            1..=1 One (v2::SsForBsCode) -> (optional v2::SsInfo) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsErrorStatus, SsSubscriptionViolation, NegativePwCheck,
                NumberOfPwAttemptsViolation,
            ];
        }
        InterrogateSs = 14, "interrogateSS", M, "TS 29.002 §11.5" {
            2..=2 One (SsForBsCode) -> (InterrogateSsRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, CallBarred, IllegalSsOperation, SsNotAvailable,
            ];
            1..=1 One (v2::SsForBsCode) -> (v2::InterrogateSsRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsNotAvailable,
            ];
        }
        AuthenticationFailureReport = 15, "authenticationFailureReport", M, "TS 29.002 §8.5.3" {
            3..=3 One (AuthenticationFailureReportArg)
                -> (optional AuthenticationFailureReportRes) [
                SystemFailure, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        RegisterPassword = 17, "registerPassword", ML, "TS 29.002 §11.7" {
            2..=2 One (SsCode) -> (Password) [
                SystemFailure, DataMissing, UnexpectedDataValue, CallBarred,
                SsSubscriptionViolation, PwRegistrationFailure, NegativePwCheck,
                NumberOfPwAttemptsViolation,
            ];
            1..=1 One (SsCode) -> (Password) [
                SystemFailure, DataMissing, UnexpectedDataValue, CallBarred,
                SsSubscriptionViolation, PwRegistrationFailure, NegativePwCheck,
                NumberOfPwAttemptsViolation,
            ];
        }
        GetPassword = 18, "getPassword", M, "TS 29.002 §11.8" {
            2..=2 Three (GuidanceInfo) -> (Password) [];
            1..=1 Three (v2::GuidanceInfo) -> (Password) [];
        }
        ProcessUnstructuredSsData = 19, "processUnstructuredSS-Data", M, "GSM 09.02 §14.6.4" {
            1..=1 One (v2::SsUserData) -> (v2::SsUserData) [SystemFailure, UnexpectedDataValue];
        }
        ReleaseResources = 20, "releaseResources", M, "TS 29.002 §10.15" {
            3..=3 One (ReleaseResourcesArg) -> (optional ReleaseResourcesRes) [
                UnexpectedDataValue, SystemFailure,
            ];
        }
        MtForwardSmVgcs = 21, "mt-ForwardSM-VGCS", ML, "TS 29.002 §12.10" {
            3..=3 One (MtForwardSmVgcsArg) -> (optional MtForwardSmVgcsRes) [
                SystemFailure, UnexpectedDataValue,
            ];
        }
        SendRoutingInfo = 22, "sendRoutingInfo", M, "TS 29.002 §10.1" {
            3..=3 One (SendRoutingInfoArg) -> (SendRoutingInfoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                OrNotAllowed, UnknownSubscriber, NumberChanged, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, AbsentSubscriber, BusySubscriber, NoSubscriberReply,
                CallBarred, CugReject, ForwardingViolation,
            ];
            1..=2 One (v2::SendRoutingInfoArg) -> (v2::SendRoutingInfoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnknownSubscriber, NumberChanged, BearerServiceNotProvisioned,
                TeleserviceNotProvisioned, AbsentSubscriber, CallBarred, CugReject,
                ForwardingViolation,
            ];
        }
        UpdateGprsLocation = 23, "updateGprsLocation", M, "TS 29.002 §8.1.7" {
            3..=3 One (UpdateGprsLocationArg) -> (UpdateGprsLocationRes) [
                SystemFailure, UnexpectedDataValue, UnknownSubscriber, RoamingNotAllowed,
            ];
        }
        SendRoutingInfoForGprs = 24, "sendRoutingInfoForGprs", M, "TS 29.002 §13.1" {
            3..=4 One (SendRoutingInfoForGprsArg) -> (SendRoutingInfoForGprsRes) [
                AbsentSubscriber, SystemFailure, DataMissing, UnexpectedDataValue,
                UnknownSubscriber, CallBarred,
            ];
        }
        FailureReport = 25, "failureReport", M, "TS 29.002 §13.2" {
            3..=3 One (FailureReportArg) -> (optional FailureReportRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        NoteMsPresentForGprs = 26, "noteMsPresentForGprs", M, "TS 29.002 §13.3" {
            3..=3 One (NoteMsPresentForGprsArg) -> (optional NoteMsPresentForGprsRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        PerformHandover = 28, "performHandover", M, "GSM 09.02 §14.6.1" {
            1..=1 One (v2::PerformHoArg) -> (v2::PerformHoRes) [
                SystemFailure, UnexpectedDataValue, UnknownBaseStation, InvalidTargetBaseStation,
                NoRadioResourceAvailable, NoHandoverNumberAvailable,
            ];
        }
        SendEndSignal = 29, "sendEndSignal", L, "TS 29.002 §8.4.2" {
            3..=3 Three (SendEndSignalArg) -> (SendEndSignalRes) [];
            1..=2 Three (v2::ExternalSignalInfo) -> () [];
        }
        PerformSubsequentHandover = 30, "performSubsequentHandover", M, "GSM 09.02 §14.6.1" {
            1..=1 One (v2::PerformSubsequentHoArg) -> (v2::ExternalSignalInfo) [
                UnexpectedDataValue, UnknownBaseStation, UnknownMsc, InvalidTargetBaseStation,
                SubsequentHandoverFailure,
            ];
        }
        ProcessAccessSignalling = 33, "processAccessSignalling", S, "TS 29.002 §8.4.3" {
            3..=3 Four (ProcessAccessSignallingArg) -> () [];
            1..=2 Four (v2::ExternalSignalInfo) -> () [];
        }
        ForwardAccessSignalling = 34, "forwardAccessSignalling", S, "TS 29.002 §8.4.4" {
            3..=3 Four (ForwardAccessSignallingArg) -> () [];
            1..=2 Four (v2::ExternalSignalInfo) -> () [];
        }
        NoteInternalHandover = 35, "noteInternalHandover", S, "GSM 09.02 §14.6.2" {
            1..=1 Four (v2::NoteInternalHoArg) -> () [];
        }
        CancelVcsgLocation = 36, "cancelVcsgLocation", M, "TS 29.002 §8.1.10" {
            3..=3 One (CancelVcsgLocationArg) -> (optional CancelVcsgLocationRes) [
                DataMissing, UnexpectedDataValue,
            ];
        }
        Reset = 37, "reset", M, "TS 29.002 §8.10.1" {
            3..=3 Four (ResetArg) -> () [];
            1..=2 Four (v2::ResetArg) -> () [];
        }
        ForwardCheckSsIndication = 38, "forwardCheckSS-Indication", S, "TS 29.002 §8.10.2" {
            3..=3 Four () -> () [];
            1..=2 Four () -> () [];
        }
        PrepareGroupCall = 39, "prepareGroupCall", M, "TS 29.002 §10.4" {
            3..=3 One (PrepareGroupCallArg) -> (PrepareGroupCallRes) [
                SystemFailure, NoGroupCallNumberAvailable, UnexpectedDataValue,
            ];
        }
        SendGroupCallEndSignal = 40, "sendGroupCallEndSignal", L, "TS 29.002 §10.7" {
            3..=3 Three (SendGroupCallEndSignalArg) -> (SendGroupCallEndSignalRes) [];
        }
        ProcessGroupCallSignalling = 41, "processGroupCallSignalling", S, "TS 29.002 §10.5" {
            3..=3 Four (ProcessGroupCallSignallingArg) -> () [];
        }
        ForwardGroupCallSignalling = 42, "forwardGroupCallSignalling", S, "TS 29.002 §10.6" {
            3..=3 Four (ForwardGroupCallSignallingArg) -> () [];
        }
        CheckImei = 43, "checkIMEI", M, "TS 29.002 §8.7.1" {
            3..=3 One (CheckImeiArg) -> (CheckImeiRes) [
                SystemFailure, DataMissing, UnknownEquipment,
            ];
            1..=2 One (Imei) -> (EquipmentStatus) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownEquipment,
            ];
        }
        MtForwardSm = 44, "mt-ForwardSM", ML, "TS 29.002 §12.9" {
            3..=3 One (MtForwardSmArg) -> (optional MtForwardSmRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber, IllegalSubscriber, IllegalEquipment,
                SubscriberBusyForMtSms, SmDeliveryFailure, AbsentSubscriberSm,
            ];
        }
        SendRoutingInfoForSm = 45, "sendRoutingInfoForSM", M, "TS 29.002 §12.1" {
            3..=3 One (RoutingInfoForSmArg) -> (RoutingInfoForSmRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnknownSubscriber, TeleserviceNotProvisioned, CallBarred, AbsentSubscriberSm,
            ];
            1..=2 One (v2::RoutingInfoForSmArg) -> (v2::RoutingInfoForSmRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnknownSubscriber, TeleserviceNotProvisioned, AbsentSubscriber, CallBarred,
            ];
        }
        MoForwardSm = 46, "mo-ForwardSM", ML, "TS 29.002 §12.2" {
            3..=3 One (MoForwardSmArg) -> (optional MoForwardSmRes) [
                SystemFailure, UnexpectedDataValue, FacilityNotSupported, SmDeliveryFailure,
            ];
            1..=2 One (v2::ForwardSmArg) -> () [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber, IllegalSubscriber, IllegalEquipment, AbsentSubscriber,
                SubscriberBusyForMtSms, SmDeliveryFailure,
            ];
        }
        ReportSmDeliveryStatus = 47, "reportSM-DeliveryStatus", S, "TS 29.002 §12.3" {
            3..=3 One (ReportSmDeliveryStatusArg) -> (optional ReportSmDeliveryStatusRes) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber, MessageWaitingListFull,
            ];
            1..=2 One (v2::ReportSmDeliveryStatusArg) -> (optional IsdnAddressString) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber, MessageWaitingListFull,
            ];
        }
        NoteSubscriberPresent = 48, "noteSubscriberPresent", S, "GSM 09.02 §14.6.5" {
            1..=1 Four (Imsi) -> () [];
        }
        AlertServiceCentreWithoutResult = 49,
            "alertServiceCentreWithoutResult", S, "GSM 09.02 §14.6.5" {
            1..=1 Four (v2::AlertServiceCentreArg) -> () [];
        }
        ActivateTraceMode = 50, "activateTraceMode", M, "TS 29.002 §9.1.1" {
            3..=3 One (ActivateTraceModeArg) -> (optional ActivateTraceModeRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber, TracingBufferFull,
            ];
            1..=2 One (v2::ActivateTraceModeArg) -> () [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber, TracingBufferFull,
            ];
        }
        DeactivateTraceMode = 51, "deactivateTraceMode", M, "TS 29.002 §9.1.2" {
            3..=3 One (DeactivateTraceModeArg) -> (optional DeactivateTraceModeRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber,
            ];
            1..=2 One (v2::DeactivateTraceModeArg) -> () [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber,
            ];
        }
        TraceSubscriberActivity = 52, "traceSubscriberActivity", S, "GSM 09.02 §14.6.2" {
            1..=1 Four (v2::TraceSubscriberActivityArg) -> () [];
        }
        UpdateVcsgLocation = 53, "updateVcsgLocation", M, "TS 29.002 §8.1.9" {
            3..=3 One (UpdateVcsgLocationArg) -> (UpdateVcsgLocationRes) [
                SystemFailure, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        BeginSubscriberActivity = 54, "beginSubscriberActivity", S, "GSM 09.02 §14.6.4" {
            1..=1 Four (v2::BeginSubscriberActivityArg) -> () [];
        }
        SendIdentification = 55, "sendIdentification", S, "TS 29.002 §8.1.4" {
            3..=3 One (SendIdentificationArg) -> (SendIdentificationRes) [
                DataMissing, UnidentifiedSubscriber,
            ];
            2..=2 One (Tmsi) -> (v2::SendIdentificationRes) [DataMissing, UnidentifiedSubscriber];
        }
        SendAuthenticationInfo = 56, "sendAuthenticationInfo", M, "TS 29.002 §8.5.2" {
            3..=3 One (optional SendAuthenticationInfoArg) -> (optional SendAuthenticationInfoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
            2..=2 One (v2::SendAuthenticationInfoArg) -> (v2::SendAuthenticationInfoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        RestoreData = 57, "restoreData", M, "TS 29.002 §8.10.3" {
            3..=3 One (RestoreDataArg) -> (RestoreDataRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
            2..=2 One (v2::RestoreDataArg) -> (v2::RestoreDataRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        SendImsi = 58, "sendIMSI", M, "TS 29.002 §9.2.1" {
            2..=2 One (IsdnAddressString) -> (Imsi) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        ProcessUnstructuredSsRequest = 59,
            "processUnstructuredSS-Request", USSD, "TS 29.002 §11.9" {
            2..=2 One (UssdArg) -> (UssdRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, UnknownAlphabet, CallBarred,
            ];
        }
        UnstructuredSsRequest = 60, "unstructuredSS-Request", ML, "TS 29.002 §11.10" {
            2..=2 One (UssdArg) -> (optional UssdRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, AbsentSubscriber,
                IllegalSubscriber, IllegalEquipment, UnknownAlphabet, UssdBusy,
            ];
        }
        UnstructuredSsNotify = 61, "unstructuredSS-Notify", ML, "TS 29.002 §11.11" {
            2..=2 One (UssdArg) -> () [
                SystemFailure, DataMissing, UnexpectedDataValue, AbsentSubscriber,
                IllegalSubscriber, IllegalEquipment, UnknownAlphabet, UssdBusy,
            ];
        }
        AnyTimeSubscriptionInterrogation = 62,
            "anyTimeSubscriptionInterrogation", M, "TS 29.002 §8.11.3" {
            3..=3 One (AnyTimeSubscriptionInterrogationArg)
                -> (AnyTimeSubscriptionInterrogationRes) [
                AtsiNotAllowed, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsNotAvailable, InformationNotAvailable,
            ];
        }
        InformServiceCentre = 63, "informServiceCentre", S, "TS 29.002 §12.6" {
            3..=3 Four (InformServiceCentreArg) -> () [];
            2..=2 Four (v2::InformServiceCentreArg) -> () [];
        }
        AlertServiceCentre = 64, "alertServiceCentre", S, "TS 29.002 §12.5" {
            2..=2 One (AlertServiceCentreArg) -> () [
                SystemFailure, DataMissing, UnexpectedDataValue,
            ];
        }
        AnyTimeModification = 65, "anyTimeModification", M, "TS 29.002 §8.11.4" {
            3..=3 One (AnyTimeModificationArg) -> (AnyTimeModificationRes) [
                AtmNotAllowed, DataMissing, UnexpectedDataValue, UnknownSubscriber,
                BearerServiceNotProvisioned, TeleserviceNotProvisioned, CallBarred,
                IllegalSsOperation, SsSubscriptionViolation, SsErrorStatus, SsIncompatibility,
                InformationNotAvailable,
            ];
        }
        ReadyForSm = 66, "readyForSM", M, "TS 29.002 §12.4" {
            3..=3 One (ReadyForSmArg) -> (optional ReadyForSmRes) [
                DataMissing, UnexpectedDataValue, FacilityNotSupported, UnknownSubscriber,
            ];
            2..=2 One (v2::ReadyForSmArg) -> () [
                DataMissing, UnexpectedDataValue, FacilityNotSupported, UnknownSubscriber,
            ];
        }
        PurgeMs = 67, "purgeMS", M, "TS 29.002 §8.1.6" {
            3..=3 One (PurgeMsArg) -> (optional PurgeMsRes) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
            2..=2 Three (v2::PurgeMsArg) -> () [];
        }
        PrepareHandover = 68, "prepareHandover", M, "TS 29.002 §8.4.1" {
            3..=3 One (PrepareHoArg) -> (PrepareHoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, NoHandoverNumberAvailable,
                TargetCellOutsideGroupCallArea,
            ];
            2..=2 One (v2::PrepareHoArg) -> (v2::PrepareHoRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, NoHandoverNumberAvailable,
            ];
        }
        PrepareSubsequentHandover = 69, "prepareSubsequentHandover", M, "TS 29.002 §8.4.5" {
            3..=3 One (PrepareSubsequentHoArg) -> (PrepareSubsequentHoRes) [
                UnexpectedDataValue, DataMissing, UnknownMsc, SubsequentHandoverFailure,
            ];
            2..=2 One (v2::PrepareSubsequentHoArg) -> (v2::ExternalSignalInfo) [
                UnexpectedDataValue, DataMissing, UnknownMsc, SubsequentHandoverFailure,
            ];
        }
        ProvideSubscriberInfo = 70, "provideSubscriberInfo", M, "TS 29.002 §8.11.2" {
            3..=3 One (ProvideSubscriberInfoArg) -> (ProvideSubscriberInfoRes) [
                DataMissing, UnexpectedDataValue,
            ];
        }
        AnyTimeInterrogation = 71, "anyTimeInterrogation", M, "TS 29.002 §8.11.1" {
            3..=3 One (AnyTimeInterrogationArg) -> (AnyTimeInterrogationRes) [
                SystemFailure, AtiNotAllowed, DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        SsInvocationNotification = 72, "ss-InvocationNotification", M, "TS 29.002 §11.12" {
            3..=3 One (SsInvocationNotificationArg) -> (optional SsInvocationNotificationRes) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber,
            ];
        }
        SetReportingState = 73, "setReportingState", M, "TS 29.002 §10.10" {
            3..=3 One (SetReportingStateArg) -> (optional SetReportingStateRes) [
                SystemFailure, UnidentifiedSubscriber, UnexpectedDataValue, DataMissing,
                ResourceLimitation, FacilityNotSupported,
            ];
        }
        StatusReport = 74, "statusReport", M, "TS 29.002 §10.11" {
            3..=3 One (StatusReportArg) -> (optional StatusReportRes) [
                UnknownSubscriber, SystemFailure, UnexpectedDataValue, DataMissing,
            ];
        }
        RemoteUserFree = 75, "remoteUserFree", ML, "TS 29.002 §10.12" {
            3..=3 One (RemoteUserFreeArg) -> (RemoteUserFreeRes) [
                UnexpectedDataValue, DataMissing, IncompatibleTerminal, AbsentSubscriber,
                SystemFailure, BusySubscriber,
            ];
        }
        RegisterCcEntry = 76, "registerCC-Entry", M, "TS 29.002 §11.13" {
            3..=3 One (RegisterCcEntryArg) -> (RegisterCcEntryRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, CallBarred, IllegalSsOperation,
                SsErrorStatus, SsIncompatibility, ShortTermDenial, LongTermDenial,
                FacilityNotSupported,
            ];
        }
        EraseCcEntry = 77, "eraseCC-Entry", M, "TS 29.002 §11.14" {
            3..=3 One (EraseCcEntryArg) -> (EraseCcEntryRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, CallBarred, IllegalSsOperation,
                SsErrorStatus,
            ];
        }
        ProvideSubscriberLocation = 83, "provideSubscriberLocation", ML, "TS 29.002 §13A.2" {
            3..=3 One (ProvideSubscriberLocationArg) -> (ProvideSubscriberLocationRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnidentifiedSubscriber, IllegalSubscriber, IllegalEquipment, AbsentSubscriber,
                UnauthorizedRequestingNetwork, UnauthorizedLcsClient, PositionMethodFailure,
            ];
        }
        SendGroupCallInfo = 84, "sendGroupCallInfo", M, "TS 29.002 §10.7A" {
            3..=3 One (SendGroupCallInfoArg) -> (SendGroupCallInfoRes) [
                SystemFailure, OngoingGroupCall, UnexpectedDataValue, DataMissing,
                TeleserviceNotProvisioned, UnknownSubscriber,
            ];
        }
        SendRoutingInfoForLcs = 85, "sendRoutingInfoForLCS", M, "TS 29.002 §13A.1" {
            3..=3 One (RoutingInfoForLcsArg) -> (RoutingInfoForLcsRes) [
                SystemFailure, DataMissing, UnexpectedDataValue, FacilityNotSupported,
                UnknownSubscriber, AbsentSubscriber, UnauthorizedRequestingNetwork,
            ];
        }
        SubscriberLocationReport = 86, "subscriberLocationReport", M, "TS 29.002 §13A.3" {
            3..=3 One (SubscriberLocationReportArg) -> (SubscriberLocationReportRes) [
                SystemFailure, DataMissing, ResourceLimitation, UnexpectedDataValue,
                UnknownSubscriber, UnauthorizedRequestingNetwork, UnknownOrUnreachableLcsClient,
            ];
        }
        IstAlert = 87, "ist-Alert", M, "TS 29.002 §10.13" {
            3..=3 One (IstAlertArg) -> (optional IstAlertRes) [
                UnexpectedDataValue, ResourceLimitation, UnknownSubscriber, SystemFailure,
                FacilityNotSupported,
            ];
        }
        IstCommand = 88, "ist-Command", M, "TS 29.002 §10.14" {
            3..=3 One (IstCommandArg) -> (optional IstCommandRes) [
                UnexpectedDataValue, ResourceLimitation, UnknownSubscriber, SystemFailure,
                FacilityNotSupported,
            ];
        }
        NoteMmEvent = 89, "noteMM-Event", M, "TS 29.002 §8.1.8" {
            3..=3 One (NoteMmEventArg) -> (NoteMmEventRes) [
                DataMissing, UnexpectedDataValue, UnknownSubscriber, MmEventNotSupported,
            ];
        }
    }
}
