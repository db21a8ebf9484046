//! The shield: who may speak to us at all, decided before a message is parsed.
//!
//! [`policing`] does the policing; here stands who is known: far ends of trusted realms,
//! next hops, registered contacts (by the flow they registered from), and the site's own list.

pub(crate) mod challenge;
pub(crate) mod kernel;

use crate::Controller;
use crate::ask::rows::{BlacklistRow, ClearedRow, FloodRow, PolicingRow};
use crate::config::Ssc;
use crate::facts::Fact;
use machine::Time;
use policing::{Policer, Rules, Source, Verdict};
use question::Condition;
use runtime::{Ask, AskError, Effects, Flow};
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

/// A shield as the configuration wants it.
pub(crate) fn policer(config: &Ssc, hops: &NextHops, secret: [u64; 2], now: Time) -> Policer {
    let mut policer = Policer::new(rules(config), secret, now);
    know(&mut policer, hops);
    policer
}

fn rules(config: &Ssc) -> Rules {
    let rate = config.challenge_rate();
    let challenge = (rate > 0).then_some((REGISTER, rate));
    Rules { challenge, ..config.shield.rules(config.known_for()) }
}

/// The addresses of all next hops pass.
pub(crate) fn know(policer: &mut Policer, hops: &NextHops) {
    let endpoints = hops.rows().iter().flat_map(|hop| &hop.endpoints);
    policer.know(endpoints.map(|endpoint| endpoint.flow.remote.ip()));
}

impl Controller {
    /// Whether a message is looked at; what is refused is counted.
    pub(crate) fn is_admitted(
        &mut self,
        now: Time,
        flow: &Flow,
        realm: RealmId,
        bytes: &[u8],
        out: &mut Effects,
    ) -> bool {
        if self.border.realms.row(realm).trusted {
            return true;
        }
        let registrar = &self.registrar;
        let is_known = || !registrar.is_empty() && registrar.by_source(flow).next().is_some();
        let kind = kind(bytes);
        let fact = match (self.policer.admit(now, source(flow), kind, is_known), kind) {
            (Verdict::Pass, _) => return true,
            (Verdict::Unproven, _) => return self.proves(now, flow, realm, bytes, out),
            (Verdict::Blacklisted, _) => Fact::ShieldBlacklisted,
            (Verdict::Excess | Verdict::Crowded, 1) => Fact::ShieldInvites,
            (Verdict::Excess | Verdict::Crowded, 2) => Fact::ShieldRegisters,
            (Verdict::Excess | Verdict::Crowded, _) => Fact::ShieldOthers,
        };
        self.egress.facts.add(fact, 1);
        false
    }

    /// A message could not be read: that counts against its source.
    pub(crate) fn offended(&mut self, now: Time, flow: &Flow) {
        let trusted = self
            .border
            .realms
            .door(flow.port)
            .map(|door| self.border.realms.row(door.realm).trusted);
        if trusted != Some(false) {
            return;
        }
        let registrar = &self.registrar;
        let is_known = || registrar.by_source(flow).next().is_some();
        self.policer.malformed(now, source(flow), is_known);
    }

    /// Next hops changed, or the configuration did.
    pub(crate) fn reshield(&mut self, now: Time) {
        let secret = [self.random(), self.random()];
        let rules = rules(&self.config);
        self.policer.configure(rules, secret, now);
        know(&mut self.policer, &self.border.hops);
    }

    /// `shield`: what it does now, a row a shard.
    pub(crate) fn show_policing(&mut self, now: Time) -> PolicingRow {
        let flood = self.policer.flood(now).map(|flood| FloodRow {
            kind: KINDS[flood.kind.min(KINDS.len() - 1)],
            recognised_at_us: flood.since.as_micros(),
            refused: flood.count,
            peak_per_s: flood.peak_per_s,
        });
        PolicingRow {
            shard: self.shard,
            flood,
            floods: self.policer.floods(),
            sources: self.policer.remembered(),
            table_bytes: self.policer.table_bytes(),
            blacklisted: self.policer.blacklisted(now).count(),
        }
    }

    /// `blacklist`: who is on it and why.
    pub(crate) fn show_blacklist(&self, now: Time) -> Vec<BlacklistRow> {
        let rows = self.policer.blacklisted(now).take(ROWS_MAX).map(|row| BlacklistRow {
            shard: self.shard,
            address: row.address.to_string(),
            reason: row.offence.words(),
            count: row.count,
            refused: row.refused,
            since_us: row.since.as_micros(),
            last_us: row.last.as_micros(),
            until_us: row.until.as_micros(),
        });
        rows.collect()
    }

    /// `blacklist/clear`: takes one address, or all, off the blacklist.
    pub(crate) fn clear_blacklist(&mut self, ask: &Ask) -> Result<Vec<ClearedRow>, AskError> {
        let address = match ask.params.get("address").map(|text| text.parse::<IpAddr>()) {
            None => None,
            Some(Ok(address)) => Some(address),
            Some(Err(_)) => return Err(AskError::BadParameter("address is an IP address".into())),
        };
        let cleared = self.policer.pardon(address);
        Ok(vec![ClearedRow { shard: self.shard, cleared }])
    }

    /// The alarm of a flood that goes on.
    pub(crate) fn flood_alarm(&mut self, now: Time) -> Option<Condition> {
        let flood = self.policer.flood(now)?;
        let kind = KINDS[flood.kind.min(KINDS.len() - 1)];
        let peak = flood.peak_per_s;
        let text =
            format!("a flood of {kind} from unknown sources is refused, up to {peak} a second");
        let row = Condition::new("flood", kind, "major", text);
        Some(row.caused_by("denial-of-service"))
    }

    /// Brings the shield's gauges up to date.
    pub(crate) fn policing_gauges(&self, now: Time) {
        let facts = &self.egress.facts;
        facts.set(Fact::ShieldBlacklist, self.policer.blacklisted(now).count() as u64);
        facts.set(Fact::ShieldSources, self.policer.remembered() as u64);
        facts.set(Fact::ShieldFloods, self.policer.floods());
    }
}
