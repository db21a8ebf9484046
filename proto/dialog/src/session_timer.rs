//! Session timers (RFC 4028): what is agreed on, when to refresh, when to hang up.

use machine::{Duration, Time};
use sip::view::{OPTION_TIMER, Refresher, SessionExpires, min_se};
use sip::{Header, Message};

/// No Min-SE and no interval is ever smaller (§5).
pub const MIN_SE_S: u32 = 90;

/// What we want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Interval to ask for, in seconds; 0 leaves session timers to the others.
    pub interval_s: u32,
    /// Smallest interval accepted, in seconds.
    pub min_se_s: u32,
}

/// The interval asked for is too small: answer 422 with this Min-SE (§9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooSmall {
    /// Seconds.
    pub min_se_s: u32,
}

impl SessionPolicy {
    fn floor(&self) -> u32 {
        self.min_se_s.max(MIN_SE_S)
    }

    /// What to answer to an INVITE or UPDATE (§9): the Session-Expires of the 2xx, if any. When
    /// the refresher is the UAC, the 2xx needs `Require: timer`.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn answer(&self, request: &Message<'_>) -> Result<Option<SessionExpires>, TooSmall> {
        let supported = request.lists(Header::Supported, OPTION_TIMER)
            || request.lists(Header::Require, OPTION_TIMER);
        let asked =
            request.header(Header::SessionExpires).and_then(|v| SessionExpires::parse(v).ok());
        let least = request.header(Header::MinSe).and_then(|v| min_se(v).ok()).unwrap_or(MIN_SE_S);
        let Some(asked) = asked else {
            let interval_s = self.interval_s.max(least);
            let refresher = Some(if supported { Refresher::Uac } else { Refresher::Uas });
            return Ok((self.interval_s > 0).then_some(SessionExpires { interval_s, refresher }));
        };
        if supported && asked.interval_s < self.floor() {
            return Err(TooSmall { min_se_s: self.floor() });
        }
        let ours = if self.interval_s == 0 { asked.interval_s } else { self.interval_s };
        let interval_s = asked.interval_s.min(ours.max(least)).max(MIN_SE_S);
        let refresher = match asked.refresher {
            _ if !supported => Refresher::Uas,
            Some(refresher) => refresher,
            None => Refresher::Uac,
        };
        Ok(Some(SessionExpires { interval_s, refresher: Some(refresher) }))
    }

    /// What was agreed on by the 2xx to our request (§7.2): a peer without session timers leaves
    /// the refreshing to us.
    #[must_use]
    pub fn agreed(&self, response: &Message<'_>) -> Option<SessionExpires> {
        let said =
            response.header(Header::SessionExpires).and_then(|v| SessionExpires::parse(v).ok());
        match said {
            Some(said) => {
                Some(SessionExpires { refresher: said.refresher.or(Some(Refresher::Uac)), ..said })
            }
            None if self.interval_s > 0 => Some(SessionExpires {
                interval_s: self.interval_s.max(self.floor()),
                refresher: Some(Refresher::Uac),
            }),
            None => None,
        }
    }

    /// The policy with which to try again after a 422 (§7.3); `None` when it has no Min-SE.
    #[must_use]
    pub fn after_422(&self, response: &Message<'_>) -> Option<Self> {
        let least = response.header(Header::MinSe).and_then(|value| min_se(value).ok())?;
        Some(Self { interval_s: self.interval_s.max(least), min_se_s: self.min_se_s.max(least) })
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAlarm {
    /// Nothing yet.
    Nothing,
    /// Half the interval is over and the refresh is ours: send an UPDATE or a re-INVITE (§10).
    Refresh,
    /// No refresh came: send a BYE (§10).
    Expired,
}

/// The timer of one running session. All zero means: it has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionTimer {
    refresh: Option<Time>,
    expire: Option<Time>,
}

impl SessionTimer {
    /// A 2xx with `interval_s` was sent or received; from now on it counts anew (§7.2, §9).
    pub fn start(&mut self, now: Time, interval_s: u32, we_refresh: bool) {
        let interval = Duration::from_secs(interval_s.into());
        let margin = (interval / 3).min(Duration::from_secs(32));
        self.expire = Some(now + (interval - margin));
        self.refresh = we_refresh.then(|| now + interval / 2);
    }

    /// The session has no timer any more: the last refresh left it out (§7.2).
    pub const fn stop(&mut self) {
        self.refresh = None;
        self.expire = None;
    }

    /// When [`SessionTimer::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.refresh.into_iter().chain(self.expire).min()
    }

    /// What is due at `now`; each alarm comes once.
    pub fn tick(&mut self, now: Time) -> SessionAlarm {
        if self.expire.is_some_and(|at| at <= now) {
            self.stop();
            return SessionAlarm::Expired;
        }
        if self.refresh.is_some_and(|at| at <= now) {
            self.refresh = None;
            return SessionAlarm::Refresh;
        }
        SessionAlarm::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: SessionPolicy = SessionPolicy { interval_s: 1800, min_se_s: 120 };

    fn with(first: &str, headers: &str) -> Vec<u8> {
        format!(
            "{first}\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\n\
             To: <sip:b@x>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\nMax-Forwards: 70\r\n{headers}\r\n"
        )
        .into_bytes()
    }

    fn answer(headers: &str) -> Result<Option<(u32, Refresher)>, TooSmall> {
        let bytes = with("INVITE sip:b@x SIP/2.0", headers);
        let agreed = POLICY.answer(&Message::parse(&bytes).unwrap())?;
        Ok(agreed.map(|agreed| (agreed.interval_s, agreed.refresher.unwrap())))
    }

    #[test]
    fn the_answer_follows_table_2_of_rfc_4028() {
        use Refresher::{Uac, Uas};
        let timer = "Supported: timer\r\n";
        let cases = [
            ("", Some((1800, Uas))),
            (timer, Some((1800, Uac))),
            ("Supported: timer\r\nSession-Expires: 600\r\n", Some((600, Uac))),
            ("Supported: timer\r\nSession-Expires: 600;refresher=uas\r\n", Some((600, Uas))),
            ("Supported: timer\r\nSession-Expires: 600;refresher=uac\r\n", Some((600, Uac))),
            ("Session-Expires: 600;refresher=uac\r\n", Some((600, Uas))),
            ("Supported: timer\r\nSession-Expires: 7200\r\n", Some((1800, Uac))),
            ("Supported: timer\r\nSession-Expires: 7200\r\nMin-SE: 3600\r\n", Some((3600, Uac))),
        ];
        for (headers, expected) in cases {
            assert_eq!(answer(headers), Ok(expected), "{headers}");
        }
    }

    #[test]
    fn an_interval_that_is_too_small_is_refused_with_ours() {
        let small = answer("Supported: timer\r\nSession-Expires: 100\r\n");
        assert_eq!(small, Err(TooSmall { min_se_s: 120 }));
    }

    #[test]
    fn a_422_raises_what_we_ask_for() {
        let bytes = with("SIP/2.0 422 Session Interval Too Small", "Min-SE: 3600\r\n");
        let again = POLICY.after_422(&Message::parse(&bytes).unwrap());
        assert_eq!(again, Some(SessionPolicy { interval_s: 3600, min_se_s: 3600 }));
    }

    #[test]
    fn a_peer_without_timers_leaves_the_refresh_to_us() {
        let bytes = with("SIP/2.0 200 OK", "");
        let agreed = POLICY.agreed(&Message::parse(&bytes).unwrap()).unwrap();
        assert_eq!((agreed.interval_s, agreed.refresher), (1800, Some(Refresher::Uac)));
    }

    #[test]
    fn the_refresher_acts_at_half_time_and_both_hang_up_before_the_end() {
        let mut ours = SessionTimer::default();
        ours.start(Time::ZERO, 1800, true);
        let mut alarms = Vec::new();
        while let Some(at) = ours.deadline() {
            alarms.push((at.as_millis() / 1000, ours.tick(at)));
        }
        assert_eq!(alarms, [(900, SessionAlarm::Refresh), (1768, SessionAlarm::Expired)]);
        let mut theirs = SessionTimer::default();
        theirs.start(Time::ZERO, 90, false);
        assert_eq!(theirs.deadline(), Some(Time::from_millis(60_000)));
        theirs.start(Time::from_millis(50_000), 90, false);
        assert_eq!(theirs.tick(Time::from_millis(60_000)), SessionAlarm::Nothing);
    }
}
