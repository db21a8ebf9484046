//! Group calls (TS 29.002 §17.7.12).

use super::authentication::{Cksn, Kc};
use super::identities::{
    AccessNetworkSignalInfo, AsciCallReference, EmlppPriority, ExtTeleserviceCode,
    ExtensionContainer, GlobalCellId, Imsi, IsdnAddressString, SignalInfo, Tmsi,
};
use super::subscription::{AdditionalInfo, AdditionalSubscriptions, LongGroupId};
use ber::{Integer, Null, OctetString};

ber::named! {
    pub CodecInfo = "CODEC-Info", "TS 29.002 §17.7.12", OctetString<5, 10>;
    pub CipheringAlgorithm = "CipheringAlgorithm", "TS 29.002 §17.7.12", OctetString<1, 1>;
    pub GroupKeyNumber = "GroupKeyNumber", "TS 29.002 §17.7.12", Integer<0, 15>;
    pub Vstk = "VSTK", "TS 29.002 §17.7.12", OctetString<16, 16>;
    pub VstkRand = "VSTK-RAND", "TS 29.002 §17.7.12", OctetString<5, 5>;
}

ber::sequence! {
    pub enum PrepareGroupCallArg = "PrepareGroupCallArg", "TS 29.002 §17.7.12" {
        Teleservice = "teleservice", ExtTeleserviceCode;
        AsciCallReference = "asciCallReference", AsciCallReference;
        CodecInfo = "codec-Info", CodecInfo;
        CipheringAlgorithm = "cipheringAlgorithm", CipheringAlgorithm;
        GroupKeyNumberVkId = "groupKeyNumber-Vk-Id", GroupKeyNumber [0], optional;
        GroupKey = "groupKey", Kc [1], optional;
        Priority = "priority", EmlppPriority [2], optional;
        UplinkFree = "uplinkFree", Null [3], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [4], optional;
        Vstk = "vstk", Vstk [5], optional;
        VstkRand = "vstk-rand", VstkRand [6], optional;
        TalkerChannelParameter = "talkerChannelParameter", Null [7], optional;
        UplinkReplyIndicator = "uplinkReplyIndicator", Null [8], optional;
        ...
    }
}

ber::sequence! {
    pub enum PrepareGroupCallRes = "PrepareGroupCallRes", "TS 29.002 §17.7.12" {
        GroupCallNumber = "groupCallNumber", IsdnAddressString;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum TalkerPriority: "TalkerPriority", "TS 29.002 §17.7.12" {
        Normal = 0, "normal";
        Privileged = 1, "privileged";
        Emergency = 2, "emergency";
    }
}

ber::sequence! {
    pub enum SendGroupCallEndSignalArg = "SendGroupCallEndSignalArg", "TS 29.002 §17.7.12" {
        Imsi = "imsi", Imsi, optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        TalkerPriority = "talkerPriority", TalkerPriority [0], optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [1], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendGroupCallEndSignalRes = "SendGroupCallEndSignalRes", "TS 29.002 §17.7.12" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum ProcessGroupCallSignallingArg =
        "ProcessGroupCallSignallingArg", "TS 29.002 §17.7.12" {
        UplinkRequest = "uplinkRequest", Null [0], optional;
        UplinkReleaseIndication = "uplinkReleaseIndication", Null [1], optional;
        ReleaseGroupCall = "releaseGroupCall", Null [2], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        TalkerPriority = "talkerPriority", TalkerPriority [3], optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [4], optional;
        EmergencyModeResetCommandFlag = "emergencyModeResetCommandFlag", Null [5], optional;
        AnApdu = "an-APDU", AccessNetworkSignalInfo [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum StateAttributes = "StateAttributes", "TS 29.002 §17.7.12" {
        DownlinkAttached = "downlinkAttached", Null [5], optional;
        UplinkAttached = "uplinkAttached", Null [6], optional;
        DualCommunication = "dualCommunication", Null [7], optional;
        CallOriginator = "callOriginator", Null [8], optional;
    }
}

ber::sequence! {
    pub enum ForwardGroupCallSignallingArg =
        "ForwardGroupCallSignallingArg", "TS 29.002 §17.7.12" {
        Imsi = "imsi", Imsi, optional;
        UplinkRequestAck = "uplinkRequestAck", Null [0], optional;
        UplinkReleaseIndication = "uplinkReleaseIndication", Null [1], optional;
        UplinkRejectCommand = "uplinkRejectCommand", Null [2], optional;
        UplinkSeizedCommand = "uplinkSeizedCommand", Null [3], optional;
        UplinkReleaseCommand = "uplinkReleaseCommand", Null [4], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        StateAttributes = "stateAttributes", StateAttributes [5], optional;
        TalkerPriority = "talkerPriority", TalkerPriority [6], optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [7], optional;
        EmergencyModeResetCommandFlag = "emergencyModeResetCommandFlag", Null [8], optional;
        SmRpUi = "sm-RP-UI", SignalInfo [9], optional;
        AnApdu = "an-APDU", AccessNetworkSignalInfo [10], optional;
        ...
    }
}

ber::enumerated! {
    pub enum GroupCallRequestedInfo: "RequestedInfo", "TS 29.002 §17.7.12" {
        AnchorMscAddressAndAsciCallReference = 0, "anchorMSC-AddressAndASCI-CallReference";
        ImsiAndAdditionalInfoAndAdditionalSubscription = 1,
            "imsiAndAdditionalInfoAndAdditionalSubscription";
        ...
    }
}

ber::sequence! {
    pub enum SendGroupCallInfoArg = "SendGroupCallInfoArg", "TS 29.002 §17.7.12" {
        RequestedInfo = "requestedInfo", GroupCallRequestedInfo;
        GroupId = "groupId", LongGroupId;
        Teleservice = "teleservice", ExtTeleserviceCode;
        CellId = "cellId", GlobalCellId [0], optional;
        Imsi = "imsi", Imsi [1], optional;
        Tmsi = "tmsi", Tmsi [2], optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [3], optional;
        TalkerPriority = "talkerPriority", TalkerPriority [4], optional;
        Cksn = "cksn", Cksn [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        ...
    }
}

ber::sequence! {
    pub enum SendGroupCallInfoRes = "SendGroupCallInfoRes", "TS 29.002 §17.7.12" {
        AnchorMscAddress = "anchorMSC-Address", IsdnAddressString [0], optional;
        AsciCallReference = "asciCallReference", AsciCallReference [1], optional;
        Imsi = "imsi", Imsi [2], optional;
        AdditionalInfo = "additionalInfo", AdditionalInfo [3], optional;
        AdditionalSubscriptions =
            "additionalSubscriptions", AdditionalSubscriptions [4], optional;
        Kc = "kc", Kc [5], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer [6], optional;
        ...
    }
}
