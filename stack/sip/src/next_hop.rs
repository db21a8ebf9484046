//! Next hops: their targets, whether these answer, and the OPTIONS that find out.
//!
//! ```text
//! Up ── probe_failures probes unanswered ──→ Down ── a probe answered ──→ Up
//! ```
//! A request that comes from the address of a target that is down lets it be probed at once: it
//! seems to live again. That alone is no proof, for the source of a datagram can be forged. Without
//! that it is probed after 1, 2, 4 … seconds, at most `probe_interval`: who starts a site before
//! its peers waits no whole interval for them.
//!
//! A target without probes is always up. Any answer counts as alive, except 503 and 408. A probe
//! that has no answer when the next one is due has failed, though its transaction goes on (Timer F
//! is 32 s): a late answer still counts.

use crate::config::Target;
use crate::realm::{RealmId, Realms};
use crate::settings::HopSettings;
use machine::narrow::index;
use machine::{Duration, Time};
use runtime::Flow;
use sip::overload::Feedback;

/// Feedback holds no longer than this without another word.
const VALIDITY_MAX_MS: u32 = 60_000;

/// A target that is down is probed no sooner than that after its last probe: because it was heard,
/// and the first time after it went down.
const DOWN_PAUSE: Duration = Duration::from_secs(1);
/// The pause doubles so often at most.
const DOUBLED_MAX: u32 = 16;

/// Whether a target takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answers, or nobody asks it.
    Up,
    /// It does not answer its probes.
    Down,
}

/// One address of a next hop.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The far end.
    pub flow: Flow,
    /// Whether it takes requests.
    pub health: Health,
    /// Probes in a row without an answer.
    pub failures: u32,
    /// When it is probed next; `Time::MAX` is never.
    pub probe_at: Time,
    /// When it was probed last.
    pub probed_at: Time,
    /// Probes that it was sent.
    pub probes: u32,
    /// The last of them has neither its answer nor failed.
    pub awaited: bool,
    /// Since when it is up or down.
    pub since: Time,
    /// Which target of the configuration it comes from.
    pub target: u16,
    /// What it asked for last (RFC 7339).
    pub feedback: Feedback,
    /// Until when that holds.
    pub feedback_until: Time,
    /// Calls that it was sent.
    pub calls: u64,
    /// Those of them that it did not answer, or with 408 or 5xx.
    pub failed: u64,
}

/// What decides whether a new request is one of those that an overloaded target does not want.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Now.
    pub now: Time,
    /// A number below 100, always the same of a request; [`Draw::EXEMPT`] for what is never
    /// withheld.
    pub dice: u8,
}

impl Draw {
    /// The dice of emergency calls and of what has priority.
    pub const EXEMPT: u8 = u8::MAX;
}

/// A next hop.
#[derive(Debug)]
pub struct Hop {
    /// Its name.
    pub name: String,
    /// The realm it is reached through.
    pub realm: RealmId,
    /// Domains to look up (RFC 3263): which target, and the URI as written.
    pub domains: Vec<(u16, String)>,
    /// Its addresses in order of preference.
    pub endpoints: Vec<Endpoint>,
    /// Whether its feedback is obeyed.
    pub overload_control: bool,
    failover_status: Vec<u16>,
    interval: Duration,
    failures_max: u32,
}

/// A target that was probed, by its place among those of that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// The next hop.
    pub hop: u16,
    /// Which of its addresses.
    pub target: u16,
    /// How often the next hops had changed by then.
    changes: u16,
    /// Which of its probes.
    number: u32,
}

/// All next hops.
#[derive(Debug)]
pub struct NextHops {
    hops: Vec<Hop>,
    changes: u16,
    obey_any: bool,
    /// Targets that do not take requests.
    down: usize,
}

impl NextHops {
    /// The next hops of checked settings; the first probes go out at once.
    pub fn new(settings: &[HopSettings<'_>], realms: &Realms, now: Time) -> Self {
        let hops = settings.iter().filter_map(|hop| {
            let realm = realms.named(hop.realm)?;
            let mut row = Hop {
                name: hop.name.to_owned(),
                realm,
                domains: Vec::new(),
                endpoints: Vec::new(),
                overload_control: hop.overload_control,
                failover_status: hop.failover_status.to_vec(),
                interval: hop.probe_interval,
                failures_max: hop.probe_failures.max(1),
            };
            for (n, target) in hop.targets.iter().enumerate() {
                let n = index(n);
                match Target::parse(target) {
                    Ok(Target::Address(address)) => {
                        let listener =
                            realms.listener_for(realm, address.transport, address.socket);
                        let flow = listener.map(|listener| listener.flow(address.socket));
                        row.endpoints.extend(flow.map(|flow| row.endpoint(flow, n, now)));
                    }
                    Ok(Target::Domain(domain)) => row.domains.push((n, domain)),
                    Err(_) => {}
                }
            }
            Some(row)
        });
        let obey_any = settings.iter().any(|hop| hop.overload_control);
        Self { hops: hops.collect(), changes: 0, obey_any, down: 0 }
    }

    /// Takes over what is known about targets that are configured again.
    pub fn inherit(&mut self, old: &Self) {
        self.changes = old.changes.wrapping_add(1);
        for hop in &mut self.hops {
            let Some(before) = old.hops.iter().find(|other| other.name == hop.name) else {
                continue;
            };
            let resolved = before.endpoints.iter().filter(|endpoint| {
                hop.domains.iter().any(|(target, _)| *target == endpoint.target)
                    && before.domains == hop.domains
            });
            hop.endpoints.extend(resolved.cloned());
            hop.endpoints.sort_by_key(|endpoint| endpoint.target);
            for endpoint in &mut hop.endpoints {
                if let Some(known) = before.endpoints.iter().find(|e| e.flow == endpoint.flow) {
                    let (target, probe_at) = (endpoint.target, endpoint.probe_at);
                    *endpoint = Endpoint { target, probe_at, awaited: false, ..known.clone() };
                }
                if hop.interval == Duration::ZERO {
                    // Nobody asks it any more whether it is up.
                    endpoint.probe_at = Time::MAX;
                    (endpoint.health, endpoint.failures) = (Health::Up, 0);
                }
            }
        }
        self.count_down();
    }

    /// Every next hop.
    pub fn rows(&self) -> &[Hop] {
        &self.hops
    }

    /// The targets of a hop that take such a request, from number `first` on.
    pub fn usable(
        &self,
        hop: u16,
        first: u16,
        draw: Draw,
    ) -> impl Iterator<Item = (u16, RealmId, Flow)> + '_ {
        let hop = self.hops.get(usize::from(hop));
        hop.into_iter().flat_map(move |hop| {
            let up = move |(_, endpoint): &(usize, &Endpoint)| {
                endpoint.health == Health::Up && !endpoint.withholds(draw)
            };
            let row = move |(n, endpoint): (usize, &Endpoint)| (index(n), hop.realm, endpoint.flow);
            hop.endpoints.iter().enumerate().skip(first.into()).filter(up).map(row)
        })
    }

    /// Whether `status` from this hop is a reason to try the next target.
    pub fn fails_over(&self, hop: u16, status: u16) -> bool {
        self.hops.get(usize::from(hop)).is_some_and(|hop| hop.failover_status.contains(&status))
    }

    /// Whether the feedback of any hop is obeyed.
    pub const fn obey_any(&self) -> bool {
        self.obey_any
    }

    /// Whether requests to this hop offer to obey its feedback.
    pub fn offers_feedback(&self, hop: Option<u16>) -> bool {
        let hop = hop.and_then(|hop| self.hops.get(usize::from(hop)));
        hop.is_some_and(|hop| hop.overload_control)
    }

    /// The target there asks for fewer requests, or for more again; what is older than what it
    /// said last is passed over.
    pub fn hear(&mut self, now: Time, there: &Flow, feedback: Feedback) {
        let hops = self.hops.iter_mut().filter(|hop| hop.overload_control);
        for endpoint in hops.flat_map(|hop| &mut hop.endpoints).filter(|it| it.is_at(there)) {
            if feedback.seq >= endpoint.feedback.seq {
                endpoint.feedback = feedback;
                endpoint.feedback_until =
                    now + Duration::from_millis(feedback.validity_ms.min(VALIDITY_MAX_MS).into());
            }
        }
    }

    /// A target was sent a call.
    pub fn called(&mut self, hop: Option<u16>, there: &Flow) {
        let hop = hop.and_then(|hop| self.hops.get_mut(usize::from(hop)));
        let mut endpoints = hop.into_iter().flat_map(|hop| &mut hop.endpoints);
        endpoints.find(|it| it.is_at(there)).into_iter().for_each(|it| it.calls += 1);
    }

    /// A call failed at a target: at the first hop that has it.
    pub fn failed(&mut self, there: &Flow) {
        let mut endpoints = self.hops.iter_mut().flat_map(|hop| &mut hop.endpoints);
        endpoints.find(|it| it.is_at(there)).into_iter().for_each(|it| it.failed += 1);
    }

    /// Targets in all, those that do not take requests among them.
    pub fn targets(&self) -> usize {
        self.hops.iter().map(|it| it.endpoints.len()).sum()
    }

    /// Targets that do not take requests.
    pub const fn down(&self) -> usize {
        self.down
    }

    fn count_down(&mut self) {
        let endpoints = self.hops.iter().flat_map(|hop| &hop.endpoints);
        self.down = endpoints.filter(|it| it.health == Health::Down).count();
    }

    /// A request came from there: a target of that address that is down is probed at once.
    pub fn heard(&mut self, now: Time, there: &Flow) {
        if self.down == 0 {
            return;
        }
        // A listener of both families shows addresses of IPv4 as such of IPv6.
        let address = |flow: &Flow| flow.remote.ip().to_canonical();
        let from = address(there);
        for hop in &mut self.hops {
            let is_meant = |it: &&mut Endpoint| {
                let was_long_ago = it.probed_at + DOWN_PAUSE <= now;
                let is_there = address(&it.flow) == from;
                is_there && it.health == Health::Down && was_long_ago
            };
            hop.endpoints
                .iter_mut()
                .filter(is_meant)
                .for_each(|it| it.probe_at = it.probe_at.min(now));
        }
    }

    /// When the next probe is due.
    pub fn deadline(&self) -> Option<Time> {
        let due = self.hops.iter().flat_map(|hop| &hop.endpoints).map(|e| e.probe_at).min();
        due.filter(|&due| due < Time::MAX)
    }

    /// A probe without an answer though the next one is due: it has failed.
    pub fn overdue(&self, now: Time) -> Option<Probed> {
        self.hops.iter().enumerate().find_map(|(h, hop)| {
            let is_late = |e: &Endpoint| e.awaited && e.probe_at <= now;
            let e = hop.endpoints.iter().position(is_late)?;
            let (changes, number) = (self.changes, hop.endpoints[e].probes);
            Some(Probed { hop: index(h), target: index(e), changes, number })
        })
    }

    /// A target whose probe is due; the next one is due a pause later.
    pub fn due(&mut self, now: Time) -> Option<(Probed, Flow)> {
        let changes = self.changes;
        for (h, hop) in self.hops.iter_mut().enumerate() {
            let times = hop.times();
            for (e, endpoint) in hop.endpoints.iter_mut().enumerate() {
                if endpoint.probe_at <= now {
                    endpoint.probe_at = now + times.pause(endpoint);
                    endpoint.probed_at = now;
                    endpoint.probes = endpoint.probes.wrapping_add(1);
                    endpoint.awaited = true;
                    let number = endpoint.probes;
                    let probed = Probed { hop: index(h), target: index(e), changes, number };
                    return Some((probed, endpoint.flow));
                }
            }
        }
        None
    }

    /// A probe could not be sent, which says nothing of its target.
    pub fn unsent(&mut self, probed: Probed) {
        let Probed { hop, target, changes, number } = probed;
        let hop = self.hops.get_mut(usize::from(hop)).filter(|_| changes == self.changes);
        let endpoint = hop.and_then(|it| it.endpoints.get_mut(usize::from(target)));
        if let Some(endpoint) = endpoint.filter(|it| it.probes == number) {
            endpoint.awaited = false;
        }
    }

    /// A probe was answered, or not; says whether the target's health changed.
    pub fn probed(&mut self, now: Time, probed: Probed, alive: bool) -> Option<Health> {
        let Probed { hop, target, changes, number } = probed;
        if changes != self.changes {
            return None;
        }
        let hop = self.hops.get_mut(usize::from(hop))?;
        let times = hop.times();
        let endpoint = hop.endpoints.get_mut(usize::from(target))?;
        let is_last = number == endpoint.probes;
        if !(alive || is_last && endpoint.awaited) {
            return None; // it had failed before its transaction ended
        }
        endpoint.awaited &= !is_last;
        endpoint.failures = if alive { 0 } else { endpoint.failures.saturating_add(1) };
        let health = match (alive, endpoint.failures >= times.failures_max) {
            (true, _) => Health::Up,
            (false, true) => Health::Down,
            (false, false) => endpoint.health,
        };
        if health == Health::Down && endpoint.probe_at > now {
            // What failed at once (nobody listens there) waits for no rest of the interval.
            endpoint.probe_at = endpoint.probe_at.min(now + times.pause(endpoint));
        }
        if health == endpoint.health {
            return None;
        }
        endpoint.health = health;
        endpoint.since = now;
        self.count_down();
        Some(health)
    }

    /// Takes the addresses that the domain of a hop's target leads to; known ones keep their
    /// health.
    pub fn resolved(&mut self, hop: u16, target: u16, flows: &[Flow], now: Time) {
        let Some(hop) = self.hops.get_mut(usize::from(hop)) else { return };
        let before = core::mem::take(&mut hop.endpoints);
        let fresh = flows.iter().map(|&flow| {
            let known = before.iter().find(|e| e.flow == flow && e.target == target).cloned();
            known.unwrap_or_else(|| hop.endpoint(flow, target, now))
        });
        let fresh: Vec<_> = fresh.collect();
        let kept = before.iter().filter(|endpoint| endpoint.target != target).cloned();
        hop.endpoints = kept.chain(fresh).collect();
        hop.endpoints.sort_by_key(|endpoint| endpoint.target);
        if !before.iter().map(|e| e.flow).eq(hop.endpoints.iter().map(|e| e.flow)) {
            self.changes = self.changes.wrapping_add(1);
            hop.endpoints.iter_mut().for_each(|endpoint| endpoint.awaited = false);
        }
        self.count_down();
    }
}

/// When targets of a hop are probed, and how long they count as up.
#[derive(Debug, Clone, Copy)]
struct Times {
    interval: Duration,
    failures_max: u32,
}

impl Times {
    /// Until the next probe: the interval, and less for a target that went down of late.
    fn pause(self, it: &Endpoint) -> Duration {
        let Some(since_down) = it.failures.checked_sub(self.failures_max) else {
            return self.interval;
        };
        (DOWN_PAUSE * 2u32.pow(since_down.min(DOUBLED_MAX))).min(self.interval)
    }
}

impl Hop {
    const fn times(&self) -> Times {
        Times { interval: self.interval, failures_max: self.failures_max }
    }

    fn endpoint(&self, flow: Flow, target: u16, now: Time) -> Endpoint {
        let probe_at = if self.interval == Duration::ZERO { Time::MAX } else { now };
        Endpoint {
            flow,
            health: Health::Up,
            failures: 0,
            probe_at,
            probed_at: Time::ZERO,
            probes: 0,
            awaited: false,
            since: now,
            target,
            feedback: Feedback::default(),
            feedback_until: Time::ZERO,
            calls: 0,
            failed: 0,
        }
    }
}

impl Endpoint {
    fn is_at(&self, there: &Flow) -> bool {
        self.flow.remote == there.remote && self.flow.transport == there.transport
    }

    /// New requests of a hundred that it does not want.
    pub fn loss(&self, now: Time) -> u8 {
        if now < self.feedback_until { self.feedback.loss } else { 0 }
    }

    fn withholds(&self, draw: Draw) -> bool {
        draw.dice < self.loss(draw.now)
    }
}
