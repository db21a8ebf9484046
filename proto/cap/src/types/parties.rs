//! What several services have in common (TS 29.078 §5.1).

use ber::{Any, Integer, Null, ObjectIdentifier, OctetString, SequenceOf, SetOf};

ber::named! {
    pub ServiceKey = "ServiceKey", "EN 300 374-1 §4", Integer<0, 2147483647>;
    pub CalledPartyNumber = "CalledPartyNumber", "TS 29.078 §5.1", OctetString<2, 18>;
    pub CallingPartyNumber = "CallingPartyNumber", "TS 29.078 §5.1", OctetString<2, 10>;
    pub CallingPartysCategory = "CallingPartysCategory", "EN 300 374-1 §4", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum CgEncountered: "CGEncountered", "TS 29.078 §5.1" {
        NoCGencountered = 0, "noCGencountered";
        ManualCGencountered = 1, "manualCGencountered";
        ScpOverload = 2, "scpOverload";
    }
}

ber::named! {
    pub LocationNumber = "LocationNumber", "TS 29.078 §5.1", OctetString<2, 10>;
    pub OriginalCalledPartyId = "OriginalCalledPartyID", "TS 29.078 §5.1", OctetString<2, 10>;
}

ber::choice! {
    pub enum ExtensionFieldType = "ExtensionField.type", "TS 29.078 §5.1" {
        Local = "local", Integer<{ i64::MIN }, { i64::MAX }>;
        Global = "global", ObjectIdentifier;
    }
}

ber::enumerated! {
    pub enum CriticalityType: "CriticalityType", "EN 301 140-1 §4" {
        Ignore = 0, "ignore";
        Abort = 1, "abort";
    }
}

ber::sequence! {
    pub enum ExtensionField = "ExtensionField", "TS 29.078 §5.1" {
        Type = "type", ExtensionFieldType;
        Criticality = "criticality", CriticalityType, optional;
        Value = "value", Any [1];
        ...
    }
}

ber::named! {
    pub Extensions = "Extensions", "TS 29.078 §5.1", SequenceOf<ExtensionField, 1, 10>;
    pub HighLayerCompatibility = "HighLayerCompatibility", "EN 300 374-1 §4", OctetString<2, 2>;
    pub AdditionalCallingPartyNumber =
        "AdditionalCallingPartyNumber", "TS 29.078 §5.1",
        OctetString<2, 16>;
}

ber::choice! {
    pub enum BearerCapability = "BearerCapability", "TS 29.078 §5.1" {
        BearerCap = "bearerCap", OctetString<2, 11> [0];
    }
}

ber::named! {
    pub RedirectingPartyId = "RedirectingPartyID", "TS 29.078 §5.1", OctetString<2, 10>;
    pub RedirectionInformation = "RedirectionInformation", "EN 300 374-1 §4", OctetString<2, 2>;
    pub Cause = "Cause", "TS 29.078 §5.1", OctetString<2, 32>;
}

ber::sequence! {
    pub enum ForwardServiceInteractionInd = "ForwardServiceInteractionInd", "TS 29.078 §5.1" {
        ConferenceTreatmentIndicator =
            "conferenceTreatmentIndicator", OctetString<1, 1> [1], optional;
        CallDiversionTreatmentIndicator =
            "callDiversionTreatmentIndicator", OctetString<1, 1> [2], optional;
        CallingPartyRestrictionIndicator =
            "callingPartyRestrictionIndicator", OctetString<1, 1> [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum BackwardServiceInteractionInd = "BackwardServiceInteractionInd", "TS 29.078 §5.1" {
        ConferenceTreatmentIndicator =
            "conferenceTreatmentIndicator", OctetString<1, 1> [1], optional;
        CallCompletionTreatmentIndicator =
            "callCompletionTreatmentIndicator", OctetString<1, 1> [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum BothwayThroughConnectionInd: "BothwayThroughConnectionInd", "EN 301 140-1 §4" {
        BothwayPathRequired = 0, "bothwayPathRequired";
        BothwayPathNotRequired = 1, "bothwayPathNotRequired";
    }
}

ber::enumerated! {
    pub enum ConnectedNumberTreatmentInd: "ConnectedNumberTreatmentInd", "TS 29.078 §5.1" {
        NoInImpact = 0, "noINImpact";
        PresentationRestricted = 1, "presentationRestricted";
        PresentCalledInNumber = 2, "presentCalledINNumber";
        PresentCallInNumberRestricted = 3, "presentCallINNumberRestricted";
    }
}

ber::sequence! {
    pub enum ServiceInteractionIndicatorsTwo =
        "ServiceInteractionIndicatorsTwo", "TS 29.078 §5.1" {
        ForwardServiceInteractionInd =
            "forwardServiceInteractionInd", ForwardServiceInteractionInd [0], optional;
        BackwardServiceInteractionInd =
            "backwardServiceInteractionInd", BackwardServiceInteractionInd [1], optional;
        BothwayThroughConnectionInd =
            "bothwayThroughConnectionInd", BothwayThroughConnectionInd [2], optional;
        ConnectedNumberTreatmentInd =
            "connectedNumberTreatmentInd", ConnectedNumberTreatmentInd [4], optional;
        NonCugCall = "nonCUGCall", Null [13], optional;
        HoldTreatmentIndicator = "holdTreatmentIndicator", OctetString<1, 1> [50], optional;
        CwTreatmentIndicator = "cwTreatmentIndicator", OctetString<1, 1> [51], optional;
        EctTreatmentIndicator = "ectTreatmentIndicator", OctetString<1, 1> [52], optional;
        ...
    }
}

ber::named! {
    pub Carrier = "Carrier", "TS 29.078 §5.1", OctetString<4, 4>;
    pub CalledPartyBcdNumber = "CalledPartyBCDNumber", "TS 29.078 §5.1", OctetString<1, 41>;
    pub TimeAndTimezone = "TimeAndTimezone", "TS 29.078 §5.1", OctetString<8, 8>;
    pub LowLayerCompatibility = "LowLayerCompatibility", "TS 29.078 §5.1", OctetString<1, 16>;
    pub CallSegmentId = "CallSegmentID", "TS 29.078 §5.1", Integer<1, 127>;
    pub NaOliInfo = "NAOliInfo", "TS 29.078 §5.1", OctetString<1, 1>;
    pub DestinationRoutingAddress =
        "DestinationRoutingAddress", "TS 29.078 §5.1",
        SequenceOf<CalledPartyNumber, 1, 1>;
    pub AlertingPattern = "AlertingPattern", "TS 29.078 §5.1", OctetString<3, 3>;
    pub GenericNumber = "GenericNumber", "TS 29.078 §5.1", OctetString<3, 11>;
    pub GenericNumbers = "GenericNumbers", "TS 29.078 §5.1", SetOf<GenericNumber, 1, 5>;
    pub LegType = "LegType", "EN 300 374-1 §4", OctetString<1, 1>;
}

ber::choice! {
    pub enum LegId = "LegID", "EN 300 374-1 §4" {
        SendingSideId = "sendingSideID", LegType [0];
        ReceivingSideId = "receivingSideID", LegType [1];
    }
}

ber::named! {
    pub OcsiApplicable = "OCSIApplicable", "TS 29.078 §5.1", Null;
    pub ApplicationTimer = "ApplicationTimer", "TS 29.078 §5.1", Integer<0, 2047>;
}

ber::sequence! {
    pub enum MidCallControlInfo = "MidCallControlInfo", "TS 29.078 §5.1" {
        MinimumNumberOfDigits = "minimumNumberOfDigits", Integer<1, 30> [0], optional;
        MaximumNumberOfDigits = "maximumNumberOfDigits", Integer<1, 30> [1], optional;
        EndOfReplyDigit = "endOfReplyDigit", OctetString<1, 2> [2], optional;
        CancelDigit = "cancelDigit", OctetString<1, 2> [3], optional;
        StartDigit = "startDigit", OctetString<1, 2> [4], optional;
        InterDigitTimeout = "interDigitTimeout", Integer<1, 127> [6], optional;
        ...
    }
}

ber::enumerated! {
    pub enum InitiatorOfServiceChange: "InitiatorOfServiceChange", "TS 29.078 §5.1" {
        ASide = 0, "a-side";
        BSide = 1, "b-side";
    }
}

ber::enumerated! {
    pub enum NatureOfServiceChange: "NatureOfServiceChange", "TS 29.078 §5.1" {
        UserInitiated = 0, "userInitiated";
        NetworkInitiated = 1, "networkInitiated";
    }
}

ber::named! {
    pub CapLegType = "LegType", "TS 29.078 §5.1", OctetString<1, 1>;
}

ber::choice! {
    pub enum ReceivingSideId = "ReceivingSideID", "TS 29.078 §5.1" {
        ReceivingSideId = "receivingSideID", CapLegType [1];
    }
}

ber::enumerated! {
    pub enum MiscCallInfoMessageType: "MiscCallInfo.messageType", "EN 301 140-1 §4" {
        Request = 0, "request";
        Notification = 1, "notification";
    }
}

ber::enumerated! {
    pub enum MiscCallInfoDpAssignment: "MiscCallInfo.dpAssignment", "EN 301 140-1 §4" {
        IndividualLine = 0, "individualLine";
        GroupBased = 1, "groupBased";
        OfficeBased = 2, "officeBased";
    }
}

ber::sequence! {
    pub enum MiscCallInfo = "MiscCallInfo", "EN 301 140-1 §4" {
        MessageType = "messageType", MiscCallInfoMessageType [0];
        DpAssignment = "dpAssignment", MiscCallInfoDpAssignment [1], optional;
    }
}

ber::enumerated! {
    pub enum TimerId: "TimerID", "TS 29.078 §5.1" {
        Tssf = 0, "tssf";
    }
}

ber::named! {
    pub TimerValue = "TimerValue", "TS 29.078 §5.1", Integer<0, 2147483647>;
}

ber::choice! {
    pub enum SendingSideId = "SendingSideID", "TS 29.078 §5.1" {
        SendingSideId = "sendingSideID", CapLegType [0];
    }
}

ber::named! {
    pub Duration = "Duration", "EN 300 374-1 §4", Integer<{ -2 }, 86400>;
    pub Interval = "Interval", "EN 300 374-1 §4", Integer<{ -1 }, 60000>;
}

ber::enumerated! {
    pub enum ControlType: "ControlType", "TS 29.078 §5.1" {
        SCpOverloaded = 0, "sCPOverloaded";
        ManuallyInitiated = 1, "manuallyInitiated";
    }
}

ber::named! {
    pub Integer4 = "Integer4", "EN 300 374-1 §4", Integer<0, 2147483647>;
    pub DateAndTime = "DateAndTime", "TS 29.078 §5.1", OctetString<7, 7>;
    pub InvokeId = "InvokeID", "TS 29.078 §5.1", Integer<{ -128 }, 127>;
}

ber::sequence! {
    pub enum CallSegmentToCancel = "CallSegmentToCancel", "TS 29.078 §5.1" {
        InvokeId = "invokeID", InvokeId [0], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [1], optional;
        ...
    }
}

ber::named! {
    pub TpShortMessageSpecificInfo =
        "TPShortMessageSpecificInfo", "TS 29.078 §5.1",
        OctetString<1, 1>;
    pub TpProtocolIdentifier = "TPProtocolIdentifier", "TS 29.078 §5.1", OctetString<1, 1>;
    pub TpDataCodingScheme = "TPDataCodingScheme", "TS 29.078 §5.1", OctetString<1, 1>;
    pub TpValidityPeriod = "TPValidityPeriod", "TS 29.078 §5.1", OctetString<1, 7>;
    pub SgsnCapabilities = "SGSNCapabilities", "TS 29.078 §5.1", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum UnavailableNetworkResource: "UnavailableNetworkResource", "TS 29.078 §5.1" {
        UnavailableResources = 0, "unavailableResources";
        ComponentFailure = 1, "componentFailure";
        BasicCallProcessingException = 2, "basicCallProcessingException";
        ResourceStatusFailure = 3, "resourceStatusFailure";
        EndUserFailure = 4, "endUserFailure";
    }
}

ber::named! {
    pub RpCause = "RPCause", "TS 29.078 §5.1", OctetString<1, 1>;
}
