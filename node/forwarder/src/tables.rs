//! What the plane's tables hold, a page at a time: MAC addresses of bridge domains, hits of
//! filters.

use crate::params::{Params, mac, number};
use nodes::program::BridgeMember;
use plane_control::KnownMac;
use plane_control::Plane;
use question::{Named, Page, rows};

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: u64 = 1_000;
const ROWS: u64 = 100;
/// Places of the table of MAC addresses that one question looks at, at most.
const PLACES_MAX: usize = 1 << 16;

rows! {
    /// A MAC address of a bridge domain.
    pub struct MacRow {
        bridge: Named,
        mac: String,
        /// `learnt`, `frozen` or `static`.
        state: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        interface: Option<Named>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pseudowire: Option<Named>,
        #[serde(skip_serializing_if = "Option::is_none")]
        idle_s: Option<u64>,
    }

    /// What a rule of a filter matched.
    pub struct HitRow {
        filter: Named,
        /// Its place, from 0; null: what no rule matched.
        rule: Option<usize>,
        packets: u64,
        octets: u64,
    }
}

/// Which rows of a list are asked for.
struct Wanted<T> {
    skip: u64,
    limit: u64,
    /// Rows that were passed.
    passed: u64,
    rows: Vec<T>,
}

impl<T> Wanted<T> {
    fn of(params: &Params) -> Result<Self, String> {
        let skip = number(params, "skip")?.unwrap_or(0);
        let limit = number(params, "limit")?.unwrap_or(ROWS).min(ROWS_MAX);
        Ok(Self { skip, limit, passed: 0, rows: Vec::new() })
    }

    /// Takes the row if it is on the page, and counts it in any case.
    fn pass(&mut self, row: impl FnOnce() -> T) {
        if self.passed >= self.skip && self.passed - self.skip < self.limit {
            self.rows.push(row());
        }
        self.passed += 1;
    }

    /// The page: `total` of all pages, and where the next one begins, if there is one.
    fn page(self) -> Result<Page<T>, String> {
        let end = self.skip.saturating_add(self.limit);
        let next = (self.limit > 0 && end < self.passed).then_some(end);
        let place = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Page { rows: self.rows, next: next.map(place), total: Some(place(self.passed)) })
    }
}

/// MAC addresses, those of one `bridge` or all, from place `skip` of the table on: no question
/// looks at all of it, for while it does nothing else is done.
pub(crate) fn macs(plane: &Plane, params: &Params) -> Result<Page<MacRow>, String> {
    let bridge = number(params, "bridge")?;
    let Wanted { skip, limit, mut rows, .. } = Wanted::of(params)?;
    let from = usize::try_from(skip).unwrap_or(usize::MAX);
    let mut left = limit;
    let next = plane.walk_macs(from, PLACES_MAX, |known| {
        if bridge.is_some_and(|bridge| bridge != u64::from(known.bridge)) {
            return true;
        }
        if left == 0 {
            return false;
        }
        left -= 1;
        rows.push(row(&known));
        true
    });
    let total = bridge.map(|bridge| plane.macs(u32::try_from(bridge).unwrap_or(u32::MAX)));
    Ok(Page { rows, next, total: total.and_then(|it| usize::try_from(it).ok()) })
}

fn row(known: &KnownMac) -> MacRow {
    let KnownMac { bridge, member, entry, idle_s, .. } = *known;
    let state = match (entry.is_static(), entry.is_frozen()) {
        (true, _) => "static",
        (_, true) => "frozen",
        _ => "learnt",
    };
    let (interface, pseudowire) = match member {
        BridgeMember::Interface(number) => (Some(number.into()), None),
        BridgeMember::Pseudowire(number) => (None, Some(number.into())),
    };
    let idle_s = (!entry.is_static()).then_some(idle_s.into());
    MacRow { bridge: bridge.into(), mac: mac(known.mac), state, interface, pseudowire, idle_s }
}

/// Packets and octets of each rule, by its place in its filter from 0; null for those that no rule
/// of the filter matched.
pub(crate) fn filters(plane: &Plane, params: &Params) -> Result<Page<HitRow>, String> {
    let filter = number(params, "filter")?;
    let mut page = Wanted::of(params)?;
    for number in plane.filters() {
        if filter.is_some_and(|filter| filter != u64::from(number)) {
            continue;
        }
        let counted = plane.filter_counters(number).unwrap_or_default();
        let rules = counted.len().saturating_sub(1);
        for (at, (packets, octets)) in counted.into_iter().enumerate() {
            let rule = (at < rules).then_some(at);
            page.pass(|| HitRow { filter: number.into(), rule, packets, octets });
        }
    }
    page.page()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(skip: &str, limit: &str, all: u64) -> serde_json::Value {
        let params = [("skip", skip), ("limit", limit)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let mut page = Wanted::of(&params).unwrap();
        (0..all).for_each(|n| page.pass(|| n));
        question::value(page.page().unwrap())
    }

    #[test]
    fn pages_tell_their_rows_the_next_one_and_how_many_there_are() {
        assert_eq!(page("0", "2", 5), json!({ "rows": [0, 1], "next": 2, "total": 5 }));
        assert_eq!(page("4", "2", 5), json!({ "rows": [4], "next": null, "total": 5 }));
        assert_eq!(page("9", "2", 5), json!({ "rows": [], "next": null, "total": 5 }));
        assert_eq!(page("0", "0", 5), json!({ "rows": [], "next": null, "total": 5 }));
        let most = page("18446744073709551615", "99999", 2_000);
        assert_eq!(most, json!({ "rows": [], "next": null, "total": 2_000 }));
        assert_eq!(page("0", "99999", 2_000)["next"], ROWS_MAX);
        assert!(Wanted::<u64>::of(&[("skip".to_owned(), "x".to_owned())]).is_err());
    }
}
