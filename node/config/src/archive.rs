//! Where revisions are kept: a folder with one file per revision and an index, and the site file
//! itself. Revisions hold passwords: the folder is 0700, what is in it 0600. Every write goes to a
//! temporary file first, is synced, and is renamed into place.

use crate::{Links, SITE_BYTES_MAX, read_regular};
use driver::{privilege, unix_socket};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Why a revision exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The site file as the process found it at its start.
    Start,
    /// A commit.
    Commit,
    /// A commit that had to be confirmed.
    CommitConfirmed,
    /// An operator's rollback.
    Rollback,
    /// A commit was not confirmed in time.
    Expired,
    /// The site file was edited by hand, and the process told to read it (SIGHUP).
    Reload,
}

/// What became of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It holds, or held until another one followed.
    #[default]
    Confirmed,
    /// It runs and waits for its confirmation.
    Pending,
    /// Nobody confirmed it: no rollback goes there unless its number is given.
    NotConfirmed,
    /// An operator went back from it.
    RolledBack,
}

/// A revision without its text, as the history lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number; numbers only grow.
    pub revision: u64,
    /// When it began to run, microseconds since the UNIX epoch.
    pub at_us: u64,
    /// Why it exists.
    pub cause: Cause,
    /// The revision whose text it took up again, for rollbacks.
    pub of: Option<u64>,
    /// Who wanted it: the name of a token; none for what nobody asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What they said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What became of it.
    #[serde(default)]
    pub state: State,
}

/// The store behind the machine; tests put a failing one here.
pub trait Archive: Send {
    /// Every kept revision, oldest first.
    ///
    /// # Errors
    /// What the disk says.
    fn list(&self) -> io::Result<Vec<Entry>>;

    /// The text of a kept revision.
    ///
    /// # Errors
    /// `NotFound`, or what the disk says.
    fn text(&self, revision: u64) -> io::Result<String>;

    /// Keeps a revision durably.
    ///
    /// # Errors
    /// What the disk says; nothing is kept then.
    fn keep(&mut self, entry: &Entry, text: &str) -> io::Result<()>;

    /// Writes again what is known of a kept revision, found by its number.
    ///
    /// # Errors
    /// What the disk says; the old entry stands then.
    fn record(&mut self, entry: &Entry) -> io::Result<()>;

    /// Forgets revisions.
    ///
    /// # Errors
    /// What the disk says; nothing is forgotten then.
    fn forget(&mut self, revisions: &[u64]) -> io::Result<()>;

    /// Replaces the site file, so that the next start runs this text.
    ///
    /// # Errors
    /// What the disk says; the site file is untouched then.
    fn publish(&mut self, text: &str) -> io::Result<()>;

    /// The text of the site file, which an operator may have edited.
    ///
    /// # Errors
    /// What the disk says; `PermissionDenied`: it has become another user's to write.
    fn published(&self) -> io::Result<String>;
}

/// The archive on disk.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    site_file: PathBuf,
    /// The users but root who decided what it holds at the start.
    owners: BTreeSet<u32>,
}

impl Disk {
    /// Opens (or makes) `directory`; `site_file` is followed if it is a symbolic link.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open(directory: &Path, site_file: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        tighten(directory)?;
        let site_file = fs::canonicalize(site_file)?;
        let owners = privilege::owners(&site_file)?;
        Ok(Self { directory: directory.to_owned(), site_file, owners })
    }

    fn file(&self, revision: u64) -> PathBuf {
        self.directory.join(format!("{revision:08}.toml"))
    }

    fn index(&self) -> PathBuf {
        self.directory.join("history.json")
    }

    fn write_index(&self, entries: &[Entry]) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(entries)?;
        write_atomic(&self.index(), &text)
    }
}

impl Archive for Disk {
    fn list(&self) -> io::Result<Vec<Entry>> {
        match fs::read(self.index()) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn text(&self, revision: u64) -> io::Result<String> {
        fs::read_to_string(self.file(revision))
    }

    fn keep(&mut self, entry: &Entry, text: &str) -> io::Result<()> {
        write_atomic(&self.file(entry.revision), text.as_bytes())?;
        let mut entries = self.list()?;
        entries.push(entry.clone());
        self.write_index(&entries)
    }

    fn record(&mut self, entry: &Entry) -> io::Result<()> {
        let mut entries = self.list()?;
        let known = entries.iter_mut().filter(|old| old.revision == entry.revision);
        known.for_each(|old| *old = entry.clone());
        self.write_index(&entries)
    }

    fn forget(&mut self, revisions: &[u64]) -> io::Result<()> {
        let mut entries = self.list()?;
        entries.retain(|old| !revisions.contains(&old.revision));
        self.write_index(&entries)?;
        for &revision in revisions {
            // The index is the truth: a text that it does not name is overwritten or ignored.
            let _ = fs::remove_file(self.file(revision));
        }
        Ok(())
    }

    fn publish(&mut self, text: &str) -> io::Result<()> {
        write_atomic(&self.site_file, text.as_bytes())
    }

    fn published(&self) -> io::Result<String> {
        let (text, _) = read_regular(&self.site_file, SITE_BYTES_MAX, Links::Followed)?;
        // A start obeys nobody else's file; nor does a process that runs.
        let own = unix_socket::own_user();
        let mut owners = privilege::owners(&self.site_file)?.into_iter();
        match owners.find(|user| *user != own && !self.owners.contains(user)) {
            None => Ok(text),
            Some(user) => {
                let what = format!(
                    "user {user} may write the site file or a folder on the way to it, and could \
                     not when this site was started"
                );
                Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
            }
        }
    }
}

/// Takes from others what an older version left open to them.
fn tighten(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for found in fs::read_dir(directory)? {
        let found = found?;
        if found.file_type()?.is_file() {
            fs::set_permissions(found.path(), Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Replaces `path` by `bytes` so that a crash at any moment leaves the old or the new content.
///
/// A file that was there keeps its mode; a new one is its owner's alone.
///
/// # Errors
/// What the disk says; `path` is untouched then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = folder.join(name);
    let written = (|| {
        // What a crash left behind may have another's mode, or be a link.
        let _ = fs::remove_file(&temporary);
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_site_file_that_became_a_strangers_is_not_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site.toml");
        fs::write(&site, "first").unwrap();
        let disk = Disk::open(&folder.path().join("config"), &site).unwrap();
        assert_eq!(disk.published().unwrap(), "first");
        if !privilege::is_root() {
            return; // files are given away by root alone
        }
        for given in [site.as_path(), folder.path()] {
            chown(given, Some(4_242), None).unwrap();
            let refused = disk.published().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(refused.to_string().starts_with("user 4242 may write the site file"));
            chown(given, Some(0), None).unwrap();
        }
        assert_eq!(disk.published().unwrap(), "first");
        // Whose it was at the start, his it may be.
        chown(&site, Some(4_242), None).unwrap();
        let disk = Disk::open(&folder.path().join("config"), &site).unwrap();
        assert_eq!(disk.published().unwrap(), "first");
    }

    #[test]
    fn revisions_are_their_owners_alone_and_the_site_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (site, kept) = (folder.path().join("site.toml"), folder.path().join("config"));
        fs::write(&site, "old").unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("history.json"), "[]").unwrap();
        fs::set_permissions(kept.join("history.json"), Permissions::from_mode(0o644)).unwrap();
        let mut disk = Disk::open(&kept, &site).unwrap();
        assert_eq!((mode(&kept), mode(&kept.join("history.json"))), (0o700, 0o600));
        let entry = Entry {
            revision: 1,
            at_us: 0,
            cause: Cause::Commit,
            of: None,
            by: None,
            comment: None,
            state: State::Confirmed,
        };
        disk.keep(&entry, "password").unwrap();
        assert_eq!(mode(&disk.file(1)), 0o600);
        for given in [0o600, 0o640, 0o644] {
            fs::set_permissions(&site, Permissions::from_mode(given)).unwrap();
            disk.publish("new").unwrap();
            assert_eq!(mode(&site), given);
        }
        // A file of a crash, readable for all, hands its mode on to nobody.
        let leftover = kept.join("00000002.toml.new");
        fs::write(&leftover, "").unwrap();
        fs::set_permissions(&leftover, Permissions::from_mode(0o666)).unwrap();
        disk.keep(&Entry { revision: 2, ..entry }, "password").unwrap();
        assert_eq!(mode(&disk.file(2)), 0o600);
    }
}
