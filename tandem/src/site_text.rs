//! The text of a site file: read, and refused with what is wrong where.

use crate::exit::Exit;
use crate::site::Site;
use config::{Diagnostic, Source};
use std::path::Path;

/// Name of the file in the site's directory that a running site holds locked.
pub const LOCK: &str = "lock";

/// Reads a site file; all its mistakes at once.
pub fn read(file: &Path) -> Result<(String, Site), Exit> {
    match load(file)? {
        (text, Ok(site)) => Ok((text, site)),
        (text, Err(found)) => Err(Exit::Invalid(render(file, &text, &found))),
    }
}

pub fn load(file: &Path) -> Result<(String, Result<Site, Vec<Diagnostic>>), Exit> {
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
