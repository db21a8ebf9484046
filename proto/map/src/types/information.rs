//! What a subscriber is asked after, and what is changed (TS 29.002 §17.7.1).

use super::camel::{
    AdditionalRequestedCamelSubscriptionInfo, CamelSubscriptionInfo, Fqdn, ModificationInstruction,
    ModificationRequestForCsi, OfferedCamel4CsIs, PdpContextInfoList,
    RequestedCamelSubscriptionInfo, SupportedCamelPhases,
};
use super::identities::{
    AddressString, AgeOfLocationInformation, CellGlobalIdOrServiceAreaIdOrLai, EUtranCgi,
    EmlppPriority, ExtBasicServiceCode, ExtSsStatus, ExtensionContainer, GsnAddress, Identity,
    Imei, Imsi, IsdnAddressString, IsdnSubaddressString, LaiFixedLength, Lmsi,
    NetworkNodeDiameterAddress, NrCgi, NrTaId, PlmnId, SsCode, SubscriberIdentity, TaId, Time,
};
use super::location_service::SupportedLcsCapabilitySets;
use super::packet::{
    AddInfo, CsgSubscriptionDataList, EplmnList, GeodeticInformation, GeographicalInformation,
    GprsMsClass, LocationInformationEps, LocationInformationGprs, LsaIdentity,
    ModificationRequestForCsg, SuperChargerInfo, SupportedRatTypes, UsedRatType,
    UserCsgInformation,
};
use super::subscription::{
    BasicServiceList, ExtCallBarFeatureList, ExtCallBarringInfoForCse, ExtCwFeatureList,
    ExtForwFeatureList, ExtForwardingInfoForCse, ExtNoRepCondTime, ExtSsInfoForCse, OdbData,
    ServingNode, WrongPasswordAttemptsCounter,
};
use super::supplementary::{CliRestrictionOption, OverrideCategory, Password, SsForBsCode};
use ber::{BitString, Null, OctetString, SequenceOf};

ber::enumerated! {
    pub enum IstSupportIndicator: "IST-SupportIndicator", "TS 29.002 §17.7.1" {
        BasicIstSupported = 0, "basicISTSupported";
        IstCommandSupported = 1, "istCommandSupported";
        ...
    }
}

ber::named! {
    pub LocationNumber = "LocationNumber", "TS 29.002 §17.7.1", OctetString<2, 10>;
}

ber::sequence! {
    pub enum LocationInformation = "LocationInformation", "TS 29.002 §17.7.1" {
        AgeOfLocationInformation = "ageOfLocationInformation", AgeOfLocationInformation, optional;
        GeographicalInformation =
            "geographicalInformation", GeographicalInformation [0], optional;
        VlrNumber = "vlr-number", IsdnAddressString [1], optional;
        LocationNumber = "locationNumber", LocationNumber [2], optional;
        CellGlobalIdOrServiceAreaIdOrLai =
            "cellGlobalIdOrServiceAreaIdOrLAI", CellGlobalIdOrServiceAreaIdOrLai [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        SelectedLsaId = "selectedLSA-Id", LsaIdentity [5], optional;
        MscNumber = "msc-Number", IsdnAddressString [6], optional;
        GeodeticInformation = "geodeticInformation", GeodeticInformation [7], optional;
        CurrentLocationRetrieved = "currentLocationRetrieved", Null [8], optional;
        SaiPresent = "sai-Present", Null [9], optional;
        LocationInformationEps = "locationInformationEPS", LocationInformationEps [10], optional;
        UserCsgInformation = "userCSGInformation", UserCsgInformation [11], optional;
        ...
    }
}

ber::enumerated! {
    pub enum NotReachableReason: "NotReachableReason", "TS 29.002 §17.7.1" {
        MsPurged = 0, "msPurged";
        ImsiDetached = 1, "imsiDetached";
        RestrictedArea = 2, "restrictedArea";
        NotRegistered = 3, "notRegistered";
    }
}

ber::choice! {
    pub enum SubscriberState = "SubscriberState", "TS 29.002 §17.7.1" {
        AssumedIdle = "assumedIdle", Null [0];
        CamelBusy = "camelBusy", Null [1];
        NetDetNotReachable = "netDetNotReachable", NotReachableReason;
        NotProvidedFromVlr = "notProvidedFromVLR", Null [2];
    }
}

ber::choice! {
    pub enum PsSubscriberState = "PS-SubscriberState", "TS 29.002 §17.7.1" {
        NotProvidedFromSgsNorMme = "notProvidedFromSGSNorMME", Null [0];
        PsDetached = "ps-Detached", Null [1];
        PsAttachedNotReachableForPaging = "ps-AttachedNotReachableForPaging", Null [2];
        PsAttachedReachableForPaging = "ps-AttachedReachableForPaging", Null [3];
        PsPdpActiveNotReachableForPaging =
            "ps-PDP-ActiveNotReachableForPaging", PdpContextInfoList [4];
        PsPdpActiveReachableForPaging = "ps-PDP-ActiveReachableForPaging", PdpContextInfoList [5];
        NetDetNotReachable = "netDetNotReachable", NotReachableReason;
    }
}

ber::named! {
    pub MsClassmark2 = "MS-Classmark2", "TS 29.002 §17.7.1", OctetString<3, 3>;
    pub RouteingNumber = "RouteingNumber", "TS 29.002 §17.7.1", OctetString<1, 5>;
}

ber::enumerated! {
    pub enum NumberPortabilityStatus: "NumberPortabilityStatus", "TS 29.002 §17.7.1" {
        NotKnownToBePorted = 0, "notKnownToBePorted";
        OwnNumberPortedOut = 1, "ownNumberPortedOut";
        ForeignNumberPortedToForeignNetwork = 2, "foreignNumberPortedToForeignNetwork";
        OwnNumberNotPortedOut = 4, "ownNumberNotPortedOut";
        ForeignNumberPortedIn = 5, "foreignNumberPortedIn";
        ...
    }
}

ber::sequence! {
    pub enum MnpInfoRes = "MNPInfoRes", "TS 29.002 §17.7.1" {
        RouteingNumber = "routeingNumber", RouteingNumber [0], optional;
        Imsi = "imsi", Imsi [1], optional;
        Msisdn = "msisdn", IsdnAddressString [2], optional;
        NumberPortabilityStatus =
            "numberPortabilityStatus", NumberPortabilityStatus [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::enumerated! {
    pub enum ImsVoiceOverPsSessionsInd: "IMS-VoiceOverPS-SessionsInd", "TS 29.002 §17.7.1" {
        ImsVoiceOverPsSessionsNotSupported = 0, "imsVoiceOverPS-SessionsNotSupported";
        ImsVoiceOverPsSessionsSupported = 1, "imsVoiceOverPS-SessionsSupported";
        Unknown = 2, "unknown";
    }
}

ber::named! {
    pub TimeZone = "TimeZone", "TS 29.002 §17.7.1", OctetString<2, 3>;
}

ber::enumerated! {
    pub enum DaylightSavingTime: "DaylightSavingTime", "TS 29.002 §17.7.1" {
        NoAdjustment = 0, "noAdjustment";
        PlusOneHourAdjustment = 1, "plusOneHourAdjustment";
        PlusTwoHoursAdjustment = 2, "plusTwoHoursAdjustment";
    }
}

ber::sequence! {
    pub enum LocationInformation5Gs = "LocationInformation5GS", "TS 29.002 §17.7.1" {
        NrCellGlobalIdentity = "nrCellGlobalIdentity", NrCgi [0], optional;
        EUtranCellGlobalIdentity = "e-utranCellGlobalIdentity", EUtranCgi [1], optional;
        GeographicalInformation =
            "geographicalInformation", GeographicalInformation [2], optional;
        GeodeticInformation = "geodeticInformation", GeodeticInformation [3], optional;
        AmfAddress = "amf-address", Fqdn [4], optional;
        TrackingAreaIdentity = "trackingAreaIdentity", TaId [5], optional;
        CurrentLocationRetrieved = "currentLocationRetrieved", Null [6], optional;
        AgeOfLocationInformation =
            "ageOfLocationInformation", AgeOfLocationInformation [7], optional;
        VplmnId = "vplmnId", PlmnId [8], optional;
        LocaltimeZone = "localtimeZone", TimeZone [9], optional;
        RatType = "rat-Type", UsedRatType [10], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [11], optional;
        NrTrackingAreaIdentity = "nrTrackingAreaIdentity", NrTaId [12], optional;
        ...
    }
}

ber::sequence! {
    pub enum SubscriberInfo = "SubscriberInfo", "TS 29.002 §17.7.1" {
        LocationInformation = "locationInformation", LocationInformation [0], optional;
        SubscriberState = "subscriberState", SubscriberState [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [3], optional;
        PsSubscriberState = "ps-SubscriberState", PsSubscriberState [4], optional;
        Imei = "imei", Imei [5], optional;
        MsClassmark2 = "ms-Classmark2", MsClassmark2 [6], optional;
        GprsMsClass = "gprs-MS-Class", GprsMsClass [7], optional;
        MnpInfoRes = "mnpInfoRes", MnpInfoRes [8], optional;
        ImsVoiceOverPsSessionsIndication =
            "imsVoiceOverPS-SessionsIndication", ImsVoiceOverPsSessionsInd [9], optional;
        LastUeActivityTime = "lastUE-ActivityTime", Time [10], optional;
        LastRatType = "lastRAT-Type", UsedRatType [11], optional;
        EpsSubscriberState = "eps-SubscriberState", PsSubscriberState [12], optional;
        LocationInformationEps = "locationInformationEPS", LocationInformationEps [13], optional;
        TimeZone = "timeZone", TimeZone [14], optional;
        DaylightSavingTime = "daylightSavingTime", DaylightSavingTime [15], optional;
        LocationInformation5Gs = "locationInformation5GS", LocationInformation5Gs [16], optional;
        ...
    }
}

ber::named! {
    pub Lac = "LAC", "TS 29.002 §17.7.1", OctetString<2, 2>;
}

ber::choice! {
    pub enum LocationArea = "LocationArea", "TS 29.002 §17.7.1" {
        LaiFixedLength = "laiFixedLength", LaiFixedLength [0];
        Lac = "lac", Lac [1];
    }
}

ber::named! {
    pub PagingArea = "PagingArea", "TS 29.002 §17.7.1", SequenceOf<LocationArea, 1, 5>;
}

ber::sequence! {
    pub enum VlrCapability = "VLR-Capability", "TS 29.002 §17.7.1" {
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        SolsaSupportIndicator = "solsaSupportIndicator", Null [2], optional;
        IstSupportIndicator = "istSupportIndicator", IstSupportIndicator [1], optional;
        SuperChargerSupportedInServingNetworkEntity =
            "superChargerSupportedInServingNetworkEntity", SuperChargerInfo [3], optional;
        LongFtnSupported = "longFTN-Supported", Null [4], optional;
        SupportedLcsCapabilitySets =
            "supportedLCS-CapabilitySets", SupportedLcsCapabilitySets [5], optional;
        OfferedCamel4CsIs = "offeredCamel4CSIs", OfferedCamel4CsIs [6], optional;
        SupportedRatTypesIndicator =
            "supportedRAT-TypesIndicator", SupportedRatTypes [7], optional;
        LongGroupIdSupported = "longGroupID-Supported", Null [8], optional;
        MtRoamingForwardingSupported = "mtRoamingForwardingSupported", Null [9], optional;
        MsisdnLessOperationSupported = "msisdn-lessOperation-Supported", Null [10], optional;
        ResetIdsSupported = "reset-ids-Supported", Null [11], optional;
        ...
    }
}

ber::sequence! {
    pub enum UpdateLocationArg = "UpdateLocationArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        MscNumber = "msc-Number", IsdnAddressString [1];
        VlrNumber = "vlr-Number", IsdnAddressString;
        Lmsi = "lmsi", Lmsi [10], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        VlrCapability = "vlr-Capability", VlrCapability [6], optional;
        InformPreviousNetworkEntity = "informPreviousNetworkEntity", Null [11], optional;
        CsLcsNotSupportedByUe = "cs-LCS-NotSupportedByUE", Null [12], optional;
        VGmlcAddress = "v-gmlc-Address", GsnAddress [2], optional;
        AddInfo = "add-info", AddInfo [13], optional;
        PagingArea = "pagingArea", PagingArea [14], optional;
        SkipSubscriberDataUpdate = "skipSubscriberDataUpdate", Null [15], optional;
        RestorationIndicator = "restorationIndicator", Null [16], optional;
        EplmnList = "eplmn-List", EplmnList [3], optional;
        MmeDiameterAddress = "mme-DiameterAddress", NetworkNodeDiameterAddress [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum UpdateLocationRes = "UpdateLocationRes", "TS 29.002 §17.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AddCapability = "add-Capability", Null, optional;
        PagingAreaCapability = "pagingArea-Capability", Null [0], optional;
        ...
    }
}

ber::enumerated! {
    pub enum CancellationType: "CancellationType", "TS 29.002 §17.7.1" {
        UpdateProcedure = 0, "updateProcedure";
        SubscriptionWithdraw = 1, "subscriptionWithdraw";
        InitialAttachProcedure = 2, "initialAttachProcedure";
        ...
    }
}

ber::enumerated! {
    pub enum TypeOfUpdate: "TypeOfUpdate", "TS 29.002 §17.7.1" {
        SgsnChange = 0, "sgsn-change";
        MmeChange = 1, "mme-change";
        ...
    }
}

ber::sequence! {
    pub enum CancelLocationArg = "CancelLocationArg", "TS 29.002 §17.7.1", [3] {
        Identity = "identity", Identity;
        CancellationType = "cancellationType", CancellationType, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        TypeOfUpdate = "typeOfUpdate", TypeOfUpdate [0], optional;
        MtrfSupportedAndAuthorized = "mtrf-SupportedAndAuthorized", Null [1], optional;
        MtrfSupportedAndNotAuthorized = "mtrf-SupportedAndNotAuthorized", Null [2], optional;
        NewMscNumber = "newMSC-Number", IsdnAddressString [3], optional;
        NewVlrNumber = "newVLR-Number", IsdnAddressString [4], optional;
        NewLmsi = "new-lmsi", Lmsi [5], optional;
        ReattachRequired = "reattach-Required", Null [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum CancelLocationRes = "CancelLocationRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum DomainType: "DomainType", "TS 29.002 §17.7.1" {
        CsDomain = 0, "cs-Domain";
        PsDomain = 1, "ps-Domain";
        ...
    }
}

ber::named! {
    pub RequestedNodes = "RequestedNodes", "TS 29.002 §17.7.1", BitString<1, 8>;
}

ber::sequence! {
    pub enum RequestedInfo = "RequestedInfo", "TS 29.002 §17.7.1" {
        LocationInformation = "locationInformation", Null [0], optional;
        SubscriberState = "subscriberState", Null [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        CurrentLocation = "currentLocation", Null [3], optional;
        RequestedDomain = "requestedDomain", DomainType [4], optional;
        Imei = "imei", Null [6], optional;
        MsClassmark = "ms-classmark", Null [5], optional;
        MnpRequestedInfo = "mnpRequestedInfo", Null [7], optional;
        LocationInformationEpsSupported = "locationInformationEPS-Supported", Null [11], optional;
        TAdsData = "t-adsData", Null [8], optional;
        RequestedNodes = "requestedNodes", RequestedNodes [9], optional;
        ServingNodeIndication = "servingNodeIndication", Null [10], optional;
        LocalTimeZoneRequest = "localTimeZoneRequest", Null [12], optional;
        ...
    }
}

ber::sequence! {
    pub enum ProvideSubscriberInfoArg = "ProvideSubscriberInfoArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        Lmsi = "lmsi", Lmsi [1], optional;
        RequestedInfo = "requestedInfo", RequestedInfo [2];
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        CallPriority = "callPriority", EmlppPriority [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum ProvideSubscriberInfoRes = "ProvideSubscriberInfoRes", "TS 29.002 §17.7.1" {
        SubscriberInfo = "subscriberInfo", SubscriberInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeInterrogationArg = "AnyTimeInterrogationArg", "TS 29.002 §17.7.1" {
        SubscriberIdentity = "subscriberIdentity", SubscriberIdentity [0];
        RequestedInfo = "requestedInfo", RequestedInfo [1];
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [3];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeInterrogationRes = "AnyTimeInterrogationRes", "TS 29.002 §17.7.1" {
        SubscriberInfo = "subscriberInfo", SubscriberInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum RequestedSubscriptionInfo = "RequestedSubscriptionInfo", "TS 29.002 §17.7.1" {
        RequestedSsInfo = "requestedSS-Info", SsForBsCode [1], optional;
        Odb = "odb", Null [2], optional;
        RequestedCamelSubscriptionInfo =
            "requestedCAMEL-SubscriptionInfo", RequestedCamelSubscriptionInfo [3], optional;
        SupportedVlrCamelPhases = "supportedVLR-CAMEL-Phases", Null [4], optional;
        SupportedSgsnCamelPhases = "supportedSGSN-CAMEL-Phases", Null [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        AdditionalRequestedCamelSubscriptionInfo =
            "additionalRequestedCAMEL-SubscriptionInfo",
            AdditionalRequestedCamelSubscriptionInfo [7], optional;
        MsisdnBsList = "msisdn-BS-List", Null [8], optional;
        CsgSubscriptionDataRequested = "csg-SubscriptionDataRequested", Null [9], optional;
        CwInfo = "cw-Info", Null [10], optional;
        ClipInfo = "clip-Info", Null [11], optional;
        ClirInfo = "clir-Info", Null [12], optional;
        HoldInfo = "hold-Info", Null [13], optional;
        EctInfo = "ect-Info", Null [14], optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeSubscriptionInterrogationArg =
        "AnyTimeSubscriptionInterrogationArg", "TS 29.002 §17.7.1" {
        SubscriberIdentity = "subscriberIdentity", SubscriberIdentity [0];
        RequestedSubscriptionInfo = "requestedSubscriptionInfo", RequestedSubscriptionInfo [1];
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [2];
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        LongFtnSupported = "longFTN-Supported", Null [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum CallForwardingData = "CallForwardingData", "TS 29.002 §17.7.1" {
        ForwardingFeatureList = "forwardingFeatureList", ExtForwFeatureList;
        NotificationToCse = "notificationToCSE", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum CallBarringData = "CallBarringData", "TS 29.002 §17.7.1" {
        CallBarringFeatureList = "callBarringFeatureList", ExtCallBarFeatureList;
        Password = "password", Password, optional;
        WrongPasswordAttemptsCounter =
            "wrongPasswordAttemptsCounter", WrongPasswordAttemptsCounter, optional;
        NotificationToCse = "notificationToCSE", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum OdbInfo = "ODB-Info", "TS 29.002 §17.7.1" {
        OdbData = "odb-Data", OdbData;
        NotificationToCse = "notificationToCSE", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MsisdnBs = "MSISDN-BS", "TS 29.002 §17.7.1" {
        Msisdn = "msisdn", IsdnAddressString;
        BasicServiceList = "basicServiceList", BasicServiceList [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::named! {
    pub MsisdnBsList = "MSISDN-BS-List", "TS 29.002 §17.7.1", SequenceOf<MsisdnBs, 1, 50>;
}

ber::sequence! {
    pub enum CallWaitingData = "CallWaitingData", "TS 29.002 §17.7.1" {
        CwFeatureList = "cwFeatureList", ExtCwFeatureList [1];
        NotificationToCse = "notificationToCSE", Null [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum CallHoldData = "CallHoldData", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [1];
        NotificationToCse = "notificationToCSE", Null [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum ClipData = "ClipData", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [1];
        OverrideCategory = "overrideCategory", OverrideCategory [2];
        NotificationToCse = "notificationToCSE", Null [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ClirData = "ClirData", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [1];
        CliRestrictionOption = "cliRestrictionOption", CliRestrictionOption [2], optional;
        NotificationToCse = "notificationToCSE", Null [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum EctData = "EctData", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [1];
        NotificationToCse = "notificationToCSE", Null [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeSubscriptionInterrogationRes =
        "AnyTimeSubscriptionInterrogationRes", "TS 29.002 §17.7.1" {
        CallForwardingData = "callForwardingData", CallForwardingData [1], optional;
        CallBarringData = "callBarringData", CallBarringData [2], optional;
        OdbInfo = "odb-Info", OdbInfo [3], optional;
        CamelSubscriptionInfo = "camel-SubscriptionInfo", CamelSubscriptionInfo [4], optional;
        SupportedVlrCamelPhases = "supportedVLR-CAMEL-Phases", SupportedCamelPhases [5], optional;
        SupportedSgsnCamelPhases =
            "supportedSGSN-CAMEL-Phases", SupportedCamelPhases [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [7], optional;
        OfferedCamel4CsIsInVlr = "offeredCamel4CSIsInVLR", OfferedCamel4CsIs [8], optional;
        OfferedCamel4CsIsInSgsn = "offeredCamel4CSIsInSGSN", OfferedCamel4CsIs [9], optional;
        MsisdnBsList = "msisdn-BS-List", MsisdnBsList [10], optional;
        CsgSubscriptionDataList =
            "csg-SubscriptionDataList", CsgSubscriptionDataList [11], optional;
        CwData = "cw-Data", CallWaitingData [12], optional;
        ChData = "ch-Data", CallHoldData [13], optional;
        ClipData = "clip-Data", ClipData [14], optional;
        ClirData = "clir-Data", ClirData [15], optional;
        EctData = "ect-data", EctData [16], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForCfInfo =
        "ModificationRequestFor-CF-Info", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode [0];
        BasicService = "basicService", ExtBasicServiceCode [1], optional;
        SsStatus = "ss-Status", ExtSsStatus [2], optional;
        ForwardedToNumber = "forwardedToNumber", AddressString [3], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [4], optional;
        NoReplyConditionTime = "noReplyConditionTime", ExtNoRepCondTime [5], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [7], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForCbInfo =
        "ModificationRequestFor-CB-Info", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode [0];
        BasicService = "basicService", ExtBasicServiceCode [1], optional;
        SsStatus = "ss-Status", ExtSsStatus [2], optional;
        Password = "password", Password [3], optional;
        WrongPasswordAttemptsCounter =
            "wrongPasswordAttemptsCounter", WrongPasswordAttemptsCounter [4], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForOdbData =
        "ModificationRequestFor-ODB-data", "TS 29.002 §17.7.1" {
        OdbData = "odb-data", OdbData [0], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForIpSmGwData =
        "ModificationRequestFor-IP-SM-GW-Data", "TS 29.002 §17.7.1" {
        ModifyRegistrationStatus =
            "modifyRegistrationStatus", ModificationInstruction [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        IpSmGwDiameterAddress =
            "ip-sm-gw-DiameterAddress", NetworkNodeDiameterAddress [2], optional;
        ...
    }
}

ber::named! {
    pub RequestedServingNode = "RequestedServingNode", "TS 29.002 §17.7.1", BitString<1, 8>;
}

ber::sequence! {
    pub enum ModificationRequestForCwInfo =
        "ModificationRequestFor-CW-Info", "TS 29.002 §17.7.1" {
        BasicService = "basicService", ExtBasicServiceCode [0], optional;
        SsStatus = "ss-Status", ExtSsStatus [1], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForClipInfo =
        "ModificationRequestFor-CLIP-Info", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [0], optional;
        OverrideCategory = "overrideCategory", OverrideCategory [1], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForClirInfo =
        "ModificationRequestFor-CLIR-Info", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [0], optional;
        CliRestrictionOption = "cliRestrictionOption", CliRestrictionOption [1], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForChInfo =
        "ModificationRequestFor-CH-Info", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [0], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum ModificationRequestForEctInfo =
        "ModificationRequestFor-ECT-Info", "TS 29.002 §17.7.1" {
        SsStatus = "ss-Status", ExtSsStatus [0], optional;
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeModificationArg = "AnyTimeModificationArg", "TS 29.002 §17.7.1" {
        SubscriberIdentity = "subscriberIdentity", SubscriberIdentity [0];
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [1];
        ModificationRequestForCfInfo =
            "modificationRequestFor-CF-Info", ModificationRequestForCfInfo [2], optional;
        ModificationRequestForCbInfo =
            "modificationRequestFor-CB-Info", ModificationRequestForCbInfo [3], optional;
        ModificationRequestForCsi =
            "modificationRequestFor-CSI", ModificationRequestForCsi [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        LongFtnSupported = "longFTN-Supported", Null [6], optional;
        ModificationRequestForOdbData =
            "modificationRequestFor-ODB-data", ModificationRequestForOdbData [7], optional;
        ModificationRequestForIpSmGwData =
            "modificationRequestFor-IP-SM-GW-Data", ModificationRequestForIpSmGwData [8], optional;
        ActivationRequestForUeReachability =
            "activationRequestForUE-reachability", RequestedServingNode [9], optional;
        ModificationRequestForCsg =
            "modificationRequestFor-CSG", ModificationRequestForCsg [10], optional;
        ModificationRequestForCwData =
            "modificationRequestFor-CW-Data", ModificationRequestForCwInfo [11], optional;
        ModificationRequestForClipData =
            "modificationRequestFor-CLIP-Data", ModificationRequestForClipInfo [12], optional;
        ModificationRequestForClirData =
            "modificationRequestFor-CLIR-Data", ModificationRequestForClirInfo [13], optional;
        ModificationRequestForHoldData =
            "modificationRequestFor-HOLD-Data", ModificationRequestForChInfo [14], optional;
        ModificationRequestForEctData =
            "modificationRequestFor-ECT-Data", ModificationRequestForEctInfo [15], optional;
        ...
    }
}

ber::sequence! {
    pub enum AnyTimeModificationRes = "AnyTimeModificationRes", "TS 29.002 §17.7.1" {
        SsInfoForCse = "ss-InfoFor-CSE", ExtSsInfoForCse [0], optional;
        CamelSubscriptionInfo = "camel-SubscriptionInfo", CamelSubscriptionInfo [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        OdbInfo = "odb-Info", OdbInfo [3], optional;
        CwData = "cw-Data", CallWaitingData [4], optional;
        ChData = "ch-Data", CallHoldData [5], optional;
        ClipData = "clip-Data", ClipData [6], optional;
        ClirData = "clir-Data", ClirData [7], optional;
        EctData = "ect-data", EctData [8], optional;
        ServiceCentreAddress = "serviceCentreAddress", AddressString [9], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteSubscriberDataModifiedArg =
        "NoteSubscriberDataModifiedArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        Msisdn = "msisdn", IsdnAddressString;
        ForwardingInfoForCse = "forwardingInfoFor-CSE", ExtForwardingInfoForCse [0], optional;
        CallBarringInfoForCse = "callBarringInfoFor-CSE", ExtCallBarringInfoForCse [1], optional;
        OdbInfo = "odb-Info", OdbInfo [2], optional;
        CamelSubscriptionInfo = "camel-SubscriptionInfo", CamelSubscriptionInfo [3], optional;
        AllInformationSent = "allInformationSent", Null [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        UeReachable = "ue-reachable", ServingNode [5], optional;
        CsgSubscriptionDataList =
            "csg-SubscriptionDataList", CsgSubscriptionDataList [6], optional;
        CwData = "cw-Data", CallWaitingData [7], optional;
        ChData = "ch-Data", CallHoldData [8], optional;
        ClipData = "clip-Data", ClipData [9], optional;
        ClirData = "clir-Data", ClirData [10], optional;
        EctData = "ect-data", EctData [11], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteSubscriberDataModifiedRes =
        "NoteSubscriberDataModifiedRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub RequestedEquipmentInfo = "RequestedEquipmentInfo", "TS 29.002 §17.7.1", BitString<2, 8>;
}

ber::sequence! {
    pub enum UpdateVcsgLocationArg = "UpdateVcsgLocationArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        Msisdn = "msisdn", IsdnAddressString [2], optional;
        VlrNumber = "vlr-Number", IsdnAddressString [0], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum UpdateVcsgLocationRes = "UpdateVcsgLocationRes", "TS 29.002 §17.7.1" {
        TemporaryEmptySubscriptiondataIndicator =
            "temporaryEmptySubscriptiondataIndicator", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum CancelVcsgLocationArg = "CancelVcsgLocationArg", "TS 29.002 §17.7.1" {
        Identity = "identity", Identity;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum CancelVcsgLocationRes = "CancelVcsgLocationRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}
