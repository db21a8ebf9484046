//! Caches of validated prefixes, and what they say, as they are shown.

use super::Answer;
use crate::origins::{Cache, Origins};
use bgp::codec::Asn;
use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use bgp_stack::ask::{key_of, prefix, wrong};
use machine::Time;
use question::rows;
use rpki::Phase;
use runtime::Ask;
use std::net::IpAddr;

/// Records that are shown of one prefix at most.
const RECORDS_MAX: usize = 256;

rows! {
    /// A record that covers a prefix.
    pub(crate) struct OriginRow {
        prefix: String,
        max_length: u8,
        asn: Asn,
        /// `valid`, `invalid` or `not-found` for the AS that is asked for; empty without one.
        state: &'static str,
    }

    /// A cache of validated prefixes.
    pub(crate) struct CacheRow {
        cache: String,
        state: &'static str,
        /// Whether its records are the ones in use.
        source: bool,
        version: u8,
        session: Option<u16>,
        serial: Option<u32>,
        ipv4: Option<usize>,
        ipv6: Option<usize>,
        router_keys: Option<usize>,
        refresh_s: u32,
        expires_s: Option<u64>,
        failures: u32,
        why: Option<String>,
    }
}

fn row(prefix: String, max: u8, asn: Asn, state: &'static str) -> OriginRow {
    OriginRow { prefix, max_length: max, asn, state }
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Connecting => "connecting",
        Phase::Asked => "asked",
        Phase::Loading => "loading",
        Phase::Synchronised => "synchronised",
    }
}

impl Origins {
    /// A row for each cache, the most preferred first.
    pub(super) fn show(&self, now: Time) -> Vec<CacheRow> {
        let records = self.records.lock();
        let client = &records.client;
        let (ipv4, ipv6) = client.table().len();
        let expires = client.expires().map(|at| at.since(now).as_secs());
        let rows = self.caches.iter().zip(client.status()).enumerate();
        let row = |(n, (cache, status)): (usize, (&Cache, rpki::Status))| {
            let is_source = client.source().is_some_and(|it| usize::from(it.0) == n);
            CacheRow {
                cache: cache.target.remote.to_string(),
                state: phase(status.phase),
                source: is_source,
                version: status.version.number(),
                session: status.known.map(|(session, _)| session),
                serial: status.known.map(|(_, serial)| serial),
                ipv4: is_source.then_some(ipv4),
                ipv6: is_source.then_some(ipv6),
                router_keys: is_source.then(|| client.router_keys().len()),
                refresh_s: status.intervals.refresh_s,
                expires_s: expires.filter(|_| is_source),
                failures: status.failures,
                why: cache
                    .ending
                    .as_ref()
                    .filter(|_| status.failures > 0)
                    .map(|it| it.text.to_string()),
            }
        };
        rows.map(row).collect()
    }

    /// The records that cover a prefix, and whether they let an AS announce it.
    pub(super) fn show_covering(&self, ask: &Ask) -> Answer<Vec<OriginRow>> {
        let asked = ask.params.get("prefix").and_then(|text| prefix(text));
        let (address, length) = asked.ok_or_else(|| wrong("prefix: a prefix, as 10.0.0.0/8"))?;
        let asn = ask.params.get("asn").map(|text| text.parse::<Asn>());
        let asn = asn.transpose().map_err(|_| wrong("asn: a number"))?;
        let key = key_of(address, length).ok_or_else(|| wrong("prefix: a prefix"))?;
        let records = self.records.lock();
        let table = records.client.table();
        let rows = match address {
            IpAddr::V4(_) => {
                let Some((prefix, _)) = Ipv4Prefix::read(&key) else { return Ok(Vec::new()) };
                let state = asn.map_or("", |it| table.validate_ipv4(prefix, Some(it)).name());
                let all = table.covering_ipv4(prefix).take(RECORDS_MAX);
                all.map(|it| row(it.prefix.to_string(), it.max, it.asn, state)).collect()
            }
            IpAddr::V6(_) => {
                let Some((prefix, _)) = Ipv6Prefix::read(&key) else { return Ok(Vec::new()) };
                let state = asn.map_or("", |it| table.validate_ipv6(prefix, Some(it)).name());
                let all = table.covering_ipv6(prefix).take(RECORDS_MAX);
                all.map(|it| row(it.prefix.to_string(), it.max, it.asn, state)).collect()
            }
        };
        Ok(rows)
    }
}
