//! Origin validation (RFC 6811): the caches, what they say of a route, and which routes are judged
//! again when that changes.
//!
//! ```text
//!   caches ─TCP─→ rpki::Client ─ Delta ─→ pending ─ a slice with each turn ─→ Rib::rejudge
//!                      └─ Table ←─ Validate, for policies with `match.validation`
//! ```

use crate::Reflector;
use crate::config::Rr;
use crate::metrics::Metric;
use bgp::codec::{AsPath, Asn, AttributeType, Attributes};
use bgp::family::{Family, Ipv4Prefix, Ipv6Prefix};
use bgp_stack::{Ending, Validate};
use machine::{Machine, Time};
use policy::Validation;
use rpki::{CacheId, Cause, Client, Delta, In, Indication, Out, Phase, Settings, Validity};
use runtime::{Effects, Flow};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Entries and paths that are judged again in one turn: the sockets are read between two.
const AGAIN_MAX: usize = 20_000;
/// Changes that wait to be gone over at most; more of them become one of everything.
const PENDING_MAX: usize = 16;
/// The families whose origins are validated (RFC 6811 §2).
const VALIDATED: [Family; 2] = [Family::Ipv4Unicast, Family::Ipv6Unicast];

/// What the caches say. Only one shard asks: nobody waits for the lock.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) client: Client,
    /// Without caches nobody says anything.
    has_caches: bool,
    /// Our AS: that of routes whose path is empty.
    asn: Asn,
}

/// The records, for the policies as well.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<Records>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said of a route; `None` without caches, and in families that are not validated.
    pub(crate) fn validity(
        &self,
        family: Family,
        key: &[u8],
        attributes: &[u8],
    ) -> Option<Validity> {
        let records = self.lock();
        if !records.has_caches {
            return None;
        }
        let path = Attributes::new(attributes).value(AttributeType::AsPath).unwrap_or_default();
        let path = AsPath::new(path, true);
        // RFC 6811 §2: a path without segments, or of the confederation only, begins here.
        let begins_here = path.segments().all(|segment| segment.kind.is_confederation());
        let origin = if begins_here { Some(records.asn) } else { path.origin() };
        let table = records.client.table();
        match family {
            Family::Ipv4Unicast => {
                Ipv4Prefix::read(key).map(|(prefix, _)| table.validate_ipv4(prefix, origin))
            }
            Family::Ipv6Unicast => {
                Ipv6Prefix::read(key).map(|(prefix, _)| table.validate_ipv6(prefix, origin))
            }
            _ => None,
        }
    }
}

impl Validate for Shared {
    fn validation(&self, family: Family, key: &[u8], attributes: &[u8]) -> Option<Validation> {
        Some(match self.validity(family, key, attributes)? {
            Validity::Valid => Validation::Valid,
            Validity::Invalid => Validation::Invalid,
            Validity::NotFound => Validation::NotFound,
        })
    }
}

/// A cache and the connection with it.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) target: Flow,
    pub(crate) flow: Option<Flow>,
    pub(crate) ending: Option<Ending>,
    /// It is to be connected as soon as the old connection is closed.
    is_awaited: bool,
}

/// A change of the records that is being gone over.
#[derive(Debug)]
struct Pending {
    delta: Delta,
    /// The family and the entry at which it stands.
    family: usize,
    from: usize,
}

/// The caches.
#[derive(Debug)]
pub(crate) struct Origins {
    pub(crate) records: Shared,
    pub(crate) caches: Vec<Cache>,
    /// The records expired, and no cache has come back since.
    pub(crate) has_expired: bool,
    pending: VecDeque<Pending>,
}

/// Caches are counted by an octet; the configuration has fewer.
fn octet(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

fn caches(config: &Rr) -> Vec<Cache> {
    let cache = |target| Cache { target, flow: None, ending: None, is_awaited: false };
    config.caches().iter().map(|it| cache(it.target())).collect()
}

impl Origins {
    pub(crate) fn new(config: &Rr) -> Self {
        let caches = caches(config);
        let client = Client::new(Settings::new(octet(caches.len())));
        let records = Records { client, has_caches: !caches.is_empty(), asn: config.asn };
        let records = Shared(Arc::new(Mutex::new(records)));
        Self { records, caches, has_expired: false, pending: VecDeque::new() }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.caches.iter().any(|cache| cache.is_awaited) {
            return Some(Time::ZERO);
        }
        self.records.lock().client.deadline()
    }

    fn of(&self, is_it: impl Fn(&Cache) -> bool) -> Option<CacheId> {
        self.caches.iter().position(is_it).map(|at| CacheId(octet(at)))
    }

    fn of_connection(&self, flow: &Flow) -> Option<CacheId> {
        self.of(|cache| cache.flow.is_some_and(|it| it.conn == flow.conn))
    }

    fn of_target(&self, flow: &Flow) -> Option<CacheId> {
        self.of(|cache| (cache.target.port, cache.target.remote) == (flow.port, flow.remote))
    }

    /// These prefixes are to be gone over.
    fn put(&mut self, delta: Delta) {
        if self.pending.len() < PENDING_MAX {
            return self.pending.push_back(Pending { delta, family: 0, from: 0 });
        }
        self.pending.clear();
        self.pending.push_back(Pending { delta: everything(), family: 0, from: 0 });
    }

    /// Caches that should answer and do not, those more preferred than the one that does; and
    /// whether there is such a one.
    pub(crate) fn lost(&self) -> (Vec<&Cache>, bool) {
        let status: Vec<_> = self.records.lock().client.status().collect();
        let answering = status.iter().position(|it| it.phase == Phase::Synchronised);
        let wanted = self.caches.iter().zip(&status).take(answering.unwrap_or(status.len()));
        let lost = wanted.filter(|(_, status)| status.failures > 0).map(|(cache, _)| cache);
        (lost.collect(), answering.is_some())
    }
}

/// Every prefix.
fn everything() -> Delta {
    Delta {
        ipv4: Ipv4Prefix::new(core::net::Ipv4Addr::UNSPECIFIED, 0).into_iter().collect(),
        ipv6: Ipv6Prefix::new(core::net::Ipv6Addr::UNSPECIFIED, 0).into_iter().collect(),
    }
}

impl Reflector {
    /// Tells the client of the caches something; what it wants is done.
    fn tell_caches(
        &mut self,
        now: Time,
        out: &mut Effects,
        tell: impl FnOnce(&mut Client, &mut Vec<Out>),
    ) {
        let mut outs = Vec::new();
        tell(&mut self.origins.records.lock().client, &mut outs);
        for wanted in outs {
            match wanted {
                Out::Connect(id) => self.reach_cache(id, out),
                Out::Send(id, octets) => {
                    let cache = self.origins.caches.get(usize::from(id.0));
                    if let Some(flow) = cache.and_then(|it| it.flow) {
                        out.send(flow, |buffer| buffer.extend_from_slice(&octets));
                    }
                }
                Out::Close(id) => {
                    let Some(cache) = self.origins.caches.get_mut(usize::from(id.0)) else {
                        continue;
                    };
                    out.close(cache.flow.take().unwrap_or(cache.target));
                    cache.is_awaited = false;
                }
                Out::Changed(delta) => {
                    self.origins.put(delta);
                    self.has_work = true;
                }
                Out::Indicate(indication) => self.cache_indicated(now, &indication),
            }
        }
    }

    fn reach_cache(&mut self, id: CacheId, out: &mut Effects) {
        let Some(cache) = self.origins.caches.get_mut(usize::from(id.0)) else { return };
        // Connections are opened before others are closed.
        let is_closing = out.closes.iter().any(|flow| flow.remote == cache.target.remote);
        cache.is_awaited = is_closing;
        if !is_closing {
            out.open(cache.target);
        }
    }

    fn cache_indicated(&mut self, now: Time, indication: &Indication) {
        match indication {
            Indication::Synchronised(..) => {
                self.metrics.add(Metric::CacheLoads, 1);
                self.origins.has_expired = false;
            }
            Indication::Failed(id, cause) => {
                self.metrics.add(Metric::CacheFailures, 1);
                let text = match cause {
                    // Told by the runtime, with its reason.
                    Cause::Lost => return,
                    Cause::Timeout => "it did not answer in time".to_owned(),
                    Cause::Reported(code, text) => format!("it reported error {code}: {text:?}"),
                    Cause::Offended(code, malformed) => {
                        format!("it offended: {malformed} (reported as {})", code.name())
                    }
                    Cause::Downgraded => "it speaks version 0 only".to_owned(),
                };
                self.note_cache(now, *id, text);
            }
            Indication::Expired => {
                self.metrics.add(Metric::CacheExpired, 1);
                self.origins.has_expired = true;
            }
        }
    }

    fn note_cache(&mut self, now: Time, id: CacheId, text: String) {
        if let Some(cache) = self.origins.caches.get_mut(usize::from(id.0)) {
            cache.ending = Some(Ending::new(now, text));
        }
    }

    /// A connection with a cache stands.
    pub(crate) fn cache_stands(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        let Some(id) = self.origins.of_target(&flow) else { return out.close(flow) };
        self.origins.caches[usize::from(id.0)].flow = Some(flow);
        self.tell_caches(now, out, |client, outs| client.step(now, In::Connected(id), outs));
    }

    /// One ended, or never stood.
    pub(crate) fn cache_lost(&mut self, now: Time, flow: &Flow, why: &str, out: &mut Effects) {
        let (id, input): (CacheId, fn(CacheId) -> In) =
            match (self.origins.of_connection(flow), self.origins.of_target(flow)) {
                (Some(id), _) => (id, In::Closed),
                (None, Some(id)) => (id, In::ConnectFailed),
                (None, None) => return,
            };
        self.origins.caches[usize::from(id.0)].flow = None;
        self.note_cache(now, id, why.to_owned());
        self.tell_caches(now, out, |client, outs| client.step(now, input(id), outs));
    }

    /// Whole PDUs came.
    pub(crate) fn cache_octets(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let Some(id) = self.origins.of_connection(flow) else { return };
        self.tell_caches(now, out, |client, outs| {
            client.receive(now, id, bytes, outs);
        });
    }

    /// Lets time pass for the caches.
    pub(crate) fn expire_caches(&mut self, now: Time, out: &mut Effects) {
        for cache in &mut self.origins.caches {
            if core::mem::take(&mut cache.is_awaited) {
                out.open(cache.target);
            }
        }
        let deadline = self.origins.records.lock().client.deadline();
        if deadline.is_some_and(|at| at <= now) {
            self.tell_caches(now, out, |client, outs| client.tick(now, outs));
        }
    }

    /// The caches shall be asked.
    pub(crate) fn start_caches(&mut self, now: Time, out: &mut Effects) {
        self.tell_caches(now, out, |client, outs| client.step(now, In::Start, outs));
    }

    /// Asks now, whatever was to be waited for.
    pub(crate) fn refresh_caches(&mut self, now: Time, out: &mut Effects) {
        self.tell_caches(now, out, |client, outs| client.step(now, In::Refresh, outs));
    }

    /// Other caches. What the old ones said counts until one of the new ones has answered, or
    /// until it expires.
    pub(crate) fn change_caches(&mut self, now: Time, old: &Rr, out: &mut Effects) {
        let config = Arc::clone(&self.config);
        self.origins.records.lock().asn = config.asn;
        if old.caches() == config.caches() {
            return;
        }
        for cache in core::mem::replace(&mut self.origins.caches, caches(&config)) {
            out.close(cache.flow.unwrap_or(cache.target));
        }
        let count = self.origins.caches.len();
        {
            let mut records = self.origins.records.lock();
            let mut client = Client::new(Settings::new(octet(count)));
            core::mem::swap(&mut client, &mut records.client);
            if count > 0 {
                records.client.inherit(client);
            }
            records.has_caches = count > 0;
        }
        // Whether there is anybody who says something has changed as well.
        if (count == 0) != old.rpki.is_empty() {
            self.origins.put(everything());
        }
        self.start_caches(now, out);
        self.has_work = true;
    }

    /// Goes on judging the routes that changes of the records concern.
    pub(crate) fn rejudge(&mut self, now: Time) {
        let Some(mut pending) = self.origins.pending.pop_front() else { return };
        let numbers = self.speaker.policies().validating();
        let exports =
            self.speaker.peers().iter().any(|(_, peer)| numbers.contains(&peer.policies[1]));
        let Some(&family) = VALIDATED.get(pending.family) else { return };
        let delta = &pending.delta;
        let concerns = |key: &[u8]| match family {
            Family::Ipv4Unicast => {
                Ipv4Prefix::read(key).is_some_and(|(prefix, _)| delta.concerns_ipv4(prefix))
            }
            _ => Ipv6Prefix::read(key).is_some_and(|(prefix, _)| delta.concerns_ipv6(prefix)),
        };
        let mut changed = Vec::new();
        let mut again = rib::Reevaluation {
            concerns: &concerns,
            imports: &numbers,
            exports,
            from: pending.from,
            changed: &mut |peer, path_id, key| changed.push((peer, path_id, key.to_vec())),
        };
        let has_any = !numbers.is_empty();
        let more = has_any && self.rib.rejudge(family, &mut again, AGAIN_MAX);
        pending.from = again.from;
        self.metrics.add(Metric::Rejudged, changed.len() as u64);
        if !more {
            (pending.family, pending.from) = (pending.family + 1, 0);
        }
        if pending.family < VALIDATED.len() {
            self.origins.pending.push_front(pending);
        }
        changed.sort_by_key(|(peer, ..)| *peer);
        self.tell_rejudged(now, family, &changed);
    }

    /// Whether routes wait to be judged again.
    pub(crate) fn is_rejudging(&self) -> bool {
        !self.origins.pending.is_empty()
    }
}
