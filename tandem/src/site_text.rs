//! The text of a site file: read, and refused with what is wrong where.

use crate::site::Site;
use client::Exit;
use config::{Diagnostic, Links, SITE_BYTES_MAX};
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file in the site's directory that a running site holds locked.
pub const LOCK: &str = "lock";

/// Octets of the name of a site at most, as the lock of its directory has it.
const NAME_OCTETS_MAX: usize = 4_096;

/// The name of the site whose process holds the directory now; empty where it has told none.
pub fn held_by(directory: &Path) -> Option<String> {
    let path = directory.join(LOCK);
    let (lock, _) = config::open_regular(&path, Links::Refused).ok()?;
    if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let name = config::read_regular(&path, NAME_OCTETS_MAX, Links::Refused);
    Some(name.map(|(text, _)| text.trim().to_owned()).unwrap_or_default())
}

/// Whether it is certain that no process holds the directory.
pub fn is_free(directory: &Path) -> bool {
    match config::open_regular(&directory.join(LOCK), Links::Refused) {
        Ok((lock, _)) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Reads a site file; all its mistakes at once.
pub fn read(file: &Path) -> Result<(String, Site), Exit> {
    match load(file)? {
        (text, Ok(site)) => Ok((text, site)),
        (text, Err(found)) => Err(Exit::Invalid(render(file, &text, &found))),
    }
}

/// A site file for who asks the site that runs it: what is wrong in it may be about to be mended.
pub fn corrected(file: &Path) -> Result<Site, Exit> {
    match load(file)? {
        (_, Ok(site)) => Ok(site),
        (text, Err(found)) => match config::corrected::<Site>(&text) {
            Some(corrected) => Ok(corrected.site),
            None => Err(Exit::Invalid(render(file, &text, &found))),
        },
    }
}

pub fn load(file: &Path) -> Result<(String, Result<Site, Vec<Diagnostic>>), Exit> {
    let (text, _) = config::read_regular(file, SITE_BYTES_MAX, Links::Followed)
        .map_err(|error| Exit::Invalid(format!("error: {}: {error}\n", file.display())))?;
    let site = config::read::<Site>(&text);
    Ok((text, site))
}

/// Refuses a site file for what the machine says.
pub fn refuse(file: &Path, text: &str, issues: Vec<config::Issue>) -> Result<(), Exit> {
    if issues.is_empty() {
        return Ok(());
    }
    Err(Exit::Invalid(render(file, text, &config::placed(text, issues))))
}

/// Diagnostics as a compiler prints them, and their number.
pub fn render(file: &Path, text: &str, found: &[Diagnostic]) -> String {
    config::render(&file.display().to_string(), text, found)
}
