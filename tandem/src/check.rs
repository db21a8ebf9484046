//! `tandem check`: everything that is wrong with a site file, nothing started.

use crate::changes;
use crate::ctl::Client;
use crate::exit::Exit;
use crate::exposure::{advice, exposures};
use crate::output;
use crate::probe::probe;
use crate::rights;
use crate::site::Site;
use crate::site_text::{LOCK, load, render};
use config::{Diagnostic, Issue, Links, Site as _};
use std::path::Path;

/// Checks a site file, and says what it leaves open to others; `against_running`: and what the site
/// that runs would be interrupted in.
pub fn check(file: &Path, deny_warnings: bool, against_running: bool) -> Result<(), Exit> {
    let name = file.display().to_string();
    let (text, read) = load(file)?;
    let mut found = read.as_ref().err().cloned().unwrap_or_default();
    // What the machine says, and what a site leaves open, is said beside its mistakes: all of it is
    // mended at once.
    let mended = if found.is_empty() { None } else { config::mended::<Site>(&text) };
    let site = match (&read, &mended) {
        (Ok(site), _) => site,
        (Err(_), Some(mended)) => &mended.site,
        (Err(found), None) => return Err(Exit::Invalid(render(file, &text, found))),
    };
    let is_own = |issue: &Issue| mended.as_ref().is_none_or(|mended| !mended.explains(issue));
    let directory = site.directory(file);
    let makes = match rights::assume(file, site, &directory)? {
        Ok(makes) => makes,
        Err(issue) => {
            found.extend(config::placed(&text, vec![issue]));
            return Err(Exit::Invalid(render(file, &text, &found)));
        }
    };
    let mut hindered = Vec::new();
    if is_running(site, file) {
        if !against_running {
            eprintln!(
                "{name}: this site is running: its ports are not checked here, \
                 `tandem check --against-running` does that, and says what a commit interrupts"
            );
        }
    } else {
        if let Some(makes) = makes {
            hindered = rights::rehearse(site, &directory, makes);
        }
        hindered.extend(probe(site, &directory, &[]));
    }
    if against_running {
        hindered.extend(held_against(file, site, &directory)?);
    }
    let is_said = |place: &str| found.iter().any(|known| known.path == place);
    // A key whose value is wrong is not warned of as well.
    let warnings = warn(file, &text, site, |issue| !is_said(&issue.path) && is_own(issue));
    hindered.retain(|issue| !is_said(&issue.path) && is_own(issue));
    found.extend(config::placed(&text, hindered));
    if !found.is_empty() {
        found.sort_by_key(|it| (it.line, it.column));
        return Err(Exit::Invalid(render(file, &text, &found)));
    }
    if deny_warnings && warnings > 0 {
        let denied =
            config::counted(warnings, "warning that is denied", "warnings, which are denied");
        return Err(Exit::Failed(format!("{name}: {denied}")));
    }
    eprintln!("{name}: ok");
    Ok(())
}

/// Asks the site that runs what it runs; prints what a commit of this file would interrupt. What
/// would hinder it.
fn held_against(file: &Path, site: &Site, directory: &Path) -> Result<Vec<Issue>, Exit> {
    let running = Client::of_site(file)?.get("/api/v1/config")?;
    let text = running["text"].as_str().unwrap_or_default();
    let running: Site = config::read(text).map_err(|_| {
        let what = "the site that runs has a configuration that this version does not read";
        Exit::Failed(what.to_owned())
    })?;
    let found = changes::interruptions(&running, site);
    output::text(&config::told(found.iter().map(|it| it.what.as_str())))?;
    let mut hindered = changes::refusals(&running, site);
    hindered.extend(rights::changed(&running.site, &site.site));
    hindered.extend(probe(site, directory, &running.doorways()));
    Ok(hindered)
}

/// Says what a site leaves open, and what its author may want to know; the number of warnings.
/// `is_own`: whether it is of what stands in the file.
fn warn(file: &Path, text: &str, site: &Site, is_own: impl Fn(&Issue) -> bool) -> usize {
    let name = file.display().to_string();
    let is_own = |it: &Diagnostic| is_own(&Issue::new(&*it.path, &*it.what, &*it.hint));
    let mut open = exposures(file, text, site);
    open.retain(is_own);
    let say = |found: &Diagnostic, word| output::complaint(&found.render_as(word, &name, text));
    open.iter().for_each(|found| say(found, "warning"));
    let mut advice = advice(file, text, site);
    advice.retain(is_own);
    advice.iter().for_each(|found| say(found, "note"));
    open.len()
}

/// Whether a process runs this site now.
fn is_running(site: &Site, file: &Path) -> bool {
    let lock = config::open_regular(&site.directory(file).join(LOCK), Links::Refused);
    lock.is_ok_and(|(lock, _)| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}
