//! A private file that a function appends to: keys for analysers. Nobody but its owner may read it
//! (mode 0600), and no link leads to it; where another file stands in its place nothing is written.
//!
//! ```text
//! Effects::connect(PrivateFile) → opened, or made; looked at
//! Effects::write → the writer's thread → appended
//! ```
//! One thread of the process appends to all files: no shard waits for a disk. What it cannot append
//! ends the channel, and for a while each other one to that file.
//!
//! [`RecordFiles`] are files of records that are finished by size and time, for others to collect.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod record_writer;
mod records;
mod writer;

pub use records::{COUNTS_OCTETS, RecordFiles};

use channel::{Absent, Came, Channel, Connect};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writer::Outcome;

/// Octets of a file, beyond which nothing more is written to it.
const OCTETS_MAX: u64 = 1 << 30;
/// For its owner alone.
const MODE: u32 = 0o600;
/// Octets by which files are told apart.
const HEAD_OCTETS: usize = 64;

/// The way to a private file, which is made where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    /// Its path.
    pub path: PathBuf,
    /// How a file begins that may be appended to, unless it is empty: another one that happens to
    /// be ours is not spoilt.
    pub begins: &'static [&'static [u8]],
}

impl Connect for PrivateFile {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        if let Some(why) = writer::has_failed(&self.path) {
            return Err(Absent::Failed(why));
        }
        let opened = self.open().map_err(|why| Absent::Failed(why.to_string()))?;
        Ok(Box::new(opened))
    }
}

/// A file that is open. It says nothing but that it cannot be appended to.
struct Open {
    file: Arc<File>,
    path: PathBuf,
    told: Arc<Outcome>,
}

impl PrivateFile {
    fn open(&self) -> io::Result<Open> {
        sheltered(&self.path)?;
        let mut options = OpenOptions::new();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        options.read(true).append(true).create(true).mode(MODE).custom_flags(flags);
        let file = options.open(&self.path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.nlink() != 1 {
            return Err(io::Error::other("it is no file of its own"));
        }
        if about.uid() != driver::unix_socket::own_user() {
            return Err(io::Error::other("it is another user's"));
        }
        if about.mode() & 0o077 != 0 {
            let mode = about.mode() & 0o777;
            return Err(io::Error::other(format!("others may read it: its mode is {mode:04o}")));
        }
        let mut head = [0; HEAD_OCTETS];
        let octets = file.read_at(&mut head, 0)?;
        if octets > 0 && !self.begins.iter().any(|begin| head[..octets].starts_with(begin)) {
            return Err(io::Error::other("it holds something else: it is not written to"));
        }
        Ok(Open { file: Arc::new(file), path: self.path.clone(), told: Arc::new(Outcome::new()?) })
    }
}

/// Whether nobody else may put another file in its place.
fn sheltered(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|_| path.is_absolute());
    let folder = folder.ok_or_else(|| io::Error::other("it is no path from the root"))?;
    let about = folder.metadata()?;
    let is_kept = about.uid() == driver::unix_socket::own_user() || about.uid() == 0;
    // In a folder as /tmp nobody moves files of others away.
    let is_open = about.mode() & 0o022 != 0 && about.mode() & libc::S_ISVTX == 0;
    if is_kept && !is_open {
        return Ok(());
    }
    Err(io::Error::other("others may write in its folder"))
}

impl Channel for Open {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.told.descriptor()
    }

    fn read(&mut self, _take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        self.told.why().map_or(Ok(()), Err)
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        let octets = self.file.metadata().map_err(|error| error.to_string())?.len();
        if octets.saturating_add(messages.len() as u64) > OCTETS_MAX {
            return Err("it is full (1 GiB)".to_owned());
        }
        writer::append(&self.file, &self.path, messages, &self.told)
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
    use std::time::{Duration, Instant};

    /// For what a thread does.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn written(path: &Path, text: &[u8]) -> Result<(), String> {
        let way = PrivateFile { path: path.to_owned(), begins: &[b"one", b"x"] };
        let mut channel = way.connect().map_err(|absent| match absent {
            Absent::Failed(why) => why,
            Absent::Starting => "starting".to_owned(),
        })?;
        assert!(!channel.waits());
        channel.write(text.to_vec())
    }

    /// The file has that text in the end.
    fn holds(path: &Path, text: &[u8]) {
        let end = Instant::now() + PATIENCE;
        while fs::read(path).expect("it is there") != text {
            assert!(Instant::now() < end, "{:?}", fs::read(path));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_file_is_made_for_its_owner_alone_and_appended_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        written(&path, b"one\n").expect("it is made");
        holds(&path, b"one\n");
        written(&path, b"two\n").expect("it is there");
        holds(&path, b"one\ntwo\n");
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
        assert!(written(Path::new("keys"), b"x").expect_err("a place").contains("root"));
    }

    #[test]
    fn another_file_of_ours_is_not_spoilt_and_a_folder_of_all_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = folder.path().join("site.toml");
        fs::write(&site, b"[site]\n").expect("it is written");
        fs::set_permissions(&site, fs::Permissions::from_mode(0o600)).expect("it is ours");
        assert!(written(&site, b"x").expect_err("a site").contains("something else"));
        assert_eq!(fs::read(&site).expect("it is there"), b"[site]\n");
        let place = folder.path().join("place");
        fs::create_dir(&place).expect("a folder");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).expect("it is ours");
        assert!(written(&place.join("keys"), b"x").expect_err("open").contains("its folder"));
        fs::set_permissions(&place, fs::Permissions::from_mode(0o1777)).expect("it is ours");
        written(&place.join("keys"), b"x").expect("as in /tmp");
        holds(&place.join("keys"), b"x");
    }

    #[test]
    fn what_cannot_be_appended_ends_the_channel_and_the_next_ones() {
        let way = PrivateFile { path: PathBuf::from("/dev/shm/none"), begins: &[] };
        let file = Arc::new(File::open("/dev/null").expect("it is there")); // for reading alone
        let told = Arc::new(Outcome::new().expect("a bell"));
        let mut open = Open { file, path: way.path.clone(), told };
        open.write(b"x".to_vec()).expect("it is taken");
        let end = Instant::now() + PATIENCE;
        while open.read(&mut |_| ()).is_ok() {
            assert!(Instant::now() < end, "it is told");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(way.connect(), Err(Absent::Failed(_))));
    }
}
