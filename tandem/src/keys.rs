//! The key files of a site: read by their owner only.

use authentication::{Keys, Password};
use config::Issue;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Octets of a key file at most.
const FILE_BYTES_MAX: u64 = 8_192;
/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;

/// Why a key file is not used, and what to do.
#[derive(Debug)]
pub struct Unusable {
    what: String,
    mend: &'static str,
}

impl Unusable {
    /// As an issue of the key at `path`.
    pub fn issue(&self, path: impl Into<String>) -> Issue {
        Issue::new(path.into(), self.what.clone(), self.mend)
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.mend)
    }
}

/// The keys of the file `name` in `directory`.
///
/// # Errors
/// It cannot be read, others than its owner may read it, or it holds no good keys.
pub fn read(directory: &Path, name: &str) -> Result<Keys, Unusable> {
    let text = text(directory, name)?;
    Keys::parse(&text).map_err(|error| Unusable {
        what: format!("{name}: {error}"),
        mend: "write one key a line, as `openssl rand -base64 32` makes it",
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
    let path = directory.join(name);
    let unreadable = |error: std::io::Error| Unusable {
        what: format!("{} cannot be read: {error}", path.display()),
        mend: "make it: `(umask 077; openssl rand -base64 32 > FILE)`, and copy it to the others",
    };
    let file = File::open(&path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & OTHERS != 0 {
        let what = format!(
            "{} has mode {:04o}: others than its owner may use it",
            path.display(),
            mode & 0o7777
        );
        return Err(Unusable { what, mend: "chmod 600, and make a new key if others had it" });
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
        assert!(refused("none").contains("cannot be read"));
        let write = |text: &str, mode: u32| {
            let path = folder.path().join("key");
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
}
