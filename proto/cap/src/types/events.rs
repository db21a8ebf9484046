//! Events of calls, gaps (TS 29.078 §5.1).

use super::charging::ChargeIndicator;
use super::parties::{
    ApplicationTimer, CallSegmentId, CalledPartyNumber, Cause, DateAndTime, Duration,
    InitiatorOfServiceChange, Integer4, Interval, LegId, MidCallControlInfo, NatureOfServiceChange,
    ServiceKey,
};
use ber::{Ia5String, Integer, Null, OctetString, SequenceOf};
use map::types::{
    CellGlobalIdOrServiceAreaIdFixedLength, ExtBasicServiceCode, LaiFixedLength,
    LocationInformation,
};

ber::enumerated! {
    pub enum EventTypeBcsm: "EventTypeBCSM", "TS 29.078 §5.1" {
        CollectedInfo = 2, "collectedInfo";
        AnalyzedInformation = 3, "analyzedInformation";
        RouteSelectFailure = 4, "routeSelectFailure";
        OCalledPartyBusy = 5, "oCalledPartyBusy";
        ONoAnswer = 6, "oNoAnswer";
        OAnswer = 7, "oAnswer";
        OMidCall = 8, "oMidCall";
        ODisconnect = 9, "oDisconnect";
        OAbandon = 10, "oAbandon";
        TermAttemptAuthorized = 12, "termAttemptAuthorized";
        TBusy = 13, "tBusy";
        TNoAnswer = 14, "tNoAnswer";
        TAnswer = 15, "tAnswer";
        TMidCall = 16, "tMidCall";
        TDisconnect = 17, "tDisconnect";
        TAbandon = 18, "tAbandon";
        OTermSeized = 19, "oTermSeized";
        CallAccepted = 27, "callAccepted";
        OChangeOfPosition = 50, "oChangeOfPosition";
        TChangeOfPosition = 51, "tChangeOfPosition";
        OServiceChange = 52, "oServiceChange";
        TServiceChange = 53, "tServiceChange";
        ...
    }
}

ber::named! {
    pub ScfId = "ScfID", "TS 29.078 §5.1", OctetString<2, 25>;
}

ber::enumerated! {
    pub enum MonitorMode: "MonitorMode", "TS 29.078 §5.1" {
        Interrupted = 0, "interrupted";
        NotifyAndContinue = 1, "notifyAndContinue";
        Transparent = 2, "transparent";
    }
}

ber::sequence! {
    pub enum ChangeOfLocationAlt = "ChangeOfLocationAlt", "TS 29.078 §5.1" {
        ...
    }
}

ber::choice! {
    pub enum ChangeOfLocation = "ChangeOfLocation", "TS 29.078 §5.1" {
        CellGlobalId = "cellGlobalId", CellGlobalIdOrServiceAreaIdFixedLength [0];
        ServiceAreaId = "serviceAreaId", CellGlobalIdOrServiceAreaIdFixedLength [1];
        LocationAreaId = "locationAreaId", LaiFixedLength [2];
        InterSystemHandOver = "inter-SystemHandOver", Null [3];
        InterPlmnHandOver = "inter-PLMNHandOver", Null [4];
        InterMscHandOver = "inter-MSCHandOver", Null [5];
        ChangeOfLocationAlt = "changeOfLocationAlt", ChangeOfLocationAlt [6];
    }
}

ber::named! {
    pub ChangeOfPositionControlInfo =
        "ChangeOfPositionControlInfo", "TS 29.078 §5.1",
        SequenceOf<ChangeOfLocation, 1, 10>;
    pub NumberOfDigits = "NumberOfDigits", "TS 29.078 §5.1", Integer<1, 255>;
}

ber::sequence! {
    pub enum DpSpecificCriteriaAlt = "DpSpecificCriteriaAlt", "TS 29.078 §5.1" {
        ChangeOfPositionControlInfo =
            "changeOfPositionControlInfo", ChangeOfPositionControlInfo [0];
        NumberOfDigits = "numberOfDigits", NumberOfDigits [1], optional;
        InterDigitTimeout = "interDigitTimeout", Integer<1, 127> [2], optional;
        ...
    }
}

ber::choice! {
    pub enum DpSpecificCriteria = "DpSpecificCriteria", "TS 29.078 §5.1" {
        ApplicationTimer = "applicationTimer", ApplicationTimer [1];
        MidCallControlInfo = "midCallControlInfo", MidCallControlInfo [2];
        DpSpecificCriteriaAlt = "dpSpecificCriteriaAlt", DpSpecificCriteriaAlt [3];
    }
}

ber::sequence! {
    pub enum BcsmEvent = "BCSMEvent", "TS 29.078 §5.1" {
        EventTypeBcsm = "eventTypeBCSM", EventTypeBcsm [0];
        MonitorMode = "monitorMode", MonitorMode [1];
        LegId = "legID", LegId [2], optional;
        DpSpecificCriteria = "dpSpecificCriteria", DpSpecificCriteria [30], optional;
        AutomaticRearm = "automaticRearm", Null [50], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventRouteSelectFailureSpecificInfo =
        "EventSpecificInformationBCSM.routeSelectFailureSpecificInfo", "TS 29.078 §5.1" {
        FailureCause = "failureCause", Cause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventOCalledPartyBusySpecificInfo =
        "EventSpecificInformationBCSM.oCalledPartyBusySpecificInfo", "TS 29.078 §5.1" {
        BusyCause = "busyCause", Cause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventONoAnswerSpecificInfo =
        "EventSpecificInformationBCSM.oNoAnswerSpecificInfo", "TS 29.078 §5.1" {
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventOAnswerSpecificInfo =
        "EventSpecificInformationBCSM.oAnswerSpecificInfo", "TS 29.078 §5.1" {
        DestinationAddress = "destinationAddress", CalledPartyNumber [50], optional;
        OrCall = "or-Call", Null [51], optional;
        ForwardedCall = "forwardedCall", Null [52], optional;
        ChargeIndicator = "chargeIndicator", ChargeIndicator [53], optional;
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [54], optional;
        ExtBasicServiceCode2 = "ext-basicServiceCode2", ExtBasicServiceCode [55], optional;
        ...
    }
}

ber::named! {
    pub Digits = "Digits", "TS 29.078 §5.1", OctetString<2, 16>;
}

ber::choice! {
    pub enum BcsmEventOMidCallSpecificInfoMidCallEvents =
        "EventSpecificInformationBCSM.oMidCallSpecificInfo.midCallEvents", "TS 29.078 §5.1" {
        DTmfDigitsCompleted = "dTMFDigitsCompleted", Digits [3];
        DTmfDigitsTimeOut = "dTMFDigitsTimeOut", Digits [4];
    }
}

ber::sequence! {
    pub enum BcsmEventOMidCallSpecificInfo =
        "EventSpecificInformationBCSM.oMidCallSpecificInfo", "TS 29.078 §5.1" {
        MidCallEvents =
            "midCallEvents", BcsmEventOMidCallSpecificInfoMidCallEvents [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventODisconnectSpecificInfo =
        "EventSpecificInformationBCSM.oDisconnectSpecificInfo", "TS 29.078 §5.1" {
        ReleaseCause = "releaseCause", Cause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventTBusySpecificInfo =
        "EventSpecificInformationBCSM.tBusySpecificInfo", "TS 29.078 §5.1" {
        BusyCause = "busyCause", Cause [0], optional;
        CallForwarded = "callForwarded", Null [50], optional;
        RouteNotPermitted = "routeNotPermitted", Null [51], optional;
        ForwardingDestinationNumber =
            "forwardingDestinationNumber", CalledPartyNumber [52], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventTNoAnswerSpecificInfo =
        "EventSpecificInformationBCSM.tNoAnswerSpecificInfo", "TS 29.078 §5.1" {
        CallForwarded = "callForwarded", Null [50], optional;
        ForwardingDestinationNumber =
            "forwardingDestinationNumber", CalledPartyNumber [52], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventTAnswerSpecificInfo =
        "EventSpecificInformationBCSM.tAnswerSpecificInfo", "TS 29.078 §5.1" {
        DestinationAddress = "destinationAddress", CalledPartyNumber [50], optional;
        OrCall = "or-Call", Null [51], optional;
        ForwardedCall = "forwardedCall", Null [52], optional;
        ChargeIndicator = "chargeIndicator", ChargeIndicator [53], optional;
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [54], optional;
        ExtBasicServiceCode2 = "ext-basicServiceCode2", ExtBasicServiceCode [55], optional;
        ...
    }
}

ber::choice! {
    pub enum BcsmEventTMidCallSpecificInfoMidCallEvents =
        "EventSpecificInformationBCSM.tMidCallSpecificInfo.midCallEvents", "TS 29.078 §5.1" {
        DTmfDigitsCompleted = "dTMFDigitsCompleted", Digits [3];
        DTmfDigitsTimeOut = "dTMFDigitsTimeOut", Digits [4];
    }
}

ber::sequence! {
    pub enum BcsmEventTMidCallSpecificInfo =
        "EventSpecificInformationBCSM.tMidCallSpecificInfo", "TS 29.078 §5.1" {
        MidCallEvents =
            "midCallEvents", BcsmEventTMidCallSpecificInfoMidCallEvents [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventTDisconnectSpecificInfo =
        "EventSpecificInformationBCSM.tDisconnectSpecificInfo", "TS 29.078 §5.1" {
        ReleaseCause = "releaseCause", Cause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventOTermSeizedSpecificInfo =
        "EventSpecificInformationBCSM.oTermSeizedSpecificInfo", "TS 29.078 §5.1" {
        LocationInformation = "locationInformation", LocationInformation [50], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventCallAcceptedSpecificInfo =
        "EventSpecificInformationBCSM.callAcceptedSpecificInfo", "TS 29.078 §5.1" {
        LocationInformation = "locationInformation", LocationInformation [50], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventOAbandonSpecificInfo =
        "EventSpecificInformationBCSM.oAbandonSpecificInfo", "TS 29.078 §5.1" {
        RouteNotPermitted = "routeNotPermitted", Null [50], optional;
        ...
    }
}

ber::sequence! {
    pub enum MetDpCriterionAlt = "MetDPCriterionAlt", "TS 29.078 §5.1" {
        ...
    }
}

ber::choice! {
    pub enum MetDpCriterion = "MetDPCriterion", "TS 29.078 §5.1" {
        EnteringCellGlobalId = "enteringCellGlobalId", CellGlobalIdOrServiceAreaIdFixedLength [0];
        LeavingCellGlobalId = "leavingCellGlobalId", CellGlobalIdOrServiceAreaIdFixedLength [1];
        EnteringServiceAreaId =
            "enteringServiceAreaId", CellGlobalIdOrServiceAreaIdFixedLength [2];
        LeavingServiceAreaId = "leavingServiceAreaId", CellGlobalIdOrServiceAreaIdFixedLength [3];
        EnteringLocationAreaId = "enteringLocationAreaId", LaiFixedLength [4];
        LeavingLocationAreaId = "leavingLocationAreaId", LaiFixedLength [5];
        InterSystemHandOverToUmts = "inter-SystemHandOverToUMTS", Null [6];
        InterSystemHandOverToGsm = "inter-SystemHandOverToGSM", Null [7];
        InterPlmnHandOver = "inter-PLMNHandOver", Null [8];
        InterMscHandOver = "inter-MSCHandOver", Null [9];
        MetDpCriterionAlt = "metDPCriterionAlt", MetDpCriterionAlt [10];
    }
}

ber::named! {
    pub MetDpCriteriaList =
        "MetDPCriteriaList", "TS 29.078 §5.1",
        SequenceOf<MetDpCriterion, 1, 10>;
}

ber::sequence! {
    pub enum BcsmEventOChangeOfPositionSpecificInfo =
        "EventSpecificInformationBCSM.oChangeOfPositionSpecificInfo", "TS 29.078 §5.1" {
        LocationInformation = "locationInformation", LocationInformation [50], optional;
        MetDpCriteriaList = "metDPCriteriaList", MetDpCriteriaList [51], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmEventTChangeOfPositionSpecificInfo =
        "EventSpecificInformationBCSM.tChangeOfPositionSpecificInfo", "TS 29.078 §5.1" {
        LocationInformation = "locationInformation", LocationInformation [50], optional;
        MetDpCriteriaList = "metDPCriteriaList", MetDpCriteriaList [51], optional;
        ...
    }
}

ber::sequence! {
    pub enum DpSpecificInfoAltOServiceChangeSpecificInfo =
        "DpSpecificInfoAlt.oServiceChangeSpecificInfo", "TS 29.078 §5.1" {
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [0], optional;
        InitiatorOfServiceChange =
            "initiatorOfServiceChange", InitiatorOfServiceChange [1], optional;
        NatureOfServiceChange = "natureOfServiceChange", NatureOfServiceChange [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum DpSpecificInfoAltTServiceChangeSpecificInfo =
        "DpSpecificInfoAlt.tServiceChangeSpecificInfo", "TS 29.078 §5.1" {
        ExtBasicServiceCode = "ext-basicServiceCode", ExtBasicServiceCode [0], optional;
        InitiatorOfServiceChange =
            "initiatorOfServiceChange", InitiatorOfServiceChange [1], optional;
        NatureOfServiceChange = "natureOfServiceChange", NatureOfServiceChange [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum DpSpecificInfoAltCollectedInfoSpecificInfo =
        "DpSpecificInfoAlt.collectedInfoSpecificInfo", "TS 29.078 §5.1" {
        CalledPartyNumber = "calledPartyNumber", CalledPartyNumber [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum DpSpecificInfoAlt = "DpSpecificInfoAlt", "TS 29.078 §5.1" {
        OServiceChangeSpecificInfo =
            "oServiceChangeSpecificInfo", DpSpecificInfoAltOServiceChangeSpecificInfo [0];
        TServiceChangeSpecificInfo =
            "tServiceChangeSpecificInfo", DpSpecificInfoAltTServiceChangeSpecificInfo [1];
        CollectedInfoSpecificInfo =
            "collectedInfoSpecificInfo", DpSpecificInfoAltCollectedInfoSpecificInfo [2];
        ...
    }
}

ber::choice! {
    pub enum EventSpecificInformationBcsm = "EventSpecificInformationBCSM", "TS 29.078 §5.1" {
        RouteSelectFailureSpecificInfo =
            "routeSelectFailureSpecificInfo", BcsmEventRouteSelectFailureSpecificInfo [2];
        OCalledPartyBusySpecificInfo =
            "oCalledPartyBusySpecificInfo", BcsmEventOCalledPartyBusySpecificInfo [3];
        ONoAnswerSpecificInfo =
            "oNoAnswerSpecificInfo", BcsmEventONoAnswerSpecificInfo [4];
        OAnswerSpecificInfo =
            "oAnswerSpecificInfo", BcsmEventOAnswerSpecificInfo [5];
        OMidCallSpecificInfo =
            "oMidCallSpecificInfo", BcsmEventOMidCallSpecificInfo [6];
        ODisconnectSpecificInfo =
            "oDisconnectSpecificInfo", BcsmEventODisconnectSpecificInfo [7];
        TBusySpecificInfo =
            "tBusySpecificInfo", BcsmEventTBusySpecificInfo [8];
        TNoAnswerSpecificInfo =
            "tNoAnswerSpecificInfo", BcsmEventTNoAnswerSpecificInfo [9];
        TAnswerSpecificInfo =
            "tAnswerSpecificInfo", BcsmEventTAnswerSpecificInfo [10];
        TMidCallSpecificInfo =
            "tMidCallSpecificInfo", BcsmEventTMidCallSpecificInfo [11];
        TDisconnectSpecificInfo =
            "tDisconnectSpecificInfo", BcsmEventTDisconnectSpecificInfo [12];
        OTermSeizedSpecificInfo =
            "oTermSeizedSpecificInfo", BcsmEventOTermSeizedSpecificInfo [13];
        CallAcceptedSpecificInfo =
            "callAcceptedSpecificInfo", BcsmEventCallAcceptedSpecificInfo [20];
        OAbandonSpecificInfo =
            "oAbandonSpecificInfo", BcsmEventOAbandonSpecificInfo [21];
        OChangeOfPositionSpecificInfo =
            "oChangeOfPositionSpecificInfo", BcsmEventOChangeOfPositionSpecificInfo [50];
        TChangeOfPositionSpecificInfo =
            "tChangeOfPositionSpecificInfo", BcsmEventTChangeOfPositionSpecificInfo [51];
        DpSpecificInfoAlt = "dpSpecificInfoAlt", DpSpecificInfoAlt [52];
    }
}

ber::sequence! {
    pub enum GapOnService = "GapOnService", "TS 29.078 §5.1" {
        ServiceKey = "serviceKey", ServiceKey [0];
        ...
    }
}

ber::sequence! {
    pub enum BasicGapCriteriaCalledAddressAndService =
        "BasicGapCriteria.calledAddressAndService", "TS 29.078 §5.1" {
        CalledAddressValue = "calledAddressValue", Digits [0];
        ServiceKey = "serviceKey", ServiceKey [1];
        ...
    }
}

ber::sequence! {
    pub enum BasicGapCriteriaCallingAddressAndService =
        "BasicGapCriteria.callingAddressAndService", "TS 29.078 §5.1" {
        CallingAddressValue = "callingAddressValue", Digits [0];
        ServiceKey = "serviceKey", ServiceKey [1];
        ...
    }
}

ber::choice! {
    pub enum BasicGapCriteria = "BasicGapCriteria", "TS 29.078 §5.1" {
        CalledAddressValue = "calledAddressValue", Digits [0];
        GapOnService = "gapOnService", GapOnService [2];
        CalledAddressAndService =
            "calledAddressAndService", BasicGapCriteriaCalledAddressAndService [29];
        CallingAddressAndService =
            "callingAddressAndService", BasicGapCriteriaCallingAddressAndService [30];
    }
}

ber::sequence! {
    pub enum CompoundCriteria = "CompoundCriteria", "TS 29.078 §5.1" {
        BasicGapCriteria = "basicGapCriteria", BasicGapCriteria [0];
        ScfId = "scfID", ScfId [1], optional;
    }
}

ber::choice! {
    pub enum GapCriteria = "GapCriteria", "TS 29.078 §5.1" {
        BasicGapCriteria = "basicGapCriteria", BasicGapCriteria;
        CompoundGapCriteria = "compoundGapCriteria", CompoundCriteria;
    }
}

ber::sequence! {
    pub enum GapIndicators = "GapIndicators", "TS 29.078 §5.1" {
        Duration = "duration", Duration [0];
        GapInterval = "gapInterval", Interval [1];
        ...
    }
}

ber::sequence! {
    pub enum MessageIdText = "MessageID.text", "TS 29.078 §5.1" {
        MessageContent = "messageContent", Ia5String<1, 127> [0];
        Attributes = "attributes", OctetString<2, 10> [1], optional;
    }
}

ber::choice! {
    pub enum VariablePart = "VariablePart", "TS 29.078 §5.1" {
        Integer = "integer", Integer4 [0];
        Number = "number", Digits [1];
        Time = "time", OctetString<2, 2> [2];
        Date = "date", OctetString<4, 4> [3];
        Price = "price", OctetString<4, 4> [4];
    }
}

ber::sequence! {
    pub enum MessageIdVariableMessage = "MessageID.variableMessage", "TS 29.078 §5.1" {
        ElementaryMessageId = "elementaryMessageID", Integer4 [0];
        VariableParts = "variableParts", SequenceOf<VariablePart, 1, 5> [1];
    }
}

ber::choice! {
    pub enum MessageId = "MessageID", "TS 29.078 §5.1" {
        ElementaryMessageId = "elementaryMessageID", Integer4 [0];
        Text = "text", MessageIdText [1];
        ElementaryMessageIDs = "elementaryMessageIDs", SequenceOf<Integer4, 1, 16> [29];
        VariableMessage = "variableMessage", MessageIdVariableMessage [30];
    }
}

ber::sequence! {
    pub enum InbandInfo = "InbandInfo", "TS 29.078 §5.1" {
        MessageId = "messageID", MessageId [0];
        NumberOfRepetitions = "numberOfRepetitions", Integer<1, 127> [1], optional;
        Duration = "duration", Integer<0, 32767> [2], optional;
        Interval = "interval", Integer<0, 32767> [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum Tone = "Tone", "TS 29.078 §5.1" {
        ToneId = "toneID", Integer4 [0];
        Duration = "duration", Integer4 [1], optional;
        ...
    }
}

ber::choice! {
    pub enum InformationToSend = "InformationToSend", "TS 29.078 §5.1" {
        InbandInfo = "inbandInfo", InbandInfo [0];
        Tone = "tone", Tone [1];
    }
}

ber::choice! {
    pub enum GapTreatment = "GapTreatment", "TS 29.078 §5.1" {
        InformationToSend = "informationToSend", InformationToSend [0];
        ReleaseCause = "releaseCause", Cause [1];
    }
}

ber::enumerated! {
    pub enum RequestedInformationType: "RequestedInformationType", "TS 29.078 §5.1" {
        CallAttemptElapsedTime = 0, "callAttemptElapsedTime";
        CallStopTime = 1, "callStopTime";
        CallConnectedElapsedTime = 2, "callConnectedElapsedTime";
        ReleaseCause = 30, "releaseCause";
    }
}

ber::choice! {
    pub enum RequestedInformationValue = "RequestedInformationValue", "TS 29.078 §5.1" {
        CallAttemptElapsedTimeValue = "callAttemptElapsedTimeValue", Integer<0, 255> [0];
        CallStopTimeValue = "callStopTimeValue", DateAndTime [1];
        CallConnectedElapsedTimeValue = "callConnectedElapsedTimeValue", Integer4 [2];
        ReleaseCauseValue = "releaseCauseValue", Cause [30];
    }
}

ber::sequence! {
    pub enum RequestedInformation = "RequestedInformation", "TS 29.078 §5.1" {
        RequestedInformationType = "requestedInformationType", RequestedInformationType [0];
        RequestedInformationValue = "requestedInformationValue", RequestedInformationValue [1];
        ...
    }
}

ber::named! {
    pub RequestedInformationList =
        "RequestedInformationList", "TS 29.078 §5.1",
        SequenceOf<RequestedInformation, 1, 4>;
    pub RequestedInformationTypeList =
        "RequestedInformationTypeList", "TS 29.078 §5.1",
        SequenceOf<RequestedInformationType, 1, 4>;
}

ber::choice! {
    pub enum LegOrCallSegment = "LegOrCallSegment", "TS 29.078 §5.1" {
        CallSegmentId = "callSegmentID", CallSegmentId [0];
        LegId = "legID", LegId [1];
    }
}

ber::sequence! {
    pub enum CallSegmentFailure = "CallSegmentFailure", "TS 29.078 §5.1" {
        CallSegmentId = "callSegmentID", CallSegmentId [0], optional;
        Cause = "cause", Cause [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum BcsmFailure = "BCSM-Failure", "TS 29.078 §5.1" {
        LegId = "legID", LegId [0], optional;
        Cause = "cause", Cause [2], optional;
        ...
    }
}
