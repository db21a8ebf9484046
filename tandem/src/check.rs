//! `tandem check`: everything that is wrong with a site file, nothing started.

use crate::exit::Exit;
use crate::exposure::exposures;
use crate::probe::probe;
use crate::site::Site;
use config::{Diagnostic, Source};
use std::fs::File;
use std::path::Path;

/// Name of the file in the site's directory that a running site holds locked.
pub const LOCK: &str = "lock";

/// Checks a site file, and says what it leaves open to others.
pub fn check(file: &Path, deny_warnings: bool) -> Result<(), Exit> {
    let (text, site) = read(file)?;
    if is_running(&site, file) {
        eprintln!(
            "{}: this site is running: its ports are not checked here, `tandem ctl config check` \
             does that",
            file.display()
        );
    } else {
        refuse(file, &text, probe(&site, &site.directory(file), &[]))?;
    }
    let (name, open) = (file.display().to_string(), exposures(file, &text, &site));
    open.iter().for_each(|found| eprintln!("{}", found.render_as("warning", &name, &text)));
    if deny_warnings && !open.is_empty() {
        return Err(Exit::Failed(format!("{name}: {} warnings, which are denied", open.len())));
    }
    eprintln!("{name}: ok");
    Ok(())
}

/// Reads a site file; all its mistakes at once.
pub fn read(file: &Path) -> Result<(String, Site), Exit> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Exit::Invalid(format!("error: {}: {error}\n", file.display())))?;
    match config::read::<Site>(&text) {
        Ok(site) => Ok((text, site)),
        Err(found) => Err(Exit::Invalid(render(file, &text, &found))),
    }
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
