//! Sh: application servers towards the HSS (TS 29.328, TS 29.329). User-Data is XML, kept as
//! octets.

use super::VENDOR_3GPP;
use super::base::{
    AUTH_SESSION_STATE, DESTINATION_HOST, DESTINATION_REALM, DRMP, EXPERIMENTAL_RESULT, FAILED_AVP,
    LOAD, OC_OLR, OC_SUPPORTED_FEATURES, ORIGIN_HOST, ORIGIN_REALM, PROXY_INFO, RESULT_CODE,
    ROUTE_RECORD, SESSION_ID, USER_NAME, VENDOR_SPECIFIC_APPLICATION_ID,
};
use super::cx::{
    PUBLIC_IDENTITY, SERVER_NAME, SESSION_PRIORITY, SUPPORTED_FEATURES, WILDCARDED_PUBLIC_IDENTITY,
    answer, request,
};
use super::s6c::EXTERNAL_IDENTIFIER;
use crate::row::Kind::{Enumerated, Grouped, OctetString, Time, Unsigned32, Utf8String};
use crate::row::Mandatory::{Must, MustNot};
use crate::row::{Application, fixed, many, maybe, one, some};

crate::avps! {
    /// AVPs of TS 29.329.
    pub AVPS, VENDOR_3GPP, {
        WILDCARDED_IMPU = 636, "Wildcarded-IMPU", MustNot, Utf8String, "TS 29.329 §6.3.20";
        USER_IDENTITY = 700, "User-Identity", Must, Grouped(&[
            maybe(&PUBLIC_IDENTITY), maybe(&MSISDN), maybe(&EXTERNAL_IDENTIFIER),
        ]), "TS 29.329 §6.3.1";
        MSISDN = 701, "MSISDN", Must, OctetString, "TS 29.329 §6.3.2";
        USER_DATA = 702, "Sh-User-Data", Must, OctetString, "TS 29.329 §6.3.3";
        DATA_REFERENCE = 703, "Data-Reference", Must, Enumerated(&[
            (0, "RepositoryData"), (10, "IMSPublicIdentity"), (11, "IMSUserState"),
            (12, "S-CSCFName"), (13, "InitialFilterCriteria"), (14, "LocationInformation"),
            (15, "UserState"), (16, "ChargingInformation"), (17, "MSISDN"),
            (18, "PSIActivation"), (19, "DSAI"), (21, "ServiceLevelTraceInfo"),
            (22, "IPAddressSecureBindingInformation"), (23, "ServicePriorityLevel"),
            (24, "SMSRegistrationInfo"), (25, "UEReachabilityForIP"), (26, "TADSinformation"),
            (27, "STN-SR"), (28, "UE-SRVCC-Capability"), (29, "ExtendedPriority"),
            (30, "CSRN"), (31, "ReferenceLocationInformation"), (32, "IMSI"),
            (33, "IMSPrivateUserIdentity"), (34, "IMEISV"), (35, "UE-5G-SRVCC-Capability"),
        ]), "TS 29.329 §6.3.4";
        SERVICE_INDICATION = 704, "Service-Indication", Must, OctetString, "TS 29.329 §6.3.5";
        SUBS_REQ_TYPE = 705, "Subs-Req-Type", Must,
            Enumerated(&[(0, "Subscribe"), (1, "Unsubscribe")]), "TS 29.329 §6.3.6";
        REQUESTED_DOMAIN = 706, "Requested-Domain", Must,
            Enumerated(&[(0, "CS-Domain"), (1, "PS-Domain")]), "TS 29.329 §6.3.7";
        CURRENT_LOCATION = 707, "Current-Location", Must, Enumerated(&[
            (0, "DoNotNeedInitiateActiveLocationRetrieval"),
            (1, "InitiateActiveLocationRetrieval"),
        ]), "TS 29.329 §6.3.8";
        IDENTITY_SET = 708, "Identity-Set", MustNot, Enumerated(&[
            (0, "ALL_IDENTITIES"), (1, "REGISTERED_IDENTITIES"), (2, "IMPLICIT_IDENTITIES"),
            (3, "ALIAS_IDENTITIES"),
        ]), "TS 29.329 §6.3.10";
        EXPIRY_TIME = 709, "Expiry-Time", MustNot, Time, "TS 29.329 §6.3.16";
        SEND_DATA_INDICATION = 710, "Send-Data-Indication", MustNot, Enumerated(&[
            (0, "USER_DATA_NOT_REQUESTED"), (1, "USER_DATA_REQUESTED"),
        ]), "TS 29.329 §6.3.17";
        DSAI_TAG = 711, "DSAI-Tag", Must, OctetString, "TS 29.329 §6.3.18";
        ONE_TIME_NOTIFICATION = 712, "One-Time-Notification", MustNot,
            Enumerated(&[(0, "ONE_TIME_NOTIFICATION_REQUESTED")]), "TS 29.329 §6.3.22";
        REQUESTED_NODES = 713, "Requested-Nodes", MustNot, Unsigned32, "TS 29.329 §6.3.7A";
        SERVING_NODE_INDICATION = 714, "Serving-Node-Indication", MustNot,
            Enumerated(&[(0, "ONLY_SERVING_NODES_REQUIRED")]), "TS 29.329 §6.3.23";
        REPOSITORY_DATA_ID = 715, "Repository-Data-ID", MustNot,
            Grouped(&[one(&SERVICE_INDICATION), one(&SEQUENCE_NUMBER)]), "TS 29.329 §6.3.24";
        SEQUENCE_NUMBER = 716, "Sequence-Number", MustNot, Unsigned32, "TS 29.329 §6.3.25";
        PRE_PAGING_SUPPORTED = 717, "Pre-paging-Supported", MustNot, Enumerated(&[
            (0, "PREPAGING_NOT_SUPPORTED"), (1, "PREPAGING_SUPPORTED"),
        ]), "TS 29.329 §6.3.26";
        LOCAL_TIME_ZONE_INDICATION = 718, "Local-Time-Zone-Indication", MustNot, Enumerated(&[
            (0, "ONLY_LOCAL_TIME_ZONE_REQUESTED"),
            (1, "LOCAL_TIME_ZONE_WITH_LOCATION_INFO_REQUESTED"),
        ]), "TS 29.329 §6.3.27";
        UDR_FLAGS = 719, "UDR-Flags", MustNot, Unsigned32, "TS 29.329 §6.3.28";
        CALL_REFERENCE_INFO = 720, "Call-Reference-Info", MustNot,
            Grouped(&[one(&CALL_REFERENCE_NUMBER), one(&AS_NUMBER)]), "TS 29.329 §6.3.29";
        CALL_REFERENCE_NUMBER = 721, "Call-Reference-Number", MustNot, OctetString,
            "TS 29.329 §6.3.30";
        AS_NUMBER = 722, "AS-Number", MustNot, OctetString, "TS 29.329 §6.3.31";
    }
}

crate::commands! {
    USER_DATA_COMMAND = 306, "User-Data", "UDR", "UDA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_IDENTITY),
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&SERVER_NAME),
        many(&SERVICE_INDICATION), some(&DATA_REFERENCE), many(&IDENTITY_SET),
        maybe(&REQUESTED_DOMAIN), maybe(&CURRENT_LOCATION), many(&DSAI_TAG),
        maybe(&SESSION_PRIORITY), maybe(&USER_NAME), maybe(&REQUESTED_NODES),
        maybe(&SERVING_NODE_INDICATION), maybe(&PRE_PAGING_SUPPORTED),
        maybe(&LOCAL_TIME_ZONE_INDICATION), maybe(&UDR_FLAGS), maybe(&CALL_REFERENCE_INFO),
    ], answer![
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&USER_DATA),
    ], true, "TS 29.329 §6.1.1";
    PROFILE_UPDATE = 307, "Profile-Update", "PUR", "PUA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_IDENTITY),
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&USER_NAME),
        some(&DATA_REFERENCE), one(&USER_DATA),
    ], answer![
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&REPOSITORY_DATA_ID),
        maybe(&DATA_REFERENCE),
    ], true, "TS 29.329 §6.1.3";
    SUBSCRIBE_NOTIFICATIONS = 308, "Subscribe-Notifications", "SNR", "SNA", request![
        maybe(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_IDENTITY),
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), many(&SERVICE_INDICATION),
        maybe(&SEND_DATA_INDICATION), maybe(&SERVER_NAME), one(&SUBS_REQ_TYPE),
        some(&DATA_REFERENCE), many(&IDENTITY_SET), maybe(&EXPIRY_TIME), many(&DSAI_TAG),
        maybe(&ONE_TIME_NOTIFICATION), maybe(&USER_NAME),
    ], answer![
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&USER_DATA),
        maybe(&EXPIRY_TIME),
    ], true, "TS 29.329 §6.1.5";
    PUSH_NOTIFICATION = 309, "Push-Notification", "PNR", "PNA", request![
        one(&DESTINATION_HOST), one(&DESTINATION_REALM), one(&USER_IDENTITY),
        maybe(&WILDCARDED_PUBLIC_IDENTITY), maybe(&WILDCARDED_IMPU), maybe(&USER_NAME),
        one(&USER_DATA),
    ], answer![], true, "TS 29.329 §6.1.7";
}

/// Sh.
pub static SH: Application = Application {
    id: 16_777_217,
    vendor: VENDOR_3GPP,
    name: "Sh",
    is_accounting: false,
    commands: &[&USER_DATA_COMMAND, &PROFILE_UPDATE, &SUBSCRIBE_NOTIFICATIONS, &PUSH_NOTIFICATION],
    results: &[
        (4100, "DIAMETER_USER_DATA_NOT_AVAILABLE", "TS 29.329 §6.2.3.1"),
        (4101, "DIAMETER_PRIOR_UPDATE_IN_PROGRESS", "TS 29.329 §6.2.3.2"),
        (5001, "DIAMETER_ERROR_USER_UNKNOWN", "TS 29.229 §6.2.2.1"),
        (5002, "DIAMETER_ERROR_IDENTITIES_DONT_MATCH", "TS 29.229 §6.2.2.2"),
        (5008, "DIAMETER_ERROR_TOO_MUCH_DATA", "TS 29.229 §6.2.2.8"),
        (5011, "DIAMETER_ERROR_FEATURE_UNSUPPORTED", "TS 29.229 §6.2.2.11"),
        (5100, "DIAMETER_ERROR_USER_DATA_NOT_RECOGNIZED", "TS 29.329 §6.2.2.1"),
        (5101, "DIAMETER_ERROR_OPERATION_NOT_ALLOWED", "TS 29.329 §6.2.2.2"),
        (5102, "DIAMETER_ERROR_USER_DATA_CANNOT_BE_READ", "TS 29.329 §6.2.2.3"),
        (5103, "DIAMETER_ERROR_USER_DATA_CANNOT_BE_MODIFIED", "TS 29.329 §6.2.2.4"),
        (5104, "DIAMETER_ERROR_USER_DATA_CANNOT_BE_NOTIFIED", "TS 29.329 §6.2.2.5"),
        (5105, "DIAMETER_ERROR_TRANSPARENT_DATA_OUT_OF_SYNC", "TS 29.329 §6.2.2.8"),
        (5106, "DIAMETER_ERROR_SUBS_DATA_ABSENT", "TS 29.329 §6.2.2.10"),
        (5107, "DIAMETER_ERROR_NO_SUBSCRIPTION_TO_DATA", "TS 29.329 §6.2.2.11"),
        (5108, "DIAMETER_ERROR_DSAI_NOT_AVAILABLE", "TS 29.329 §6.2.2.12"),
    ],
    spec: "TS 29.329",
};
