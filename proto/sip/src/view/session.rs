//! Session-Expires and Min-SE (RFC 4028 §4, §5).

use super::number_with_params;
use crate::octet;
use crate::param;
use wire::Malformed;

/// The option tag of session timers (RFC 4028 §3).
pub const OPTION_TIMER: &[u8] = b"timer";

/// Who refreshes the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresher {
    /// The side that sent the request.
    Uac,
    /// The side that answers it.
    Uas,
}

impl Refresher {
    /// As the parameter's value.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uac => "uac",
            Self::Uas => "uas",
        }
    }
}

/// A Session-Expires value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionExpires {
    /// Seconds the session lives without a refresh.
    pub interval_s: u32,
    /// Who refreshes; `None`: not decided yet.
    pub refresher: Option<Refresher>,
}

impl SessionExpires {
    /// Reads a Session-Expires value.
    ///
    /// # Errors
    /// No number, a bad parameter, or a refresher that is neither `uac` nor `uas`.
    pub fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let what = "Session-Expires is not a number of seconds";
        let (interval_s, params) =
            number_with_params(value, Malformed::new(0, what, "RFC 4028 §4"))?;
        let refresher = match param::param(params, b"refresher") {
            None => None,
            Some(role) if octet::same(role, b"uac") => Some(Refresher::Uac),
            Some(role) if octet::same(role, b"uas") => Some(Refresher::Uas),
            Some(_) => return Err(Malformed::new(0, "refresher is no uac or uas", "RFC 4028 §4")),
        };
        Ok(Self { interval_s, refresher })
    }
}

/// Reads a Min-SE value: seconds.
///
/// # Errors
/// No number, or a bad parameter.
pub fn min_se(value: &[u8]) -> Result<u32, Malformed> {
    let violation = Malformed::new(0, "Min-SE is not a number of seconds", "RFC 4028 §5");
    number_with_params(value, violation).map(|(seconds, _)| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_interval_may_name_its_refresher() {
        let read = |text: &str| SessionExpires::parse(text.as_bytes());
        let expected = SessionExpires { interval_s: 1800, refresher: Some(Refresher::Uas) };
        assert_eq!(read("1800;refresher=UAS"), Ok(expected));
        assert_eq!(read("90").unwrap().refresher, None);
        assert!(read("soon").is_err());
        assert!(read("90;refresher=me").is_err());
        assert_eq!(min_se(b"90;x"), Ok(90));
    }
}
