//! `tandem check`: everything that is wrong with a site file, nothing started.

use crate::changes;
use crate::ctl::client_of_file;
use crate::exposure::{RUNS_AS_ROOT, advice, exposures};
use crate::probe::{probe, probe_beside};
use crate::rights;
use crate::site::Site;
use crate::site_text::{held_by, load, render};
use client::{Exit, output};
use config::{Diagnostic, Issue, Site as _};
use serde::Serialize;
use std::path::Path;

/// How a site file is checked.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// What it leaves open to others is a failure.
    pub deny_warnings: bool,
    /// It is held against what the site runs.
    pub against_running: bool,
    /// One JSON object on standard output, in place of text on standard error.
    pub json: bool,
}

/// What a check found.
#[derive(Debug, Default, Serialize)]
struct Found {
    file: String,
    ok: bool,
    mistakes: Vec<Diagnostic>,
    /// What the site leaves open to others.
    warnings: Vec<Diagnostic>,
    /// What its author may want to know.
    notes: Vec<Diagnostic>,
    /// What a commit would interrupt, where that was asked and can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupts: Option<Vec<String>>,
}

/// Checks a site file, and says what it leaves open to others and, if wanted, what the site that
/// runs would be interrupted in.
pub fn check(file: &Path, wanted: Wanted) -> Result<(), Exit> {
    let (text, read) = load(file)?;
    let found = look(file, &text, read, wanted)?;
    if wanted.json {
        let whole = serde_json::to_value(&found).unwrap_or_default();
        output::text(&output::json(&whole))?;
    } else {
        let name = &found.file;
        let say = |it: &Diagnostic, word| output::complaint(&it.render_as(word, name, &text));
        // What is so of every site of a machine hides nothing that is so of this one.
        let (of_root, warnings): (Vec<_>, Vec<_>) =
            found.warnings.iter().partition(|it| it.what == RUNS_AS_ROOT);
        warnings.into_iter().for_each(|it| say(it, "warning"));
        found.notes.iter().for_each(|it| say(it, "note"));
        for it in of_root {
            output::complaint(&format!("warning: {name}: {} ({})", it.what, it.hint));
        }
        if let Some(interrupts) = &found.interrupts {
            output::text(&config::interruptions_listed(interrupts.iter().map(String::as_str)))?;
        }
    }
    if !found.mistakes.is_empty() {
        let said = if wanted.json { String::new() } else { render(file, &text, &found.mistakes) };
        return Err(Exit::Invalid(said));
    }
    let warnings = found.warnings.len();
    if wanted.deny_warnings && warnings > 0 {
        let denied =
            config::counted(warnings, "warning that is denied", "warnings, which are denied");
        return Err(Exit::Failed(format!("{}: {denied}", found.file)));
    }
    if wanted.json { Ok(()) } else { output::text(&format!("{}: ok\n", found.file)) }
}

/// Everything that is to be said of a site file.
fn look(
    file: &Path,
    text: &str,
    read: Result<Site, Vec<Diagnostic>>,
    wanted: Wanted,
) -> Result<Found, Exit> {
    let mut found = Found { file: file.display().to_string(), ..Found::default() };
    // What the machine says, and what a site leaves open, is said beside its mistakes: all of it is
    // mended at once.
    let corrected = if read.is_ok() { None } else { config::corrected::<Site>(text) };
    let site = match (read, &corrected) {
        (Ok(site), _) => site,
        (Err(mistakes), Some(corrected)) => {
            found.mistakes = mistakes;
            corrected.site.clone()
        }
        (Err(mistakes), None) => return Ok(Found { mistakes, ..found }),
    };
    let is_own =
        |issue: &Issue| corrected.as_ref().is_none_or(|corrected| !corrected.explains(issue));
    let directory = site.directory(file);
    let makes = match rights::assume(file, &site, &directory)? {
        Ok(makes) => makes,
        Err(issue) => {
            found.mistakes.extend(config::placed(text, vec![issue]));
            return Ok(found);
        }
    };
    let mut hindered = hindrances(&site, &directory, makes, &found.file, wanted);
    let mut interrupts = None;
    if wanted.against_running {
        let (told, refused) = held_against(file, &site, &directory)?;
        hindered.extend(refused);
        interrupts = Some(told);
    }
    let is_said = |place: &str| found.mistakes.iter().any(|known| known.path == place);
    // A key whose value is wrong is not warned of as well.
    let mut warnings = exposures(file, text, &site);
    warnings.retain(|it| !is_said(&it.path) && is_own(&issue_of(it)));
    hindered.retain(|issue| !is_said(&issue.path) && is_own(issue));
    // Nor is what the machine refuses a note.
    let is_refused = |place: &str| hindered.iter().any(|known| known.path == place);
    let mut notes = advice(file, text, &site);
    notes.retain(|it| !is_said(&it.path) && !is_refused(&it.path) && is_own(&issue_of(it)));
    found.mistakes.extend(config::placed(text, hindered));
    found.mistakes.sort_by_key(|it| (it.line, it.column));
    // What cannot be committed interrupts nothing, but that would be no answer.
    found.interrupts = interrupts.filter(|_| found.mistakes.is_empty());
    found.ok = found.mistakes.is_empty();
    Ok(Found { warnings, notes, ..found })
}

/// What the machine has against the site; of one that runs, nothing that it holds itself.
fn hindrances(
    site: &Site,
    directory: &Path,
    makes: Option<bool>,
    file: &str,
    wanted: Wanted,
) -> Vec<Issue> {
    match held_by(directory) {
        Some(other) if other != site.site.name && !other.is_empty() => {
            let what = format!("the site `{other}` runs with this directory");
            let hint = "a site has a directory of its own: name another one";
            vec![Issue::new("site.directory", what, hint)]
        }
        Some(_) if wanted.against_running => Vec::new(),
        Some(_) => {
            eprintln!(
                "{file}: this site is running: whether its ports are free is not checked here, \
                 `tandem check --against-running` does that, and says what a commit interrupts"
            );
            probe_beside(site, directory)
        }
        None => {
            let made = makes.map(|makes| rights::rehearse(site, directory, makes));
            let mut hindered = made.unwrap_or_default();
            hindered.extend(probe(site, directory, &[]));
            hindered
        }
    }
}

fn issue_of(it: &Diagnostic) -> Issue {
    Issue::new(&*it.path, &*it.what, &*it.hint)
}

/// Asks the site that runs what it runs: what a commit of this file would interrupt, and what would
/// hinder it.
fn held_against(
    file: &Path,
    site: &Site,
    directory: &Path,
) -> Result<(Vec<String>, Vec<Issue>), Exit> {
    let running = client_of_file(file)?.get("/api/v1/config")?;
    let text = running["text"].as_str().unwrap_or_default();
    let running: Site = config::read(text).map_err(|_| {
        let what = "the site that runs has a configuration that this version does not read";
        Exit::Failed(what.to_owned())
    })?;
    let interrupts = changes::interruptions(&running, site).into_iter().map(|it| it.what);
    let mut hindered = changes::refusals(&running, site);
    hindered.extend(rights::changed(&running.site, &site.site));
    hindered.extend(probe(site, directory, &running.listen_addresses()));
    Ok((interrupts.collect(), hindered))
}
