//! A site's own control socket.

use crate::find::trusted;
use crate::{file_name, folders};
use driver::unix_socket;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For its owner and root alone.
const MODE: u32 = 0o600;
/// How often the folder is tried to be locked, and the pause between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Numbers that are tried where others of the same name live.
const NAMES_MAX: u32 = 64;

/// The socket that a site listens at; its file goes with it.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    /// Device and inode of its file: another site may take the name of one that is ending.
    file: (u64, u64),
}

impl ControlSocket {
    /// Listens for a site of that name. Where another of the same name lives, the number of this
    /// process is added.
    ///
    /// # Errors
    /// There is no folder for it, or what the kernel says.
    pub fn open(site: &str) -> io::Result<(Self, UnixListener)> {
        Self::within(&folders::own()?, &file_name(site))
    }

    fn within(folder: &Path, name: &str) -> io::Result<(Self, UnixListener)> {
        let _alone = alone(folder);
        sweep(folder, name);
        let number = std::process::id();
        // It listens before anybody sees its name: there is no moment at which it seems dead.
        let hidden = folder.join(format!(".{name}.{number}"));
        remove(&hidden)?;
        let listener = unix_socket::listen(&hidden, MODE)?;
        let placed = place(folder, name, number, &hidden);
        let removed = remove(&hidden);
        let path = placed?;
        removed?;
        let file = identity(&path)?;
        Ok((Self { path, file }, listener))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _alone = self.path.parent().and_then(alone);
        // A site that has stopped to listen seems dead: the name may be another's by now.
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            // Somebody has removed it: nothing is left to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|about| (about.dev(), about.ino()))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives a socket that listens the first name at which nobody does: that of the site, with the
/// number of this process, and with further ones where a process of another namespace has that.
fn place(folder: &Path, name: &str, number: u32, hidden: &Path) -> io::Result<PathBuf> {
    let more = (2..NAMES_MAX).map(|more| format!("{name}.{number}.{more}.sock"));
    let names = [format!("{name}.sock"), format!("{name}.{number}.sock")];
    for path in names.into_iter().chain(more).map(|file| folder.join(file)) {
        if lives(&path) {
            continue;
        }
        // What is left of a site that did not end by itself.
        remove(&path)?;
        match fs::hard_link(hidden, &path) {
            // Somebody who did not wait for the lock was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Keeps others of the folder from opening or closing a socket at the same time. Who may read the
/// folder could keep it locked: after a while it is gone on without.
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
        number.is_some_and(|number| number.split('.').all(|part| part.parse::<u32>().is_ok()))
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
    fn a_site_that_ends_leaves_the_socket_of_one_that_took_its_name_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (first, listener) = ControlSocket::within(folder.path(), "edge").unwrap();
        let (beside, _listens) = ControlSocket::within(folder.path(), "edge").unwrap();
        assert!(first.path().ends_with("edge.sock") && beside.path() != first.path());
        drop(listener); // it answers nobody any more, and goes on to end its functions
        let (second, _listens) = ControlSocket::within(folder.path(), "edge").unwrap();
        assert_eq!(second.path(), first.path());
        drop(first);
        assert!(lives(second.path()), "its file is there");
        let (third, _listens) = ControlSocket::within(folder.path(), "edge").unwrap();
        assert_ne!(third.path(), second.path());
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_kept_locked_holds_nobody_up_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let first = alone(folder.path());
        assert!(first.is_some() && alone(folder.path()).is_none());
    }
}
