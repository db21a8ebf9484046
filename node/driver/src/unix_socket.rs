//! Unix sockets by which processes of one machine reach each other: open to whom they are meant
//! for from their first moment, and told by the kernel who is at the other end.

use crate::call::{check, short};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 128;

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
    connect_to(address_of(path)?)
}

/// The same to an abstract name of the network namespace (unix(7)).
pub(crate) fn connect_abstract(name: &str) -> io::Result<UnixStream> {
    // SAFETY: integers, for which all-zero is a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = short(libc::AF_UNIX);
    // The first octet stays zero.
    let places = address.sun_path.iter_mut().skip(1);
    places.zip(name.bytes()).for_each(|(place, it)| *place = libc::c_char::from_ne_bytes([it]));
    let length = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    connect_to((address, libc::socklen_t::try_from(length).unwrap_or_default()))
}

fn connect_to(to: (libc::sockaddr_un, libc::socklen_t)) -> io::Result<UnixStream> {
    let (address, length) = to;
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
    address.sun_family = short(libc::AF_UNIX);
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

/// Descriptors that travel beside octets at once at most.
pub const BESIDE_MAX: usize = 16;
/// Room for so many (`CMSG_SPACE(64)`), in words for its alignment.
const BESIDE_WORDS: usize = 10;

/// Sends octets with descriptors beside the first of them; how many octets were sent.
///
/// # Errors
/// The kernel's; `InvalidInput`: there are more descriptors than [`BESIDE_MAX`], or no octets.
pub fn send_beside(to: &UnixStream, octets: &[u8], beside: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let raw: Vec<RawFd> = beside.iter().map(AsRawFd::as_raw_fd).collect();
    send_raw(to, octets, &raw)
}

/// The same by the descriptors' numbers.
///
/// # Errors
/// As those of [`send_beside`].
pub fn send_raw(to: &impl AsRawFd, octets: &[u8], raw: &[RawFd]) -> io::Result<usize> {
    if raw.len() > BESIDE_MAX || octets.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = libc::c_uint::try_from(size_of_val(raw)).unwrap_or_default();
    let mut room = [0u64; BESIDE_WORDS];
    let mut part =
        libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    // SAFETY: integers and null pointers, for which all-zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    if !raw.is_empty() {
        // SAFETY: computes lengths; the one control message then stands in `room`, which has space
        // for as many descriptors as there are at most.
        unsafe {
            header.msg_control = room.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(bytes) as usize;
            let data = libc::CMSG_DATA(first).cast::<RawFd>();
            raw.iter().enumerate().for_each(|(at, fd)| data.add(at).write_unaligned(*fd));
        }
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: header, octets and control live over the call with their true lengths; the kernel
    // only reads the octets.
    let sent = unsafe { libc::sendmsg(to.as_raw_fd(), &raw const header, flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives octets, and puts the descriptors that came beside them behind what `beside` holds;
/// how many octets, 0 at the end.
///
/// # Errors
/// The kernel's; `InvalidData`: more descriptors came than [`BESIDE_MAX`], or a message of more
/// octets than there is room for; none of the descriptors stays open.
pub fn receive_beside(
    from: &impl AsRawFd,
    octets: &mut [u8],
    beside: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut room = [0u64; BESIDE_WORDS];
    let mut part = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    // SAFETY: integers and null pointers, for which all-zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    (header.msg_control, header.msg_controllen) = (room.as_mut_ptr().cast(), size_of_val(&room));
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the kernel writes into octets and control as much as their lengths say.
    let got = unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut header, flags) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    let mut came = Vec::new();
    // SAFETY: the kernel wrote well-formed control messages, which the CMSG functions walk; the
    // descriptors in them are new and ours alone.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const header);
        while !at.is_null() {
            if ((*at).cmsg_level, (*at).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes = (*at).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(at).cast::<RawFd>();
                for number in 0..bytes / size_of::<RawFd>() {
                    came.push(OwnedFd::from_raw_fd(data.add(number).read_unaligned()));
                }
            }
            at = libc::CMSG_NXTHDR(&raw const header, at);
        }
    }
    if header.msg_flags & (libc::MSG_CTRUNC | libc::MSG_TRUNC) != 0 || came.len() > BESIDE_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    beside.append(&mut came);
    Ok(got)
}

/// The user of the process at the other end, as it was when it connected (`SO_PEERCRED`).
///
/// # Errors
/// The kernel's.
pub fn user_of(peer: &UnixStream) -> io::Result<u32> {
    credentials(peer).map(|about| about.uid)
}

/// The process at the other end, and its user, as they were when it connected or listened.
pub(crate) fn credentials(peer: &UnixStream) -> io::Result<libc::ucred> {
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
    Ok(about)
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
    use std::os::fd::AsFd as _;

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
    fn descriptors_travel_beside_octets() {
        let (one, other) = UnixStream::pair().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let beside = [writer.as_fd(); BESIDE_MAX];
        assert_eq!(send_beside(&one, b"abc", &beside[..2]).unwrap(), 3);
        let (mut octets, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive_beside(&other, &mut octets, &mut came).unwrap(), 3);
        assert_eq!((&octets[..3], came.len()), (&b"abc"[..], 2));
        let none = receive_beside(&other, &mut octets, &mut came).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        assert!(send_beside(&one, b"", &beside).is_err());
        send_beside(&one, b"abc", &beside).unwrap();
        receive_beside(&other, &mut octets, &mut came).unwrap();
        drop((one, came, writer));
        assert_eq!(std::io::Read::read(&mut &reader, &mut octets).unwrap(), 0, "none is open");
        assert_eq!(receive_beside(&other, &mut octets, &mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn a_socket_has_its_rights_from_the_first_moment_and_knows_its_guests() {
        let folder = std::env::temp_dir().join(format!("tandem-socket-{}", std::process::id()));
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
