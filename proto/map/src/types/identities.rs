//! Numbers, identities, services and extensions: what all services have in common (TS 29.002
//! §17.7.5, §17.7.8 to §17.7.11).

use ber::{Any, Integer, Null, ObjectIdentifier, OctetString, SequenceOf};

ber::named! {
    pub IsdnAddressString = "ISDN-AddressString", "TS 29.002 §17.7.8", OctetString<1, 9>;
}

ber::sequence! {
    pub enum PrivateExtension = "PrivateExtension", "TS 29.002 §17.7.11" {
        ExtId = "extId", ObjectIdentifier;
        ExtType = "extType", Any, optional;
    }
}

ber::named! {
    pub PrivateExtensionList =
        "PrivateExtensionList", "TS 29.002 §17.7.11",
        SequenceOf<PrivateExtension, 1, 10>;
}

ber::sequence! {
    pub enum PcsExtensions = "PCS-Extensions", "TS 29.002 §17.7.11" {
        ...
    }
}

ber::sequence! {
    pub enum ExtensionContainer = "ExtensionContainer", "TS 29.002 §17.7.11" {
        PrivateExtensionList = "privateExtensionList", PrivateExtensionList [0], optional;
        PcsExtensions = "pcs-Extensions", PcsExtensions [1], optional;
        ...
    }
}

ber::named! {
    pub ExtBearerServiceCode = "Ext-BearerServiceCode", "TS 29.002 §17.7.10", OctetString<1, 5>;
    pub ExtTeleserviceCode = "Ext-TeleserviceCode", "TS 29.002 §17.7.9", OctetString<1, 5>;
}

ber::choice! {
    pub enum ExtBasicServiceCode = "Ext-BasicServiceCode", "TS 29.002 §17.7.8" {
        ExtBearerService = "ext-BearerService", ExtBearerServiceCode [2];
        ExtTeleservice = "ext-Teleservice", ExtTeleserviceCode [3];
    }
}

ber::enumerated! {
    pub enum ProtocolId: "ProtocolId", "TS 29.002 §17.7.8" {
        Gsm0408 = 1, "gsm-0408";
        Gsm0806 = 2, "gsm-0806";
        GsmBssmap = 3, "gsm-BSSMAP";
        Ets3001021 = 4, "ets-300102-1";
    }
}

ber::named! {
    pub SignalInfo = "SignalInfo", "TS 29.002 §17.7.8", OctetString<1, 200>;
}

ber::sequence! {
    pub enum ExternalSignalInfo = "ExternalSignalInfo", "TS 29.002 §17.7.8" {
        ProtocolId = "protocolId", ProtocolId;
        SignalInfo = "signalInfo", SignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub AlertingPattern = "AlertingPattern", "TS 29.002 §17.7.8", OctetString<1, 1>;
}

ber::enumerated! {
    pub enum ExtProtocolId: "Ext-ProtocolId", "TS 29.002 §17.7.8" {
        Ets300356 = 1, "ets-300356";
        ...
    }
}

ber::sequence! {
    pub enum ExtExternalSignalInfo = "Ext-ExternalSignalInfo", "TS 29.002 §17.7.8" {
        ExtProtocolId = "ext-ProtocolId", ExtProtocolId;
        SignalInfo = "signalInfo", SignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub EmlppPriority = "EMLPP-Priority", "TS 29.002 §17.7.8", Integer<0, 15>;
    pub Imsi = "IMSI", "TS 29.002 §17.7.8", OctetString<3, 8>;
    pub IsdnSubaddressString = "ISDN-SubaddressString", "TS 29.002 §17.7.8", OctetString<1, 21>;
    pub FtnAddressString = "FTN-AddressString", "TS 29.002 §17.7.8", OctetString<1, 15>;
    pub AgeOfLocationInformation =
        "AgeOfLocationInformation", "TS 29.002 §17.7.8",
        Integer<0, 32767>;
    pub CellGlobalIdOrServiceAreaIdFixedLength =
        "CellGlobalIdOrServiceAreaIdFixedLength", "TS 29.002 §17.7.8",
        OctetString<7, 7>;
    pub LaiFixedLength = "LAIFixedLength", "TS 29.002 §17.7.8", OctetString<5, 5>;
}

ber::choice! {
    pub enum CellGlobalIdOrServiceAreaIdOrLai =
        "CellGlobalIdOrServiceAreaIdOrLAI", "TS 29.002 §17.7.8" {
        CellGlobalIdOrServiceAreaIdFixedLength =
            "cellGlobalIdOrServiceAreaIdFixedLength", CellGlobalIdOrServiceAreaIdFixedLength [0];
        LaiFixedLength = "laiFixedLength", LaiFixedLength [1];
    }
}

ber::named! {
    pub EUtranCgi = "E-UTRAN-CGI", "TS 29.002 §17.7.8", OctetString<7, 7>;
    pub TaId = "TA-Id", "TS 29.002 §17.7.8", OctetString<5, 5>;
    pub DiameterIdentity = "DiameterIdentity", "TS 29.002 §17.7.8", OctetString<9, 255>;
    pub RaIdentity = "RAIdentity", "TS 29.002 §17.7.8", OctetString<6, 6>;
    pub GsnAddress = "GSN-Address", "TS 29.002 §17.7.8", OctetString<5, 17>;
    pub Imei = "IMEI", "TS 29.002 §17.7.8", OctetString<8, 8>;
    pub Time = "Time", "TS 29.002 §17.7.8", OctetString<4, 4>;
    pub NrCgi = "NR-CGI", "TS 29.002 §17.7.8", OctetString<8, 8>;
    pub PlmnId = "PLMN-Id", "TS 29.002 §17.7.8", OctetString<3, 3>;
    pub NrTaId = "NR-TA-Id", "TS 29.002 §17.7.8", OctetString<6, 6>;
    pub SsCode = "SS-Code", "TS 29.002 §17.7.5", OctetString<1, 1>;
    pub NaeaCic = "NAEA-CIC", "TS 29.002 §17.7.8", OctetString<3, 3>;
}

ber::sequence! {
    pub enum NaeaPreferredCi = "NAEA-PreferredCI", "TS 29.002 §17.7.8" {
        NaeaPreferredCic = "naea-PreferredCIC", NaeaCic [0];
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::named! {
    pub Lmsi = "LMSI", "TS 29.002 §17.7.8", OctetString<4, 4>;
    pub BearerServiceCode = "BearerServiceCode", "TS 29.002 §17.7.10", OctetString<1, 1>;
    pub TeleserviceCode = "TeleserviceCode", "TS 29.002 §17.7.9", OctetString<1, 1>;
}

ber::choice! {
    pub enum BasicServiceCode = "BasicServiceCode", "TS 29.002 §17.7.8" {
        BearerService = "bearerService", BearerServiceCode [2];
        Teleservice = "teleservice", TeleserviceCode [3];
    }
}

ber::named! {
    pub AsciCallReference = "ASCI-CallReference", "TS 29.002 §17.7.8", OctetString<1, 8>;
}

ber::enumerated! {
    pub enum AccessNetworkProtocolId: "AccessNetworkProtocolId", "TS 29.002 §17.7.8" {
        Ts3G48006 = 1, "ts3G-48006";
        Ts3G25413 = 2, "ts3G-25413";
        ...
    }
}

ber::named! {
    pub LongSignalInfo = "LongSignalInfo", "TS 29.002 §17.7.8", OctetString<1, 2560>;
}

ber::sequence! {
    pub enum AccessNetworkSignalInfo = "AccessNetworkSignalInfo", "TS 29.002 §17.7.8" {
        AccessNetworkProtocolId = "accessNetworkProtocolId", AccessNetworkProtocolId;
        SignalInfo = "signalInfo", LongSignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub GlobalCellId = "GlobalCellId", "TS 29.002 §17.7.8", OctetString<5, 7>;
    pub Tmsi = "TMSI", "TS 29.002 §17.7.8", OctetString<1, 4>;
}

ber::choice! {
    pub enum SubscriberIdentity = "SubscriberIdentity", "TS 29.002 §17.7.8" {
        Imsi = "imsi", Imsi [0];
        Msisdn = "msisdn", IsdnAddressString [1];
    }
}

ber::sequence! {
    pub enum LcsClientExternalId = "LCSClientExternalID", "TS 29.002 §17.7.8" {
        ExternalAddress = "externalAddress", IsdnAddressString [0], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [1], optional;
        ...
    }
}

ber::named! {
    pub AddressString = "AddressString", "TS 29.002 §17.7.8", OctetString<1, 20>;
}

ber::enumerated! {
    pub enum LcsClientInternalId: "LCSClientInternalID", "TS 29.002 §17.7.8" {
        BroadcastService = 0, "broadcastService";
        OAndMHplmn = 1, "o-andM-HPLMN";
        OAndMVplmn = 2, "o-andM-VPLMN";
        AnonymousLocation = 3, "anonymousLocation";
        TargetMSsubscribedService = 4, "targetMSsubscribedService";
        ...
    }
}

ber::named! {
    pub LcsServiceTypeId = "LCSServiceTypeID", "TS 29.002 §17.7.8", Integer<0, 127>;
}

ber::sequence! {
    pub enum SlrArgPcsExtensions = "SLR-Arg-PCS-Extensions", "TS 29.002 §17.7.11" {
        NaEsrkRequest = "na-ESRK-Request", Null [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum SlrArgExtensionContainer = "SLR-ArgExtensionContainer", "TS 29.002 §17.7.11" {
        PrivateExtensionList = "privateExtensionList", PrivateExtensionList [0], optional;
        SlrArgPcsExtensions = "slr-Arg-PCS-Extensions", SlrArgPcsExtensions [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum NetworkNodeDiameterAddress = "NetworkNodeDiameterAddress", "TS 29.002 §17.7.8" {
        DiameterName = "diameter-Name", DiameterIdentity [0];
        DiameterRealm = "diameter-Realm", DiameterIdentity [1];
    }
}

ber::sequence! {
    pub enum ImsiWithLmsi = "IMSI-WithLMSI", "TS 29.002 §17.7.8" {
        Imsi = "imsi", Imsi;
        Lmsi = "lmsi", Lmsi;
        ...
    }
}

ber::choice! {
    pub enum Identity = "Identity", "TS 29.002 §17.7.8" {
        Imsi = "imsi", Imsi;
        ImsiWithLmsi = "imsi-WithLMSI", ImsiWithLmsi;
    }
}

ber::named! {
    pub ExtSsStatus = "Ext-SS-Status", "TS 29.002 §17.7.8", OctetString<1, 5>;
}

ber::sequence! {
    pub enum EmlppInfo = "EMLPP-Info", "TS 29.002 §17.7.8" {
        MaximumentitledPriority = "maximumentitledPriority", EmlppPriority;
        DefaultPriority = "defaultPriority", EmlppPriority;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::named! {
    pub MaxMcBearers = "MaxMC-Bearers", "TS 29.002 §17.7.8", Integer<2, 7>;
    pub McBearers = "MC-Bearers", "TS 29.002 §17.7.8", Integer<1, 7>;
}

ber::sequence! {
    pub enum McSsInfo = "MC-SS-Info", "TS 29.002 §17.7.8" {
        SsCode = "ss-Code", SsCode [0];
        SsStatus = "ss-Status", ExtSsStatus [1];
        NbrSb = "nbrSB", MaxMcBearers [2];
        NbrUser = "nbrUser", McBearers [3];
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        ...
    }
}

ber::named! {
    pub HlrId = "HLR-Id", "TS 29.002 §17.7.8", OctetString<3, 8>;
    pub HlrList = "HLR-List", "TS 29.002 §17.7.8", SequenceOf<HlrId, 1, 50>;
}

ber::enumerated! {
    pub enum NetworkResource: "NetworkResource", "TS 29.002 §17.7.8" {
        Plmn = 0, "plmn";
        Hlr = 1, "hlr";
        Vlr = 2, "vlr";
        Pvlr = 3, "pvlr";
        ControllingMsc = 4, "controllingMSC";
        Vmsc = 5, "vmsc";
        Eir = 6, "eir";
        Rss = 7, "rss";
    }
}

ber::enumerated! {
    pub enum AdditionalNetworkResource: "AdditionalNetworkResource", "TS 29.002 §17.7.8" {
        Sgsn = 0, "sgsn";
        Ggsn = 1, "ggsn";
        Gmlc = 2, "gmlc";
        GsmScf = 3, "gsmSCF";
        Nplr = 4, "nplr";
        Auc = 5, "auc";
        Ue = 6, "ue";
        Mme = 7, "mme";
        ...
    }
}
