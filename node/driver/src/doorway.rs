//! Unix sockets by which processes of one machine reach each other: open to whom they are meant
//! for from their first moment, and told by the kernel who is at the other end.

use crate::socket::check;
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 32;

/// Listens at `path` with these rights: the socket has no others from the moment on that anybody
/// can see it, since bind(2) gives the file the mode of the socket, less the umask; what that took
/// away comes back before anybody can connect.
///
/// # Errors
/// The kernel's; `InvalidInput`: the path does not fit.
pub fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let (address, length) = address_of(path)?;
    let socket = stream_socket()?;
    let fd = socket.as_raw_fd();
    // SAFETY: plain system calls on a descriptor that is ours alone; the kernel reads the address,
    // with its true length, during the call.
    unsafe {
        check(libc::fchmod(fd, mode))?;
        check(libc::bind(fd, (&raw const address).cast(), length))?;
        set_mode(path, mode)?;
        check(libc::listen(fd, BACKLOG))?;
    }
    Ok(socket.into())
}

/// Connects to the socket at `path`, without waiting for a listener that accepts nobody: then the
/// error is `WouldBlock`. The stream does not block.
///
/// # Errors
/// The kernel's; `InvalidInput`: the path does not fit.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, length) = address_of(path)?;
    let socket = stream_socket()?;
    // SAFETY: the kernel reads the address, with its true length, during the call.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket.into())
}

fn address_of(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: integers, for which all-zero is a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    let octets = path.as_os_str().as_bytes();
    if octets.is_empty() || octets.len() >= address.sun_path.len() || octets.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).unwrap_or_default();
    for (place, octet) in address.sun_path.iter_mut().zip(octets) {
        *place = libc::c_char::from_ne_bytes([*octet]);
    }
    let length = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or_default();
    Ok((address, length))
}

fn stream_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; the descriptor that it gives is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?)) }
}

/// Gives the socket at `path` its rights, if it is one of ours: whoever may write the folder could
/// have put something else in its place.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let how = libc::O_PATH | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(how).open(path)?;
    let about = file.metadata()?;
    if !about.file_type().is_socket() || about.uid() != own_user() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    if about.mode() & 0o777 == mode {
        return Ok(());
    }
    // By its descriptor, not by its name; fchmod(2) takes none of this kind.
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::set_permissions(name, Permissions::from_mode(mode))
}

/// The user of the process at the other end, as it was when it connected (`SO_PEERCRED`).
///
/// # Errors
/// The kernel's.
pub fn user_of(peer: &UnixStream) -> io::Result<u32> {
    let mut about = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&about)).unwrap_or_default();
    // SAFETY: the kernel writes one `ucred`, whose length it is told.
    check(unsafe {
        libc::getsockopt(
            peer.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut about).cast(),
            &raw mut length,
        )
    })?;
    Ok(about.uid)
}

/// The user of this process.
#[must_use]
pub fn own_user() -> u32 {
    // SAFETY: returns a number.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: u32 = 65_534;

    /// Knocks as another user does.
    fn as_nobody(path: &Path) -> Result<(), io::ErrorKind> {
        let path = path.to_owned();
        let thread = std::thread::spawn(move || {
            // SAFETY: plain numbers; the kernel changes the user of this thread alone.
            let set = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
            assert_eq!(set, 0);
            UnixStream::connect(&path).map(drop)
        });
        thread.join().unwrap().map_err(|error| error.kind())
    }

    #[test]
    fn a_doorway_has_its_rights_from_the_first_moment_and_knows_its_guests() {
        let folder = std::env::temp_dir().join(format!("tandem-doorway-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        crate::privilege::keep_files();
        let mut open = Vec::new();
        for mode in [0o600, 0o660, 0o666] {
            let path = folder.join(format!("{mode:o}"));
            let listener = listen(&path, mode).unwrap();
            let is = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(is, mode, "{is:o}");
            let guest = UnixStream::connect(&path).unwrap();
            let (host, _) = listener.accept().unwrap();
            assert_eq!(user_of(&host).unwrap(), own_user());
            assert_eq!(user_of(&guest).unwrap(), own_user());
            assert_eq!(listen(&path, mode).unwrap_err().kind(), io::ErrorKind::AddrInUse);
            open.push(listener);
        }
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        if own_user() == 0 {
            let others = [0o600, 0o666].map(|mode| as_nobody(&folder.join(format!("{mode:o}"))));
            assert_eq!(others, [Err(io::ErrorKind::PermissionDenied), Ok(())]);
        }
        let path = folder.join("600");
        let others: Vec<_> = (0..2 * BACKLOG).map_while(|_| connect(&path).ok()).collect();
        assert!(others.len() >= 32, "{}", others.len());
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        std::fs::remove_dir_all(&folder).unwrap();
        let long = folder.join("x".repeat(200));
        assert_eq!(listen(&long, 0o600).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
