//! Call handling (TS 29.002 §17.7.3).

use super::camel::{
    DCsi, OBcsmCamelTdpCriteriaList, OCsi, OfferedCamel4CsIs, SupportedCamelPhases,
    TBcsmCamelTdpCriteriaList, TCsi,
};
use super::identities::{
    AlertingPattern, EmlppPriority, ExtBasicServiceCode, ExtExternalSignalInfo, ExtensionContainer,
    ExternalSignalInfo, FtnAddressString, Imsi, IsdnAddressString, IsdnSubaddressString, Lmsi,
    NaeaPreferredCi, PlmnId,
};
use super::information::{
    IstSupportIndicator, NumberPortabilityStatus, PagingArea, SubscriberInfo,
};
use super::subscription::{CugInterlock, IstAlertTimerValue};
use super::supplementary::{CcbsFeature, ForwardingOptions, SsList};
use ber::{BitString, Integer, Null, OctetString};

ber::sequence! {
    pub enum CugCheckInfo = "CUG-CheckInfo", "TS 29.002 §17.7.3" {
        CugInterlock = "cug-Interlock", CugInterlock;
        CugOutgoingAccess = "cug-OutgoingAccess", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub NumberOfForwarding = "NumberOfForwarding", "TS 29.002 §17.7.3", Integer<1, 5>;
}

ber::enumerated! {
    pub enum InterrogationType: "InterrogationType", "TS 29.002 §17.7.3" {
        BasicCall = 0, "basicCall";
        Forwarding = 1, "forwarding";
    }
}

ber::named! {
    pub OrPhase = "OR-Phase", "TS 29.002 §17.7.3", Integer<1, 127>;
    pub CallReferenceNumber = "CallReferenceNumber", "TS 29.002 §17.7.3", OctetString<1, 8>;
}

ber::enumerated! {
    pub enum ForwardingReason: "ForwardingReason", "TS 29.002 §17.7.3" {
        NotReachable = 0, "notReachable";
        Busy = 1, "busy";
        NoReply = 2, "noReply";
    }
}

ber::sequence! {
    pub enum CamelInfo = "CamelInfo", "TS 29.002 §17.7.3" {
        SupportedCamelPhases = "supportedCamelPhases", SupportedCamelPhases;
        SuppressTCsi = "suppress-T-CSI", Null, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        OfferedCamel4CsIs = "offeredCamel4CSIs", OfferedCamel4CsIs [0], optional;
        ...
    }
}

ber::named! {
    pub SuppressionOfAnnouncement = "SuppressionOfAnnouncement", "TS 29.002 §17.7.3", Null;
    pub SupportedCcbsPhase = "SupportedCCBS-Phase", "TS 29.002 §17.7.3", Integer<1, 127>;
    pub CallDiversionTreatmentIndicator =
        "CallDiversionTreatmentIndicator", "TS 29.002 §17.7.3",
        OctetString<1, 1>;
    pub SuppressMtss = "SuppressMTSS", "TS 29.002 §17.7.3", BitString<2, 16>;
}

ber::sequence! {
    pub enum SendRoutingInfoArg = "SendRoutingInfoArg", "TS 29.002 §17.7.3" {
        Msisdn = "msisdn", IsdnAddressString [0];
        CugCheckInfo = "cug-CheckInfo", CugCheckInfo [1], optional;
        NumberOfForwarding = "numberOfForwarding", NumberOfForwarding [2], optional;
        InterrogationType = "interrogationType", InterrogationType [3];
        OrInterrogation = "or-Interrogation", Null [4], optional;
        OrCapability = "or-Capability", OrPhase [5], optional;
        GmscOrGsmScfAddress = "gmsc-OrGsmSCF-Address", IsdnAddressString [6];
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [7], optional;
        ForwardingReason = "forwardingReason", ForwardingReason [8], optional;
        BasicServiceGroup = "basicServiceGroup", ExtBasicServiceCode [9], optional;
        NetworkSignalInfo = "networkSignalInfo", ExternalSignalInfo [10], optional;
        CamelInfo = "camelInfo", CamelInfo [11], optional;
        SuppressionOfAnnouncement =
            "suppressionOfAnnouncement", SuppressionOfAnnouncement [12], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [13], optional;
        AlertingPattern = "alertingPattern", AlertingPattern [14], optional;
        CcbsCall = "ccbs-Call", Null [15], optional;
        SupportedCcbsPhase = "supportedCCBS-Phase", SupportedCcbsPhase [16], optional;
        AdditionalSignalInfo = "additionalSignalInfo", ExtExternalSignalInfo [17], optional;
        IstSupportIndicator = "istSupportIndicator", IstSupportIndicator [18], optional;
        PrePagingSupported = "pre-pagingSupported", Null [19], optional;
        CallDiversionTreatmentIndicator =
            "callDiversionTreatmentIndicator", CallDiversionTreatmentIndicator [20], optional;
        LongFtnSupported = "longFTN-Supported", Null [21], optional;
        SuppressVtCsi = "suppress-VT-CSI", Null [22], optional;
        SuppressIncomingCallBarring = "suppressIncomingCallBarring", Null [23], optional;
        GsmScfInitiatedCall = "gsmSCF-InitiatedCall", Null [24], optional;
        BasicServiceGroup2 = "basicServiceGroup2", ExtBasicServiceCode [25], optional;
        NetworkSignalInfo2 = "networkSignalInfo2", ExternalSignalInfo [26], optional;
        SuppressMtss = "suppressMTSS", SuppressMtss [27], optional;
        MtRoamingRetrySupported = "mtRoamingRetrySupported", Null [28], optional;
        CallPriority = "callPriority", EmlppPriority [29], optional;
        ...
    }
}

ber::sequence! {
    pub enum ForwardingData = "ForwardingData", "TS 29.002 §17.7.3" {
        ForwardedToNumber = "forwardedToNumber", IsdnAddressString [5], optional;
        ForwardedToSubaddress = "forwardedToSubaddress", IsdnSubaddressString [4], optional;
        ForwardingOptions = "forwardingOptions", ForwardingOptions [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [7], optional;
        LongForwardedToNumber = "longForwardedToNumber", FtnAddressString [8], optional;
        ...
    }
}

ber::choice! {
    pub enum RoutingInfo = "RoutingInfo", "TS 29.002 §17.7.3" {
        RoamingNumber = "roamingNumber", IsdnAddressString;
        ForwardingData = "forwardingData", ForwardingData;
    }
}

ber::sequence! {
    pub enum GmscCamelSubscriptionInfo = "GmscCamelSubscriptionInfo", "TS 29.002 §17.7.3" {
        TCsi = "t-CSI", TCsi [0], optional;
        OCsi = "o-CSI", OCsi [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        OBcsmCamelTdpCriteriaList =
            "o-BcsmCamelTDP-CriteriaList", OBcsmCamelTdpCriteriaList [3], optional;
        TBcsmCamelTdpCriteriaList =
            "t-BCSM-CAMEL-TDP-CriteriaList", TBcsmCamelTdpCriteriaList [4], optional;
        DCsi = "d-csi", DCsi [5], optional;
        ...
    }
}

ber::sequence! {
    pub enum CamelRoutingInfo = "CamelRoutingInfo", "TS 29.002 §17.7.3" {
        ForwardingData = "forwardingData", ForwardingData, optional;
        GmscCamelSubscriptionInfo = "gmscCamelSubscriptionInfo", GmscCamelSubscriptionInfo [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::choice! {
    pub enum ExtendedRoutingInfo = "ExtendedRoutingInfo", "TS 29.002 §17.7.3" {
        RoutingInfo = "routingInfo", RoutingInfo;
        CamelRoutingInfo = "camelRoutingInfo", CamelRoutingInfo [8];
    }
}

ber::sequence! {
    pub enum CcbsIndicators = "CCBS-Indicators", "TS 29.002 §17.7.3" {
        CcbsPossible = "ccbs-Possible", Null [0], optional;
        KeepCcbsCallIndicator = "keepCCBS-CallIndicator", Null [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub AllowedServices = "AllowedServices", "TS 29.002 §17.7.3", BitString<2, 8>;
}

ber::enumerated! {
    pub enum UnavailabilityCause: "UnavailabilityCause", "TS 29.002 §17.7.3" {
        BearerServiceNotProvisioned = 1, "bearerServiceNotProvisioned";
        TeleserviceNotProvisioned = 2, "teleserviceNotProvisioned";
        AbsentSubscriber = 3, "absentSubscriber";
        BusySubscriber = 4, "busySubscriber";
        CallBarred = 5, "callBarred";
        CugReject = 6, "cug-Reject";
        ...
    }
}

ber::sequence! {
    pub enum SendRoutingInfoRes = "SendRoutingInfoRes", "TS 29.002 §17.7.3", [3] {
        Imsi = "imsi", Imsi [9], optional;
        ExtendedRoutingInfo = "extendedRoutingInfo", ExtendedRoutingInfo, optional;
        CugCheckInfo = "cug-CheckInfo", CugCheckInfo [3], optional;
        CugSubscriptionFlag = "cugSubscriptionFlag", Null [6], optional;
        SubscriberInfo = "subscriberInfo", SubscriberInfo [7], optional;
        SsList = "ss-List", SsList [1], optional;
        BasicService = "basicService", ExtBasicServiceCode [5], optional;
        ForwardingInterrogationRequired = "forwardingInterrogationRequired", Null [4], optional;
        VmscAddress = "vmsc-Address", IsdnAddressString [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        NaeaPreferredCi = "naea-PreferredCI", NaeaPreferredCi [10], optional;
        CcbsIndicators = "ccbs-Indicators", CcbsIndicators [11], optional;
        Msisdn = "msisdn", IsdnAddressString [12], optional;
        NumberPortabilityStatus =
            "numberPortabilityStatus", NumberPortabilityStatus [13], optional;
        IstAlertTimer = "istAlertTimer", IstAlertTimerValue [14], optional;
        SupportedCamelPhasesInVmsc =
            "supportedCamelPhasesInVMSC", SupportedCamelPhases [15], optional;
        OfferedCamel4CsIsInVmsc = "offeredCamel4CSIsInVMSC", OfferedCamel4CsIs [16], optional;
        RoutingInfo2 = "routingInfo2", RoutingInfo [17], optional;
        SsList2 = "ss-List2", SsList [18], optional;
        BasicService2 = "basicService2", ExtBasicServiceCode [19], optional;
        AllowedServices = "allowedServices", AllowedServices [20], optional;
        UnavailabilityCause = "unavailabilityCause", UnavailabilityCause [21], optional;
        ReleaseResourcesSupported = "releaseResourcesSupported", Null [22], optional;
        GsmBearerCapability = "gsm-BearerCapability", ExternalSignalInfo [23], optional;
        ...
    }
}

ber::sequence! {
    pub enum ProvideRoamingNumberArg = "ProvideRoamingNumberArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0];
        MscNumber = "msc-Number", IsdnAddressString [1];
        Msisdn = "msisdn", IsdnAddressString [2], optional;
        Lmsi = "lmsi", Lmsi [4], optional;
        GsmBearerCapability = "gsm-BearerCapability", ExternalSignalInfo [5], optional;
        NetworkSignalInfo = "networkSignalInfo", ExternalSignalInfo [6], optional;
        SuppressionOfAnnouncement =
            "suppressionOfAnnouncement", SuppressionOfAnnouncement [7], optional;
        GmscAddress = "gmsc-Address", IsdnAddressString [8], optional;
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [9], optional;
        OrInterrogation = "or-Interrogation", Null [10], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [11], optional;
        AlertingPattern = "alertingPattern", AlertingPattern [12], optional;
        CcbsCall = "ccbs-Call", Null [13], optional;
        SupportedCamelPhasesInInterrogatingNode =
            "supportedCamelPhasesInInterrogatingNode", SupportedCamelPhases [15], optional;
        AdditionalSignalInfo = "additionalSignalInfo", ExtExternalSignalInfo [14], optional;
        OrNotSupportedInGmsc = "orNotSupportedInGMSC", Null [16], optional;
        PrePagingSupported = "pre-pagingSupported", Null [17], optional;
        LongFtnSupported = "longFTN-Supported", Null [18], optional;
        SuppressVtCsi = "suppress-VT-CSI", Null [19], optional;
        OfferedCamel4CsIsInInterrogatingNode =
            "offeredCamel4CSIsInInterrogatingNode", OfferedCamel4CsIs [20], optional;
        MtRoamingRetrySupported = "mtRoamingRetrySupported", Null [21], optional;
        PagingArea = "pagingArea", PagingArea [22], optional;
        CallPriority = "callPriority", EmlppPriority [23], optional;
        MtrfIndicator = "mtrf-Indicator", Null [24], optional;
        OldMscNumber = "oldMSC-Number", IsdnAddressString [25], optional;
        LastUsedLtePlmnId = "lastUsedLtePLMN-Id", PlmnId [26], optional;
        ...
    }
}

ber::sequence! {
    pub enum ProvideRoamingNumberRes = "ProvideRoamingNumberRes", "TS 29.002 §17.7.3" {
        RoamingNumber = "roamingNumber", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ReleaseResourcesSupported = "releaseResourcesSupported", Null, optional;
        VmscAddress = "vmsc-Address", IsdnAddressString, optional;
        ...
    }
}

ber::named! {
    pub UuIndicator = "UUIndicator", "TS 29.002 §17.7.3", OctetString<1, 1>;
    pub Uui = "UUI", "TS 29.002 §17.7.3", OctetString<1, 131>;
}

ber::sequence! {
    pub enum UuData = "UU-Data", "TS 29.002 §17.7.3" {
        UuIndicator = "uuIndicator", UuIndicator [0], optional;
        Uui = "uui", Uui [1], optional;
        UusCfInteraction = "uusCFInteraction", Null [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResumeCallHandlingArg = "ResumeCallHandlingArg", "TS 29.002 §17.7.3" {
        CallReferenceNumber = "callReferenceNumber", CallReferenceNumber [0], optional;
        BasicServiceGroup = "basicServiceGroup", ExtBasicServiceCode [1], optional;
        ForwardingData = "forwardingData", ForwardingData [2], optional;
        Imsi = "imsi", Imsi [3], optional;
        CugCheckInfo = "cug-CheckInfo", CugCheckInfo [4], optional;
        OCsi = "o-CSI", OCsi [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [7], optional;
        CcbsPossible = "ccbs-Possible", Null [8], optional;
        Msisdn = "msisdn", IsdnAddressString [9], optional;
        UuData = "uu-Data", UuData [10], optional;
        AllInformationSent = "allInformationSent", Null [11], optional;
        DCsi = "d-csi", DCsi [12], optional;
        OBcsmCamelTdpCriteriaList =
            "o-BcsmCamelTDPCriteriaList", OBcsmCamelTdpCriteriaList [13], optional;
        BasicServiceGroup2 = "basicServiceGroup2", ExtBasicServiceCode [14], optional;
        MtRoamingRetry = "mtRoamingRetry", Null [15], optional;
        ...
    }
}

ber::sequence! {
    pub enum ResumeCallHandlingRes = "ResumeCallHandlingRes", "TS 29.002 §17.7.3" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum ReportingState: "ReportingState", "TS 29.002 §17.7.3" {
        StopMonitoring = 0, "stopMonitoring";
        StartMonitoring = 1, "startMonitoring";
        ...
    }
}

ber::sequence! {
    pub enum SetReportingStateArg = "SetReportingStateArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0], optional;
        Lmsi = "lmsi", Lmsi [1], optional;
        CcbsMonitoring = "ccbs-Monitoring", ReportingState [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::enumerated! {
    pub enum CcbsSubscriberStatus: "CCBS-SubscriberStatus", "TS 29.002 §17.7.3" {
        CcbsNotIdle = 0, "ccbsNotIdle";
        CcbsIdle = 1, "ccbsIdle";
        CcbsNotReachable = 2, "ccbsNotReachable";
        ...
    }
}

ber::sequence! {
    pub enum SetReportingStateRes = "SetReportingStateRes", "TS 29.002 §17.7.3" {
        CcbsSubscriberStatus = "ccbs-SubscriberStatus", CcbsSubscriberStatus [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum EventReportData = "EventReportData", "TS 29.002 §17.7.3" {
        CcbsSubscriberStatus = "ccbs-SubscriberStatus", CcbsSubscriberStatus [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::enumerated! {
    pub enum MonitoringMode: "MonitoringMode", "TS 29.002 §17.7.3" {
        ASide = 0, "a-side";
        BSide = 1, "b-side";
        ...
    }
}

ber::enumerated! {
    pub enum CallOutcome: "CallOutcome", "TS 29.002 §17.7.3" {
        Success = 0, "success";
        Failure = 1, "failure";
        Busy = 2, "busy";
        ...
    }
}

ber::sequence! {
    pub enum CallReportData = "CallReportData", "TS 29.002 §17.7.3" {
        MonitoringMode = "monitoringMode", MonitoringMode [0], optional;
        CallOutcome = "callOutcome", CallOutcome [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum StatusReportArg = "StatusReportArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0];
        EventReportData = "eventReportData", EventReportData [1], optional;
        CallReportdata = "callReportdata", CallReportData [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum StatusReportRes = "StatusReportRes", "TS 29.002 §17.7.3" {
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum RemoteUserFreeArg = "RemoteUserFreeArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0];
        CallInfo = "callInfo", ExternalSignalInfo [1];
        CcbsFeature = "ccbs-Feature", CcbsFeature [2];
        TranslatedBNumber = "translatedB-Number", IsdnAddressString [3];
        ReplaceBNumber = "replaceB-Number", Null [4], optional;
        AlertingPattern = "alertingPattern", AlertingPattern [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        ...
    }
}

ber::enumerated! {
    pub enum RufOutcome: "RUF-Outcome", "TS 29.002 §17.7.3" {
        Accepted = 0, "accepted";
        Rejected = 1, "rejected";
        NoResponseFromFreeMs = 2, "noResponseFromFreeMS";
        NoResponseFromBusyMs = 3, "noResponseFromBusyMS";
        UdubFromFreeMs = 4, "udubFromFreeMS";
        UdubFromBusyMs = 5, "udubFromBusyMS";
        ...
    }
}

ber::sequence! {
    pub enum RemoteUserFreeRes = "RemoteUserFreeRes", "TS 29.002 §17.7.3" {
        RufOutcome = "ruf-Outcome", RufOutcome [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum IstAlertArg = "IST-AlertArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::enumerated! {
    pub enum CallTerminationIndicator: "CallTerminationIndicator", "TS 29.002 §17.7.3" {
        TerminateCallActivityReferred = 0, "terminateCallActivityReferred";
        TerminateAllCallActivities = 1, "terminateAllCallActivities";
        ...
    }
}

ber::sequence! {
    pub enum IstAlertRes = "IST-AlertRes", "TS 29.002 §17.7.3" {
        IstAlertTimer = "istAlertTimer", IstAlertTimerValue [0], optional;
        IstInformationWithdraw = "istInformationWithdraw", Null [1], optional;
        CallTerminationIndicator =
            "callTerminationIndicator", CallTerminationIndicator [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        ...
    }
}

ber::sequence! {
    pub enum IstCommandArg = "IST-CommandArg", "TS 29.002 §17.7.3" {
        Imsi = "imsi", Imsi [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum IstCommandRes = "IST-CommandRes", "TS 29.002 §17.7.3" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReleaseResourcesArg = "ReleaseResourcesArg", "TS 29.002 §17.7.3" {
        Msrn = "msrn", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ReleaseResourcesRes = "ReleaseResourcesRes", "TS 29.002 §17.7.3" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}
