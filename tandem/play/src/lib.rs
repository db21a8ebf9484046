//! `tandem lab play`: scenarios of TCAP as files, against anything.
#![forbid(unsafe_code)]

pub mod command;

use anyhow::Context as _;
use client::Exit;
use command::Play;
use scenario::{Changes, Options, Program, built_in};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Octets of a file, at most.
const FILE_OCTETS_MAX: u64 = 4 << 20;

/// Lists, shows, or plays; `say` hears each line that is to be printed.
///
/// # Errors
/// The file is wrong, a gateway cannot be reached, or plays have failed.
pub fn run(asked: &Play, say: &mut dyn FnMut(&str)) -> Result<(), Exit> {
    if asked.list {
        list(say);
        return Ok(());
    }
    if let Some(name) = &asked.show {
        say(known(name)?.trim_end());
        return Ok(());
    }
    let program = program(asked)?;
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped)).map_err(anyhow::Error::from)?;
    }
    let options = Options {
        only: asked.only.clone(),
        count: asked.count,
        is_timed: asked.measure.is_some(),
        seed: asked.seed,
        base: PathBuf::from("."),
    };
    let report = scenario::run(program, &options, &|| stopped.load(Ordering::Relaxed))?;
    if asked.json {
        say(&serde_json::to_string(&report).map_err(anyhow::Error::from)?);
    } else {
        say(report.table().trim_end());
    }
    let did_anything = report.begun() > 0 || !report.sip.is_empty();
    match (report.lost.clone(), report.failed()) {
        (Some(why), _) => Err(Exit::Failed(why)),
        (None, 0) if !did_anything && !stopped.load(Ordering::Relaxed) => {
            Err(Exit::Failed("nothing was begun and nothing was asked".into()))
        }
        (None, 0) => Ok(()),
        (None, failed) => {
            let failed = usize::try_from(failed).unwrap_or(usize::MAX);
            let all = config::counted(failed, "play has failed", "plays have failed");
            Err(Exit::Failed(all))
        }
    }
}

fn list(say: &mut dyn FnMut(&str)) {
    let width = built_in().iter().map(|it| it.name.len()).max().unwrap_or(0);
    for it in built_in() {
        if let Ok(program) = scenario::read(it.text, Path::new(".")) {
            say(&format!("{:width$}  {}", it.name, program.about));
        }
    }
}

/// The text of a scenario that comes with Tandem.
fn known(name: &str) -> Result<&'static str, Exit> {
    let found = built_in().iter().find(|it| it.name == name);
    found.map(|it| it.text).ok_or_else(|| {
        let names = built_in().iter().map(|it| it.name);
        let hint = config::meant(name, names, "there is none");
        Exit::Usage(format!("no scenario is called `{name}`; {hint}"))
    })
}

/// Two words with an equals sign between them.
fn pair(option: &str, text: &str) -> Result<(String, String), Exit> {
    let pair = text.split_once('=').filter(|it| !it.0.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| Exit::Usage(format!("--{option} {text}: write NAME=VALUE")))
}

fn changes(asked: &Play) -> Result<Changes, Exit> {
    let mut roles = Vec::new();
    for text in &asked.at {
        let (role, place) = pair("at", text)?;
        roles.push((role, "at".to_owned(), place));
    }
    for text in &asked.role {
        let (name, value) = pair("role", text)?;
        let wrong = || Exit::Usage(format!("--role {text}: write ROLE.KEY=VALUE"));
        let (role, key) = name.split_once('.').ok_or_else(wrong)?;
        roles.push((role.to_owned(), key.to_owned(), value));
    }
    let pairs = |option: &str, of: &[String]| -> Result<Vec<(String, String)>, Exit> {
        of.iter().map(|text| pair(option, text)).collect()
    };
    let mut tables = pairs("table", &asked.table)?;
    for (_, path) in &mut tables {
        // It is seen from here, not from the folder of the file.
        let absolute = std::path::absolute(&*path).map_err(anyhow::Error::from)?;
        *path = absolute.display().to_string();
    }
    Ok(Changes {
        roles,
        values: pairs("value", &asked.value)?,
        tables,
        rate: asked.rate,
        ramp_s: asked.ramp,
        measure_s: asked.measure,
        drain_s: asked.drain,
    })
}

fn program(asked: &Play) -> Result<Program, Exit> {
    let name = asked.file.as_deref().unwrap_or_default();
    let changes = changes(asked)?;
    let path = Path::new(name);
    let is_file = path.extension().is_some() || name.contains('/') || path.is_file();
    let (text, base) = if is_file {
        let size = std::fs::metadata(path).with_context(|| name.to_owned())?.len();
        if size > FILE_OCTETS_MAX {
            return Err(Exit::Failed(format!("{name}: more than {FILE_OCTETS_MAX} octets")));
        }
        let text = std::fs::read_to_string(path).with_context(|| name.to_owned())?;
        (text, path.parent().unwrap_or(Path::new(".")).to_owned())
    } else {
        (known(name)?.to_owned(), PathBuf::from("."))
    };
    let read = scenario::read_changed(&text, &base, &changes);
    read.map_err(|wrong| Exit::Invalid(config::render(name, &text, &wrong.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, Command, FromArgMatches as _};

    fn said(words: &[&str]) -> Result<String, Exit> {
        let command = Play::augment_args(Command::new("play"));
        let matches = command.try_get_matches_from([&["play"], words].concat());
        let matches = matches.map_err(|wrong| Exit::Usage(wrong.to_string()))?;
        let asked = Play::from_arg_matches(&matches);
        let asked = asked.map_err(|wrong| Exit::Usage(wrong.to_string()))?;
        let mut text = String::new();
        let said = run(&asked, &mut |line| {
            text.push_str(line);
            text.push('\n');
        });
        said.map(|()| text)
    }

    #[test]
    fn scenarios_are_listed_shown_and_played_inside() {
        let listed = said(&["--list"]).unwrap();
        assert_eq!(listed.lines().count(), built_in().len(), "{listed}");
        assert!(said(&["--show", "ussd"]).unwrap().contains("[[scenario]]"));
        let words = ["map-sri-for-sm", "-n", "50", "--rate", "1000", "--json"];
        let report: serde_json::Value = serde_json::from_str(&said(&words).unwrap()).unwrap();
        assert_eq!(report["scenarios"][0]["completed"], 50, "{report}");
        let table = said(&["ussd", "-n", "5"]).unwrap();
        assert!(table.contains("COMPLETED"), "{table}");
    }

    #[test]
    fn a_file_with_its_table_beside_it_is_played_and_its_mistakes_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (file, table) = (folder.path().join("x.toml"), folder.path().join("people.csv"));
        std::fs::write(&table, "msisdn,imsi\n447700900001,234150000000001\n").unwrap();
        let text = known("map-sri-for-sm").unwrap();
        std::fs::write(&file, text).unwrap();
        let (name, table) = (file.to_str().unwrap(), table.to_str().unwrap());
        let with = format!("subscribers={table}");
        let report = said(&[name, "-n", "3", "--table", &with, "--json"]).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["scenarios"][0]["completed"], 3, "{report}");
        std::fs::write(&file, text.replace("rate = 100", "rat = 100")).unwrap();
        let Err(Exit::Invalid(wrong)) = said(&[name]) else { panic!("it is wrong") };
        assert!(wrong.contains("x.toml:6:1"), "{wrong}");
    }

    #[test]
    fn a_run_that_begins_nothing_has_not_succeeded() {
        let words = ["map-sri-for-sm", "-n", "0", "--rate", "1000", "--measure", "0.1"];
        let Err(Exit::Failed(why)) = said(&words) else { panic!("nothing was played") };
        assert!(why.contains("nothing was begun"), "{why}");
    }

    #[test]
    fn what_is_called_wrongly_is_told() {
        for words in [
            vec!["nothing"],
            vec!["ussd", "--at", "msc"],
            vec!["ussd", "--role", "msc=3"],
            vec!["--show", "nothing"],
            vec![],
        ] {
            assert!(matches!(said(&words), Err(Exit::Usage(_))), "{words:?}");
        }
        let unknown = said(&["ussd", "--at", "nobody=unix:x"]);
        assert!(matches!(unknown, Err(Exit::Invalid(it)) if it.contains("`nobody`")));
        let absent = said(&["ussd", "--at", "msc=unix:/nonexistent/x", "-n", "1"]);
        assert!(matches!(absent, Err(Exit::Failed(it)) if it.contains("role msc")));
    }
}
