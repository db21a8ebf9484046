//! What is said about errors (TS 29.002 §17.7.7).

use super::identities::{
    AdditionalNetworkResource, BasicServiceCode, ExtensionContainer, Imsi, NetworkResource,
    SignalInfo, SsCode, Time,
};
use super::short_message::AbsentSubscriberDiagnosticSm;
use super::supplementary::SsStatus;
use ber::Null;

ber::enumerated! {
    pub enum FailureCauseParam: "FailureCauseParam", "TS 29.002 §17.7.7" {
        LimitReachedOnNumberOfConcurrentLocationRequests = 0,
            "limitReachedOnNumberOfConcurrentLocationRequests";
        ...
    }
}

ber::sequence! {
    pub enum ExtensibleSystemFailureParam = "ExtensibleSystemFailureParam", "TS 29.002 §17.7.7" {
        NetworkResource = "networkResource", NetworkResource, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AdditionalNetworkResource =
            "additionalNetworkResource", AdditionalNetworkResource [0], optional;
        FailureCauseParam = "failureCauseParam", FailureCauseParam [1], optional;
        ...
    }
}

ber::choice! {
    pub enum SystemFailureParam = "SystemFailureParam", "TS 29.002 §17.7.7" {
        NetworkResource = "networkResource", NetworkResource;
        ExtensibleSystemFailureParam =
            "extensibleSystemFailureParam", ExtensibleSystemFailureParam;
    }
}

ber::sequence! {
    pub enum DataMissingParam = "DataMissingParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum UnexpectedDataParam = "UnexpectedDataParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        UnexpectedSubscriber = "unexpectedSubscriber", Null [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum FacilityNotSupParam = "FacilityNotSupParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ShapeOfLocationEstimateNotSupported =
            "shapeOfLocationEstimateNotSupported", Null [0], optional;
        NeededLcsCapabilityNotSupportedInServingNode =
            "neededLcsCapabilityNotSupportedInServingNode", Null [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum IncompatibleTerminalParam = "IncompatibleTerminalParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ResourceLimitationParam = "ResourceLimitationParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum UnknownSubscriberDiagnostic: "UnknownSubscriberDiagnostic", "TS 29.002 §17.7.7" {
        ImsiUnknown = 0, "imsiUnknown";
        GprsEpsSubscriptionUnknown = 1, "gprs-eps-SubscriptionUnknown";
        NpdbMismatch = 2, "npdbMismatch";
        ...
    }
}

ber::sequence! {
    pub enum UnknownSubscriberParam = "UnknownSubscriberParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        UnknownSubscriberDiagnostic =
            "unknownSubscriberDiagnostic", UnknownSubscriberDiagnostic, optional;
        ...
    }
}

ber::sequence! {
    pub enum NumberChangedParam = "NumberChangedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum UnidentifiedSubParam = "UnidentifiedSubParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum RoamingNotAllowedCause: "RoamingNotAllowedCause", "TS 29.002 §17.7.7" {
        PlmnRoamingNotAllowed = 0, "plmnRoamingNotAllowed";
        OperatorDeterminedBarring = 3, "operatorDeterminedBarring";
    }
}

ber::enumerated! {
    pub enum AdditionalRoamingNotAllowedCause:
        "AdditionalRoamingNotAllowedCause", "TS 29.002 §17.7.7" {
        SupportedRatTypesNotAllowed = 0, "supportedRAT-TypesNotAllowed";
        ...
    }
}

ber::sequence! {
    pub enum RoamingNotAllowedParam = "RoamingNotAllowedParam", "TS 29.002 §17.7.7" {
        RoamingNotAllowedCause = "roamingNotAllowedCause", RoamingNotAllowedCause;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AdditionalRoamingNotAllowedCause =
            "additionalRoamingNotAllowedCause", AdditionalRoamingNotAllowedCause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum IllegalSubscriberParam = "IllegalSubscriberParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum IllegalEquipmentParam = "IllegalEquipmentParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum BearerServNotProvParam = "BearerServNotProvParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum TeleservNotProvParam = "TeleservNotProvParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum TargetCellOutsideGcaParam = "TargetCellOutsideGCA-Param", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum TracingBufferFullParam = "TracingBufferFullParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum NoRoamingNbParam = "NoRoamingNbParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum AbsentSubscriberReason: "AbsentSubscriberReason", "TS 29.002 §17.7.7" {
        ImsiDetach = 0, "imsiDetach";
        RestrictedArea = 1, "restrictedArea";
        NoPageResponse = 2, "noPageResponse";
        PurgedMs = 3, "purgedMS";
        MtRoamingRetry = 4, "mtRoamingRetry";
        BusySubscriber = 5, "busySubscriber";
        ...
    }
}

ber::sequence! {
    pub enum AbsentSubscriberParam = "AbsentSubscriberParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AbsentSubscriberReason = "absentSubscriberReason", AbsentSubscriberReason [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum BusySubscriberParam = "BusySubscriberParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        CcbsPossible = "ccbs-Possible", Null [0], optional;
        CcbsBusy = "ccbs-Busy", Null [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoSubscriberReplyParam = "NoSubscriberReplyParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum CallBarringCause: "CallBarringCause", "TS 29.002 §17.7.7" {
        BarringServiceActive = 0, "barringServiceActive";
        OperatorBarring = 1, "operatorBarring";
    }
}

ber::sequence! {
    pub enum ExtensibleCallBarredParam = "ExtensibleCallBarredParam", "TS 29.002 §17.7.7" {
        CallBarringCause = "callBarringCause", CallBarringCause, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        UnauthorisedMessageOriginator = "unauthorisedMessageOriginator", Null [1], optional;
        AnonymousCallRejection = "anonymousCallRejection", Null [2], optional;
        ...
    }
}

ber::choice! {
    pub enum CallBarredParam = "CallBarredParam", "TS 29.002 §17.7.7" {
        CallBarringCause = "callBarringCause", CallBarringCause;
        ExtensibleCallBarredParam = "extensibleCallBarredParam", ExtensibleCallBarredParam;
    }
}

ber::sequence! {
    pub enum ForwardingViolationParam = "ForwardingViolationParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ForwardingFailedParam = "ForwardingFailedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum CugRejectCause: "CUG-RejectCause", "TS 29.002 §17.7.7" {
        IncomingCallsBarredWithinCug = 0, "incomingCallsBarredWithinCUG";
        SubscriberNotMemberOfCug = 1, "subscriberNotMemberOfCUG";
        RequestedBasicServiceViolatesCugConstraints = 5,
            "requestedBasicServiceViolatesCUG-Constraints";
        CalledPartySsInteractionViolation = 7, "calledPartySS-InteractionViolation";
    }
}

ber::sequence! {
    pub enum CugRejectParam = "CUG-RejectParam", "TS 29.002 §17.7.7" {
        CugRejectCause = "cug-RejectCause", CugRejectCause, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum OrNotAllowedParam = "OR-NotAllowedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum AtiNotAllowedParam = "ATI-NotAllowedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum AtsiNotAllowedParam = "ATSI-NotAllowedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum AtmNotAllowedParam = "ATM-NotAllowedParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum InformationNotAvailableParam = "InformationNotAvailableParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum IllegalSsOperationParam = "IllegalSS-OperationParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum SsNotAvailableParam = "SS-NotAvailableParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum SsSubscriptionViolationParam = "SS-SubscriptionViolationParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum SsIncompatibilityCause = "SS-IncompatibilityCause", "TS 29.002 §17.7.7" {
        SsCode = "ss-Code", SsCode [1], optional;
        BasicService = "basicService", BasicServiceCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        ...
    }
}

ber::enumerated! {
    pub enum PwRegistrationFailureCause: "PW-RegistrationFailureCause", "TS 29.002 §17.7.7" {
        Undetermined = 0, "undetermined";
        InvalidFormat = 1, "invalidFormat";
        NewPasswordsMismatch = 2, "newPasswordsMismatch";
    }
}

ber::sequence! {
    pub enum ShortTermDenialParam = "ShortTermDenialParam", "TS 29.002 §17.7.7" {
        ...
    }
}

ber::sequence! {
    pub enum LongTermDenialParam = "LongTermDenialParam", "TS 29.002 §17.7.7" {
        ...
    }
}

ber::sequence! {
    pub enum SubBusyForMtSmsParam = "SubBusyForMT-SMS-Param", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        GprsConnectionSuspended = "gprsConnectionSuspended", Null, optional;
        ...
    }
}

ber::enumerated! {
    pub enum SmEnumeratedDeliveryFailureCause:
        "SM-EnumeratedDeliveryFailureCause", "TS 29.002 §17.7.7" {
        MemoryCapacityExceeded = 0, "memoryCapacityExceeded";
        EquipmentProtocolError = 1, "equipmentProtocolError";
        EquipmentNotSmEquipped = 2, "equipmentNotSM-Equipped";
        UnknownServiceCentre = 3, "unknownServiceCentre";
        ScCongestion = 4, "sc-Congestion";
        InvalidSmeAddress = 5, "invalidSME-Address";
        SubscriberNotScSubscriber = 6, "subscriberNotSC-Subscriber";
    }
}

ber::sequence! {
    pub enum SmDeliveryFailureCause = "SM-DeliveryFailureCause", "TS 29.002 §17.7.7" {
        SmEnumeratedDeliveryFailureCause =
            "sm-EnumeratedDeliveryFailureCause", SmEnumeratedDeliveryFailureCause;
        DiagnosticInfo = "diagnosticInfo", SignalInfo, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MessageWaitListFullParam = "MessageWaitListFullParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum AbsentSubscriberSmParam = "AbsentSubscriberSM-Param", "TS 29.002 §17.7.7" {
        AbsentSubscriberDiagnosticSm =
            "absentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AdditionalAbsentSubscriberDiagnosticSm =
            "additionalAbsentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [0], optional;
        Imsi = "imsi", Imsi [1], optional;
        RequestedRetransmissionTime = "requestedRetransmissionTime", Time [2], optional;
        UserIdentifierAlert = "userIdentifierAlert", Imsi [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoGroupCallNbParam = "NoGroupCallNbParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum OngoingGroupCallParam = "OngoingGroupCallParam", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum UnauthorizedRequestingNetworkParam =
        "UnauthorizedRequestingNetwork-Param", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum UnauthorizedLcsClientDiagnostic:
        "UnauthorizedLCSClient-Diagnostic", "TS 29.002 §17.7.7" {
        NoAdditionalInformation = 0, "noAdditionalInformation";
        ClientNotInMsPrivacyExceptionList = 1, "clientNotInMSPrivacyExceptionList";
        CallToClientNotSetup = 2, "callToClientNotSetup";
        PrivacyOverrideNotApplicable = 3, "privacyOverrideNotApplicable";
        DisallowedByLocalRegulatoryRequirements = 4, "disallowedByLocalRegulatoryRequirements";
        UnauthorizedPrivacyClass = 5, "unauthorizedPrivacyClass";
        UnauthorizedCallSessionUnrelatedExternalClient = 6,
            "unauthorizedCallSessionUnrelatedExternalClient";
        UnauthorizedCallSessionRelatedExternalClient = 7,
            "unauthorizedCallSessionRelatedExternalClient";
        ...
    }
}

ber::sequence! {
    pub enum UnauthorizedLcsClientParam = "UnauthorizedLCSClient-Param", "TS 29.002 §17.7.7" {
        UnauthorizedLcsClientDiagnostic =
            "unauthorizedLCSClient-Diagnostic", UnauthorizedLcsClientDiagnostic [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::enumerated! {
    pub enum PositionMethodFailureDiagnostic:
        "PositionMethodFailure-Diagnostic", "TS 29.002 §17.7.7" {
        Congestion = 0, "congestion";
        InsufficientResources = 1, "insufficientResources";
        InsufficientMeasurementData = 2, "insufficientMeasurementData";
        InconsistentMeasurementData = 3, "inconsistentMeasurementData";
        LocationProcedureNotCompleted = 4, "locationProcedureNotCompleted";
        LocationProcedureNotSupportedByTargetMs = 5, "locationProcedureNotSupportedByTargetMS";
        QoSNotAttainable = 6, "qoSNotAttainable";
        PositionMethodNotAvailableInNetwork = 7, "positionMethodNotAvailableInNetwork";
        PositionMethodNotAvailableInLocationArea = 8, "positionMethodNotAvailableInLocationArea";
        ...
    }
}

ber::sequence! {
    pub enum PositionMethodFailureParam = "PositionMethodFailure-Param", "TS 29.002 §17.7.7" {
        PositionMethodFailureDiagnostic =
            "positionMethodFailure-Diagnostic", PositionMethodFailureDiagnostic [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum UnknownOrUnreachableLcsClientParam =
        "UnknownOrUnreachableLCSClient-Param", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MmEventNotSupportedParam = "MM-EventNotSupported-Param", "TS 29.002 §17.7.7" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}
