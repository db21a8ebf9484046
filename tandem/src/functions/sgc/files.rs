//! Files beside the site file: rules for global titles, subscribers of a service inside.

use config::{Issue, Links, keys, read_regular};
use sgc::config::Sgc;
use std::path::Path;
use tcu::Subscribers;

/// Octets of a file, and of all files of rules together, at most.
pub(super) const OCTETS_MAX: usize = 256 << 20;

/// A file of the site's directory, read as far as it may be long: how it is shown, and its text.
///
/// # Errors
/// What is wrong with it, and the hint.
pub(super) fn text(
    directory: &Path,
    name: &str,
    octets_max: usize,
    hint: &str,
) -> Result<(String, String), (String, String)> {
    let path = keys::located(directory, name);
    let shown = path.display().to_string();
    match read_regular(&path, octets_max, Links::Followed) {
        Ok((text, _)) => Ok((shown, text)),
        Err(error) => Err((format!("{shown}: {error}"), hint.to_owned())),
    }
}

/// Gives a section the rules of its files; returns what is wrong with them, by line.
pub(super) fn translations(section: &mut Sgc, directory: &Path) -> Vec<Issue> {
    let (mut texts, mut issues, mut left) = (Vec::new(), Vec::new(), OCTETS_MAX);
    let hint = "name a file of rules for global titles; all of them have 256 MiB at most";
    for (n, name) in section.translation_files.iter().enumerate() {
        match text(directory, name, left, hint) {
            Ok((_, text)) => {
                left = left.saturating_sub(text.len());
                texts.push((name.clone(), text));
            }
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
    let read = text(directory, name, OCTETS_MAX, hint);
    let (shown, text) = read.map_err(|(what, hint)| Issue::new(at, what, hint))?;
    Subscribers::parse(&text)
        .map_err(|it| Issue::new(at, format!("{shown}, line {}: {}", it.line, it.what), hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn files_are_regular_ones_and_read_as_far_as_they_may_be_long_and_nothing_of_them_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        fs::write(at("key"), "secret\n").unwrap();
        fs::write(at("rules.csv"), "digits,targets\n44,2-100-3/8\n").unwrap();
        let told = |name: &str| {
            let text = format!(
                "name = \"a\"\npoint_codes = [\"2-100-1\"]\ntranslation_files = [{name:?}]\n"
            );
            let mut section: Sgc = toml::from_str(&text).unwrap();
            let issues = translations(&mut section, folder.path()).into_iter();
            issues.map(|it| it.what).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told("rules.csv"), "");
        for name in ["fifo", "/dev/zero", "."] {
            assert!(told(name).contains("it is no regular file"), "{name}: {}", told(name));
        }
        assert_eq!(told("key"), "key, line 1: column 1 is none of a rule");
        let cut = text(folder.path(), "rules.csv", 27, "").unwrap_err();
        assert!(cut.0.ends_with("the file is longer than 27 octets"), "{cut:?}");
    }
}
