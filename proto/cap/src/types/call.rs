//! Calls: gsmSSF (TS 29.078 §6.1).

use super::charging::{
    AChBillingChargingCharacteristics, AChChargingAddress, Burst, ChargeNumber,
    SciBillingChargingCharacteristics,
};
use super::events::{
    BcsmEvent, BcsmFailure, CallSegmentFailure, EventSpecificInformationBcsm, EventTypeBcsm,
    GapCriteria, GapIndicators, GapTreatment, LegOrCallSegment, RequestedInformationList,
    RequestedInformationTypeList, ScfId,
};
use super::parties::{
    AdditionalCallingPartyNumber, AlertingPattern, BearerCapability, CallSegmentId,
    CallSegmentToCancel, CalledPartyBcdNumber, CalledPartyNumber, CallingPartyNumber,
    CallingPartysCategory, Carrier, Cause, CgEncountered, ControlType, DestinationRoutingAddress,
    Extensions, GenericNumbers, HighLayerCompatibility, InvokeId, LegId, LocationNumber,
    LowLayerCompatibility, MiscCallInfo, NaOliInfo, OcsiApplicable, OriginalCalledPartyId,
    ReceivingSideId, RedirectingPartyId, RedirectionInformation, SendingSideId,
    ServiceInteractionIndicatorsTwo, ServiceKey, TimeAndTimezone, TimerId, TimerValue,
};
use super::resource::{
    AssistingSspIpRoutingAddress, CorrelationId, IpRoutingAddress, IpsspCapabilities,
};
use ber::{Null, OctetString, SequenceOf};
use map::types::{
    CallReferenceNumber, CugIndex, CugInterlock, ExtBasicServiceCode, Imei, Imsi,
    IsdnAddressString, LocationInformation, MsClassmark2, OfferedCamel4Functionalities,
    SubscriberState, SupportedCamelPhases, SuppressionOfAnnouncement, UuData,
};

ber::sequence! {
    pub enum InitialDpArgExtension = "InitialDPArgExtension", "TS 29.078 §6.1.1" {
        GmscAddress = "gmscAddress", IsdnAddressString [0], optional;
        ForwardingDestinationNumber =
            "forwardingDestinationNumber", CalledPartyNumber [1], optional;
        MsClassmark2 = "ms-Classmark2", MsClassmark2 [2], optional;
        Imei = "iMEI", Imei [3], optional;
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases [4], optional;
        OfferedCamel4Functionalities =
            "offeredCamel4Functionalities", OfferedCamel4Functionalities [5], optional;
        BearerCapability2 = "bearerCapability2", BearerCapability [6], optional;
        ExtBasicServiceCode2 = "ext-basicServiceCode2", ExtBasicServiceCode [7], optional;
        HighLayerCompatibility2 = "highLayerCompatibility2", HighLayerCompatibility [8], optional;
        LowLayerCompatibility = "lowLayerCompatibility", LowLayerCompatibility [9], optional;
        LowLayerCompatibility2 = "lowLayerCompatibility2", LowLayerCompatibility [10], optional;
        EnhancedDialledServicesAllowed = "enhancedDialledServicesAllowed", Null [11], optional;
        UuData = "uu-Data", UuData [12], optional;
        CollectInformationAllowed = "collectInformationAllowed", Null [13], optional;
        ReleaseCallArgExtensionAllowed = "releaseCallArgExtensionAllowed", Null [14], optional;
        ...
    }
}

ber::sequence! {
    pub enum InitialDpArg = "InitialDPArg", "TS 29.078 §6.1.1" {
        ServiceKey = "serviceKey", ServiceKey [0];
        CalledPartyNumber = "calledPartyNumber", CalledPartyNumber [2], optional;
        CallingPartyNumber = "callingPartyNumber", CallingPartyNumber [3], optional;
        CallingPartysCategory = "callingPartysCategory", CallingPartysCategory [5], optional;
        CGEncountered = "cGEncountered", CgEncountered [7], optional;
        IPsspCapabilities = "iPSSPCapabilities", IpsspCapabilities [8], optional;
        LocationNumber = "locationNumber", LocationNumber [10], optional;
        OriginalCalledPartyId = "originalCalledPartyID", OriginalCalledPartyId [12], optional;
        Extensions = "extensions", Extensions [15], optional;
        HighLayerCompatibility = "highLayerCompatibility", HighLayerCompatibility [23], optional;
        AdditionalCallingPartyNumber =
            "additionalCallingPartyNumber", AdditionalCallingPartyNumber [25], optional;
        BearerCapability = "bearerCapability", BearerCapability [27], optional;
        EventTypeBcsm = "eventTypeBCSM", EventTypeBcsm [28], optional;
        RedirectingPartyId = "redirectingPartyID", RedirectingPartyId [29], optional;
        RedirectionInformation = "redirectionInformation", RedirectionInformation [30], optional;
        Cause = "cause", Cause [17], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [32], optional;
        Carrier = "carrier", Carrier [37], optional;
        CugIndex = "cug-Index", CugIndex [45], optional;
        CugInterlock = "cug-Interlock", CugInterlock [46], optional;
        CugOutgoingAccess = "cug-OutgoingAccess", Null [47], optional;
        IMsi = "iMSI", Imsi [50], optional;
        SubscriberState = "subscriberState", SubscriberState [51], optional;
        LocationInformation = "locationInformation", LocationInformation [52], optional;
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [53], optional;
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [54], optional;
        MscAddress = "mscAddress", IsdnAddressString [55], optional;
        CalledPartyBcdNumber = "calledPartyBCDNumber", CalledPartyBcdNumber [56], optional;
        TimeAndTimezone = "timeAndTimezone", TimeAndTimezone [57], optional;
        CallForwardingSsPending = "callForwardingSS-Pending", Null [58], optional;
        InitialDpArgExtension = "initialDPArgExtension", InitialDpArgExtension [59], optional;
        ...
    }
}

ber::sequence! {
    pub enum AssistRequestInstructionsArg = "AssistRequestInstructionsArg", "TS 29.078 §6.1.1" {
        CorrelationId = "correlationID", CorrelationId [0];
        IPsspCapabilities = "iPSSPCapabilities", IpsspCapabilities [2];
        Extensions = "extensions", Extensions [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum EstablishTemporaryConnectionArg =
        "EstablishTemporaryConnectionArg", "TS 29.078 §6.1.1" {
        AssistingSspIpRoutingAddress =
            "assistingSSPIPRoutingAddress", AssistingSspIpRoutingAddress [0];
        CorrelationId = "correlationID", CorrelationId [1], optional;
        ScfId = "scfID", ScfId [3], optional;
        Extensions = "extensions", Extensions [4], optional;
        Carrier = "carrier", Carrier [5], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [6], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [7], optional;
        NaOliInfo = "naOliInfo", NaOliInfo [50], optional;
        ChargeNumber = "chargeNumber", ChargeNumber [51], optional;
        OriginalCalledPartyId = "originalCalledPartyID", OriginalCalledPartyId [52], optional;
        CallingPartyNumber = "callingPartyNumber", CallingPartyNumber [53], optional;
        ...
    }
}

ber::choice! {
    pub enum ConnectToResourceArgResourceAddress =
        "ConnectToResourceArg.resourceAddress", "TS 29.078 §6.1.1" {
        IpRoutingAddress = "ipRoutingAddress", IpRoutingAddress [0];
        None = "none", Null [3];
    }
}

ber::sequence! {
    pub enum ConnectToResourceArg = "ConnectToResourceArg", "TS 29.078 §6.1.1" {
        ResourceAddress = "resourceAddress", ConnectToResourceArgResourceAddress;
        Extensions = "extensions", Extensions [4], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [7], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [50], optional;
        ...
    }
}

ber::sequence! {
    pub enum ConnectArg = "ConnectArg", "TS 29.078 §6.1.1" {
        DestinationRoutingAddress = "destinationRoutingAddress", DestinationRoutingAddress [0];
        AlertingPattern = "alertingPattern", AlertingPattern [1], optional;
        OriginalCalledPartyId = "originalCalledPartyID", OriginalCalledPartyId [6], optional;
        Extensions = "extensions", Extensions [10], optional;
        Carrier = "carrier", Carrier [11], optional;
        CallingPartysCategory = "callingPartysCategory", CallingPartysCategory [28], optional;
        RedirectingPartyId = "redirectingPartyID", RedirectingPartyId [29], optional;
        RedirectionInformation = "redirectionInformation", RedirectionInformation [30], optional;
        GenericNumbers = "genericNumbers", GenericNumbers [14], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [15], optional;
        ChargeNumber = "chargeNumber", ChargeNumber [19], optional;
        LegToBeConnected = "legToBeConnected", LegId [21], optional;
        CugInterlock = "cug-Interlock", CugInterlock [31], optional;
        CugOutgoingAccess = "cug-OutgoingAccess", Null [32], optional;
        SuppressionOfAnnouncement =
            "suppressionOfAnnouncement", SuppressionOfAnnouncement [55], optional;
        OCsiApplicable = "oCSIApplicable", OcsiApplicable [56], optional;
        NaOliInfo = "naOliInfo", NaOliInfo [57], optional;
        BorInterrogationRequested = "bor-InterrogationRequested", Null [58], optional;
        SuppressNCsi = "suppress-N-CSI", Null [59], optional;
        ...
    }
}

ber::named! {
    pub AllCallSegments = "AllCallSegments", "TS 29.078 §6.1.1", OctetString<2, 32>;
}

ber::sequence! {
    pub enum AllCallSegmentsWithExtension = "AllCallSegmentsWithExtension", "TS 29.078 §6.1.1" {
        AllCallSegments = "allCallSegments", AllCallSegments [0];
        Extensions = "extensions", Extensions [1], optional;
    }
}

ber::choice! {
    pub enum ReleaseCallArg = "ReleaseCallArg", "TS 29.078 §6.1.1" {
        AllCallSegments = "allCallSegments", AllCallSegments;
        AllCallSegmentsWithExtension =
            "allCallSegmentsWithExtension", AllCallSegmentsWithExtension [2];
    }
}

ber::sequence! {
    pub enum RequestReportBcsmEventArg = "RequestReportBCSMEventArg", "TS 29.078 §6.1.1" {
        BcsmEvents = "bcsmEvents", SequenceOf<BcsmEvent, 1, 30> [0];
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum EventReportBcsmArg = "EventReportBCSMArg", "TS 29.078 §6.1.1" {
        EventTypeBcsm = "eventTypeBCSM", EventTypeBcsm [0];
        EventSpecificInformationBcsm =
            "eventSpecificInformationBCSM", EventSpecificInformationBcsm [2], optional;
        LegId = "legID", ReceivingSideId [3], optional;
        MiscCallInfo = "miscCallInfo", MiscCallInfo [4], optional;
        Extensions = "extensions", Extensions [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum CollectInformationArg = "CollectInformationArg", "TS 29.078 §6.1.1" {
        Extensions = "extensions", Extensions [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum InitiateCallAttemptArg = "InitiateCallAttemptArg", "TS 29.078 §6.1.1" {
        DestinationRoutingAddress = "destinationRoutingAddress", DestinationRoutingAddress [0];
        Extensions = "extensions", Extensions [4], optional;
        LegToBeCreated = "legToBeCreated", LegId [5], optional;
        NewCallSegment = "newCallSegment", CallSegmentId [6], optional;
        CallingPartyNumber = "callingPartyNumber", CallingPartyNumber [30], optional;
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [51], optional;
        GsmScfAddress = "gsmSCFAddress", IsdnAddressString [52], optional;
        SuppressTCsi = "suppress-T-CSI", Null [53], optional;
        ...
    }
}

ber::sequence! {
    pub enum InitiateCallAttemptRes = "InitiateCallAttemptRes", "TS 29.078 §6.1.1" {
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases [0], optional;
        OfferedCamel4Functionalities =
            "offeredCamel4Functionalities", OfferedCamel4Functionalities [1], optional;
        Extensions = "extensions", Extensions [2], optional;
        ReleaseCallArgExtensionAllowed = "releaseCallArgExtensionAllowed", Null [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResetTimerArg = "ResetTimerArg", "TS 29.078 §6.1.1" {
        TimerId = "timerID", TimerId [0], optional;
        Timervalue = "timervalue", TimerValue [1];
        Extensions = "extensions", Extensions [2], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [3], optional;
        ...
    }
}

ber::named! {
    pub FurnishChargingInformationArg =
        "FurnishChargingInformationArg", "TS 29.078 §6.1.1",
        OctetString<5, 225>;
}

ber::sequence! {
    pub enum ApplyChargingArg = "ApplyChargingArg", "TS 29.078 §6.1.1" {
        AChBillingChargingCharacteristics =
            "aChBillingChargingCharacteristics", AChBillingChargingCharacteristics [0];
        PartyToCharge = "partyToCharge", SendingSideId [2], optional;
        Extensions = "extensions", Extensions [3], optional;
        AChChargingAddress = "aChChargingAddress", AChChargingAddress [50], optional;
        ...
    }
}

ber::named! {
    pub ApplyChargingReportArg =
        "ApplyChargingReportArg", "TS 29.078 §6.1.1",
        OctetString<12, 193>;
}

ber::sequence! {
    pub enum CallGapArg = "CallGapArg", "TS 29.078 §6.1.1" {
        GapCriteria = "gapCriteria", GapCriteria [0];
        GapIndicators = "gapIndicators", GapIndicators [1];
        ControlType = "controlType", ControlType [2], optional;
        GapTreatment = "gapTreatment", GapTreatment [3], optional;
        Extensions = "extensions", Extensions [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum CallInformationReportArg = "CallInformationReportArg", "TS 29.078 §6.1.1" {
        RequestedInformationList = "requestedInformationList", RequestedInformationList [0];
        Extensions = "extensions", Extensions [2], optional;
        LegId = "legID", ReceivingSideId [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum CallInformationRequestArg = "CallInformationRequestArg", "TS 29.078 §6.1.1" {
        RequestedInformationTypeList =
            "requestedInformationTypeList", RequestedInformationTypeList [0];
        Extensions = "extensions", Extensions [2], optional;
        LegId = "legID", SendingSideId [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendChargingInformationArg = "SendChargingInformationArg", "TS 29.078 §6.1.1" {
        SCiBillingChargingCharacteristics =
            "sCIBillingChargingCharacteristics", SciBillingChargingCharacteristics [0];
        PartyToCharge = "partyToCharge", SendingSideId [1];
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::choice! {
    pub enum CancelArg = "CancelArg", "TS 29.078 §6.1.1" {
        InvokeId = "invokeID", InvokeId [0];
        AllRequests = "allRequests", Null [1];
        CallSegmentToCancel = "callSegmentToCancel", CallSegmentToCancel [2];
    }
}

ber::sequence! {
    pub enum DisconnectForwardConnectionWithArgumentArg =
        "DisconnectForwardConnectionWithArgumentArg", "TS 29.078 §6.1.1" {
        CallSegmentId = "callSegmentID", CallSegmentId [1], optional;
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum ContinueWithArgumentArgExtension =
        "ContinueWithArgumentArgExtension", "TS 29.078 §6.1.1" {
        SuppressDCsi = "suppress-D-CSI", Null [0], optional;
        SuppressNCsi = "suppress-N-CSI", Null [1], optional;
        SuppressOutgoingCallBarring = "suppressOutgoingCallBarring", Null [2], optional;
        LegOrCallSegment = "legOrCallSegment", LegOrCallSegment [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ContinueWithArgumentArg = "ContinueWithArgumentArg", "TS 29.078 §6.1.1" {
        AlertingPattern = "alertingPattern", AlertingPattern [1], optional;
        Extensions = "extensions", Extensions [6], optional;
        ServiceInteractionIndicatorsTwo =
            "serviceInteractionIndicatorsTwo", ServiceInteractionIndicatorsTwo [7], optional;
        CallingPartysCategory = "callingPartysCategory", CallingPartysCategory [12], optional;
        GenericNumbers = "genericNumbers", GenericNumbers [16], optional;
        CugInterlock = "cug-Interlock", CugInterlock [17], optional;
        CugOutgoingAccess = "cug-OutgoingAccess", Null [18], optional;
        ChargeNumber = "chargeNumber", ChargeNumber [50], optional;
        Carrier = "carrier", Carrier [52], optional;
        SuppressionOfAnnouncement =
            "suppressionOfAnnouncement", SuppressionOfAnnouncement [55], optional;
        NaOliInfo = "naOliInfo", NaOliInfo [56], optional;
        BorInterrogationRequested = "bor-InterrogationRequested", Null [57], optional;
        SuppressOCsi = "suppress-O-CSI", Null [58], optional;
        ContinueWithArgumentArgExtension =
            "continueWithArgumentArgExtension", ContinueWithArgumentArgExtension [59], optional;
        ...
    }
}

ber::sequence! {
    pub enum DisconnectLegArg = "DisconnectLegArg", "TS 29.078 §6.1.1" {
        LegToBeReleased = "legToBeReleased", LegId [0];
        ReleaseCause = "releaseCause", Cause [1], optional;
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum MoveLegArg = "MoveLegArg", "TS 29.078 §6.1.1" {
        LegIdToMove = "legIDToMove", LegId [0];
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum SplitLegArg = "SplitLegArg", "TS 29.078 §6.1.1" {
        LegToBeSplit = "legToBeSplit", LegId [0];
        NewCallSegment = "newCallSegment", CallSegmentId [1], optional;
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}

ber::choice! {
    pub enum EntityReleasedArg = "EntityReleasedArg", "TS 29.078 §6.1.1" {
        CallSegmentFailure = "callSegmentFailure", CallSegmentFailure [0];
        BCsmFailure = "bCSM-Failure", BcsmFailure [1];
    }
}

ber::sequence! {
    pub enum PlayToneArg = "PlayToneArg", "TS 29.078 §6.1.1" {
        LegOrCallSegment = "legOrCallSegment", LegOrCallSegment [0];
        Bursts = "bursts", Burst [1];
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}
