//! A site's own control socket.

use crate::find::trusted;
use crate::{file_name, folders};
use driver::unix_socket;
use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For its owner and root alone.
const MODE: u32 = 0o600;
/// How often the folder is tried to be locked, and the pause between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// The socket that a site listens at; its file goes with it.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
}

impl Door {
    /// Listens for a site of that name. Where another of the same name lives, the number of this
    /// process is added.
    ///
    /// # Errors
    /// There is no folder for it, or what the kernel says.
    pub fn open(site: &str) -> io::Result<(Self, UnixListener)> {
        let folder = folders::own()?;
        let name = file_name(site);
        let _alone = alone(&folder);
        sweep(&folder, &name);
        let plain = folder.join(format!("{name}.sock"));
        let numbered = folder.join(format!("{name}.{}.sock", std::process::id()));
        let path = if lives(&plain) { numbered } else { plain };
        // What is left of a site that did not end by itself.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = unix_socket::listen(&path, MODE)?;
        Ok((Self { path }, listener))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Somebody has removed it: nothing is left to do.
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps others of the folder from opening a door at the same time, between whose bind(2) and
/// listen(2) nobody seems to listen. Who may read the folder could keep it locked: after a while
/// it is gone on without.
fn alone(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..TRIES {
        if file.try_lock().is_ok() {
            return Some(file);
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// Removes the numbered sockets of sites of that name that did not end by themselves.
fn sweep(folder: &Path, name: &str) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_its = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str());
        let rest = file.and_then(|file| file.strip_prefix(name)?.strip_suffix(".sock"));
        let number = rest.and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    for path in files.map(|file| file.path()).filter(is_its) {
        if trusted(&path, None).is_some() && !lives(&path) {
            // Somebody else did.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether somebody listens there.
pub(crate) fn lives(path: &Path) -> bool {
    match unix_socket::connect(path) {
        Ok(_) => true,
        // Somebody does, for others or for too many.
        Err(error) => {
            matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::WouldBlock)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_a_killed_site_left_is_removed_and_what_lives_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let _lives = UnixListener::bind(at("edge.7.sock")).unwrap();
        for left in ["edge.8.sock", "edge.old.sock", "edge2.9.sock"] {
            drop(UnixListener::bind(at(left)).unwrap());
        }
        sweep(folder.path(), "edge");
        let there = |name: &str| at(name).exists();
        assert!(there("edge.7.sock") && !there("edge.8.sock"));
        assert!(there("edge.old.sock") && there("edge2.9.sock"), "those of other names");
    }

    #[test]
    fn a_folder_that_is_kept_locked_holds_nobody_up_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let first = alone(folder.path());
        assert!(first.is_some() && alone(folder.path()).is_none());
    }
}
