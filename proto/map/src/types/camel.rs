//! CAMEL subscription (TS 29.002 §17.7.1, §17.7.3).

use super::identities::{
    ExtBasicServiceCode, ExtSsStatus, ExtensionContainer, GsnAddress, IsdnAddressString,
    LcsClientExternalId, LcsClientInternalId, LcsServiceTypeId, SsCode,
};
use super::location_service::Apn;
use ber::{BitString, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub SupportedCamelPhases = "SupportedCamelPhases", "TS 29.002 §17.7.1", BitString<1, 16>;
    pub OfferedCamel4CsIs = "OfferedCamel4CSIs", "TS 29.002 §17.7.1", BitString<7, 16>;
}

ber::enumerated! {
    pub enum TBcsmTriggerDetectionPoint: "T-BcsmTriggerDetectionPoint", "TS 29.002 §17.7.1" {
        TermAttemptAuthorized = 12, "termAttemptAuthorized";
        TBusy = 13, "tBusy";
        TNoAnswer = 14, "tNoAnswer";
        ...
    }
}

ber::named! {
    pub ServiceKey = "ServiceKey", "TS 29.002 §17.7.1", Integer<0, 2147483647>;
}

ber::enumerated! {
    pub enum DefaultCallHandling: "DefaultCallHandling", "TS 29.002 §17.7.1" {
        ContinueCall = 0, "continueCall";
        ReleaseCall = 1, "releaseCall";
        ...
    }
}

ber::sequence! {
    pub enum TBcsmCamelTdpData = "T-BcsmCamelTDPData", "TS 29.002 §17.7.1" {
        TBcsmTriggerDetectionPoint = "t-BcsmTriggerDetectionPoint", TBcsmTriggerDetectionPoint;
        ServiceKey = "serviceKey", ServiceKey;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [0];
        DefaultCallHandling = "defaultCallHandling", DefaultCallHandling [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub TBcsmCamelTdpDataList =
        "T-BcsmCamelTDPDataList", "TS 29.002 §17.7.1",
        SequenceOf<TBcsmCamelTdpData, 1, 10>;
    pub CamelCapabilityHandling = "CamelCapabilityHandling", "TS 29.002 §17.7.1", Integer<1, 16>;
}

ber::sequence! {
    pub enum TCsi = "T-CSI", "TS 29.002 §17.7.1" {
        TBcsmCamelTdpDataList = "t-BcsmCamelTDPDataList", TBcsmCamelTdpDataList;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        CamelCapabilityHandling =
            "camelCapabilityHandling", CamelCapabilityHandling [0], optional;
        NotificationToCse = "notificationToCSE", Null [1], optional;
        CsiActive = "csi-Active", Null [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum OBcsmTriggerDetectionPoint: "O-BcsmTriggerDetectionPoint", "TS 29.002 §17.7.1" {
        CollectedInfo = 2, "collectedInfo";
        RouteSelectFailure = 4, "routeSelectFailure";
        ...
    }
}

ber::sequence! {
    pub enum OBcsmCamelTdpData = "O-BcsmCamelTDPData", "TS 29.002 §17.7.1" {
        OBcsmTriggerDetectionPoint = "o-BcsmTriggerDetectionPoint", OBcsmTriggerDetectionPoint;
        ServiceKey = "serviceKey", ServiceKey;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [0];
        DefaultCallHandling = "defaultCallHandling", DefaultCallHandling [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub OBcsmCamelTdpDataList =
        "O-BcsmCamelTDPDataList", "TS 29.002 §17.7.1",
        SequenceOf<OBcsmCamelTdpData, 1, 10>;
}

ber::sequence! {
    pub enum OCsi = "O-CSI", "TS 29.002 §17.7.1" {
        OBcsmCamelTdpDataList = "o-BcsmCamelTDPDataList", OBcsmCamelTdpDataList;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        CamelCapabilityHandling =
            "camelCapabilityHandling", CamelCapabilityHandling [0], optional;
        NotificationToCse = "notificationToCSE", Null [1], optional;
        CsiActive = "csiActive", Null [2], optional;
        ...
    }
}

ber::enumerated! {
    pub enum MatchType: "MatchType", "TS 29.002 §17.7.1" {
        Inhibiting = 0, "inhibiting";
        Enabling = 1, "enabling";
    }
}

ber::named! {
    pub DestinationNumberList =
        "DestinationNumberList", "TS 29.002 §17.7.1",
        SequenceOf<IsdnAddressString, 1, 10>;
    pub DestinationNumberLengthList =
        "DestinationNumberLengthList", "TS 29.002 §17.7.1",
        SequenceOf<Integer<1, 15>, 1, 3>;
}

ber::sequence! {
    pub enum DestinationNumberCriteria = "DestinationNumberCriteria", "TS 29.002 §17.7.1" {
        MatchType = "matchType", MatchType [0];
        DestinationNumberList = "destinationNumberList", DestinationNumberList [1], optional;
        DestinationNumberLengthList =
            "destinationNumberLengthList", DestinationNumberLengthList [2], optional;
        ...
    }
}

ber::named! {
    pub BasicServiceCriteria =
        "BasicServiceCriteria", "TS 29.002 §17.7.1",
        SequenceOf<ExtBasicServiceCode, 1, 5>;
}

ber::enumerated! {
    pub enum CallTypeCriteria: "CallTypeCriteria", "TS 29.002 §17.7.1" {
        Forwarded = 0, "forwarded";
        NotForwarded = 1, "notForwarded";
    }
}

ber::named! {
    pub CauseValue = "CauseValue", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub OCauseValueCriteria =
        "O-CauseValueCriteria", "TS 29.002 §17.7.1",
        SequenceOf<CauseValue, 1, 5>;
}

ber::sequence! {
    pub enum OBcsmCamelTdpCriteria = "O-BcsmCamelTDP-Criteria", "TS 29.002 §17.7.1" {
        OBcsmTriggerDetectionPoint = "o-BcsmTriggerDetectionPoint", OBcsmTriggerDetectionPoint;
        DestinationNumberCriteria =
            "destinationNumberCriteria", DestinationNumberCriteria [0], optional;
        BasicServiceCriteria = "basicServiceCriteria", BasicServiceCriteria [1], optional;
        CallTypeCriteria = "callTypeCriteria", CallTypeCriteria [2], optional;
        OCauseValueCriteria = "o-CauseValueCriteria", OCauseValueCriteria [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::named! {
    pub OBcsmCamelTdpCriteriaList =
        "O-BcsmCamelTDPCriteriaList", "TS 29.002 §17.7.1",
        SequenceOf<OBcsmCamelTdpCriteria, 1, 10>;
    pub TCauseValueCriteria =
        "T-CauseValueCriteria", "TS 29.002 §17.7.1",
        SequenceOf<CauseValue, 1, 5>;
}

ber::sequence! {
    pub enum TBcsmCamelTdpCriteria = "T-BCSM-CAMEL-TDP-Criteria", "TS 29.002 §17.7.1" {
        TBcsmTriggerDetectionPoint = "t-BCSM-TriggerDetectionPoint", TBcsmTriggerDetectionPoint;
        BasicServiceCriteria = "basicServiceCriteria", BasicServiceCriteria [0], optional;
        TCauseValueCriteria = "t-CauseValueCriteria", TCauseValueCriteria [1], optional;
        ...
    }
}

ber::named! {
    pub TBcsmCamelTdpCriteriaList =
        "T-BCSM-CAMEL-TDP-CriteriaList", "TS 29.002 §17.7.1",
        SequenceOf<TBcsmCamelTdpCriteria, 1, 10>;
}

ber::sequence! {
    pub enum DpAnalysedInfoCriterium = "DP-AnalysedInfoCriterium", "TS 29.002 §17.7.1" {
        DialledNumber = "dialledNumber", IsdnAddressString;
        ServiceKey = "serviceKey", ServiceKey;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString;
        DefaultCallHandling = "defaultCallHandling", DefaultCallHandling;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub DpAnalysedInfoCriteriaList =
        "DP-AnalysedInfoCriteriaList", "TS 29.002 §17.7.1",
        SequenceOf<DpAnalysedInfoCriterium, 1, 10>;
}

ber::sequence! {
    pub enum DCsi = "D-CSI", "TS 29.002 §17.7.1" {
        DpAnalysedInfoCriteriaList =
            "dp-AnalysedInfoCriteriaList", DpAnalysedInfoCriteriaList [0], optional;
        CamelCapabilityHandling =
            "camelCapabilityHandling", CamelCapabilityHandling [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        NotificationToCse = "notificationToCSE", Null [3], optional;
        CsiActive = "csi-Active", Null [4], optional;
        ...
    }
}

ber::named! {
    pub ContextId = "ContextId", "TS 29.002 §17.7.1", Integer<1, 50>;
    pub PdpType = "PDP-Type", "TS 29.002 §17.7.1", OctetString<2, 2>;
    pub PdpAddress = "PDP-Address", "TS 29.002 §17.7.1", OctetString<1, 16>;
    pub Nsapi = "NSAPI", "TS 29.002 §17.7.1", Integer<0, 15>;
    pub TransactionId = "TransactionId", "TS 29.002 §17.7.1", OctetString<1, 2>;
    pub Teid = "TEID", "TS 29.002 §17.7.1", OctetString<4, 4>;
    pub ExtQosSubscribed = "Ext-QoS-Subscribed", "TS 29.002 §17.7.1", OctetString<1, 9>;
    pub GprsChargingId = "GPRSChargingID", "TS 29.002 §17.7.1", OctetString<4, 4>;
    pub ChargingCharacteristics =
        "ChargingCharacteristics", "TS 29.002 §17.7.1",
        OctetString<2, 2>;
    pub Ext2QosSubscribed = "Ext2-QoS-Subscribed", "TS 29.002 §17.7.1", OctetString<1, 3>;
    pub Ext3QosSubscribed = "Ext3-QoS-Subscribed", "TS 29.002 §17.7.1", OctetString<1, 2>;
    pub Ext4QosSubscribed = "Ext4-QoS-Subscribed", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub ExtPdpType = "Ext-PDP-Type", "TS 29.002 §17.7.1", OctetString<2, 2>;
}

ber::sequence! {
    pub enum PdpContextInfo = "PDP-ContextInfo", "TS 29.002 §17.7.1" {
        PdpContextIdentifier = "pdp-ContextIdentifier", ContextId [0];
        PdpContextActive = "pdp-ContextActive", Null [1], optional;
        PdpType = "pdp-Type", PdpType [2];
        PdpAddress = "pdp-Address", PdpAddress [3], optional;
        ApnSubscribed = "apn-Subscribed", Apn [4], optional;
        ApnInUse = "apn-InUse", Apn [5], optional;
        Nsapi = "nsapi", Nsapi [6], optional;
        TransactionId = "transactionId", TransactionId [7], optional;
        TeidForGnAndGp = "teid-ForGnAndGp", Teid [8], optional;
        TeidForIu = "teid-ForIu", Teid [9], optional;
        GgsnAddress = "ggsn-Address", GsnAddress [10], optional;
        QosSubscribed = "qos-Subscribed", ExtQosSubscribed [11], optional;
        QosRequested = "qos-Requested", ExtQosSubscribed [12], optional;
        QosNegotiated = "qos-Negotiated", ExtQosSubscribed [13], optional;
        ChargingId = "chargingId", GprsChargingId [14], optional;
        ChargingCharacteristics =
            "chargingCharacteristics", ChargingCharacteristics [15], optional;
        RncAddress = "rnc-Address", GsnAddress [16], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [17], optional;
        Qos2Subscribed = "qos2-Subscribed", Ext2QosSubscribed [18], optional;
        Qos2Requested = "qos2-Requested", Ext2QosSubscribed [19], optional;
        Qos2Negotiated = "qos2-Negotiated", Ext2QosSubscribed [20], optional;
        Qos3Subscribed = "qos3-Subscribed", Ext3QosSubscribed [21], optional;
        Qos3Requested = "qos3-Requested", Ext3QosSubscribed [22], optional;
        Qos3Negotiated = "qos3-Negotiated", Ext3QosSubscribed [23], optional;
        Qos4Subscribed = "qos4-Subscribed", Ext4QosSubscribed [25], optional;
        Qos4Requested = "qos4-Requested", Ext4QosSubscribed [26], optional;
        Qos4Negotiated = "qos4-Negotiated", Ext4QosSubscribed [27], optional;
        ExtPdpType = "ext-pdp-Type", ExtPdpType [28], optional;
        ExtPdpAddress = "ext-pdp-Address", PdpAddress [29], optional;
        ...
    }
}

ber::named! {
    pub PdpContextInfoList =
        "PDP-ContextInfoList", "TS 29.002 §17.7.1",
        SequenceOf<PdpContextInfo, 1, 50>;
    pub Fqdn = "FQDN", "TS 29.002 §17.7.1", OctetString<9, 255>;
}

ber::enumerated! {
    pub enum RequestedCamelSubscriptionInfo:
        "RequestedCAMEL-SubscriptionInfo", "TS 29.002 §17.7.1" {
        OCsi = 0, "o-CSI";
        TCsi = 1, "t-CSI";
        VtCsi = 2, "vt-CSI";
        TifCsi = 3, "tif-CSI";
        GprsCsi = 4, "gprs-CSI";
        MoSmsCsi = 5, "mo-sms-CSI";
        SsCsi = 6, "ss-CSI";
        MCsi = 7, "m-CSI";
        DCsi = 8, "d-csi";
    }
}

ber::enumerated! {
    pub enum AdditionalRequestedCamelSubscriptionInfo:
        "AdditionalRequestedCAMEL-SubscriptionInfo", "TS 29.002 §17.7.1" {
        MtSmsCsi = 0, "mt-sms-CSI";
        MgCsi = 1, "mg-csi";
        OImCsi = 2, "o-IM-CSI";
        DImCsi = 3, "d-IM-CSI";
        VtImCsi = 4, "vt-IM-CSI";
        ...
    }
}

ber::enumerated! {
    pub enum GprsTriggerDetectionPoint: "GPRS-TriggerDetectionPoint", "TS 29.002 §17.7.1" {
        Attach = 1, "attach";
        AttachChangeOfPosition = 2, "attachChangeOfPosition";
        PdpContextEstablishment = 11, "pdp-ContextEstablishment";
        PdpContextEstablishmentAcknowledgement = 12, "pdp-ContextEstablishmentAcknowledgement";
        PdpContextChangeOfPosition = 14, "pdp-ContextChangeOfPosition";
        ...
    }
}

ber::enumerated! {
    pub enum DefaultGprsHandling: "DefaultGPRS-Handling", "TS 29.002 §17.7.1" {
        ContinueTransaction = 0, "continueTransaction";
        ReleaseTransaction = 1, "releaseTransaction";
        ...
    }
}

ber::sequence! {
    pub enum GprsCamelTdpData = "GPRS-CamelTDPData", "TS 29.002 §17.7.1" {
        GprsTriggerDetectionPoint = "gprs-TriggerDetectionPoint", GprsTriggerDetectionPoint [0];
        ServiceKey = "serviceKey", ServiceKey [1];
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [2];
        DefaultSessionHandling = "defaultSessionHandling", DefaultGprsHandling [3];
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::named! {
    pub GprsCamelTdpDataList =
        "GPRS-CamelTDPDataList", "TS 29.002 §17.7.1",
        SequenceOf<GprsCamelTdpData, 1, 10>;
}

ber::sequence! {
    pub enum GprsCsi = "GPRS-CSI", "TS 29.002 §17.7.1" {
        GprsCamelTdpDataList = "gprs-CamelTDPDataList", GprsCamelTdpDataList [0], optional;
        CamelCapabilityHandling =
            "camelCapabilityHandling", CamelCapabilityHandling [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        NotificationToCse = "notificationToCSE", Null [3], optional;
        CsiActive = "csi-Active", Null [4], optional;
        ...
    }
}

ber::enumerated! {
    pub enum SmsTriggerDetectionPoint: "SMS-TriggerDetectionPoint", "TS 29.002 §17.7.1" {
        SmsCollectedInfo = 1, "sms-CollectedInfo";
        SmsDeliveryRequest = 2, "sms-DeliveryRequest";
        ...
    }
}

ber::enumerated! {
    pub enum DefaultSmsHandling: "DefaultSMS-Handling", "TS 29.002 §17.7.1" {
        ContinueTransaction = 0, "continueTransaction";
        ReleaseTransaction = 1, "releaseTransaction";
        ...
    }
}

ber::sequence! {
    pub enum SmsCamelTdpData = "SMS-CAMEL-TDP-Data", "TS 29.002 §17.7.1" {
        SmsTriggerDetectionPoint = "sms-TriggerDetectionPoint", SmsTriggerDetectionPoint [0];
        ServiceKey = "serviceKey", ServiceKey [1];
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [2];
        DefaultSmsHandling = "defaultSMS-Handling", DefaultSmsHandling [3];
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::named! {
    pub SmsCamelTdpDataList =
        "SMS-CAMEL-TDP-DataList", "TS 29.002 §17.7.1",
        SequenceOf<SmsCamelTdpData, 1, 10>;
}

ber::sequence! {
    pub enum SmsCsi = "SMS-CSI", "TS 29.002 §17.7.1" {
        SmsCamelTdpDataList = "sms-CAMEL-TDP-DataList", SmsCamelTdpDataList [0], optional;
        CamelCapabilityHandling =
            "camelCapabilityHandling", CamelCapabilityHandling [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        NotificationToCse = "notificationToCSE", Null [3], optional;
        CsiActive = "csi-Active", Null [4], optional;
        ...
    }
}

ber::named! {
    pub SsEventList = "SS-EventList", "TS 29.002 §17.7.1", SequenceOf<SsCode, 1, 10>;
}

ber::sequence! {
    pub enum SsCamelData = "SS-CamelData", "TS 29.002 §17.7.1" {
        SsEventList = "ss-EventList", SsEventList;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum SsCsi = "SS-CSI", "TS 29.002 §17.7.1" {
        SsCamelData = "ss-CamelData", SsCamelData;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        NotificationToCse = "notificationToCSE", Null [0], optional;
        CsiActive = "csi-Active", Null [1], optional;
        ...
    }
}

ber::named! {
    pub MmCode = "MM-Code", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub MobilityTriggers = "MobilityTriggers", "TS 29.002 §17.7.1", SequenceOf<MmCode, 1, 10>;
}

ber::sequence! {
    pub enum MCsi = "M-CSI", "TS 29.002 §17.7.1" {
        MobilityTriggers = "mobilityTriggers", MobilityTriggers;
        ServiceKey = "serviceKey", ServiceKey;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        NotificationToCse = "notificationToCSE", Null [2], optional;
        CsiActive = "csi-Active", Null [3], optional;
        ...
    }
}

ber::named! {
    pub SpecificCsiWithdraw = "SpecificCSI-Withdraw", "TS 29.002 §17.7.1", BitString<8, 32>;
}

ber::enumerated! {
    pub enum MtSmsTpduType: "MT-SMS-TPDU-Type", "TS 29.002 §17.7.1" {
        SmsDeliver = 0, "sms-DELIVER";
        SmsSubmitReport = 1, "sms-SUBMIT-REPORT";
        SmsStatusReport = 2, "sms-STATUS-REPORT";
        ...
    }
}

ber::named! {
    pub TpduTypeCriterion =
        "TPDU-TypeCriterion", "TS 29.002 §17.7.1",
        SequenceOf<MtSmsTpduType, 1, 5>;
}

ber::sequence! {
    pub enum MtSmsCameltdpCriteria = "MT-smsCAMELTDP-Criteria", "TS 29.002 §17.7.1" {
        SmsTriggerDetectionPoint = "sms-TriggerDetectionPoint", SmsTriggerDetectionPoint;
        TpduTypeCriterion = "tpdu-TypeCriterion", TpduTypeCriterion [0], optional;
        ...
    }
}

ber::named! {
    pub MtSmsCameltdpCriteriaList =
        "MT-smsCAMELTDP-CriteriaList", "TS 29.002 §17.7.1",
        SequenceOf<MtSmsCameltdpCriteria, 1, 10>;
}

ber::sequence! {
    pub enum MgCsi = "MG-CSI", "TS 29.002 §17.7.1" {
        MobilityTriggers = "mobilityTriggers", MobilityTriggers;
        ServiceKey = "serviceKey", ServiceKey;
        GsmScfAddress = "gsmSCF-Address", IsdnAddressString [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        NotificationToCse = "notificationToCSE", Null [2], optional;
        CsiActive = "csi-Active", Null [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum CamelSubscriptionInfo = "CAMEL-SubscriptionInfo", "TS 29.002 §17.7.1" {
        OCsi = "o-CSI", OCsi [0], optional;
        OBcsmCamelTdpCriteriaList =
            "o-BcsmCamelTDP-CriteriaList", OBcsmCamelTdpCriteriaList [1], optional;
        DCsi = "d-CSI", DCsi [2], optional;
        TCsi = "t-CSI", TCsi [3], optional;
        TBcsmCamelTdpCriteriaList =
            "t-BCSM-CAMEL-TDP-CriteriaList", TBcsmCamelTdpCriteriaList [4], optional;
        VtCsi = "vt-CSI", TCsi [5], optional;
        VtBcsmCamelTdpCriteriaList =
            "vt-BCSM-CAMEL-TDP-CriteriaList", TBcsmCamelTdpCriteriaList [6], optional;
        TifCsi = "tif-CSI", Null [7], optional;
        TifCsiNotificationToCse = "tif-CSI-NotificationToCSE", Null [8], optional;
        GprsCsi = "gprs-CSI", GprsCsi [9], optional;
        MoSmsCsi = "mo-sms-CSI", SmsCsi [10], optional;
        SsCsi = "ss-CSI", SsCsi [11], optional;
        MCsi = "m-CSI", MCsi [12], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [13], optional;
        SpecificCsiDeletedList = "specificCSIDeletedList", SpecificCsiWithdraw [14], optional;
        MtSmsCsi = "mt-sms-CSI", SmsCsi [15], optional;
        MtSmsCameltdpCriteriaList =
            "mt-smsCAMELTDP-CriteriaList", MtSmsCameltdpCriteriaList [16], optional;
        MgCsi = "mg-csi", MgCsi [17], optional;
        OImCsi = "o-IM-CSI", OCsi [18], optional;
        OImBcsmCamelTdpCriteriaList =
            "o-IM-BcsmCamelTDP-CriteriaList", OBcsmCamelTdpCriteriaList [19], optional;
        DImCsi = "d-IM-CSI", DCsi [20], optional;
        VtImCsi = "vt-IM-CSI", TCsi [21], optional;
        VtImBcsmCamelTdpCriteriaList =
            "vt-IM-BCSM-CAMEL-TDP-CriteriaList", TBcsmCamelTdpCriteriaList [22], optional;
        ...
    }
}

ber::enumerated! {
    pub enum ModificationInstruction: "ModificationInstruction", "TS 29.002 §17.7.1" {
        Deactivate = 0, "deactivate";
        Activate = 1, "activate";
    }
}

ber::sequence! {
    pub enum ModificationRequestForCsi = "ModificationRequestFor-CSI", "TS 29.002 §17.7.1" {
        RequestedCamelSubscriptionInfo =
            "requestedCamel-SubscriptionInfo", RequestedCamelSubscriptionInfo [0];
        ModifyNotificationToCse =
            "modifyNotificationToCSE", ModificationInstruction [1], optional;
        ModifyCsiState = "modifyCSI-State", ModificationInstruction [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        AdditionalRequestedCamelSubscriptionInfo =
            "additionalRequestedCAMEL-SubscriptionInfo",
            AdditionalRequestedCamelSubscriptionInfo [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum VlrCamelSubscriptionInfo = "VlrCamelSubscriptionInfo", "TS 29.002 §17.7.1" {
        OCsi = "o-CSI", OCsi [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        SsCsi = "ss-CSI", SsCsi [2], optional;
        OBcsmCamelTdpCriteriaList =
            "o-BcsmCamelTDP-CriteriaList", OBcsmCamelTdpCriteriaList [4], optional;
        TifCsi = "tif-CSI", Null [3], optional;
        MCsi = "m-CSI", MCsi [5], optional;
        MoSmsCsi = "mo-sms-CSI", SmsCsi [6], optional;
        VtCsi = "vt-CSI", TCsi [7], optional;
        TBcsmCamelTdpCriteriaList =
            "t-BCSM-CAMEL-TDP-CriteriaList", TBcsmCamelTdpCriteriaList [8], optional;
        DCsi = "d-CSI", DCsi [9], optional;
        MtSmsCsi = "mt-sms-CSI", SmsCsi [10], optional;
        MtSmsCameltdpCriteriaList =
            "mt-smsCAMELTDP-CriteriaList", MtSmsCameltdpCriteriaList [11], optional;
        ...
    }
}

ber::named! {
    pub QosSubscribed = "QoS-Subscribed", "TS 29.002 §17.7.1", OctetString<3, 3>;
    pub ApnOiReplacement = "APN-OI-Replacement", "TS 29.002 §17.7.1", OctetString<9, 100>;
    pub Bandwidth = "Bandwidth", "TS 29.002 §17.7.1", Integer<{ i64::MIN }, { i64::MAX }>;
    pub BandwidthExt = "BandwidthExt", "TS 29.002 §17.7.1", Integer<{ i64::MIN }, { i64::MAX }>;
}

ber::sequence! {
    pub enum Ambr = "AMBR", "TS 29.002 §17.7.1" {
        MaxRequestedBandwidthUl = "max-RequestedBandwidth-UL", Bandwidth [0];
        MaxRequestedBandwidthDl = "max-RequestedBandwidth-DL", Bandwidth [1];
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ExtendedMaxRequestedBandwidthUl =
            "extended-Max-RequestedBandwidth-UL", BandwidthExt [3], optional;
        ExtendedMaxRequestedBandwidthDl =
            "extended-Max-RequestedBandwidth-DL", BandwidthExt [4], optional;
        ...
    }
}

ber::enumerated! {
    pub enum SiptoPermission: "SIPTO-Permission", "TS 29.002 §17.7.1" {
        SiptoAboveRanAllowed = 0, "siptoAboveRanAllowed";
        SiptoAboveRanNotAllowed = 1, "siptoAboveRanNotAllowed";
    }
}

ber::enumerated! {
    pub enum LipaPermission: "LIPA-Permission", "TS 29.002 §17.7.1" {
        LipaProhibited = 0, "lipaProhibited";
        LipaOnly = 1, "lipaOnly";
        LipaConditional = 2, "lipaConditional";
    }
}

ber::named! {
    pub RestorationPriority = "Restoration-Priority", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum SiptoLocalNetworkPermission: "SIPTO-Local-Network-Permission", "TS 29.002 §17.7.1" {
        SiptoAtLocalNetworkAllowed = 0, "siptoAtLocalNetworkAllowed";
        SiptoAtLocalNetworkNotAllowed = 1, "siptoAtLocalNetworkNotAllowed";
    }
}

ber::enumerated! {
    pub enum NiddMechanism: "NIDD-Mechanism", "TS 29.002 §17.7.1" {
        SGiBasedDataDelivery = 0, "sGi-based-data-delivery";
        SCefBasedDataDelivery = 1, "sCEF-based-data-delivery";
    }
}

ber::sequence! {
    pub enum PdpContext = "PDP-Context", "TS 29.002 §17.7.1" {
        PdpContextId = "pdp-ContextId", ContextId;
        PdpType = "pdp-Type", PdpType [16];
        PdpAddress = "pdp-Address", PdpAddress [17], optional;
        QosSubscribed = "qos-Subscribed", QosSubscribed [18];
        VplmnAddressAllowed = "vplmnAddressAllowed", Null [19], optional;
        Apn = "apn", Apn [20];
        ExtensionContainer = "extensionContainer", ExtensionContainer [21], optional;
        ExtQosSubscribed = "ext-QoS-Subscribed", ExtQosSubscribed [0], optional;
        PdpChargingCharacteristics =
            "pdp-ChargingCharacteristics", ChargingCharacteristics [1], optional;
        Ext2QosSubscribed = "ext2-QoS-Subscribed", Ext2QosSubscribed [2], optional;
        Ext3QosSubscribed = "ext3-QoS-Subscribed", Ext3QosSubscribed [3], optional;
        Ext4QosSubscribed = "ext4-QoS-Subscribed", Ext4QosSubscribed [4], optional;
        ApnOiReplacement = "apn-oi-Replacement", ApnOiReplacement [5], optional;
        ExtPdpType = "ext-pdp-Type", ExtPdpType [6], optional;
        ExtPdpAddress = "ext-pdp-Address", PdpAddress [7], optional;
        Ambr = "ambr", Ambr [10], optional;
        SiptoPermission = "sipto-Permission", SiptoPermission [8], optional;
        LipaPermission = "lipa-Permission", LipaPermission [9], optional;
        RestorationPriority = "restoration-Priority", RestorationPriority [11], optional;
        SiptoLocalNetworkPermission =
            "sipto-local-network-Permission", SiptoLocalNetworkPermission [12], optional;
        NIddMechanism = "nIDD-Mechanism", NiddMechanism [13], optional;
        SCefId = "sCEF-ID", Fqdn [14], optional;
        ...
    }
}

ber::named! {
    pub GmlcList = "GMLC-List", "TS 29.002 §17.7.1", SequenceOf<IsdnAddressString, 1, 5>;
}

ber::enumerated! {
    pub enum NotificationToMsUser: "NotificationToMSUser", "TS 29.002 §17.7.1" {
        NotifyLocationAllowed = 0, "notifyLocationAllowed";
        NotifyAndVerifyLocationAllowedIfNoResponse = 1,
            "notifyAndVerify-LocationAllowedIfNoResponse";
        NotifyAndVerifyLocationNotAllowedIfNoResponse = 2,
            "notifyAndVerify-LocationNotAllowedIfNoResponse";
        LocationNotAllowed = 3, "locationNotAllowed";
        ...
    }
}

ber::enumerated! {
    pub enum GmlcRestriction: "GMLC-Restriction", "TS 29.002 §17.7.1" {
        GmlcList = 0, "gmlc-List";
        HomeCountry = 1, "home-Country";
        ...
    }
}

ber::sequence! {
    pub enum ExternalClient = "ExternalClient", "TS 29.002 §17.7.1" {
        ClientIdentity = "clientIdentity", LcsClientExternalId;
        GmlcRestriction = "gmlc-Restriction", GmlcRestriction [0], optional;
        NotificationToMsUser = "notificationToMSUser", NotificationToMsUser [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub ExternalClientList =
        "ExternalClientList", "TS 29.002 §17.7.1",
        SequenceOf<ExternalClient, 0, 5>;
    pub PlmnClientList =
        "PLMNClientList", "TS 29.002 §17.7.1",
        SequenceOf<LcsClientInternalId, 1, 5>;
    pub ExtExternalClientList =
        "Ext-ExternalClientList", "TS 29.002 §17.7.1",
        SequenceOf<ExternalClient, 1, 35>;
}

ber::sequence! {
    pub enum ServiceType = "ServiceType", "TS 29.002 §17.7.1" {
        ServiceTypeIdentity = "serviceTypeIdentity", LcsServiceTypeId;
        GmlcRestriction = "gmlc-Restriction", GmlcRestriction [0], optional;
        NotificationToMsUser = "notificationToMSUser", NotificationToMsUser [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub ServiceTypeList = "ServiceTypeList", "TS 29.002 §17.7.1", SequenceOf<ServiceType, 1, 32>;
}

ber::sequence! {
    pub enum LcsPrivacyClass = "LCS-PrivacyClass", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode;
        SsStatus = "ss-Status", ExtSsStatus;
        NotificationToMsUser = "notificationToMSUser", NotificationToMsUser [0], optional;
        ExternalClientList = "externalClientList", ExternalClientList [1], optional;
        PlmnClientList = "plmnClientList", PlmnClientList [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ExtExternalClientList = "ext-externalClientList", ExtExternalClientList [4], optional;
        ServiceTypeList = "serviceTypeList", ServiceTypeList [5], optional;
        ...
    }
}

ber::named! {
    pub LcsPrivacyExceptionList =
        "LCS-PrivacyExceptionList", "TS 29.002 §17.7.1",
        SequenceOf<LcsPrivacyClass, 1, 4>;
}

ber::sequence! {
    pub enum MolrClass = "MOLR-Class", "TS 29.002 §17.7.1" {
        SsCode = "ss-Code", SsCode;
        SsStatus = "ss-Status", ExtSsStatus;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::named! {
    pub MolrList = "MOLR-List", "TS 29.002 §17.7.1", SequenceOf<MolrClass, 1, 3>;
}

ber::sequence! {
    pub enum LcsInformation = "LCSInformation", "TS 29.002 §17.7.1" {
        GmlcList = "gmlc-List", GmlcList [0], optional;
        LcsPrivacyExceptionList =
            "lcs-PrivacyExceptionList", LcsPrivacyExceptionList [1], optional;
        MolrList = "molr-List", MolrList [2], optional;
        AddLcsPrivacyExceptionList =
            "add-lcs-PrivacyExceptionList", LcsPrivacyExceptionList [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum SgsnCamelSubscriptionInfo = "SGSN-CAMEL-SubscriptionInfo", "TS 29.002 §17.7.1" {
        GprsCsi = "gprs-CSI", GprsCsi [0], optional;
        MoSmsCsi = "mo-sms-CSI", SmsCsi [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        MtSmsCsi = "mt-sms-CSI", SmsCsi [3], optional;
        MtSmsCameltdpCriteriaList =
            "mt-smsCAMELTDP-CriteriaList", MtSmsCameltdpCriteriaList [4], optional;
        MgCsi = "mg-csi", MgCsi [5], optional;
        ...
    }
}

ber::named! {
    pub OfferedCamel4Functionalities =
        "OfferedCamel4Functionalities", "TS 29.002 §17.7.1",
        BitString<15, 64>;
}
