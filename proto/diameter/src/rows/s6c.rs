//! S6c: routers of short messages and service centres towards the HSS (TS 29.338 §5).

use super::VENDOR_3GPP;
use super::base::{
    AUTH_SESSION_STATE, DESTINATION_HOST, DESTINATION_REALM, DRMP, EXPERIMENTAL_RESULT, FAILED_AVP,
    ORIGIN_HOST, ORIGIN_REALM, PROXY_INFO, RESULT_CODE, ROUTE_RECORD, SESSION_ID, USER_NAME,
    VENDOR_SPECIFIC_APPLICATION_ID,
};
use super::cx::SUPPORTED_FEATURES;
use super::sh::MSISDN;
use crate::row::Kind::{
    DiameterIdentity, Enumerated, Grouped, OctetString, Time, Unsigned32, Utf8String,
};
use crate::row::Mandatory::{Must, MustNot};
use crate::row::{Application, fixed, many, maybe, one};

/// Where a message goes, and why it did not.
macro_rules! outcome {
    () => {
        Grouped(&[maybe(&SM_DELIVERY_CAUSE), maybe(&ABSENT_USER_DIAGNOSTIC_SM)])
    };
}

/// Nodes that serve a user.
macro_rules! serving {
    () => {
        Grouped(&[
            maybe(&SGSN_NAME),
            maybe(&SGSN_REALM),
            maybe(&SGSN_NUMBER),
            maybe(&MME_NAME),
            maybe(&MME_REALM),
            maybe(&MME_NUMBER_FOR_MT_SMS),
            maybe(&MSC_NUMBER),
            maybe(&IP_SM_GW_NUMBER),
            maybe(&IP_SM_GW_NAME),
            maybe(&IP_SM_GW_REALM),
        ])
    };
}

crate::avps! {
    /// AVPs of S6c, and those of TS 29.173, TS 29.272 and TS 29.336 that it takes.
    pub AVPS, VENDOR_3GPP, {
        SGSN_NUMBER = 1489, "SGSN-Number", Must, OctetString, "TS 29.272 §7.3.102";
        MME_NUMBER_FOR_MT_SMS = 1645, "MME-Number-for-MT-SMS", MustNot, OctetString,
            "TS 29.272 §7.3.159";
        LMSI = 2400, "LMSI", Must, OctetString, "TS 29.173 §6.4.2";
        SERVING_NODE = 2401, "Serving-Node", Must, serving!(), "TS 29.173 §6.4.3";
        MME_NAME = 2402, "MME-Name", Must, DiameterIdentity, "TS 29.173 §6.4.4";
        MSC_NUMBER = 2403, "MSC-Number", Must, OctetString, "TS 29.173 §6.4.5";
        ADDITIONAL_SERVING_NODE = 2406, "Additional-Serving-Node", MustNot, serving!(),
            "TS 29.173 §6.4.8";
        MME_REALM = 2408, "MME-Realm", MustNot, DiameterIdentity, "TS 29.173 §6.4.10";
        SGSN_NAME = 2409, "SGSN-Name", MustNot, DiameterIdentity, "TS 29.173 §6.4.13";
        SGSN_REALM = 2410, "SGSN-Realm", MustNot, DiameterIdentity, "TS 29.173 §6.4.14";
        IP_SM_GW_NUMBER = 3100, "IP-SM-GW-Number", Must, OctetString, "TS 29.336 §6.4.14";
        IP_SM_GW_NAME = 3101, "IP-SM-GW-Name", Must, DiameterIdentity, "TS 29.336 §6.4.15";
        USER_IDENTIFIER = 3102, "User-Identifier", Must, Grouped(&[
            maybe(&USER_NAME), maybe(&MSISDN), maybe(&EXTERNAL_IDENTIFIER), maybe(&LMSI),
        ]), "TS 29.336 §6.4.2";
        EXTERNAL_IDENTIFIER = 3111, "External-Identifier", Must, Utf8String,
            "TS 29.336 §6.4.11";
        IP_SM_GW_REALM = 3112, "IP-SM-GW-Realm", Must, DiameterIdentity, "TS 29.336 §6.4.28";
        SC_ADDRESS = 3300, "SC-Address", Must, OctetString, "TS 29.338 §6.3.3.2";
        SM_RP_MTI = 3308, "SM-RP-MTI", MustNot, Enumerated(&[
            (0, "SM_DELIVER"), (1, "SM_STATUS_REPORT"),
        ]), "TS 29.338 §5.3.3.2";
        SM_RP_SMEA = 3309, "SM-RP-SMEA", MustNot, OctetString, "TS 29.338 §5.3.3.3";
        SRR_FLAGS = 3310, "SRR-Flags", MustNot, Unsigned32, "TS 29.338 §5.3.3.4";
        SM_DELIVERY_NOT_INTENDED = 3311, "SM-Delivery-Not-Intended", MustNot, Enumerated(&[
            (0, "ONLY_IMSI_REQUESTED"), (1, "ONLY_MCC_MNC_REQUESTED"),
        ]), "TS 29.338 §5.3.3.5";
        MWD_STATUS = 3312, "MWD-Status", MustNot, Unsigned32, "TS 29.338 §5.3.3.8";
        MME_ABSENT_USER_DIAGNOSTIC_SM = 3313, "MME-Absent-User-Diagnostic-SM", MustNot,
            Unsigned32, "TS 29.338 §5.3.3.9";
        MSC_ABSENT_USER_DIAGNOSTIC_SM = 3314, "MSC-Absent-User-Diagnostic-SM", MustNot,
            Unsigned32, "TS 29.338 §5.3.3.10";
        SGSN_ABSENT_USER_DIAGNOSTIC_SM = 3315, "SGSN-Absent-User-Diagnostic-SM", MustNot,
            Unsigned32, "TS 29.338 §5.3.3.11";
        SM_DELIVERY_OUTCOME = 3316, "SM-Delivery-Outcome", MustNot, Grouped(&[
            maybe(&MME_SM_DELIVERY_OUTCOME), maybe(&MSC_SM_DELIVERY_OUTCOME),
            maybe(&SGSN_SM_DELIVERY_OUTCOME), maybe(&IP_SM_GW_SM_DELIVERY_OUTCOME),
        ]), "TS 29.338 §5.3.3.14";
        MME_SM_DELIVERY_OUTCOME = 3317, "MME-SM-Delivery-Outcome", MustNot, outcome!(),
            "TS 29.338 §5.3.3.15";
        MSC_SM_DELIVERY_OUTCOME = 3318, "MSC-SM-Delivery-Outcome", MustNot, outcome!(),
            "TS 29.338 §5.3.3.16";
        SGSN_SM_DELIVERY_OUTCOME = 3319, "SGSN-SM-Delivery-Outcome", MustNot, outcome!(),
            "TS 29.338 §5.3.3.17";
        IP_SM_GW_SM_DELIVERY_OUTCOME = 3320, "IP-SM-GW-SM-Delivery-Outcome", MustNot, outcome!(),
            "TS 29.338 §5.3.3.18";
        SM_DELIVERY_CAUSE = 3321, "SM-Delivery-Cause", MustNot, Enumerated(&[
            (0, "UE_MEMORY_CAPACITY_EXCEEDED"), (1, "ABSENT_USER"), (2, "SUCCESSFUL_TRANSFER"),
        ]), "TS 29.338 §5.3.3.19";
        ABSENT_USER_DIAGNOSTIC_SM = 3322, "Absent-User-Diagnostic-SM", MustNot, Unsigned32,
            "TS 29.338 §5.3.3.20";
        RDR_FLAGS = 3323, "RDR-Flags", MustNot, Unsigned32, "TS 29.338 §5.3.3.21";
        SMSMI_CORRELATION_ID = 3324, "SMSMI-Correlation-ID", MustNot, Grouped(&[
            maybe(&HSS_ID), maybe(&ORIGINATING_SIP_URI), maybe(&DESTINATION_SIP_URI),
        ]), "TS 29.338 §6.3.3.13";
        HSS_ID = 3325, "HSS-ID", MustNot, OctetString, "TS 29.338 §6.3.3.14";
        ORIGINATING_SIP_URI = 3326, "Originating-SIP-URI", MustNot, Utf8String,
            "TS 29.338 §6.3.3.15";
        DESTINATION_SIP_URI = 3327, "Destination-SIP-URI", MustNot, Utf8String,
            "TS 29.338 §6.3.3.16";
        MAXIMUM_UE_AVAILABILITY_TIME = 3329, "Maximum-UE-Availability-Time", MustNot, Time,
            "TS 29.338 §5.3.3.22";
        SMS_GMSC_ALERT_EVENT = 3333, "SMS-GMSC-Alert-Event", MustNot, Unsigned32,
            "TS 29.338 §5.3.3.23";
    }
}

/// Requests and answers of TS 29.338, where the Vendor-Specific-Application-Id may lack.
macro_rules! request {
    ($($rest:expr),* $(,)?) => {
        &[
            fixed(&SESSION_ID), maybe(&DRMP), maybe(&VENDOR_SPECIFIC_APPLICATION_ID),
            one(&AUTH_SESSION_STATE), one(&ORIGIN_HOST), one(&ORIGIN_REALM),
            maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), $($rest,)*
            many(&SUPPORTED_FEATURES), many(&PROXY_INFO), many(&ROUTE_RECORD),
        ]
    };
}
macro_rules! answer {
    ($($rest:expr),* $(,)?) => {
        &[
            fixed(&SESSION_ID), maybe(&DRMP), maybe(&VENDOR_SPECIFIC_APPLICATION_ID),
            maybe(&RESULT_CODE), maybe(&EXPERIMENTAL_RESULT), one(&AUTH_SESSION_STATE),
            one(&ORIGIN_HOST), one(&ORIGIN_REALM), $($rest,)* many(&SUPPORTED_FEATURES),
            many(&FAILED_AVP), many(&PROXY_INFO), many(&ROUTE_RECORD),
        ]
    };
}
pub(super) use {answer, request};

crate::commands! {
    SEND_ROUTING_INFO_FOR_SM = 8_388_647, "Send-Routing-Info-for-SM", "SRR", "SRA", request![
        maybe(&MSISDN), maybe(&USER_NAME), maybe(&SMSMI_CORRELATION_ID), maybe(&SC_ADDRESS),
        maybe(&SM_RP_MTI), maybe(&SM_RP_SMEA), maybe(&SRR_FLAGS),
        maybe(&SM_DELIVERY_NOT_INTENDED),
    ], answer![
        maybe(&USER_NAME), maybe(&SERVING_NODE), maybe(&ADDITIONAL_SERVING_NODE), maybe(&LMSI),
        maybe(&USER_IDENTIFIER), maybe(&MWD_STATUS), maybe(&MME_ABSENT_USER_DIAGNOSTIC_SM),
        maybe(&MSC_ABSENT_USER_DIAGNOSTIC_SM), maybe(&SGSN_ABSENT_USER_DIAGNOSTIC_SM),
    ], true, "TS 29.338 §5.3.2.3";
    ALERT_SERVICE_CENTRE = 8_388_648, "Alert-Service-Centre", "ALR", "ALA", request![
        one(&SC_ADDRESS), one(&USER_IDENTIFIER), maybe(&SMSMI_CORRELATION_ID),
        maybe(&MAXIMUM_UE_AVAILABILITY_TIME), maybe(&SMS_GMSC_ALERT_EVENT),
        maybe(&SERVING_NODE),
    ], answer![], true, "TS 29.338 §5.3.2.5";
    REPORT_SM_DELIVERY_STATUS = 8_388_649, "Report-SM-Delivery-Status", "RDR", "RDA", request![
        one(&USER_IDENTIFIER), maybe(&SMSMI_CORRELATION_ID), one(&SC_ADDRESS),
        one(&SM_DELIVERY_OUTCOME), maybe(&RDR_FLAGS),
    ], answer![maybe(&USER_IDENTIFIER)], true, "TS 29.338 §5.3.2.7";
}

/// Values of Experimental-Result-Code of TS 29.338, for both of its applications.
pub(super) static RESULTS: &[(u32, &str, &str)] = &[
    (5001, "DIAMETER_ERROR_USER_UNKNOWN", "TS 29.229 §6.2.2.1"),
    (5550, "DIAMETER_ERROR_ABSENT_USER", "TS 29.338 §7.3.3"),
    (5551, "DIAMETER_ERROR_USER_BUSY_FOR_MT_SMS", "TS 29.338 §7.3.4"),
    (5552, "DIAMETER_ERROR_FACILITY_NOT_SUPPORTED", "TS 29.338 §7.3.5"),
    (5553, "DIAMETER_ERROR_ILLEGAL_USER", "TS 29.338 §7.3.6"),
    (5554, "DIAMETER_ERROR_ILLEGAL_EQUIPMENT", "TS 29.338 §7.3.7"),
    (5555, "DIAMETER_ERROR_SM_DELIVERY_FAILURE", "TS 29.338 §7.3.8"),
    (5556, "DIAMETER_ERROR_SERVICE_NOT_SUBSCRIBED", "TS 29.338 §7.3.9"),
    (5557, "DIAMETER_ERROR_SERVICE_BARRED", "TS 29.338 §7.3.10"),
    (5558, "DIAMETER_ERROR_MWD_LIST_FULL", "TS 29.338 §7.3.11"),
];

/// S6c.
pub static S6C: Application = Application {
    id: 16_777_312,
    vendor: VENDOR_3GPP,
    name: "S6c",
    is_accounting: false,
    commands: &[&SEND_ROUTING_INFO_FOR_SM, &ALERT_SERVICE_CENTRE, &REPORT_SM_DELIVERY_STATUS],
    results: RESULTS,
    spec: "TS 29.338 §5",
};
