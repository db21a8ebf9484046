//! Calls of SIPp stand over real sockets while `tandem ctl config commit` changes limits, rules and
//! realms of the site under them: each ends as it should, and none is torn down.

use crate::end_to_end::{answerer, command, finish};
use crate::site::Site;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const CALLS: usize = 200;
/// They are set up within a second and end this long after that.
const STANDING_MS: &str = "9000";
const STAND_MAX: Duration = Duration::from_secs(8);
const REALM: &str = "[[ssc.realm]]";
const RULE: &str = "[[ssc.rule]]\nrealm = \"core\"\ndirection = \"out\"\n\
    [[ssc.rule.do]]\nadd = \"X-Changed\"\nvalue = \"1\"\n";

/// Runs it against a site of its own.
pub fn run(binary: &Path) -> Result<()> {
    let site = Site::start(binary)?;
    let mut answerer = answerer(&site)?;
    let target = site.access.clone();
    let callers = std::thread::spawn(move || callers(&target));
    let changed = change(binary, &site);
    let ended = callers.join().map_err(|_| anyhow::anyhow!("the callers' thread ended"))?;
    answerer.kill()?;
    answerer.wait()?;
    changed?;
    ended.context("calls that stood while the configuration changed")?;
    for (name, wanted) in [("ssc_calls_torn_down_total", 0), ("ssc_calls_ended_total", CALLS)] {
        let value = counter(binary, &site, name)?;
        ensure!(value == wanted as u64, "{name} is {value}, not {wanted}");
    }
    site.stop()
}

/// SIPp sets calls up, holds them, and fails unless every one ends well.
fn callers(target: &str) -> Result<()> {
    let (calls, hold) = (CALLS.to_string(), STANDING_MS);
    let words = ["-sn", "uac", "-i", "127.0.0.1", "-s", "15550100", "-r", "200", "-d", hold];
    let end = ["-m", &calls, "-nostdin", "-timeout", "60s", "-timeout_error", target];
    finish(Command::new("sipp").args(words).args(end))
}

/// One commit after the other while all calls stand.
fn change(binary: &Path, site: &Site) -> Result<()> {
    let until = Instant::now() + STAND_MAX;
    while counter(binary, site, "ssc_calls_live")? < CALLS as u64 {
        ensure!(Instant::now() < until, "not all of {CALLS} calls stand");
        std::thread::sleep(Duration::from_millis(50));
    }
    let before = site.text()?;
    let trunk = format!(
        "{REALM}\nname = \"trunk\"\nside = \"access\"\nlisten = [\"udp:{}\"]\n{REALM}",
        crate::site::free_udp()?
    );
    let changes = [
        ("limits", before.replacen(REALM, &format!("[ssc.limits]\ncalls_max = 1\n{REALM}"), 1)),
        ("rules", before.replacen(REALM, &format!("{RULE}{REALM}"), 1)),
        ("a realm before the others", before.replacen(REALM, &trunk, 1)),
        ("that realm gone again", before.clone()),
    ];
    for (what, text) in changes {
        site.commit(binary, &text).with_context(|| what.to_owned())?;
        let live = counter(binary, site, "ssc_calls_live")?;
        ensure!(live == CALLS as u64, "{what}: {live} of {CALLS} calls stand");
    }
    Ok(())
}

fn counter(binary: &Path, site: &Site, name: &str) -> Result<u64> {
    let token = site.token()?;
    let words = ["--output", "json", "counters", "--all", "--name", name];
    let output = Command::new(binary)
        .args(["ctl", "--url", &site.url, "--token", &token])
        .args(words)
        .output()?;
    let rows: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let rows = rows.as_array().into_iter().flatten().filter(|row| row["name"] == name);
    Ok(rows.filter_map(|row| row["value"].as_u64()).sum())
}

impl Site {
    /// Makes a configuration the candidate and commits it.
    fn commit(&self, binary: &Path, text: &str) -> Result<()> {
        let file = self.folder().join("candidate.toml");
        std::fs::write(&file, text)?;
        let (token, file) = (self.token()?, file.to_string_lossy().into_owned());
        for words in [&["set-file", &file][..], &["commit"]] {
            let head = ["ctl", "--url", &self.url, "--token", &token, "config"];
            command(binary, &[&head, words].concat())?;
        }
        Ok(())
    }
}
