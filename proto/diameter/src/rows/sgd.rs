//! SGd and Gdd: short messages between MME, SGSN or IP-SM-GW and the service centre (TS 29.338 §6).

use super::VENDOR_3GPP;
use super::base::{
    AUTH_SESSION_STATE, DESTINATION_HOST, DESTINATION_REALM, DRMP, EXPERIMENTAL_RESULT, FAILED_AVP,
    ORIGIN_HOST, ORIGIN_REALM, PROXY_INFO, RESULT_CODE, ROUTE_RECORD, SESSION_ID, USER_NAME,
    VENDOR_SPECIFIC_APPLICATION_ID,
};
use super::cx::SUPPORTED_FEATURES;
use super::s6c::{
    ABSENT_USER_DIAGNOSTIC_SM, ALERT_SERVICE_CENTRE, EXTERNAL_IDENTIFIER, MME_NUMBER_FOR_MT_SMS,
    SC_ADDRESS, SGSN_NUMBER, SM_DELIVERY_OUTCOME, SMSMI_CORRELATION_ID, USER_IDENTIFIER, answer,
    request,
};
use crate::row::Kind::{Enumerated, Grouped, OctetString, Time, Unsigned32};
use crate::row::Mandatory::{Must, MustNot};
use crate::row::{Application, fixed, many, maybe, one};

crate::avps! {
    /// AVPs of SGd. SM-RP-UI is a TPDU of TS 23.040, kept as octets.
    pub AVPS, VENDOR_3GPP, {
        SM_RP_UI = 3301, "SM-RP-UI", Must, OctetString, "TS 29.338 §6.3.3.3";
        TFR_FLAGS = 3302, "TFR-Flags", Must, Unsigned32, "TS 29.338 §6.3.3.4";
        SM_DELIVERY_FAILURE_CAUSE = 3303, "SM-Delivery-Failure-Cause", Must, Grouped(&[
            one(&SM_ENUMERATED_DELIVERY_FAILURE_CAUSE), maybe(&SM_DIAGNOSTIC_INFO),
        ]), "TS 29.338 §6.3.3.5";
        SM_ENUMERATED_DELIVERY_FAILURE_CAUSE = 3304, "SM-Enumerated-Delivery-Failure-Cause", Must,
            Enumerated(&[
                (0, "MEMORY_CAPACITY_EXCEEDED"), (1, "EQUIPMENT_PROTOCOL_ERROR"),
                (2, "EQUIPMENT_NOT_SM-EQUIPPED"), (3, "UNKNOWN_SERVICE_CENTRE"),
                (4, "SC-CONGESTION"), (5, "INVALID_SME-ADDRESS"), (6, "USER_NOT_SC-USER"),
            ]), "TS 29.338 §6.3.3.6";
        SM_DIAGNOSTIC_INFO = 3305, "SM-Diagnostic-Info", Must, OctetString, "TS 29.338 §6.3.3.7";
        SM_DELIVERY_TIMER = 3306, "SM-Delivery-Timer", Must, Unsigned32, "TS 29.338 §6.3.3.10";
        SM_DELIVERY_START_TIME = 3307, "SM-Delivery-Start-Time", Must, Time,
            "TS 29.338 §6.3.3.11";
        OFR_FLAGS = 3328, "OFR-Flags", MustNot, Unsigned32, "TS 29.338 §6.3.3.12";
        MAXIMUM_RETRANSMISSION_TIME = 3330, "Maximum-Retransmission-Time", MustNot, Time,
            "TS 29.338 §6.3.3.17";
        REQUESTED_RETRANSMISSION_TIME = 3331, "Requested-Retransmission-Time", MustNot, Time,
            "TS 29.338 §6.3.3.18";
        SMS_GMSC_ADDRESS = 3332, "SMS-GMSC-Address", MustNot, OctetString,
            "TS 29.338 §6.3.3.19";
    }
}

crate::commands! {
    MO_FORWARD_SHORT_MESSAGE = 8_388_645, "MO-Forward-Short-Message", "OFR", "OFA", request![
        one(&SC_ADDRESS), maybe(&OFR_FLAGS), one(&USER_IDENTIFIER), one(&SM_RP_UI),
        maybe(&SMSMI_CORRELATION_ID), maybe(&SM_DELIVERY_OUTCOME),
    ], answer![
        maybe(&SM_DELIVERY_FAILURE_CAUSE), maybe(&SM_RP_UI), maybe(&EXTERNAL_IDENTIFIER),
    ], true, "TS 29.338 §6.3.2.3";
    MT_FORWARD_SHORT_MESSAGE = 8_388_646, "MT-Forward-Short-Message", "TFR", "TFA", request![
        one(&USER_NAME), maybe(&SMSMI_CORRELATION_ID), one(&SC_ADDRESS), one(&SM_RP_UI),
        maybe(&MME_NUMBER_FOR_MT_SMS), maybe(&SGSN_NUMBER), maybe(&TFR_FLAGS),
        maybe(&SM_DELIVERY_TIMER), maybe(&SM_DELIVERY_START_TIME),
        maybe(&MAXIMUM_RETRANSMISSION_TIME), maybe(&SMS_GMSC_ADDRESS),
    ], answer![
        maybe(&ABSENT_USER_DIAGNOSTIC_SM), maybe(&SM_DELIVERY_FAILURE_CAUSE), maybe(&SM_RP_UI),
        maybe(&REQUESTED_RETRANSMISSION_TIME), maybe(&USER_IDENTIFIER),
    ], true, "TS 29.338 §6.3.2.5";
}

/// SGd and Gdd.
pub static SGD: Application = Application {
    id: 16_777_313,
    vendor: VENDOR_3GPP,
    name: "SGd",
    is_accounting: false,
    commands: &[&MO_FORWARD_SHORT_MESSAGE, &MT_FORWARD_SHORT_MESSAGE, &ALERT_SERVICE_CENTRE],
    results: super::s6c::RESULTS,
    spec: "TS 29.338 §6",
};
