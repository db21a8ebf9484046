//! A policer of sources, in front of everything that costs time: who sent it is all it looks at.
//!
//! ```text
//!  loopback · known address · trusted prefix · whoever the caller knows ─────────→ Pass
//!  blacklisted ──────────────────────────────────────────────────────────────────→ Refuse
//!  unknown ─→ own bucket ─→ (datagrams: the sender may be forged) shared bucket ─→ Pass
//!                 └ empty, or too many violations: blacklist       └ empty: refuse, or a flood
//!                                in a flood, of a kind that can be challenged: Unproven
//! ```
//! While a flood of unknown sources is recognised, the shared bucket refills slowly. Every table
//! has a fixed size, nothing is allocated for a message that is refused, and places in the tables
//! are chosen by a secret.

mod blacklist;
mod bucket;
mod change;
mod flood;
mod prefix;
mod proven;
mod sources;

pub use blacklist::{Sentence, Violation};
pub use change::{CHANGES_MAX, Change};
pub use flood::Flood;
pub use prefix::Prefix;
pub use proven::PROVEN_FOR;
pub use sources::WINDOW;

use blacklist::Blacklist;
use bucket::Bucket;
use change::Changes;
use flood::Recognition;
use machine::{Duration, Time};
use prefix::place;
use proven::Proven;
use sources::Sources;
use std::net::IpAddr;

/// Kinds of messages that are told apart.
pub const KINDS_MAX: usize = 4;
/// Addresses that pass because the configuration names them.
pub const KNOWN_MAX: usize = 65_536;
/// Trusted prefixes; each costs a look for every message of an unknown source.
pub const TRUSTED_MAX: usize = 64;

/// What the policer goes by. Rates are messages a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Off: everything passes.
    pub enabled: bool,
    /// Prefixes that pass.
    pub trusted: Vec<Prefix>,
    /// What each unknown source may send.
    pub source_rate: u32,
    /// What it may send at once.
    pub source_burst: u32,
    /// What all unknown sources of datagrams may send together.
    pub unknown_rate: u32,
    /// What they may send at once.
    pub unknown_burst: u32,
    /// What they may send together while a flood is recognised.
    pub flood_rate: u32,
    /// Refused messages a second at which a flood is recognised.
    pub flood_refused: u32,
    /// Refusals of one source within [`WINDOW`] after which it is blacklisted, if its address is
    /// proven; 0: never.
    pub refused_max: u32,
    /// Malformed messages of one source in that time after which it is blacklisted; 0: never.
    pub malformed_max: u32,
    /// How long a source stays blacklisted.
    pub blacklist: Duration,
    /// Sources in the blacklist at most.
    pub blacklist_max: u32,
    /// Unknown sources that are remembered.
    pub sources_max: u32,
    /// The kind of messages that can be asked for a proof of their return path, and how many may
    /// be in a second.
    pub challenge: Option<(usize, u32)>,
    /// How long the kernel lets a source pass that was known; zero: it is told nothing.
    pub known_for: Duration,
}

/// Who sent a message.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its address.
    pub address: IpAddr,
    /// Whether the address has answered (a connection stands), so that it is not forged.
    pub is_proven: bool,
}

/// What shall become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is looked at.
    Pass,
    /// Its source is blacklisted.
    Blacklisted,
    /// Its source sends more than it may.
    Excess,
    /// All unknown sources together send more than they may.
    Crowded,
    /// The same; its sender can be asked for a proof of its return path, see
    /// [`Policer::may_challenge`] and [`Policer::prove`].
    Unproven,
}

/// The policer of one shard.
#[derive(Debug)]
pub struct Policer {
    rules: Rules,
    known: Vec<u64>,
    named: Vec<IpAddr>,
    changes: Changes,
    sources: Sources,
    blacklist: Blacklist,
    shared: Bucket,
    challenges: Bucket,
    proven: Proven,
    refusals: Recognition,
    crowd: Recognition,
}

impl Policer {
    /// A policer that has seen nothing; `secret` chooses places in its tables.
    #[must_use]
    pub fn new(rules: Rules, secret: [u64; 2], now: Time) -> Self {
        Self {
            known: Vec::new(),
            named: Vec::new(),
            changes: Changes::new(secret),
            sources: Sources::new(rules.sources_max, secret, now),
            blacklist: Blacklist::new(rules.blacklist_max, secret),
            shared: Bucket::full(rules.unknown_burst, now),
            challenges: Bucket::full(challenge_burst(&rules), now),
            proven: Proven::new(secret),
            refusals: refusals(&rules, now),
            crowd: crowd(&rules, now),
            rules,
        }
    }

    /// Takes other rules; who is blacklisted stays so.
    pub fn configure(&mut self, rules: Rules, secret: [u64; 2], now: Time) {
        if rules == self.rules {
            return;
        }
        if rules.sources_max != self.rules.sources_max {
            self.sources = Sources::new(rules.sources_max, secret, now);
        }
        self.blacklist.set_max(rules.blacklist_max);
        self.shared = Bucket::full(rules.unknown_burst, now);
        self.challenges = Bucket::full(challenge_burst(&rules), now);
        self.refusals = refusals(&rules, now);
        self.crowd = crowd(&rules, now);
        self.rules = rules;
    }

    /// The addresses that pass, in place of those before; more than [`KNOWN_MAX`] are not taken.
    pub fn know(&mut self, addresses: impl Iterator<Item = IpAddr>) {
        let mut named: Vec<IpAddr> = addresses.take(KNOWN_MAX).collect();
        named.sort_unstable();
        named.dedup();
        if named == self.named {
            return;
        }
        let is_in = |list: &[IpAddr], address: IpAddr| list.binary_search(&address).is_ok();
        for &address in self.named.iter().filter(|&&address| !is_in(&named, address)) {
            self.changes.push(Change::Forget(address));
        }
        for &address in named.iter().filter(|&&address| !is_in(&self.named, address)) {
            self.changes.push(Change::Know(address, None));
        }
        self.known = named.iter().copied().map(place).collect();
        self.known.sort_unstable();
        self.known.dedup();
        self.named = named;
    }

    /// A source is known to the caller from now on: the kernel shall let it pass.
    pub fn allow_source(&mut self, now: Time, address: IpAddr) {
        if !self.rules.known_for.is_zero() && !address.to_canonical().is_loopback() {
            self.changes.know(now, address, self.rules.known_for);
        }
    }

    /// A source has proved its return path: for a while it needs its own budget only.
    pub fn prove(&mut self, now: Time, address: IpAddr) {
        if self.proven.add(now, place(address)) && !self.rules.known_for.is_zero() {
            self.changes.push(Change::Know(address, Some(PROVEN_FOR)));
        }
    }

    /// Whether another sender may be asked for its return path now: answers to forged addresses
    /// are bounded.
    pub fn may_challenge(&mut self, now: Time) -> bool {
        let Some((_, rate)) = self.rules.challenge else { return false };
        self.challenges.take(now, rate, challenge_burst(&self.rules))
    }

    /// Whether the kernel has something to be told.
    #[must_use]
    pub const fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Has the kernel told what changed.
    pub fn report(&mut self, out: &mut Vec<Change>) {
        out.extend(self.changes.take());
    }

    /// Whether a message may be looked at. `kind` is below [`KINDS_MAX`] and only counted;
    /// `is_known` is asked when nothing else says that the source is known.
    pub fn admit(
        &mut self,
        now: Time,
        source: Source,
        kind: usize,
        is_known: impl FnOnce() -> bool,
    ) -> Verdict {
        if !self.rules.enabled || self.is_exempt(source.address) {
            return Verdict::Pass;
        }
        if is_known() {
            self.allow_source(now, source.address);
            return Verdict::Pass;
        }
        let verdict = self.police(now, source, kind);
        if verdict != Verdict::Pass {
            self.refusals.see(now, kind);
        }
        verdict
    }

    fn police(&mut self, now: Time, source: Source, kind: usize) -> Verdict {
        let place = place(source.address);
        if self.blacklist.holds(place, now) {
            return Verdict::Blacklisted;
        }
        let rules = &self.rules;
        let entry = self.sources.entry(place, now, rules.source_burst);
        if !entry.take(now, rules.source_rate, rules.source_burst) {
            entry.refused += 1;
            let (count, max) = (entry.refused, rules.refused_max);
            if max > 0 && count >= max && self.is_proven(now, source) {
                self.condemn(now, source.address, Violation::Excess, count);
            }
            return Verdict::Excess;
        }
        if self.is_proven(now, source) {
            return Verdict::Pass;
        }
        self.crowd.see(now, kind);
        let crowded = self.crowd.raised().is_some();
        if crowded && self.rules.challenge.is_some_and(|(challenged, _)| challenged == kind) {
            return Verdict::Unproven;
        }
        let rate = if crowded { self.rules.flood_rate } else { self.rules.unknown_rate };
        if self.shared.take(now, rate, self.rules.unknown_burst) {
            return Verdict::Pass;
        }
        Verdict::Crowded
    }

    /// Whether the sender has the address: a datagram's may be anybody's.
    fn is_proven(&self, now: Time, source: Source) -> bool {
        source.is_proven || self.proven.holds(now, place(source.address))
    }

    /// A message of an unknown source could not be read: it counts against its budget once more,
    /// and against it if the address is proven to be its own, for a forged one is
    /// an innocent's. Says whether the source is blacklisted from now on.
    pub fn malformed(
        &mut self,
        now: Time,
        source: Source,
        is_known: impl FnOnce() -> bool,
    ) -> bool {
        let (max, burst) = (self.rules.malformed_max, self.rules.source_burst);
        if !self.rules.enabled || max == 0 || self.is_exempt(source.address) || is_known() {
            return false;
        }
        let rate = self.rules.source_rate;
        let entry = self.sources.entry(place(source.address), now, burst);
        entry.take(now, rate, burst);
        entry.malformed += 1;
        let count = entry.malformed;
        let is_guilty = count >= max && self.is_proven(now, source);
        is_guilty && self.condemn(now, source.address, Violation::Malformed, count)
    }

    fn condemn(&mut self, now: Time, address: IpAddr, violation: Violation, count: u32) -> bool {
        let until = now + self.rules.blacklist;
        let sentence = Sentence::new(address, violation, count, now, until);
        let is_added = self.blacklist.add(place(address), sentence);
        if is_added {
            self.changes.push(Change::Block(address, self.rules.blacklist));
        }
        is_added
    }

    fn is_exempt(&self, address: IpAddr) -> bool {
        address.to_canonical().is_loopback()
            || self.known.binary_search(&place(address)).is_ok()
            || self.rules.trusted.iter().any(|prefix| prefix.holds(address))
    }

    /// The flood that goes on: its kind is that of most of what was refused.
    pub fn flood(&mut self, now: Time) -> Option<Flood> {
        self.crowd.roll(now);
        self.refusals.roll(now);
        self.refusals.raised()
    }

    /// Floods recognised so far.
    #[must_use]
    pub const fn floods(&self) -> u64 {
        self.refusals.times()
    }

    /// Who is blacklisted.
    pub fn blacklisted(&self, now: Time) -> impl Iterator<Item = &Sentence> {
        self.blacklist.rows().filter(move |row| row.until > now)
    }

    /// Takes an address, or all, off the blacklist; says how many.
    pub fn pardon(&mut self, address: Option<IpAddr>) -> usize {
        self.changes.push(Change::Pardon(address));
        self.blacklist.pardon(address.map(place))
    }

    /// Unknown sources that are remembered.
    #[must_use]
    pub const fn remembered(&self) -> usize {
        self.sources.len()
    }

    /// Octets of the table of sources, whatever happens.
    #[must_use]
    pub const fn table_bytes(&self) -> usize {
        self.sources.bytes()
    }
}

fn refusals(rules: &Rules, now: Time) -> Recognition {
    Recognition::new(rules.flood_refused, rules.flood_refused / 2, now)
}

/// Challenges at once: those of a tenth of a second.
fn challenge_burst(rules: &Rules) -> u32 {
    rules.challenge.map_or(0, |(_, rate)| (rate / 10).max(1))
}

fn crowd(rules: &Rules, now: Time) -> Recognition {
    Recognition::new(rules.unknown_rate, rules.unknown_rate / 2, now)
}

#[cfg(test)]
mod tests;
