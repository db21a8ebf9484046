//! Ro: online charging (RFC 8506, TS 32.299), as far as an immediate event of short messages and of
//! IMS needs it. Other service information is further rows.

use super::VENDOR_3GPP;
use super::base::{
    ACCT_MULTI_SESSION_ID, AUTH_APPLICATION_ID, DESTINATION_HOST, DESTINATION_REALM, DRMP,
    ERROR_MESSAGE, EVENT_TIMESTAMP, EXPERIMENTAL_RESULT, FAILED_AVP, ORIGIN_HOST, ORIGIN_REALM,
    ORIGIN_STATE_ID, PROXY_INFO, REDIRECT_HOST, REDIRECT_HOST_USAGE, REDIRECT_MAX_CACHE_TIME,
    RESULT_CODE, ROUTE_RECORD, SESSION_ID, TERMINATION_CAUSE, USER_NAME,
};
use crate::row::Kind::{
    Address, Enumerated, Grouped, Integer32, Integer64, IpFilterRule, OctetString, Time,
    Unsigned32, Unsigned64, Utf8String,
};
use crate::row::Mandatory::{May, Must};
use crate::row::{Application, fixed, many, maybe, one};

/// Units of a service.
macro_rules! units {
    ($($first:expr)?) => {
        Grouped(&[
            $($first,)?
            maybe(&CC_TIME),
            maybe(&CC_MONEY),
            maybe(&CC_TOTAL_OCTETS),
            maybe(&CC_INPUT_OCTETS),
            maybe(&CC_OUTPUT_OCTETS),
            maybe(&CC_SERVICE_SPECIFIC_UNITS),
        ])
    };
}

/// An address of a party (TS 32.299 §7.2).
macro_rules! party {
    () => {
        Grouped(&[maybe(&ADDRESS_TYPE), maybe(&ADDRESS_DATA), maybe(&ADDRESS_DOMAIN)])
    };
}

/// An interface (TS 32.299 §7.2).
macro_rules! interface {
    () => {
        Grouped(&[
            maybe(&INTERFACE_ID),
            maybe(&INTERFACE_TEXT),
            maybe(&INTERFACE_PORT),
            maybe(&INTERFACE_TYPE),
        ])
    };
}

crate::avps! {
    /// AVPs of RFC 8506.
    pub AVPS, 0, {
        CC_CORRELATION_ID = 411, "CC-Correlation-Id", May, OctetString, "RFC 8506 §8.1";
        CC_INPUT_OCTETS = 412, "CC-Input-Octets", Must, Unsigned64, "RFC 8506 §8.24";
        CC_MONEY = 413, "CC-Money", Must, Grouped(&[one(&UNIT_VALUE), maybe(&CURRENCY_CODE)]),
            "RFC 8506 §8.22";
        CC_OUTPUT_OCTETS = 414, "CC-Output-Octets", Must, Unsigned64, "RFC 8506 §8.25";
        CC_REQUEST_NUMBER = 415, "CC-Request-Number", Must, Unsigned32, "RFC 8506 §8.2";
        CC_REQUEST_TYPE = 416, "CC-Request-Type", Must, Enumerated(&[
            (1, "INITIAL_REQUEST"), (2, "UPDATE_REQUEST"), (3, "TERMINATION_REQUEST"),
            (4, "EVENT_REQUEST"),
        ]), "RFC 8506 §8.3";
        CC_SERVICE_SPECIFIC_UNITS = 417, "CC-Service-Specific-Units", Must, Unsigned64,
            "RFC 8506 §8.26";
        CC_SESSION_FAILOVER = 418, "CC-Session-Failover", Must, Enumerated(&[
            (0, "FAILOVER_NOT_SUPPORTED"), (1, "FAILOVER_SUPPORTED"),
        ]), "RFC 8506 §8.4";
        CC_SUB_SESSION_ID = 419, "CC-Sub-Session-Id", Must, Unsigned64, "RFC 8506 §8.5";
        CC_TIME = 420, "CC-Time", Must, Unsigned32, "RFC 8506 §8.21";
        CC_TOTAL_OCTETS = 421, "CC-Total-Octets", Must, Unsigned64, "RFC 8506 §8.23";
        CHECK_BALANCE_RESULT = 422, "Check-Balance-Result", Must, Enumerated(&[
            (0, "ENOUGH_CREDIT"), (1, "NO_CREDIT"),
        ]), "RFC 8506 §8.6";
        COST_INFORMATION = 423, "Cost-Information", Must, Grouped(&[
            one(&UNIT_VALUE), one(&CURRENCY_CODE), maybe(&COST_UNIT),
        ]), "RFC 8506 §8.7";
        COST_UNIT = 424, "Cost-Unit", Must, Utf8String, "RFC 8506 §8.12";
        CURRENCY_CODE = 425, "Currency-Code", Must, Unsigned32, "RFC 8506 §8.11";
        CREDIT_CONTROL_FAILURE_HANDLING = 427, "Credit-Control-Failure-Handling", Must,
            Enumerated(&[(0, "TERMINATE"), (1, "CONTINUE"), (2, "RETRY_AND_TERMINATE")]),
            "RFC 8506 §8.14";
        DIRECT_DEBITING_FAILURE_HANDLING = 428, "Direct-Debiting-Failure-Handling", Must,
            Enumerated(&[(0, "TERMINATE_OR_BUFFER"), (1, "CONTINUE")]), "RFC 8506 §8.15";
        EXPONENT = 429, "Exponent", Must, Integer32, "RFC 8506 §8.9";
        FINAL_UNIT_INDICATION = 430, "Final-Unit-Indication", Must, Grouped(&[
            one(&FINAL_UNIT_ACTION), many(&RESTRICTION_FILTER_RULE), many(&FILTER_ID),
            maybe(&REDIRECT_SERVER),
        ]), "RFC 8506 §8.34";
        FILTER_ID = 11, "Filter-Id", Must, Utf8String, "RFC 7155 §4.4.6";
        GRANTED_SERVICE_UNIT = 431, "Granted-Service-Unit", Must,
            units!(maybe(&TARIFF_TIME_CHANGE)), "RFC 8506 §8.17";
        RATING_GROUP = 432, "Rating-Group", Must, Unsigned32, "RFC 8506 §8.29";
        REDIRECT_ADDRESS_TYPE = 433, "Redirect-Address-Type", Must, Enumerated(&[
            (0, "IPv4 Address"), (1, "IPv6 Address"), (2, "URL"), (3, "SIP URI"),
        ]), "RFC 8506 §8.38";
        REDIRECT_SERVER = 434, "Redirect-Server", Must, Grouped(&[
            one(&REDIRECT_ADDRESS_TYPE), one(&REDIRECT_SERVER_ADDRESS),
        ]), "RFC 8506 §8.37";
        REDIRECT_SERVER_ADDRESS = 435, "Redirect-Server-Address", Must, Utf8String,
            "RFC 8506 §8.39";
        REQUESTED_ACTION = 436, "Requested-Action", Must, Enumerated(&[
            (0, "DIRECT_DEBITING"), (1, "REFUND_ACCOUNT"), (2, "CHECK_BALANCE"),
            (3, "PRICE_ENQUIRY"),
        ]), "RFC 8506 §8.41";
        REQUESTED_SERVICE_UNIT = 437, "Requested-Service-Unit", Must, units!(),
            "RFC 8506 §8.18";
        RESTRICTION_FILTER_RULE = 438, "Restriction-Filter-Rule", Must, IpFilterRule,
            "RFC 8506 §8.36";
        SERVICE_IDENTIFIER = 439, "Service-Identifier", Must, Unsigned32, "RFC 8506 §8.28";
        SERVICE_PARAMETER_INFO = 440, "Service-Parameter-Info", May, Grouped(&[
            one(&SERVICE_PARAMETER_TYPE), one(&SERVICE_PARAMETER_VALUE),
        ]), "RFC 8506 §8.43";
        SERVICE_PARAMETER_TYPE = 441, "Service-Parameter-Type", May, Unsigned32,
            "RFC 8506 §8.44";
        SERVICE_PARAMETER_VALUE = 442, "Service-Parameter-Value", May, OctetString,
            "RFC 8506 §8.45";
        SUBSCRIPTION_ID = 443, "Subscription-Id", Must, Grouped(&[
            one(&SUBSCRIPTION_ID_TYPE), one(&SUBSCRIPTION_ID_DATA),
        ]), "RFC 8506 §8.46";
        SUBSCRIPTION_ID_DATA = 444, "Subscription-Id-Data", Must, Utf8String, "RFC 8506 §8.48";
        UNIT_VALUE = 445, "Unit-Value", Must, Grouped(&[one(&VALUE_DIGITS), maybe(&EXPONENT)]),
            "RFC 8506 §8.8";
        USED_SERVICE_UNIT = 446, "Used-Service-Unit", Must, units!(maybe(&TARIFF_CHANGE_USAGE)),
            "RFC 8506 §8.19";
        VALUE_DIGITS = 447, "Value-Digits", Must, Integer64, "RFC 8506 §8.10";
        VALIDITY_TIME = 448, "Validity-Time", Must, Unsigned32, "RFC 8506 §8.33";
        FINAL_UNIT_ACTION = 449, "Final-Unit-Action", Must, Enumerated(&[
            (0, "TERMINATE"), (1, "REDIRECT"), (2, "RESTRICT_ACCESS"),
        ]), "RFC 8506 §8.35";
        SUBSCRIPTION_ID_TYPE = 450, "Subscription-Id-Type", Must, Enumerated(&[
            (0, "END_USER_E164"), (1, "END_USER_IMSI"), (2, "END_USER_SIP_URI"),
            (3, "END_USER_NAI"), (4, "END_USER_PRIVATE"),
        ]), "RFC 8506 §8.47";
        TARIFF_TIME_CHANGE = 451, "Tariff-Time-Change", Must, Time, "RFC 8506 §8.20";
        TARIFF_CHANGE_USAGE = 452, "Tariff-Change-Usage", Must, Enumerated(&[
            (0, "UNIT_BEFORE_TARIFF_CHANGE"), (1, "UNIT_AFTER_TARIFF_CHANGE"),
            (2, "UNIT_INDETERMINATE"),
        ]), "RFC 8506 §8.27";
        G_S_U_POOL_IDENTIFIER = 453, "G-S-U-Pool-Identifier", Must, Unsigned32,
            "RFC 8506 §8.31";
        CC_UNIT_TYPE = 454, "CC-Unit-Type", Must, Enumerated(&[
            (0, "TIME"), (1, "MONEY"), (2, "TOTAL-OCTETS"), (3, "INPUT-OCTETS"),
            (4, "OUTPUT-OCTETS"), (5, "SERVICE-SPECIFIC-UNITS"),
        ]), "RFC 8506 §8.32";
        MULTIPLE_SERVICES_INDICATOR = 455, "Multiple-Services-Indicator", Must, Enumerated(&[
            (0, "MULTIPLE_SERVICES_NOT_SUPPORTED"), (1, "MULTIPLE_SERVICES_SUPPORTED"),
        ]), "RFC 8506 §8.40";
        MULTIPLE_SERVICES_CREDIT_CONTROL = 456, "Multiple-Services-Credit-Control", Must,
            Grouped(&[
                maybe(&GRANTED_SERVICE_UNIT), maybe(&REQUESTED_SERVICE_UNIT),
                many(&USED_SERVICE_UNIT), maybe(&TARIFF_CHANGE_USAGE), many(&SERVICE_IDENTIFIER),
                maybe(&RATING_GROUP), many(&G_S_U_POOL_REFERENCE), maybe(&VALIDITY_TIME),
                maybe(&RESULT_CODE), maybe(&FINAL_UNIT_INDICATION),
            ]), "RFC 8506 §8.16";
        G_S_U_POOL_REFERENCE = 457, "G-S-U-Pool-Reference", Must, Grouped(&[
            one(&G_S_U_POOL_IDENTIFIER), one(&CC_UNIT_TYPE), one(&UNIT_VALUE),
        ]), "RFC 8506 §8.30";
        USER_EQUIPMENT_INFO = 458, "User-Equipment-Info", May, Grouped(&[
            one(&USER_EQUIPMENT_INFO_TYPE), one(&USER_EQUIPMENT_INFO_VALUE),
        ]), "RFC 8506 §8.49";
        USER_EQUIPMENT_INFO_TYPE = 459, "User-Equipment-Info-Type", May, Enumerated(&[
            (0, "IMEISV"), (1, "MAC"), (2, "EUI64"), (3, "MODIFIED_EUI64"),
        ]), "RFC 8506 §8.50";
        USER_EQUIPMENT_INFO_VALUE = 460, "User-Equipment-Info-Value", May, OctetString,
            "RFC 8506 §8.51";
        SERVICE_CONTEXT_ID = 461, "Service-Context-Id", Must, Utf8String, "RFC 8506 §8.42";
    }
}

crate::avps! {
    /// AVPs of TS 32.299.
    pub AVPS_3GPP, VENDOR_3GPP, {
        EVENT_TYPE = 823, "Event-Type", Must, Grouped(&[
            maybe(&SIP_METHOD), maybe(&EVENT), maybe(&EXPIRES),
        ]), "TS 32.299 §7.2.57";
        SIP_METHOD = 824, "SIP-Method", Must, Utf8String, "TS 32.299 §7.2.192";
        EVENT = 825, "Event", Must, Utf8String, "TS 32.299 §7.2.55";
        EXPIRES = 888, "Expires", Must, Unsigned32, "TS 32.299 §7.2.58";
        ROLE_OF_NODE = 829, "Role-Of-Node", Must, Enumerated(&[
            (0, "ORIGINATING_ROLE"), (1, "TERMINATING_ROLE"), (2, "FORWARDING_ROLE"),
        ]), "TS 32.299 §7.2.170";
        USER_SESSION_ID = 830, "User-Session-Id", Must, Utf8String, "TS 32.299 §7.2.236";
        CALLING_PARTY_ADDRESS = 831, "Calling-Party-Address", Must, Utf8String,
            "TS 32.299 §7.2.33";
        CALLED_PARTY_ADDRESS = 832, "Called-Party-Address", Must, Utf8String,
            "TS 32.299 §7.2.32";
        TIME_STAMPS = 833, "Time-Stamps", Must, Grouped(&[
            maybe(&SIP_REQUEST_TIMESTAMP), maybe(&SIP_RESPONSE_TIMESTAMP),
        ]), "TS 32.299 §7.2.222";
        SIP_REQUEST_TIMESTAMP = 834, "SIP-Request-Timestamp", Must, Time, "TS 32.299 §7.2.193";
        SIP_RESPONSE_TIMESTAMP = 835, "SIP-Response-Timestamp", Must, Time,
            "TS 32.299 §7.2.195";
        INTER_OPERATOR_IDENTIFIER = 838, "Inter-Operator-Identifier", Must, Grouped(&[
            maybe(&ORIGINATING_IOI), maybe(&TERMINATING_IOI),
        ]), "TS 32.299 §7.2.79";
        ORIGINATING_IOI = 839, "Originating-IOI", Must, Utf8String, "TS 32.299 §7.2.128";
        TERMINATING_IOI = 840, "Terminating-IOI", Must, Utf8String, "TS 32.299 §7.2.215";
        IMS_CHARGING_IDENTIFIER = 841, "IMS-Charging-Identifier", Must, Utf8String,
            "TS 32.299 §7.2.75";
        NODE_FUNCTIONALITY = 862, "Node-Functionality", Must, Enumerated(&[
            (0, "S-CSCF"), (1, "P-CSCF"), (2, "I-CSCF"), (3, "MRFC"), (4, "MGCF"), (5, "BGCF"),
            (6, "AS"), (7, "IBCF"), (8, "S-GW"), (9, "P-GW"), (10, "HSGW"), (11, "E-CSCF"),
            (12, "MME"), (13, "TRF"), (14, "TF"), (15, "ATCF"), (16, "PROXY"), (17, "ePDG"),
        ]), "TS 32.299 §7.2.110";
        SERVICE_INFORMATION = 873, "Service-Information", Must, Grouped(&[
            many(&SUBSCRIPTION_ID), maybe(&SMS_INFORMATION), maybe(&IMS_INFORMATION),
        ]), "TS 32.299 §7.2.192";
        IMS_INFORMATION = 876, "IMS-Information", Must, Grouped(&[
            maybe(&EVENT_TYPE), maybe(&ROLE_OF_NODE), one(&NODE_FUNCTIONALITY),
            maybe(&USER_SESSION_ID), many(&CALLING_PARTY_ADDRESS), maybe(&CALLED_PARTY_ADDRESS),
            maybe(&TIME_STAMPS), many(&INTER_OPERATOR_IDENTIFIER),
            maybe(&IMS_CHARGING_IDENTIFIER),
        ]), "TS 32.299 §7.2.77";
        ADDRESS_DATA = 897, "Address-Data", Must, Utf8String, "TS 32.299 §7.2.8";
        ADDRESS_DOMAIN = 898, "Address-Domain", Must, Grouped(&[
            maybe(&DOMAIN_NAME), maybe(&IMSI_MCC_MNC),
        ]), "TS 32.299 §7.2.9";
        IMSI_MCC_MNC = 8, "3GPP-IMSI-MCC-MNC", Must, Utf8String, "TS 29.061 §16.4.7";
        ADDRESS_TYPE = 899, "Address-Type", Must, Enumerated(&[
            (0, "e-mail address"), (1, "MSISDN"), (2, "IPv4 Address"), (3, "IPv6 Address"),
            (4, "Numeric Shortcode"), (5, "Alphanumeric Shortcode"), (6, "Other"), (7, "IMSI"),
        ]), "TS 32.299 §7.2.10";
        DOMAIN_NAME = 1200, "Domain-Name", Must, Utf8String, "TS 32.299 §7.2.49";
        RECIPIENT_ADDRESS = 1201, "Recipient-Address", Must, Grouped(&[
            maybe(&ADDRESS_TYPE), maybe(&ADDRESS_DATA), maybe(&ADDRESS_DOMAIN),
            maybe(&ADDRESSEE_TYPE),
        ]), "TS 32.299 §7.2.157";
        ADDRESSEE_TYPE = 1208, "Addressee-Type", Must,
            Enumerated(&[(0, "TO"), (1, "CC"), (2, "BCC")]), "TS 32.299 §7.2.11";
        SMS_INFORMATION = 2000, "SMS-Information", Must, Grouped(&[
            maybe(&SMS_NODE), maybe(&CLIENT_ADDRESS), maybe(&ORIGINATOR_SCCP_ADDRESS),
            maybe(&SMSC_ADDRESS), maybe(&DATA_CODING_SCHEME), maybe(&SM_DISCHARGE_TIME),
            maybe(&SM_MESSAGE_TYPE), maybe(&ORIGINATOR_INTERFACE), maybe(&SM_PROTOCOL_ID),
            maybe(&REPLY_PATH_REQUESTED), maybe(&SM_STATUS), maybe(&SM_USER_DATA_HEADER),
            maybe(&NUMBER_OF_MESSAGES_SENT), many(&RECIPIENT_INFO),
            maybe(&ORIGINATOR_RECEIVED_ADDRESS), maybe(&SM_SERVICE_TYPE), maybe(&SMS_RESULT),
            maybe(&SM_DEVICE_TRIGGER_INDICATOR), maybe(&MTC_IWF_ADDRESS),
        ]), "TS 32.299 §7.2.201";
        DATA_CODING_SCHEME = 2001, "Data-Coding-Scheme", Must, Integer32, "TS 32.299 §7.2.46";
        DESTINATION_INTERFACE = 2002, "Destination-Interface", Must, interface!(),
            "TS 32.299 §7.2.47";
        INTERFACE_ID = 2003, "Interface-Id", Must, Utf8String, "TS 32.299 §7.2.80";
        INTERFACE_PORT = 2004, "Interface-Port", Must, Utf8String, "TS 32.299 §7.2.81";
        INTERFACE_TEXT = 2005, "Interface-Text", Must, Utf8String, "TS 32.299 §7.2.82";
        INTERFACE_TYPE = 2006, "Interface-Type", Must, Enumerated(&[
            (0, "Unknown"), (1, "MOBILE_ORIGINATING"), (2, "MOBILE_TERMINATING"),
            (3, "APPLICATION_ORIGINATING"), (4, "APPLICATION_TERMINATION"),
        ]), "TS 32.299 §7.2.83";
        SM_MESSAGE_TYPE = 2007, "SM-Message-Type", Must, Enumerated(&[
            (0, "SUBMISSION"), (1, "DELIVERY_REPORT"), (2, "SM Service Request"),
        ]), "TS 32.299 §7.2.205";
        ORIGINATOR_SCCP_ADDRESS = 2008, "Originator-SCCP-Address", Must, Address,
            "TS 32.299 §7.2.131";
        ORIGINATOR_INTERFACE = 2009, "Originator-Interface", Must, interface!(),
            "TS 32.299 §7.2.129";
        RECIPIENT_SCCP_ADDRESS = 2010, "Recipient-SCCP-Address", Must, Address,
            "TS 32.299 §7.2.160";
        REPLY_PATH_REQUESTED = 2011, "Reply-Path-Requested", Must, Enumerated(&[
            (0, "No Reply Path Set"), (1, "Reply path Set"),
        ]), "TS 32.299 §7.2.168";
        SM_DISCHARGE_TIME = 2012, "SM-Discharge-Time", Must, Time, "TS 32.299 §7.2.204";
        SM_PROTOCOL_ID = 2013, "SM-Protocol-ID", Must, OctetString, "TS 32.299 §7.2.206";
        SM_STATUS = 2014, "SM-Status", Must, OctetString, "TS 32.299 §7.2.208";
        SM_USER_DATA_HEADER = 2015, "SM-User-Data-Header", Must, OctetString,
            "TS 32.299 §7.2.209";
        SMS_NODE = 2016, "SMS-Node", Must, Enumerated(&[
            (0, "SMS Router"), (1, "IP-SM-GW"), (2, "SMS Router and IP-SM-GW"), (3, "SMS-SC"),
        ]), "TS 32.299 §7.2.202";
        SMSC_ADDRESS = 2017, "SMSC-Address", Must, Address, "TS 32.299 §7.2.199";
        CLIENT_ADDRESS = 2018, "Client-Address", Must, Address, "TS 32.299 §7.2.40";
        NUMBER_OF_MESSAGES_SENT = 2019, "Number-Of-Messages-Sent", Must, Unsigned32,
            "TS 32.299 §7.2.113";
        RECIPIENT_INFO = 2026, "Recipient-Info", Must, Grouped(&[
            maybe(&DESTINATION_INTERFACE), many(&RECIPIENT_ADDRESS),
            many(&RECIPIENT_RECEIVED_ADDRESS), maybe(&RECIPIENT_SCCP_ADDRESS),
            maybe(&SM_PROTOCOL_ID),
        ]), "TS 32.299 §7.2.158";
        ORIGINATOR_RECEIVED_ADDRESS = 2027, "Originator-Received-Address", Must, party!(),
            "TS 32.299 §7.2.130";
        RECIPIENT_RECEIVED_ADDRESS = 2028, "Recipient-Received-Address", Must, party!(),
            "TS 32.299 §7.2.159";
        SM_SERVICE_TYPE = 2029, "SM-Service-Type", Must, Enumerated(&[
            (0, "VAS4SMS Short Message content processing"),
            (1, "VAS4SMS Short Message forwarding"),
            (2, "VAS4SMS Short Message Forwarding multiple subscriptions"),
            (3, "VAS4SMS Short Message filtering"), (4, "VAS4SMS Short Message receipt"),
            (5, "VAS4SMS Short Message Network Storage"),
            (6, "VAS4SMS Short Message to multiple destinations"),
            (7, "VAS4SMS Short Message Virtual Private Network (VPN)"),
            (8, "VAS4SMS Short Message Auto Reply"),
            (9, "VAS4SMS Short Message Personal Signature"),
            (10, "VAS4SMS Short Message Deferred Delivery"),
        ]), "TS 32.299 §7.2.207";
        LOW_BALANCE_INDICATION = 2020, "Low-Balance-Indication", Must, Enumerated(&[
            (0, "NOT-APPLICABLE"), (1, "YES"),
        ]), "TS 32.299 §7.2.92";
        REMAINING_BALANCE = 2021, "Remaining-Balance", Must, Grouped(&[
            one(&UNIT_VALUE), one(&CURRENCY_CODE),
        ]), "TS 32.299 §7.2.166";
        AOC_REQUEST_TYPE = 2055, "AoC-Request-Type", Must, Enumerated(&[
            (0, "AoC_NOT_REQUESTED"), (1, "AoC_FULL"), (2, "AoC_COST_ONLY"),
            (3, "AoC_TARIFF_ONLY"),
        ]), "TS 32.299 §7.2.17";
        MTC_IWF_ADDRESS = 3406, "MTC-IWF-Address", Must, Address, "TS 32.299 §7.2.108A";
        SM_DEVICE_TRIGGER_INDICATOR = 3407, "SM-Device-Trigger-Indicator", Must, Enumerated(&[
            (0, "Not DeviceTrigger"), (1, "DeviceTrigger"),
        ]), "TS 32.299 §7.2.203A";
        SMS_RESULT = 3409, "SMS-Result", Must, Unsigned32, "TS 32.299 §7.2.202A";
    }
}

crate::commands! {
    CREDIT_CONTROL = 272, "Credit-Control", "CCR", "CCA", &[
        fixed(&SESSION_ID), maybe(&DRMP), one(&ORIGIN_HOST), one(&ORIGIN_REALM),
        one(&DESTINATION_REALM), one(&AUTH_APPLICATION_ID), one(&SERVICE_CONTEXT_ID),
        one(&CC_REQUEST_TYPE), one(&CC_REQUEST_NUMBER), maybe(&DESTINATION_HOST),
        maybe(&USER_NAME), maybe(&CC_SUB_SESSION_ID), maybe(&ACCT_MULTI_SESSION_ID),
        maybe(&ORIGIN_STATE_ID), maybe(&EVENT_TIMESTAMP), many(&SUBSCRIPTION_ID),
        maybe(&SERVICE_IDENTIFIER), maybe(&TERMINATION_CAUSE), maybe(&REQUESTED_SERVICE_UNIT),
        maybe(&REQUESTED_ACTION), maybe(&AOC_REQUEST_TYPE), many(&USED_SERVICE_UNIT),
        maybe(&MULTIPLE_SERVICES_INDICATOR), many(&MULTIPLE_SERVICES_CREDIT_CONTROL),
        many(&SERVICE_PARAMETER_INFO), maybe(&CC_CORRELATION_ID), maybe(&USER_EQUIPMENT_INFO),
        maybe(&SERVICE_INFORMATION), many(&PROXY_INFO), many(&ROUTE_RECORD),
    ], &[
        fixed(&SESSION_ID), maybe(&DRMP), one(&RESULT_CODE), maybe(&EXPERIMENTAL_RESULT),
        one(&ORIGIN_HOST), one(&ORIGIN_REALM), one(&AUTH_APPLICATION_ID), one(&CC_REQUEST_TYPE),
        one(&CC_REQUEST_NUMBER), maybe(&USER_NAME), maybe(&CC_SESSION_FAILOVER),
        maybe(&CC_SUB_SESSION_ID), maybe(&ACCT_MULTI_SESSION_ID), maybe(&ORIGIN_STATE_ID),
        maybe(&EVENT_TIMESTAMP), maybe(&GRANTED_SERVICE_UNIT),
        many(&MULTIPLE_SERVICES_CREDIT_CONTROL), maybe(&COST_INFORMATION),
        maybe(&LOW_BALANCE_INDICATION), maybe(&REMAINING_BALANCE), maybe(&FINAL_UNIT_INDICATION),
        maybe(&CHECK_BALANCE_RESULT), maybe(&CREDIT_CONTROL_FAILURE_HANDLING),
        maybe(&DIRECT_DEBITING_FAILURE_HANDLING), maybe(&VALIDITY_TIME), many(&REDIRECT_HOST),
        maybe(&REDIRECT_HOST_USAGE), maybe(&REDIRECT_MAX_CACHE_TIME), maybe(&ERROR_MESSAGE),
        maybe(&SERVICE_INFORMATION), many(&FAILED_AVP), many(&PROXY_INFO), many(&ROUTE_RECORD),
    ], true, "RFC 8506 §3.1";
}

/// Ro, which is the Diameter credit-control application (TS 32.299 §6.4.1).
pub static RO: Application = Application {
    id: 4,
    vendor: 0,
    name: "Ro",
    is_accounting: false,
    commands: &[&CREDIT_CONTROL],
    results: &[],
    spec: "RFC 8506, TS 32.299",
};
