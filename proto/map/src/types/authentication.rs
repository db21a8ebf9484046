//! Authentication sets (TS 29.002 §17.7.1).

use super::identities::{ExtensionContainer, Imsi, IsdnAddressString, PlmnId};
use ber::{Boolean, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub Kc = "Kc", "TS 29.002 §17.7.1", OctetString<8, 8>;
    pub Cksn = "Cksn", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub NumberOfRequestedVectors = "NumberOfRequestedVectors", "TS 29.002 §17.7.1", Integer<1, 5>;
    pub Rand = "RAND", "TS 29.002 §17.7.1", OctetString<16, 16>;
    pub Sres = "SRES", "TS 29.002 §17.7.1", OctetString<4, 4>;
}

ber::sequence! {
    pub enum AuthenticationTriplet = "AuthenticationTriplet", "TS 29.002 §17.7.1" {
        Rand = "rand", Rand;
        Sres = "sres", Sres;
        Kc = "kc", Kc;
        ...
    }
}

ber::named! {
    pub TripletList = "TripletList", "TS 29.002 §17.7.1", SequenceOf<AuthenticationTriplet, 1, 5>;
    pub Xres = "XRES", "TS 29.002 §17.7.1", OctetString<4, 16>;
    pub Ck = "CK", "TS 29.002 §17.7.1", OctetString<16, 16>;
    pub Ik = "IK", "TS 29.002 §17.7.1", OctetString<16, 16>;
    pub Autn = "AUTN", "TS 29.002 §17.7.1", OctetString<16, 16>;
}

ber::sequence! {
    pub enum AuthenticationQuintuplet = "AuthenticationQuintuplet", "TS 29.002 §17.7.1" {
        Rand = "rand", Rand;
        Xres = "xres", Xres;
        Ck = "ck", Ck;
        Ik = "ik", Ik;
        Autn = "autn", Autn;
        ...
    }
}

ber::named! {
    pub QuintupletList =
        "QuintupletList", "TS 29.002 §17.7.1",
        SequenceOf<AuthenticationQuintuplet, 1, 5>;
}

ber::choice! {
    pub enum AuthenticationSetList = "AuthenticationSetList", "TS 29.002 §17.7.1" {
        TripletList = "tripletList", TripletList [0];
        QuintupletList = "quintupletList", QuintupletList [1];
    }
}

ber::sequence! {
    pub enum GsmSecurityContextData = "GSM-SecurityContextData", "TS 29.002 §17.7.1" {
        Kc = "kc", Kc;
        Cksn = "cksn", Cksn;
        ...
    }
}

ber::named! {
    pub Ksi = "KSI", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum UmtsSecurityContextData = "UMTS-SecurityContextData", "TS 29.002 §17.7.1" {
        Ck = "ck", Ck;
        Ik = "ik", Ik;
        Ksi = "ksi", Ksi;
        ...
    }
}

ber::choice! {
    pub enum CurrentSecurityContext = "CurrentSecurityContext", "TS 29.002 §17.7.1" {
        GsmSecurityContextData = "gsm-SecurityContextData", GsmSecurityContextData [0];
        UmtsSecurityContextData = "umts-SecurityContextData", UmtsSecurityContextData [1];
    }
}

ber::named! {
    pub Auts = "AUTS", "TS 29.002 §17.7.1", OctetString<14, 14>;
}

ber::sequence! {
    pub enum ReSynchronisationInfo = "Re-synchronisationInfo", "TS 29.002 §17.7.1" {
        Rand = "rand", Rand;
        Auts = "auts", Auts;
        ...
    }
}

ber::enumerated! {
    pub enum RequestingNodeType: "RequestingNodeType", "TS 29.002 §17.7.1" {
        Vlr = 0, "vlr";
        Sgsn = 1, "sgsn";
        SCscf = 2, "s-cscf";
        Bsf = 3, "bsf";
        GanAaaServer = 4, "gan-aaa-server";
        WlanAaaServer = 5, "wlan-aaa-server";
        Mme = 16, "mme";
        MmeSgsn = 17, "mme-sgsn";
        ...
    }
}

ber::sequence! {
    pub enum SendAuthenticationInfoArg = "SendAuthenticationInfoArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi [0];
        NumberOfRequestedVectors = "numberOfRequestedVectors", NumberOfRequestedVectors;
        SegmentationProhibited = "segmentationProhibited", Null, optional;
        ImmediateResponsePreferred = "immediateResponsePreferred", Null [1], optional;
        ReSynchronisationInfo = "re-synchronisationInfo", ReSynchronisationInfo, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        RequestingNodeType = "requestingNodeType", RequestingNodeType [3], optional;
        RequestingPlmnId = "requestingPLMN-Id", PlmnId [4], optional;
        NumberOfRequestedAdditionalVectors =
            "numberOfRequestedAdditional-Vectors", NumberOfRequestedVectors [5], optional;
        AdditionalVectorsAreForEps = "additionalVectorsAreForEPS", Null [6], optional;
        UeUsageTypeRequestIndication = "ueUsageTypeRequestIndication", Null [7], optional;
        ...
    }
}

ber::named! {
    pub Kasme = "KASME", "TS 29.002 §17.7.1", OctetString<32, 32>;
}

ber::sequence! {
    pub enum EpcAv = "EPC-AV", "TS 29.002 §17.7.1" {
        Rand = "rand", Rand;
        Xres = "xres", Xres;
        Autn = "autn", Autn;
        Kasme = "kasme", Kasme;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub EpsAuthenticationSetList =
        "EPS-AuthenticationSetList", "TS 29.002 §17.7.1",
        SequenceOf<EpcAv, 1, 5>;
    pub UeUsageType = "UE-UsageType", "TS 29.002 §17.7.1", OctetString<4, 4>;
}

ber::sequence! {
    pub enum SendAuthenticationInfoRes = "SendAuthenticationInfoRes", "TS 29.002 §17.7.1", [3] {
        AuthenticationSetList = "authenticationSetList", AuthenticationSetList, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        EpsAuthenticationSetList =
            "eps-AuthenticationSetList", EpsAuthenticationSetList [2], optional;
        UeUsageType = "ueUsageType", UeUsageType [3], optional;
        ...
    }
}

ber::enumerated! {
    pub enum FailureCause: "FailureCause", "TS 29.002 §17.7.1" {
        WrongUserResponse = 0, "wrongUserResponse";
        WrongNetworkSignature = 1, "wrongNetworkSignature";
    }
}

ber::enumerated! {
    pub enum AccessType: "AccessType", "TS 29.002 §17.7.1" {
        Call = 0, "call";
        EmergencyCall = 1, "emergencyCall";
        LocationUpdating = 2, "locationUpdating";
        SupplementaryService = 3, "supplementaryService";
        ShortMessage = 4, "shortMessage";
        GprsAttach = 5, "gprsAttach";
        RoutingAreaUpdating = 6, "routingAreaUpdating";
        ServiceRequest = 7, "serviceRequest";
        PdpContextActivation = 8, "pdpContextActivation";
        PdpContextDeactivation = 9, "pdpContextDeactivation";
        GprsDetach = 10, "gprsDetach";
        ...
    }
}

ber::sequence! {
    pub enum AuthenticationFailureReportArg =
        "AuthenticationFailureReportArg", "TS 29.002 §17.7.1" {
        Imsi = "imsi", Imsi;
        FailureCause = "failureCause", FailureCause;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ReAttempt = "re-attempt", Boolean, optional;
        AccessType = "accessType", AccessType, optional;
        Rand = "rand", Rand, optional;
        VlrNumber = "vlr-Number", IsdnAddressString [0], optional;
        SgsnNumber = "sgsn-Number", IsdnAddressString [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum AuthenticationFailureReportRes =
        "AuthenticationFailureReportRes", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}
