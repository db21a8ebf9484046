//! `reflection-evpn`: 2,000 instances over 200 provider edges, each in four of them; every edge
//! feeds its MACs and gets those of the others, or with route-target constraint (RFC 4684) those of
//! its own instances only.

use super::setup::{Setup, Who, detail_of, peer};
use anyhow::Context;
use bgp::family::Family;
use bgp_load::{Convergence, Criterion, Evpn};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, PublishedRow, Table};
use serde_json::{Value, json};

const NAME: &str = "reflection-evpn";
const EVIS: usize = 2_000;
const SITES: usize = 4;
const CLIENTS: usize = 200;
const MACS: usize = 1_000_000;
const MOST_MACS: usize = 10_000_000;
const QUICK_MACS: usize = 100_000;

#[derive(Debug)]
struct Found {
    who: String,
    convergence: Convergence,
    detail: Value,
}

fn trial(
    who: Who,
    options: &Options,
    [clients, macs]: [usize; 2],
    is_constrained: bool,
) -> anyhow::Result<Found> {
    let families: &[Family] =
        if is_constrained { &[Family::Evpn, Family::RouteTarget] } else { &[Family::Evpn] };
    let mut stand = Setup::start(who, options, families, clients)?;
    stand.connect(0..clients)?;
    let (asn, cluster) = (stand.plan.asn, stand.plan.cluster);
    let evpn = Evpn { evis: EVIS, clients, sites: SITES, macs, asn, cluster };
    let feeds = evpn.prepare(&mut stand.field, is_constrained)?;
    stand.begin();
    let convergence = Evpn::feed(&mut stand.field, &feeds).with_context(|| stand.log_end())?;
    let cpu = stand.cpu();
    let standing_mb = stand.standing_mb()?;
    let detail = detail_of(&convergence, cpu, standing_mb);
    Ok(Found { who: stand.name(), convergence, detail })
}

/// Both reflectors, without constraint and with it.
struct All {
    /// Tandem without, with; the peer without, with.
    found: [Option<Found>; 4],
    why: [String; 4],
}

impl All {
    fn seconds(&self, at: usize) -> Option<f64> {
        self.found[at].as_ref().map(|found| found.convergence.seconds)
    }

    fn detail(&self) -> Value {
        let told = |at: usize| match &self.found[at] {
            Some(found) => found.detail.clone(),
            None => json!({ "why": self.why[at] }),
        };
        json!({
            "without": { "tandem": told(0), "peer": told(2) },
            "with": { "tandem": told(1), "peer": told(3) },
        })
    }

    fn peer(&self, at: usize, value: impl Fn(&Found) -> f64) -> Option<Peer> {
        let found = self.found[at + 2].as_ref()?;
        Some(Peer { name: found.who.clone(), value: value(found) })
    }
}

/// Runs it.
///
/// # Errors
/// When the peer that was asked for does not exist. A reflector that does not run is a row that
/// says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::router();
    let published = report.table(NAME).context("the published table is part of the program")?;
    let macs = options.reflection.macs.unwrap_or(if options.quick { QUICK_MACS } else { MACS });
    let clients = options.reflection.clients.first().copied().unwrap_or(CLIENTS);
    anyhow::ensure!(clients >= SITES, "at least {SITES} clients: each instance stands in so many");
    let mut whos = vec![Who::Tandem];
    whos.extend(peer(options)?.map(Who::Peer));
    let progress = Progress::new(NAME, 2 * whos.len() as u64);
    let mut all = All { found: [const { None }; 4], why: <[String; 4]>::default() };
    let mut broken = Vec::new();
    for (at, who) in whos.into_iter().enumerate() {
        for is_constrained in [false, true] {
            let place = 2 * at + usize::from(is_constrained);
            let word = if is_constrained { "with" } else { "without" };
            progress.say(&format!("{macs} MACs, {clients} clients, {word} constraint"));
            match trial(who, options, [clients, macs], is_constrained) {
                Ok(found) => {
                    let (rate, time) = (found.convergence.rate(), found.convergence.seconds);
                    progress.say(&format!("  {}: {rate:.0} updates/s, {time:.2} s", found.who));
                    all.found[place] = Some(found);
                }
                Err(error) => {
                    all.why[place] = format!("{error:#}");
                    if who == Who::Tandem {
                        broken.push(format!("{word} constraint: {error:#}"));
                    }
                }
            }
            progress.step();
        }
    }
    let bars = bars(&all);
    let is_full = macs >= MACS && clients == CLIENTS && !options.quick;
    if is_full {
        broken.extend(bars.iter().filter_map(Criterion::broken));
    }
    let wanted = published.rows.iter().filter(|row| options.wants(&row.scenario));
    let mut rows: Vec<_> =
        wanted.map(|row| row_of(row, published, &all, [clients, macs])).collect();
    for row in &mut rows {
        row.detail["bars"] = json!(bars);
        row.detail["bars_judged"] = json!(is_full);
        row.detail["priority"] = json!(priority.granted);
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn bars(all: &All) -> Vec<Criterion> {
    let mut bars = Vec::new();
    if let Some(found) = &all.found[0] {
        bars.push(Criterion::at_least(
            "updates/s without constraint",
            found.convergence.rate(),
            40e6,
        ));
    }
    if let (Some(without), Some(with)) = (all.seconds(0), all.seconds(1)) {
        bars.push(Criterion::at_most("seconds with constraint", with, without / 2.0));
    }
    bars
}

/// The rows in seconds have a value only where the size is theirs.
fn row_of(row: &PublishedRow, table: &Table, all: &All, [clients, macs]: [usize; 2]) -> Row {
    if row.value.is_none() {
        return table.absent(row, "the report shows a picture and no figure");
    }
    let name = row.scenario.as_str();
    let is_memory = name.ends_with("memory");
    let size = match name {
        "updates" => macs,
        name if name.starts_with("10 M") => MOST_MACS,
        _ => MACS,
    };
    let at = usize::from(name.ends_with("with route-target constraint"));
    if size != macs || (clients != CLIENTS && row.scenario != "updates") {
        let why = format!("this run has {macs} MACs and {clients} clients");
        return table.absent(row, &why);
    }
    let is_rate = name == "updates";
    let value = |found: &Found| match (is_rate, is_memory) {
        (true, _) => found.convergence.rate(),
        (_, true) => found.detail["standing_mb"].as_f64().unwrap_or(f64::NAN) / 1e3,
        _ => found.convergence.seconds,
    };
    let mut detail = all.detail();
    detail["macs"] = json!(macs);
    detail["clients"] = json!(clients);
    let seconds = |at: usize| all.seconds(at).map_or("-".into(), |it| format!("{it:.2}"));
    detail["note"] = json!(format!("with {} s, without {} s", seconds(1), seconds(0)));
    Row {
        scenario: row.scenario.clone(),
        unit: row.unit.clone().unwrap_or_else(|| table.unit.clone()),
        published: row.value,
        peer: all.peer(at, value),
        tandem: all.found[at].as_ref().map(value),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(seconds: f64) -> Option<Found> {
        let convergence =
            Convergence { seconds, updates: 200_000_000, clients: 200, ..Convergence::default() };
        let detail = json!({ "standing_mb": 300.0 });
        Some(Found { who: "Tandem".into(), convergence, detail })
    }

    #[test]
    fn rows_in_seconds_have_a_value_only_where_the_run_has_their_size() {
        let all = All { found: [found(4.0), found(1.5), None, None], why: Default::default() };
        let report = published::router();
        let table = report.table(NAME).unwrap();
        let values = |size: [usize; 2]| {
            let rows = table.rows.iter().map(|row| row_of(row, table, &all, size));
            rows.map(|row| (row.tandem, row.detail["why"].is_string())).collect::<Vec<_>>()
        };
        let absent = (None, true);
        let rate = (Some(50e6), false);
        let (with, without) = ((Some(1.5), false), (Some(4.0), false));
        let million = values([200, 1_000_000]);
        assert_eq!(million, [absent, absent, rate, absent, absent, with, without]);
        let fewer = values([200, 100_000]);
        assert_eq!(fewer, [absent, absent, rate, absent, absent, absent, absent]);
        let most = values([200, 10_000_000]);
        let memory = (Some(0.3), false);
        assert_eq!(most, [with, without, rate, memory, absent, absent, absent]);
        assert!(bars(&all).iter().all(|bar| bar.broken().is_none()));
    }
}
