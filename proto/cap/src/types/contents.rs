//! What octet strings of charging have in them: values of these types (TS 29.078 §5.1).

use super::charging::{
    AChChargingAddress, AppendFreeFormatData, AudibleIndicator, TimeInformation,
};
use super::gprs::PdpId;
use super::parties::{Extensions, ReceivingSideId, SendingSideId};
use ber::{Boolean, Integer, Null, OctetString};

ber::sequence! {
    pub enum TimeDurationCharging =
        "CAMEL-AChBillingChargingCharacteristics.timeDurationCharging", "TS 29.078 §5.1" {
        MaxCallPeriodDuration = "maxCallPeriodDuration", Integer<1, 864000> [0];
        ReleaseIfdurationExceeded = "releaseIfdurationExceeded", Boolean [1], optional;
        TariffSwitchInterval = "tariffSwitchInterval", Integer<1, 86400> [2], optional;
        AudibleIndicator = "audibleIndicator", AudibleIndicator [3], optional;
        Extensions = "extensions", Extensions [4], optional;
        ...
    }
}

ber::choice! {
    pub enum CamelAChBillingChargingCharacteristics =
        "CAMEL-AChBillingChargingCharacteristics", "TS 29.078 §5.1" {
        TimeDurationCharging = "timeDurationCharging", TimeDurationCharging [0];
    }
}

ber::sequence! {
    pub enum TimeDurationChargingResult =
        "CAMEL-CallResult.timeDurationChargingResult", "TS 29.078 §5.1" {
        PartyToCharge = "partyToCharge", ReceivingSideId [0];
        TimeInformation = "timeInformation", TimeInformation [1];
        LegActive = "legActive", Boolean [2], optional;
        CallLegReleasedAtTcpExpiry = "callLegReleasedAtTcpExpiry", Null [3], optional;
        Extensions = "extensions", Extensions [4], optional;
        AChChargingAddress = "aChChargingAddress", AChChargingAddress [5], optional;
        ...
    }
}

ber::choice! {
    pub enum CamelCallResult =
        "CAMEL-CallResult", "TS 29.078 §5.1" {
        TimeDurationChargingResult = "timeDurationChargingResult", TimeDurationChargingResult [0];
    }
}

ber::sequence! {
    pub enum CamelFciBillingChargingCharacteristicsSequence1 =
        "CAMEL-FCIBillingChargingCharacteristics.fCIBCCCAMELsequence1", "TS 29.078 §5.1" {
        FreeFormatData = "freeFormatData", OctetString<1, 160> [0];
        PartyToCharge = "partyToCharge", SendingSideId [1], optional;
        AppendFreeFormatData = "appendFreeFormatData", AppendFreeFormatData [2], optional;
        ...
    }
}

ber::choice! {
    pub enum CamelFciBillingChargingCharacteristics =
        "CAMEL-FCIBillingChargingCharacteristics", "TS 29.078 §5.1" {
        Sequence1 = "fCIBCCCAMELsequence1", CamelFciBillingChargingCharacteristicsSequence1 [0];
    }
}

ber::sequence! {
    pub enum CamelFciGprsBillingChargingCharacteristicsSequence1 =
        "CAMEL-FCIGPRSBillingChargingCharacteristics.fCIBCCCAMELsequence1", "TS 29.078 §5.1" {
        FreeFormatData = "freeFormatData", OctetString<1, 160> [0];
        PdpId = "pDPID", PdpId [1], optional;
        AppendFreeFormatData = "appendFreeFormatData", AppendFreeFormatData [2], optional;
        ...
    }
}

ber::sequence! {
    pub enum CamelFciGprsBillingChargingCharacteristics =
        "CAMEL-FCIGPRSBillingChargingCharacteristics", "TS 29.078 §5.1" {
        Sequence1 = "fCIBCCCAMELsequence1", CamelFciGprsBillingChargingCharacteristicsSequence1 [0];
    }
}

ber::sequence! {
    pub enum CamelFciSmsBillingChargingCharacteristicsSequence1 =
        "CAMEL-FCISMSBillingChargingCharacteristics.fCIBCCCAMELsequence1", "TS 29.078 §5.1" {
        FreeFormatData = "freeFormatData", OctetString<1, 160> [0];
        AppendFreeFormatData = "appendFreeFormatData", AppendFreeFormatData [1], optional;
    }
}

ber::choice! {
    pub enum CamelFciSmsBillingChargingCharacteristics =
        "CAMEL-FCISMSBillingChargingCharacteristics", "TS 29.078 §5.1" {
        Sequence1 = "fCIBCCCAMELsequence1", CamelFciSmsBillingChargingCharacteristicsSequence1 [0];
    }
}
