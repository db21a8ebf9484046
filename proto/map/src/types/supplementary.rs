//! Supplementary services and USSD (TS 29.002 §17.7.4).

use super::identities::{
    AddressString, AlertingPattern, BasicServiceCode, EmlppPriority, ExtensionContainer,
    ExternalSignalInfo, FtnAddressString, Imsi, IsdnAddressString, IsdnSubaddressString,
    MaxMcBearers, McBearers, SsCode,
};
use ber::{BitString, Integer, Null, NumericString, OctetString, SequenceOf};

ber::named! {
    pub ForwardingOptions = "ForwardingOptions", "TS 29.002 §17.7.4", OctetString<1, 1>;
    pub SsList = "SS-List", "TS 29.002 §17.7.4", SequenceOf<SsCode, 1, 30>;
    pub CcbsIndex = "CCBS-Index", "TS 29.002 §17.7.4", Integer<1, 5>;
}

ber::sequence! {
    pub enum CcbsFeature = "CCBS-Feature", "TS 29.002 §17.7.4" {
        CcbsIndex = "ccbs-Index", CcbsIndex [0], optional;
        BSubscriberNumber = "b-subscriberNumber", IsdnAddressString [1], optional;
        BSubscriberSubaddress = "b-subscriberSubaddress", IsdnSubaddressString [2], optional;
        BasicServiceGroup = "basicServiceGroup", BasicServiceCode [3], optional;
        ...
    }
}

ber::named! {
    pub UssdDataCodingScheme = "USSD-DataCodingScheme", "TS 29.002 §17.7.4", OctetString<1, 1>;
}

ber::sequence! {
    pub enum SsForBsCode = "SS-ForBS-Code", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode;
        BasicService = "basicService", BasicServiceCode, optional;
        LongFtnSupported = "longFTN-Supported", Null [4], optional;
        ...
    }
}

ber::named! {
    pub Password = "Password", "TS 29.002 §17.7.4", NumericString<4, 4>;
}

ber::enumerated! {
    pub enum OverrideCategory: "OverrideCategory", "TS 29.002 §17.7.4" {
        OverrideEnabled = 0, "overrideEnabled";
        OverrideDisabled = 1, "overrideDisabled";
    }
}

ber::enumerated! {
    pub enum CliRestrictionOption: "CliRestrictionOption", "TS 29.002 §17.7.4" {
        Permanent = 0, "permanent";
        TemporaryDefaultRestricted = 1, "temporaryDefaultRestricted";
        TemporaryDefaultAllowed = 2, "temporaryDefaultAllowed";
    }
}

ber::choice! {
    pub enum SsSubscriptionOption = "SS-SubscriptionOption", "TS 29.002 §17.7.4" {
        CliRestrictionOption = "cliRestrictionOption", CliRestrictionOption [2];
        OverrideCategory = "overrideCategory", OverrideCategory [1];
    }
}

ber::named! {
    pub NoReplyConditionTime = "NoReplyConditionTime", "TS 29.002 §17.7.4", Integer<5, 30>;
}

ber::sequence! {
    pub enum RegisterSsArg = "RegisterSS-Arg", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode;
        BasicService = "basicService", BasicServiceCode, optional;
        ForwardedToNumber = "forwardedToNumber", AddressString [4], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [6], optional;
        NoReplyConditionTime = "noReplyConditionTime", NoReplyConditionTime [5], optional;
        DefaultPriority = "defaultPriority", EmlppPriority [7], optional;
        NbrUser = "nbrUser", McBearers [8], optional;
        LongFtnSupported = "longFTN-Supported", Null [9], optional;
        ...
    }
}

ber::named! {
    pub SsStatus = "SS-Status", "TS 29.002 §17.7.4", OctetString<1, 1>;
}

ber::sequence! {
    pub enum ForwardingFeature = "ForwardingFeature", "TS 29.002 §17.7.4" {
        BasicService = "basicService", BasicServiceCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [5], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [8], optional;
        ForwardingOptions = "forwardingOptions", ForwardingOptions [6], optional;
        NoReplyConditionTime = "noReplyConditionTime", NoReplyConditionTime [7], optional;
        LongForwardedToNumber = "longForwardedToNumber", FtnAddressString [9], optional;
        ...
    }
}

ber::named! {
    pub ForwardingFeatureList =
        "ForwardingFeatureList", "TS 29.002 §17.7.4",
        SequenceOf<ForwardingFeature, 1, 13>;
}

ber::sequence! {
    pub enum ForwardingInfo = "ForwardingInfo", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode, optional;
        ForwardingFeatureList = "forwardingFeatureList", ForwardingFeatureList;
        ...
    }
}

ber::sequence! {
    pub enum CallBarringFeature = "CallBarringFeature", "TS 29.002 §17.7.4" {
        BasicService = "basicService", BasicServiceCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        ...
    }
}

ber::named! {
    pub CallBarringFeatureList =
        "CallBarringFeatureList", "TS 29.002 §17.7.4",
        SequenceOf<CallBarringFeature, 1, 13>;
}

ber::sequence! {
    pub enum CallBarringInfo = "CallBarringInfo", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode, optional;
        CallBarringFeatureList = "callBarringFeatureList", CallBarringFeatureList;
        ...
    }
}

ber::named! {
    pub BasicServiceGroupList =
        "BasicServiceGroupList", "TS 29.002 §17.7.4",
        SequenceOf<BasicServiceCode, 1, 13>;
}

ber::sequence! {
    pub enum SsData = "SS-Data", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode, optional;
        SsStatus = "ss-Status", SsStatus [4], optional;
        SsSubscriptionOption = "ss-SubscriptionOption", SsSubscriptionOption, optional;
        BasicServiceGroupList = "basicServiceGroupList", BasicServiceGroupList, optional;
        DefaultPriority = "defaultPriority", EmlppPriority, optional;
        NbrUser = "nbrUser", McBearers [5], optional;
        ...
    }
}

ber::choice! {
    pub enum SsInfo = "SS-Info", "TS 29.002 §17.7.4" {
        ForwardingInfo = "forwardingInfo", ForwardingInfo [0];
        CallBarringInfo = "callBarringInfo", CallBarringInfo [1];
        SsData = "ss-Data", SsData [3];
    }
}

ber::named! {
    pub CcbsFeatureList = "CCBS-FeatureList", "TS 29.002 §17.7.4", SequenceOf<CcbsFeature, 1, 5>;
}

ber::sequence! {
    pub enum GenericServiceInfo = "GenericServiceInfo", "TS 29.002 §17.7.4" {
        SsStatus = "ss-Status", SsStatus;
        CliRestrictionOption = "cliRestrictionOption", CliRestrictionOption, optional;
        MaximumEntitledPriority = "maximumEntitledPriority", EmlppPriority [0], optional;
        DefaultPriority = "defaultPriority", EmlppPriority [1], optional;
        CcbsFeatureList = "ccbs-FeatureList", CcbsFeatureList [2], optional;
        NbrSb = "nbrSB", MaxMcBearers [3], optional;
        NbrUser = "nbrUser", McBearers [4], optional;
        NbrSn = "nbrSN", McBearers [5], optional;
        ...
    }
}

ber::choice! {
    pub enum InterrogateSsRes = "InterrogateSS-Res", "TS 29.002 §17.7.4" {
        SsStatus = "ss-Status", SsStatus [0];
        BasicServiceGroupList = "basicServiceGroupList", BasicServiceGroupList [2];
        ForwardingFeatureList = "forwardingFeatureList", ForwardingFeatureList [3];
        GenericServiceInfo = "genericServiceInfo", GenericServiceInfo [4];
    }
}

ber::named! {
    pub UssdString = "USSD-String", "TS 29.002 §17.7.4", OctetString<1, 160>;
}

ber::sequence! {
    pub enum UssdArg = "USSD-Arg", "TS 29.002 §17.7.4" {
        UssdDataCodingScheme = "ussd-DataCodingScheme", UssdDataCodingScheme;
        UssdString = "ussd-String", UssdString;
        AlertingPattern = "alertingPattern", AlertingPattern, optional;
        Msisdn = "msisdn", IsdnAddressString [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum UssdRes = "USSD-Res", "TS 29.002 §17.7.4" {
        UssdDataCodingScheme = "ussd-DataCodingScheme", UssdDataCodingScheme;
        UssdString = "ussd-String", UssdString;
        ...
    }
}

ber::enumerated! {
    pub enum GuidanceInfo: "GuidanceInfo", "TS 29.002 §17.7.4" {
        EnterPw = 0, "enterPW";
        EnterNewPw = 1, "enterNewPW";
        EnterNewPwAgain = 2, "enterNewPW-Again";
    }
}

ber::named! {
    pub SsEventSpecification =
        "SS-EventSpecification", "TS 29.002 §17.7.4",
        SequenceOf<AddressString, 1, 2>;
}

ber::enumerated! {
    pub enum CcbsRequestState: "CCBS-RequestState", "TS 29.002 §17.7.4" {
        Request = 0, "request";
        Recall = 1, "recall";
        Active = 2, "active";
        Completed = 3, "completed";
        Suspended = 4, "suspended";
        Frozen = 5, "frozen";
        Deleted = 6, "deleted";
    }
}

ber::sequence! {
    pub enum SsInvocationNotificationArg = "SS-InvocationNotificationArg", "TS 29.002 §17.7.4" {
        Imsi = "imsi", Imsi [0];
        Msisdn = "msisdn", IsdnAddressString [1];
        SsEvent = "ss-Event", SsCode [2];
        SsEventSpecification = "ss-EventSpecification", SsEventSpecification [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        BSubscriberNumber = "b-subscriberNumber", IsdnAddressString [5], optional;
        CcbsRequestState = "ccbs-RequestState", CcbsRequestState [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum SsInvocationNotificationRes = "SS-InvocationNotificationRes", "TS 29.002 §17.7.4" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub ServiceIndicator = "ServiceIndicator", "TS 29.002 §17.7.4", BitString<2, 32>;
}

ber::sequence! {
    pub enum CcbsData = "CCBS-Data", "TS 29.002 §17.7.4" {
        CcbsFeature = "ccbs-Feature", CcbsFeature [0];
        TranslatedBNumber = "translatedB-Number", IsdnAddressString [1];
        ServiceIndicator = "serviceIndicator", ServiceIndicator [2], optional;
        CallInfo = "callInfo", ExternalSignalInfo [3];
        NetworkSignalInfo = "networkSignalInfo", ExternalSignalInfo [4];
        ...
    }
}

ber::sequence! {
    pub enum RegisterCcEntryArg = "RegisterCC-EntryArg", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode [0];
        CcbsData = "ccbs-Data", CcbsData [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum RegisterCcEntryRes = "RegisterCC-EntryRes", "TS 29.002 §17.7.4" {
        CcbsFeature = "ccbs-Feature", CcbsFeature [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum EraseCcEntryArg = "EraseCC-EntryArg", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode [0];
        CcbsIndex = "ccbs-Index", CcbsIndex [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum EraseCcEntryRes = "EraseCC-EntryRes", "TS 29.002 §17.7.4" {
        SsCode = "ss-Code", SsCode [0];
        SsStatus = "ss-Status", SsStatus [1], optional;
        ...
    }
}
