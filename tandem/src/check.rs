//! `tandem check`: everything that is wrong with a site file, nothing started.

use crate::exit::Exit;
use crate::exposure::{advice, exposures};
use crate::probe::probe;
use crate::rights;
use crate::site::Site;
use config::{Diagnostic, Source};
use std::fs::File;
use std::path::Path;

/// Name of the file in the site's directory that a running site holds locked.
pub const LOCK: &str = "lock";

/// Checks a site file, and says what it leaves open to others.
pub fn check(file: &Path, deny_warnings: bool) -> Result<(), Exit> {
    let name = file.display().to_string();
    let (text, site) = match load(file)? {
        (text, Ok(site)) => (text, site),
        (text, Err(found)) => {
            // What a site leaves open is said beside its mistakes: both are mended at once.
            if let Some(site) = config::shape::<Site>(&text) {
                warn(file, &text, &site);
            }
            return Err(Exit::Invalid(render(file, &text, &found)));
        }
    };
    let mut hindered = Vec::new();
    if is_running(&site, file) {
        eprintln!(
            "{name}: this site is running: its ports are not checked here, `tandem ctl config \
             check` does that"
        );
    } else {
        let directory = site.directory(file);
        hindered = rights::rehearse(file, &site, &directory)?;
        hindered.extend(probe(&site, &directory, &[]));
    }
    let warnings = warn(file, &text, &site);
    refuse(file, &text, hindered)?;
    if deny_warnings && warnings > 0 {
        return Err(Exit::Failed(format!("{name}: {warnings} warnings, which are denied")));
    }
    eprintln!("{name}: ok");
    Ok(())
}

/// Says what a site leaves open, and what its author may want to know; the number of warnings.
fn warn(file: &Path, text: &str, site: &Site) -> usize {
    let name = file.display().to_string();
    let open = exposures(file, text, site);
    open.iter().for_each(|found| eprintln!("{}", found.render_as("warning", &name, text)));
    let advice = advice(file, text, site);
    advice.iter().for_each(|found| eprintln!("{}", found.render_as("note", &name, text)));
    open.len()
}

/// Reads a site file; all its mistakes at once.
pub fn read(file: &Path) -> Result<(String, Site), Exit> {
    match load(file)? {
        (text, Ok(site)) => Ok((text, site)),
        (text, Err(found)) => Err(Exit::Invalid(render(file, &text, &found))),
    }
}

fn load(file: &Path) -> Result<(String, Result<Site, Vec<Diagnostic>>), Exit> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Exit::Invalid(format!("error: {}: {error}\n", file.display())))?;
    let site = config::read::<Site>(&text);
    Ok((text, site))
}

/// Refuses a site file for what the machine says.
pub fn refuse(file: &Path, text: &str, issues: Vec<config::Issue>) -> Result<(), Exit> {
    if issues.is_empty() {
        return Ok(());
    }
    let found = match Source::parse(text) {
        Ok(source) => config::locate(&source, issues),
        Err(syntax) => vec![syntax],
    };
    Err(Exit::Invalid(render(file, text, &found)))
}

/// Diagnostics as a compiler prints them, and their number.
pub fn render(file: &Path, text: &str, found: &[Diagnostic]) -> String {
    let name = file.display().to_string();
    let mut out: String = found.iter().map(|d| d.render(&name, text) + "\n").collect();
    let plural = if found.len() == 1 { "mistake" } else { "mistakes" };
    out.push_str(&format!("{name}: {} {plural}, nothing was changed\n", found.len()));
    out
}

/// Whether a process runs this site now.
fn is_running(site: &Site, file: &Path) -> bool {
    let lock = File::open(site.directory(file).join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}
