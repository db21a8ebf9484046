//! Reason phrases of response codes.

/// The reason phrase of a status; an unknown one gets that of its class.
#[must_use]
pub const fn reason(status: u16) -> &'static str {
    match status {
        // RFC 3261 §21.1; 199: RFC 6228.
        100 => "Trying",
        180 => "Ringing",
        181 => "Call Is Being Forwarded",
        182 => "Queued",
        183 => "Session Progress",
        199 => "Early Dialog Terminated",
        // RFC 3261 §21.2; 202: RFC 6665; 204: RFC 5839.
        200 => "OK",
        202 => "Accepted",
        204 => "No Notification",
        // RFC 3261 §21.3
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Moved Temporarily",
        305 => "Use Proxy",
        380 => "Alternative Service",
        // RFC 3261 §21.5 and §21.6 come below; these are §21.4 and its extensions.
        400..=499 => client_failure(status),
        500 => "Server Internal Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Server Time-out",
        505 => "Version Not Supported",
        513 => "Message Too Large",
        555 => "Push Notification Service Not Supported",
        580 => "Precondition Failure",
        600 => "Busy Everywhere",
        603 => "Decline",
        604 => "Does Not Exist Anywhere",
        606 => "Not Acceptable",
        607 => "Unwanted",
        608 => "Rejected",
        _ => of_class(status),
    }
}

/// The phrase of a class's `x00`, for codes that are not registered.
const fn of_class(status: u16) -> &'static str {
    match status / 100 {
        1 => "Session Progress",
        2 => "OK",
        3 => "Moved Temporarily",
        5 => "Server Internal Error",
        _ => "Decline",
    }
}

const fn client_failure(status: u16) -> &'static str {
    match status {
        // RFC 3261 §21.4
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        410 => "Gone",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Unsupported URI Scheme",
        420 => "Bad Extension",
        421 => "Extension Required",
        423 => "Interval Too Brief",
        480 => "Temporarily Unavailable",
        481 => "Call/Transaction Does Not Exist",
        482 => "Loop Detected",
        483 => "Too Many Hops",
        484 => "Address Incomplete",
        485 => "Ambiguous",
        486 => "Busy Here",
        487 => "Request Terminated",
        488 => "Not Acceptable Here",
        491 => "Request Pending",
        493 => "Undecipherable",
        // Extensions
        412 => "Conditional Request Failed",       // RFC 3903
        417 => "Unknown Resource-Priority",        // RFC 4412
        422 => "Session Interval Too Small",       // RFC 4028
        424 => "Bad Location Information",         // RFC 6442
        428 => "Use Identity Header",              // RFC 8224
        429 => "Provide Referrer Identity",        // RFC 3892
        430 => "Flow Failed",                      // RFC 5626
        433 => "Anonymity Disallowed",             // RFC 5079
        436 => "Bad Identity Info",                // RFC 8224
        437 => "Unsupported Credential",           // RFC 8224
        438 => "Invalid Identity Header",          // RFC 8224
        439 => "First Hop Lacks Outbound Support", // RFC 5626
        440 => "Max-Breadth Exceeded",             // RFC 5393
        469 => "Bad Info Package",                 // RFC 6086
        470 => "Consent Needed",                   // RFC 5360
        489 => "Bad Event",                        // RFC 6665
        494 => "Security Agreement Required",      // RFC 3329
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_status_gets_the_phrase_of_its_class() {
        for (status, phrase) in [
            (100, "Trying"),
            (183, "Session Progress"),
            (299, "OK"),
            (486, "Busy Here"),
            (499, "Bad Request"),
            (422, "Session Interval Too Small"),
            (599, "Server Internal Error"),
            (699, "Decline"),
        ] {
            assert_eq!(reason(status), phrase);
        }
    }
}
