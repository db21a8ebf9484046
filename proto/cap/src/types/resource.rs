//! Specialised resources: gsmSRF (TS 29.078 §5.1, §6.2).

use super::events::{Digits, InformationToSend};
use super::parties::{CallSegmentId, Extensions};
use ber::{Boolean, Integer, Null, OctetString};

ber::named! {
    pub IpsspCapabilities = "IPSSPCapabilities", "TS 29.078 §5.1", OctetString<1, 4>;
    pub CorrelationId = "CorrelationID", "TS 29.078 §5.1", OctetString<2, 16>;
    pub AssistingSspIpRoutingAddress =
        "AssistingSSPIPRoutingAddress", "TS 29.078 §5.1",
        OctetString<2, 16>;
    pub IpRoutingAddress = "IPRoutingAddress", "TS 29.078 §5.1", OctetString<2, 18>;
}

ber::sequence! {
    pub enum PlayAnnouncementArg = "PlayAnnouncementArg", "TS 29.078 §6.2.1" {
        InformationToSend = "informationToSend", InformationToSend [0];
        DisconnectFromIpForbidden = "disconnectFromIPForbidden", Boolean [1], optional;
        RequestAnnouncementCompleteNotification =
            "requestAnnouncementCompleteNotification", Boolean [2], optional;
        Extensions = "extensions", Extensions [3], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [5], optional;
        RequestAnnouncementStartedNotification =
            "requestAnnouncementStartedNotification", Boolean [51], optional;
        ...
    }
}

ber::enumerated! {
    pub enum ErrorTreatment: "ErrorTreatment", "TS 29.078 §5.1" {
        StdErrorAndInfo = 0, "stdErrorAndInfo";
        Help = 1, "help";
        RepeatPrompt = 2, "repeatPrompt";
    }
}

ber::sequence! {
    pub enum CollectedDigits = "CollectedDigits", "TS 29.078 §5.1" {
        MinimumNbOfDigits = "minimumNbOfDigits", Integer<1, 30> [0], optional;
        MaximumNbOfDigits = "maximumNbOfDigits", Integer<1, 30> [1];
        EndOfReplyDigit = "endOfReplyDigit", OctetString<1, 2> [2], optional;
        CancelDigit = "cancelDigit", OctetString<1, 2> [3], optional;
        StartDigit = "startDigit", OctetString<1, 2> [4], optional;
        FirstDigitTimeOut = "firstDigitTimeOut", Integer<1, 127> [5], optional;
        InterDigitTimeOut = "interDigitTimeOut", Integer<1, 127> [6], optional;
        ErrorTreatment = "errorTreatment", ErrorTreatment [7], optional;
        InterruptableAnnInd = "interruptableAnnInd", Boolean [8], optional;
        VoiceInformation = "voiceInformation", Boolean [9], optional;
        VoiceBack = "voiceBack", Boolean [10], optional;
    }
}

ber::choice! {
    pub enum CollectedInfo = "CollectedInfo", "TS 29.078 §5.1" {
        CollectedDigits = "collectedDigits", CollectedDigits [0];
    }
}

ber::sequence! {
    pub enum PromptAndCollectUserInformationArg =
        "PromptAndCollectUserInformationArg", "TS 29.078 §6.2.1" {
        CollectedInfo = "collectedInfo", CollectedInfo [0];
        DisconnectFromIpForbidden = "disconnectFromIPForbidden", Boolean [1], optional;
        InformationToSend = "informationToSend", InformationToSend [2], optional;
        Extensions = "extensions", Extensions [3], optional;
        CallSegmentId = "callSegmentID", CallSegmentId [4], optional;
        RequestAnnouncementStartedNotification =
            "requestAnnouncementStartedNotification", Boolean [51], optional;
        ...
    }
}

ber::choice! {
    pub enum ReceivedInformationArg = "ReceivedInformationArg", "TS 29.078 §6.2.1" {
        DigitsResponse = "digitsResponse", Digits [0];
    }
}

ber::choice! {
    pub enum SpecializedResourceReportArg = "SpecializedResourceReportArg", "TS 29.078 §6.2.1" {
        AllAnnouncementsComplete = "allAnnouncementsComplete", Null [50];
        FirstAnnouncementStarted = "firstAnnouncementStarted", Null [51];
    }
}
