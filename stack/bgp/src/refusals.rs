//! Who tries to connect and is not let in: from an address of no peer, or without the proof that is
//! asked for there; and what that, and the last end of a session, say of why it does not stand.

use crate::Speaker;
use crate::peers::Peer;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses that are remembered at most, of peers and of others; the one that was silent for
/// longest goes.
const ADDRESSES_MAX: usize = 64;
/// What was refused, and a NOTIFICATION, counts for so long: longer than a peer waits between two
/// attempts (ConnectRetryTime, RFC 4271 §10).
pub(crate) const FRESH: Duration = Duration::from_secs(180);
/// What the kernel tells where it looks at signatures.
const UNPROVEN: &str = "segments with a wrong or no password came to this machine";
/// From then on it is said how old a reason is.
const AGED: Duration = Duration::from_secs(60);

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No peer has that address, and no range.
    NoPeer,
    /// Its segments are not signed (RFC 2385).
    NoPassword,
    /// They are, with another password.
    WrongPassword,
    /// They are, and there is no password here.
    UnknownPassword,
    /// They come from further away than may be (RFC 5082).
    TooFar,
}

/// What is remembered of them.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    strangers: BTreeMap<IpAddr, Time>,
    unproven: BTreeMap<IpAddr, (Time, Refusal)>,
    /// When segments of somebody were dropped for that, of whom the kernel does not say more.
    of_somebody: Option<Time>,
}

/// Remembers one more; the oldest makes way.
fn remember<T>(all: &mut BTreeMap<IpAddr, T>, address: IpAddr, it: T, at: impl Fn(&T) -> Time) {
    if all.len() >= ADDRESSES_MAX && !all.contains_key(&address) {
        let oldest = all.iter().min_by_key(|(_, it)| at(it)).map(|(address, _)| *address);
        oldest.and_then(|address| all.remove(&address));
    }
    all.insert(address, it);
}

impl Refusals {
    pub(crate) fn note(&mut self, now: Time, address: IpAddr, why: Refusal) {
        let address = address.to_canonical();
        match why {
            Refusal::NoPeer => remember(&mut self.strangers, address, now, |at| *at),
            _ => remember(&mut self.unproven, address, (now, why), |it| it.0),
        }
    }

    /// Segments of somebody were not signed as they must be.
    pub(crate) const fn note_unproven(&mut self, now: Time) {
        self.of_somebody = Some(now);
    }

    /// Whoever has that address is let in, or is to be looked at anew.
    pub(crate) fn forget(&mut self, address: IpAddr) {
        let address = address.to_canonical();
        self.strangers.remove(&address);
        self.unproven.remove(&address);
    }

    /// What stands against the peer of an address.
    fn against(&self, now: Time, address: IpAddr) -> Option<String> {
        let (at, why) = *self.unproven.get(&address.to_canonical())?;
        let text = match why {
            Refusal::NoPeer => return None,
            Refusal::NoPassword => "segments without a password come from its address",
            Refusal::WrongPassword => "segments with a wrong password come from its address",
            Refusal::UnknownPassword => {
                "segments with a password come from its address, and none is configured here"
            }
            Refusal::TooFar => {
                "segments come from its address from further away than ttl_security_hops"
            }
        };
        (now.since(at) < FRESH).then(|| text.to_owned())
    }

    /// What stands against any peer with a password that is not there.
    fn against_signed(&self, now: Time) -> Option<String> {
        let is_fresh = self.of_somebody.is_some_and(|at| now.since(at) < FRESH);
        is_fresh.then(|| UNPROVEN.to_owned())
    }

    /// Those that no peer has, the last one first.
    fn strangers(&self, now: Time) -> Option<String> {
        let fresh = self.strangers.iter().filter(|(_, at)| now.since(**at) < FRESH);
        let mut all: Vec<(Time, IpAddr)> = fresh.map(|(address, at)| (*at, *address)).collect();
        all.sort_by_key(|(at, address)| (core::cmp::Reverse(*at), *address));
        let (_, last) = all.first()?;
        let more = match all.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more addresses"),
        };
        Some(format!("connections from {last}{more} were refused: no peer has that address"))
    }
}

/// How long ago something was.
fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3_600),
    }
}

impl Speaker {
    /// Somebody was not let in.
    pub(crate) fn refuse(&mut self, now: Time, address: IpAddr, why: Refusal) {
        if why == Refusal::NoPeer {
            self.counts.refused += 1;
        }
        self.refusals.note(now, address, why);
    }

    /// Why the session of a peer does not stand, as far as it is known now; what is older than a
    /// minute has its age.
    #[must_use]
    pub fn why(&self, now: Time, peer: &Peer) -> Option<String> {
        if peer.is_up() {
            return None;
        }
        let last = peer.ending.as_ref().map(|it| match now.since(it.at) {
            age if age < AGED => it.text.clone(),
            age => format!("{} ({})", it.text, ago(age)),
        });
        if peer.held.is_some() {
            return last;
        }
        let mut waits = peer.connections.values().map(|it| match it.open.is_empty() {
            true => "it is connected, and has not said its OPEN yet",
            false => "it has said its OPEN, and no KEEPALIVE yet",
        });
        let refused = self.refusals.against(now, peer.settings.address);
        let held = refused.or_else(|| waits.next_back().map(str::to_owned)).or(last);
        if !peer.is_missed() {
            return held;
        }
        // Perhaps it is that peer, with another password or by another address.
        let unsaid = held.as_ref().is_none_or(|it| !it.contains("password"));
        let is_signed = peer.settings.guard.password.is_some() && unsaid;
        let unproven = if is_signed { self.refusals.against_signed(now) } else { None };
        let strangers = self.refusals.strangers(now);
        let all: Vec<String> = held.into_iter().chain(unproven).chain(strangers).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Time {
        Time::from_millis(1_000_000 + 1_000 * number)
    }

    #[test]
    fn those_that_are_refused_are_few_however_many_come_and_are_forgotten() {
        let mut all = Refusals::default();
        for number in 0..10_000_u32 {
            let address = IpAddr::V4((0x0A00_0000 + number).into());
            let why = if number % 2 == 0 { Refusal::NoPeer } else { Refusal::WrongPassword };
            all.note(Time::from_millis(1_000_000 + u64::from(number)), address, why);
        }
        assert_eq!((all.strangers.len(), all.unproven.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        let last = "connections from 10.0.39.14 and 63 more addresses were refused: no peer has \
                    that address";
        assert_eq!(all.strangers(second(10)).as_deref(), Some(last));
        let of_peer = [10, 0, 39, 15].into();
        let wrong = "segments with a wrong password come from its address";
        assert_eq!(all.against(second(10), of_peer).as_deref(), Some(wrong));
        assert_eq!((all.strangers(second(200)), all.against(second(200), of_peer)), (None, None));
        all.forget(of_peer);
        assert_eq!(all.against(second(10), of_peer), None);
    }

    #[test]
    fn how_long_ago_something_was_is_a_number_with_a_unit() {
        let all = [0, 119, 120, 7_199, 7_200].map(|it| ago(Duration::from_secs(it)));
        assert_eq!(all, ["0 s ago", "119 s ago", "2 min ago", "119 min ago", "2 h ago"]);
    }
}
