//! `tandem check`: everything that is wrong with a site file, nothing started.

use crate::exit::Exit;
use crate::exposure::{advice, exposures};
use crate::probe::probe;
use crate::rights;
use crate::site::Site;
use crate::site_text::{LOCK, load, refuse, render};
use std::fs::File;
use std::path::Path;

/// Checks a site file, and says what it leaves open to others.
pub fn check(file: &Path, deny_warnings: bool) -> Result<(), Exit> {
    let name = file.display().to_string();
    let (text, site) = match load(file)? {
        (text, Ok(site)) => (text, site),
        (text, Err(found)) => {
            // What a site leaves open is said beside its mistakes: both are mended at once.
            if let Some(site) = config::shape::<Site>(&text)
                && rights::assume(file, &site, &site.directory(file))?.is_ok()
            {
                warn(file, &text, &site);
            }
            return Err(Exit::Invalid(render(file, &text, &found)));
        }
    };
    let directory = site.directory(file);
    let makes = match rights::assume(file, &site, &directory)? {
        Ok(makes) => makes,
        Err(issue) => return refuse(file, &text, vec![issue]),
    };
    let mut hindered = Vec::new();
    if is_running(&site, file) {
        eprintln!(
            "{name}: this site is running: its ports are not checked here, `tandem ctl config \
             check` does that"
        );
    } else {
        if let Some(makes) = makes {
            hindered = rights::rehearse(&site, &directory, makes);
        }
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

/// Whether a process runs this site now.
fn is_running(site: &Site, file: &Path) -> bool {
    let lock = File::open(site.directory(file).join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}
