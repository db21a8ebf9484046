//! Subscription to GPRS, EPS and closed subscriber groups (TS 29.002 §17.7.1).

use super::camel::{
    Ambr, ApnOiReplacement, ChargingCharacteristics, ContextId, Fqdn, LipaPermission,
    ModificationInstruction, NiddMechanism, OfferedCamel4CsIs, PdpAddress, PdpContext,
    RestorationPriority, SiptoLocalNetworkPermission, SiptoPermission, SupportedCamelPhases,
};
use super::identities::{
    AgeOfLocationInformation, CellGlobalIdOrServiceAreaIdOrLai, DiameterIdentity, EUtranCgi,
    ExtensionContainer, GsnAddress, Imei, Imsi, IsdnAddressString, PlmnId, RaIdentity, TaId, Time,
};
use super::location_service::{Apn, SupportedLcsCapabilitySets};
use super::short_message::AbsentSubscriberDiagnosticSm;
use ber::{BitString, Boolean, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub GeographicalInformation =
        "GeographicalInformation", "TS 29.002 §17.7.1",
        OctetString<8, 8>;
    pub LsaIdentity = "LSAIdentity", "TS 29.002 §17.7.1", OctetString<3, 3>;
    pub GeodeticInformation = "GeodeticInformation", "TS 29.002 §17.7.1", OctetString<10, 10>;
}

ber::sequence! {
    pub enum LocationInformationEps = "LocationInformationEPS", "TS 29.002 §17.7.1" {
        EUtranCellGlobalIdentity = "e-utranCellGlobalIdentity", EUtranCgi [0], optional;
        TrackingAreaIdentity = "trackingAreaIdentity", TaId [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        GeographicalInformation =
            "geographicalInformation", GeographicalInformation [3], optional;
        GeodeticInformation = "geodeticInformation", GeodeticInformation [4], optional;
        CurrentLocationRetrieved = "currentLocationRetrieved", Null [5], optional;
        AgeOfLocationInformation =
            "ageOfLocationInformation", AgeOfLocationInformation [6], optional;
        MmeName = "mme-Name", DiameterIdentity [7], optional;
        ...
    }
}

ber::named! {
    pub CsgId = "CSG-Id", "TS 29.002 §17.7.1", BitString<27, 27>;
}

ber::sequence! {
    pub enum UserCsgInformation = "UserCSGInformation", "TS 29.002 §17.7.1" {
        CsgId = "csg-Id", CsgId [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        AccessMode = "accessMode", OctetString<1, 1> [2], optional;
        Cmi = "cmi", OctetString<1, 1> [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum LocationInformationGprs = "LocationInformationGPRS", "TS 29.002 §17.7.1" {
        CellGlobalIdOrServiceAreaIdOrLai =
            "cellGlobalIdOrServiceAreaIdOrLAI", CellGlobalIdOrServiceAreaIdOrLai [0], optional;
        RouteingAreaIdentity = "routeingAreaIdentity", RaIdentity [1], optional;
        GeographicalInformation =
            "geographicalInformation", GeographicalInformation [2], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [3], optional;
        SelectedLsaIdentity = "selectedLSAIdentity", LsaIdentity [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        SaiPresent = "sai-Present", Null [6], optional;
        GeodeticInformation = "geodeticInformation", GeodeticInformation [7], optional;
        CurrentLocationRetrieved = "currentLocationRetrieved", Null [8], optional;
        AgeOfLocationInformation =
            "ageOfLocationInformation", AgeOfLocationInformation [9], optional;
        UserCsgInformation = "userCSGInformation", UserCsgInformation [10], optional;
        ...
    }
}

ber::named! {
    pub MsNetworkCapability = "MSNetworkCapability", "TS 29.002 §17.7.1", OctetString<1, 8>;
    pub MsRadioAccessCapability =
        "MSRadioAccessCapability", "TS 29.002 §17.7.1",
        OctetString<1, 50>;
}

ber::sequence! {
    pub enum GprsMsClass = "GPRSMSClass", "TS 29.002 §17.7.1" {
        MSNetworkCapability = "mSNetworkCapability", MsNetworkCapability [0];
        MSRadioAccessCapability =
            "mSRadioAccessCapability", MsRadioAccessCapability [1], optional;
    }
}

ber::enumerated! {
    pub enum UsedRatType: "Used-RAT-Type", "TS 29.002 §17.7.1" {
        Utran = 0, "utran";
        Geran = 1, "geran";
        Gan = 2, "gan";
        IHspaEvolution = 3, "i-hspa-evolution";
        EUtran = 4, "e-utran";
        NbIot = 5, "nb-iot";
        ...
    }
}

ber::named! {
    pub AgeIndicator = "AgeIndicator", "TS 29.002 §17.7.1", OctetString<1, 6>;
}

ber::choice! {
    pub enum SuperChargerInfo = "SuperChargerInfo", "TS 29.002 §17.7.1" {
        SendSubscriberData = "sendSubscriberData", Null [0];
        SubscriberDataStored = "subscriberDataStored", AgeIndicator [1];
    }
}

ber::named! {
    pub SupportedRatTypes = "SupportedRAT-Types", "TS 29.002 §17.7.1", BitString<2, 8>;
}

ber::sequence! {
    pub enum AddInfo = "ADD-Info", "TS 29.002 §17.7.1" {
        Imeisv = "imeisv", Imei [0];
        SkipSubscriberDataUpdate = "skipSubscriberDataUpdate", Null [1], optional;
        ...
    }
}

ber::named! {
    pub EplmnList = "EPLMN-List", "TS 29.002 §17.7.1", SequenceOf<PlmnId, 1, 50>;
    pub SupportedFeatures = "SupportedFeatures", "TS 29.002 §17.7.1", BitString<26, 40>;
    pub ExtSupportedFeatures = "Ext-SupportedFeatures", "TS 29.002 §17.7.1", BitString<1, 40>;
}

ber::sequence! {
    pub enum SgsnCapability = "SGSN-Capability", "TS 29.002 §17.7.1" {
        SolsaSupportIndicator = "solsaSupportIndicator", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        SuperChargerSupportedInServingNetworkEntity =
            "superChargerSupportedInServingNetworkEntity", SuperChargerInfo [2], optional;
        GprsEnhancementsSupportIndicator = "gprsEnhancementsSupportIndicator", Null [3], optional;
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases [4], optional;
        SupportedLcsCapabilitySets =
            "supportedLCS-CapabilitySets", SupportedLcsCapabilitySets [5], optional;
        OfferedCamel4CsIs = "offeredCamel4CSIs", OfferedCamel4CsIs [6], optional;
        SmsCallBarringSupportIndicator = "smsCallBarringSupportIndicator", Null [7], optional;
        SupportedRatTypesIndicator =
            "supportedRAT-TypesIndicator", SupportedRatTypes [8], optional;
        SupportedFeatures = "supportedFeatures", SupportedFeatures [9], optional;
        TAdsDataRetrieval = "t-adsDataRetrieval", Null [10], optional;
        HomogeneousSupportOfImsVoiceOverPsSessions =
            "homogeneousSupportOfIMSVoiceOverPSSessions", Boolean [11], optional;
        CancellationTypeInitialAttach = "cancellationTypeInitialAttach", Null [12], optional;
        MsisdnLessOperationSupported = "msisdn-lessOperation-Supported", Null [14], optional;
        UpdateofHomogeneousSupportOfImsVoiceOverPsSessions =
            "updateofHomogeneousSupportOfIMSVoiceOverPSSessions", Null [15], optional;
        ResetIdsSupported = "reset-ids-Supported", Null [16], optional;
        ExtSupportedFeatures = "ext-SupportedFeatures", ExtSupportedFeatures [17], optional;
        ...
    }
}

ber::sequence! {
    pub enum PdnGwIdentity = "PDN-GW-Identity", "TS 29.002 §17.7.1" {
        PdnGwIpv4Address = "pdn-gw-ipv4-Address", PdpAddress [0], optional;
        PdnGwIpv6Address = "pdn-gw-ipv6-Address", PdpAddress [1], optional;
        PdnGwName = "pdn-gw-name", Fqdn [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum PdnGwUpdate = "PDN-GW-Update", "TS 29.002 §17.7.1" {
        Apn = "apn", Apn [0], optional;
        PdnGwIdentity = "pdn-gw-Identity", PdnGwIdentity [1], optional;
        ContextId = "contextId", ContextId [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::named! {
    pub IsrInformation = "ISR-Information", "TS 29.002 §17.7.1", BitString<3, 8>;
}

ber::choice! {
    pub enum EpsInfo = "EPS-Info", "TS 29.002 §17.7.1" {
        PdnGwUpdate = "pdn-gw-update", PdnGwUpdate [0];
        IsrInformation = "isr-Information", IsrInformation [1];
    }
}

ber::enumerated! {
    pub enum UeSrvccCapability: "UE-SRVCC-Capability", "TS 29.002 §17.7.1" {
        UeSrvccNotSupported = 0, "ue-srvcc-not-supported";
        UeSrvccSupported = 1, "ue-srvcc-supported";
        ...
    }
}

ber::enumerated! {
    pub enum SmsRegisterRequest: "SMSRegisterRequest", "TS 29.002 §17.7.1" {
        SmsRegistrationRequired = 0, "sms-registration-required";
        SmsRegistrationNotPreferred = 1, "sms-registration-not-preferred";
        NoPreference = 2, "no-preference";
        ...
    }
}

ber::named! {
    pub AdjacentPlmnList = "AdjacentPLMN-List", "TS 29.002 §17.7.1", SequenceOf<PlmnId, 1, 50>;
}

ber::sequence! {
    pub enum UpdateGprsLocationArg = "UpdateGprsLocationArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        SgsnNumber = "sgsn-Number", IsdnAddressString;
        SgsnAddress = "sgsn-Address", GsnAddress;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        SgsnCapability = "sgsn-Capability", SgsnCapability [0], optional;
        InformPreviousNetworkEntity = "informPreviousNetworkEntity", Null [1], optional;
        PsLcsNotSupportedByUe = "ps-LCS-NotSupportedByUE", Null [2], optional;
        VGmlcAddress = "v-gmlc-Address", GsnAddress [3], optional;
        AddInfo = "add-info", AddInfo [4], optional;
        EpsInfo = "eps-info", EpsInfo [5], optional;
        ServingNodeTypeIndicator = "servingNodeTypeIndicator", Null [6], optional;
        SkipSubscriberDataUpdate = "skipSubscriberDataUpdate", Null [7], optional;
        UsedRatType = "usedRAT-Type", UsedRatType [8], optional;
        GprsSubscriptionDataNotNeeded = "gprsSubscriptionDataNotNeeded", Null [9], optional;
        NodeTypeIndicator = "nodeTypeIndicator", Null [10], optional;
        AreaRestricted = "areaRestricted", Null [11], optional;
        UeReachableIndicator = "ue-reachableIndicator", Null [12], optional;
        EpsSubscriptionDataNotNeeded = "epsSubscriptionDataNotNeeded", Null [13], optional;
        UeSrvccCapability = "ue-srvcc-Capability", UeSrvccCapability [14], optional;
        EplmnList = "eplmn-List", EplmnList [15], optional;
        MmeNumberforMtsms = "mmeNumberforMTSMS", IsdnAddressString [16], optional;
        SmsRegisterRequest = "smsRegisterRequest", SmsRegisterRequest [17], optional;
        SmsOnly = "sms-Only", Null [18], optional;
        RemovalofMmeRegistrationforSms = "removalofMMERegistrationforSMS", Null [22], optional;
        SgsnName = "sgsn-Name", DiameterIdentity [19], optional;
        SgsnRealm = "sgsn-Realm", DiameterIdentity [20], optional;
        LgdSupportIndicator = "lgd-supportIndicator", Null [21], optional;
        AdjacentPlmnList = "adjacentPLMN-List", AdjacentPlmnList [23], optional;
        ...
    }
}

ber::sequence! {
    pub enum UpdateGprsLocationRes = "UpdateGprsLocationRes", "TS 29.002 §17.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AddCapability = "add-Capability", Null, optional;
        SgsnMmeSeparationSupported = "sgsn-mmeSeparationSupported", Null [0], optional;
        MmeRegisteredforSms = "mmeRegisteredforSMS", Null [1], optional;
        ...
    }
}

ber::named! {
    pub LipaAllowedApnList = "LIPA-AllowedAPNList", "TS 29.002 §17.7.1", SequenceOf<Apn, 1, 50>;
}

ber::sequence! {
    pub enum CsgSubscriptionData = "CSG-SubscriptionData", "TS 29.002 §17.7.1" {
        CsgId = "csg-Id", CsgId;
        ExpirationDate = "expirationDate", Time, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        LipaAllowedApnList = "lipa-AllowedAPNList", LipaAllowedApnList [0], optional;
        PlmnId = "plmn-Id", PlmnId [1], optional;
        ...
    }
}

ber::named! {
    pub CsgSubscriptionDataList =
        "CSG-SubscriptionDataList", "TS 29.002 §17.7.1",
        SequenceOf<CsgSubscriptionData, 1, 50>;
}

ber::sequence! {
    pub enum ModificationRequestForCsg = "ModificationRequestFor-CSG", "TS 29.002 §17.7.1" {
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::named! {
    pub GprsDataList = "GPRSDataList", "TS 29.002 §17.7.1", SequenceOf<PdpContext, 1, 50>;
}

ber::sequence! {
    pub enum GprsSubscriptionData = "GPRSSubscriptionData", "TS 29.002 §17.7.1" {
        CompleteDataListIncluded = "completeDataListIncluded", Null, optional;
        GprsDataList = "gprsDataList", GprsDataList [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ApnOiReplacement = "apn-oi-Replacement", ApnOiReplacement [3], optional;
        ...
    }
}

ber::enumerated! {
    pub enum LsaOnlyAccessIndicator: "LSAOnlyAccessIndicator", "TS 29.002 §17.7.1" {
        AccessOutsideLsAsAllowed = 0, "accessOutsideLSAsAllowed";
        AccessOutsideLsAsRestricted = 1, "accessOutsideLSAsRestricted";
    }
}

ber::named! {
    pub LsaAttributes = "LSAAttributes", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum LsaData = "LSAData", "TS 29.002 §17.7.1" {
        LsaIdentity = "lsaIdentity", LsaIdentity [0];
        LsaAttributes = "lsaAttributes", LsaAttributes [1];
        LsaActiveModeIndicator = "lsaActiveModeIndicator", Null [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::named! {
    pub LsaDataList = "LSADataList", "TS 29.002 §17.7.1", SequenceOf<LsaData, 1, 20>;
}

ber::sequence! {
    pub enum LsaInformation = "LSAInformation", "TS 29.002 §17.7.1" {
        CompleteDataListIncluded = "completeDataListIncluded", Null, optional;
        LsaOnlyAccessIndicator = "lsaOnlyAccessIndicator", LsaOnlyAccessIndicator [1], optional;
        LsaDataList = "lsaDataList", LsaDataList [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::named! {
    pub AccessRestrictionData = "AccessRestrictionData", "TS 29.002 §17.7.1", BitString<2, 8>;
    pub RfspId = "RFSP-ID", "TS 29.002 §17.7.1", Integer<1, 256>;
    pub PdnType = "PDN-Type", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub QosClassIdentifier = "QoS-Class-Identifier", "TS 29.002 §17.7.1", Integer<1, 9>;
}

ber::sequence! {
    pub enum AllocationRetentionPriority = "Allocation-Retention-Priority", "TS 29.002 §17.7.1" {
        PriorityLevel = "priority-level", Integer<{ i64::MIN }, { i64::MAX }> [0];
        PreEmptionCapability = "pre-emption-capability", Boolean [1], optional;
        PreEmptionVulnerability = "pre-emption-vulnerability", Boolean [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum EpsQosSubscribed = "EPS-QoS-Subscribed", "TS 29.002 §17.7.1" {
        QosClassIdentifier = "qos-Class-Identifier", QosClassIdentifier [0];
        AllocationRetentionPriority =
            "allocation-Retention-Priority", AllocationRetentionPriority [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum PdnGwAllocationType: "PDN-GW-AllocationType", "TS 29.002 §17.7.1" {
        Static = 0, "static";
        Dynamic = 1, "dynamic";
    }
}

ber::sequence! {
    pub enum SpecificApnInfo = "SpecificAPNInfo", "TS 29.002 §17.7.1" {
        Apn = "apn", Apn [0];
        PdnGwIdentity = "pdn-gw-Identity", PdnGwIdentity [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub SpecificApnInfoList =
        "SpecificAPNInfoList", "TS 29.002 §17.7.1",
        SequenceOf<SpecificApnInfo, 1, 50>;
}

ber::enumerated! {
    pub enum WlanOffloadabilityIndication: "WLAN-Offloadability-Indication", "TS 29.002 §17.7.1" {
        NotAllowed = 0, "notAllowed";
        Allowed = 1, "allowed";
    }
}

ber::sequence! {
    pub enum WlanOffloadability = "WLAN-Offloadability", "TS 29.002 §17.7.1" {
        WlanOffloadabilityEutran =
            "wlan-offloadability-EUTRAN", WlanOffloadabilityIndication [0], optional;
        WlanOffloadabilityUtran =
            "wlan-offloadability-UTRAN", WlanOffloadabilityIndication [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum PdnConnectionContinuity: "PDN-ConnectionContinuity", "TS 29.002 §17.7.1" {
        MaintainPdnConnection = 0, "maintainPDN-Connection";
        DisconnectPdnConnectionWithReactivationRequest = 1,
            "disconnectPDN-ConnectionWithReactivationRequest";
        DisconnectPdnConnectionWithoutReactivationRequest = 2,
            "disconnectPDN-ConnectionWithoutReactivationRequest";
    }
}

ber::sequence! {
    pub enum ApnConfiguration = "APN-Configuration", "TS 29.002 §17.7.1" {
        ContextId = "contextId", ContextId [0];
        PdnType = "pdn-Type", PdnType [1];
        ServedPartyIpIPv4Address = "servedPartyIP-IPv4-Address", PdpAddress [2], optional;
        Apn = "apn", Apn [3];
        EpsQosSubscribed = "eps-qos-Subscribed", EpsQosSubscribed [4];
        PdnGwIdentity = "pdn-gw-Identity", PdnGwIdentity [5], optional;
        PdnGwAllocationType = "pdn-gw-AllocationType", PdnGwAllocationType [6], optional;
        VplmnAddressAllowed = "vplmnAddressAllowed", Null [7], optional;
        ChargingCharacteristics =
            "chargingCharacteristics", ChargingCharacteristics [8], optional;
        Ambr = "ambr", Ambr [9], optional;
        SpecificApnInfoList = "specificAPNInfoList", SpecificApnInfoList [10], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [11], optional;
        ServedPartyIpIPv6Address = "servedPartyIP-IPv6-Address", PdpAddress [12], optional;
        ApnOiReplacement = "apn-oi-Replacement", ApnOiReplacement [13], optional;
        SiptoPermission = "sipto-Permission", SiptoPermission [14], optional;
        LipaPermission = "lipa-Permission", LipaPermission [15], optional;
        RestorationPriority = "restoration-Priority", RestorationPriority [16], optional;
        SiptoLocalNetworkPermission =
            "sipto-local-network-Permission", SiptoLocalNetworkPermission [17], optional;
        WlanOffloadability = "wlan-offloadability", WlanOffloadability [18], optional;
        NonIpPdnTypeIndicator = "non-IP-PDN-Type-Indicator", Null [19], optional;
        NIddMechanism = "nIDD-Mechanism", NiddMechanism [20], optional;
        SCefId = "sCEF-ID", Fqdn [21], optional;
        PdnConnectionContinuity =
            "pdn-ConnectionContinuity", PdnConnectionContinuity [22], optional;
        ...
    }
}

ber::named! {
    pub EpsDataList = "EPS-DataList", "TS 29.002 §17.7.1", SequenceOf<ApnConfiguration, 1, 50>;
}

ber::sequence! {
    pub enum ApnConfigurationProfile = "APN-ConfigurationProfile", "TS 29.002 §17.7.1" {
        DefaultContext = "defaultContext", ContextId;
        CompleteDataListIncluded = "completeDataListIncluded", Null, optional;
        EpsDataList = "epsDataList", EpsDataList [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        AdditionalDefaultContext = "additionalDefaultContext", ContextId [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum EpsSubscriptionData = "EPS-SubscriptionData", "TS 29.002 §17.7.1" {
        ApnOiReplacement = "apn-oi-Replacement", ApnOiReplacement [0], optional;
        RfspId = "rfsp-id", RfspId [2], optional;
        Ambr = "ambr", Ambr [3], optional;
        ApnConfigurationProfile =
            "apn-ConfigurationProfile", ApnConfigurationProfile [4], optional;
        StnSr = "stn-sr", IsdnAddressString [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        MpsCsPriority = "mps-CSPriority", Null [7], optional;
        MpsEpsPriority = "mps-EPSPriority", Null [8], optional;
        SubscribedVsrvcc = "subscribed-vsrvcc", Null [9], optional;
        ...
    }
}

ber::named! {
    pub VplmnCsgSubscriptionDataList =
        "VPLMN-CSG-SubscriptionDataList", "TS 29.002 §17.7.1",
        SequenceOf<CsgSubscriptionData, 1, 50>;
    pub ExtAccessRestrictionData =
        "Ext-AccessRestrictionData", "TS 29.002 §17.7.1",
        BitString<1, 32>;
}

ber::sequence! {
    pub enum AdjacentAccessRestrictionData =
        "AdjacentAccessRestrictionData", "TS 29.002 §17.7.1" {
        PlmnId = "plmnId", PlmnId [0];
        AccessRestrictionData = "accessRestrictionData", AccessRestrictionData [1];
        ExtAccessRestrictionData =
            "ext-AccessRestrictionData", ExtAccessRestrictionData [2], optional;
        ...
    }
}

ber::named! {
    pub AdjacentAccessRestrictionDataList =
        "AdjacentAccessRestrictionDataList", "TS 29.002 §17.7.1",
        SequenceOf<AdjacentAccessRestrictionData, 1, 50>;
    pub EdrxCycleLengthValue = "EDRX-Cycle-Length-Value", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum EdrxCycleLength = "EDRX-Cycle-Length", "TS 29.002 §17.7.1" {
        RatType = "rat-Type", UsedRatType [0];
        EDrxCycleLengthValue = "eDRX-Cycle-Length-Value", EdrxCycleLengthValue [1];
        ...
    }
}

ber::named! {
    pub EdrxCycleLengthList =
        "EDRX-Cycle-Length-List", "TS 29.002 §17.7.1",
        SequenceOf<EdrxCycleLength, 1, 8>;
    pub ContextIdList = "ContextIdList", "TS 29.002 §17.7.1", SequenceOf<ContextId, 1, 50>;
}

ber::choice! {
    pub enum GprsSubscriptionDataWithdraw = "GPRSSubscriptionDataWithdraw", "TS 29.002 §17.7.1" {
        AllGprsData = "allGPRSData", Null;
        ContextIdList = "contextIdList", ContextIdList;
    }
}

ber::named! {
    pub LsaIdentityList = "LSAIdentityList", "TS 29.002 §17.7.1", SequenceOf<LsaIdentity, 1, 20>;
}

ber::choice! {
    pub enum LsaInformationWithdraw = "LSAInformationWithdraw", "TS 29.002 §17.7.1" {
        AllLsaData = "allLSAData", Null;
        LsaIdentityList = "lsaIdentityList", LsaIdentityList;
    }
}

ber::choice! {
    pub enum EpsSubscriptionDataWithdraw = "EPS-SubscriptionDataWithdraw", "TS 29.002 §17.7.1" {
        AllEpsData = "allEPS-Data", Null;
        ContextIdList = "contextIdList", ContextIdList;
    }
}

ber::sequence! {
    pub enum SendRoutingInfoForGprsArg = "SendRoutingInfoForGprsArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        GgsnAddress = "ggsn-Address", GsnAddress [1], optional;
        GgsnNumber = "ggsn-Number", IsdnAddressString [2];
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendRoutingInfoForGprsRes = "SendRoutingInfoForGprsRes", "TS 29.002 §17.7.1" {
        SgsnAddress = "sgsn-Address", GsnAddress [0];
        GgsnAddress = "ggsn-Address", GsnAddress [1], optional;
        MobileNotReachableReason =
            "mobileNotReachableReason", AbsentSubscriberDiagnosticSm [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum FailureReportArg = "FailureReportArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        GgsnNumber = "ggsn-Number", IsdnAddressString [1];
        GgsnAddress = "ggsn-Address", GsnAddress [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum FailureReportRes = "FailureReportRes", "TS 29.002 §17.7.1" {
        GgsnAddress = "ggsn-Address", GsnAddress [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteMsPresentForGprsArg = "NoteMsPresentForGprsArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        SgsnAddress = "sgsn-Address", GsnAddress [1];
        GgsnAddress = "ggsn-Address", GsnAddress [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteMsPresentForGprsRes = "NoteMsPresentForGprsRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}
