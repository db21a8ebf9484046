//! GPRS: gprsSSF (TS 29.078 §5.1, §8.1).

use super::charging::{AocSubsequent, CaiGsm0224, ChargingCharacteristics};
use super::events::MonitorMode;
use super::parties::{
    Extensions, Integer4, MiscCallInfo, ServiceKey, SgsnCapabilities, TimeAndTimezone, TimerId,
    TimerValue,
};
use ber::{Boolean, Integer, Null, OctetString, SequenceOf};
use map::types::{
    Ext2QosSubscribed, Ext3QosSubscribed, ExtQosSubscribed, ExtensionContainer,
    GeographicalInformation, GprsChargingId, GprsMsClass, GsnAddress, Imei, Imsi,
    IsdnAddressString, LsaIdentity, QosSubscribed, RaIdentity, UserCsgInformation,
};

ber::sequence! {
    pub enum LocationInformationGprs = "LocationInformationGPRS", "TS 29.078 §5.1" {
        CellGlobalIdOrServiceAreaIdOrLai =
            "cellGlobalIdOrServiceAreaIdOrLAI", OctetString<5, 7> [0], optional;
        RouteingAreaIdentity = "routeingAreaIdentity", RaIdentity [1], optional;
        GeographicalInformation =
            "geographicalInformation", GeographicalInformation [2], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [3], optional;
        SelectedLsaIdentity = "selectedLSAIdentity", LsaIdentity [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        SaiPresent = "sai-Present", Null [6], optional;
        UserCsgInformation = "userCSGInformation", UserCsgInformation [7], optional;
        ...
    }
}

ber::named! {
    pub PdpId = "PDPID", "TS 29.078 §5.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum ApplyChargingGprsArg = "ApplyChargingGPRSArg", "TS 29.078 §8.1" {
        ChargingCharacteristics = "chargingCharacteristics", ChargingCharacteristics [0];
        TariffSwitchInterval = "tariffSwitchInterval", Integer<1, 86400> [1], optional;
        PdpId = "pDPID", PdpId [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum TransferredVolumeVolumeIfTariffSwitch =
        "TransferredVolume.volumeIfTariffSwitch", "TS 29.078 §5.1" {
        VolumeSinceLastTariffSwitch = "volumeSinceLastTariffSwitch", Integer<0, 4294967295> [0];
        VolumeTariffSwitchInterval =
            "volumeTariffSwitchInterval", Integer<0, 4294967295> [1], optional;
    }
}

ber::choice! {
    pub enum TransferredVolume = "TransferredVolume", "TS 29.078 §5.1" {
        VolumeIfNoTariffSwitch = "volumeIfNoTariffSwitch", Integer<0, 4294967295> [0];
        VolumeIfTariffSwitch = "volumeIfTariffSwitch", TransferredVolumeVolumeIfTariffSwitch [1];
    }
}

ber::sequence! {
    pub enum ElapsedTimeTimeGprsIfTariffSwitch =
        "ElapsedTime.timeGPRSIfTariffSwitch", "TS 29.078 §5.1" {
        TimeGprsSinceLastTariffSwitch = "timeGPRSSinceLastTariffSwitch", Integer<0, 86400> [0];
        TimeGprsTariffSwitchInterval =
            "timeGPRSTariffSwitchInterval", Integer<0, 86400> [1], optional;
    }
}

ber::choice! {
    pub enum ElapsedTime = "ElapsedTime", "TS 29.078 §5.1" {
        TimeGprsIfNoTariffSwitch = "timeGPRSIfNoTariffSwitch", Integer<0, 86400> [0];
        TimeGprsIfTariffSwitch = "timeGPRSIfTariffSwitch", ElapsedTimeTimeGprsIfTariffSwitch [1];
    }
}

ber::choice! {
    pub enum ChargingResult = "ChargingResult", "TS 29.078 §5.1" {
        TransferredVolume = "transferredVolume", TransferredVolume [0];
        ElapsedTime = "elapsedTime", ElapsedTime [1];
    }
}

ber::choice! {
    pub enum GprsQos = "GPRS-QoS", "TS 29.078 §5.1" {
        ShortQosFormat = "short-QoS-format", QosSubscribed [0];
        LongQosFormat = "long-QoS-format", ExtQosSubscribed [1];
    }
}

ber::sequence! {
    pub enum GprsQosExtension = "GPRS-QoS-Extension", "TS 29.078 §5.1" {
        SupplementToLongQosFormat = "supplement-to-long-QoS-format", Ext2QosSubscribed [0];
        AdditionalSupplement = "additionalSupplement", Ext3QosSubscribed [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum QualityOfService = "QualityOfService", "TS 29.078 §5.1" {
        RequestedQos = "requested-QoS", GprsQos [0], optional;
        SubscribedQos = "subscribed-QoS", GprsQos [1], optional;
        NegotiatedQos = "negotiated-QoS", GprsQos [2], optional;
        RequestedQosExtension = "requested-QoS-Extension", GprsQosExtension [3], optional;
        SubscribedQosExtension = "subscribed-QoS-Extension", GprsQosExtension [4], optional;
        NegotiatedQosExtension = "negotiated-QoS-Extension", GprsQosExtension [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum TransferredVolumeRollOverROVolumeIfTariffSwitch =
        "TransferredVolumeRollOver.rO-VolumeIfTariffSwitch", "TS 29.078 §5.1" {
        ROVolumeSinceLastTariffSwitch =
            "rO-VolumeSinceLastTariffSwitch", Integer<0, 255> [0], optional;
        ROVolumeTariffSwitchInterval =
            "rO-VolumeTariffSwitchInterval", Integer<0, 255> [1], optional;
    }
}

ber::choice! {
    pub enum TransferredVolumeRollOver = "TransferredVolumeRollOver", "TS 29.078 §5.1" {
        ROVolumeIfNoTariffSwitch = "rO-VolumeIfNoTariffSwitch", Integer<0, 255> [0];
        ROVolumeIfTariffSwitch =
            "rO-VolumeIfTariffSwitch", TransferredVolumeRollOverROVolumeIfTariffSwitch [1];
    }
}

ber::sequence! {
    pub enum ElapsedTimeRollOverROTimeGprsIfTariffSwitch =
        "ElapsedTimeRollOver.rO-TimeGPRSIfTariffSwitch", "TS 29.078 §5.1" {
        ROTimeGprsSinceLastTariffSwitch =
            "rO-TimeGPRSSinceLastTariffSwitch", Integer<0, 255> [0], optional;
        ROTimeGprsTariffSwitchInterval =
            "rO-TimeGPRSTariffSwitchInterval", Integer<0, 255> [1], optional;
    }
}

ber::choice! {
    pub enum ElapsedTimeRollOver = "ElapsedTimeRollOver", "TS 29.078 §5.1" {
        ROTimeGprsIfNoTariffSwitch = "rO-TimeGPRSIfNoTariffSwitch", Integer<0, 255> [0];
        ROTimeGprsIfTariffSwitch =
            "rO-TimeGPRSIfTariffSwitch", ElapsedTimeRollOverROTimeGprsIfTariffSwitch [1];
    }
}

ber::choice! {
    pub enum ChargingRollOver = "ChargingRollOver", "TS 29.078 §5.1" {
        TransferredVolumeRollOver = "transferredVolumeRollOver", TransferredVolumeRollOver [0];
        ElapsedTimeRollOver = "elapsedTimeRollOver", ElapsedTimeRollOver [1];
    }
}

ber::sequence! {
    pub enum ApplyChargingReportGprsArg = "ApplyChargingReportGPRSArg", "TS 29.078 §8.1" {
        ChargingResult = "chargingResult", ChargingResult [0];
        QualityOfService = "qualityOfService", QualityOfService [1], optional;
        Active = "active", Boolean [2], optional;
        PdpId = "pDPID", PdpId [3], optional;
        ChargingRollOver = "chargingRollOver", ChargingRollOver [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum CancelGprsArg = "CancelGPRSArg", "TS 29.078 §8.1" {
        PdpId = "pDPID", PdpId [0], optional;
        ...
    }
}

ber::named! {
    pub AccessPointName = "AccessPointName", "TS 29.078 §5.1", OctetString<1, 100>;
}

ber::sequence! {
    pub enum ConnectGprsArg = "ConnectGPRSArg", "TS 29.078 §8.1" {
        AccessPointName = "accessPointName", AccessPointName [0];
        PdpId = "pdpID", PdpId [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum ContinueGprsArg = "ContinueGPRSArg", "TS 29.078 §8.1" {
        PdpId = "pDPID", PdpId [0], optional;
        ...
    }
}

ber::named! {
    pub GprsCause = "GPRSCause", "TS 29.078 §5.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum EntityReleasedGprsArg = "EntityReleasedGPRSArg", "TS 29.078 §8.1" {
        GPrsCause = "gPRSCause", GprsCause [0];
        PdpId = "pDPID", PdpId [1], optional;
        ...
    }
}

ber::named! {
    pub FurnishChargingInformationGprsArg =
        "FurnishChargingInformationGPRSArg", "TS 29.078 §8.1",
        OctetString<5, 225>;
}

ber::enumerated! {
    pub enum GprsEventType: "GPRSEventType", "TS 29.078 §5.1" {
        Attach = 1, "attach";
        AttachChangeOfPosition = 2, "attachChangeOfPosition";
        Detached = 3, "detached";
        PdpContextEstablishment = 11, "pdp-ContextEstablishment";
        PdpContextEstablishmentAcknowledgement = 12, "pdp-ContextEstablishmentAcknowledgement";
        Disonnect = 13, "disonnect";
        PdpContextChangeOfPosition = 14, "pdp-ContextChangeOfPosition";
    }
}

ber::sequence! {
    pub enum EndUserAddress = "EndUserAddress", "TS 29.078 §5.1" {
        PdpTypeOrganization = "pDPTypeOrganization", OctetString<1, 1> [0];
        PdpTypeNumber = "pDPTypeNumber", OctetString<1, 1> [1];
        PdpAddress = "pDPAddress", OctetString<1, 63> [2], optional;
    }
}

ber::enumerated! {
    pub enum PdpInitiationType: "PDPInitiationType", "TS 29.078 §5.1" {
        MSInitiated = 0, "mSInitiated";
        NetworkInitiated = 1, "networkInitiated";
    }
}

ber::sequence! {
    pub enum InitialDpGprsArg = "InitialDPGPRSArg", "TS 29.078 §8.1" {
        ServiceKey = "serviceKey", ServiceKey [0];
        GPrsEventType = "gPRSEventType", GprsEventType [1];
        MSisdn = "mSISDN", IsdnAddressString [2];
        IMsi = "iMSI", Imsi [3];
        TimeAndTimeZone = "timeAndTimeZone", TimeAndTimezone [4];
        GPrsmsClass = "gPRSMSClass", GprsMsClass [5], optional;
        EndUserAddress = "endUserAddress", EndUserAddress [6], optional;
        QualityOfService = "qualityOfService", QualityOfService [7], optional;
        AccessPointName = "accessPointName", AccessPointName [8], optional;
        RouteingAreaIdentity = "routeingAreaIdentity", RaIdentity [9], optional;
        ChargingId = "chargingID", GprsChargingId [10], optional;
        SGsnCapabilities = "sGSNCapabilities", SgsnCapabilities [11], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [12], optional;
        PdpInitiationType = "pDPInitiationType", PdpInitiationType [13], optional;
        Extensions = "extensions", Extensions [14], optional;
        GGsnAddress = "gGSNAddress", GsnAddress [15], optional;
        SecondaryPdpContext = "secondaryPDP-context", Null [16], optional;
        Imei = "iMEI", Imei [17], optional;
        ...
    }
}

ber::sequence! {
    pub enum ReleaseGprsArg = "ReleaseGPRSArg", "TS 29.078 §8.1" {
        GprsCause = "gprsCause", GprsCause [0];
        PdpId = "pDPID", PdpId [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEventAttachChangeOfPositionSpecificInformation =
        "GPRSEventSpecificInformation.attachChangeOfPositionSpecificInformation", "TS 29.078 §5.1" {
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEventPdpContextchangeOfPositionSpecificInformation =
        "GPRSEventSpecificInformation.pdp-ContextchangeOfPositionSpecificInformation",
        "TS 29.078 §5.1" {
        AccessPointName = "accessPointName", AccessPointName [0], optional;
        ChargingId = "chargingID", GprsChargingId [1], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [2], optional;
        EndUserAddress = "endUserAddress", EndUserAddress [3], optional;
        QualityOfService = "qualityOfService", QualityOfService [4], optional;
        TimeAndTimeZone = "timeAndTimeZone", TimeAndTimezone [5], optional;
        GGsnAddress = "gGSNAddress", GsnAddress [6], optional;
        ...
    }
}

ber::enumerated! {
    pub enum InitiatingEntity: "InitiatingEntity", "TS 29.078 §5.1" {
        MobileStation = 0, "mobileStation";
        Sgsn = 1, "sgsn";
        Hlr = 2, "hlr";
        Ggsn = 3, "ggsn";
    }
}

ber::sequence! {
    pub enum GprsEventDetachSpecificInformation =
        "GPRSEventSpecificInformation.detachSpecificInformation", "TS 29.078 §5.1" {
        InitiatingEntity = "initiatingEntity", InitiatingEntity [0], optional;
        RouteingAreaUpdate = "routeingAreaUpdate", Null [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEventDisconnectSpecificInformation =
        "GPRSEventSpecificInformation.disconnectSpecificInformation", "TS 29.078 §5.1" {
        InitiatingEntity = "initiatingEntity", InitiatingEntity [0], optional;
        RouteingAreaUpdate = "routeingAreaUpdate", Null [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEventPdpContextEstablishmentSpecificInformation =
        "GPRSEventSpecificInformation.pDPContextEstablishmentSpecificInformation",
        "TS 29.078 §5.1" {
        AccessPointName = "accessPointName", AccessPointName [0], optional;
        EndUserAddress = "endUserAddress", EndUserAddress [1], optional;
        QualityOfService = "qualityOfService", QualityOfService [2], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [3], optional;
        TimeAndTimeZone = "timeAndTimeZone", TimeAndTimezone [4], optional;
        PdpInitiationType = "pDPInitiationType", PdpInitiationType [5], optional;
        SecondaryPdpContext = "secondaryPDP-context", Null [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEventPdpContextEstablishmentAcknowledgementSpecificInformation =
        "GPRSEventSpecificInformation.pDPContextEstablishmentAcknowledgementSpecificInformation",
        "TS 29.078 §5.1" {
        AccessPointName = "accessPointName", AccessPointName [0], optional;
        ChargingId = "chargingID", GprsChargingId [1], optional;
        EndUserAddress = "endUserAddress", EndUserAddress [2], optional;
        QualityOfService = "qualityOfService", QualityOfService [3], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [4], optional;
        TimeAndTimeZone = "timeAndTimeZone", TimeAndTimezone [5], optional;
        GGsnAddress = "gGSNAddress", GsnAddress [6], optional;
        ...
    }
}

ber::choice! {
    pub enum GprsEventSpecificInformation = "GPRSEventSpecificInformation", "TS 29.078 §5.1" {
        AttachChangeOfPositionSpecificInformation =
            "attachChangeOfPositionSpecificInformation",
            GprsEventAttachChangeOfPositionSpecificInformation [0];
        PdpContextchangeOfPositionSpecificInformation =
            "pdp-ContextchangeOfPositionSpecificInformation",
            GprsEventPdpContextchangeOfPositionSpecificInformation [1];
        DetachSpecificInformation =
            "detachSpecificInformation", GprsEventDetachSpecificInformation [2];
        DisconnectSpecificInformation =
            "disconnectSpecificInformation", GprsEventDisconnectSpecificInformation [3];
        PdpContextEstablishmentSpecificInformation =
            "pDPContextEstablishmentSpecificInformation",
            GprsEventPdpContextEstablishmentSpecificInformation [4];
        PdpContextEstablishmentAcknowledgementSpecificInformation =
            "pDPContextEstablishmentAcknowledgementSpecificInformation",
            GprsEventPdpContextEstablishmentAcknowledgementSpecificInformation [5];
    }
}

ber::sequence! {
    pub enum EventReportGprsArg = "EventReportGPRSArg", "TS 29.078 §8.1" {
        GPrsEventType = "gPRSEventType", GprsEventType [0];
        MiscGprsInfo = "miscGPRSInfo", MiscCallInfo [1], optional;
        GPrsEventSpecificInformation =
            "gPRSEventSpecificInformation", GprsEventSpecificInformation [2], optional;
        PdpId = "pDPID", PdpId [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum GprsEvent = "GPRSEvent", "TS 29.078 §5.1" {
        GPrsEventType = "gPRSEventType", GprsEventType [0];
        MonitorMode = "monitorMode", MonitorMode [1];
    }
}

ber::sequence! {
    pub enum RequestReportGprsEventArg = "RequestReportGPRSEventArg", "TS 29.078 §8.1" {
        GPrsEvent = "gPRSEvent", SequenceOf<GprsEvent, 1, 10> [0];
        PdpId = "pDPID", PdpId [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResetTimerGprsArg = "ResetTimerGPRSArg", "TS 29.078 §8.1" {
        TimerId = "timerID", TimerId [0], optional;
        Timervalue = "timervalue", TimerValue [1];
        ...
    }
}

ber::named! {
    pub SciGprsBillingChargingCharacteristics =
        "SCIGPRSBillingChargingCharacteristics", "TS 29.078 §5.1",
        OctetString<4, 225>;
}

ber::sequence! {
    pub enum SendChargingInformationGprsArg = "SendChargingInformationGPRSArg", "TS 29.078 §8.1" {
        SCigprsBillingChargingCharacteristics =
            "sCIGPRSBillingChargingCharacteristics", SciGprsBillingChargingCharacteristics [0];
        ...
    }
}

ber::sequence! {
    pub enum CapGprsReferenceNumber = "CAP-GPRS-ReferenceNumber", "TS 29.078 §8" {
        DestinationReference = "destinationReference", Integer4 [0 explicit], optional;
        OriginationReference = "originationReference", Integer4 [1 explicit], optional;
    }
}

ber::sequence! {
    pub enum AocGprs = "AOCGPRS", "TS 29.078 §5.1" {
        AOcInitial = "aOCInitial", CaiGsm0224 [0];
        AOcSubsequent = "aOCSubsequent", AocSubsequent [1], optional;
    }
}

ber::sequence! {
    pub enum CamelSciGprsBillingChargingCharacteristics =
        "CAMEL-SCIGPRSBillingChargingCharacteristics", "TS 29.078 §5.1" {
        AocGprs = "aOCGPRS", AocGprs [0];
        PdpId = "pDPID", PdpId [1], optional;
        ...
    }
}
