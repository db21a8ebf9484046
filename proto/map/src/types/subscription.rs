//! Subscriber data, inserted and deleted (TS 29.002 §17.7.1).

use super::authentication::UeUsageType;
use super::camel::{
    ChargingCharacteristics, LcsInformation, OfferedCamel4CsIs, SgsnCamelSubscriptionInfo,
    SpecificCsiWithdraw, SupportedCamelPhases, VlrCamelSubscriptionInfo,
};
use super::identities::{
    DiameterIdentity, EmlppInfo, ExtBasicServiceCode, ExtBearerServiceCode, ExtSsStatus,
    ExtTeleserviceCode, ExtensionContainer, FtnAddressString, Imsi, IsdnAddressString,
    IsdnSubaddressString, McSsInfo, NaeaPreferredCi, PlmnId, SsCode,
};
use super::packet::{
    AccessRestrictionData, AdjacentAccessRestrictionDataList, AgeIndicator,
    CsgSubscriptionDataList, EdrxCycleLengthList, EpsSubscriptionData, EpsSubscriptionDataWithdraw,
    ExtAccessRestrictionData, ExtSupportedFeatures, GprsSubscriptionData,
    GprsSubscriptionDataWithdraw, LsaInformation, LsaInformationWithdraw, SupportedFeatures,
    VplmnCsgSubscriptionDataList,
};
use super::supplementary::{Password, SsList, SsSubscriptionOption};
use ber::{BitString, Boolean, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub CugInterlock = "CUG-Interlock", "TS 29.002 §17.7.1", OctetString<4, 4>;
    pub IstAlertTimerValue = "IST-AlertTimerValue", "TS 29.002 §17.7.1", Integer<15, 255>;
    pub AdditionalInfo = "AdditionalInfo", "TS 29.002 §17.7.1", BitString<1, 136>;
    pub LongGroupId = "Long-GroupId", "TS 29.002 §17.7.1", OctetString<4, 4>;
    pub AdditionalSubscriptions = "AdditionalSubscriptions", "TS 29.002 §17.7.1", BitString<3, 8>;
    pub ExtForwOptions = "Ext-ForwOptions", "TS 29.002 §17.7.1", OctetString<1, 5>;
    pub ExtNoRepCondTime = "Ext-NoRepCondTime", "TS 29.002 §17.7.1", Integer<1, 100>;
}

ber::sequence! {
    pub enum ExtForwFeature = "Ext-ForwFeature", "TS 29.002 §17.7.1" {
        BasicService = "basicService", ExtBasicServiceCode, optional;
        SsStatus = "ss-Status", ExtSsStatus [4];
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [5], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [8], optional;
        ForwardingOptions = "forwardingOptions", ExtForwOptions [6], optional;
        NoReplyConditionTime = "noReplyConditionTime", ExtNoRepCondTime [7], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [9], optional;
        LongForwardedToNumber = "longForwardedToNumber", FtnAddressString [10], optional;
        ...
    }
}

ber::named! {
    pub ExtForwFeatureList =
        "Ext-ForwFeatureList", "TS 29.002 §17.7.1",
        SequenceOf<ExtForwFeature, 1, 32>;
}

ber::sequence! {
    pub enum ExtCallBarringFeature = "Ext-CallBarringFeature", "TS 29.002 §17.7.1" {
        BasicService = "basicService", ExtBasicServiceCode, optional;
        SsStatus = "ss-Status", ExtSsStatus [4];
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub ExtCallBarFeatureList =
        "Ext-CallBarFeatureList", "TS 29.002 §17.7.1",
        SequenceOf<ExtCallBarringFeature, 1, 32>;
    pub WrongPasswordAttemptsCounter =
        "WrongPasswordAttemptsCounter", "TS 29.002 §17.7.1",
        Integer<0, 4>;
    pub OdbGeneralData = "ODB-GeneralData", "TS 29.002 §17.7.1", BitString<15, 32>;
    pub OdbHplmnData = "ODB-HPLMN-Data", "TS 29.002 §17.7.1", BitString<4, 32>;
}

ber::sequence! {
    pub enum OdbData = "ODB-Data", "TS 29.002 §17.7.1" {
        OdbGeneralData = "odb-GeneralData", OdbGeneralData;
        OdbHplmnData = "odb-HPLMN-Data", OdbHplmnData, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub BasicServiceList =
        "BasicServiceList", "TS 29.002 §17.7.1",
        SequenceOf<ExtBasicServiceCode, 1, 70>;
}

ber::sequence! {
    pub enum ExtCwFeature = "Ext-CwFeature", "TS 29.002 §17.7.1" {
        BasicService = "basicService", ExtBasicServiceCode [1];
        SsStatus = "ss-Status", ExtSsStatus [2];
        ...
    }
}

ber::named! {
    pub ExtCwFeatureList =
        "Ext-CwFeatureList", "TS 29.002 §17.7.1",
        SequenceOf<ExtCwFeature, 1, 32>;
}

ber::sequence! {
    pub enum ExtForwardingInfoForCse = "Ext-ForwardingInfoFor-CSE", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode [0];
        ForwardingFeatureList = "forwardingFeatureList", ExtForwFeatureList [1];
        NotificationToCse = "notificationToCSE", Null [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ExtCallBarringInfoForCse = "Ext-CallBarringInfoFor-CSE", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode [0];
        CallBarringFeatureList = "callBarringFeatureList", ExtCallBarFeatureList [1];
        Password = "password", Password [2], optional;
        WrongPasswordAttemptsCounter =
            "wrongPasswordAttemptsCounter", WrongPasswordAttemptsCounter [3], optional;
        NotificationToCse = "notificationToCSE", Null [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        ...
    }
}

ber::choice! {
    pub enum ExtSsInfoForCse = "Ext-SS-InfoFor-CSE", "TS 29.002 §17.7.1" {
        ForwardingInfoForCse = "forwardingInfoFor-CSE", ExtForwardingInfoForCse [0];
        CallBarringInfoForCse = "callBarringInfoFor-CSE", ExtCallBarringInfoForCse [1];
    }
}

ber::named! {
    pub ServingNode = "ServingNode", "TS 29.002 §17.7.1", BitString<2, 8>;
    pub RabId = "RAB-Id", "TS 29.002 §17.7.1", Integer<1, 255>;
    pub GeranClassmark = "GERAN-Classmark", "TS 29.002 §17.7.1", OctetString<2, 87>;
    pub ZoneCode = "ZoneCode", "TS 29.002 §17.7.1", OctetString<2, 2>;
    pub ZoneCodeList = "ZoneCodeList", "TS 29.002 §17.7.1", SequenceOf<ZoneCode, 1, 10>;
}

ber::sequence! {
    pub enum RelocationNumber = "RelocationNumber", "TS 29.002 §17.7.1" {
        HandoverNumber = "handoverNumber", IsdnAddressString;
        RabId = "rab-Id", RabId;
        ...
    }
}

ber::named! {
    pub RelocationNumberList =
        "RelocationNumberList", "TS 29.002 §17.7.1",
        SequenceOf<RelocationNumber, 1, 7>;
    pub Category = "Category", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum SubscriberStatus: "SubscriberStatus", "TS 29.002 §17.7.1" {
        ServiceGranted = 0, "serviceGranted";
        OperatorDeterminedBarring = 1, "operatorDeterminedBarring";
    }
}

ber::named! {
    pub BearerServiceList =
        "BearerServiceList", "TS 29.002 §17.7.1",
        SequenceOf<ExtBearerServiceCode, 1, 50>;
    pub TeleserviceList =
        "TeleserviceList", "TS 29.002 §17.7.1",
        SequenceOf<ExtTeleserviceCode, 1, 20>;
}

ber::sequence! {
    pub enum ExtForwInfo = "Ext-ForwInfo", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode;
        ForwardingFeatureList = "forwardingFeatureList", ExtForwFeatureList;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum ExtCallBarInfo = "Ext-CallBarInfo", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode;
        CallBarringFeatureList = "callBarringFeatureList", ExtCallBarFeatureList;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub CugIndex = "CUG-Index", "TS 29.002 §17.7.1", Integer<0, 32767>;
}

ber::enumerated! {
    pub enum IntraCugOptions: "IntraCUG-Options", "TS 29.002 §17.7.1" {
        NoCugRestrictions = 0, "noCUG-Restrictions";
        CugIcCallBarred = 1, "cugIC-CallBarred";
        CugOgCallBarred = 2, "cugOG-CallBarred";
    }
}

ber::named! {
    pub ExtBasicServiceGroupList =
        "Ext-BasicServiceGroupList", "TS 29.002 §17.7.1",
        SequenceOf<ExtBasicServiceCode, 1, 32>;
}

ber::sequence! {
    pub enum CugSubscription = "CUG-Subscription", "TS 29.002 §17.7.1" {
        CugIndex = "cug-Index", CugIndex;
        CugInterlock = "cug-Interlock", CugInterlock;
        IntraCugOptions = "intraCUG-Options", IntraCugOptions;
        BasicServiceGroupList = "basicServiceGroupList", ExtBasicServiceGroupList, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::named! {
    pub CugSubscriptionList =
        "CUG-SubscriptionList", "TS 29.002 §17.7.1",
        SequenceOf<CugSubscription, 0, 10>;
    pub InterCugRestrictions = "InterCUG-Restrictions", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum CugFeature = "CUG-Feature", "TS 29.002 §17.7.1" {
        BasicService = "basicService", ExtBasicServiceCode, optional;
        PreferentialCugIndicator = "preferentialCUG-Indicator", CugIndex, optional;
        InterCugRestrictions = "interCUG-Restrictions", InterCugRestrictions;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub CugFeatureList = "CUG-FeatureList", "TS 29.002 §17.7.1", SequenceOf<CugFeature, 1, 32>;
}

ber::sequence! {
    pub enum CugInfo = "CUG-Info", "TS 29.002 §17.7.1" {
        CugSubscriptionList = "cug-SubscriptionList", CugSubscriptionList;
        CugFeatureList = "cug-FeatureList", CugFeatureList, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum ExtSsData = "Ext-SS-Data", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode;
        SsStatus = "ss-Status", ExtSsStatus [4];
        SsSubscriptionOption = "ss-SubscriptionOption", SsSubscriptionOption, optional;
        BasicServiceGroupList = "basicServiceGroupList", ExtBasicServiceGroupList, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        ...
    }
}

ber::choice! {
    pub enum ExtSsInfo = "Ext-SS-Info", "TS 29.002 §17.7.1" {
        ForwardingInfo = "forwardingInfo", ExtForwInfo [0];
        CallBarringInfo = "callBarringInfo", ExtCallBarInfo [1];
        CugInfo = "cug-Info", CugInfo [2];
        SsData = "ss-Data", ExtSsData [3];
        EmlppInfo = "emlpp-Info", EmlppInfo [4];
    }
}

ber::named! {
    pub ExtSsInfoList = "Ext-SS-InfoList", "TS 29.002 §17.7.1", SequenceOf<ExtSsInfo, 1, 30>;
    pub GroupId = "GroupId", "TS 29.002 §17.7.1", OctetString<3, 3>;
}

ber::sequence! {
    pub enum VoiceBroadcastData = "VoiceBroadcastData", "TS 29.002 §17.7.1" {
        Groupid = "groupid", GroupId;
        BroadcastInitEntitlement = "broadcastInitEntitlement", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        LongGroupId = "longGroupId", LongGroupId [0], optional;
        ...
    }
}

ber::named! {
    pub VbsDataList = "VBSDataList", "TS 29.002 §17.7.1", SequenceOf<VoiceBroadcastData, 1, 50>;
}

ber::sequence! {
    pub enum VoiceGroupCallData = "VoiceGroupCallData", "TS 29.002 §17.7.1" {
        GroupId = "groupId", GroupId;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AdditionalSubscriptions = "additionalSubscriptions", AdditionalSubscriptions, optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [0], optional;
        LongGroupId = "longGroupId", LongGroupId [1], optional;
        ...
    }
}

ber::named! {
    pub VgcsDataList = "VGCSDataList", "TS 29.002 §17.7.1", SequenceOf<VoiceGroupCallData, 1, 50>;
}

ber::enumerated! {
    pub enum NetworkAccessMode: "NetworkAccessMode", "TS 29.002 §17.7.1" {
        PacketAndCircuit = 0, "packetAndCircuit";
        OnlyCircuit = 1, "onlyCircuit";
        OnlyPacket = 2, "onlyPacket";
        ...
    }
}

ber::named! {
    pub CsAllocationRetentionPriority =
        "CS-AllocationRetentionPriority", "TS 29.002 §17.7.1",
        OctetString<1, 1>;
    pub SubscribedPeriodicRautaUtimer =
        "SubscribedPeriodicRAUTAUtimer", "TS 29.002 §17.7.1",
        Integer<0, 4294967295>;
    pub SubscribedPeriodicLaUtimer =
        "SubscribedPeriodicLAUtimer", "TS 29.002 §17.7.1",
        Integer<0, 4294967295>;
    pub GroupServiceId = "Group-Service-ID", "TS 29.002 §17.7.1", Integer<0, 4294967295>;
    pub LocalGroupId = "Local-GroupID", "TS 29.002 §17.7.1", OctetString<1, 10>;
}

ber::sequence! {
    pub enum ImsiGroupId = "IMSI-GroupId", "TS 29.002 §17.7.1" {
        GroupServiceId = "group-Service-Id", GroupServiceId [0];
        PlmnId = "plmnId", PlmnId [1];
        LocalGroupId = "local-Group-ID", LocalGroupId [2];
        ...
    }
}

ber::named! {
    pub ImsiGroupIdList = "IMSI-GroupIdList", "TS 29.002 §17.7.1", SequenceOf<ImsiGroupId, 1, 50>;
    pub DlBufferingSuggestedPacketCount =
        "DL-Buffering-Suggested-Packet-Count", "TS 29.002 §17.7.1",
        Integer<{ -1 }, 2147483647>;
    pub ResetId = "Reset-Id", "TS 29.002 §17.7.1", OctetString<1, 4>;
    pub ResetIdList = "Reset-Id-List", "TS 29.002 §17.7.1", SequenceOf<ResetId, 1, 50>;
}

ber::sequence! {
    pub enum InsertSubscriberDataArg = "InsertSubscriberDataArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0], optional;
        Msisdn = "msisdn", IsdnAddressString [1], optional;
        Category = "category", Category [2], optional;
        SubscriberStatus = "subscriberStatus", SubscriberStatus [3], optional;
        BearerServiceList = "bearerServiceList", BearerServiceList [4], optional;
        TeleserviceList = "teleserviceList", TeleserviceList [6], optional;
        ProvisionedSs = "provisionedSS", ExtSsInfoList [7], optional;
        OdbData = "odb-Data", OdbData [8], optional;
        RoamingRestrictionDueToUnsupportedFeature =
            "roamingRestrictionDueToUnsupportedFeature", Null [9], optional;
        RegionalSubscriptionData = "regionalSubscriptionData", ZoneCodeList [10], optional;
        VbsSubscriptionData = "vbsSubscriptionData", VbsDataList [11], optional;
        VgcsSubscriptionData = "vgcsSubscriptionData", VgcsDataList [12], optional;
        VlrCamelSubscriptionInfo =
            "vlrCamelSubscriptionInfo", VlrCamelSubscriptionInfo [13], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [14], optional;
        NaeaPreferredCi = "naea-PreferredCI", NaeaPreferredCi [15], optional;
        GprsSubscriptionData = "gprsSubscriptionData", GprsSubscriptionData [16], optional;
        RoamingRestrictedInSgsnDueToUnsupportedFeature =
            "roamingRestrictedInSgsnDueToUnsupportedFeature", Null [23], optional;
        NetworkAccessMode = "networkAccessMode", NetworkAccessMode [24], optional;
        LsaInformation = "lsaInformation", LsaInformation [25], optional;
        LmuIndicator = "lmu-Indicator", Null [21], optional;
        LcsInformation = "lcsInformation", LcsInformation [22], optional;
        IstAlertTimer = "istAlertTimer", IstAlertTimerValue [26], optional;
        SuperChargerSupportedInHlr = "superChargerSupportedInHLR", AgeIndicator [27], optional;
        McSsInfo = "mc-SS-Info", McSsInfo [28], optional;
        CsAllocationRetentionPriority =
            "cs-AllocationRetentionPriority", CsAllocationRetentionPriority [29], optional;
        SgsnCamelSubscriptionInfo =
            "sgsn-CAMEL-SubscriptionInfo", SgsnCamelSubscriptionInfo [17], optional;
        ChargingCharacteristics =
            "chargingCharacteristics", ChargingCharacteristics [18], optional;
        AccessRestrictionData = "accessRestrictionData", AccessRestrictionData [19], optional;
        IcsIndicator = "ics-Indicator", Boolean [20], optional;
        EpsSubscriptionData = "eps-SubscriptionData", EpsSubscriptionData [31], optional;
        CsgSubscriptionDataList =
            "csg-SubscriptionDataList", CsgSubscriptionDataList [32], optional;
        UeReachabilityRequestIndicator = "ue-ReachabilityRequestIndicator", Null [33], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [34], optional;
        MmeName = "mme-Name", DiameterIdentity [35], optional;
        SubscribedPeriodicRautaUtimer =
            "subscribedPeriodicRAUTAUtimer", SubscribedPeriodicRautaUtimer [36], optional;
        VplmnLipaAllowed = "vplmnLIPAAllowed", Null [37], optional;
        MdtUserConsent = "mdtUserConsent", Boolean [38], optional;
        SubscribedPeriodicLaUtimer =
            "subscribedPeriodicLAUtimer", SubscribedPeriodicLaUtimer [39], optional;
        VplmnCsgSubscriptionDataList =
            "vplmn-Csg-SubscriptionDataList", VplmnCsgSubscriptionDataList [40], optional;
        AdditionalMsisdn = "additionalMSISDN", IsdnAddressString [41], optional;
        PsAndSmsOnlyServiceProvision = "psAndSMS-OnlyServiceProvision", Null [42], optional;
        SmsInSgsnAllowed = "smsInSGSNAllowed", Null [43], optional;
        CsToPsSrvccAllowedIndicator = "cs-to-ps-SRVCC-Allowed-Indicator", Null [44], optional;
        PcscfRestorationRequest = "pcscf-Restoration-Request", Null [45], optional;
        AdjacentAccessRestrictionDataList =
            "adjacentAccessRestrictionDataList", AdjacentAccessRestrictionDataList [46], optional;
        ImsiGroupIdList = "imsi-Group-Id-List", ImsiGroupIdList [47], optional;
        UeUsageType = "ueUsageType", UeUsageType [48], optional;
        UserPlaneIntegrityProtectionIndicator =
            "userPlaneIntegrityProtectionIndicator", Null [49], optional;
        DlBufferingSuggestedPacketCount =
            "dl-Buffering-Suggested-Packet-Count", DlBufferingSuggestedPacketCount [50], optional;
        ResetIdList = "reset-Id-List", ResetIdList [51], optional;
        EDrxCycleLengthList = "eDRX-Cycle-Length-List", EdrxCycleLengthList [52], optional;
        ExtAccessRestrictionData =
            "ext-AccessRestrictionData", ExtAccessRestrictionData [53], optional;
        IabOperationAllowedIndicator = "iab-Operation-Allowed-Indicator", Null [54], optional;
        ...
    }
}

ber::enumerated! {
    pub enum RegionalSubscriptionResponse: "RegionalSubscriptionResponse", "TS 29.002 §17.7.1" {
        NetworkNodeAreaRestricted = 0, "networkNode-AreaRestricted";
        TooManyZoneCodes = 1, "tooManyZoneCodes";
        ZoneCodesConflict = 2, "zoneCodesConflict";
        RegionalSubscNotSupported = 3, "regionalSubscNotSupported";
    }
}

ber::sequence! {
    pub enum InsertSubscriberDataRes = "InsertSubscriberDataRes", "TS 29.002 §17.7.1" {
        TeleserviceList = "teleserviceList", TeleserviceList [1], optional;
        BearerServiceList = "bearerServiceList", BearerServiceList [2], optional;
        SsList = "ss-List", SsList [3], optional;
        OdbGeneralData = "odb-GeneralData", OdbGeneralData [4], optional;
        RegionalSubscriptionResponse =
            "regionalSubscriptionResponse", RegionalSubscriptionResponse [5], optional;
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [7], optional;
        OfferedCamel4CsIs = "offeredCamel4CSIs", OfferedCamel4CsIs [8], optional;
        SupportedFeatures = "supportedFeatures", SupportedFeatures [9], optional;
        ExtSupportedFeatures = "ext-SupportedFeatures", ExtSupportedFeatures [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeleteSubscriberDataArg = "DeleteSubscriberDataArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        BasicServiceList = "basicServiceList", BasicServiceList [1], optional;
        SsList = "ss-List", SsList [2], optional;
        RoamingRestrictionDueToUnsupportedFeature =
            "roamingRestrictionDueToUnsupportedFeature", Null [4], optional;
        RegionalSubscriptionIdentifier = "regionalSubscriptionIdentifier", ZoneCode [5], optional;
        VbsGroupIndication = "vbsGroupIndication", Null [7], optional;
        VgcsGroupIndication = "vgcsGroupIndication", Null [8], optional;
        CamelSubscriptionInfoWithdraw = "camelSubscriptionInfoWithdraw", Null [9], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        GprsSubscriptionDataWithdraw =
            "gprsSubscriptionDataWithdraw", GprsSubscriptionDataWithdraw [10], optional;
        RoamingRestrictedInSgsnDueToUnsuppportedFeature =
            "roamingRestrictedInSgsnDueToUnsuppportedFeature", Null [11], optional;
        LsaInformationWithdraw = "lsaInformationWithdraw", LsaInformationWithdraw [12], optional;
        GmlcListWithdraw = "gmlc-ListWithdraw", Null [13], optional;
        IstInformationWithdraw = "istInformationWithdraw", Null [14], optional;
        SpecificCsiWithdraw = "specificCSI-Withdraw", SpecificCsiWithdraw [15], optional;
        ChargingCharacteristicsWithdraw = "chargingCharacteristicsWithdraw", Null [16], optional;
        StnSrWithdraw = "stn-srWithdraw", Null [17], optional;
        EpsSubscriptionDataWithdraw =
            "epsSubscriptionDataWithdraw", EpsSubscriptionDataWithdraw [18], optional;
        ApnOiReplacementWithdraw = "apn-oi-replacementWithdraw", Null [19], optional;
        CsgSubscriptionDeleted = "csg-SubscriptionDeleted", Null [20], optional;
        SubscribedPeriodicTauRauTimerWithdraw =
            "subscribedPeriodicTAU-RAU-TimerWithdraw", Null [22], optional;
        SubscribedPeriodicLauTimerWithdraw =
            "subscribedPeriodicLAU-TimerWithdraw", Null [23], optional;
        SubscribedVsrvccWithdraw = "subscribed-vsrvccWithdraw", Null [21], optional;
        VplmnCsgSubscriptionDeleted = "vplmn-Csg-SubscriptionDeleted", Null [24], optional;
        AdditionalMsisdnWithdraw = "additionalMSISDN-Withdraw", Null [25], optional;
        CsToPsSrvccWithdraw = "cs-to-ps-SRVCC-Withdraw", Null [26], optional;
        ImsiGroupIdListWithdraw = "imsiGroupIdList-Withdraw", Null [27], optional;
        UserPlaneIntegrityProtectionWithdraw =
            "userPlaneIntegrityProtectionWithdraw", Null [28], optional;
        DlBufferingSuggestedPacketCountWithdraw =
            "dl-Buffering-Suggested-Packet-Count-Withdraw", Null [29], optional;
        UeUsageTypeWithdraw = "ue-UsageTypeWithdraw", Null [30], optional;
        ResetIdsWithdraw = "reset-idsWithdraw", Null [31], optional;
        IabOperationWithdraw = "iab-OperationWithdraw", Null [32], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeleteSubscriberDataRes = "DeleteSubscriberDataRes", "TS 29.002 §17.7.1" {
        RegionalSubscriptionResponse =
            "regionalSubscriptionResponse", RegionalSubscriptionResponse [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::choice! {
    pub enum SendingNodeNumber = "SendingNode-Number", "TS 29.002 §17.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        CssNumber = "css-Number", IsdnAddressString [1];
    }
}
