//! Short messages: smsSSF (TS 29.078 §5.1, §7.1).

use super::events::MonitorMode;
use super::gprs::LocationInformationGprs;
use super::parties::{
    CalledPartyBcdNumber, Extensions, MiscCallInfo, ServiceKey, TimeAndTimezone, TimerId,
    TimerValue, TpDataCodingScheme, TpProtocolIdentifier, TpShortMessageSpecificInfo,
    TpValidityPeriod,
};
use ber::{OctetString, SequenceOf};
use map::types::{
    CallReferenceNumber, GprsMsClass, Imei, Imsi, IsdnAddressString, LocationInformation,
    MsClassmark2,
};

ber::named! {
    pub SmsAddressString = "SMS-AddressString", "TS 29.078 §5.1", OctetString<1, 11>;
}

ber::enumerated! {
    pub enum EventTypeSms: "EventTypeSMS", "TS 29.078 §5.1" {
        SmsCollectedInfo = 1, "sms-CollectedInfo";
        OSmsFailure = 2, "o-smsFailure";
        OSmsSubmission = 3, "o-smsSubmission";
        SmsDeliveryRequested = 11, "sms-DeliveryRequested";
        TSmsFailure = 12, "t-smsFailure";
        TSmsDelivery = 13, "t-smsDelivery";
    }
}

ber::sequence! {
    pub enum InitialDpSmsArg = "InitialDPSMSArg", "TS 29.078 §7.1" {
        ServiceKey = "serviceKey", ServiceKey [0];
        DestinationSubscriberNumber =
            "destinationSubscriberNumber", CalledPartyBcdNumber [1], optional;
        CallingPartyNumber = "callingPartyNumber", SmsAddressString [2], optional;
        EventTypeSms = "eventTypeSMS", EventTypeSms [3], optional;
        IMsi = "iMSI", Imsi [4], optional;
        LocationInformationMsc = "locationInformationMSC", LocationInformation [5], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [6], optional;
        SMscAddress = "sMSCAddress", IsdnAddressString [7], optional;
        TimeAndTimezone = "timeAndTimezone", TimeAndTimezone [8], optional;
        TPShortMessageSpecificInfo =
            "tPShortMessageSpecificInfo", TpShortMessageSpecificInfo [9], optional;
        TPProtocolIdentifier = "tPProtocolIdentifier", TpProtocolIdentifier [10], optional;
        TPDataCodingScheme = "tPDataCodingScheme", TpDataCodingScheme [11], optional;
        TPValidityPeriod = "tPValidityPeriod", TpValidityPeriod [12], optional;
        Extensions = "extensions", Extensions [13], optional;
        SmsReferenceNumber = "smsReferenceNumber", CallReferenceNumber [14], optional;
        MscAddress = "mscAddress", IsdnAddressString [15], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [16], optional;
        MsClassmark2 = "ms-Classmark2", MsClassmark2 [17], optional;
        GPrsmsClass = "gPRSMSClass", GprsMsClass [18], optional;
        Imei = "iMEI", Imei [19], optional;
        CalledPartyNumber = "calledPartyNumber", IsdnAddressString [20], optional;
        ...
    }
}

ber::named! {
    pub FurnishChargingInformationSmsArg =
        "FurnishChargingInformationSMSArg", "TS 29.078 §7.1",
        OctetString<5, 225>;
}

ber::sequence! {
    pub enum ConnectSmsArg = "ConnectSMSArg", "TS 29.078 §7.1" {
        CallingPartysNumber = "callingPartysNumber", SmsAddressString [0], optional;
        DestinationSubscriberNumber =
            "destinationSubscriberNumber", CalledPartyBcdNumber [1], optional;
        SMscAddress = "sMSCAddress", IsdnAddressString [2], optional;
        Extensions = "extensions", Extensions [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum SmsEvent = "SMSEvent", "TS 29.078 §5.1" {
        EventTypeSms = "eventTypeSMS", EventTypeSms [0];
        MonitorMode = "monitorMode", MonitorMode [1];
    }
}

ber::sequence! {
    pub enum RequestReportSmsEventArg = "RequestReportSMSEventArg", "TS 29.078 §7.1" {
        SMsEvents = "sMSEvents", SequenceOf<SmsEvent, 1, 10> [0];
        Extensions = "extensions", Extensions [10], optional;
        ...
    }
}

ber::enumerated! {
    pub enum MoSmsCause: "MO-SMSCause", "TS 29.078 §5.1" {
        SystemFailure = 0, "systemFailure";
        UnexpectedDataValue = 1, "unexpectedDataValue";
        FacilityNotSupported = 2, "facilityNotSupported";
        SMDeliveryFailure = 3, "sM-DeliveryFailure";
        ReleaseFromRadioInterface = 4, "releaseFromRadioInterface";
    }
}

ber::sequence! {
    pub enum SmsEventOSmsFailureSpecificInfo =
        "EventSpecificInformationSMS.o-smsFailureSpecificInfo", "TS 29.078 §5.1" {
        FailureCause = "failureCause", MoSmsCause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum SmsEventOSmsSubmissionSpecificInfo =
        "EventSpecificInformationSMS.o-smsSubmissionSpecificInfo", "TS 29.078 §5.1" {
        ...
    }
}

ber::named! {
    pub MtSmsCause = "MT-SMSCause", "TS 29.078 §5.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum SmsEventTSmsFailureSpecificInfo =
        "EventSpecificInformationSMS.t-smsFailureSpecificInfo", "TS 29.078 §5.1" {
        FailureCause = "failureCause", MtSmsCause [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum SmsEventTSmsDeliverySpecificInfo =
        "EventSpecificInformationSMS.t-smsDeliverySpecificInfo", "TS 29.078 §5.1" {
        ...
    }
}

ber::choice! {
    pub enum EventSpecificInformationSms = "EventSpecificInformationSMS", "TS 29.078 §5.1" {
        OSmsFailureSpecificInfo =
            "o-smsFailureSpecificInfo", SmsEventOSmsFailureSpecificInfo [0];
        OSmsSubmissionSpecificInfo =
            "o-smsSubmissionSpecificInfo", SmsEventOSmsSubmissionSpecificInfo [1];
        TSmsFailureSpecificInfo =
            "t-smsFailureSpecificInfo", SmsEventTSmsFailureSpecificInfo [2];
        TSmsDeliverySpecificInfo =
            "t-smsDeliverySpecificInfo", SmsEventTSmsDeliverySpecificInfo [3];
    }
}

ber::sequence! {
    pub enum EventReportSmsArg = "EventReportSMSArg", "TS 29.078 §7.1" {
        EventTypeSms = "eventTypeSMS", EventTypeSms [0];
        EventSpecificInformationSms =
            "eventSpecificInformationSMS", EventSpecificInformationSms [1], optional;
        MiscCallInfo = "miscCallInfo", MiscCallInfo [2], optional;
        Extensions = "extensions", Extensions [10], optional;
        ...
    }
}

ber::named! {
    pub ReleaseSmsArg = "ReleaseSMSArg", "TS 29.078 §7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum ResetTimerSmsArg = "ResetTimerSMSArg", "TS 29.078 §7.1" {
        TimerId = "timerID", TimerId [0], optional;
        Timervalue = "timervalue", TimerValue [1];
        Extensions = "extensions", Extensions [2], optional;
        ...
    }
}
