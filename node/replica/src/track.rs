//! What a node needs beside the link to its peer: interfaces with a carrier, gateways that answer.
//!
//! ```text
//!  fit ── one of them fails ──→ unfit ── all have been good for `recover` ──→ fit
//! ```
//! A node that is unfit hands over to one that is fit and has everything ([`crate::Pair`]); it
//! counts as fit only after a while, so that what comes and goes moves the activity once.

use config::Issue;
use machine::{Duration, Time};
use std::net::IpAddr;

/// Things that one node tracks.
pub const TRACKED_MAX: usize = 32;
/// Time between two requests to a gateway.
pub const ASK_EVERY: Duration = Duration::from_millis(100);
/// Requests in a row without an answer after which a gateway has failed.
const UNANSWERED_MAX: u32 = 3;
/// Longest time that all must have been good again, seconds.
const RECOVER_S_MAX: u32 = 3_600;

/// Something that is tracked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An interface, by name.
    Interface(String),
    /// A gateway.
    Gateway(IpAddr),
}

impl Target {
    /// Reads an address, or else a name of an interface (at most 15 octets; see netdevice(7)).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(ip) = text.parse() {
            return Some(Self::Gateway(ip));
        }
        let is_name = |c: char| c.is_ascii_graphic() && c != '/' && c != ':';
        let fits = (1..=15).contains(&text.len()) && text.chars().all(is_name);
        fits.then(|| Self::Interface(text.to_owned()))
    }
}

/// What is known of it.
#[derive(Debug, Clone)]
struct Tracked {
    target: Target,
    name: String,
    /// Since when it has been so.
    is_good: bool,
    since: Time,
    /// Requests that were not answered, in a row.
    unanswered: u32,
}

/// How something that is tracked stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedRow<'a> {
    /// As the site file writes it.
    pub name: &'a str,
    /// Whether it is good.
    pub is_good: bool,
    /// Since when.
    pub since: Time,
}

/// The machine. What it is told are observations; what it says is whether the node is fit.
#[derive(Debug)]
pub struct Track {
    list: Vec<Tracked>,
    recover: Duration,
    is_fit: bool,
}

impl Track {
    /// Nothing has failed yet. A recovery counts after it has lasted for `recover`.
    #[must_use]
    pub fn new(now: Time, names: &[String], recover: Duration) -> Self {
        let mut track = Self { list: Vec::new(), recover, is_fit: true };
        track.change(now, names, recover);
        track
    }

    /// Tracks these from now on; what is known of those that stay stands.
    pub fn change(&mut self, now: Time, names: &[String], recover: Duration) {
        let old = core::mem::take(&mut self.list);
        let fresh = |name: &String| {
            if let Some(known) = old.iter().find(|known| known.name == *name) {
                return Some(known.clone());
            }
            let target = Target::parse(name)?;
            let name = name.clone();
            Some(Tracked { target, name, is_good: true, since: now, unanswered: 0 })
        };
        self.list = names.iter().take(TRACKED_MAX).filter_map(fresh).collect();
        self.recover = recover;
    }

    /// Whether nothing is tracked.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The interfaces to look at.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(|it| match &it.target {
            Target::Interface(name) => Some(name.as_str()),
            Target::Gateway(_) => None,
        })
    }

    /// An interface was looked at.
    pub fn looked(&mut self, now: Time, interface: &str, is_up: bool) {
        let is_it =
            |it: &&mut Tracked| matches!(&it.target, Target::Interface(name) if name == interface);
        if let Some(it) = self.list.iter_mut().find(is_it) {
            it.set(now, is_up);
        }
    }

    /// All gateways are asked now; which those are. Those that have not answered for too long have
    /// failed.
    pub fn ask(&mut self, now: Time) -> Vec<IpAddr> {
        let mut asked = Vec::new();
        for it in &mut self.list {
            let Target::Gateway(ip) = it.target else { continue };
            it.unanswered = it.unanswered.saturating_add(1);
            if it.unanswered > UNANSWERED_MAX {
                it.set(now, false);
            }
            asked.push(ip);
        }
        asked
    }

    /// A gateway has answered.
    pub fn answered(&mut self, now: Time, gateway: IpAddr) {
        let is_it = |it: &&mut Tracked| it.target == Target::Gateway(gateway.to_canonical());
        if let Some(it) = self.list.iter_mut().find(is_it) {
            it.unanswered = 0;
            it.set(now, true);
        }
    }

    /// Whether the node is fit now; `None`: as it was.
    pub fn changed(&mut self, now: Time) -> Option<bool> {
        let is_good = self.list.iter().all(|it| it.is_good);
        let has_lasted = self.list.iter().all(|it| now >= it.since + self.recover);
        let is_fit = if self.is_fit { is_good } else { is_good && has_lasted };
        (core::mem::replace(&mut self.is_fit, is_fit) != is_fit).then_some(is_fit)
    }

    /// Whether it was fit when this was asked last.
    #[must_use]
    pub const fn is_fit(&self) -> bool {
        self.is_fit
    }

    /// All that is tracked.
    pub fn rows(&self) -> impl Iterator<Item = TrackedRow<'_>> {
        self.list.iter().map(|it| TrackedRow {
            name: &it.name,
            is_good: it.is_good,
            since: it.since,
        })
    }
}

/// Pushes what cannot be tracked; paths are relative to the section.
pub(crate) fn validate(track: &[String], recover_s: u32, issues: &mut Vec<Issue>) {
    if track.len() > TRACKED_MAX {
        let what = format!("more than {TRACKED_MAX} things to track");
        issues.push(Issue::new("track", what, "track fewer"));
    }
    for (n, text) in track.iter().enumerate() {
        let at = format!("track[{n}]");
        if Target::parse(text).is_none() {
            let what = format!("`{text}` is neither an interface nor an address");
            issues.push(Issue::new(at, what, "write eth0 or 192.0.2.1"));
        } else if track[..n].contains(text) {
            issues.push(Issue::new(at, format!("`{text}` stands twice"), "leave one out"));
        }
    }
    if recover_s > RECOVER_S_MAX {
        let what = format!("{recover_s} is out of range");
        issues.push(Issue::new("track_recover_s", what, format!("use 0 to {RECOVER_S_MAX}")));
    }
}

/// Whether gateways are among it, for which raw sockets are needed.
pub(crate) fn asks_gateways(track: &[String]) -> bool {
    let is_gateway = |text: &String| matches!(Target::parse(text), Some(Target::Gateway(_)));
    track.iter().any(is_gateway)
}

impl Tracked {
    fn set(&mut self, now: Time, is_good: bool) {
        if self.is_good != is_good {
            (self.is_good, self.since) = (is_good, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECOVER: Duration = Duration::from_secs(5);

    fn at(ms: u64) -> Time {
        Time::from_millis(1_000 + ms)
    }

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_node_is_unfit_at_once_and_fit_when_all_has_been_good_for_long() {
        let mut track = Track::new(at(0), &names(&["eth0", "eth1"]), RECOVER);
        assert_eq!((track.changed(at(0)), track.is_fit()), (None, true));
        track.looked(at(10), "eth1", false);
        assert_eq!(track.changed(at(10)), Some(false));
        assert_eq!(track.changed(at(11)), None);
        track.looked(at(20), "eth1", true);
        assert_eq!(track.changed(at(5_019)), None, "it has to last");
        track.looked(at(5_019), "eth1", false);
        track.looked(at(5_020), "eth1", true);
        assert_eq!(track.changed(at(10_019)), None, "what comes and goes has not lasted");
        assert_eq!(track.changed(at(10_020)), Some(true));
    }

    #[test]
    fn a_gateway_fails_after_three_requests_without_an_answer() {
        let gateway = IpAddr::from([192, 0, 2, 1]);
        let mut track = Track::new(at(0), &names(&["192.0.2.1", "eth0"]), RECOVER);
        for n in 0..3 {
            assert_eq!(track.ask(at(n * 100)), [gateway]);
            assert_eq!(track.changed(at(n * 100)), None);
        }
        track.answered(at(250), gateway);
        for n in 3..6 {
            track.ask(at(n * 100));
        }
        assert_eq!(track.changed(at(599)), None);
        track.ask(at(600));
        assert_eq!(track.changed(at(600)), Some(false));
        let row = track.rows().next().unwrap();
        assert_eq!((row.name, row.is_good, row.since), ("192.0.2.1", false, at(600)));
        track.answered(at(700), gateway);
        track.answered(at(700), IpAddr::from([192, 0, 2, 9]));
        assert_eq!((track.changed(at(5_699)), track.changed(at(5_700))), (None, Some(true)));
    }

    #[test]
    fn what_stays_keeps_its_state_when_others_are_tracked() {
        let mut track = Track::new(at(0), &names(&["eth0"]), RECOVER);
        track.looked(at(1), "eth0", false);
        assert_eq!(track.changed(at(1)), Some(false));
        track.change(at(2), &names(&["eth1", "eth0"]), RECOVER);
        assert_eq!(track.changed(at(9_000)), None);
        track.change(at(9_001), &names(&["eth1"]), RECOVER);
        assert_eq!(track.changed(at(9_001)), Some(true));
        assert_eq!(Target::parse("a name of more than 15"), None);
        assert_eq!(
            Target::parse("::1"),
            Some(Target::Gateway(IpAddr::from([0u16, 0, 0, 0, 0, 0, 0, 1])))
        );
        assert_eq!(Target::parse(""), None);
    }
}
