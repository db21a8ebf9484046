//! Location services (TS 29.002 §17.7.13).

use super::identities::{
    AddressString, AgeOfLocationInformation, CellGlobalIdOrServiceAreaIdOrLai, DiameterIdentity,
    ExtensionContainer, GsnAddress, Imei, Imsi, IsdnAddressString, LcsClientExternalId,
    LcsClientInternalId, LcsServiceTypeId, Lmsi, PlmnId, SlrArgExtensionContainer,
    SubscriberIdentity,
};
use super::supplementary::UssdDataCodingScheme;
use ber::{BitString, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub Apn = "APN", "TS 29.002 §17.7.1", OctetString<2, 63>;
}

ber::sequence! {
    pub enum RoutingInfoForLcsArg = "RoutingInfoForLCS-Arg", "TS 29.002 §17.7.13" {
        MlcNumber = "mlcNumber", IsdnAddressString [0];
        TargetMs = "targetMS", SubscriberIdentity [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::choice! {
    pub enum AdditionalNumber = "Additional-Number", "TS 29.002 §17.7.6" {
        MscNumber = "msc-Number", IsdnAddressString [0];
        SgsnNumber = "sgsn-Number", IsdnAddressString [1];
    }
}

ber::named! {
    pub SupportedLcsCapabilitySets =
        "SupportedLCS-CapabilitySets", "TS 29.002 §17.7.1",
        BitString<2, 16>;
}

ber::sequence! {
    pub enum LcsLocationInfo = "LCSLocationInfo", "TS 29.002 §17.7.13" {
        NetworkNodeNumber = "networkNode-Number", IsdnAddressString;
        Lmsi = "lmsi", Lmsi [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        GprsNodeIndicator = "gprsNodeIndicator", Null [2], optional;
        AdditionalNumber = "additional-Number", AdditionalNumber [3], optional;
        SupportedLcsCapabilitySets =
            "supportedLCS-CapabilitySets", SupportedLcsCapabilitySets [4], optional;
        AdditionalLcsCapabilitySets =
            "additional-LCS-CapabilitySets", SupportedLcsCapabilitySets [5], optional;
        MmeName = "mme-Name", DiameterIdentity [6], optional;
        AaaServerName = "aaa-Server-Name", DiameterIdentity [8], optional;
        SgsnName = "sgsn-Name", DiameterIdentity [9], optional;
        SgsnRealm = "sgsn-Realm", DiameterIdentity [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum RoutingInfoForLcsRes = "RoutingInfoForLCS-Res", "TS 29.002 §17.7.13" {
        TargetMs = "targetMS", SubscriberIdentity [0];
        LcsLocationInfo = "lcsLocationInfo", LcsLocationInfo [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        VGmlcAddress = "v-gmlc-Address", GsnAddress [3], optional;
        HGmlcAddress = "h-gmlc-Address", GsnAddress [4], optional;
        PprAddress = "ppr-Address", GsnAddress [5], optional;
        AdditionalVGmlcAddress = "additional-v-gmlc-Address", GsnAddress [6], optional;
        ...
    }
}

ber::enumerated! {
    pub enum LocationEstimateType: "LocationEstimateType", "TS 29.002 §17.7.13" {
        CurrentLocation = 0, "currentLocation";
        CurrentOrLastKnownLocation = 1, "currentOrLastKnownLocation";
        InitialLocation = 2, "initialLocation";
        ActivateDeferredLocation = 3, "activateDeferredLocation";
        CancelDeferredLocation = 4, "cancelDeferredLocation";
        NotificationVerificationOnly = 5, "notificationVerificationOnly";
        ...
    }
}

ber::named! {
    pub DeferredLocationEventType =
        "DeferredLocationEventType", "TS 29.002 §17.7.13",
        BitString<1, 16>;
}

ber::sequence! {
    pub enum LocationType = "LocationType", "TS 29.002 §17.7.13" {
        LocationEstimateType = "locationEstimateType", LocationEstimateType [0];
        DeferredLocationEventType =
            "deferredLocationEventType", DeferredLocationEventType [1], optional;
        ...
    }
}

ber::enumerated! {
    pub enum LcsClientType: "LCSClientType", "TS 29.002 §17.7.13" {
        EmergencyServices = 0, "emergencyServices";
        ValueAddedServices = 1, "valueAddedServices";
        PlmnOperatorServices = 2, "plmnOperatorServices";
        LawfulInterceptServices = 3, "lawfulInterceptServices";
        ...
    }
}

ber::named! {
    pub NameString = "NameString", "TS 29.002 §17.7.13", OctetString<1, 63>;
}

ber::enumerated! {
    pub enum LcsFormatIndicator: "LCS-FormatIndicator", "TS 29.002 §17.7.13" {
        LogicalName = 0, "logicalName";
        EMailAddress = 1, "e-mailAddress";
        Msisdn = 2, "msisdn";
        Url = 3, "url";
        SipUrl = 4, "sipUrl";
        ...
    }
}

ber::sequence! {
    pub enum LcsClientName = "LCSClientName", "TS 29.002 §17.7.13" {
        DataCodingScheme = "dataCodingScheme", UssdDataCodingScheme [0];
        NameString = "nameString", NameString [2];
        LcsFormatIndicator = "lcs-FormatIndicator", LcsFormatIndicator [3], optional;
        ...
    }
}

ber::named! {
    pub RequestorIdString = "RequestorIDString", "TS 29.002 §17.7.13", OctetString<1, 63>;
}

ber::sequence! {
    pub enum LcsRequestorId = "LCSRequestorID", "TS 29.002 §17.7.13" {
        DataCodingScheme = "dataCodingScheme", UssdDataCodingScheme [0];
        RequestorIdString = "requestorIDString", RequestorIdString [1];
        LcsFormatIndicator = "lcs-FormatIndicator", LcsFormatIndicator [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum LcsClientId = "LCS-ClientID", "TS 29.002 §17.7.13" {
        LcsClientType = "lcsClientType", LcsClientType [0];
        LcsClientExternalId = "lcsClientExternalID", LcsClientExternalId [1], optional;
        LcsClientDialedByMs = "lcsClientDialedByMS", AddressString [2], optional;
        LcsClientInternalId = "lcsClientInternalID", LcsClientInternalId [3], optional;
        LcsClientName = "lcsClientName", LcsClientName [4], optional;
        LcsApn = "lcsAPN", Apn [5], optional;
        LcsRequestorId = "lcsRequestorID", LcsRequestorId [6], optional;
        ...
    }
}

ber::named! {
    pub LcsPriority = "LCS-Priority", "TS 29.002 §17.7.13", OctetString<1, 1>;
    pub HorizontalAccuracy = "Horizontal-Accuracy", "TS 29.002 §17.7.13", OctetString<1, 1>;
    pub VerticalAccuracy = "Vertical-Accuracy", "TS 29.002 §17.7.13", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum ResponseTimeCategory: "ResponseTimeCategory", "TS 29.002 §17.7.13" {
        Lowdelay = 0, "lowdelay";
        Delaytolerant = 1, "delaytolerant";
        ...
    }
}

ber::sequence! {
    pub enum ResponseTime = "ResponseTime", "TS 29.002 §17.7.13" {
        ResponseTimeCategory = "responseTimeCategory", ResponseTimeCategory;
        ...
    }
}

ber::sequence! {
    pub enum LcsQos = "LCS-QoS", "TS 29.002 §17.7.13" {
        HorizontalAccuracy = "horizontal-accuracy", HorizontalAccuracy [0], optional;
        VerticalCoordinateRequest = "verticalCoordinateRequest", Null [1], optional;
        VerticalAccuracy = "vertical-accuracy", VerticalAccuracy [2], optional;
        ResponseTime = "responseTime", ResponseTime [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        VelocityRequest = "velocityRequest", Null [5], optional;
        ...
    }
}

ber::named! {
    pub SupportedGadShapes = "SupportedGADShapes", "TS 29.002 §17.7.13", BitString<7, 16>;
    pub LcsReferenceNumber = "LCS-ReferenceNumber", "TS 29.002 §17.7.13", OctetString<1, 1>;
    pub LcsCodewordString = "LCSCodewordString", "TS 29.002 §17.7.13", OctetString<1, 20>;
}

ber::sequence! {
    pub enum LcsCodeword = "LCSCodeword", "TS 29.002 §17.7.13" {
        DataCodingScheme = "dataCodingScheme", UssdDataCodingScheme [0];
        LcsCodewordString = "lcsCodewordString", LcsCodewordString [1];
        ...
    }
}

ber::enumerated! {
    pub enum PrivacyCheckRelatedAction: "PrivacyCheckRelatedAction", "TS 29.002 §17.7.13" {
        AllowedWithoutNotification = 0, "allowedWithoutNotification";
        AllowedWithNotification = 1, "allowedWithNotification";
        AllowedIfNoResponse = 2, "allowedIfNoResponse";
        RestrictedIfNoResponse = 3, "restrictedIfNoResponse";
        NotAllowed = 4, "notAllowed";
        ...
    }
}

ber::sequence! {
    pub enum LcsPrivacyCheck = "LCS-PrivacyCheck", "TS 29.002 §17.7.13" {
        CallSessionUnrelated = "callSessionUnrelated", PrivacyCheckRelatedAction [0];
        CallSessionRelated = "callSessionRelated", PrivacyCheckRelatedAction [1], optional;
        ...
    }
}

ber::enumerated! {
    pub enum AreaType: "AreaType", "TS 29.002 §17.7.13" {
        CountryCode = 0, "countryCode";
        PlmnId = 1, "plmnId";
        LocationAreaId = 2, "locationAreaId";
        RoutingAreaId = 3, "routingAreaId";
        CellGlobalId = 4, "cellGlobalId";
        UtranCellId = 5, "utranCellId";
        ...
    }
}

ber::named! {
    pub AreaIdentification = "AreaIdentification", "TS 29.002 §17.7.13", OctetString<2, 7>;
}

ber::sequence! {
    pub enum Area = "Area", "TS 29.002 §17.7.13" {
        AreaType = "areaType", AreaType [0];
        AreaIdentification = "areaIdentification", AreaIdentification [1];
        ...
    }
}

ber::named! {
    pub AreaList = "AreaList", "TS 29.002 §17.7.13", SequenceOf<Area, 1, 10>;
}

ber::sequence! {
    pub enum AreaDefinition = "AreaDefinition", "TS 29.002 §17.7.13" {
        AreaList = "areaList", AreaList [0];
        ...
    }
}

ber::enumerated! {
    pub enum OccurrenceInfo: "OccurrenceInfo", "TS 29.002 §17.7.13" {
        OneTimeEvent = 0, "oneTimeEvent";
        MultipleTimeEvent = 1, "multipleTimeEvent";
        ...
    }
}

ber::named! {
    pub IntervalTime = "IntervalTime", "TS 29.002 §17.7.13", Integer<1, 32767>;
}

ber::sequence! {
    pub enum AreaEventInfo = "AreaEventInfo", "TS 29.002 §17.7.13" {
        AreaDefinition = "areaDefinition", AreaDefinition [0];
        OccurrenceInfo = "occurrenceInfo", OccurrenceInfo [1], optional;
        IntervalTime = "intervalTime", IntervalTime [2], optional;
        ...
    }
}

ber::named! {
    pub ReportingAmount = "ReportingAmount", "TS 29.002 §17.7.13", Integer<1, 8639999>;
    pub ReportingInterval = "ReportingInterval", "TS 29.002 §17.7.13", Integer<1, 8639999>;
}

ber::sequence! {
    pub enum PeriodicLdrInfo = "PeriodicLDRInfo", "TS 29.002 §17.7.13" {
        ReportingAmount = "reportingAmount", ReportingAmount;
        ReportingInterval = "reportingInterval", ReportingInterval;
        ...
    }
}

ber::enumerated! {
    pub enum RanTechnology: "RAN-Technology", "TS 29.002 §17.7.13" {
        Gsm = 0, "gsm";
        Umts = 1, "umts";
        ...
    }
}

ber::sequence! {
    pub enum ReportingPlmn = "ReportingPLMN", "TS 29.002 §17.7.13" {
        PlmnId = "plmn-Id", PlmnId [0];
        RanTechnology = "ran-Technology", RanTechnology [1], optional;
        RanPeriodicLocationSupport = "ran-PeriodicLocationSupport", Null [2], optional;
        ...
    }
}

ber::named! {
    pub PlmnList = "PLMNList", "TS 29.002 §17.7.13", SequenceOf<ReportingPlmn, 1, 20>;
}

ber::sequence! {
    pub enum ReportingPlmnList = "ReportingPLMNList", "TS 29.002 §17.7.13" {
        PlmnListPrioritized = "plmn-ListPrioritized", Null [0], optional;
        PlmnList = "plmn-List", PlmnList [1];
        ...
    }
}

ber::sequence! {
    pub enum ProvideSubscriberLocationArg =
        "ProvideSubscriberLocation-Arg", "TS 29.002 §17.7.13" {
        LocationType = "locationType", LocationType;
        MlcNumber = "mlc-Number", IsdnAddressString;
        LcsClientId = "lcs-ClientID", LcsClientId [0], optional;
        PrivacyOverride = "privacyOverride", Null [1], optional;
        Imsi = "imsi", Imsi [2], optional;
        Msisdn = "msisdn", IsdnAddressString [3], optional;
        Lmsi = "lmsi", Lmsi [4], optional;
        Imei = "imei", Imei [5], optional;
        LcsPriority = "lcs-Priority", LcsPriority [6], optional;
        LcsQos = "lcs-QoS", LcsQos [7], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [8], optional;
        SupportedGadShapes = "supportedGADShapes", SupportedGadShapes [9], optional;
        LcsReferenceNumber = "lcs-ReferenceNumber", LcsReferenceNumber [10], optional;
        LcsServiceTypeId = "lcsServiceTypeID", LcsServiceTypeId [11], optional;
        LcsCodeword = "lcsCodeword", LcsCodeword [12], optional;
        LcsPrivacyCheck = "lcs-PrivacyCheck", LcsPrivacyCheck [13], optional;
        AreaEventInfo = "areaEventInfo", AreaEventInfo [14], optional;
        HGmlcAddress = "h-gmlc-Address", GsnAddress [15], optional;
        MoLrShortCircuitIndicator = "mo-lrShortCircuitIndicator", Null [16], optional;
        PeriodicLdrInfo = "periodicLDRInfo", PeriodicLdrInfo [17], optional;
        ReportingPlmnList = "reportingPLMNList", ReportingPlmnList [18], optional;
        ...
    }
}

ber::named! {
    pub ExtGeographicalInformation =
        "Ext-GeographicalInformation", "TS 29.002 §17.7.13",
        OctetString<1, 20>;
    pub AddGeographicalInformation =
        "Add-GeographicalInformation", "TS 29.002 §17.7.13",
        OctetString<1, 91>;
    pub PositioningDataInformation =
        "PositioningDataInformation", "TS 29.002 §17.7.13",
        OctetString<2, 10>;
    pub UtranPositioningDataInfo =
        "UtranPositioningDataInfo", "TS 29.002 §17.7.13",
        OctetString<3, 11>;
}

ber::enumerated! {
    pub enum AccuracyFulfilmentIndicator: "AccuracyFulfilmentIndicator", "TS 29.002 §17.7.13" {
        RequestedAccuracyFulfilled = 0, "requestedAccuracyFulfilled";
        RequestedAccuracyNotFulfilled = 1, "requestedAccuracyNotFulfilled";
        ...
    }
}

ber::named! {
    pub VelocityEstimate = "VelocityEstimate", "TS 29.002 §17.7.13", OctetString<4, 7>;
    pub GeranGansSpositioningData =
        "GeranGANSSpositioningData", "TS 29.002 §17.7.13",
        OctetString<2, 10>;
    pub UtranGansSpositioningData =
        "UtranGANSSpositioningData", "TS 29.002 §17.7.13",
        OctetString<1, 9>;
}

ber::choice! {
    pub enum ServingNodeAddress = "ServingNodeAddress", "TS 29.002 §17.7.13" {
        MscNumber = "msc-Number", IsdnAddressString [0];
        SgsnNumber = "sgsn-Number", IsdnAddressString [1];
        MmeNumber = "mme-Number", DiameterIdentity [2];
    }
}

ber::named! {
    pub UtranAdditionalPositioningData =
        "UtranAdditionalPositioningData", "TS 29.002 §17.7.13",
        OctetString<1, 8>;
    pub UtranBaroPressureMeas =
        "UtranBaroPressureMeas", "TS 29.002 §17.7.13",
        Integer<30000, 115000>;
    pub UtranCivicAddress =
        "UtranCivicAddress", "TS 29.002 §17.7.13",
        OctetString<0, { usize::MAX }>;
}

ber::sequence! {
    pub enum ProvideSubscriberLocationRes =
        "ProvideSubscriberLocation-Res", "TS 29.002 §17.7.13" {
        LocationEstimate = "locationEstimate", ExtGeographicalInformation;
        AgeOfLocationEstimate = "ageOfLocationEstimate", AgeOfLocationInformation [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        AddLocationEstimate = "add-LocationEstimate", AddGeographicalInformation [2], optional;
        DeferredmtLrResponseIndicator = "deferredmt-lrResponseIndicator", Null [3], optional;
        GeranPositioningData = "geranPositioningData", PositioningDataInformation [4], optional;
        UtranPositioningData = "utranPositioningData", UtranPositioningDataInfo [5], optional;
        CellIdOrSai = "cellIdOrSai", CellGlobalIdOrServiceAreaIdOrLai [6], optional;
        SaiPresent = "sai-Present", Null [7], optional;
        AccuracyFulfilmentIndicator =
            "accuracyFulfilmentIndicator", AccuracyFulfilmentIndicator [8], optional;
        VelocityEstimate = "velocityEstimate", VelocityEstimate [9], optional;
        MoLrShortCircuitIndicator = "mo-lrShortCircuitIndicator", Null [10], optional;
        GeranGansSpositioningData =
            "geranGANSSpositioningData", GeranGansSpositioningData [11], optional;
        UtranGansSpositioningData =
            "utranGANSSpositioningData", UtranGansSpositioningData [12], optional;
        TargetServingNodeForHandover =
            "targetServingNodeForHandover", ServingNodeAddress [13], optional;
        UtranAdditionalPositioningData =
            "utranAdditionalPositioningData", UtranAdditionalPositioningData [14], optional;
        UtranBaroPressureMeas = "utranBaroPressureMeas", UtranBaroPressureMeas [15], optional;
        UtranCivicAddress = "utranCivicAddress", UtranCivicAddress [16], optional;
        ...
    }
}

ber::enumerated! {
    pub enum LcsEvent: "LCS-Event", "TS 29.002 §17.7.13" {
        EmergencyCallOrigination = 0, "emergencyCallOrigination";
        EmergencyCallRelease = 1, "emergencyCallRelease";
        MoLr = 2, "mo-lr";
        DeferredmtLrResponse = 3, "deferredmt-lrResponse";
        DeferredmoLrTttpInitiation = 4, "deferredmo-lrTTTPInitiation";
        EmergencyCallHandover = 5, "emergencyCallHandover";
        ...
    }
}

ber::enumerated! {
    pub enum TerminationCause: "TerminationCause", "TS 29.002 §17.7.13" {
        Normal = 0, "normal";
        Errorundefined = 1, "errorundefined";
        InternalTimeout = 2, "internalTimeout";
        Congestion = 3, "congestion";
        MtLrRestart = 4, "mt-lrRestart";
        PrivacyViolation = 5, "privacyViolation";
        ShapeOfLocationEstimateNotSupported = 6, "shapeOfLocationEstimateNotSupported";
        SubscriberTermination = 7, "subscriberTermination";
        UETermination = 8, "uETermination";
        NetworkTermination = 9, "networkTermination";
        ...
    }
}

ber::sequence! {
    pub enum DeferredmtLrData = "Deferredmt-lrData", "TS 29.002 §17.7.13" {
        DeferredLocationEventType = "deferredLocationEventType", DeferredLocationEventType;
        TerminationCause = "terminationCause", TerminationCause [0], optional;
        LcsLocationInfo = "lcsLocationInfo", LcsLocationInfo [1], optional;
        ...
    }
}

ber::named! {
    pub SequenceNumber = "SequenceNumber", "TS 29.002 §17.7.13", Integer<1, 8639999>;
}

ber::sequence! {
    pub enum SubscriberLocationReportArg = "SubscriberLocationReport-Arg", "TS 29.002 §17.7.13" {
        LcsEvent = "lcs-Event", LcsEvent;
        LcsClientId = "lcs-ClientID", LcsClientId;
        LcsLocationInfo = "lcsLocationInfo", LcsLocationInfo;
        Msisdn = "msisdn", IsdnAddressString [0], optional;
        Imsi = "imsi", Imsi [1], optional;
        Imei = "imei", Imei [2], optional;
        NaEsrd = "na-ESRD", IsdnAddressString [3], optional;
        NaEsrk = "na-ESRK", IsdnAddressString [4], optional;
        LocationEstimate = "locationEstimate", ExtGeographicalInformation [5], optional;
        AgeOfLocationEstimate = "ageOfLocationEstimate", AgeOfLocationInformation [6], optional;
        SlrArgExtensionContainer =
            "slr-ArgExtensionContainer", SlrArgExtensionContainer [7], optional;
        AddLocationEstimate = "add-LocationEstimate", AddGeographicalInformation [8], optional;
        DeferredmtLrData = "deferredmt-lrData", DeferredmtLrData [9], optional;
        LcsReferenceNumber = "lcs-ReferenceNumber", LcsReferenceNumber [10], optional;
        GeranPositioningData = "geranPositioningData", PositioningDataInformation [11], optional;
        UtranPositioningData = "utranPositioningData", UtranPositioningDataInfo [12], optional;
        CellIdOrSai = "cellIdOrSai", CellGlobalIdOrServiceAreaIdOrLai [13], optional;
        HGmlcAddress = "h-gmlc-Address", GsnAddress [14], optional;
        LcsServiceTypeId = "lcsServiceTypeID", LcsServiceTypeId [15], optional;
        SaiPresent = "sai-Present", Null [17], optional;
        PseudonymIndicator = "pseudonymIndicator", Null [18], optional;
        AccuracyFulfilmentIndicator =
            "accuracyFulfilmentIndicator", AccuracyFulfilmentIndicator [19], optional;
        VelocityEstimate = "velocityEstimate", VelocityEstimate [20], optional;
        SequenceNumber = "sequenceNumber", SequenceNumber [21], optional;
        PeriodicLdrInfo = "periodicLDRInfo", PeriodicLdrInfo [22], optional;
        MoLrShortCircuitIndicator = "mo-lrShortCircuitIndicator", Null [23], optional;
        GeranGansSpositioningData =
            "geranGANSSpositioningData", GeranGansSpositioningData [24], optional;
        UtranGansSpositioningData =
            "utranGANSSpositioningData", UtranGansSpositioningData [25], optional;
        TargetServingNodeForHandover =
            "targetServingNodeForHandover", ServingNodeAddress [26], optional;
        UtranAdditionalPositioningData =
            "utranAdditionalPositioningData", UtranAdditionalPositioningData [27], optional;
        UtranBaroPressureMeas = "utranBaroPressureMeas", UtranBaroPressureMeas [28], optional;
        UtranCivicAddress = "utranCivicAddress", UtranCivicAddress [29], optional;
        ...
    }
}

ber::sequence! {
    pub enum SubscriberLocationReportRes = "SubscriberLocationReport-Res", "TS 29.002 §17.7.13" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        NaEsrk = "na-ESRK", IsdnAddressString [0], optional;
        NaEsrd = "na-ESRD", IsdnAddressString [1], optional;
        HGmlcAddress = "h-gmlc-Address", GsnAddress [2], optional;
        MoLrShortCircuitIndicator = "mo-lrShortCircuitIndicator", Null [3], optional;
        ReportingPlmnList = "reportingPLMNList", ReportingPlmnList [4], optional;
        LcsReferenceNumber = "lcs-ReferenceNumber", LcsReferenceNumber [5], optional;
        ...
    }
}
