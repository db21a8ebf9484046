//! Where a request goes: the first route that matches it, then the next hops of that route.

use crate::next_hop::{Draw, NextHops};
use crate::realm::{RealmId, Realms};
use crate::settings::Settings;
use machine::Time;
use machine::narrow::index;
use machine::slots::Key;
use regex::bytes::Regex;
use runtime::{Flow, Transport};
use sip::{Message, Scheme, Uri, unescaped};

/// A position in a route: what was tried last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The route.
    pub route: u16,
    /// Which of its next hops.
    pub hop: u16,
    /// Which of that hop's targets.
    pub target: u16,
    /// Whether only TLS will do (`sips:`, RFC 3261 §26.2.2).
    pub secure: bool,
    /// Its [`Draw::dice`].
    pub dice: u8,
}

/// Where a request goes now.
#[derive(Debug, Clone)]
pub struct Way {
    /// The realm it leaves through.
    pub realm: RealmId,
    /// The far end.
    pub flow: Flow,
    /// What could be tried next; `None` when there is only this way.
    pub plan: Option<Plan>,
    /// The registered contact it leads to.
    pub binding: Option<Key>,
    /// The next hop, by its number in the configuration.
    pub hop: Option<u16>,
}

/// Why a request goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWay {
    /// No route matches, or it says so: answer with this status.
    Refused(u16),
    /// Every target is down.
    Down,
    /// Every target that is up asked for fewer requests (RFC 7339).
    Withheld,
    /// The Request-URI is `sips:` and no target is reached over TLS.
    Insecure,
}

#[derive(Debug)]
struct Route {
    from: RealmId,
    method: Vec<Vec<u8>>,
    user: Option<Regex>,
    host: Option<Vec<u8>>,
    to: Vec<u16>,
    reject: u16,
}

/// All routes in order.
#[derive(Debug)]
pub struct Routes {
    rows: Vec<Route>,
}

impl Routes {
    /// The routes of checked settings.
    pub fn new(settings: &Settings<'_>, realms: &Realms) -> Self {
        let hop = |name: &String| settings.hops.iter().position(|hop| hop.name == *name);
        let rows = settings.routes.iter().filter_map(|route| {
            Some(Route {
                from: realms.named(&route.from)?,
                method: route.method.iter().map(|m| m.clone().into_bytes()).collect(),
                user: route.user.as_deref().and_then(|user| Regex::new(user).ok()),
                host: route.host.clone().map(String::into_bytes),
                to: route.to.iter().filter_map(hop).map(index).collect(),
                reject: route.reject.unwrap_or(404),
            })
        });
        Self { rows: rows.collect() }
    }

    /// The way of a new request that came from realm `from`.
    pub fn find(
        &self,
        from: RealmId,
        message: &Message<'_>,
        hops: &NextHops,
        draw: Draw,
    ) -> Result<Way, NoWay> {
        let found = self.rows.iter().position(|route| route.matches(from, message));
        let Some(at) = found else { return Err(NoWay::Refused(404)) };
        let route = &self.rows[at];
        if route.to.is_empty() {
            return Err(NoWay::Refused(route.reject));
        }
        let secure = message.uri().is_some_and(|uri| uri.scheme == Scheme::Sips);
        let Draw { now, dice } = draw;
        let start = Plan { route: index(at), hop: 0, target: 0, secure, dice };
        self.at_plan(start, hops, now).ok_or_else(|| {
            let wanted = Plan { dice: Draw::EXEMPT, ..start };
            let open = Plan { secure: false, ..wanted };
            let leads = |plan| self.at_plan(plan, hops, now).is_some();
            match (leads(wanted), leads(open)) {
                (true, _) => NoWay::Withheld,
                (false, true) => NoWay::Insecure,
                (false, false) => NoWay::Down,
            }
        })
    }

    /// The way after `plan`, when that failed.
    pub fn next(&self, plan: Plan, hops: &NextHops, now: Time) -> Option<Way> {
        self.at_plan(Plan { target: plan.target.checked_add(1)?, ..plan }, hops, now)
    }

    /// Whether `status` from the hop in `plan` is a reason to try the next target.
    pub fn fails_over(&self, plan: Plan, status: u16, hops: &NextHops) -> bool {
        let hop = self
            .rows
            .get(usize::from(plan.route))
            .and_then(|route| route.to.get(usize::from(plan.hop)));
        hop.is_some_and(|&hop| hops.fails_over(hop, status))
    }

    /// The first usable target at or after `plan`.
    fn at_plan(&self, plan: Plan, hops: &NextHops, now: Time) -> Option<Way> {
        let mut usable = self.usable(plan, hops, now);
        let (plan, realm, flow) = usable.next()?;
        let more = usable.next().is_some();
        let route = self.rows.get(usize::from(plan.route));
        let hop = route.and_then(|route| route.to.get(usize::from(plan.hop)).copied());
        Some(Way { realm, flow, plan: more.then_some(plan), binding: None, hop })
    }

    fn usable<'a>(
        &'a self,
        plan: Plan,
        hops: &'a NextHops,
        now: Time,
    ) -> impl Iterator<Item = (Plan, RealmId, Flow)> + 'a {
        let to = self.rows.get(usize::from(plan.route)).map_or(&[][..], |route| &route.to);
        let draw = Draw { now, dice: plan.dice };
        to.iter().enumerate().skip(plan.hop.into()).flat_map(move |(n, &hop)| {
            let first = if n == usize::from(plan.hop) { plan.target } else { 0 };
            let will_do = move |flow: &Flow| !plan.secure || flow.transport == Transport::Tls;
            let usable = hops.usable(hop, first, draw).filter(move |(_, _, flow)| will_do(flow));
            usable.map(move |(target, realm, flow)| {
                (Plan { hop: index(n), target, ..plan }, realm, flow)
            })
        })
    }
}

impl Route {
    fn matches(&self, from: RealmId, message: &Message<'_>) -> bool {
        if self.from != from {
            return false;
        }
        let name = message.cseq().name;
        if !self.method.is_empty() && !self.method.iter().any(|method| method == name) {
            return false;
        }
        let uri = message.uri();
        let host = uri.map_or(&b""[..], |uri| uri.host);
        if self.host.as_ref().is_some_and(|wanted| !wanted.eq_ignore_ascii_case(host)) {
            return false;
        }
        self.user.as_ref().is_none_or(|wanted| match uri {
            Some(uri) => is_user(wanted, uri),
            None => wanted.is_match(b""),
        })
    }
}

/// Whether the user part matches in any of the forms that name the same one: as it came, without
/// its escapes (RFC 3261 §19.1.4), and of a number its digits (RFC 3966 §5.1.1). A route
/// that refuses a number refuses it however it is written.
fn is_user(wanted: &Regex, uri: &Uri<'_>) -> bool {
    let user = uri.user.unwrap_or_default();
    if wanted.is_match(user) {
        return true;
    }
    if !user.iter().any(|octet| b"%-.();".contains(octet)) {
        return false;
    }
    let plain = unescaped(user);
    let number = plain.split(|&octet| octet == b';').next().unwrap_or_default();
    let digits: Vec<u8> = number.iter().copied().filter(|octet| !b"-.()".contains(octet)).collect();
    let is_number = digits.iter().all(|octet| octet.is_ascii_digit() || b"+*#".contains(octet));
    wanted.is_match(&plain) || (is_number || uri.is_phone()) && wanted.is_match(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_matched_however_it_is_written() {
        let premium = Regex::new(r"^\+?(49)?900").unwrap();
        for (uri, is_met) in [
            ("sip:+49900123@x", true),
            ("sip:%2B499%300123@x", true),
            ("sip:+49-900-123@x", true),
            ("sip:+49.(900)%2D123@x;user=phone", true),
            ("sip:+49-9-00123;phone-context=x@x;user=phone", true),
            ("tel:+49-900-123", true),
            ("tel:+49(900)123;ext=5", true),
            ("sip:+49-800-123@x", false),
            ("sip:a-49-900@x", false),
            ("sip:x", false),
        ] {
            let uri = Uri::parse(uri.as_bytes()).unwrap();
            assert_eq!(is_user(&premium, &uri), is_met, "{uri:?}");
        }
        let escaped = Regex::new("^%23").unwrap();
        assert!(is_user(&escaped, &Uri::parse(b"sip:%2331@x").unwrap()), "as it came as well");
    }
}
