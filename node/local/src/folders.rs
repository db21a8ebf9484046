//! Folders of control sockets.

use driver::privilege::Account;
use driver::unix_socket::own_user;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Root's, with a folder in it for each user that root becomes and for each unit of systemd.
const SYSTEM: &str = "/run/tandem";
/// Names a folder in place of all others.
const OVERRIDE: &str = "TANDEM_RUN";
/// Folders below [`SYSTEM`] that are looked into at most.
const FOLDERS_MAX: usize = 256;

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of systemd's own choice for a unit, the first where there are several.
fn of_unit() -> Option<PathBuf> {
    let all = variable("RUNTIME_DIRECTORY")?;
    all.to_str()?.split(':').next().map(PathBuf::from)
}

/// Folders of a user that is not root.
fn of_user(user: u32) -> Vec<PathBuf> {
    let session = PathBuf::from(format!("/run/user/{user}"));
    let sessions = [variable("XDG_RUNTIME_DIR"), Some(session)];
    let sessions = sessions.into_iter().flatten().filter(|folder| folder.is_dir());
    let mut all: Vec<PathBuf> = sessions.map(|folder| folder.join("tandem")).collect();
    all.push(PathBuf::from(format!("/tmp/tandem-{user}")));
    all.dedup();
    all
}

/// Makes the folder in which a site listens that root starts for that user. Called as root.
///
/// # Errors
/// The kernel's.
pub fn prepare(account: &Account) -> io::Result<()> {
    make(Path::new(SYSTEM), 0o755)?;
    account.make_folder(&Path::new(SYSTEM).join(account.uid().to_string()))
}

fn make(folder: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        // The process may have a mask that takes from the mode what others need to pass.
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(mode)),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => Ok(()),
    }
}

/// The folder in which a site of this process listens; made if absent.
pub(crate) fn own() -> io::Result<PathBuf> {
    let user = own_user();
    if let Some(folder) = variable(OVERRIDE).or_else(of_unit) {
        return Ok(folder);
    }
    if user == 0 {
        make(Path::new(SYSTEM), 0o755)?;
        return Ok(PathBuf::from(SYSTEM));
    }
    let prepared = Path::new(SYSTEM).join(user.to_string());
    if is_of(&prepared, user) {
        return Ok(prepared);
    }
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for folder in of_user(user) {
        match make(&folder, 0o700) {
            Ok(()) if is_of(&folder, user) => return Ok(folder),
            Ok(()) => refused = io::ErrorKind::PermissionDenied.into(),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Whether it is a folder, no link to one, of that user.
fn is_of(folder: &Path, user: u32) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir() && about.uid() == user)
}

/// Every folder in which sites of this machine may listen that this user may ask.
pub(crate) fn all() -> Vec<PathBuf> {
    if let Some(folder) = variable(OVERRIDE) {
        return vec![folder];
    }
    let mut folders = vec![PathBuf::from(SYSTEM)];
    let below = fs::read_dir(SYSTEM).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.extend(below.filter(|path| path.is_dir()).take(FOLDERS_MAX));
    if own_user() != 0 {
        folders.extend(of_user(own_user()));
    }
    folders
}
