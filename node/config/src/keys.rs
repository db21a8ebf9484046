//! The files that a site file names: where they are, and the keys in those that their owner alone
//! may read.

use crate::Issue;
use authentication::{Keys, Password};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Octets of a key file at most.
const FILE_BYTES_MAX: u64 = 8_192;
/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;

/// Why a file is not used, and what to do.
#[derive(Debug)]
pub struct Unusable {
    what: String,
    hint: String,
}

impl Unusable {
    /// As an issue of the key at `path`.
    #[must_use]
    pub fn issue(&self, path: impl Into<String>) -> Issue {
        Issue::new(path.into(), &*self.what, &*self.hint)
    }

    /// A file that does not open, or not to its end. `make` makes it: a command that prints it.
    #[must_use]
    pub fn unread(directory: &Path, name: &str, error: &io::Error, make: &str) -> Self {
        let path = located(directory, name);
        let what = format!("{} cannot be read: {error}", path.display());
        let hint = match error.kind() {
            io::ErrorKind::NotFound => absent(directory, name, make),
            io::ErrorKind::PermissionDenied => {
                let user = driver::privilege::acting();
                let path = quoted(&path);
                format!("chown {user} {path}, and let {user} into the folders above it")
            }
            _ => String::new(),
        };
        Self { what, hint }
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.hint)
    }
}

/// Where a file of the site file is: every relative path is one of the site's directory.
#[must_use]
pub fn located(directory: &Path, name: &str) -> PathBuf {
    directory.join(name)
}

/// A path as a word of a shell's command line.
#[must_use]
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"@%_+=:,./-".contains(&b);
    match !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain) {
        true => text,
        false if text.starts_with('-') => format!("'./{}'", text.replace('\'', "'\\''")),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Whether a relative path leads to a file from the folder in which the program was started only.
#[must_use]
pub fn is_misplaced(directory: &Path, name: &str) -> bool {
    Path::new(name).is_relative() && Path::new(name).exists() && !located(directory, name).exists()
}

/// What to do where there is no such file.
fn absent(directory: &Path, name: &str, make: &str) -> String {
    let path = located(directory, name);
    if is_misplaced(directory, name) {
        let folder = directory.display();
        return format!(
            "paths are relative to the site's directory, {folder}, not to where tandem is started: \
             move it there, or write its whole path"
        );
    }
    if make.is_empty() {
        return format!("paths are relative to the site's directory, {}", directory.display());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = parent.filter(|parent| !parent.exists());
    let first = folder.map(|it| format!("mkdir -m 700 -p {}; ", quoted(it))).unwrap_or_default();
    let last = driver::privilege::became().map(|user| {
        let given = quoted(folder.unwrap_or(&path));
        format!("; chown -R {user} {given}")
    });
    let last = last.unwrap_or_default();
    format!("{first}(umask 077; {make} > {}){last}", quoted(&path))
}

/// The keys of the file `name` in `directory`.
///
/// # Errors
/// It cannot be read, others than its owner may read it, or it holds no good keys.
pub fn read(directory: &Path, name: &str) -> Result<Keys, Unusable> {
    let text = text(directory, name)?;
    Keys::parse(&text).map_err(|error| Unusable {
        what: format!("{name}: {error}"),
        hint: "write one key a line, as `openssl rand -base64 32` makes it".to_owned(),
    })
}

/// The same keys as they stand in the file: where a protocol carries them.
///
/// # Errors
/// As for [`read`].
pub fn passwords(directory: &Path, name: &str) -> Result<Vec<Password>, Unusable> {
    read(directory, name)?;
    let text = text(directory, name)?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(Password::new).collect())
}

/// The text of such a file.
///
/// # Errors
/// It cannot be read, or others than its owner may read it.
pub fn text(directory: &Path, name: &str) -> Result<String, Unusable> {
    text_of(directory, name, "openssl rand -base64 32")
}

/// The text of such a file, which `make` makes: commands of which the last one prints it.
///
/// # Errors
/// As for [`text`].
pub fn text_of(directory: &Path, name: &str, make: &str) -> Result<String, Unusable> {
    let path = located(directory, name);
    let unreadable = |error: io::Error| Unusable::unread(directory, name, &error, make);
    let file = File::open(&path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & OTHERS != 0 {
        let word = quoted(&path);
        let path = path.display();
        let what =
            format!("{path} has mode {:04o}: others than its owner may use it", mode & 0o7777);
        let hint = format!("chmod 600 {word}, and make a new key if others had it");
        return Err(Unusable { what, hint });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    #[test]
    fn a_key_file_is_its_owners_alone_and_has_good_keys() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str| read(folder.path(), name).unwrap_err().to_string();
        let path = folder.path().join("key");
        let missing = refused("key");
        let command = format!("(umask 077; openssl rand -base64 32 > {})", path.display());
        assert!(missing.contains("cannot be read") && missing.ends_with(&command), "{missing}");
        let deeper = refused("keys/key");
        let folder_first = format!(": mkdir -m 700 -p {}; (", folder.path().join("keys").display());
        assert!(deeper.contains(&folder_first), "{deeper}");
        let write = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        for mode in [0o644, 0o640, 0o604, 0o606] {
            write("0123456789abcdef\n", mode);
            assert!(refused("key").contains("chmod 600"), "{mode:o}");
        }
        write("short\n", 0o600);
        assert!(refused("key").contains("line 1"));
        write("0123456789abcdef\n", 0o400);
        assert!(read(folder.path(), "key").is_ok());
        let expected = [Password::new("0123456789abcdef")];
        assert_eq!(passwords(folder.path(), "key").unwrap(), expected);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell_whatever_stands_in_it() {
        let word = |text: &str| quoted(Path::new(text));
        assert_eq!(word("/etc/tandem/site.toml"), "/etc/tandem/site.toml");
        assert_eq!(word("/var/my site/$(x)"), "'/var/my site/$(x)'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word("-rf"), "'./-rf'");
        assert_eq!(word(""), "''");
        let folder = tempfile::tempdir().unwrap();
        let missing = read(folder.path(), "my keys/a key").unwrap_err().to_string();
        let path = folder.path().join("my keys");
        assert!(missing.contains(&format!("mkdir -m 700 -p '{}'; ", path.display())), "{missing}");
        assert!(missing.contains(&format!("> '{}/a key')", path.display())), "{missing}");
    }

    #[test]
    fn a_path_is_one_of_the_sites_directory_and_not_of_where_the_program_is_started() {
        let folder = tempfile::tempdir().unwrap();
        // The tests of a package are started in its folder.
        assert!(Path::new("Cargo.toml").exists() && is_misplaced(folder.path(), "Cargo.toml"));
        let refused = read(folder.path(), "Cargo.toml").unwrap_err().to_string();
        assert!(refused.contains("not to where tandem is started"), "{refused}");
        let whole = Path::new("/etc/tandem.key");
        assert_eq!(located(folder.path(), "/etc/tandem.key"), whole);
        assert!(!is_misplaced(folder.path(), "/etc/tandem.key"));
    }
}
