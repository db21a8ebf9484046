//! Numbers, calls, supplementary services, short messages, tracing (GSM 09.02 §14.7).

use crate::types::{
    AddressString, AlertReason, BasicServiceCode, BasicServiceGroupList, BearerServiceCode,
    CallBarringInfo, CliRestrictionOption, CugIndex, CugInterlock, ForwardingOptions, GlobalCellId,
    Imsi, InterCugRestrictions, IntraCugOptions, IsdnAddressString, IsdnSubaddressString, Lmsi,
    NoReplyConditionTime, NumberOfForwarding, ProtocolId, SignalInfo, SmDeliveryOutcome,
    SmEnumeratedDeliveryFailureCause, SmRpOa, SsCode, SsStatus, SsSubscriptionOption,
    TeleserviceCode, Tmsi, TraceReference, TraceType, UssdDataCodingScheme, UssdString,
};
use ber::{BitString, Boolean, Ia5String, Null, OctetString, SequenceOf};

ber::sequence! {
    pub enum CugCheckInfo = "CUG-CheckInfo", "GSM 09.02 §14.7.3" {
        CugInterlock = "cug-Interlock", CugInterlock;
        CugOutgoingAccess = "cug-OutgoingAccess", Null, optional;
        ...
    }
}

ber::sequence! {
    pub enum ExternalSignalInfo = "ExternalSignalInfo", "GSM 09.02 §14.7.8" {
        ProtocolId = "protocolId", ProtocolId;
        SignalInfo = "signalInfo", SignalInfo;
        ...
    }
}

ber::sequence! {
    pub enum SendRoutingInfoArg = "SendRoutingInfoArg", "GSM 09.02 §14.7.3" {
        Msisdn = "msisdn", IsdnAddressString [0];
        CugCheckInfo = "cug-CheckInfo", CugCheckInfo [1], optional;
        NumberOfForwarding = "numberOfForwarding", NumberOfForwarding [2], optional;
        NetworkSignalInfo = "networkSignalInfo", ExternalSignalInfo [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum ForwardingData = "ForwardingData", "GSM 09.02 §14.7.4" {
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [5], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [4], optional;
        ForwardingOptions = "forwardingOptions", ForwardingOptions [6], optional;
        ...
    }
}

ber::choice! {
    pub enum RoutingInfo = "RoutingInfo", "GSM 09.02 §14.7.3" {
        RoamingNumber = "roamingNumber", IsdnAddressString;
        ForwardingData = "forwardingData", ForwardingData;
    }
}

ber::sequence! {
    pub enum SendRoutingInfoRes = "SendRoutingInfoRes", "GSM 09.02 §14.7.3" {
        Imsi = "imsi", Imsi;
        RoutingInfo = "routingInfo", RoutingInfo;
        CugCheckInfo = "cug-CheckInfo", CugCheckInfo, optional;
        ...
    }
}

ber::sequence! {
    pub enum ProvideRoamingNumberArg = "ProvideRoamingNumberArg", "GSM 09.02 §14.7.3" {
        Imsi = "imsi", Imsi [0];
        MscNumber = "msc-Number", IsdnAddressString [1], optional;
        Msisdn = "msisdn", IsdnAddressString [2], optional;
        PreviousRoamingNumber = "previousRoamingNumber", IsdnAddressString [3], optional;
        Lmsi = "lmsi", Lmsi [4], optional;
        GsmBearerCapability = "gsm-BearerCapability", ExternalSignalInfo [5], optional;
        NetworkSignalInfo = "networkSignalInfo", ExternalSignalInfo [6], optional;
        ...
    }
}

ber::choice! {
    pub enum LocationInfo = "LocationInfo", "GSM 09.02 §14.7.8" {
        RoamingNumber = "roamingNumber", IsdnAddressString [0];
        MscNumber = "msc-Number", IsdnAddressString [1];
    }
}

ber::choice! {
    pub enum SubscriberId = "SubscriberId", "GSM 09.02 §14.7.8" {
        Imsi = "imsi", Imsi [0];
        Tmsi = "tmsi", Tmsi [1];
    }
}

ber::named! {
    pub BearerServiceList =
        "BearerServiceList", "GSM 09.02 §14.7.8",
        SequenceOf<BearerServiceCode, 1, 50>;
    pub TeleserviceList =
        "TeleserviceList", "GSM 09.02 §14.7.8",
        SequenceOf<TeleserviceCode, 1, 20>;
}

ber::sequence! {
    pub enum ForwardingFeature = "ForwardingFeature", "GSM 09.02 §14.7.4" {
        BasicService = "basicService", BasicServiceCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [5], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [8], optional;
        ForwardingOptions = "forwardingOptions", ForwardingOptions [6], optional;
        NoReplyConditionTime = "noReplyConditionTime", NoReplyConditionTime [7], optional;
        ...
    }
}

ber::named! {
    pub ForwardingFeatureList =
        "ForwardingFeatureList", "GSM 09.02 §14.7.4",
        SequenceOf<ForwardingFeature, 1, 13>;
}

ber::sequence! {
    pub enum ForwardingInfo = "ForwardingInfo", "GSM 09.02 §14.7.4" {
        SsCode = "ss-Code", SsCode, optional;
        ForwardingFeatureList = "forwardingFeatureList", ForwardingFeatureList;
        ...
    }
}

ber::sequence! {
    pub enum CugSubscription = "CUG-Subscription", "GSM 09.02 §14.7.4" {
        CugIndex = "cug-Index", CugIndex;
        CugInterlock = "cug-Interlock", CugInterlock;
        IntraCugOptions = "intraCUG-Options", IntraCugOptions;
        BasicServiceGroupList = "basicServiceGroupList", BasicServiceGroupList, optional;
        ...
    }
}

ber::named! {
    pub CugSubscriptionList =
        "CUG-SubscriptionList", "GSM 09.02 §14.7.4",
        SequenceOf<CugSubscription, 1, 10>;
}

ber::sequence! {
    pub enum CugFeature = "CUG-Feature", "GSM 09.02 §14.7.4" {
        BasicService = "basicService", BasicServiceCode, optional;
        PreferentialCugIndicator = "preferentialCUG-Indicator", CugIndex, optional;
        InterCugRestrictions = "interCUG-Restrictions", InterCugRestrictions;
        ...
    }
}

ber::named! {
    pub CugFeatureList = "CUG-FeatureList", "GSM 09.02 §14.7.4", SequenceOf<CugFeature, 1, 13>;
}

ber::sequence! {
    pub enum CugInfo = "CUG-Info", "GSM 09.02 §14.7.4" {
        CugSubscriptionList = "cug-SubscriptionList", CugSubscriptionList;
        CugFeatureList = "cug-FeatureList", CugFeatureList, optional;
        ...
    }
}

ber::sequence! {
    pub enum SsData = "SS-Data", "GSM 09.02 §14.7.4" {
        SsCode = "ss-Code", SsCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        SsSubscriptionOption = "ss-SubscriptionOption", SsSubscriptionOption, optional;
        BasicServiceGroupList = "basicServiceGroupList", BasicServiceGroupList, optional;
        ...
    }
}

ber::choice! {
    pub enum SsInfo = "SS-Info", "GSM 09.02 §14.7.4" {
        ForwardingInfo = "forwardingInfo", ForwardingInfo [0];
        CallBarringInfo = "callBarringInfo", CallBarringInfo [1];
        CugInfo = "cug-Info", CugInfo [2];
        SsData = "ss-Data", SsData [3];
    }
}

ber::named! {
    pub SsInfoList = "SS-InfoList", "GSM 09.02 §14.7.4", SequenceOf<SsInfo, 1, 30>;
    pub BasicServiceList =
        "BasicServiceList", "GSM 09.02 §14.7.8",
        SequenceOf<BasicServiceCode, 1, 70>;
}

ber::sequence! {
    pub enum ActivateTraceModeArg = "ActivateTraceModeArg", "GSM 09.02 §14.7.2" {
        Imsi = "imsi", Imsi [0], optional;
        TraceReference = "traceReference", TraceReference [1];
        TraceType = "traceType", TraceType [2];
        OmcId = "omc-Id", AddressString [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeactivateTraceModeArg = "DeactivateTraceModeArg", "GSM 09.02 §14.7.2" {
        Imsi = "imsi", Imsi [0], optional;
        TraceReference = "traceReference", TraceReference [1];
        ...
    }
}

ber::named! {
    pub CallReference = "CallReference", "GSM 09.02 §14.7.2", OctetString<1, 3>;
}

ber::sequence! {
    pub enum TraceSubscriberActivityArg = "TraceSubscriberActivityArg", "GSM 09.02 §14.7.2" {
        Imsi = "imsi", Imsi [0], optional;
        TraceReference = "traceReference", TraceReference [1];
        TraceType = "traceType", TraceType [2];
        OmcId = "omc-Id", AddressString [3], optional;
        CallReference = "callReference", CallReference [4], optional;
    }
}

ber::enumerated! {
    pub enum HandoverType: "HandoverType", "GSM 09.02 §14.7.2" {
        InterBss = 0, "interBSS";
        IntraBss = 1, "intraBSS";
    }
}

ber::sequence! {
    pub enum NoteInternalHoArg = "NoteInternalHO-Arg", "GSM 09.02 §14.7.2" {
        HandoverType = "handoverType", HandoverType;
        TargetCellId = "targetCellId", GlobalCellId [1], optional;
        ChannelId = "channelId", ExternalSignalInfo [2], optional;
    }
}

ber::sequence! {
    pub enum RoutingInfoForSmArg = "RoutingInfoForSM-Arg", "GSM 09.02 §14.7.6" {
        Msisdn = "msisdn", IsdnAddressString [0];
        SmRpPri = "sm-RP-PRI", Boolean [1];
        ServiceCentreAddress = "serviceCentreAddress", AddressString [2];
        Teleservice = "teleservice", TeleserviceCode [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum LocationInfoWithLmsi = "LocationInfoWithLMSI", "GSM 09.02 §14.7.6" {
        LocationInfo = "locationInfo", LocationInfo;
        Lmsi = "lmsi", Lmsi, optional;
        ...
    }
}

ber::sequence! {
    pub enum RoutingInfoForSmRes = "RoutingInfoForSM-Res", "GSM 09.02 §14.7.6" {
        Imsi = "imsi", Imsi;
        LocationInfoWithLmsi = "locationInfoWithLMSI", LocationInfoWithLmsi [0];
        MwdSet = "mwd-Set", Boolean [2], optional;
        ...
    }
}

ber::choice! {
    pub enum SmRpDa = "SM-RP-DA", "GSM 09.02 §14.7.6" {
        Imsi = "imsi", Imsi [0];
        Lmsi = "lmsi", Lmsi [1];
        RoamingNumber = "roamingNumber", IsdnAddressString [3];
        ServiceCentreAddressDa = "serviceCentreAddressDA", AddressString [4];
        NoSmRpDa = "noSM-RP-DA", Null [5];
    }
}

ber::sequence! {
    pub enum ForwardSmArg = "ForwardSM-Arg", "GSM 09.02 §14.7.6" {
        SmRpDa = "sm-RP-DA", SmRpDa;
        SmRpOa = "sm-RP-OA", SmRpOa;
        SmRpUi = "sm-RP-UI", SignalInfo;
        MoreMessagesToSend = "moreMessagesToSend", Null, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReportSmDeliveryStatusArg = "ReportSM-DeliveryStatusArg", "GSM 09.02 §14.7.6" {
        Msisdn = "msisdn", IsdnAddressString;
        ServiceCentreAddress = "serviceCentreAddress", AddressString;
        SmDeliveryOutcome = "sm-DeliveryOutcome", SmDeliveryOutcome, optional;
        ...
    }
}

ber::sequence! {
    pub enum AlertServiceCentreArg = "AlertServiceCentreArg", "GSM 09.02 §14.7.6" {
        Msisdn = "msisdn", IsdnAddressString;
        ServiceCentreAddress = "serviceCentreAddress", AddressString;
        ...
    }
}

ber::named! {
    pub MwStatus = "MW-Status", "GSM 09.02 §14.7.6", BitString<6, 6>;
}

ber::sequence! {
    pub enum InformServiceCentreArg = "InformServiceCentreArg", "GSM 09.02 §14.7.6" {
        StoredMsisdn = "storedMSISDN", IsdnAddressString, optional;
        MwStatus = "mw-Status", MwStatus, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReadyForSmArg = "ReadyForSM-Arg", "GSM 09.02 §14.7.6" {
        Imsi = "imsi", Imsi [0];
        AlertReason = "alertReason", AlertReason;
        ...
    }
}

ber::sequence! {
    pub enum RegisterSsArg = "RegisterSS-Arg", "GSM 09.02 §14.7.4" {
        SsCode = "ss-Code", SsCode;
        BasicService = "basicService", BasicServiceCode, optional;
        ForwardedToNumber = "forwardedToNumber", AddressString [4], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [6], optional;
        NoReplyConditionTime = "noReplyConditionTime", NoReplyConditionTime [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum SsForBsCode = "SS-ForBS-Code", "GSM 09.02 §14.7.4" {
        SsCode = "ss-Code", SsCode;
        BasicService = "basicService", BasicServiceCode, optional;
        ...
    }
}

ber::sequence! {
    pub enum CliRestrictionInfo = "Cli-RestrictionInfo", "GSM 09.02 §14.7.4" {
        SsStatus = "ss-Status", SsStatus;
        CliRestrictionOption = "cliRestrictionOption", CliRestrictionOption, optional;
        ...
    }
}

ber::choice! {
    pub enum InterrogateSsRes = "InterrogateSS-Res", "GSM 09.02 §14.7.4" {
        SsStatus = "ss-Status", SsStatus [0];
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [1];
        BasicServiceGroupList = "basicServiceGroupList", BasicServiceGroupList [2];
        ForwardingFeatureList = "forwardingFeatureList", ForwardingFeatureList [3];
        CliRestrictionInfo = "cli-RestrictionInfo", CliRestrictionInfo [4];
    }
}

ber::named! {
    pub SsUserData = "SS-UserData", "GSM 09.02 §14.7.4", Ia5String<1, 200>;
}

ber::sequence! {
    pub enum UssdArg = "USSD-Arg", "GSM 09.02 §14.7.4" {
        UssdDataCodingScheme = "ussd-DataCodingScheme", UssdDataCodingScheme;
        UssdString = "ussd-String", UssdString;
        ...
    }
}

ber::enumerated! {
    pub enum GuidanceInfo: "GuidanceInfo", "GSM 09.02 §14.7.4" {
        EnterPw = 0, "enterPW";
        EnterNewPw = 1, "enterNewPW";
        EnterNewPwAgain = 2, "enterNewPW-Again";
        BadPwTryAgain = 3, "badPW-TryAgain";
        BadPwFormatTryAgain = 4, "badPW-FormatTryAgain";
    }
}

ber::sequence! {
    pub enum BeginSubscriberActivityArg = "BeginSubscriberActivityArg", "GSM 09.02 §14.7.4" {
        Imsi = "imsi", Imsi;
        OriginatingEntityNumber = "originatingEntityNumber", IsdnAddressString;
    }
}

ber::named! {
    pub MwdSet = "Mwd-Set", "GSM 09.02 §14.6.6", Boolean;
}

ber::sequence! {
    pub enum SmDeliveryFailureCauseWithDiagnostic =
        "SM-DeliveryFailureCauseWithDiagnostic", "GSM 09.02 §14.7.7" {
        SmEnumeratedDeliveryFailureCause =
            "sm-EnumeratedDeliveryFailureCause", SmEnumeratedDeliveryFailureCause;
        DiagnosticInfo = "diagnosticInfo", SignalInfo, optional;
        ...
    }
}

ber::choice! {
    pub enum SmDeliveryFailureCause = "SM-DeliveryFailureCause", "GSM 09.02 §14.7.7" {
        SmDeliveryFailureCauseWithDiagnostic =
            "sm-DeliveryFailureCauseWithDiagnostic", SmDeliveryFailureCauseWithDiagnostic;
        SmEnumeratedDeliveryFailureCause =
            "sm-EnumeratedDeliveryFailureCause", SmEnumeratedDeliveryFailureCause;
    }
}
