//! Short messages (TS 29.002 §17.7.6).

use super::identities::{
    AddressString, AsciCallReference, ExtensionContainer, HlrId, Imsi, IsdnAddressString, Lmsi,
    NetworkNodeDiameterAddress, SignalInfo, Time,
};
use super::location_service::AdditionalNumber;
use ber::{BitString, Boolean, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub AbsentSubscriberDiagnosticSm =
        "AbsentSubscriberDiagnosticSM", "TS 29.002 §17.7.7",
        Integer<0, 255>;
    pub SmRpMti = "SM-RP-MTI", "TS 29.002 §17.7.6", Integer<0, 10>;
    pub SmRpSmea = "SM-RP-SMEA", "TS 29.002 §17.7.6", OctetString<1, 12>;
}

ber::enumerated! {
    pub enum SmDeliveryNotIntended: "SM-DeliveryNotIntended", "TS 29.002 §17.7.6" {
        OnlyImsiRequested = 0, "onlyIMSI-requested";
        OnlyMccMncRequested = 1, "onlyMCC-MNC-requested";
        ...
    }
}

ber::named! {
    pub SipUri = "SIP-URI", "TS 29.002 §17.7.6", OctetString<0, { usize::MAX }>;
}

ber::sequence! {
    pub enum CorrelationId = "CorrelationID", "TS 29.002 §17.7.6" {
        HlrId = "hlr-id", HlrId [0], optional;
        SipUriA = "sip-uri-A", SipUri [1], optional;
        SipUriB = "sip-uri-B", SipUri [2];
    }
}

ber::sequence! {
    pub enum RoutingInfoForSmArg = "RoutingInfoForSM-Arg", "TS 29.002 §17.7.6" {
        Msisdn = "msisdn", IsdnAddressString [0];
        SmRpPri = "sm-RP-PRI", Boolean [1];
        ServiceCentreAddress = "serviceCentreAddress", AddressString [2];
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        GprsSupportIndicator = "gprsSupportIndicator", Null [7], optional;
        SmRpMti = "sm-RP-MTI", SmRpMti [8], optional;
        SmRpSmea = "sm-RP-SMEA", SmRpSmea [9], optional;
        SmDeliveryNotIntended = "sm-deliveryNotIntended", SmDeliveryNotIntended [10], optional;
        IpSmGwGuidanceIndicator = "ip-sm-gwGuidanceIndicator", Null [11], optional;
        Imsi = "imsi", Imsi [12], optional;
        T4TriggerIndicator = "t4-Trigger-Indicator", Null [14], optional;
        SingleAttemptDelivery = "singleAttemptDelivery", Null [13], optional;
        CorrelationId = "correlationID", CorrelationId [15], optional;
        SmsfSupportIndicator = "smsf-supportIndicator", Null [16], optional;
        ...
    }
}

ber::sequence! {
    pub enum LocationInfoWithLmsi = "LocationInfoWithLMSI", "TS 29.002 §17.7.6" {
        NetworkNodeNumber = "networkNode-Number", IsdnAddressString [1];
        Lmsi = "lmsi", Lmsi, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        GprsNodeIndicator = "gprsNodeIndicator", Null [5], optional;
        AdditionalNumber = "additional-Number", AdditionalNumber [6], optional;
        NetworkNodeDiameterAddress =
            "networkNodeDiameterAddress", NetworkNodeDiameterAddress [7], optional;
        AdditionalNetworkNodeDiameterAddress =
            "additionalNetworkNodeDiameterAddress", NetworkNodeDiameterAddress [8], optional;
        ThirdNumber = "thirdNumber", AdditionalNumber [9], optional;
        ThirdNetworkNodeDiameterAddress =
            "thirdNetworkNodeDiameterAddress", NetworkNodeDiameterAddress [10], optional;
        ImsNodeIndicator = "imsNodeIndicator", Null [11], optional;
        Smsf3gppNumber = "smsf-3gpp-Number", IsdnAddressString [12], optional;
        Smsf3gppDiameterAddress =
            "smsf-3gpp-DiameterAddress", NetworkNodeDiameterAddress [13], optional;
        SmsfNon3gppNumber = "smsf-non-3gpp-Number", IsdnAddressString [14], optional;
        SmsfNon3gppDiameterAddress =
            "smsf-non-3gpp-DiameterAddress", NetworkNodeDiameterAddress [15], optional;
        Smsf3gppAddressIndicator = "smsf-3gpp-address-indicator", Null [16], optional;
        SmsfNon3gppAddressIndicator = "smsf-non-3gpp-address-indicator", Null [17], optional;
        ...
    }
}

ber::named! {
    pub SmDeliveryTimerValue = "SM-DeliveryTimerValue", "TS 29.002 §17.7.6", Integer<30, 600>;
}

ber::sequence! {
    pub enum IpSmGwGuidance = "IP-SM-GW-Guidance", "TS 29.002 §17.7.6" {
        MinimumDeliveryTimeValue = "minimumDeliveryTimeValue", SmDeliveryTimerValue;
        RecommendedDeliveryTimeValue = "recommendedDeliveryTimeValue", SmDeliveryTimerValue;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum RoutingInfoForSmRes = "RoutingInfoForSM-Res", "TS 29.002 §17.7.6" {
        Imsi = "imsi", Imsi;
        LocationInfoWithLmsi = "locationInfoWithLMSI", LocationInfoWithLmsi [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        IpSmGwGuidance = "ip-sm-gwGuidance", IpSmGwGuidance [5], optional;
        ...
    }
}

ber::choice! {
    pub enum SmRpDa = "SM-RP-DA", "TS 29.002 §17.7.6" {
        Imsi = "imsi", Imsi [0];
        Lmsi = "lmsi", Lmsi [1];
        ServiceCentreAddressDa = "serviceCentreAddressDA", AddressString [4];
        NoSmRpDa = "noSM-RP-DA", Null [5];
    }
}

ber::choice! {
    pub enum SmRpOa = "SM-RP-OA", "TS 29.002 §17.7.6" {
        Msisdn = "msisdn", IsdnAddressString [2];
        ServiceCentreAddressOa = "serviceCentreAddressOA", AddressString [4];
        NoSmRpOa = "noSM-RP-OA", Null [5];
    }
}

ber::enumerated! {
    pub enum SmDeliveryOutcome: "SM-DeliveryOutcome", "TS 29.002 §17.7.6" {
        MemoryCapacityExceeded = 0, "memoryCapacityExceeded";
        AbsentSubscriber = 1, "absentSubscriber";
        SuccessfulTransfer = 2, "successfulTransfer";
    }
}

ber::sequence! {
    pub enum MoForwardSmArg = "MO-ForwardSM-Arg", "TS 29.002 §17.7.6" {
        SmRpDa = "sm-RP-DA", SmRpDa;
        SmRpOa = "sm-RP-OA", SmRpOa;
        SmRpUi = "sm-RP-UI", SignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        Imsi = "imsi", Imsi, optional;
        CorrelationId = "correlationID", CorrelationId [0], optional;
        SmDeliveryOutcome = "sm-DeliveryOutcome", SmDeliveryOutcome [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum MoForwardSmRes = "MO-ForwardSM-Res", "TS 29.002 §17.7.6" {
        SmRpUi = "sm-RP-UI", SignalInfo, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MtForwardSmArg = "MT-ForwardSM-Arg", "TS 29.002 §17.7.6" {
        SmRpDa = "sm-RP-DA", SmRpDa;
        SmRpOa = "sm-RP-OA", SmRpOa;
        SmRpUi = "sm-RP-UI", SignalInfo;
        MoreMessagesToSend = "moreMessagesToSend", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        SmDeliveryTimer = "smDeliveryTimer", SmDeliveryTimerValue, optional;
        SmDeliveryStartTime = "smDeliveryStartTime", Time, optional;
        SmsOverIpOnlyIndicator = "smsOverIP-OnlyIndicator", Null [0], optional;
        CorrelationId = "correlationID", CorrelationId [1], optional;
        MaximumRetransmissionTime = "maximumRetransmissionTime", Time [2], optional;
        SmsGmscAddress = "smsGmscAddress", IsdnAddressString [3], optional;
        SmsGmscDiameterAddress =
            "smsGmscDiameterAddress", NetworkNodeDiameterAddress [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum MtForwardSmRes = "MT-ForwardSM-Res", "TS 29.002 §17.7.6" {
        SmRpUi = "sm-RP-UI", SignalInfo, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReportSmDeliveryStatusArg = "ReportSM-DeliveryStatusArg", "TS 29.002 §17.7.6" {
        Msisdn = "msisdn", IsdnAddressString;
        ServiceCentreAddress = "serviceCentreAddress", AddressString;
        SmDeliveryOutcome = "sm-DeliveryOutcome", SmDeliveryOutcome;
        AbsentSubscriberDiagnosticSm =
            "absentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        GprsSupportIndicator = "gprsSupportIndicator", Null [2], optional;
        DeliveryOutcomeIndicator = "deliveryOutcomeIndicator", Null [3], optional;
        AdditionalSmDeliveryOutcome =
            "additionalSM-DeliveryOutcome", SmDeliveryOutcome [4], optional;
        AdditionalAbsentSubscriberDiagnosticSm =
            "additionalAbsentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [5], optional;
        IpSmGwIndicator = "ip-sm-gw-Indicator", Null [6], optional;
        IpSmGwSmDeliveryOutcome = "ip-sm-gw-sm-deliveryOutcome", SmDeliveryOutcome [7], optional;
        IpSmGwAbsentSubscriberDiagnosticSm =
            "ip-sm-gw-absentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [8], optional;
        Imsi = "imsi", Imsi [9], optional;
        SingleAttemptDelivery = "singleAttemptDelivery", Null [10], optional;
        CorrelationId = "correlationID", CorrelationId [11], optional;
        Smsf3gppDeliveryOutcomeIndicator =
            "smsf-3gpp-deliveryOutcomeIndicator", Null [12], optional;
        Smsf3gppDeliveryOutcome = "smsf-3gpp-deliveryOutcome", SmDeliveryOutcome [13], optional;
        Smsf3gppAbsentSubscriberDiagSm =
            "smsf-3gpp-absentSubscriberDiagSM", AbsentSubscriberDiagnosticSm [14], optional;
        SmsfNon3gppDeliveryOutcomeIndicator =
            "smsf-non-3gpp-deliveryOutcomeIndicator", Null [15], optional;
        SmsfNon3gppDeliveryOutcome =
            "smsf-non-3gpp-deliveryOutcome", SmDeliveryOutcome [16], optional;
        SmsfNon3gppAbsentSubscriberDiagSm =
            "smsf-non-3gpp-absentSubscriberDiagSM", AbsentSubscriberDiagnosticSm [17], optional;
        ...
    }
}

ber::sequence! {
    pub enum ReportSmDeliveryStatusRes = "ReportSM-DeliveryStatusRes", "TS 29.002 §17.7.6" {
        StoredMsisdn = "storedMSISDN", IsdnAddressString, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum SmsGmscAlertEvent: "SmsGmsc-Alert-Event", "TS 29.002 §17.7.6" {
        MsAvailableForMtSms = 0, "msAvailableForMtSms";
        MsUnderNewServingNode = 1, "msUnderNewServingNode";
    }
}

ber::sequence! {
    pub enum AlertServiceCentreArg = "AlertServiceCentreArg", "TS 29.002 §17.7.6" {
        Msisdn = "msisdn", IsdnAddressString;
        ServiceCentreAddress = "serviceCentreAddress", AddressString;
        Imsi = "imsi", Imsi, optional;
        CorrelationId = "correlationID", CorrelationId, optional;
        MaximumUeAvailabilityTime = "maximumUeAvailabilityTime", Time [0], optional;
        SmsGmscAlertEvent = "smsGmscAlertEvent", SmsGmscAlertEvent [1], optional;
        SmsGmscDiameterAddress =
            "smsGmscDiameterAddress", NetworkNodeDiameterAddress [2], optional;
        NewSgsnNumber = "newSGSNNumber", IsdnAddressString [3], optional;
        NewSgsnDiameterAddress =
            "newSGSNDiameterAddress", NetworkNodeDiameterAddress [4], optional;
        NewMmeNumber = "newMMENumber", IsdnAddressString [5], optional;
        NewMmeDiameterAddress = "newMMEDiameterAddress", NetworkNodeDiameterAddress [6], optional;
        NewMscNumber = "newMSCNumber", IsdnAddressString [7], optional;
        ...
    }
}

ber::named! {
    pub MwStatus = "MW-Status", "TS 29.002 §17.7.6", BitString<6, 16>;
}

ber::sequence! {
    pub enum InformServiceCentreArg = "InformServiceCentreArg", "TS 29.002 §17.7.6" {
        StoredMsisdn = "storedMSISDN", IsdnAddressString, optional;
        MwStatus = "mw-Status", MwStatus, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AbsentSubscriberDiagnosticSm =
            "absentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm, optional;
        AdditionalAbsentSubscriberDiagnosticSm =
            "additionalAbsentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [0], optional;
        Smsf3gppAbsentSubscriberDiagnosticSm =
            "smsf3gppAbsentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [1], optional;
        SmsfNon3gppAbsentSubscriberDiagnosticSm =
            "smsfNon3gppAbsentSubscriberDiagnosticSM", AbsentSubscriberDiagnosticSm [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum AlertReason: "AlertReason", "TS 29.002 §17.7.6" {
        MsPresent = 0, "ms-Present";
        MemoryAvailable = 1, "memoryAvailable";
    }
}

ber::sequence! {
    pub enum ReadyForSmArg = "ReadyForSM-Arg", "TS 29.002 §17.7.6" {
        Imsi = "imsi", Imsi [0];
        AlertReason = "alertReason", AlertReason;
        AlertReasonIndicator = "alertReasonIndicator", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AdditionalAlertReasonIndicator = "additionalAlertReasonIndicator", Null [1], optional;
        MaximumUeAvailabilityTime = "maximumUeAvailabilityTime", Time, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReadyForSmRes = "ReadyForSM-Res", "TS 29.002 §17.7.6" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MtForwardSmVgcsArg = "MT-ForwardSM-VGCS-Arg", "TS 29.002 §17.7.6" {
        AsciCallReference = "asciCallReference", AsciCallReference;
        SmRpOa = "sm-RP-OA", SmRpOa;
        SmRpUi = "sm-RP-UI", SignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub DispatcherList =
        "DispatcherList", "TS 29.002 §17.7.6",
        SequenceOf<IsdnAddressString, 1, 5>;
    pub AdditionalDispatcherList =
        "AdditionalDispatcherList", "TS 29.002 §17.7.6",
        SequenceOf<IsdnAddressString, 1, 15>;
}

ber::sequence! {
    pub enum MtForwardSmVgcsRes = "MT-ForwardSM-VGCS-Res", "TS 29.002 §17.7.6" {
        SmRpUi = "sm-RP-UI", SignalInfo [0], optional;
        DispatcherList = "dispatcherList", DispatcherList [1], optional;
        OngoingCall = "ongoingCall", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        AdditionalDispatcherList =
            "additionalDispatcherList", AdditionalDispatcherList [3], optional;
        ...
    }
}
