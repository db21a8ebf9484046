//! The errors of CAP: number, name, and what is said about them (TS 29.078 §5.2, §5.4).

use crate::types::{
    CancelFailedParam, RequestedInfoErrorParam, TaskRefusedParam, UnavailableNetworkResource,
};

tcap::errors! {
    /// An error of a user of CAP.
    pub enum Error {
        Canceled = 0, "canceled", "TS 29.078 §10.1.1" {
            1..=4 ();
        }
        CancelFailed = 1, "cancelFailed", "TS 29.078 §10.1.2" {
            1..=4 (CancelFailedParam);
        }
        ETcFailed = 3, "eTCFailed", "TS 29.078 §10.1.3" {
            1..=4 ();
        }
        ImproperCallerResponse = 4, "improperCallerResponse", "TS 29.078 §10.1.4" {
            1..=4 ();
        }
        MissingCustomerRecord = 6, "missingCustomerRecord", "TS 29.078 §10.1.5" {
            1..=4 ();
        }
        MissingParameter = 7, "missingParameter", "TS 29.078 §10.1.6" {
            1..=4 ();
        }
        ParameterOutOfRange = 8, "parameterOutOfRange", "TS 29.078 §10.1.7" {
            1..=4 ();
        }
        RequestedInfoError = 10, "requestedInfoError", "TS 29.078 §10.1.8" {
            1..=4 (RequestedInfoErrorParam);
        }
        SystemFailure = 11, "systemFailure", "TS 29.078 §10.1.9" {
            1..=4 (UnavailableNetworkResource);
        }
        TaskRefused = 12, "taskRefused", "TS 29.078 §10.1.10" {
            1..=4 (TaskRefusedParam);
        }
        UnavailableResource = 13, "unavailableResource", "TS 29.078 §10.1.11" {
            1..=4 ();
        }
        UnexpectedComponentSequence = 14, "unexpectedComponentSequence", "TS 29.078 §10.1.12" {
            1..=4 ();
        }
        UnexpectedDataValue = 15, "unexpectedDataValue", "TS 29.078 §10.1.13" {
            1..=4 ();
        }
        UnexpectedParameter = 16, "unexpectedParameter", "TS 29.078 §10.1.14" {
            1..=4 ();
        }
        UnknownLegId = 17, "unknownLegID", "TS 29.078 §10.1.15" {
            1..=4 ();
        }
        UnknownPdpId = 50, "unknownPDPID", "TS 29.078 §10.1.17" {
            1..=4 ();
        }
        UnknownCsid = 51, "unknownCSID", "TS 29.078 §10.1.16" {
            1..=4 ();
        }
    }
}
