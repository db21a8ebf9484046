//! Files beside the site file: rules for global titles, subscribers of a service inside.

use config::{Issue, keys};
use sgc::config::Sgc;
use std::path::Path;
use tcu::Subscribers;

/// Octets of a file, at most.
const FILE_OCTETS_MAX: u64 = 256 << 20;

/// A file of the site's directory: how it is shown, and its text.
///
/// # Errors
/// What is wrong with it, and the hint.
pub(super) fn text(
    directory: &Path,
    name: &str,
    hint: &str,
) -> Result<(String, String), (String, String)> {
    let path = keys::located(directory, name);
    let shown = path.display().to_string();
    let unread = |error: std::io::Error| (format!("{shown}: {error}"), hint.to_owned());
    let size = std::fs::metadata(&path).map_err(unread)?.len();
    if size > FILE_OCTETS_MAX {
        return Err((format!("{shown} has {size} octets"), "use 256 MiB at most".to_owned()));
    }
    let text = std::fs::read_to_string(&path).map_err(unread)?;
    Ok((shown, text))
}

/// Gives a section the rules of its files; returns what is wrong with them, by line.
pub(super) fn translations(section: &mut Sgc, directory: &Path) -> Vec<Issue> {
    let (mut texts, mut issues) = (Vec::new(), Vec::new());
    for (n, name) in section.translation_files.iter().enumerate() {
        match text(directory, name, "name a file of rules for global titles") {
            Ok((_, text)) => texts.push((name.clone(), text)),
            Err((what, hint)) => {
                issues.push(Issue::new(format!("translation_files[{n}]"), what, hint));
            }
        }
    }
    if issues.is_empty() { section.take_rules(texts) } else { issues }
}

/// The subscribers of a file.
///
/// # Errors
/// The first line that cannot be used.
pub(super) fn subscribers(directory: &Path, name: &str, at: &str) -> Result<Subscribers, Issue> {
    let hint = "name a file with the columns msisdn,imsi,msc,msrn";
    let read = text(directory, name, hint).map_err(|(what, hint)| Issue::new(at, what, hint));
    let (shown, text) = read?;
    Subscribers::parse(&text)
        .map_err(|it| Issue::new(at, format!("{shown}, line {}: {}", it.line, it.what), hint))
}
