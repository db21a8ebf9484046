//! Session timers (RFC 4028): the controller plays the proxy's part of §8 on behalf of both legs
//! and ends the call when nobody refreshed it.
//!
//! ```text
//! request   Session-Expires there: passed; absent: ours is added, if the configuration has one
//! 2xx       Session-Expires there: passed; absent, and the asking side supports timers: added,
//!           refresher=uac
//! then      a 2xx to INVITE or UPDATE starts the clock anew; at its end both legs get a BYE
//! ```

use crate::write;
use machine::Duration;
use machine::narrow::at_most;
use sip::view::SessionExpires;
use sip::{Header, Message, Method};

/// A subscription without a NOTIFY ends this long after its Expires.
const SUBSCRIPTION_GRACE: Duration = Duration::from_secs(32);
/// Expiry of a subscription that does not say.
const SUBSCRIPTION_S: u64 = 3600;

/// What a function asks of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Asked for when the caller asks for none, seconds; 0: nothing is.
    pub session_expires_s: u32,
    /// The smallest accepted, seconds.
    pub min_se_s: u32,
    /// The longest life of a subscription, seconds.
    pub subscription_max_s: u32,
}

/// What a request says about its session, as it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Seconds; 0 is no session timer. Of a SUBSCRIBE its Expires and one more, 0 when it has none.
    pub interval_s: u32,
    /// Whether the interval is ours, to be written.
    pub is_ours: bool,
    /// Whether the asking side can refresh.
    pub can_refresh: bool,
}

/// The number that a header begins with.
fn number(message: &Message<'_>, header: Header) -> Option<u64> {
    let value = message.header(header)?;
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&value[..digits]).ok()?.parse().ok()
}

impl Asked {
    /// What a SUBSCRIBE asks for.
    fn subscription(message: &Message<'_>) -> Self {
        let expires = number(message, Header::Expires);
        let interval_s = expires.map_or(0, |expires| at_most(expires, u32::MAX - 1) + 1);
        Self { interval_s, ..Self::default() }
    }

    /// Seconds that a SUBSCRIBE asked for, if it said so.
    #[must_use]
    pub fn expires_s(self) -> Option<u64> {
        self.interval_s.checked_sub(1).map(u64::from)
    }

    /// How long a subscription is kept after a 2xx: the answer may shorten what was asked, not
    /// lengthen it (RFC 6665 §4.2.1.1), and neither is longer than any call.
    #[must_use]
    pub fn subscribed(self, answer: &Message<'_>, own: Interval) -> Duration {
        let told = number(answer, Header::Expires).unwrap_or(SUBSCRIPTION_S);
        let expires =
            told.min(own.subscription_max_s.into()).min(self.expires_s().unwrap_or(u64::MAX));
        Duration::from_secs(expires) + SUBSCRIPTION_GRACE
    }

    /// Adds our interval to a request that has none.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.is_ours {
            out.extend_from_slice(b"Session-Expires: ");
            write::number(out, self.interval_s.into());
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The interval to add to the 2xx, if it must have one from us (RFC 4028 §8.2).
    #[must_use]
    pub fn owed(self, message: &Message<'_>, method: Method, status: u16) -> Option<u32> {
        let applies = is_refresh(method) && (200..300).contains(&status);
        let owed = applies && self.interval_s > 0 && self.can_refresh;
        (owed && !message.has(Header::SessionExpires)).then_some(self.interval_s)
    }

    /// Adds what [`Asked::owed`] said.
    pub fn write_owed(out: &mut Vec<u8>, interval_s: u32) {
        out.extend_from_slice(b"Session-Expires: ");
        write::number(out, interval_s.into());
        out.extend_from_slice(b";refresher=uac\r\nRequire: timer\r\n");
    }
}

/// The methods that begin or refresh a session interval.
#[must_use]
pub const fn is_refresh(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Update)
}

impl Asked {
    /// What a request asks for.
    ///
    /// # Errors
    /// The Min-SE of a 422 (RFC 4028 §6), seconds.
    pub fn by(message: &Message<'_>, own: Interval) -> Result<Self, u32> {
        if !is_refresh(message.method()) {
            let is_subscribe = message.method() == Method::Subscribe;
            return Ok(if is_subscribe { Self::subscription(message) } else { Self::default() });
        }
        let can_refresh = || message.lists(Header::Supported, b"timer");
        match message.header(Header::SessionExpires).map(SessionExpires::parse) {
            Some(Ok(asked)) if asked.interval_s < own.min_se_s && can_refresh() => {
                Err(own.min_se_s)
            }
            Some(Ok(asked)) => Ok(Self {
                interval_s: asked.interval_s,
                is_ours: false,
                can_refresh: can_refresh(),
            }),
            Some(Err(_)) => Ok(Self::default()),
            None if own.session_expires_s == 0 => Ok(Self::default()),
            None => Ok(Self {
                interval_s: own.session_expires_s,
                is_ours: true,
                can_refresh: can_refresh(),
            }),
        }
    }
}
