//! What comes with the binary in every package: what it says of itself, and the example of a site.

use super::tree::Tree;
use super::{Release, said};
use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// The site that stands in the sources, and where the package has it.
const EXAMPLE: &str = "docs/site.toml";
/// Where the example is installed; systemd-tmpfiles copies it to where it is used.
pub const INSTALLED_EXAMPLE: &str = "usr/share/tandem/example/site.toml";
/// Shells, and where each looks for completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/tandem"),
    ("fish", "usr/share/fish/vendor_completions.d/tandem.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_tandem"),
];

/// Compressed, with neither time nor name in it (RFC 1952 §2.3).
pub fn gzip(octets: &[u8]) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    writer.write_all(octets)?;
    Ok(writer.finish()?)
}

/// Adds the man pages and the completions, which `binary` prints.
pub fn printed(binary: &Path, tree: &mut Tree) -> Result<()> {
    // A name with no slash would be looked for in PATH.
    let binary = binary.canonicalize()?;
    let folder = tempfile::tempdir()?;
    said(Command::new(&binary).arg("man").arg(folder.path()))?;
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a page has a name")?;
        let page = gzip(&fs::read(entry.path())?)?;
        tree.file(&format!("usr/share/man/man1/{name}.gz"), 0o644, page);
    }
    for (shell, place) in COMPLETIONS {
        let script = said(Command::new(&binary).args(["completion", shell]))?;
        ensure!(!script.is_empty(), "there is no completion for {shell}");
        tree.file(place, 0o644, script);
    }
    Ok(())
}

/// The example of a site as it is installed.
pub fn example(release: &Release) -> Result<String> {
    installed(&fs::read_to_string(release.root.join(EXAMPLE))?)
}

/// The example with the paths of an installation.
fn installed(text: &str) -> Result<String> {
    let mut text = text.to_owned();
    for (there, here) in [
        (EXAMPLE, "/etc/tandem/example/site.toml"),
        ("\"var/example\" ", "\"/var/lib/tandem/example\" "),
        ("var/example/", "/var/lib/tandem/example/"),
        ("; relative to this file", ""),
    ] {
        ensure!(text.contains(there), "{EXAMPLE} no longer says {there}");
        text = text.replace(there, here);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_the_paths_of_an_installation() {
        let text = "# docs/site.toml\ndirectory = \"var/example\" # token; relative to this file\n\
            # in var/example/tls\n";
        let wanted = "# /etc/tandem/example/site.toml\n\
            directory = \"/var/lib/tandem/example\" # token\n\
            # in /var/lib/tandem/example/tls\n";
        assert_eq!(installed(text).expect("all is there"), wanted);
        assert!(installed("directory = \"elsewhere\"").is_err());
    }
}
