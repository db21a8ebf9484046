//! From root to a user of its own, with few of root's rights.

use caps::{CapSet, Capability, CapsHashSet, securebits};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, geteuid, initgroups, setresgid, setresuid};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a site has use for (docs/security.md says for what); all else is given up at once.
const NEEDED: [Capability; 5] = [
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_BPF,
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

/// The user that this process has become ([`Account::become_it`]).
static BECAME: OnceLock<String> = OnceLock::new();

/// The name of the user that root has become in this process, for what is said to root.
#[must_use]
pub fn became() -> Option<&'static str> {
    BECAME.get().map(String::as_str)
}

/// The user that the process acts as: its name, or its number where it has none.
#[must_use]
pub fn acting() -> String {
    let uid = geteuid();
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

/// The users but root who decide what a path leads to: owners of it, of a folder on the way, or of
/// a symbolic link. What is not there is nobody's.
///
/// # Errors
/// A part of the path cannot be looked at.
pub fn owners(path: &Path) -> io::Result<BTreeSet<u32>> {
    let named = std::path::absolute(path)?;
    let mut parts: Vec<PathBuf> = named.ancestors().map(Path::to_owned).collect();
    match named.canonicalize() {
        Ok(real) => parts.extend(real.ancestors().map(Path::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let nobody = unmapped();
    let mut owners = BTreeSet::new();
    for part in parts {
        match fs::symlink_metadata(&part) {
            Ok(found) if found.uid() == 0 || Some(found.uid()) == nobody => {}
            Ok(found) => {
                owners.insert(found.uid());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(owners)
}

/// The number that files of users outside have in a user namespace that does not know it: whoever
/// they are, root's rights are not what they lack.
fn unmapped() -> Option<u32> {
    let number = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()?;
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let mut ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (first, _, count) = (numbers.next()?.ok()?, numbers.next()?, numbers.next()?.ok()?);
        Some(first..first + count)
    });
    (!ranges.any(|range| range.contains(&u64::from(number)))).then_some(number)
}

impl Account {
    /// The user of that number, none if the machine has none.
    ///
    /// # Errors
    /// The machine's list of users cannot be read.
    pub fn numbered(uid: u32) -> io::Result<Option<Self>> {
        let Some(user) = User::from_uid(Uid::from_raw(uid))? else { return Ok(None) };
        let name = CString::new(user.name).map_err(io::Error::other)?;
        Ok(Some(Self { name, uid: user.uid, gid: user.gid }))
    }

    /// Its number.
    #[must_use]
    pub const fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

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

    /// Makes a folder and gives it to the user, where root alone decides what the path leads to;
    /// elsewhere, and where it is there, nothing is done: it is for the user to make it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.exists() || !owners(folder)?.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        let what_it_is = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let made: File = OpenOptions::new().read(true).custom_flags(what_it_is).open(folder)?;
        fchown(&made, Some(self.uid.as_raw()), Some(self.gid.as_raw()))
    }

    /// Becomes this user, with no right of root's left and no way back.
    ///
    /// # Errors
    /// The kernel's; the process must end then, for it may have come half the way.
    pub fn act_as(&self) -> io::Result<()> {
        initgroups(&self.name, self.gid)?;
        setresgid(self.gid, self.gid, self.gid)?;
        Ok(setresuid(self.uid, self.uid, self.uid)?)
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
        // Nobody becomes two.
        let _ = BECAME.set(self.name.to_string_lossy().into_owned());
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

/// Drops every capability of the calling thread, for good where it may: before another thread is
/// started.
///
/// # Errors
/// The kernel's.
pub fn drop_all() -> io::Result<()> {
    for one in caps::read(None, CapSet::Bounding).map_err(io::Error::other)? {
        // Who has not CAP_SETPCAP keeps the bounds, and gets nothing by them.
        if caps::drop(None, CapSet::Bounding, one).is_err() {
            break;
        }
    }
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(io::Error::other)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn who_owns_a_path_a_folder_on_its_way_or_a_link_decides_what_it_leads_to() {
        let name = format!("tandem-owners-{}", std::process::id());
        let around = std::env::temp_dir().join(name);
        let (folder, file) = (around.join("site"), around.join("site/site.toml"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, "").unwrap();
        let own = geteuid().as_raw();
        if own == 0 {
            let owned = |path: &Path, owner| chown(path, Some(owner), None).unwrap();
            assert!(owners(&file).unwrap().is_empty() && owners(&folder).unwrap().is_empty());
            owned(&file, 7);
            assert_eq!(owners(&file).unwrap(), BTreeSet::from([7]));
            owned(&around, 8);
            assert_eq!(owners(&file).unwrap(), BTreeSet::from([7, 8]));
            assert_eq!(owners(&folder.join("none/more")).unwrap(), BTreeSet::from([8]));
            owned(&around, 0);
            let link = around.join("link");
            symlink(&folder, &link).unwrap();
            std::os::unix::fs::lchown(&link, Some(9), None).unwrap();
            assert_eq!(owners(&link.join("none")).unwrap(), BTreeSet::from([9]));
        } else {
            assert_eq!(owners(&file).unwrap(), BTreeSet::from([own]));
        }
        fs::remove_dir_all(&around).unwrap();
    }
}
