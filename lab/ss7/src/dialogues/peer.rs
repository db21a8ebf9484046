//! Two ends of jSS7, one that begins dialogues and one that answers, over TCP.

use super::generator::Span;
use anyhow::Context;
use peers::{ProcessSpec, Talk};
use report::host;
use report::scratch::Scratch;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// For a Java machine to start.
const START: Duration = Duration::from_secs(60);
/// For its association to be there, and for its last dialogues to end.
const REST: Duration = Duration::from_secs(100);
/// For who answers to have heard what was said last.
const SETTLE: Duration = Duration::from_secs(10);
const WORDS: Duration = Duration::from_secs(5);

/// Both ends; they end with it.
pub(super) struct Ends {
    asks: Talk,
    answers: Talk,
    span: Span,
    is_call: bool,
    _scratch: Scratch,
}

impl Ends {
    /// Starts both for dialogues of that kind: a rate of zero is a closed loop with that window.
    ///
    /// # Errors
    /// jSS7 cannot be had here.
    pub(super) fn start(what: &str, rate: u64, span: Span, window: usize) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let here = [127, 0, 0, 1].into();
        let (port, from) = (peers::free_port(here)?.port(), peers::free_port(here)?.port());
        let window = if rate == 0 { window } else { 20 * window };
        let spans = [span.warm, span.measured].map(|it| it.as_secs().to_string());
        let (rate, window) = (rate.to_string(), window.to_string());
        let ports = [port.to_string(), from.to_string()];
        let start = |name: &str, core: usize, codes: [&str; 2], more: &[&str]| {
            let folder = scratch.path().join(name);
            std::fs::create_dir(&folder)?;
            let mut words = peers::java(&folder)?;
            let place = ["Load", name, &ports[0], &ports[1], codes[0], codes[1], "10"];
            words.extend(place.map(Into::into));
            words.push(folder.clone().into());
            words.extend(more.iter().map(Into::into));
            let mut spec = ProcessSpec::new(name, Path::new("java"), &folder).with(words);
            spec.core = Some(core.min(host::cores() - 1));
            let mut talk = Talk::start(&spec)?;
            talk.hear("ready", START)?;
            anyhow::Ok(talk)
        };
        let answers = start("answer", 1, ["3", "4"], &[])?;
        let load = [what, &rate, &spans[0], &spans[1], &window];
        let asks = start("ask", 0, ["4", "3"], &load)?;
        Ok(Self { asks, answers, span, is_call: what == "call", _scratch: scratch })
    }

    /// What its generator prints, and what did not hold of it.
    ///
    /// # Errors
    /// It prints nothing.
    pub(super) fn load(mut self) -> anyhow::Result<(Value, Vec<String>)> {
        let line = self.asks.hear("{", self.span.warm + self.span.measured + REST)?;
        let line: Value = serde_json::from_str(&line).context("its line")?;
        let until = Instant::now() + SETTLE;
        loop {
            self.answers.forget();
            self.answers.say("count")?;
            let heard: Value = serde_json::from_str(&self.answers.hear("{", WORDS)?)?;
            let wrongs = wrongs(&line, &heard, self.is_call);
            if wrongs.is_empty() || Instant::now() >= until {
                return Ok((line, wrongs));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// What does not hold of the line of who asks beside that of who answers.
fn wrongs(line: &Value, heard: &Value, is_call: bool) -> Vec<String> {
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
    let asked = number(line, "asked");
    let mut wrongs = Vec::new();
    if asked.unwrap_or(0) == 0 {
        wrongs.push("it asked nothing".to_owned());
    }
    if number(line, "ended") != asked {
        wrongs.push(format!("asked and ended differ: {line}"));
    }
    for of in [line, heard] {
        if number(of, "failed").unwrap_or(0) + number(of, "wrong").unwrap_or(0) > 0 {
            wrongs.push(format!("something failed: {of}"));
        }
    }
    let has_reports = !is_call || number(heard, "reported") == asked;
    if number(heard, "served") != asked || !has_reports {
        wrongs.push(format!("who answers has heard {heard}, and was asked {line}"));
    }
    wrongs
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_dialogue_that_is_lost_or_fails_is_told() {
        let line = json!({ "asked": 7, "ended": 7, "failed": 0, "wrong": 0 });
        let heard = json!({ "served": 7, "reported": 7, "wrong": 0 });
        assert_eq!(wrongs(&line, &heard, true), Vec::<String>::new());
        let with = |of: &Value, name: &str, value: u64| {
            let mut of = of.clone();
            of[name] = value.into();
            of
        };
        for (name, value) in [("asked", 0), ("ended", 6), ("failed", 1), ("wrong", 1)] {
            assert!(!wrongs(&with(&line, name, value), &heard, true).is_empty(), "{name}");
        }
        for (name, value) in [("served", 6), ("wrong", 1), ("reported", 6)] {
            assert!(!wrongs(&line, &with(&heard, name, value), true).is_empty(), "{name}");
        }
        let routing = json!({ "served": 7, "reported": 0, "wrong": 0 });
        assert_eq!(wrongs(&line, &routing, false), Vec::<String>::new());
    }
}
