//! Location registration, restoration, equipment (TS 29.002 §17.7.1).

use super::authentication::{
    AuthenticationSetList, CurrentSecurityContext, NumberOfRequestedVectors,
};
use super::camel::{MmCode, OfferedCamel4Functionalities, ServiceKey, SupportedCamelPhases};
use super::identities::{
    ExtensionContainer, HlrList, Imei, Imsi, IsdnAddressString, LaiFixedLength, Lmsi, PlmnId, Tmsi,
};
use super::information::{LocationInformation, RequestedEquipmentInfo, VlrCapability};
use super::packet::{LocationInformationEps, LocationInformationGprs};
use super::subscription::{
    DeleteSubscriberDataArg, InsertSubscriberDataArg, ResetIdList, SendingNodeNumber,
};
use ber::{BitString, Integer, Null};

ber::sequence! {
    pub enum PurgeMsArg = "PurgeMS-Arg", "TS 29.002 §17.7.1", [3] {
        Imsi = "imsi", Imsi;
        VlrNumber = "vlr-Number", IsdnAddressString [0], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        LocationInformation = "locationInformation", LocationInformation [2], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [3], optional;
        LocationInformationEps = "locationInformationEPS", LocationInformationEps [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum PurgeMsRes = "PurgeMS-Res", "TS 29.002 §17.7.1" {
        FreezeTmsi = "freezeTMSI", Null [0], optional;
        FreezePTmsi = "freezeP-TMSI", Null [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        FreezeMTmsi = "freezeM-TMSI", Null [2], optional;
        ...
    }
}

ber::named! {
    pub HopCounter = "HopCounter", "TS 29.002 §17.7.1", Integer<0, 3>;
}

ber::sequence! {
    pub enum SendIdentificationArg = "SendIdentificationArg", "TS 29.002 §17.7.1" {
        Tmsi = "tmsi", Tmsi;
        NumberOfRequestedVectors = "numberOfRequestedVectors", NumberOfRequestedVectors, optional;
        SegmentationProhibited = "segmentationProhibited", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        MscNumber = "msc-Number", IsdnAddressString, optional;
        PreviousLai = "previous-LAI", LaiFixedLength [0], optional;
        HopCounter = "hopCounter", HopCounter [1], optional;
        MtRoamingForwardingSupported = "mtRoamingForwardingSupported", Null [2], optional;
        NewVlrNumber = "newVLR-Number", IsdnAddressString [3], optional;
        NewLmsi = "new-lmsi", Lmsi [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendIdentificationRes = "SendIdentificationRes", "TS 29.002 §17.7.1", [3] {
        Imsi = "imsi", Imsi, optional;
        AuthenticationSetList = "authenticationSetList", AuthenticationSetList, optional;
        CurrentSecurityContext = "currentSecurityContext", CurrentSecurityContext [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        LastUsedLtePlmnId = "lastUsedLtePLMN-Id", PlmnId [4], optional;
        MtCallPendingFlag = "mtCallPendingFlag", Null [5], optional;
        ...
    }
}

ber::named! {
    pub UesbiIuA = "UESBI-IuA", "TS 29.002 §17.7.1", BitString<1, 128>;
    pub UesbiIuB = "UESBI-IuB", "TS 29.002 §17.7.1", BitString<1, 128>;
}

ber::sequence! {
    pub enum UesbiIu = "UESBI-Iu", "TS 29.002 §17.7.1" {
        UesbiIuA = "uesbi-IuA", UesbiIuA [0], optional;
        UesbiIuB = "uesbi-IuB", UesbiIuB [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum CheckImeiArg = "CheckIMEI-Arg", "TS 29.002 §17.7.1" {
        Imei = "imei", Imei;
        RequestedEquipmentInfo = "requestedEquipmentInfo", RequestedEquipmentInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum EquipmentStatus: "EquipmentStatus", "TS 29.002 §17.7.1" {
        WhiteListed = 0, "whiteListed";
        BlackListed = 1, "blackListed";
        GreyListed = 2, "greyListed";
    }
}

ber::sequence! {
    pub enum CheckImeiRes = "CheckIMEI-Res", "TS 29.002 §17.7.1" {
        EquipmentStatus = "equipmentStatus", EquipmentStatus, optional;
        Bmuef = "bmuef", UesbiIu, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResetArg = "ResetArg", "TS 29.002 §17.7.1" {
        SendingNodenumber = "sendingNodenumber", SendingNodeNumber;
        HlrList = "hlr-List", HlrList, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ResetIdList = "reset-Id-List", ResetIdList [1], optional;
        SubscriptionData = "subscriptionData", InsertSubscriberDataArg [2], optional;
        SubscriptionDataDeletion =
            "subscriptionDataDeletion", DeleteSubscriberDataArg [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum RestoreDataArg = "RestoreDataArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        Lmsi = "lmsi", Lmsi, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        VlrCapability = "vlr-Capability", VlrCapability [6], optional;
        RestorationIndicator = "restorationIndicator", Null [7], optional;
        ...
    }
}

ber::sequence! {
    pub enum RestoreDataRes = "RestoreDataRes", "TS 29.002 §17.7.1" {
        HlrNumber = "hlr-Number", IsdnAddressString;
        MsNotReachable = "msNotReachable", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteMmEventArg = "NoteMM-EventArg", "TS 29.002 §17.7.1" {
        ServiceKey = "serviceKey", ServiceKey;
        EventMet = "eventMet", MmCode [0];
        Imsi = "imsi", Imsi [1];
        Msisdn = "msisdn", IsdnAddressString [2];
        LocationInformation = "locationInformation", LocationInformation [3], optional;
        SupportedCamelPhases = "supportedCAMELPhases", SupportedCamelPhases [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        LocationInformationGprs =
            "locationInformationGPRS", LocationInformationGprs [7], optional;
        OfferedCamel4Functionalities =
            "offeredCamel4Functionalities", OfferedCamel4Functionalities [8], optional;
        ...
    }
}

ber::sequence! {
    pub enum NoteMmEventRes = "NoteMM-EventRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}
