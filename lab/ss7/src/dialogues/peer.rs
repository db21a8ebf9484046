//! Two ends of jSS7, one that begins dialogues and one that answers, over TCP.

use anyhow::Context;
use peers::{ProcessSpec, Talk};
use report::host;
use report::scratch::Scratch;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// For a Java machine to start; its generator warms up for some seconds.
const START: Duration = Duration::from_secs(60);
const WARM: Duration = Duration::from_secs(40);

/// What its generator prints of dialogues of that kind: a rate of zero is a closed loop with that
/// window.
pub(super) fn load(what: &str, rate: u64, seconds: u64, window: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new("tandem-lab-")?;
    let here = [127, 0, 0, 1].into();
    let (port, from) = (peers::free_port(here)?.port(), peers::free_port(here)?.port());
    let window = if rate == 0 { window } else { 20 * window };
    let rest = [rate.to_string(), seconds.to_string(), window.to_string()];
    let ports = [port.to_string(), from.to_string()];
    let start = |name: &str, core: usize, codes: [&str; 2], more: &[&str]| {
        let folder = scratch.path().join(name);
        std::fs::create_dir(&folder)?;
        let mut words = peers::java(&folder)?;
        words
            .extend(["Load", name, &ports[0], &ports[1], codes[0], codes[1], "10"].map(Into::into));
        words.push(folder.clone().into());
        words.extend(more.iter().map(Into::into));
        let mut spec = ProcessSpec::new(name, Path::new("java"), &folder).with(words);
        spec.core = Some(core.min(host::cores() - 1));
        let mut talk = Talk::start(&spec)?;
        talk.hear("ready", START)?;
        anyhow::Ok(talk)
    };
    let _answers = start("answer", 1, ["3", "4"], &[])?;
    let mut asks = start("ask", 0, ["4", "3"], &[what, &rest[0], &rest[1], &rest[2]])?;
    let line = asks.hear("{", Duration::from_secs(seconds) + WARM)?;
    serde_json::from_str(&line).context("its line")
}
