//! `sbc`: real SIP calls, placed by SIPp, cross a session border controller and are shown in its
//! console; the service assurance is asked for each of them by its Call-ID.

mod calls;
mod stage;

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use calls::{Calls, KINDS, REGISTRATIONS};
use peers::{Sipp, SippCounts, SippSpec};
use serde_json::Value;
use stage::Stage;
use std::fs;
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub(crate) const SCENE: Scene = Scene {
    name: "sbc",
    line: "SIP calls through the session border controller, each a ladder in the console",
    about: &[
        "SIPp plays both sides: subscribers who register and call, and the network behind.",
        "The SSC hides one from the other, applies header rules, and captures every message of",
        "both legs; the SAS makes one trail a call of them.",
    ],
    set,
};

/// Longest time for the calls of one kind.
const CALLS_MAX: Duration = Duration::from_secs(90);
/// Longest time until the SAS shows what has happened.
const SHOWN_MAX: Duration = Duration::from_secs(60);
/// Between two questions to the SAS.
const POLL: Duration = Duration::from_millis(200);
/// A turn of what goes on.
const TURN: Duration = Duration::from_secs(1);
const WIDTH: usize = 36;
/// The last octet of the address that the calls which go on come from, less 100.
const LIVE: u8 = 50;

/// What became of the calls of one kind.
struct Played {
    calls: Calls,
    host: IpAddr,
    counts: SippCounts,
    errors: String,
    /// Trails that the SAS has, of those that were asked for.
    shown: Vec<Option<Value>>,
}

impl Played {
    /// Calls that the SAS shows with the outcome they had.
    fn right(&self) -> u64 {
        let right = |trail: &&Value| trail["outcome"] == self.calls.outcome;
        self.shown.iter().flatten().filter(right).count() as u64
    }

    fn went_well(&self) -> bool {
        let calls = self.calls.calls;
        (self.counts.succeeded, self.counts.failed) == (calls, 0) && self.right() == calls
    }

    fn median_delay_ms(&self) -> Option<u64> {
        let trails = self.shown.iter().flatten();
        let mut delays: Vec<u64> =
            trails.filter_map(|trail| trail["post_dial_delay_ms"].as_u64()).collect();
        delays.sort_unstable();
        delays.get(delays.len() / 2).copied()
    }
}

/// A line of an INVITE before and after the SSC.
type Change = (String, String);

struct Sbc {
    place: Place,
    stage: Stage,
    played: Vec<Played>,
    elapsed: Duration,
    changes: usize,
    /// Calls that go on.
    live: Option<Sipp>,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let stage = Stage::set(place)?;
    let (place, played, elapsed) = (place.clone(), Vec::new(), Duration::ZERO);
    Ok(Box::new(Sbc { place, stage, played, elapsed, changes: 0, live: None }))
}

impl Play for Sbc {
    fn programme(&self) -> Programme {
        let stage::Addresses { access, core, network, collector, .. } = &self.stage.addresses;
        Programme {
            look: "the list of calls: open one, and its ladder with both legs is drawn".into(),
            tries: &[
                ["calls", "calls that stand"],
                ["trails --outcome busy", "calls that met a busy line"],
                ["trails +49302000101", "calls of a number"],
                ["registrations", "who is registered"],
                ["rules", "header rules, and how often each applied"],
            ],
            ..Programme::default()
        }
        .with("SSC", "session border controller, `tandem run`", format_args!("{access} ⇄ {core}"))
        .with("SAS", "service assurance, the same site", collector)
        .with("subscribers", "SIPp", "127.0.0.100 …")
        .with("softswitch, registrar", "SIPp", network)
    }

    fn console(&self) -> String {
        self.stage.site.console_at("/calls")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let begun = Instant::now();
        screen.event(&format!("{} subscribers register", REGISTRATIONS.calls))?;
        self.played = self.play(&[REGISTRATIONS], 0)?;
        let calls: u64 = KINDS.iter().map(|kind| kind.calls).sum();
        screen.event(&format!("{calls} calls of {} kinds, side by side", KINDS.len()))?;
        let played = self.play(KINDS, 1)?;
        self.played.extend(played);
        self.elapsed = begun.elapsed();
        screen.event("the SAS is asked for each by its Call-ID")?;
        self.look_up()?;
        self.table(screen)?;
        let rules = self.rules_applied()?;
        self.tell_rules(screen, &rules)?;
        self.changes = rules.map_or(0, |changes| changes.len());
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "a call a second goes on"
    }

    fn go_on(&mut self, _: &mut Screen) -> anyhow::Result<()> {
        if self.live.is_none() {
            let mut spec = self.subscriber(&Calls { name: "live", ..KINDS[0] }, LIVE)?;
            (spec.calls, spec.rate) = (None, 1.0);
            self.live = Some(Sipp::start(&spec, &self.place.directory)?);
        }
        self.place.pause(TURN);
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let played = &self.played;
        let well = played.iter().filter(|one| one.went_well()).map(|one| one.calls.calls).sum();
        let calls = played.iter().map(|one| one.calls.calls).sum();
        let trails = played.iter().flat_map(|one| one.shown.iter().flatten());
        let messages = trails.filter_map(|trail| trail["messages"].as_u64()).sum();
        let again: u64 = played.iter().map(|one| one.counts.retransmissions).sum();
        let what = "calls and registrations right, in SIPp and in the SAS";
        let elapsed = format!("in {:.1} s", self.elapsed.as_secs_f64());
        let ruled = stage::RULED.len() as u64;
        let mut figures = vec![
            Figure::all(well, calls, what).noting(elapsed),
            Figure::some(messages, "messages in the trails of the SAS")
                .noting(format_args!("{again} sent again by SIPp")),
            Figure::all(self.changes as u64, ruled, "headers as the rules make them"),
        ];
        if let Some(live) = &mut self.live {
            let counts = live.counts().unwrap_or_default();
            let failed = format_args!("{} failed", counts.failed).to_string();
            figures.push(Figure::some(counts.succeeded, "calls since").noting(failed));
        }
        Ok(figures)
    }

    fn logs(&self) -> Vec<(String, String)> {
        let Stage { site, network, .. } = &self.stage;
        vec![("tandem".into(), site.log_end()), ("network side".into(), network.log_end())]
    }
}

impl Sbc {
    /// Places calls of some kinds at the same time, each from an address of its own, and waits for
    /// their ends.
    fn play(&self, kinds: &[Calls], first: u8) -> anyhow::Result<Vec<Played>> {
        let mut running = Vec::new();
        for (number, calls) in (first..).zip(kinds) {
            let spec = self.subscriber(calls, number)?;
            let host = spec.local.ip();
            running.push((*calls, host, Sipp::start(&spec, &self.place.directory)?));
        }
        let until = Instant::now() + CALLS_MAX;
        let mut played = Vec::new();
        for (calls, host, mut sipp) in running {
            let left = until.saturating_duration_since(Instant::now());
            self.place.until(left, || Ok(sipp.ended()?.is_some()))?;
            sipp.stop();
            let counts = sipp.counts().unwrap_or_default();
            let errors = sipp.errors();
            played.push(Played { calls, host, counts, errors, shown: Vec::new() });
        }
        Ok(played)
    }

    fn subscriber(&self, calls: &Calls, number: u8) -> anyhow::Result<SippSpec> {
        let file = self.place.directory.join(format!("{}.xml", calls.name));
        fs::write(&file, calls.scenario)?;
        let local = self.place.address([127, 0, 0, 100 + number], 5060)?;
        let mut spec = SippSpec::new(calls.name, &file.display().to_string(), local);
        spec.remote = Some(self.stage.addresses.access);
        (spec.calls, spec.rate) = (Some(calls.calls), calls.rate);
        spec.arguments = vec!["-cid_str".into(), format!("{}-%u@%s", calls.name)];
        Ok(spec)
    }

    /// Asks the SAS for every call by its Call-ID until all are there with their outcome.
    fn look_up(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + SHOWN_MAX;
        while Instant::now() < until && !self.place.is_over() {
            for one in self.played.iter_mut().filter(|one| one.right() < one.calls.calls) {
                let ids = (1..=one.calls.calls).map(|n| one.calls.call_id(n, one.host));
                let trails = ids.map(|id| self.stage.site.trail(&id));
                one.shown = trails.collect::<Result<_, _>>()?;
            }
            if self.played.iter().all(|one| one.right() == one.calls.calls) {
                return Ok(());
            }
            self.place.pause(POLL);
        }
        Ok(())
    }

    /// What the header rules of the site did to the call made for them; else what is missing.
    fn rules_applied(&self) -> anyhow::Result<Result<Vec<Change>, String>> {
        let trail = self.played.iter().find(|one| one.calls.name == "rules");
        let trail = trail.and_then(|one| one.shown.first()).and_then(Option::as_ref);
        let Some(id) = trail.map(|trail| trail["id"].clone()) else {
            return Ok(Err("the SAS does not show the call".into()));
        };
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let detail = self.stage.site.get(&format!("sas/trails/{id}"))?;
        let messages = detail["messages"].as_array().cloned().unwrap_or_default();
        let invites: Vec<&str> = messages
            .iter()
            .filter(|m| m["method"] == "INVITE" && m["status"].is_null())
            .filter_map(|m| m["text"].as_str())
            .collect();
        let [before, after, ..] = invites[..] else {
            return Ok(Err(format!("{} INVITEs where both legs have one", invites.len())));
        };
        Ok(stage::changes(before, after))
    }

    /// The table of what happened.
    fn table(&self, screen: &Screen) -> anyhow::Result<()> {
        let head = format!("{:<WIDTH$} {:>6} {:>8} {:>8}", "", "calls", "SIPp ok", "in SAS");
        screen.line(&format!("\n  {}", screen.dim(&head)))?;
        for one in &self.played {
            let Calls { title, calls, .. } = one.calls;
            let (ok, shown) = (one.counts.succeeded, one.right());
            let verdict = screen.verdict(one.went_well());
            let numbers = format!("{title:<WIDTH$} {calls:>6} {ok:>8} {shown:>8}");
            let delay = one.median_delay_ms().map(|ms| format!("post-dial delay {ms} ms"));
            let delay = screen.dim(&delay.unwrap_or_default());
            screen.line(&format!("  {numbers}  {verdict} {delay}"))?;
            tell_why(screen, one)?;
        }
        Ok(())
    }

    /// What the header rules changed.
    fn tell_rules(
        &self,
        screen: &Screen,
        changes: &Result<Vec<Change>, String>,
    ) -> anyhow::Result<()> {
        screen.line("\n  header rules, the same INVITE before and after the SSC:")?;
        let changes = match changes {
            Ok(changes) => changes,
            Err(why) => return Ok(screen.line(&format!("    {} {why}", screen.verdict(false)))?),
        };
        for (before, after) in changes {
            let or_nothing =
                |line: &str| if line.is_empty() { "(nothing)" } else { line }.to_owned();
            let before = screen.paint("31", &or_nothing(before));
            let after = screen.paint("32", &or_nothing(after));
            screen.line(&format!("    {before} → {after}"))?;
        }
        Ok(())
    }
}

/// Why calls did not go well.
fn tell_why(screen: &Screen, one: &Played) -> anyhow::Result<()> {
    if one.went_well() {
        return Ok(());
    }
    let missing = one.shown.iter().filter(|trail| trail.is_none()).count();
    let wrong = one.shown.iter().flatten().find(|t| t["outcome"] != one.calls.outcome);
    let told = wrong.map(|trail| format!("; the SAS says {}", trail["outcome"]));
    let (failed, told) = (one.counts.failed, told.unwrap_or_default());
    screen.line(&format!("      {failed} failed in SIPp, {missing} not in the SAS{told}"))?;
    for line in one.errors.lines().take(6) {
        screen.line(&format!("      {}", screen.dim(line)))?;
    }
    Ok(())
}
