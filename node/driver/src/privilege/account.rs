//! From root to a user of its own, with few of root's rights.

use caps::{CapSet, Capability, CapsHashSet, securebits};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, geteuid, initgroups, setresgid, setresuid};
use std::ffi::CString;
use std::io;
use std::path::Path;

/// What a site has use for (docs/security.md says for what); all else is given up at once.
const NEEDED: [Capability; 6] = [
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_NICE,
];

/// How long the process has the rights of `NEEDED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Until [`give_up`], which the user that it becomes may not undo.
    UntilGivenUp,
    /// As long as it lives.
    Kept,
    /// As long as it lives, and the programs that it starts have them too.
    Inherited,
}

/// A user of this machine.
#[derive(Debug, Clone)]
pub struct Account {
    name: CString,
    uid: Uid,
    gid: Gid,
}

/// Whether the process acts as root.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

impl Account {
    /// The user of that name, none if the machine has none.
    ///
    /// # Errors
    /// The machine's list of users cannot be read.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let Ok(c_name) = CString::new(name) else { return Ok(None) };
        let user = User::from_name(name)?;
        Ok(user.map(|user| Self { name: c_name, uid: user.uid, gid: user.gid }))
    }

    /// Whether the process acts as this user.
    #[must_use]
    pub fn is_own(&self) -> bool {
        geteuid() == self.uid
    }

    /// Whether it is root by another name.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.uid.is_root()
    }

    /// Makes a folder and gives it to the user; one that is there stays as it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        let ids = (Some(self.uid.as_raw()), Some(self.gid.as_raw()));
        std::os::unix::fs::chown(folder, ids.0, ids.1)
    }

    /// Becomes this user. What is asked for of the process's capabilities stays; threads that are
    /// started from now on have them as well. Called before the first thread is started: rights
    /// belong to threads.
    ///
    /// # Errors
    /// The kernel's; the process must end then, for it may have come half the way.
    pub fn become_it(&self, rights: Rights) -> io::Result<()> {
        let held = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
        let kept: CapsHashSet = NEEDED.into_iter().filter(|one| held.contains(one)).collect();
        for one in caps::read(None, CapSet::Bounding).map_err(io::Error::other)? {
            if !kept.contains(&one) {
                caps::drop(None, CapSet::Bounding, one).map_err(io::Error::other)?;
            }
        }
        initgroups(&self.name, self.gid)?;
        setresgid(self.gid, self.gid, self.gid)?;
        if rights == Rights::UntilGivenUp {
            // The saved user stays root: giving it up loses all capabilities, in all threads.
            setresuid(self.uid, self.uid, Uid::from_raw(0))?;
        } else {
            securebits::set_keepcaps(true).map_err(io::Error::other)?;
            setresuid(self.uid, self.uid, self.uid)?;
            securebits::set_keepcaps(false).map_err(io::Error::other)?;
        }
        caps::set(None, CapSet::Effective, &kept).map_err(io::Error::other)?;
        caps::set(None, CapSet::Permitted, &kept).map_err(io::Error::other)?;
        if rights == Rights::Inherited {
            caps::set(None, CapSet::Inheritable, &kept).map_err(io::Error::other)?;
            caps::set(None, CapSet::Ambient, &kept).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Gives up every capability and the way back to root, in all threads (libc tells each of them;
/// capabilities(7), "Effect of user ID changes on capabilities").
///
/// # Errors
/// The kernel's, and when a right is left: it was none of [`Account::become_it`].
pub fn give_up() -> io::Result<()> {
    let user = geteuid();
    setresuid(user, user, user)?;
    let left = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    if user.is_root() || !left.is_empty() {
        return Err(Errno::EPERM.into());
    }
    Ok(())
}
