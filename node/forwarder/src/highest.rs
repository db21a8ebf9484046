//! Descriptors that the kernel closes first.
//!
//! Of a process that is killed it closes the highest number first, and ports take it long: it waits
//! until no processor looks at one any more, some 10 ms for AF_PACKET and 40 for AF_XDP. Whoever is
//! connected hears of the death when its own connection is closed. So connections have higher
//! numbers than ports. The listener has higher ones still: who hears of the death finds nobody
//! there, and starts another forwarder at once instead of waiting for one that is dead.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// Numbers of connections begin here; a process may have 1,024 unless it is told otherwise.
const FIRST: i32 = 512;
/// Those of the listener.
const LISTENER: i32 = 960;

/// A connection by a number that is closed before ports are. Where there is none it keeps its own:
/// who is connected hears of a death later, and nothing else is different.
pub(crate) fn place(socket: UnixStream) -> UnixStream {
    again(&socket, FIRST).unwrap_or(socket)
}

/// A listener by a number that is closed before those of connections are, if there is one.
pub(crate) fn place_listener(listener: UnixListener) -> UnixListener {
    again(&listener, LISTENER).unwrap_or(listener)
}

fn again<T: AsFd + From<OwnedFd>>(socket: &T, first: i32) -> io::Result<T> {
    Ok(rustix::io::fcntl_dupfd_cloexec(socket, first)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn a_connection_goes_on_by_a_high_number() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut near = place(near);
        assert!(near.as_raw_fd() >= FIRST);
        far.write_all(b"x").unwrap();
        near.read_exact(&mut [0]).unwrap();
        drop(near);
        assert_eq!(far.read(&mut [0]).unwrap(), 0, "no other number holds it");
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        assert!(place_listener(listener).as_raw_fd() >= LISTENER);
    }
}
