//! Handover (TS 29.002 §17.7.1).

use super::identities::{
    AccessNetworkSignalInfo, AsciCallReference, ExtensionContainer, GlobalCellId, Imei, Imsi,
    IsdnAddressString,
};
use super::location::UesbiIu;
use super::packet::CsgSubscriptionDataList;
use super::subscription::{GeranClassmark, RabId, RelocationNumberList, ZoneCodeList};
use super::tracing::TracePropagationList;
use ber::{BitString, Integer, Null, OctetString, SequenceOf};

ber::named! {
    pub RncId = "RNCId", "TS 29.002 §17.7.1", OctetString<7, 7>;
    pub IntegrityProtectionInformation =
        "IntegrityProtectionInformation", "TS 29.002 §17.7.1",
        OctetString<18, 100>;
    pub EncryptionInformation =
        "EncryptionInformation", "TS 29.002 §17.7.1",
        OctetString<18, 100>;
    pub RadioResourceInformation =
        "RadioResourceInformation", "TS 29.002 §17.7.1",
        OctetString<3, 13>;
    pub AllowedGsmAlgorithms = "AllowedGSM-Algorithms", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub PermittedIntegrityProtectionAlgorithms =
        "PermittedIntegrityProtectionAlgorithms", "TS 29.002 §17.7.1",
        OctetString<1, 9>;
    pub PermittedEncryptionAlgorithms =
        "PermittedEncryptionAlgorithms", "TS 29.002 §17.7.1",
        OctetString<1, 9>;
}

ber::sequence! {
    pub enum AllowedUmtsAlgorithms = "AllowedUMTS-Algorithms", "TS 29.002 §17.7.1" {
        IntegrityProtectionAlgorithms =
            "integrityProtectionAlgorithms", PermittedIntegrityProtectionAlgorithms [0], optional;
        EncryptionAlgorithms =
            "encryptionAlgorithms", PermittedEncryptionAlgorithms [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum RadioResource = "RadioResource", "TS 29.002 §17.7.1" {
        RadioResourceInformation = "radioResourceInformation", RadioResourceInformation;
        RabId = "rab-Id", RabId;
        ...
    }
}

ber::named! {
    pub RadioResourceList =
        "RadioResourceList", "TS 29.002 §17.7.1",
        SequenceOf<RadioResource, 1, 7>;
    pub BssmapServiceHandover = "BSSMAP-ServiceHandover", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub RanapServiceHandover = "RANAP-ServiceHandover", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum BssmapServiceHandoverInfo = "BSSMAP-ServiceHandoverInfo", "TS 29.002 §17.7.1" {
        BssmapServiceHandover = "bssmap-ServiceHandover", BssmapServiceHandover;
        RabId = "rab-Id", RabId;
        ...
    }
}

ber::named! {
    pub BssmapServiceHandoverList =
        "BSSMAP-ServiceHandoverList", "TS 29.002 §17.7.1",
        SequenceOf<BssmapServiceHandoverInfo, 1, 7>;
    pub Codec = "Codec", "TS 29.002 §17.7.1", OctetString<1, 4>;
}

ber::sequence! {
    pub enum CodecList = "CodecList", "TS 29.002 §17.7.1" {
        Codec1 = "codec1", Codec [1];
        Codec2 = "codec2", Codec [2], optional;
        Codec3 = "codec3", Codec [3], optional;
        Codec4 = "codec4", Codec [4], optional;
        Codec5 = "codec5", Codec [5], optional;
        Codec6 = "codec6", Codec [6], optional;
        Codec7 = "codec7", Codec [7], optional;
        Codec8 = "codec8", Codec [8], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [9], optional;
        ...
    }
}

ber::sequence! {
    pub enum SupportedCodecsList = "SupportedCodecsList", "TS 29.002 §17.7.1" {
        UtranCodecList = "utranCodecList", CodecList [0], optional;
        GeranCodecList = "geranCodecList", CodecList [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub AoIpCodec = "AoIPCodec", "TS 29.002 §17.7.1", OctetString<1, 3>;
}

ber::sequence! {
    pub enum AoIpCodecsList = "AoIPCodecsList", "TS 29.002 §17.7.1" {
        Codec1 = "codec1", AoIpCodec [1];
        Codec2 = "codec2", AoIpCodec [2], optional;
        Codec3 = "codec3", AoIpCodec [3], optional;
        Codec4 = "codec4", AoIpCodec [4], optional;
        Codec5 = "codec5", AoIpCodec [5], optional;
        Codec6 = "codec6", AoIpCodec [6], optional;
        Codec7 = "codec7", AoIpCodec [7], optional;
        Codec8 = "codec8", AoIpCodec [8], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [9], optional;
        ...
    }
}

ber::named! {
    pub LclsGlobalCallReference =
        "LCLS-GlobalCallReference", "TS 29.002 §17.7.1",
        OctetString<13, 15>;
    pub LclsNegotiation = "LCLS-Negotiation", "TS 29.002 §17.7.1", BitString<2, 8>;
    pub LclsConfigurationPreference =
        "LCLS-ConfigurationPreference", "TS 29.002 §17.7.1",
        BitString<4, 8>;
}

ber::sequence! {
    pub enum PrepareHoArg = "PrepareHO-Arg", "TS 29.002 §17.7.1", [3] {
        TargetCellId = "targetCellId", GlobalCellId [0], optional;
        HoNumberNotRequired = "ho-NumberNotRequired", Null, optional;
        TargetRncId = "targetRNCId", RncId [1], optional;
        AnApdu = "an-APDU", AccessNetworkSignalInfo [2], optional;
        MultipleBearerRequested = "multipleBearerRequested", Null [3], optional;
        Imsi = "imsi", Imsi [4], optional;
        IntegrityProtectionInfo =
            "integrityProtectionInfo", IntegrityProtectionInformation [5], optional;
        EncryptionInfo = "encryptionInfo", EncryptionInformation [6], optional;
        RadioResourceInformation =
            "radioResourceInformation", RadioResourceInformation [7], optional;
        AllowedGsmAlgorithms = "allowedGSM-Algorithms", AllowedGsmAlgorithms [9], optional;
        AllowedUmtsAlgorithms = "allowedUMTS-Algorithms", AllowedUmtsAlgorithms [10], optional;
        RadioResourceList = "radioResourceList", RadioResourceList [11], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [8], optional;
        RabId = "rab-Id", RabId [12], optional;
        BssmapServiceHandover = "bssmap-ServiceHandover", BssmapServiceHandover [13], optional;
        RanapServiceHandover = "ranap-ServiceHandover", RanapServiceHandover [14], optional;
        BssmapServiceHandoverList =
            "bssmap-ServiceHandoverList", BssmapServiceHandoverList [15], optional;
        AsciCallReference = "asciCallReference", AsciCallReference [20], optional;
        GeranClassmark = "geran-classmark", GeranClassmark [16], optional;
        IuCurrentlyUsedCodec = "iuCurrentlyUsedCodec", Codec [17], optional;
        IuSupportedCodecsList = "iuSupportedCodecsList", SupportedCodecsList [18], optional;
        RabConfigurationIndicator = "rab-ConfigurationIndicator", Null [19], optional;
        UesbiIu = "uesbi-Iu", UesbiIu [21], optional;
        Imeisv = "imeisv", Imei [22], optional;
        AlternativeChannelType =
            "alternativeChannelType", RadioResourceInformation [23], optional;
        TracePropagationList = "tracePropagationList", TracePropagationList [25], optional;
        AoipSupportedCodecsListAnchor =
            "aoipSupportedCodecsListAnchor", AoIpCodecsList [26], optional;
        RegionalSubscriptionData = "regionalSubscriptionData", ZoneCodeList [27], optional;
        LclsGlobalCallReference =
            "lclsGlobalCallReference", LclsGlobalCallReference [28], optional;
        LclsNegotiation = "lcls-Negotiation", LclsNegotiation [29], optional;
        LclsConfigurationPreference =
            "lcls-Configuration-Preference", LclsConfigurationPreference [30], optional;
        CsgSubscriptionDataList =
            "csg-SubscriptionDataList", CsgSubscriptionDataList [31], optional;
        ...
    }
}

ber::named! {
    pub MulticallBearerInfo = "MulticallBearerInfo", "TS 29.002 §17.7.1", Integer<1, 7>;
    pub ChosenIntegrityProtectionAlgorithm =
        "ChosenIntegrityProtectionAlgorithm", "TS 29.002 §17.7.1",
        OctetString<1, 1>;
    pub ChosenEncryptionAlgorithm =
        "ChosenEncryptionAlgorithm", "TS 29.002 §17.7.1",
        OctetString<1, 1>;
}

ber::sequence! {
    pub enum SelectedUmtsAlgorithms = "SelectedUMTS-Algorithms", "TS 29.002 §17.7.1" {
        IntegrityProtectionAlgorithm =
            "integrityProtectionAlgorithm", ChosenIntegrityProtectionAlgorithm [0], optional;
        EncryptionAlgorithm = "encryptionAlgorithm", ChosenEncryptionAlgorithm [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [2], optional;
        ...
    }
}

ber::named! {
    pub ChosenChannelInfo = "ChosenChannelInfo", "TS 29.002 §17.7.1", OctetString<1, 1>;
    pub ChosenSpeechVersion = "ChosenSpeechVersion", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum ChosenRadioResourceInformation =
        "ChosenRadioResourceInformation", "TS 29.002 §17.7.1" {
        ChosenChannelInfo = "chosenChannelInfo", ChosenChannelInfo [0], optional;
        ChosenSpeechVersion = "chosenSpeechVersion", ChosenSpeechVersion [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareHoRes = "PrepareHO-Res", "TS 29.002 §17.7.1", [3] {
        HandoverNumber = "handoverNumber", IsdnAddressString [0], optional;
        RelocationNumberList = "relocationNumberList", RelocationNumberList [1], optional;
        AnApdu = "an-APDU", AccessNetworkSignalInfo [2], optional;
        MulticallBearerInfo = "multicallBearerInfo", MulticallBearerInfo [3], optional;
        MultipleBearerNotSupported = "multipleBearerNotSupported", Null, optional;
        SelectedUmtsAlgorithms = "selectedUMTS-Algorithms", SelectedUmtsAlgorithms [5], optional;
        ChosenRadioResourceInformation =
            "chosenRadioResourceInformation", ChosenRadioResourceInformation [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        IuSelectedCodec = "iuSelectedCodec", Codec [7], optional;
        IuAvailableCodecsList = "iuAvailableCodecsList", CodecList [8], optional;
        AoipSelectedCodecTarget = "aoipSelectedCodecTarget", AoIpCodec [9], optional;
        AoipAvailableCodecsListMap = "aoipAvailableCodecsListMap", AoIpCodecsList [10], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendEndSignalArg = "SendEndSignal-Arg", "TS 29.002 §17.7.1", [3] {
        AnApdu = "an-APDU", AccessNetworkSignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendEndSignalRes = "SendEndSignal-Res", "TS 29.002 §17.7.1" {
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}

ber::named! {
    pub SelectedGsmAlgorithm = "SelectedGSM-Algorithm", "TS 29.002 §17.7.1", OctetString<1, 1>;
}

ber::sequence! {
    pub enum ProcessAccessSignallingArg =
        "ProcessAccessSignalling-Arg", "TS 29.002 §17.7.1", [3] {
        AnApdu = "an-APDU", AccessNetworkSignalInfo;
        SelectedUmtsAlgorithms = "selectedUMTS-Algorithms", SelectedUmtsAlgorithms [1], optional;
        SelectedGsmAlgorithm = "selectedGSM-Algorithm", SelectedGsmAlgorithm [2], optional;
        ChosenRadioResourceInformation =
            "chosenRadioResourceInformation", ChosenRadioResourceInformation [3], optional;
        SelectedRabId = "selectedRab-Id", RabId [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        IUSelectedCodec = "iUSelectedCodec", Codec [5], optional;
        IuAvailableCodecsList = "iuAvailableCodecsList", CodecList [6], optional;
        AoipSelectedCodecTarget = "aoipSelectedCodecTarget", AoIpCodec [7], optional;
        AoipAvailableCodecsListMap = "aoipAvailableCodecsListMap", AoIpCodecsList [8], optional;
        ...
    }
}

ber::enumerated! {
    pub enum KeyStatus: "KeyStatus", "TS 29.002 §17.7.1" {
        Old = 0, "old";
        New = 1, "new";
        ...
    }
}

ber::sequence! {
    pub enum ForwardAccessSignallingArg =
        "ForwardAccessSignalling-Arg", "TS 29.002 §17.7.1", [3] {
        AnApdu = "an-APDU", AccessNetworkSignalInfo;
        IntegrityProtectionInfo =
            "integrityProtectionInfo", IntegrityProtectionInformation [0], optional;
        EncryptionInfo = "encryptionInfo", EncryptionInformation [1], optional;
        KeyStatus = "keyStatus", KeyStatus [2], optional;
        AllowedGsmAlgorithms = "allowedGSM-Algorithms", AllowedGsmAlgorithms [4], optional;
        AllowedUmtsAlgorithms = "allowedUMTS-Algorithms", AllowedUmtsAlgorithms [5], optional;
        RadioResourceInformation =
            "radioResourceInformation", RadioResourceInformation [6], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [3], optional;
        RadioResourceList = "radioResourceList", RadioResourceList [7], optional;
        BssmapServiceHandover = "bssmap-ServiceHandover", BssmapServiceHandover [9], optional;
        RanapServiceHandover = "ranap-ServiceHandover", RanapServiceHandover [8], optional;
        BssmapServiceHandoverList =
            "bssmap-ServiceHandoverList", BssmapServiceHandoverList [10], optional;
        CurrentlyUsedCodec = "currentlyUsedCodec", Codec [11], optional;
        IuSupportedCodecsList = "iuSupportedCodecsList", SupportedCodecsList [12], optional;
        RabConfigurationIndicator = "rab-ConfigurationIndicator", Null [13], optional;
        IuSelectedCodec = "iuSelectedCodec", Codec [14], optional;
        AlternativeChannelType =
            "alternativeChannelType", RadioResourceInformation [15], optional;
        TracePropagationList = "tracePropagationList", TracePropagationList [17], optional;
        AoipSupportedCodecsListAnchor =
            "aoipSupportedCodecsListAnchor", AoIpCodecsList [18], optional;
        AoipSelectedCodecTarget = "aoipSelectedCodecTarget", AoIpCodec [19], optional;
        UesbiIu = "uesbi-Iu", UesbiIu [20], optional;
        Imeisv = "imeisv", Imei [21], optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareSubsequentHoArg = "PrepareSubsequentHO-Arg", "TS 29.002 §17.7.1", [3] {
        TargetCellId = "targetCellId", GlobalCellId [0], optional;
        TargetMscNumber = "targetMSC-Number", IsdnAddressString [1];
        TargetRncId = "targetRNCId", RncId [2], optional;
        AnApdu = "an-APDU", AccessNetworkSignalInfo [3], optional;
        SelectedRabId = "selectedRab-Id", RabId [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [5], optional;
        GeranClassmark = "geran-classmark", GeranClassmark [6], optional;
        RabConfigurationIndicator = "rab-ConfigurationIndicator", Null [7], optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareSubsequentHoRes = "PrepareSubsequentHO-Res", "TS 29.002 §17.7.1", [3] {
        AnApdu = "an-APDU", AccessNetworkSignalInfo;
        ExtensionContainer = "extensionContainer", ExtensionContainer [0], optional;
        ...
    }
}
