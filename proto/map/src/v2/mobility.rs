//! Mobility services (GSM 09.02 §14.7).

use super::services::{
    BasicServiceList, BearerServiceList, ExternalSignalInfo, LocationInfo, SsInfoList,
    SubscriberId, TeleserviceList,
};
use crate::types::{
    Category, GlobalCellId, HlrList, Imsi, ImsiWithLmsi, IsdnAddressString, Kc, Lmsi,
    NetworkResource, Rand, Sres, SsList, SubscriberStatus, ZoneCode, ZoneCodeList,
};
use ber::{BitString, Null, OctetString, SequenceOf};

ber::sequence! {
    pub enum UpdateLocationArg = "UpdateLocationArg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi;
        LocationInfo = "locationInfo", LocationInfo;
        VlrNumber = "vlr-Number", IsdnAddressString;
        Lmsi = "lmsi", Lmsi [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum ExtensibleUpdateLocationRes = "ExtensibleUpdateLocationRes", "GSM 09.02 §14.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        ...
    }
}

ber::choice! {
    pub enum UpdateLocationRes = "UpdateLocationRes", "GSM 09.02 §14.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        ExtensibleUpdateLocationRes = "extensibleUpdateLocationRes", ExtensibleUpdateLocationRes;
    }
}

ber::choice! {
    pub enum CancelLocationArg = "CancelLocationArg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi;
        ImsiWithLmsi = "imsi-WithLMSI", ImsiWithLmsi;
    }
}

ber::sequence! {
    pub enum PurgeMsArg = "PurgeMS-Arg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi;
        VlrNumber = "vlr-Number", IsdnAddressString;
        ...
    }
}

ber::sequence! {
    pub enum AuthenticationSet = "AuthenticationSet", "GSM 09.02 §14.7.1" {
        Rand = "rand", Rand;
        Sres = "sres", Sres;
        Kc = "kc", Kc;
        ...
    }
}

ber::named! {
    pub AuthenticationSetList =
        "AuthenticationSetList", "GSM 09.02 §14.7.1",
        SequenceOf<AuthenticationSet, 1, 5>;
}

ber::sequence! {
    pub enum SendIdentificationRes = "SendIdentificationRes", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi;
        AuthenticationSetList = "authenticationSetList", AuthenticationSetList, optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareHoArg = "PrepareHO-Arg", "GSM 09.02 §14.7.1" {
        TargetCellId = "targetCellId", GlobalCellId, optional;
        HoNumberNotRequired = "ho-NumberNotRequired", Null, optional;
        BssApdu = "bss-APDU", ExternalSignalInfo, optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareHoRes = "PrepareHO-Res", "GSM 09.02 §14.7.1" {
        HandoverNumber = "handoverNumber", IsdnAddressString, optional;
        BssApdu = "bss-APDU", ExternalSignalInfo, optional;
        ...
    }
}

ber::named! {
    pub ChannelType = "ChannelType", "GSM 09.02 §14.7.1", OctetString<1, 10>;
    pub ClassmarkInfo = "ClassmarkInfo", "GSM 09.02 §14.7.1", OctetString<1, 2>;
    pub HandoverPriority = "HandoverPriority", "GSM 09.02 §14.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum PerformHoArg = "PerformHO-Arg", "GSM 09.02 §14.7.1" {
        TargetCellId = "targetCellId", GlobalCellId;
        ServingCellId = "servingCellId", GlobalCellId;
        ChannelType = "channelType", ChannelType;
        ClassmarkInfo = "classmarkInfo", ClassmarkInfo;
        HandoverPriority = "handoverPriority", HandoverPriority [11], optional;
        Kc = "kc", Kc [12], optional;
    }
}

ber::sequence! {
    pub enum PerformHoRes = "PerformHO-Res", "GSM 09.02 §14.7.1" {
        HandoverNumber = "handoverNumber", IsdnAddressString;
        AccessSignalInfo = "accessSignalInfo", ExternalSignalInfo;
    }
}

ber::sequence! {
    pub enum PrepareSubsequentHoArg = "PrepareSubsequentHO-Arg", "GSM 09.02 §14.7.1" {
        TargetCellId = "targetCellId", GlobalCellId;
        TargetMscNumber = "targetMSC-Number", IsdnAddressString;
        BssApdu = "bss-APDU", ExternalSignalInfo;
        ...
    }
}

ber::sequence! {
    pub enum PerformSubsequentHoArg = "PerformSubsequentHO-Arg", "GSM 09.02 §14.7.1" {
        TargetCellId = "targetCellId", GlobalCellId;
        ServingCellId = "servingCellId", GlobalCellId;
        TargetMscNumber = "targetMSC-Number", IsdnAddressString;
        ClassmarkInfo = "classmarkInfo", ClassmarkInfo [10], optional;
    }
}

ber::named! {
    pub SendAuthenticationInfoArg =
        "SendAuthenticationInfoArg", "GSM 09.02 §14.7.1",
        OctetString<3, 8>;
    pub SendAuthenticationInfoRes =
        "SendAuthenticationInfoRes", "GSM 09.02 §14.7.1",
        SequenceOf<AuthenticationSet, 1, 5>;
}

ber::enumerated! {
    pub enum RequestParameter: "RequestParameter", "GSM 09.02 §14.7.1" {
        RequestImsi = 0, "requestIMSI";
        RequestAuthenticationSet = 1, "requestAuthenticationSet";
        RequestSubscriberData = 2, "requestSubscriberData";
        RequestKi = 4, "requestKi";
    }
}

ber::named! {
    pub RequestParameterList =
        "RequestParameterList", "GSM 09.02 §14.7.1",
        SequenceOf<RequestParameter, 1, 2>;
}

ber::sequence! {
    pub enum SendParametersArg = "SendParametersArg", "GSM 09.02 §14.7.1" {
        SubscriberId = "subscriberId", SubscriberId;
        RequestParameterList = "requestParameterList", RequestParameterList;
    }
}

ber::named! {
    pub OdbGeneralData = "ODB-GeneralData", "GSM 09.02 §14.7.1", BitString<6, 6>;
    pub OdbHplmnData = "ODB-HPLMN-Data", "GSM 09.02 §14.7.1", BitString<4, 4>;
}

ber::sequence! {
    pub enum OdbData = "ODB-Data", "GSM 09.02 §14.7.1" {
        OdbGeneralData = "odb-GeneralData", OdbGeneralData;
        OdbHplmnData = "odb-HPLMN-Data", OdbHplmnData, optional;
        ...
    }
}

ber::sequence! {
    pub enum SubscriberData = "SubscriberData", "GSM 09.02 §14.7.1" {
        Msisdn = "msisdn", IsdnAddressString [1], optional;
        Category = "category", Category [2], optional;
        SubscriberStatus = "subscriberStatus", SubscriberStatus [3], optional;
        BearerServiceList = "bearerServiceList", BearerServiceList [4], optional;
        TeleserviceList = "teleserviceList", TeleserviceList [6], optional;
        ProvisionedSs = "provisionedSS", SsInfoList [7], optional;
        OdbData = "odb-Data", OdbData [8], optional;
        RoamingRestrictionDueToUnsupportedFeature =
            "roamingRestrictionDueToUnsupportedFeature", Null [9], optional;
        RegionalSubscriptionData = "regionalSubscriptionData", ZoneCodeList [10], optional;
    }
}

ber::named! {
    pub Ki = "Ki", "GSM 09.02 §14.7.1", OctetString<16, 16>;
}

ber::choice! {
    pub enum SentParameter = "SentParameter", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi [0];
        AuthenticationSet = "authenticationSet", AuthenticationSet [1];
        SubscriberData = "subscriberData", SubscriberData [2];
        Ki = "ki", Ki [4];
    }
}

ber::named! {
    pub SentParameterList =
        "SentParameterList", "GSM 09.02 §14.7.1",
        SequenceOf<SentParameter, 1, 6>;
}

ber::sequence! {
    pub enum InsertSubscriberDataArg = "InsertSubscriberDataArg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi [0], optional;
        Msisdn = "msisdn", IsdnAddressString [1], optional;
        Category = "category", Category [2], optional;
        SubscriberStatus = "subscriberStatus", SubscriberStatus [3], optional;
        BearerServiceList = "bearerServiceList", BearerServiceList [4], optional;
        TeleserviceList = "teleserviceList", TeleserviceList [6], optional;
        ProvisionedSs = "provisionedSS", SsInfoList [7], optional;
        OdbData = "odb-Data", OdbData [8], optional;
        RoamingRestrictionDueToUnsupportedFeature =
            "roamingRestrictionDueToUnsupportedFeature", Null [9], optional;
        RegionalSubscriptionData = "regionalSubscriptionData", ZoneCodeList [10], optional;
        ...
    }
}

ber::enumerated! {
    pub enum RegionalSubscriptionResponse: "RegionalSubscriptionResponse", "GSM 09.02 §14.7.1" {
        MscAreaRestricted = 0, "msc-AreaRestricted";
        TooManyZoneCodes = 1, "tooManyZoneCodes";
        ZoneCodesConflict = 2, "zoneCodesConflict";
        RegionalSubscNotSupported = 3, "regionalSubscNotSupported";
    }
}

ber::sequence! {
    pub enum InsertSubscriberDataRes = "InsertSubscriberDataRes", "GSM 09.02 §14.7.1" {
        TeleserviceList = "teleserviceList", TeleserviceList [1], optional;
        BearerServiceList = "bearerServiceList", BearerServiceList [2], optional;
        SsList = "ss-List", SsList [3], optional;
        OdbGeneralData = "odb-GeneralData", OdbGeneralData [4], optional;
        RegionalSubscriptionResponse =
            "regionalSubscriptionResponse", RegionalSubscriptionResponse [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeleteSubscriberDataArg = "DeleteSubscriberDataArg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi [0];
        BasicServiceList = "basicServiceList", BasicServiceList [1], optional;
        SsList = "ss-List", SsList [2], optional;
        RoamingRestrictionDueToUnsupportedFeature =
            "roamingRestrictionDueToUnsupportedFeature", Null [4], optional;
        RegionalSubscriptionIdentifier = "regionalSubscriptionIdentifier", ZoneCode [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum DeleteSubscriberDataRes = "DeleteSubscriberDataRes", "GSM 09.02 §14.7.1" {
        RegionalSubscriptionResponse =
            "regionalSubscriptionResponse", RegionalSubscriptionResponse [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResetArg = "ResetArg", "GSM 09.02 §14.7.1" {
        NetworkResource = "networkResource", NetworkResource, optional;
        HlrNumber = "hlr-Number", IsdnAddressString;
        HlrList = "hlr-List", HlrList, optional;
        ...
    }
}

ber::sequence! {
    pub enum RestoreDataArg = "RestoreDataArg", "GSM 09.02 §14.7.1" {
        Imsi = "imsi", Imsi;
        Lmsi = "lmsi", Lmsi, optional;
        ...
    }
}

ber::sequence! {
    pub enum RestoreDataRes = "RestoreDataRes", "GSM 09.02 §14.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        MsNotReachable = "msNotReachable", Null, optional;
        ...
    }
}
