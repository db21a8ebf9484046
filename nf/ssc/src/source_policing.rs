//! The shield: who may speak to us at all, decided before a message is parsed.
//!
//! [`policing`] does the policing; here stands who is known: far ends of trusted realms,
//! next hops, registered contacts (by the flow they registered from), and the site's own list.

pub(crate) mod challenge;
pub(crate) mod kernel;

use crate::ask::rows::{BlacklistRow, ClearedRow, FloodRow, PolicingRow};
use crate::config::Ssc;
use crate::metrics::Metric;
use admission::Refused;
use challenge::Challenges;
use event::Metrics;
use kernel::allow_registered;
use machine::Time;
use policing::{Policer, Rules, Source, Verdict};
use question::Condition;
use registrar::Registrar;
use runtime::{Ask, AskError, Effects, Flow};
use sip_stack::border::Border;
use sip_stack::next_hop::NextHops;
use sip_stack::realm::RealmId;
use std::net::IpAddr;

/// Kinds of messages, by what they begin with.
const KINDS: [&str; 3] = ["other", "INVITE", "REGISTER"];
/// The one that may be challenged.
const REGISTER: usize = 2;
/// Rows of the blacklist that are shown.
const ROWS_MAX: usize = 1_000;

fn kind(bytes: &[u8]) -> usize {
    match bytes {
        [b'I', b'N', b'V', b'I', b'T', b'E', b' ', ..] => 1,
        [b'R', b'E', b'G', b'I', b'S', b'T', b'E', b'R', b' ', ..] => REGISTER,
        _ => 0,
    }
}

const fn source(flow: &Flow) -> Source {
    Source { address: flow.remote.ip(), is_proven: flow.transport.is_stream() }
}

fn rules(config: &Ssc) -> Rules {
    let rate = config.challenge_rate();
    let challenge = (rate > 0).then_some((REGISTER, rate));
    Rules { challenge, ..config.shield.rules(config.known_for()) }
}

/// The shield as one shard has it: its policing, and what is asked of those in a flood.
pub(crate) struct SourcePolicer {
    policer: Policer,
    challenges: Challenges,
}

/// A message before it is parsed.
pub(crate) struct Arriving<'a> {
    pub(crate) now: Time,
    pub(crate) flow: &'a Flow,
    pub(crate) realm: RealmId,
    pub(crate) bytes: &'a [u8],
}

/// What senders are known by, and what is counted and asked of them.
pub(crate) struct Context<'a> {
    pub(crate) border: &'a Border,
    pub(crate) registrar: &'a Registrar,
    /// Whose tags an answer before parsing bears.
    pub(crate) refused: &'a Refused,
    pub(crate) metrics: &'a Metrics<Metric>,
    /// The realm of our challenges, where one is configured.
    pub(crate) challenge_realm: Option<&'a str>,
}

impl SourcePolicer {
    /// As the configuration wants it; `secrets` are those of the challenges.
    pub(crate) fn new(
        config: &Ssc,
        hops: &NextHops,
        secret: [u64; 2],
        secrets: [u128; 2],
        now: Time,
    ) -> Self {
        let policer = Policer::new(rules(config), secret, now);
        let mut it = Self { policer, challenges: Challenges::new(secrets) };
        it.know(hops);
        it
    }

    /// The addresses of all next hops pass.
    pub(crate) fn know(&mut self, hops: &NextHops) {
        let endpoints = hops.rows().iter().flat_map(|hop| &hop.endpoints);
        self.policer.know(endpoints.map(|endpoint| endpoint.flow.remote.ip()));
    }

    /// Next hops changed, or the configuration did.
    pub(crate) fn configure(&mut self, config: &Ssc, hops: &NextHops, secret: [u64; 2], now: Time) {
        self.policer.configure(rules(config), secret, now);
        self.know(hops);
    }

    /// Who has registered from there passes.
    pub(crate) fn allow_source(&mut self, now: Time, address: IpAddr) {
        self.policer.allow_source(now, address);
    }

    /// This node serves from now on: everybody passes who is registered.
    pub(crate) fn take_over(&mut self, registrar: &Registrar, now: Time) {
        allow_registered(&mut self.policer, registrar, now);
    }

    /// Tells the kernel what has changed since this was asked last.
    pub(crate) fn report(&mut self, out: &mut Effects) {
        if self.policer.has_changes() {
            self.policer.report(&mut out.changes);
        }
    }

    /// Whether a message is looked at; what is refused is counted.
    pub(crate) fn is_admitted(
        &mut self,
        arriving: &Arriving<'_>,
        by: &Context<'_>,
        out: &mut Effects,
    ) -> bool {
        let &Arriving { now, flow, realm, bytes } = arriving;
        if by.border.realms.row(realm).trusted {
            return true;
        }
        let registrar = by.registrar;
        let is_known = || !registrar.is_empty() && registrar.by_source(flow).next().is_some();
        let kind = kind(bytes);
        let metric = match (self.policer.admit(now, source(flow), kind, is_known), kind) {
            (Verdict::Pass, _) => return true,
            (Verdict::Unproven, _) => return self.proves(arriving, by, out),
            (Verdict::Blacklisted, _) => Metric::ShieldBlacklisted,
            (Verdict::Excess | Verdict::Crowded, 1) => Metric::ShieldInvites,
            (Verdict::Excess | Verdict::Crowded, 2) => Metric::ShieldRegisters,
            (Verdict::Excess | Verdict::Crowded, _) => Metric::ShieldOthers,
        };
        by.metrics.add(metric, 1);
        false
    }

    /// A message could not be read: that counts against its source.
    pub(crate) fn malformed(
        &mut self,
        now: Time,
        flow: &Flow,
        border: &Border,
        registrar: &Registrar,
    ) {
        let realm =
            border.realms.listener(flow.port).map(|listener| border.realms.row(listener.realm));
        if realm.is_none_or(|realm| realm.trusted) {
            return;
        }
        let is_known = || registrar.by_source(flow).next().is_some();
        self.policer.malformed(now, source(flow), is_known);
    }

    /// `shield`: what it does now, a row a shard.
    pub(crate) fn show(&mut self, now: Time, shard: u16) -> PolicingRow {
        let flood = self.policer.flood(now).map(|flood| FloodRow {
            kind: KINDS[flood.kind.min(KINDS.len() - 1)],
            recognised_at_us: flood.since.as_micros(),
            refused: flood.count,
            peak_per_s: flood.peak_per_s,
        });
        PolicingRow {
            shard,
            flood,
            floods: self.policer.floods(),
            sources: self.policer.remembered(),
            table_bytes: self.policer.table_bytes(),
            blacklisted: self.policer.blacklisted(now).count(),
        }
    }

    /// `blacklist`: who is on it and why.
    pub(crate) fn blacklist(&self, now: Time, shard: u16) -> Vec<BlacklistRow> {
        let rows = self.policer.blacklisted(now).take(ROWS_MAX).map(|row| BlacklistRow {
            shard,
            address: row.address.to_string(),
            reason: row.violation.words(),
            count: row.count,
            refused: row.refused,
            since_us: row.since.as_micros(),
            last_us: row.last.as_micros(),
            until_us: row.until.as_micros(),
        });
        rows.collect()
    }

    /// `blacklist/clear`: takes one address, or all, off the blacklist.
    pub(crate) fn clear(&mut self, ask: &Ask, shard: u16) -> Result<Vec<ClearedRow>, AskError> {
        let address = match ask.params.get("address").map(|text| text.parse::<IpAddr>()) {
            None => None,
            Some(Ok(address)) => Some(address),
            Some(Err(_)) => return Err(AskError::BadParameter("address is an IP address".into())),
        };
        let cleared = self.policer.pardon(address);
        Ok(vec![ClearedRow { shard, cleared }])
    }

    /// The alarm of a flood that goes on.
    pub(crate) fn alarm(&mut self, now: Time) -> Option<Condition> {
        let flood = self.policer.flood(now)?;
        let kind = KINDS[flood.kind.min(KINDS.len() - 1)];
        let peak = flood.peak_per_s;
        let text =
            format!("a flood of {kind} from unknown sources is refused, up to {peak} a second");
        let row = Condition::new("flood", kind, "major", text);
        Some(row.caused_by("denial-of-service"))
    }

    /// Brings the shield's gauges up to date.
    pub(crate) fn gauges(&self, now: Time, metrics: &Metrics<Metric>) {
        metrics.set(Metric::ShieldBlacklist, self.policer.blacklisted(now).count() as u64);
        metrics.set(Metric::ShieldSources, self.policer.remembered() as u64);
        metrics.set(Metric::ShieldFloods, self.policer.floods());
    }
}
