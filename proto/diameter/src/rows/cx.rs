//! Cx and Dx: I-CSCF and S-CSCF towards the HSS (TS 29.228, TS 29.229).

use super::VENDOR_3GPP;
use super::base::{
    AUTH_SESSION_STATE, DESTINATION_HOST, DESTINATION_REALM, DRMP, EXPERIMENTAL_RESULT, FAILED_AVP,
    LOAD, OC_OLR, OC_SUPPORTED_FEATURES, ORIGIN_HOST, ORIGIN_REALM, PROXY_INFO, RESULT_CODE,
    ROUTE_RECORD, SESSION_ID, USER_NAME, VENDOR_ID, VENDOR_SPECIFIC_APPLICATION_ID,
};
use crate::row::Kind::{DiameterUri, Enumerated, Grouped, OctetString, Unsigned32, Utf8String};
use crate::row::Mandatory::{Must, MustNot};
use crate::row::{Application, fixed, many, maybe, one, some};

crate::avps! {
    /// AVPs of TS 29.229.
    pub AVPS, VENDOR_3GPP, {
        VISITED_NETWORK_IDENTIFIER = 600, "Visited-Network-Identifier", Must, OctetString,
            "TS 29.229 §6.3.1";
        PUBLIC_IDENTITY = 601, "Public-Identity", Must, Utf8String, "TS 29.229 §6.3.2";
        SERVER_NAME = 602, "Server-Name", Must, Utf8String, "TS 29.229 §6.3.3";
        SERVER_CAPABILITIES = 603, "Server-Capabilities", Must, Grouped(&[
            many(&MANDATORY_CAPABILITY), many(&OPTIONAL_CAPABILITY), many(&SERVER_NAME),
        ]), "TS 29.229 §6.3.4";
        MANDATORY_CAPABILITY = 604, "Mandatory-Capability", Must, Unsigned32, "TS 29.229 §6.3.5";
        OPTIONAL_CAPABILITY = 605, "Optional-Capability", Must, Unsigned32, "TS 29.229 §6.3.6";
        USER_DATA = 606, "Cx-User-Data", Must, OctetString, "TS 29.229 §6.3.7";
        SIP_NUMBER_AUTH_ITEMS = 607, "SIP-Number-Auth-Items", Must, Unsigned32,
            "TS 29.229 §6.3.8";
        SIP_AUTHENTICATION_SCHEME = 608, "SIP-Authentication-Scheme", Must, Utf8String,
            "TS 29.229 §6.3.9";
        SIP_AUTHENTICATE = 609, "SIP-Authenticate", Must, OctetString, "TS 29.229 §6.3.10";
        SIP_AUTHORIZATION = 610, "SIP-Authorization", Must, OctetString, "TS 29.229 §6.3.11";
        SIP_AUTHENTICATION_CONTEXT = 611, "SIP-Authentication-Context", Must, OctetString,
            "TS 29.229 §6.3.12";
        SIP_AUTH_DATA_ITEM = 612, "SIP-Auth-Data-Item", Must, Grouped(&[
            maybe(&SIP_ITEM_NUMBER), maybe(&SIP_AUTHENTICATION_SCHEME), maybe(&SIP_AUTHENTICATE),
            maybe(&SIP_AUTHORIZATION), maybe(&SIP_AUTHENTICATION_CONTEXT),
            maybe(&CONFIDENTIALITY_KEY), maybe(&INTEGRITY_KEY),
        ]), "TS 29.229 §6.3.13";
        SIP_ITEM_NUMBER = 613, "SIP-Item-Number", Must, Unsigned32, "TS 29.229 §6.3.14";
        SERVER_ASSIGNMENT_TYPE = 614, "Server-Assignment-Type", Must, Enumerated(&[
            (0, "NO_ASSIGNMENT"), (1, "REGISTRATION"), (2, "RE_REGISTRATION"),
            (3, "UNREGISTERED_USER"), (4, "TIMEOUT_DEREGISTRATION"), (5, "USER_DEREGISTRATION"),
            (6, "TIMEOUT_DEREGISTRATION_STORE_SERVER_NAME"),
            (7, "USER_DEREGISTRATION_STORE_SERVER_NAME"), (8, "ADMINISTRATIVE_DEREGISTRATION"),
            (9, "AUTHENTICATION_FAILURE"), (10, "AUTHENTICATION_TIMEOUT"),
            (11, "DEREGISTRATION_TOO_MUCH_DATA"), (12, "AAA_USER_DATA_REQUEST"),
            (13, "PGW_UPDATE"), (14, "RESTORATION"),
        ]), "TS 29.229 §6.3.15";
        DEREGISTRATION_REASON = 615, "Deregistration-Reason", Must,
            Grouped(&[one(&REASON_CODE), maybe(&REASON_INFO)]), "TS 29.229 §6.3.16";
        REASON_CODE = 616, "Reason-Code", Must, Enumerated(&[
            (0, "PERMANENT_TERMINATION"), (1, "NEW_SERVER_ASSIGNED"), (2, "SERVER_CHANGE"),
            (3, "REMOVE_S-CSCF"),
        ]), "TS 29.229 §6.3.17";
        REASON_INFO = 617, "Reason-Info", Must, Utf8String, "TS 29.229 §6.3.18";
        CHARGING_INFORMATION = 618, "Charging-Information", Must, Grouped(&[
            maybe(&PRIMARY_EVENT_CHARGING_FUNCTION_NAME),
            maybe(&SECONDARY_EVENT_CHARGING_FUNCTION_NAME),
            maybe(&PRIMARY_CHARGING_COLLECTION_FUNCTION_NAME),
            maybe(&SECONDARY_CHARGING_COLLECTION_FUNCTION_NAME),
        ]), "TS 29.229 §6.3.19";
        PRIMARY_EVENT_CHARGING_FUNCTION_NAME = 619, "Primary-Event-Charging-Function-Name", Must,
            DiameterUri, "TS 29.229 §6.3.20";
        SECONDARY_EVENT_CHARGING_FUNCTION_NAME = 620, "Secondary-Event-Charging-Function-Name",
            Must, DiameterUri, "TS 29.229 §6.3.21";
        PRIMARY_CHARGING_COLLECTION_FUNCTION_NAME = 621,
            "Primary-Charging-Collection-Function-Name", Must, DiameterUri, "TS 29.229 §6.3.22";
        SECONDARY_CHARGING_COLLECTION_FUNCTION_NAME = 622,
            "Secondary-Charging-Collection-Function-Name", Must, DiameterUri, "TS 29.229 §6.3.23";
        USER_AUTHORIZATION_TYPE = 623, "User-Authorization-Type", Must, Enumerated(&[
            (0, "REGISTRATION"), (1, "DE_REGISTRATION"), (2, "REGISTRATION_AND_CAPABILITIES"),
        ]), "TS 29.229 §6.3.24";
        USER_DATA_ALREADY_AVAILABLE = 624, "User-Data-Already-Available", Must, Enumerated(&[
            (0, "USER_DATA_NOT_AVAILABLE"), (1, "USER_DATA_ALREADY_AVAILABLE"),
        ]), "TS 29.229 §6.3.26";
        CONFIDENTIALITY_KEY = 625, "Confidentiality-Key", Must, OctetString, "TS 29.229 §6.3.27";
        INTEGRITY_KEY = 626, "Integrity-Key", Must, OctetString, "TS 29.229 §6.3.28";
        SUPPORTED_FEATURES = 628, "Supported-Features", Must,
            Grouped(&[one(&VENDOR_ID), one(&FEATURE_LIST_ID), one(&FEATURE_LIST)]),
            "TS 29.229 §6.3.29";
        FEATURE_LIST_ID = 629, "Feature-List-ID", MustNot, Unsigned32, "TS 29.229 §6.3.30";
        FEATURE_LIST = 630, "Feature-List", MustNot, Unsigned32, "TS 29.229 §6.3.31";
        ASSOCIATED_IDENTITIES = 632, "Associated-Identities", MustNot,
            Grouped(&[many(&USER_NAME)]), "TS 29.229 §6.3.33";
        ORIGINATING_REQUEST = 633, "Originating-Request", Must,
            Enumerated(&[(0, "ORIGINATING")]), "TS 29.229 §6.3.34";
        WILDCARDED_PUBLIC_IDENTITY = 634, "Wildcarded-Public-Identity", MustNot, Utf8String,
            "TS 29.229 §6.3.35";
        UAR_FLAGS = 637, "UAR-Flags", MustNot, Unsigned32, "TS 29.229 §6.3.44";
        LOOSE_ROUTE_INDICATION = 638, "Loose-Route-Indication", MustNot, Enumerated(&[
            (0, "LOOSE_ROUTE_NOT_REQUIRED"), (1, "LOOSE_ROUTE_REQUIRED"),
        ]), "TS 29.229 §6.3.45";
        SCSCF_RESTORATION_INFO = 639, "SCSCF-Restoration-Info", MustNot, Grouped(&[
            one(&USER_NAME), some(&RESTORATION_INFO), maybe(&SIP_AUTHENTICATION_SCHEME),
        ]), "TS 29.229 §6.3.46";
        PATH = 640, "Path", MustNot, OctetString, "TS 29.229 §6.3.47";
        CONTACT = 641, "Contact", MustNot, OctetString, "TS 29.229 §6.3.48";
        SUBSCRIPTION_INFO = 642, "Subscription-Info", MustNot, Grouped(&[
            one(&CALL_ID_SIP_HEADER), one(&FROM_SIP_HEADER), one(&TO_SIP_HEADER),
            one(&RECORD_ROUTE), one(&CONTACT),
        ]), "TS 29.229 §6.3.49";
        CALL_ID_SIP_HEADER = 643, "Call-ID-SIP-Header", MustNot, OctetString,
            "TS 29.229 §6.3.49.1";
        FROM_SIP_HEADER = 644, "From-SIP-Header", MustNot, OctetString, "TS 29.229 §6.3.49.2";
        TO_SIP_HEADER = 645, "To-SIP-Header", MustNot, OctetString, "TS 29.229 §6.3.49.3";
        RECORD_ROUTE = 646, "Record-Route", MustNot, OctetString, "TS 29.229 §6.3.49.4";
        ASSOCIATED_REGISTERED_IDENTITIES = 647, "Associated-Registered-Identities", MustNot,
            Grouped(&[many(&USER_NAME)]), "TS 29.229 §6.3.50";
        MULTIPLE_REGISTRATION_INDICATION = 648, "Multiple-Registration-Indication", MustNot,
            Enumerated(&[(0, "NOT_MULTIPLE_REGISTRATION"), (1, "MULTIPLE_REGISTRATION")]),
            "TS 29.229 §6.3.51";
        RESTORATION_INFO = 649, "Restoration-Info", MustNot, Grouped(&[
            one(&PATH), one(&CONTACT), maybe(&INITIAL_CSEQ_SEQUENCE_NUMBER),
            maybe(&CALL_ID_SIP_HEADER), maybe(&SUBSCRIPTION_INFO),
        ]), "TS 29.229 §6.3.52";
        SESSION_PRIORITY = 650, "Session-Priority", MustNot, Enumerated(&[
            (0, "PRIORITY-0"), (1, "PRIORITY-1"), (2, "PRIORITY-2"), (3, "PRIORITY-3"),
            (4, "PRIORITY-4"),
        ]), "TS 29.229 §6.3.56";
        IDENTITY_WITH_EMERGENCY_REGISTRATION = 651, "Identity-with-Emergency-Registration",
            MustNot, Grouped(&[one(&USER_NAME), one(&PUBLIC_IDENTITY)]), "TS 29.229 §6.3.57";
        PRIVILEDGED_SENDER_INDICATION = 652, "Priviledged-Sender-Indication", MustNot,
            Enumerated(&[(0, "NOT_PRIVILEDGED_SENDER"), (1, "PRIVILEDGED_SENDER")]),
            "TS 29.229 §6.3.58";
        LIA_FLAGS = 653, "LIA-Flags", MustNot, Unsigned32, "TS 29.229 §6.3.59";
        INITIAL_CSEQ_SEQUENCE_NUMBER = 654, "Initial-CSeq-Sequence-Number", MustNot, Unsigned32,
            "TS 29.229 §6.3.62";
        SAR_FLAGS = 655, "SAR-Flags", MustNot, Unsigned32, "TS 29.229 §6.3.63";
        ALLOWED_WAF_WWSF_IDENTITIES = 656, "Allowed-WAF-WWSF-Identities", MustNot, Grouped(&[
            many(&WEBRTC_AUTHENTICATION_FUNCTION_NAME), many(&WEBRTC_WEB_SERVER_FUNCTION_NAME),
        ]), "TS 29.229 §6.3.64";
        WEBRTC_AUTHENTICATION_FUNCTION_NAME = 657, "WebRTC-Authentication-Function-Name", MustNot,
            Utf8String, "TS 29.229 §6.3.65";
        WEBRTC_WEB_SERVER_FUNCTION_NAME = 658, "WebRTC-Web-Server-Function-Name", MustNot,
            Utf8String, "TS 29.229 §6.3.66";
    }
}

/// What every request of 3GPP begins with, and every answer; `$rest` follows.
macro_rules! request {
    ($($rest:expr),* $(,)?) => {
        &[
            fixed(&SESSION_ID), maybe(&DRMP), one(&VENDOR_SPECIFIC_APPLICATION_ID),
            one(&AUTH_SESSION_STATE), one(&ORIGIN_HOST), one(&ORIGIN_REALM), $($rest,)*
            maybe(&OC_SUPPORTED_FEATURES), many(&SUPPORTED_FEATURES), many(&PROXY_INFO),
            many(&ROUTE_RECORD),
        ]
    };
}
macro_rules! answer {
    ($($rest:expr),* $(,)?) => {
        &[
            fixed(&SESSION_ID), maybe(&DRMP), one(&VENDOR_SPECIFIC_APPLICATION_ID),
            maybe(&RESULT_CODE), maybe(&EXPERIMENTAL_RESULT), one(&AUTH_SESSION_STATE),
            one(&ORIGIN_HOST), one(&ORIGIN_REALM), $($rest,)* maybe(&OC_SUPPORTED_FEATURES),
            maybe(&OC_OLR), many(&LOAD), many(&SUPPORTED_FEATURES), many(&FAILED_AVP),
            many(&PROXY_INFO), many(&ROUTE_RECORD),
        ]
    };
}
pub(super) use {answer, request};

crate::commands! {
    USER_AUTHORIZATION = 300, "User-Authorization", "UAR", "UAA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_NAME), one(&PUBLIC_IDENTITY),
        one(&VISITED_NETWORK_IDENTIFIER), maybe(&USER_AUTHORIZATION_TYPE), maybe(&UAR_FLAGS),
    ], answer![maybe(&SERVER_NAME), maybe(&SERVER_CAPABILITIES)], true, "TS 29.229 §6.1.1";
    SERVER_ASSIGNMENT = 301, "Server-Assignment", "SAR", "SAA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), maybe(&USER_NAME),
        many(&PUBLIC_IDENTITY), maybe(&WILDCARDED_PUBLIC_IDENTITY), one(&SERVER_NAME),
        one(&SERVER_ASSIGNMENT_TYPE), one(&USER_DATA_ALREADY_AVAILABLE),
        maybe(&SCSCF_RESTORATION_INFO), maybe(&MULTIPLE_REGISTRATION_INDICATION),
        maybe(&SESSION_PRIORITY), maybe(&SAR_FLAGS),
    ], answer![
        maybe(&USER_NAME), maybe(&USER_DATA), maybe(&CHARGING_INFORMATION),
        maybe(&ASSOCIATED_IDENTITIES), maybe(&LOOSE_ROUTE_INDICATION),
        many(&SCSCF_RESTORATION_INFO), maybe(&ASSOCIATED_REGISTERED_IDENTITIES),
        maybe(&SERVER_NAME), maybe(&WILDCARDED_PUBLIC_IDENTITY),
        maybe(&PRIVILEDGED_SENDER_INDICATION), maybe(&ALLOWED_WAF_WWSF_IDENTITIES),
    ], true, "TS 29.229 §6.1.3";
    LOCATION_INFO = 302, "Location-Info", "LIR", "LIA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), maybe(&ORIGINATING_REQUEST),
        one(&PUBLIC_IDENTITY), maybe(&USER_AUTHORIZATION_TYPE), maybe(&SESSION_PRIORITY),
    ], answer![
        maybe(&SERVER_NAME), maybe(&SERVER_CAPABILITIES), maybe(&WILDCARDED_PUBLIC_IDENTITY),
        maybe(&LIA_FLAGS),
    ], true, "TS 29.229 §6.1.5";
    MULTIMEDIA_AUTH = 303, "Multimedia-Auth", "MAR", "MAA", request![
        one(&DESTINATION_REALM), maybe(&DESTINATION_HOST), one(&USER_NAME), one(&PUBLIC_IDENTITY),
        one(&SIP_AUTH_DATA_ITEM), one(&SIP_NUMBER_AUTH_ITEMS), one(&SERVER_NAME),
    ], answer![
        maybe(&USER_NAME), maybe(&PUBLIC_IDENTITY), maybe(&SIP_NUMBER_AUTH_ITEMS),
        many(&SIP_AUTH_DATA_ITEM),
    ], true, "TS 29.229 §6.1.7";
    REGISTRATION_TERMINATION = 304, "Registration-Termination", "RTR", "RTA", request![
        one(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_NAME),
        maybe(&ASSOCIATED_IDENTITIES), many(&PUBLIC_IDENTITY), one(&DEREGISTRATION_REASON),
    ], answer![maybe(&ASSOCIATED_IDENTITIES), many(&IDENTITY_WITH_EMERGENCY_REGISTRATION)],
        true, "TS 29.229 §6.1.9";
    PUSH_PROFILE = 305, "Push-Profile", "PPR", "PPA", request![
        one(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_NAME), maybe(&USER_DATA),
        maybe(&CHARGING_INFORMATION), maybe(&SIP_AUTH_DATA_ITEM),
        maybe(&ALLOWED_WAF_WWSF_IDENTITIES),
    ], answer![], true, "TS 29.229 §6.1.11";
}

/// Cx and Dx.
pub static CX: Application = Application {
    id: 16_777_216,
    vendor: VENDOR_3GPP,
    name: "Cx",
    is_accounting: false,
    commands: &[
        &USER_AUTHORIZATION,
        &SERVER_ASSIGNMENT,
        &LOCATION_INFO,
        &MULTIMEDIA_AUTH,
        &REGISTRATION_TERMINATION,
        &PUSH_PROFILE,
    ],
    results: &[
        (2001, "DIAMETER_FIRST_REGISTRATION", "TS 29.229 §6.2.1.1"),
        (2002, "DIAMETER_SUBSEQUENT_REGISTRATION", "TS 29.229 §6.2.1.2"),
        (2003, "DIAMETER_UNREGISTERED_SERVICE", "TS 29.229 §6.2.1.3"),
        (2004, "DIAMETER_SUCCESS_SERVER_NAME_NOT_STORED", "TS 29.229 §6.2.1.4"),
        (5001, "DIAMETER_ERROR_USER_UNKNOWN", "TS 29.229 §6.2.2.1"),
        (5002, "DIAMETER_ERROR_IDENTITIES_DONT_MATCH", "TS 29.229 §6.2.2.2"),
        (5003, "DIAMETER_ERROR_IDENTITY_NOT_REGISTERED", "TS 29.229 §6.2.2.3"),
        (5004, "DIAMETER_ERROR_ROAMING_NOT_ALLOWED", "TS 29.229 §6.2.2.4"),
        (5005, "DIAMETER_ERROR_IDENTITY_ALREADY_REGISTERED", "TS 29.229 §6.2.2.5"),
        (5006, "DIAMETER_ERROR_AUTH_SCHEME_NOT_SUPPORTED", "TS 29.229 §6.2.2.6"),
        (5007, "DIAMETER_ERROR_IN_ASSIGNMENT_TYPE", "TS 29.229 §6.2.2.7"),
        (5008, "DIAMETER_ERROR_TOO_MUCH_DATA", "TS 29.229 §6.2.2.8"),
        (5009, "DIAMETER_ERROR_NOT_SUPPORTED_USER_DATA", "TS 29.229 §6.2.2.9"),
        (5011, "DIAMETER_ERROR_FEATURE_UNSUPPORTED", "TS 29.229 §6.2.2.11"),
        (5012, "DIAMETER_ERROR_SERVING_NODE_FEATURE_UNSUPPORTED", "TS 29.229 §6.2.2.12"),
    ],
    spec: "TS 29.229",
};
