//! What became of a SUBSCRIBE.

use crate::access::{Access, LINGERING};
use crate::metrics::RegEventMetric;
use crate::trails::Value;
use crate::watch::{AGAIN_MAX, Stage, TIMERS, Watch};
use dialog::{RouteSet, Subscription, SubscriptionPhase};
use machine::slots::Key;
use machine::{Duration, Time};
use sip::{Header, Message, NameAddr};
use trail::Event;

/// Octets of what the far end names a dialog by.
const NAME_OCTETS_MAX: usize = 1_024;
/// Seconds that a core may want at least.
const LEAST_S_MAX: u32 = 604_800;
/// For how long a subscription stands whose answer does not say it (RFC 3680 §4.4).
const USUAL_S: u32 = 3_761;

/// An answer to a SUBSCRIBE that was not accepted.
struct Refused {
    status: u16,
    /// Not before that.
    wait: Duration,
    /// Seconds that the core wants at least.
    least: Option<u32>,
}

/// Seconds in a header; behind them a comment or a parameter may stand (RFC 3261 §20.33).
fn number(message: &Message<'_>, header: Header) -> Option<u32> {
    let value = core::str::from_utf8(message.header(header)?).ok()?.trim();
    let end = value.find(|it: char| !it.is_ascii_digit()).unwrap_or(value.len());
    let (digits, rest) = value.split_at(end);
    let is_alone = rest.is_empty() || rest.trim_start().starts_with(['(', ';']);
    let is_number = !digits.is_empty() && is_alone;
    is_number.then(|| digits.parse().unwrap_or(u32::MAX)) // more than anybody waits for
}

/// Whether an answer will be the same for a while.
const fn is_for_good(status: u16) -> bool {
    matches!(status, 401..=403 | 405..=407 | 410 | 416 | 420 | 421)
        || matches!(status, 484 | 485 | 488 | 489 | 501 | 505 | 604)
}

impl Watch {
    /// The far end of the dialog as a message of it says; `None`: it cannot be one.
    pub(super) fn learn(
        &mut self,
        tag: Option<&[u8]>,
        message: &Message<'_>,
        routes: Option<RouteSet>,
    ) -> Option<()> {
        let tag = tag.filter(|tag| !tag.is_empty() && tag.len() <= NAME_OCTETS_MAX)?;
        let target = NameAddr::parse(message.first(Header::Contact)?).ok()?.uri;
        let routes = routes.filter(|routes| routes.heap_bytes() <= NAME_OCTETS_MAX)?;
        if target.is_empty() || target.len() > NAME_OCTETS_MAX {
            return None;
        }
        if self.far.tag.is_empty() {
            self.far.tag = tag.into();
            self.far.routes = routes;
        }
        self.far.target = target.into(); // it may move within a dialog (RFC 6665 §4.4.1)
        Some(())
    }

    /// The core has accepted a SUBSCRIBE for so many seconds.
    fn accepted(&mut self, now: Time, expires_s: u32) {
        if let Some(usage) = &mut self.usage {
            usage.refreshed(now, expires_s, &TIMERS);
        }
        if self.stage == Stage::Leaving || expires_s == 0 {
            (self.stage, self.due) = (Stage::Leaving, now + LINGERING);
            return;
        }
        (self.stage, self.failures, self.refused) = (Stage::Standing, 0, 0);
        self.renew_before(now, expires_s);
        if core::mem::take(&mut self.is_unneeded) {
            self.due = now;
        }
    }
}

impl Access {
    /// The core has answered a SUBSCRIBE for good.
    pub fn subscribed(&mut self, now: Time, key: Key, answer: &Message<'_>) {
        let status = answer.status().unwrap_or_default();
        if !(200..300).contains(&status) {
            let seconds = |header| number(answer, header).map(u64::from).unwrap_or_default();
            let wait = Duration::from_secs(seconds(Header::RetryAfter)).min(AGAIN_MAX);
            let least = number(answer, Header::MinExpires).filter(|_| status == 423);
            return self.not_subscribed(now, key, &Refused { status, wait, least });
        }
        let Some(watch) = self.watches.at_mut(key) else { return };
        if !matches!(watch.stage, Stage::Asked | Stage::Leaving) {
            return;
        }
        let is_first = watch.far.tag.is_empty();
        let is_of_dialog = is_first || answer.to_tag() == Some(&*watch.far.tag);
        let routes = RouteSet::from_response(answer);
        if !is_of_dialog || watch.learn(answer.to_tag(), answer, routes).is_none() {
            return self.unsubscribed(now, key, 502);
        }
        let over = watch.usage.as_ref().map(Subscription::phase);
        if over == Some(SubscriptionPhase::Terminated) && watch.stage == Stage::Asked {
            // Its NOTIFY has ended it before the answer came.
            watch.stage = Stage::Waiting;
            return self.watches.arm(key);
        }
        let expires_s = number(answer, Header::Expires).unwrap_or(USUAL_S);
        let was_refused = watch.refused != 0;
        watch.accepted(now, expires_s.min(watch.asked_s().max(1)));
        self.watches.arm(key);
        if is_first || was_refused {
            let expires = ("expires_s", Value::Number(expires_s.into()));
            self.watched(key, Event::RegistrationWatched, vec![expires]);
        }
    }

    /// Nobody has answered a SUBSCRIBE, or it could not be sent.
    pub fn unsubscribed(&mut self, now: Time, key: Key, status: u16) {
        self.not_subscribed(now, key, &Refused { status, wait: Duration::ZERO, least: None });
    }

    fn not_subscribed(&mut self, now: Time, key: Key, refused: &Refused) {
        let Refused { status, wait, least } = *refused;
        let secret = self.secret_number();
        let Some(watch) = self.watches.at_mut(key) else { return };
        if watch.stage == Stage::Leaving {
            return self.watches.remove(key); // there is nothing that it could be taken back from
        }
        if watch.stage != Stage::Asked {
            return;
        }
        let is_same = watch.refused == status;
        self.watches.metrics.add(RegEventMetric::Failed, 1);
        if !is_same {
            let status = ("status", Value::Number(status.into()));
            self.watched(key, Event::RegistrationNotWatched, vec![status]);
        }
        let Some(watch) = self.watches.at_mut(key) else { return };
        let had_dialog = watch.has_dialog();
        if let Some(usage) = &mut watch.usage {
            usage.refused(status);
        }
        if !watch.has_dialog() {
            watch.begin_anew(secret);
        }
        watch.refused = status;
        if let Some(least) = least {
            watch.granted_s = watch.granted_s.max(least.min(LEAST_S_MAX));
        }
        let is_gone = had_dialog && matches!(status, 404 | 410 | 481) || least.is_some();
        let wait = if is_for_good(status) { AGAIN_MAX } else { wait };
        watch.later(now, wait);
        if is_gone && watch.failures == 1 {
            watch.due = now; // a dialog that the core has forgotten is made anew at once
        } else if is_for_good(status) {
            self.watches.refused = Some((now, status));
        }
        self.watches.arm(key);
    }
}
