//! The errors of MAP: number, name, and for each range of versions what is said about it
//! (TS 29.002 §17.6.6, GSM 09.02 §14.6.6).

use crate::types::{
    AbsentSubscriberParam, AbsentSubscriberSmParam, AtiNotAllowedParam, AtmNotAllowedParam,
    AtsiNotAllowedParam, BearerServNotProvParam, BusySubscriberParam, CallBarredParam,
    CallBarringCause, CugRejectCause, CugRejectParam, DataMissingParam, FacilityNotSupParam,
    ForwardingFailedParam, ForwardingViolationParam, IllegalEquipmentParam,
    IllegalSsOperationParam, IllegalSubscriberParam, IncompatibleTerminalParam,
    InformationNotAvailableParam, LongTermDenialParam, MessageWaitListFullParam,
    MmEventNotSupportedParam, NetworkResource, NoGroupCallNbParam, NoRoamingNbParam,
    NoSubscriberReplyParam, NumberChangedParam, OngoingGroupCallParam, OrNotAllowedParam,
    PositionMethodFailureParam, PwRegistrationFailureCause, ResourceLimitationParam,
    RoamingNotAllowedCause, RoamingNotAllowedParam, ShortTermDenialParam, SmDeliveryFailureCause,
    SsIncompatibilityCause, SsNotAvailableParam, SsStatus, SsSubscriptionOption,
    SsSubscriptionViolationParam, SubBusyForMtSmsParam, SystemFailureParam,
    TargetCellOutsideGcaParam, TeleservNotProvParam, TracingBufferFullParam,
    UnauthorizedLcsClientParam, UnauthorizedRequestingNetworkParam, UnexpectedDataParam,
    UnidentifiedSubParam, UnknownOrUnreachableLcsClientParam, UnknownSubscriberParam,
};
use crate::v2;

tcap::errors! {
    /// An error of a user of MAP.
    pub enum Error {
        UnknownSubscriber = 1, "unknownSubscriber", "TS 29.002 §7.6.1.4" {
            3..=4 (optional UnknownSubscriberParam);
            1..=2 ();
        }
        UnknownBaseStation = 2, "unknownBaseStation", "TS 29.002 §7.6.1.4" {
            1..=2 ();
        }
        UnknownMsc = 3, "unknownMSC", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        UnidentifiedSubscriber = 5, "unidentifiedSubscriber", "TS 29.002 §7.6.1.4" {
            3..=4 (optional UnidentifiedSubParam);
            1..=2 ();
        }
        AbsentSubscriberSm = 6, "absentSubscriberSM", "TS 29.002 §7.6.1.4" {
            1..=4 (optional AbsentSubscriberSmParam);
        }
        UnknownEquipment = 7, "unknownEquipment", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        RoamingNotAllowed = 8, "roamingNotAllowed", "TS 29.002 §7.6.1.4" {
            3..=4 (RoamingNotAllowedParam);
            1..=2 (RoamingNotAllowedCause);
        }
        IllegalSubscriber = 9, "illegalSubscriber", "TS 29.002 §7.6.1.4" {
            3..=4 (optional IllegalSubscriberParam);
            1..=2 ();
        }
        BearerServiceNotProvisioned = 10, "bearerServiceNotProvisioned", "TS 29.002 §7.6.1.4" {
            3..=4 (optional BearerServNotProvParam);
            1..=2 ();
        }
        TeleserviceNotProvisioned = 11, "teleserviceNotProvisioned", "TS 29.002 §7.6.1.4" {
            3..=4 (optional TeleservNotProvParam);
            1..=2 ();
        }
        IllegalEquipment = 12, "illegalEquipment", "TS 29.002 §7.6.1.4" {
            3..=4 (optional IllegalEquipmentParam);
            1..=2 ();
        }
        CallBarred = 13, "callBarred", "TS 29.002 §7.6.1.4" {
            3..=4 (optional CallBarredParam);
            1..=2 (optional CallBarringCause);
        }
        ForwardingViolation = 14, "forwardingViolation", "TS 29.002 §7.6.1.4" {
            3..=4 (optional ForwardingViolationParam);
            1..=2 ();
        }
        CugReject = 15, "cug-Reject", "TS 29.002 §7.6.1.4" {
            3..=4 (optional CugRejectParam);
            1..=2 (optional CugRejectCause);
        }
        IllegalSsOperation = 16, "illegalSS-Operation", "TS 29.002 §7.6.1.4" {
            3..=4 (optional IllegalSsOperationParam);
            1..=2 ();
        }
        SsErrorStatus = 17, "ss-ErrorStatus", "TS 29.002 §7.6.1.4" {
            1..=4 (optional SsStatus);
        }
        SsNotAvailable = 18, "ss-NotAvailable", "TS 29.002 §7.6.1.4" {
            3..=4 (optional SsNotAvailableParam);
            1..=2 ();
        }
        SsSubscriptionViolation = 19, "ss-SubscriptionViolation", "TS 29.002 §7.6.1.4" {
            3..=4 (optional SsSubscriptionViolationParam);
            1..=2 (optional SsSubscriptionOption);
        }
        SsIncompatibility = 20, "ss-Incompatibility", "TS 29.002 §7.6.1.4" {
            1..=4 (optional SsIncompatibilityCause);
        }
        FacilityNotSupported = 21, "facilityNotSupported", "TS 29.002 §7.6.1.4" {
            3..=4 (optional FacilityNotSupParam);
            1..=2 ();
        }
        OngoingGroupCall = 22, "ongoingGroupCall", "TS 29.002 §7.6.1.4" {
            1..=4 (optional OngoingGroupCallParam);
        }
        InvalidTargetBaseStation = 23, "invalidTargetBaseStation", "TS 29.002 §7.6.1.4" {
            1..=2 ();
        }
        NoRadioResourceAvailable = 24, "noRadioResourceAvailable", "TS 29.002 §7.6.1.4" {
            1..=2 ();
        }
        NoHandoverNumberAvailable = 25, "noHandoverNumberAvailable", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        SubsequentHandoverFailure = 26, "subsequentHandoverFailure", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        AbsentSubscriber = 27, "absentSubscriber", "TS 29.002 §7.6.1.4" {
            3..=4 (optional AbsentSubscriberParam);
            1..=2 (optional v2::MwdSet);
        }
        IncompatibleTerminal = 28, "incompatibleTerminal", "TS 29.002 §7.6.1.4" {
            1..=4 (optional IncompatibleTerminalParam);
        }
        ShortTermDenial = 29, "shortTermDenial", "TS 29.002 §7.6.1.4" {
            1..=4 (optional ShortTermDenialParam);
        }
        LongTermDenial = 30, "longTermDenial", "TS 29.002 §7.6.1.4" {
            1..=4 (optional LongTermDenialParam);
        }
        SubscriberBusyForMtSms = 31, "subscriberBusyForMT-SMS", "TS 29.002 §7.6.1.4" {
            3..=4 (optional SubBusyForMtSmsParam);
            1..=2 ();
        }
        SmDeliveryFailure = 32, "sm-DeliveryFailure", "TS 29.002 §7.6.1.4" {
            3..=4 (SmDeliveryFailureCause);
            1..=2 (v2::SmDeliveryFailureCause);
        }
        MessageWaitingListFull = 33, "messageWaitingListFull", "TS 29.002 §7.6.1.4" {
            3..=4 (optional MessageWaitListFullParam);
            1..=2 ();
        }
        SystemFailure = 34, "systemFailure", "TS 29.002 §7.6.1.4" {
            3..=4 (optional SystemFailureParam);
            1..=2 (optional NetworkResource);
        }
        DataMissing = 35, "dataMissing", "TS 29.002 §7.6.1.4" {
            3..=4 (optional DataMissingParam);
            1..=2 ();
        }
        UnexpectedDataValue = 36, "unexpectedDataValue", "TS 29.002 §7.6.1.4" {
            3..=4 (optional UnexpectedDataParam);
            1..=2 ();
        }
        PwRegistrationFailure = 37, "pw-RegistrationFailure", "TS 29.002 §7.6.1.4" {
            1..=4 (PwRegistrationFailureCause);
        }
        NegativePwCheck = 38, "negativePW-Check", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        NoRoamingNumberAvailable = 39, "noRoamingNumberAvailable", "TS 29.002 §7.6.1.4" {
            3..=4 (optional NoRoamingNbParam);
            1..=2 ();
        }
        TracingBufferFull = 40, "tracingBufferFull", "TS 29.002 §7.6.1.4" {
            3..=4 (optional TracingBufferFullParam);
            1..=2 ();
        }
        TargetCellOutsideGroupCallArea = 42,
            "targetCellOutsideGroupCallArea", "TS 29.002 §7.6.1.4" {
            1..=4 (optional TargetCellOutsideGcaParam);
        }
        NumberOfPwAttemptsViolation = 43, "numberOfPW-AttemptsViolation", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        NumberChanged = 44, "numberChanged", "TS 29.002 §7.6.1.4" {
            3..=4 (optional NumberChangedParam);
            1..=2 ();
        }
        BusySubscriber = 45, "busySubscriber", "TS 29.002 §7.6.1.4" {
            1..=4 (optional BusySubscriberParam);
        }
        NoSubscriberReply = 46, "noSubscriberReply", "TS 29.002 §7.6.1.4" {
            1..=4 (optional NoSubscriberReplyParam);
        }
        ForwardingFailed = 47, "forwardingFailed", "TS 29.002 §7.6.1.4" {
            1..=4 (optional ForwardingFailedParam);
        }
        OrNotAllowed = 48, "or-NotAllowed", "TS 29.002 §7.6.1.4" {
            1..=4 (optional OrNotAllowedParam);
        }
        AtiNotAllowed = 49, "ati-NotAllowed", "TS 29.002 §7.6.1.4" {
            1..=4 (optional AtiNotAllowedParam);
        }
        NoGroupCallNumberAvailable = 50, "noGroupCallNumberAvailable", "TS 29.002 §7.6.1.4" {
            1..=4 (optional NoGroupCallNbParam);
        }
        ResourceLimitation = 51, "resourceLimitation", "TS 29.002 §7.6.1.4" {
            1..=4 (optional ResourceLimitationParam);
        }
        UnauthorizedRequestingNetwork = 52, "unauthorizedRequestingNetwork", "TS 29.002 §7.6.1.4" {
            1..=4 (optional UnauthorizedRequestingNetworkParam);
        }
        UnauthorizedLcsClient = 53, "unauthorizedLCSClient", "TS 29.002 §7.6.1.4" {
            1..=4 (optional UnauthorizedLcsClientParam);
        }
        PositionMethodFailure = 54, "positionMethodFailure", "TS 29.002 §7.6.1.4" {
            1..=4 (optional PositionMethodFailureParam);
        }
        UnknownOrUnreachableLcsClient = 58, "unknownOrUnreachableLCSClient", "TS 29.002 §7.6.1.4" {
            1..=4 (optional UnknownOrUnreachableLcsClientParam);
        }
        MmEventNotSupported = 59, "mm-EventNotSupported", "TS 29.002 §7.6.1.4" {
            1..=4 (optional MmEventNotSupportedParam);
        }
        AtsiNotAllowed = 60, "atsi-NotAllowed", "TS 29.002 §7.6.1.4" {
            1..=4 (optional AtsiNotAllowedParam);
        }
        AtmNotAllowed = 61, "atm-NotAllowed", "TS 29.002 §7.6.1.4" {
            1..=4 (optional AtmNotAllowedParam);
        }
        InformationNotAvailable = 62, "informationNotAvailable", "TS 29.002 §7.6.1.4" {
            1..=4 (optional InformationNotAvailableParam);
        }
        UnknownAlphabet = 71, "unknownAlphabet", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
        UssdBusy = 72, "ussd-Busy", "TS 29.002 §7.6.1.4" {
            3..=4 ();
            1..=2 ();
        }
    }
}
