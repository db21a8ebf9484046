//! A private file that a function appends to: keys for analysers. Nobody but its owner may read it
//! (mode 0600), and no link leads to it; where another file stands in its place nothing is written.
//!
//! ```text
//! Effects::connect(PrivateFile) → opened, or made · Effects::write → appended · the file is whole
//!                                                                     after each write
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

use channel::{Absent, Came, Channel, Connect};
use driver::Waker;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Octets of a file, beyond which nothing more is written to it.
const OCTETS_MAX: u64 = 1 << 30;
/// For its owner alone.
const MODE: u32 = 0o600;

/// The way to a private file, which is made where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile(
    /// Its path.
    pub PathBuf,
);

impl Connect for PrivateFile {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let opened = open(&self.0).map_err(|why| Absent::Failed(why.to_string()))?;
        Ok(Box::new(opened))
    }
}

/// A file that is open. It never says anything.
struct Open {
    file: File,
    /// What is watched in the place of a file, which cannot be.
    silence: Waker,
}

fn open(path: &Path) -> io::Result<Open> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(MODE).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.nlink() != 1 {
        return Err(io::Error::other("it is no file of its own"));
    }
    if about.uid() != driver::doorway::own_user() {
        return Err(io::Error::other("it is another user's"));
    }
    if about.mode() & 0o077 != 0 {
        let mode = about.mode() & 0o777;
        return Err(io::Error::other(format!("others may read it: its mode is {mode:04o}")));
    }
    Ok(Open { file, silence: Waker::new()? })
}

impl Channel for Open {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.silence.as_fd()
    }

    fn read(&mut self, _take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        Ok(())
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        let octets = self.file.metadata().map_err(|error| error.to_string())?.len();
        if octets.saturating_add(messages.len() as u64) > OCTETS_MAX {
            return Err("it is full (1 GiB)".to_owned());
        }
        self.file.write_all(&messages).map_err(|error| error.to_string())
    }

    fn waits(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn written(path: &Path, text: &[u8]) -> Result<(), String> {
        let way = PrivateFile(path.to_owned());
        let mut channel = way.connect().map_err(|absent| match absent {
            Absent::Failed(why) => why,
            Absent::Starting => "starting".to_owned(),
        })?;
        assert!(!channel.waits());
        channel.write(text.to_vec())
    }

    #[test]
    fn a_file_is_made_for_its_owner_alone_and_appended_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        written(&path, b"one\n").expect("it is made");
        written(&path, b"two\n").expect("it is there");
        assert_eq!(fs::read(&path).expect("it is there"), b"one\ntwo\n");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, MODE);
    }

    #[test]
    fn nothing_is_written_to_what_others_may_read_or_to_what_stands_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("open"), b"").expect("it is written");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o640)).expect("it is ours");
        assert!(written(&at("open"), b"x").expect_err("it is open").contains("0640"));
        written(&at("own"), b"").expect("it is made");
        symlink(at("own"), at("link")).expect("a link");
        assert!(written(&at("link"), b"x").is_err());
        fs::hard_link(at("own"), at("hard")).expect("a link");
        assert!(written(&at("hard"), b"x").is_err());
        assert!(written(folder.path(), b"x").is_err());
        assert_eq!(fs::read(at("own")).expect("it is there"), b"");
    }
}
