//! Charging (TS 29.078 §5.1).

use super::parties::{CallSegmentId, LegId};
use ber::{Boolean, Integer, OctetString};

ber::named! {
    pub ChargeNumber = "ChargeNumber", "TS 29.078 §5.1", OctetString<2, 10>;
    pub ChargeIndicator = "ChargeIndicator", "TS 29.078 §5.1", OctetString<1, 1>;
    pub AChBillingChargingCharacteristics =
        "AChBillingChargingCharacteristics", "TS 29.078 §5.1",
        OctetString<5, 177>;
}

ber::choice! {
    pub enum AChChargingAddress = "AChChargingAddress", "TS 29.078 §5.1" {
        LegId = "legID", LegId [2];
        SrfConnection = "srfConnection", CallSegmentId [50];
    }
}

ber::named! {
    pub SciBillingChargingCharacteristics =
        "SCIBillingChargingCharacteristics", "TS 29.078 §5.1",
        OctetString<4, 225>;
}

ber::choice! {
    pub enum ChargingCharacteristics = "ChargingCharacteristics", "TS 29.078 §5.1" {
        MaxTransferredVolume = "maxTransferredVolume", Integer<1, 4294967295> [0];
        MaxElapsedTime = "maxElapsedTime", Integer<1, 86400> [1];
    }
}

ber::sequence! {
    pub enum Burst = "Burst", "TS 29.078 §5.1" {
        NumberOfBursts = "numberOfBursts", Integer<1, 3> [0], optional;
        BurstInterval = "burstInterval", Integer<1, 1200> [1], optional;
        NumberOfTonesInBurst = "numberOfTonesInBurst", Integer<1, 3> [2], optional;
        ToneDuration = "toneDuration", Integer<1, 20> [3], optional;
        ToneInterval = "toneInterval", Integer<1, 20> [4], optional;
        ...
    }
}

ber::sequence! {
    pub enum CaiGsm0224 = "CAI-GSM0224", "TS 29.078 §5.1" {
        E1 = "e1", Integer<0, 8191> [0], optional;
        E2 = "e2", Integer<0, 8191> [1], optional;
        E3 = "e3", Integer<0, 8191> [2], optional;
        E4 = "e4", Integer<0, 8191> [3], optional;
        E5 = "e5", Integer<0, 8191> [4], optional;
        E6 = "e6", Integer<0, 8191> [5], optional;
        E7 = "e7", Integer<0, 8191> [6], optional;
    }
}

ber::sequence! {
    pub enum AocSubsequent = "AOCSubsequent", "TS 29.078 §5.1" {
        CAiGsm0224 = "cAI-GSM0224", CaiGsm0224 [0];
        TariffSwitchInterval = "tariffSwitchInterval", Integer<1, 86400> [1], optional;
    }
}

ber::sequence! {
    pub enum AocBeforeAnswer = "AOCBeforeAnswer", "TS 29.078 §5.1" {
        AOcInitial = "aOCInitial", CaiGsm0224 [0];
        AOcSubsequent = "aOCSubsequent", AocSubsequent [1], optional;
    }
}

ber::enumerated! {
    pub enum AppendFreeFormatData: "AppendFreeFormatData", "TS 29.078 §5.1" {
        Overwrite = 0, "overwrite";
        Append = 1, "append";
    }
}

ber::sequence! {
    pub enum BurstList = "BurstList", "TS 29.078 §5.1" {
        WarningPeriod = "warningPeriod", Integer<1, 1200> [0], optional;
        Bursts = "bursts", Burst [1];
        ...
    }
}

ber::choice! {
    pub enum AudibleIndicator = "AudibleIndicator", "TS 29.078 §5.1" {
        Tone = "tone", Boolean;
        BurstList = "burstList", BurstList [1];
    }
}

ber::sequence! {
    pub enum CamelSciBillingChargingCharacteristicsAlt =
        "CAMEL-SCIBillingChargingCharacteristicsAlt", "TS 29.078 §5.1" {
        ...
    }
}

ber::choice! {
    pub enum CamelSciBillingChargingCharacteristics =
        "CAMEL-SCIBillingChargingCharacteristics", "TS 29.078 §5.1" {
        AOcBeforeAnswer = "aOCBeforeAnswer", AocBeforeAnswer [0];
        AOcAfterAnswer = "aOCAfterAnswer", AocSubsequent [1];
        AOcExtension = "aOC-extension", CamelSciBillingChargingCharacteristicsAlt [2];
    }
}

ber::named! {
    pub TariffSwitchInterval = "TariffSwitchInterval", "TS 29.078 §5.1", Integer<1, 86400>;
    pub TimeIfNoTariffSwitch = "TimeIfNoTariffSwitch", "TS 29.078 §5.1", Integer<0, 864000>;
}

ber::sequence! {
    pub enum TimeIfTariffSwitch = "TimeIfTariffSwitch", "TS 29.078 §5.1" {
        TimeSinceTariffSwitch = "timeSinceTariffSwitch", Integer<0, 864000> [0];
        TariffSwitchInterval = "tariffSwitchInterval", Integer<1, 864000> [1], optional;
    }
}

ber::choice! {
    pub enum TimeInformation = "TimeInformation", "TS 29.078 §5.1" {
        TimeIfNoTariffSwitch = "timeIfNoTariffSwitch", TimeIfNoTariffSwitch [0];
        TimeIfTariffSwitch = "timeIfTariffSwitch", TimeIfTariffSwitch [1];
    }
}
