//! The sites that run on this machine, and which of their sockets may be believed.

use crate::listen::lives;
use crate::{CONNECT, folders, site_name};
use driver::privilege::owners;
use driver::unix_socket::{self, own_user};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Sites of one machine that are listed at most.
const SITES_MAX: usize = 1_024;
/// Rights of others to write.
const OTHERS_WRITE: u32 = 0o022;
/// Between two attempts at a socket whose queue is full.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// A site that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its socket.
    pub path: PathBuf,
    /// The user whose it is.
    pub owner: u32,
    /// Whether this user may ask it.
    pub is_ours: bool,
}

/// Control sockets of the folders of this machine, with the names of their sites.
fn sockets() -> impl Iterator<Item = (String, PathBuf)> {
    let files = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().take(SITES_MAX);
    folders::all().into_iter().flat_map(files).flatten().filter_map(|file| {
        let name = file.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".sock"))?;
        Some((site_name(name), file.path()))
    })
}

/// The sites that run on this machine, by name. A socket that cannot be believed is left out:
/// [`doubted`] tells of those.
#[must_use]
pub fn sites() -> Vec<Found> {
    let mut found = Vec::new();
    for (name, path) in sockets() {
        let Some(owner) = trusted(&path, None).filter(|_| lives(&path)) else { continue };
        let is_ours = own_user() == 0 || own_user() == owner;
        found.push(Found { name, path, owner, is_ours });
    }
    found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    found.dedup_by(|a, b| a.path == b.path);
    found
}

/// Names of sites whose sockets somebody listens at and nobody may believe, and why, in words.
#[must_use]
pub fn doubted() -> Vec<(String, String)> {
    let doubt = |(name, path): (String, PathBuf)| {
        let why = doubt(&path).filter(|_| lives(&path))?;
        Some((name, why))
    };
    let mut found: Vec<(String, String)> = sockets().filter_map(doubt).collect();
    found.sort();
    found.dedup();
    found
}

/// Why a control socket is not believed, in words for who can mend it; `None`: it is, or it is no
/// socket.
#[must_use]
pub fn doubt(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok().filter(|about| about.file_type().is_socket())?;
    if trusted(path, None).is_some() {
        return None;
    }
    let (path, folder) = (path.display(), path.parent()?);
    let around = fs::metadata(folder).ok()?;
    let (mode, folder) = (around.mode(), folder.display());
    if mode & OTHERS_WRITE != 0 {
        let mode = mode & 0o7777;
        return Some(format!(
            "the control socket {path} is not asked: others may write into its folder (mode \
             {mode:o}). `chmod go-w {folder}`, or let TANDEM_RUN name a folder of your own"
        ));
    }
    let (socket, around) = (about.uid(), around.uid());
    Some(format!(
        "the control socket {path} is not asked: it is user {socket}'s, in a folder of user \
         {around}"
    ))
}

/// The owner of a control socket that may be believed: the user whose site it is known to be
/// (`whose`), nobody else; of a site that nobody knows, root, this user, or the user to whom root
/// gave its folder. None may stand where others write.
#[must_use]
pub fn trusted(path: &Path, whose: Option<u32>) -> Option<u32> {
    let about = fs::symlink_metadata(path).ok().filter(|about| about.file_type().is_socket())?;
    let folder = path.parent()?;
    let around = fs::metadata(folder).ok()?;
    if around.mode() & OTHERS_WRITE != 0 {
        return None;
    }
    let is_close = |user: u32| user == 0 || user == own_user() || Some(user) == whose;
    // Root gives a folder where nobody else makes one: not in /tmp.
    let is_given = || {
        let above = folder.parent();
        let is_closed = above
            .and_then(|above| fs::metadata(above).ok())
            .is_some_and(|about| about.mode() & OTHERS_WRITE == 0);
        let above = above.map(owners);
        is_closed && above.is_some_and(|found| found.is_ok_and(|owners| owners.is_empty()))
    };
    let may_place = is_close(around.uid()) || is_given();
    let is_its = match whose {
        Some(user) => about.uid() == user,
        None => is_close(about.uid()) || (about.uid() == around.uid() && is_given()),
    };
    (may_place && is_its).then_some(about.uid())
}

/// Connects to a socket, and asks the kernel whether its owner listens there; `whose` as in
/// [`trusted`].
///
/// # Errors
/// The kernel's; `PermissionDenied`: the socket cannot be believed, or another listens at it.
pub fn connect(path: &Path, whose: Option<u32>) -> io::Result<UnixStream> {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let owner = trusted(path, whose).ok_or_else(|| match fs::symlink_metadata(path) {
        Err(error) => error,
        Ok(_) => denied(),
    })?;
    let until = Instant::now() + CONNECT;
    let stream = loop {
        match unix_socket::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            done => break done?,
        }
    };
    let user = unix_socket::user_of(&stream)?;
    // Nor root: what the path leads to may have been changed since.
    if user != owner {
        return Err(denied());
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::os::unix::net::UnixListener;

    /// A folder that only its owner writes, with a socket in it.
    fn socket() -> (tempfile::TempDir, PathBuf, UnixListener) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edge.sock");
        let listener = UnixListener::bind(&path).unwrap();
        (folder, path, listener)
    }

    #[test]
    fn a_socket_of_this_user_is_believed_and_one_where_others_write_is_not() {
        let (folder, path, _listener) = socket();
        assert_eq!(trusted(&path, None), Some(own_user()));
        assert!(connect(&path, None).is_ok());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(trusted(&path, None), None);
        let refused = connect(&path, None).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn who_is_not_believed_is_told_why() {
        let (folder, path, _listener) = socket();
        assert_eq!(doubt(&path), None);
        assert_eq!(doubt(&folder.path().join("none.sock")), None);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let why = doubt(&path).unwrap();
        assert!(why.contains("(mode 1777)") && why.contains("chmod go-w"), "{why}");
        if own_user() != 0 {
            return; // files are given away by root alone
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        chown(&path, Some(4_242), None).unwrap();
        let why = doubt(&path).unwrap();
        assert!(why.contains("it is user 4242's"), "{why}");
    }

    #[test]
    fn a_stranger_s_socket_is_believed_only_where_root_gave_him_the_folder() {
        if own_user() != 0 {
            return; // files are given away by root alone
        }
        let (folder, path, _listener) = socket();
        chown(&path, Some(4_242), None).unwrap();
        assert_eq!(trusted(&path, None), None, "he has not the folder");
        assert_eq!(trusted(&path, Some(4_242)), Some(4_242), "the site is known to be his");
        let refused = connect(&path, Some(4_242)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "root listens at his path");
        let (_folder, roots, _roots) = socket();
        assert_eq!(trusted(&roots, Some(0)), Some(0));
        assert_eq!(trusted(&roots, Some(4_242)), None, "it is not his");
        // Root alone decides what the path leads to, and has given the folder to him.
        chown(folder.path(), Some(4_242), None).unwrap();
        assert_eq!(trusted(&path, None), None, "anybody makes a folder in /tmp");
        let run = tempfile::tempdir().unwrap();
        let given = run.path().join("4242");
        fs::create_dir(&given).unwrap();
        chown(&given, Some(4_242), None).unwrap();
        let given = given.join("edge.sock");
        let _given = UnixListener::bind(&given).unwrap();
        chown(&given, Some(4_242), None).unwrap();
        assert_eq!(trusted(&given, None), Some(4_242));
        // In a folder of his own choice he is nobody.
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        chown(&inner, Some(4_242), None).unwrap();
        let inner = inner.join("edge.sock");
        let _other = UnixListener::bind(&inner).unwrap();
        chown(&inner, Some(4_242), None).unwrap();
        assert_eq!(trusted(&inner, None), None);
    }

    #[test]
    fn what_is_no_socket_or_not_there_is_not_found() {
        let (folder, path, listener) = socket();
        let file = folder.path().join("file.sock");
        fs::write(&file, "").unwrap();
        assert_eq!(trusted(&file, None), None);
        assert!(lives(&path));
        drop(listener);
        assert!(!lives(&path), "nobody listens any more");
        let none = connect(&folder.path().join("none.sock"), None).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }
}
