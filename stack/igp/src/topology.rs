//! Topologies for people to see: nodes and links of each area and level, what changed of them, and
//! the paths between two routers.

use crate::around::Protocol;
use crate::ask::protocol;
use crate::history::{Changes, History};
use crate::router::Router;
use crate::rows::{IgpChangeRow, IgpEdgeRow, IgpPathRow, IgpTopologyRow, wrong};
use machine::Time;
use runtime::{Ask, AskError};
use std::collections::BTreeSet;

fn changes<K: Ord + Copy, S: Copy>(
    of: Protocol,
    history: &History<K, S>,
    now: Time,
) -> Vec<IgpChangeRow> {
    let mut rows = Vec::new();
    for Changes { at, run, of: all } in history.changes() {
        let areas: BTreeSet<&String> = all.iter().map(|it| &it.area).collect();
        for area in areas {
            let links = all.iter().filter(|it| it.area == *area).map(|it| IgpEdgeRow {
                from: it.from.clone(),
                to: it.to.clone(),
                before: it.before,
                after: it.after,
            });
            rows.push(IgpChangeRow {
                protocol: of.name(),
                area: area.clone(),
                run: *run,
                ago_ms: machine::narrow::millis(now.since(*at)),
                links: links.collect(),
            });
        }
    }
    rows
}

impl Router {
    /// The topologies, an area or a level a row.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn topology(&self, ask: &Ask) -> Result<Vec<IgpTopologyRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let watch = &self.watch;
        let ospf = ospf.flat_map(|it| it.topologies(watch));
        let all = ospf.chain(isis.flat_map(|it| it.topologies(watch)));
        Ok(all.filter(|row| area.is_none_or(|area| row.area == *area)).collect())
    }

    /// What runs of SPF saw change of the topologies, the oldest first.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn changes(&self, now: Time, ask: &Ask) -> Result<Vec<IgpChangeRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let ospf = ospf.flat_map(|it| changes(Protocol::Ospf, &it.history, now));
        let isis = isis.flat_map(|it| changes(Protocol::Isis, &it.history, now));
        let is_wanted = |row: &IgpChangeRow| area.is_none_or(|area| row.area == *area);
        Ok(ospf.chain(isis).filter(is_wanted).collect())
    }

    /// The paths between two routers, `from` and `to`, in each area and level that has both.
    ///
    /// # Errors
    /// A parameter that is missing or cannot be; a router that no topology has.
    pub fn paths(&self, ask: &Ask) -> Result<Vec<IgpPathRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let end = |key: &str| {
            let found = ask.params.get(key).map(String::as_str);
            found.ok_or_else(|| wrong(&format!("{key}: a router's number or name")))
        };
        let ends = [end("from")?, end("to")?];
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let ospf: Vec<IgpPathRow> = ospf.flat_map(|it| it.paths(ends)).collect();
        let all = ospf.into_iter().chain(isis.flat_map(|it| it.paths(ends)));
        let rows: Vec<IgpPathRow> =
            all.filter(|row| area.is_none_or(|area| row.area == *area)).collect();
        if rows.is_empty() {
            let [from, to] = ends;
            return Err(wrong(&format!("no area or level has a way from {from} to {to}")));
        }
        Ok(rows)
    }
}
