//! The base protocol (RFC 6733), and what all applications share.

use crate::row::Kind::{
    Address, DiameterIdentity, DiameterUri, Enumerated, Grouped, Integer32, OctetString, Time,
    Unsigned32, Unsigned64, Utf8String,
};
use crate::row::Mandatory::{May, Must, MustNot};
use crate::row::{Application, Member, fixed, many, maybe, one, some};

/// The Application-ID of relays (RFC 6733 §2.4).
pub const RELAY: u32 = 0xffff_ffff;

crate::avps! {
    /// AVPs of the base protocol, and of RFC 7683, RFC 7944 and RFC 8583.
    pub AVPS, 0, {
        USER_NAME = 1, "User-Name", Must, Utf8String, "RFC 6733 §8.14";
        CLASS = 25, "Class", Must, OctetString, "RFC 6733 §8.20";
        SESSION_TIMEOUT = 27, "Session-Timeout", Must, Unsigned32, "RFC 6733 §8.13";
        PROXY_STATE = 33, "Proxy-State", Must, OctetString, "RFC 6733 §6.7.4";
        ACCT_SESSION_ID = 44, "Acct-Session-Id", Must, OctetString, "RFC 6733 §9.8.4";
        ACCT_MULTI_SESSION_ID = 50, "Acct-Multi-Session-Id", Must, Utf8String, "RFC 6733 §9.8.5";
        EVENT_TIMESTAMP = 55, "Event-Timestamp", Must, Time, "RFC 6733 §8.21";
        ACCT_INTERIM_INTERVAL = 85, "Acct-Interim-Interval", Must, Unsigned32, "RFC 6733 §9.8.2";
        HOST_IP_ADDRESS = 257, "Host-IP-Address", Must, Address, "RFC 6733 §5.3.5";
        AUTH_APPLICATION_ID = 258, "Auth-Application-Id", Must, Unsigned32, "RFC 6733 §6.8";
        ACCT_APPLICATION_ID = 259, "Acct-Application-Id", Must, Unsigned32, "RFC 6733 §6.9";
        VENDOR_SPECIFIC_APPLICATION_ID = 260, "Vendor-Specific-Application-Id", Must,
            Grouped(&[one(&VENDOR_ID), maybe(&AUTH_APPLICATION_ID), maybe(&ACCT_APPLICATION_ID)]),
            "RFC 6733 §6.11";
        REDIRECT_HOST_USAGE = 261, "Redirect-Host-Usage", Must, Enumerated(&[
            (0, "DONT_CACHE"), (1, "ALL_SESSION"), (2, "ALL_REALM"), (3, "REALM_AND_APPLICATION"),
            (4, "ALL_APPLICATION"), (5, "ALL_HOST"), (6, "ALL_USER"),
        ]), "RFC 6733 §6.13";
        REDIRECT_MAX_CACHE_TIME = 262, "Redirect-Max-Cache-Time", Must, Unsigned32,
            "RFC 6733 §6.14";
        SESSION_ID = 263, "Session-Id", Must, Utf8String, "RFC 6733 §8.8";
        ORIGIN_HOST = 264, "Origin-Host", Must, DiameterIdentity, "RFC 6733 §6.3";
        SUPPORTED_VENDOR_ID = 265, "Supported-Vendor-Id", Must, Unsigned32, "RFC 6733 §5.3.6";
        VENDOR_ID = 266, "Vendor-Id", Must, Unsigned32, "RFC 6733 §5.3.3";
        FIRMWARE_REVISION = 267, "Firmware-Revision", MustNot, Unsigned32, "RFC 6733 §5.3.4";
        RESULT_CODE = 268, "Result-Code", Must, Unsigned32, "RFC 6733 §7.1";
        PRODUCT_NAME = 269, "Product-Name", MustNot, Utf8String, "RFC 6733 §5.3.7";
        SESSION_BINDING = 270, "Session-Binding", Must, Unsigned32, "RFC 6733 §8.17";
        SESSION_SERVER_FAILOVER = 271, "Session-Server-Failover", Must, Enumerated(&[
            (0, "REFUSE_SERVICE"), (1, "TRY_AGAIN"), (2, "ALLOW_SERVICE"),
            (3, "TRY_AGAIN_ALLOW_SERVICE"),
        ]), "RFC 6733 §8.18";
        MULTI_ROUND_TIME_OUT = 272, "Multi-Round-Time-Out", Must, Unsigned32, "RFC 6733 §8.19";
        DISCONNECT_CAUSE = 273, "Disconnect-Cause", Must, Enumerated(&[
            (0, "REBOOTING"), (1, "BUSY"), (2, "DO_NOT_WANT_TO_TALK_TO_YOU"),
        ]), "RFC 6733 §5.4.3";
        AUTH_REQUEST_TYPE = 274, "Auth-Request-Type", Must, Enumerated(&[
            (1, "AUTHENTICATE_ONLY"), (2, "AUTHORIZE_ONLY"), (3, "AUTHORIZE_AUTHENTICATE"),
        ]), "RFC 6733 §8.7";
        AUTH_GRACE_PERIOD = 276, "Auth-Grace-Period", Must, Unsigned32, "RFC 6733 §8.10";
        AUTH_SESSION_STATE = 277, "Auth-Session-State", Must, Enumerated(&[
            (0, "STATE_MAINTAINED"), (1, "NO_STATE_MAINTAINED"),
        ]), "RFC 6733 §8.11";
        ORIGIN_STATE_ID = 278, "Origin-State-Id", Must, Unsigned32, "RFC 6733 §8.16";
        FAILED_AVP = 279, "Failed-AVP", Must, Grouped(&[]), "RFC 6733 §7.5";
        PROXY_HOST = 280, "Proxy-Host", Must, DiameterIdentity, "RFC 6733 §6.7.3";
        ERROR_MESSAGE = 281, "Error-Message", MustNot, Utf8String, "RFC 6733 §7.3";
        ROUTE_RECORD = 282, "Route-Record", Must, DiameterIdentity, "RFC 6733 §6.7.1";
        DESTINATION_REALM = 283, "Destination-Realm", Must, DiameterIdentity, "RFC 6733 §6.6";
        PROXY_INFO = 284, "Proxy-Info", Must, Grouped(&[one(&PROXY_HOST), one(&PROXY_STATE)]),
            "RFC 6733 §6.7.2";
        RE_AUTH_REQUEST_TYPE = 285, "Re-Auth-Request-Type", Must, Enumerated(&[
            (0, "AUTHORIZE_ONLY"), (1, "AUTHORIZE_AUTHENTICATE"),
        ]), "RFC 6733 §8.12";
        ACCOUNTING_SUB_SESSION_ID = 287, "Accounting-Sub-Session-Id", Must, Unsigned64,
            "RFC 6733 §9.8.6";
        AUTHORIZATION_LIFETIME = 291, "Authorization-Lifetime", Must, Integer32, "RFC 6733 §8.9";
        REDIRECT_HOST = 292, "Redirect-Host", Must, DiameterUri, "RFC 6733 §6.12";
        DESTINATION_HOST = 293, "Destination-Host", Must, DiameterIdentity, "RFC 6733 §6.5";
        ERROR_REPORTING_HOST = 294, "Error-Reporting-Host", MustNot, DiameterIdentity,
            "RFC 6733 §7.4";
        TERMINATION_CAUSE = 295, "Termination-Cause", Must, Enumerated(&[
            (1, "DIAMETER_LOGOUT"), (2, "DIAMETER_SERVICE_NOT_PROVIDED"),
            (3, "DIAMETER_BAD_ANSWER"), (4, "DIAMETER_ADMINISTRATIVE"),
            (5, "DIAMETER_LINK_BROKEN"), (6, "DIAMETER_AUTH_EXPIRED"), (7, "DIAMETER_USER_MOVED"),
            (8, "DIAMETER_SESSION_TIMEOUT"),
        ]), "RFC 6733 §8.15";
        ORIGIN_REALM = 296, "Origin-Realm", Must, DiameterIdentity, "RFC 6733 §6.4";
        EXPERIMENTAL_RESULT = 297, "Experimental-Result", Must,
            Grouped(&[one(&VENDOR_ID), one(&EXPERIMENTAL_RESULT_CODE)]), "RFC 6733 §7.6";
        EXPERIMENTAL_RESULT_CODE = 298, "Experimental-Result-Code", Must, Unsigned32,
            "RFC 6733 §7.7";
        INBAND_SECURITY_ID = 299, "Inband-Security-Id", Must, Unsigned32, "RFC 6733 §6.10";
        DRMP = 301, "DRMP", MustNot, Enumerated(&[
            (0, "PRIORITY_0"), (1, "PRIORITY_1"), (2, "PRIORITY_2"), (3, "PRIORITY_3"),
            (4, "PRIORITY_4"), (5, "PRIORITY_5"), (6, "PRIORITY_6"), (7, "PRIORITY_7"),
            (8, "PRIORITY_8"), (9, "PRIORITY_9"), (10, "PRIORITY_10"), (11, "PRIORITY_11"),
            (12, "PRIORITY_12"), (13, "PRIORITY_13"), (14, "PRIORITY_14"), (15, "PRIORITY_15"),
        ]), "RFC 7944 §9.1";
        ACCOUNTING_RECORD_TYPE = 480, "Accounting-Record-Type", Must, Enumerated(&[
            (1, "EVENT_RECORD"), (2, "START_RECORD"), (3, "INTERIM_RECORD"), (4, "STOP_RECORD"),
        ]), "RFC 6733 §9.8.1";
        ACCOUNTING_REALTIME_REQUIRED = 483, "Accounting-Realtime-Required", Must, Enumerated(&[
            (1, "DELIVER_AND_GRANT"), (2, "GRANT_AND_STORE"), (3, "GRANT_AND_LOSE"),
        ]), "RFC 6733 §9.8.7";
        ACCOUNTING_RECORD_NUMBER = 485, "Accounting-Record-Number", Must, Unsigned32,
            "RFC 6733 §9.8.3";
        OC_SUPPORTED_FEATURES = 621, "OC-Supported-Features", May,
            Grouped(&[maybe(&OC_FEATURE_VECTOR)]), "RFC 7683 §7.1";
        OC_FEATURE_VECTOR = 622, "OC-Feature-Vector", May, Unsigned64, "RFC 7683 §7.2";
        OC_OLR = 623, "OC-OLR", May, Grouped(&[
            one(&OC_SEQUENCE_NUMBER), one(&OC_REPORT_TYPE), maybe(&OC_REDUCTION_PERCENTAGE),
            maybe(&OC_VALIDITY_DURATION),
        ]), "RFC 7683 §7.3";
        OC_SEQUENCE_NUMBER = 624, "OC-Sequence-Number", May, Unsigned64, "RFC 7683 §7.4";
        OC_VALIDITY_DURATION = 625, "OC-Validity-Duration", May, Unsigned32, "RFC 7683 §7.5";
        OC_REPORT_TYPE = 626, "OC-Report-Type", May, Enumerated(&[
            (0, "HOST_REPORT"), (1, "REALM_REPORT"),
        ]), "RFC 7683 §7.6";
        OC_REDUCTION_PERCENTAGE = 627, "OC-Reduction-Percentage", May, Unsigned32,
            "RFC 7683 §7.7";
        SOURCE_ID = 649, "SourceID", May, DiameterIdentity, "RFC 8581 §7.3";
        LOAD = 650, "Load", MustNot,
            Grouped(&[maybe(&LOAD_TYPE), maybe(&LOAD_VALUE), maybe(&SOURCE_ID)]), "RFC 8583 §7.1";
        LOAD_TYPE = 651, "Load-Type", MustNot, Enumerated(&[(0, "HOST"), (1, "PEER")]),
            "RFC 8583 §7.2";
        LOAD_VALUE = 652, "Load-Value", MustNot, Unsigned64, "RFC 8583 §7.3";
    }
}

static CAPABILITIES: &[Member] = &[
    one(&ORIGIN_HOST),
    one(&ORIGIN_REALM),
    some(&HOST_IP_ADDRESS),
    one(&VENDOR_ID),
    one(&PRODUCT_NAME),
    maybe(&ORIGIN_STATE_ID),
    many(&SUPPORTED_VENDOR_ID),
    many(&AUTH_APPLICATION_ID),
    many(&INBAND_SECURITY_ID),
    many(&ACCT_APPLICATION_ID),
    many(&VENDOR_SPECIFIC_APPLICATION_ID),
    maybe(&FIRMWARE_REVISION),
];

/// What an answer has whatever its command, when it tells of an error (RFC 6733 §7.2).
pub static ERROR: &[Member] = &[
    maybe(&SESSION_ID),
    one(&ORIGIN_HOST),
    one(&ORIGIN_REALM),
    one(&RESULT_CODE),
    maybe(&ORIGIN_STATE_ID),
    maybe(&ERROR_MESSAGE),
    maybe(&ERROR_REPORTING_HOST),
    many(&FAILED_AVP),
    maybe(&EXPERIMENTAL_RESULT),
    many(&PROXY_INFO),
];

/// What the answers of sessions have alike.
static SESSION_ANSWER: &[Member] = &[
    fixed(&SESSION_ID),
    one(&RESULT_CODE),
    one(&ORIGIN_HOST),
    one(&ORIGIN_REALM),
    maybe(&USER_NAME),
    many(&CLASS),
    maybe(&ORIGIN_STATE_ID),
    maybe(&ERROR_MESSAGE),
    maybe(&ERROR_REPORTING_HOST),
    many(&FAILED_AVP),
    many(&REDIRECT_HOST),
    maybe(&REDIRECT_HOST_USAGE),
    maybe(&REDIRECT_MAX_CACHE_TIME),
    many(&PROXY_INFO),
];

crate::commands! {
    CAPABILITIES_EXCHANGE = 257, "Capabilities-Exchange", "CER", "CEA", CAPABILITIES, &[
        one(&RESULT_CODE), one(&ORIGIN_HOST), one(&ORIGIN_REALM), some(&HOST_IP_ADDRESS),
        one(&VENDOR_ID), one(&PRODUCT_NAME), maybe(&ORIGIN_STATE_ID), maybe(&ERROR_MESSAGE),
        many(&FAILED_AVP), many(&SUPPORTED_VENDOR_ID), many(&AUTH_APPLICATION_ID),
        many(&INBAND_SECURITY_ID), many(&ACCT_APPLICATION_ID),
        many(&VENDOR_SPECIFIC_APPLICATION_ID), maybe(&FIRMWARE_REVISION),
    ], false, "RFC 6733 §5.3.1";
    RE_AUTH = 258, "Re-Auth", "RAR", "RAA", &[
        fixed(&SESSION_ID), one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&DESTINATION_REALM),
        one(&DESTINATION_HOST), one(&AUTH_APPLICATION_ID), one(&RE_AUTH_REQUEST_TYPE),
        maybe(&USER_NAME), maybe(&ORIGIN_STATE_ID), many(&PROXY_INFO), many(&ROUTE_RECORD),
    ], SESSION_ANSWER, true, "RFC 6733 §8.3.1";
    ABORT_SESSION = 274, "Abort-Session", "ASR", "ASA", &[
        fixed(&SESSION_ID), one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&DESTINATION_REALM),
        one(&DESTINATION_HOST), one(&AUTH_APPLICATION_ID), maybe(&USER_NAME),
        maybe(&ORIGIN_STATE_ID), many(&PROXY_INFO), many(&ROUTE_RECORD),
    ], SESSION_ANSWER, true, "RFC 6733 §8.5.1";
    SESSION_TERMINATION = 275, "Session-Termination", "STR", "STA", &[
        fixed(&SESSION_ID), one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&DESTINATION_REALM),
        one(&AUTH_APPLICATION_ID), one(&TERMINATION_CAUSE), maybe(&USER_NAME),
        maybe(&DESTINATION_HOST), many(&CLASS), maybe(&ORIGIN_STATE_ID), many(&PROXY_INFO),
        many(&ROUTE_RECORD),
    ], SESSION_ANSWER, true, "RFC 6733 §8.4.1";
    DEVICE_WATCHDOG = 280, "Device-Watchdog", "DWR", "DWA", &[
        one(&ORIGIN_HOST), one(&ORIGIN_REALM), maybe(&ORIGIN_STATE_ID),
    ], &[
        one(&RESULT_CODE), one(&ORIGIN_HOST), one(&ORIGIN_REALM), maybe(&ERROR_MESSAGE),
        many(&FAILED_AVP), maybe(&ORIGIN_STATE_ID),
    ], false, "RFC 6733 §5.5.1";
    DISCONNECT_PEER = 282, "Disconnect-Peer", "DPR", "DPA", &[
        one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&DISCONNECT_CAUSE),
    ], &[
        one(&RESULT_CODE), one(&ORIGIN_HOST), one(&ORIGIN_REALM), maybe(&ERROR_MESSAGE),
        many(&FAILED_AVP),
    ], false, "RFC 6733 §5.4.1";
    ACCOUNTING_COMMAND = 271, "Accounting", "ACR", "ACA", &[
        fixed(&SESSION_ID), one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&DESTINATION_REALM),
        one(&ACCOUNTING_RECORD_TYPE), one(&ACCOUNTING_RECORD_NUMBER), maybe(&ACCT_APPLICATION_ID),
        maybe(&VENDOR_SPECIFIC_APPLICATION_ID), maybe(&USER_NAME), maybe(&DESTINATION_HOST),
        maybe(&ACCOUNTING_SUB_SESSION_ID), maybe(&ACCT_SESSION_ID),
        maybe(&ACCT_MULTI_SESSION_ID), maybe(&ACCT_INTERIM_INTERVAL),
        maybe(&ACCOUNTING_REALTIME_REQUIRED), maybe(&ORIGIN_STATE_ID), maybe(&EVENT_TIMESTAMP),
        many(&PROXY_INFO), many(&ROUTE_RECORD),
    ], &[
        fixed(&SESSION_ID), one(&RESULT_CODE), one(&ORIGIN_HOST), one(&ORIGIN_REALM),
        one(&ACCOUNTING_RECORD_TYPE), one(&ACCOUNTING_RECORD_NUMBER), maybe(&ACCT_APPLICATION_ID),
        maybe(&VENDOR_SPECIFIC_APPLICATION_ID), maybe(&USER_NAME),
        maybe(&ACCOUNTING_SUB_SESSION_ID), maybe(&ACCT_SESSION_ID), maybe(&ACCT_MULTI_SESSION_ID),
        maybe(&ERROR_MESSAGE), maybe(&ERROR_REPORTING_HOST), many(&FAILED_AVP),
        maybe(&ACCT_INTERIM_INTERVAL), maybe(&ACCOUNTING_REALTIME_REQUIRED),
        maybe(&ORIGIN_STATE_ID), maybe(&EVENT_TIMESTAMP), many(&PROXY_INFO),
    ], true, "RFC 6733 §9.7.1";
}

/// The base protocol. Its commands of sessions have the Application-ID of the application.
pub static BASE: Application = Application {
    id: 0,
    vendor: 0,
    name: "Base",
    is_accounting: false,
    commands: &[
        &CAPABILITIES_EXCHANGE,
        &DEVICE_WATCHDOG,
        &DISCONNECT_PEER,
        &RE_AUTH,
        &ABORT_SESSION,
        &SESSION_TERMINATION,
    ],
    results: &[],
    spec: "RFC 6733",
};

/// Accounting.
pub static ACCOUNTING: Application = Application {
    id: 3,
    vendor: 0,
    name: "Accounting",
    is_accounting: true,
    commands: &[&ACCOUNTING_COMMAND],
    results: &[],
    spec: "RFC 6733 §9",
};
