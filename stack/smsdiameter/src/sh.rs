//! Sh (TS 29.328, TS 29.329): the number of an identity (UDR), word of who can be reached (SNR),
//! and that word (PNR).

use crate::applications::{Applications, Event};
use crate::charging::OnFailure;
use crate::home::{Caller, HomeAnswer, HomeQuestion};
use crate::metrics::HomeMetric;
use crate::section::Section;
use crate::xml::text_of;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::row::{Application, Command};
use diameter::rows::cx::PUBLIC_IDENTITY;
use diameter::rows::{VENDOR_3GPP, base, sh};
use diameter::{Outcome, Outgoing, PeerId, RequestId};
use diameter_stack::Peers;
use machine::{Duration, Time};
use map::Operation;
use mapsms::by_diameter::result;
use mapsms::identity::Msisdn;
use mapsms::watches::Watched;
use runtime::Effects;

/// Values of Data-Reference (TS 29.329 §6.3.4).
const MSISDN: i32 = 17;
const UE_REACHABILITY_FOR_IP: i32 = 25;
/// Values of Subs-Req-Type and One-Time-Notification (TS 29.329 §6.3.6, §6.3.22).
const SUBSCRIBE: i32 = 0;
const ONE_TIME: i32 = 0;
/// NO_STATE_MAINTAINED (RFC 6733 §8.11).
const NO_STATE: i32 = 1;
/// `DIAMETER_ERROR_NO_SUBSCRIPTION_TO_DATA` (TS 29.329 §6.2.2.11).
const NO_SUBSCRIPTION: u32 = 5107;
/// That a terminal can be reached (TS 29.328 §7.6.18).
const REACHABLE: &str = "0";

/// What is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pending {
    /// A flow waits for a number.
    Number(u64),
    /// A subscription, by its identity.
    Watch(String),
    /// What a flow asks of a peer.
    Peer { reference: u64, operation: Operation },
    /// What a flow has debited or refunded.
    Charge { ticket: u64, is_refund: bool, on_failure: OnFailure },
}

/// Whom a request is for.
pub(crate) struct To<'a> {
    pub realm: &'a str,
    pub host: Option<&'a str>,
}

/// Who is asked, and may notify: the home subscriber server.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    host: Option<String>,
    realm: String,
    /// How long word of who can be reached is waited for.
    reachability_s: u32,
}

impl Origin {
    pub(crate) fn of(section: &Section<'_>) -> Self {
        let host = section.home.and_then(|it| it.host.clone());
        let realm = section.home_realm().unwrap_or_default().to_owned();
        Self { host, realm, reachability_s: section.home.map_or(0, |it| it.reachability_s) }
    }

    /// Whether a request is of it, by the host and realm in which it originated (RFC 6733 §6.3,
    /// §6.4): peers between it and this node leave these alone.
    fn is_of(&self, message: &Message<'_>) -> bool {
        let is = |row, name: &str| {
            message.avps().find(row).is_some_and(|it| it.data.eq_ignore_ascii_case(name.as_bytes()))
        };
        let is_host = self.host.as_ref().is_none_or(|it| is(&base::ORIGIN_HOST, it));
        is_host && is(&base::ORIGIN_REALM, &self.realm)
    }
}

/// What a request of an application of 3GPP begins with.
pub(crate) fn begin<'a>(
    own: &diameter::Settings,
    octets: &'a mut Vec<u8>,
    of: (&Application, &Command),
    session: &str,
    to: &To<'_>,
) -> Writer<'a> {
    let (application, command) = of;
    let mut writer = Writer::request(octets, command, application.id)
        .put(&base::SESSION_ID, session)
        .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
            out.number(&base::VENDOR_ID, VENDOR_3GPP);
            out.number(&base::AUTH_APPLICATION_ID, application.id);
        })
        .integer(&base::AUTH_SESSION_STATE, NO_STATE)
        .put(&base::ORIGIN_HOST, &own.host)
        .put(&base::ORIGIN_REALM, &own.realm);
    if let Some(host) = to.host {
        writer = writer.put(&base::DESTINATION_HOST, host);
    }
    writer.put(&base::DESTINATION_REALM, to.realm)
}

/// The number that a User-Data answer has; an error of the application says that there is none.
fn number_of(outcome: &Outcome) -> HomeAnswer {
    let Outcome::Answer(octets) = outcome else { return HomeAnswer::Failed };
    let Ok(message) = Message::read(octets) else { return HomeAnswer::Failed };
    match result(&message) {
        Ok(()) => {
            let data = message.avps().find(&sh::USER_DATA).map(|it| it.data).unwrap_or_default();
            let text = core::str::from_utf8(data).ok().and_then(|it| text_of(it, "MSISDN"));
            HomeAnswer::Number(text.and_then(|it| Msisdn::of(it.trim_start_matches('+'))))
        }
        Err(Some(_)) => HomeAnswer::Number(None),
        Err(None) => HomeAnswer::Failed,
    }
}

fn is_done(outcome: &Outcome) -> bool {
    let Outcome::Answer(octets) = outcome else { return false };
    Message::read(octets).is_ok_and(|it| result(&it).is_ok())
}

impl Applications {
    /// Asks the home subscriber server, as a leg of that trail; the answer is told under the
    /// ticket.
    pub fn ask(&mut self, now: Time, caller: Caller, question: HomeQuestion, out: &mut Effects) {
        let Caller { ticket, trail } = caller;
        let pending = match &question {
            HomeQuestion::Number(_) => Pending::Number(ticket),
            HomeQuestion::Reachability { identity, msisdn } => {
                let time = Duration::from_secs(self.origin.reachability_s.into());
                let until = now + time;
                match self.watches.add(identity, msisdn.clone(), until) {
                    Watched::New => Pending::Watch(identity.clone()),
                    Watched::Already => return,
                    Watched::Full => return self.metrics.add(HomeMetric::Crowded, 1),
                }
            }
        };
        let message = self.written(now, &question);
        let (Some(message), Some(peers)) = (message, &mut self.peers) else {
            return self.ended(pending, &Outcome::Expired);
        };
        self.tokens += 1;
        self.pending.insert(self.tokens, pending);
        self.metrics.add(HomeMetric::Asked, 1);
        trail.into_iter().for_each(|it| self.legs.is_of(&message, true, it));
        peers.request(now, Outgoing { token: self.tokens, message, timeout: None }, out);
    }

    fn written(&mut self, now: Time, what: &HomeQuestion) -> Option<Vec<u8>> {
        let session = self.sessions.as_mut()?.next_id();
        let own = self.peers.as_ref()?.node().settings();
        let to = To { realm: &self.origin.realm, host: self.origin.host.as_deref() };
        let mut octets = Vec::new();
        let writer = match what {
            HomeQuestion::Number(identity) => {
                begin(own, &mut octets, (&sh::SH, &sh::USER_DATA_COMMAND), &session, &to)
                    .group(&sh::USER_IDENTITY, |out| out.put(&PUBLIC_IDENTITY, identity))
                    .integer(&sh::DATA_REFERENCE, MSISDN)
            }
            HomeQuestion::Reachability { identity, .. } => {
                let of = (&sh::SH, &sh::SUBSCRIBE_NOTIFICATIONS);
                let mut writer = begin(own, &mut octets, of, &session, &to)
                    .group(&sh::USER_IDENTITY, |out| out.put(&PUBLIC_IDENTITY, identity))
                    .integer(&sh::SUBS_REQ_TYPE, SUBSCRIBE)
                    .integer(&sh::DATA_REFERENCE, UE_REACHABILITY_FOR_IP);
                let until = now.as_millis() / 1_000 + u64::from(self.origin.reachability_s);
                let until = i64::try_from(until).unwrap_or(i64::MAX);
                writer.avps().time(&sh::EXPIRY_TIME, until);
                writer.integer(&sh::ONE_TIME_NOTIFICATION, ONE_TIME)
            }
        };
        writer.end().ok().map(|()| octets)
    }

    /// A request has come to its end.
    pub(crate) fn ended(&mut self, pending: Pending, outcome: &Outcome) {
        match pending {
            Pending::Number(ticket) => {
                let answer = number_of(outcome);
                self.metrics.add(
                    match answer {
                        HomeAnswer::Number(Some(_)) => HomeMetric::Numbers,
                        HomeAnswer::Number(None) | HomeAnswer::Failed => HomeMetric::Failed,
                    },
                    1,
                );
                self.events.push_back(Event::Home { ticket, answer });
            }
            Pending::Peer { reference, operation } => {
                self.replied(reference, operation, outcome);
            }
            Pending::Charge { ticket, is_refund, on_failure } => {
                self.charged(ticket, is_refund, on_failure, outcome);
            }
            Pending::Watch(identity) => {
                if !is_done(outcome) {
                    self.metrics.add(HomeMetric::Failed, 1);
                    self.watches.take(&identity);
                }
            }
        }
    }

    /// A peer notifies (PNR): what is waited for is told, what is not is refused.
    pub(crate) fn notified(
        &mut self,
        now: Time,
        request: RequestId,
        peer: PeerId,
        message: &Message<'_>,
        out: &mut Effects,
    ) {
        let identity = message.avps().find(&sh::USER_IDENTITY).map(|it| it.group());
        let identity = identity.and_then(|it| it.find(&PUBLIC_IDENTITY));
        let identity = identity.and_then(|it| it.text().ok()).unwrap_or_default();
        let data = message.avps().find(&sh::USER_DATA).map(|it| it.data).unwrap_or_default();
        let xml = core::str::from_utf8(data).unwrap_or_default();
        let mut found =
            ["UEReachabilityForIP", "UEIPReachabilityMME"].iter().filter_map(|it| text_of(xml, it));
        let is_reachable = found.any(|it| it == REACHABLE);
        let to = (&*self.origin.realm, self.origin.host.as_deref());
        let node = self.peers.as_ref().map(Peers::node);
        // Anybody may write that realm: it has to come the way that questions take.
        let is_there = node.is_some_and(|it| it.is_on_way(peer, to, sh::SH.id));
        let is_home = is_there && self.origin.is_of(message);
        let known = is_home.then(|| self.watches.take(identity)).flatten();
        let (is_known, msisdn) = (known.is_some(), known.filter(|_| is_reachable));
        let Some(peers) = &mut self.peers else { return };
        let mut octets = Vec::new();
        let writer = peers.answer_to(message, &mut octets, false);
        let written = match is_known {
            true => writer.result(ResultCode::Success).end(),
            false => {
                let writer = writer.group(&base::EXPERIMENTAL_RESULT, |out| {
                    out.number(&base::VENDOR_ID, VENDOR_3GPP);
                    out.number(&base::EXPERIMENTAL_RESULT_CODE, NO_SUBSCRIPTION);
                });
                writer.end()
            }
        };
        if written.is_ok() {
            peers.answer(now, request, octets, out);
        }
        match msisdn {
            Some(msisdn) => {
                self.metrics.add(HomeMetric::Reachable, 1);
                self.events.push_back(Event::Reachable(msisdn));
            }
            None if is_known => {}
            None => self.metrics.add(HomeMetric::Unwanted, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_the_home_subscriber_servers_by_realm_and_host() {
        let origin = |host: Option<&str>| Origin {
            host: host.map(String::from),
            realm: String::from("home.example"),
            reachability_s: 0,
        };
        let says = |host: &str, realm: &str| {
            let mut octets = Vec::new();
            Writer::request(&mut octets, &sh::PUSH_NOTIFICATION, sh::SH.id)
                .put(&base::ORIGIN_HOST, host)
                .put(&base::ORIGIN_REALM, realm)
                .end()
                .unwrap();
            octets
        };
        for (host, said_host, said_realm, expected) in [
            (None, "any.home.example", "HOME.example", true),
            (None, "hss.home.example", "elsewhere.example", false),
            (Some("hss.home.example"), "HSS.home.example", "home.example", true),
            (Some("hss.home.example"), "other.home.example", "home.example", false),
        ] {
            let octets = says(said_host, said_realm);
            let message = Message::read(&octets).unwrap();
            assert_eq!(origin(host).is_of(&message), expected, "{said_host} of {said_realm}");
        }
    }
}
