//! Caches of validated prefixes, and what they say, as they are shown.

use super::Answer;
use super::routes::{key_of, prefix, wrong};
use crate::origins::{Cache, Origins};
use bgp::codec::Asn;
use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use machine::Time;
use rpki::Phase;
use runtime::Ask;
use serde_json::{Value, json};
use std::net::IpAddr;

/// Records that are shown of one prefix at most.
const RECORDS_MAX: usize = 256;

/// A record that covers a prefix.
fn row(prefix: String, max: u8, asn: Asn, state: &str) -> Value {
    json!({ "prefix": prefix, "max_length": max, "asn": asn, "state": state })
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
    pub(super) fn show(&self, now: Time) -> Value {
        let records = self.records.lock();
        let client = &records.client;
        let (ipv4, ipv6) = client.table().len();
        let expires = client.expires().map(|at| at.since(now).as_secs());
        let rows = self.caches.iter().zip(client.status()).enumerate();
        let row = |(n, (cache, status)): (usize, (&Cache, rpki::Status))| {
            let is_source = client.source().is_some_and(|it| usize::from(it.0) == n);
            let own = |value: Value| if is_source { value } else { Value::Null };
            json!({
                "cache": cache.target.remote.to_string(),
                "state": phase(status.phase),
                "source": is_source,
                "version": status.version.number(),
                "session": status.known.map(|(session, _)| session),
                "serial": status.known.map(|(_, serial)| serial),
                "ipv4": own(ipv4.into()),
                "ipv6": own(ipv6.into()),
                "router_keys": own(client.router_keys().len().into()),
                "refresh_s": status.intervals.refresh_s,
                "expires_s": own(expires.into()),
                "failures": status.failures,
                "why": cache.ending.as_ref().filter(|_| status.failures > 0).map(|it| &it.text),
            })
        };
        rows.map(row).collect()
    }

    /// The records that cover a prefix, and whether they let an AS announce it.
    pub(super) fn show_covering(&self, ask: &Ask) -> Answer {
        let asked = ask.params.get("prefix").and_then(|text| prefix(text));
        let (address, length) = asked.ok_or_else(|| wrong("prefix: a prefix, as 10.0.0.0/8"))?;
        let asn = ask.params.get("asn").map(|text| text.parse::<Asn>());
        let asn = asn.transpose().map_err(|_| wrong("asn: a number"))?;
        let key = key_of(address, length).ok_or_else(|| wrong("prefix: a prefix"))?;
        let records = self.records.lock();
        let table = records.client.table();
        let rows: Vec<Value> = match address {
            IpAddr::V4(_) => {
                let Some((prefix, _)) = Ipv4Prefix::read(&key) else { return Ok(json!([])) };
                let state = asn.map_or("", |it| table.validate_ipv4(prefix, Some(it)).name());
                let all = table.covering_ipv4(prefix).take(RECORDS_MAX);
                all.map(|it| row(it.prefix.to_string(), it.max, it.asn, state)).collect()
            }
            IpAddr::V6(_) => {
                let Some((prefix, _)) = Ipv6Prefix::read(&key) else { return Ok(json!([])) };
                let state = asn.map_or("", |it| table.validate_ipv6(prefix, Some(it)).name());
                let all = table.covering_ipv6(prefix).take(RECORDS_MAX);
                all.map(|it| row(it.prefix.to_string(), it.max, it.asn, state)).collect()
            }
        };
        Ok(Value::Array(rows))
    }
}
