//! The dialogue PDUs of MAP, user information of TCAP (TS 29.002 §17.4).

use super::identities::{AddressString, ExtensionContainer};
use ber::{Null, ObjectIdentifier};

ber::sequence! {
    pub enum MapOpenInfo = "MAP-OpenInfo", "TS 29.002 §17.4" {
        DestinationReference = "destinationReference", AddressString [0], optional;
        OriginationReference = "originationReference", AddressString [1], optional;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MapAcceptInfo = "MAP-AcceptInfo", "TS 29.002 §17.4" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::sequence! {
    pub enum MapCloseInfo = "MAP-CloseInfo", "TS 29.002 §17.4" {
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum Reason: "Reason", "TS 29.002 §17.4" {
        NoReasonGiven = 0, "noReasonGiven";
        InvalidDestinationReference = 1, "invalidDestinationReference";
        InvalidOriginatingReference = 2, "invalidOriginatingReference";
    }
}

ber::sequence! {
    pub enum MapRefuseInfo = "MAP-RefuseInfo", "TS 29.002 §17.4" {
        Reason = "reason", Reason;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        AlternativeApplicationContext =
            "alternativeApplicationContext", ObjectIdentifier, optional;
        ...
    }
}

ber::enumerated! {
    pub enum ResourceUnavailableReason: "ResourceUnavailableReason", "TS 29.002 §17.4" {
        ShortTermResourceLimitation = 0, "shortTermResourceLimitation";
        LongTermResourceLimitation = 1, "longTermResourceLimitation";
    }
}

ber::enumerated! {
    pub enum ProcedureCancellationReason: "ProcedureCancellationReason", "TS 29.002 §17.4" {
        HandoverCancellation = 0, "handoverCancellation";
        RadioChannelRelease = 1, "radioChannelRelease";
        NetworkPathRelease = 2, "networkPathRelease";
        CallRelease = 3, "callRelease";
        AssociatedProcedureFailure = 4, "associatedProcedureFailure";
        TandemDialogueRelease = 5, "tandemDialogueRelease";
        RemoteOperationsFailure = 6, "remoteOperationsFailure";
    }
}

ber::choice! {
    pub enum MapUserAbortChoice = "MAP-UserAbortChoice", "TS 29.002 §17.4" {
        UserSpecificReason = "userSpecificReason", Null [0];
        UserResourceLimitation = "userResourceLimitation", Null [1];
        ResourceUnavailable = "resourceUnavailable", ResourceUnavailableReason [2];
        ApplicationProcedureCancellation =
            "applicationProcedureCancellation", ProcedureCancellationReason [3];
    }
}

ber::sequence! {
    pub enum MapUserAbortInfo = "MAP-UserAbortInfo", "TS 29.002 §17.4" {
        MapUserAbortChoice = "map-UserAbortChoice", MapUserAbortChoice;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::enumerated! {
    pub enum MapProviderAbortReason: "MAP-ProviderAbortReason", "TS 29.002 §17.4" {
        AbnormalDialogue = 0, "abnormalDialogue";
        InvalidPdu = 1, "invalidPDU";
    }
}

ber::sequence! {
    pub enum MapProviderAbortInfo = "MAP-ProviderAbortInfo", "TS 29.002 §17.4" {
        MapProviderAbortReason = "map-ProviderAbortReason", MapProviderAbortReason;
        ExtensionContainer = "extensionContainer", ExtensionContainer, optional;
        ...
    }
}

ber::choice! {
    pub enum MapDialoguePdu = "MAP-DialoguePDU", "TS 29.002 §17.4" {
        MapOpen = "map-open", MapOpenInfo [0];
        MapAccept = "map-accept", MapAcceptInfo [1];
        MapClose = "map-close", MapCloseInfo [2];
        MapRefuse = "map-refuse", MapRefuseInfo [3];
        MapUserAbort = "map-userAbort", MapUserAbortInfo [4];
        MapProviderAbort = "map-providerAbort", MapProviderAbortInfo [5];
    }
}
