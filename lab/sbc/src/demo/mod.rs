//! The demonstration: real SIP calls, placed by SIPp, cross a Tandem site and are shown in its
//! console.
//!
//! It starts the site and both sides of the network, plays the scenes, asks the SAS for every
//! call by its Call-ID, prints what happened, and leaves nothing behind.

mod print;
mod scenes;
mod stage;

use crate::demo::print::Printer;
use crate::demo::scenes::{CALLS, REGISTRATIONS, Scene};
use crate::demo::stage::Stage;
use anyhow::Context;
use peers::{Sipp, SippCounts, SippSpec};
use report::site::Site;
use serde_json::Value;
use std::fs;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longest time for the calls of one scene.
const SCENE_MAX: Duration = Duration::from_secs(40);
/// Longest time until the SAS shows what has happened.
const SHOWN_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(200);

/// How to demonstrate.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `tandem` binary.
    pub tandem: PathBuf,
    /// End by itself once the calls are shown, on a terminal too.
    pub once: bool,
}

/// What became of one scene.
struct Played {
    scene: Scene,
    host: IpAddr,
    counts: SippCounts,
    errors: String,
    /// Trails that the SAS has, of those that were asked for.
    shown: Vec<Option<Value>>,
}

impl Played {
    /// Calls that the SAS shows with the outcome they had.
    fn right(&self) -> u64 {
        let right = |trail: &&Value| trail["outcome"] == self.scene.outcome;
        self.shown.iter().flatten().filter(right).count() as u64
    }

    fn went_well(&self) -> bool {
        let calls = self.scene.calls;
        (self.counts.succeeded, self.counts.failed) == (calls, 0) && self.right() == calls
    }
}

/// Runs it. On a terminal it stays until Ctrl-C; true when everything went as it should.
///
/// # Errors
/// When something could not be started, or standard output is closed.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let mut printer = Printer::new();
    let directory = tempfile::Builder::new().prefix("tandem-demo-").tempdir()?;
    printer.title()?;
    let mut stage = Stage::set(&options.tandem, directory.path())?;
    printer.stage(&stage.addresses)?;

    let begun = Instant::now();
    let mut played = play(&stage, &[REGISTRATIONS], 0, directory.path(), &ended)?;
    played.extend(play(&stage, CALLS, 1, directory.path(), &ended)?);
    let elapsed = begun.elapsed();
    if !ended.load(Relaxed) {
        look_up(&stage.site, &mut played, &ended)?;
    }
    let rules = rules_applied(&stage.site, &played)?;
    printer.outcome(&played, elapsed)?;
    printer.rules(&rules)?;
    let right = played.iter().all(Played::went_well) && rules.is_ok();
    if !right && !ended.load(Relaxed) {
        printer.log("tandem", &stage.site.log_end())?;
        printer.log("network side", &stage.network.log_end())?;
    }
    let stays = std::io::stdout().is_terminal() && !options.once && !ended.load(Relaxed);
    printer.console(&stage.site.console(), stays)?;
    if stays {
        stay(&stage, directory.path(), &ended)?;
    }
    stage.network.stop();
    drop(stage);
    let left = directory.path().to_owned();
    directory.close().with_context(|| format!("{} stays behind", left.display()))?;
    printer.end(right)?;
    Ok(right)
}

/// Plays scenes at the same time, each from an address of its own, and waits for their ends.
fn play(
    stage: &Stage,
    scenes: &[Scene],
    first: u8,
    directory: &Path,
    ended: &AtomicBool,
) -> anyhow::Result<Vec<Played>> {
    let mut running = Vec::new();
    for (number, scene) in scenes.iter().enumerate() {
        let local = stage.addresses.subscribers(first + number as u8)?;
        let mut spec = subscriber(stage, scene, directory)?;
        (spec.local, spec.calls, spec.rate) = (local, Some(scene.calls), scene.rate);
        running.push((*scene, local.ip(), Sipp::start(&spec, directory)?));
    }
    let until = Instant::now() + SCENE_MAX;
    let mut played = Vec::new();
    for (scene, host, mut sipp) in running {
        while sipp.ended()?.is_none() && Instant::now() < until && !ended.load(Relaxed) {
            std::thread::sleep(POLL);
        }
        sipp.stop();
        let counts = sipp.counts().unwrap_or_default();
        let errors = sipp.errors();
        played.push(Played { scene, host, counts, errors, shown: Vec::new() });
    }
    Ok(played)
}

fn subscriber(stage: &Stage, scene: &Scene, directory: &Path) -> anyhow::Result<SippSpec> {
    let file = directory.join(format!("{}.xml", scene.name));
    fs::write(&file, scene.scenario)?;
    let mut spec = SippSpec::new(scene.name, &file.display().to_string(), stage.addresses.access);
    spec.remote = Some(stage.addresses.access);
    spec.arguments = vec!["-cid_str".into(), format!("{}-%u@%s", scene.name)];
    Ok(spec)
}

/// Asks the SAS for every call by its Call-ID until all are there with their outcome.
fn look_up(site: &Site, played: &mut [Played], ended: &AtomicBool) -> anyhow::Result<()> {
    let until = Instant::now() + SHOWN_MAX;
    while Instant::now() < until && !ended.load(Relaxed) {
        for one in played.iter_mut().filter(|one| one.right() < one.scene.calls) {
            let ids = (1..=one.scene.calls).map(|number| one.scene.call_id(number, one.host));
            one.shown = ids.map(|id| site.trail(&id)).collect::<Result<_, _>>()?;
        }
        if played.iter().all(|one| one.right() == one.scene.calls) {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// A line of an INVITE before and after the SSC.
type Change = (String, String);

/// What the header rules of the site did to the call made for them; else what is missing.
fn rules_applied(site: &Site, played: &[Played]) -> anyhow::Result<Result<Vec<Change>, String>> {
    let trail = played.iter().find(|one| one.scene.name == "rules");
    let trail = trail.and_then(|one| one.shown.first()).and_then(Option::as_ref);
    let Some(id) = trail.map(|trail| trail["id"].clone()) else {
        return Ok(Err("the SAS does not show the call".into()));
    };
    let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    let detail = site.get(&format!("sas/trails/{id}"))?;
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

/// Keeps a little traffic going until Ctrl-C.
fn stay(stage: &Stage, directory: &Path, ended: &AtomicBool) -> anyhow::Result<()> {
    let scene = Scene { name: "live", ..CALLS[0] };
    let mut spec = subscriber(stage, &scene, directory)?;
    (spec.local, spec.rate) = (stage.addresses.subscribers(50)?, 1.0);
    let mut live = Sipp::start(&spec, directory)?;
    while !ended.load(Relaxed) {
        std::thread::sleep(POLL);
    }
    live.stop();
    Ok(())
}
