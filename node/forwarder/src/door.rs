//! The door of a forwarder: a socket that its owner may open, root, and whom it names; and where it
//! has a key, only who proves the key may control it.

use crate::serve::{Failed, Spec, kernel};
use authentication::{KEYS_MAX, Keys};
use driver::doorway;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// What a proof is for.
pub(crate) const LABEL: &[u8] = b"tandem forwarder control";
/// Octets of a challenge.
const CHALLENGE: usize = 32;
/// Rights of the socket: of its owner alone, or of all, whose users are then asked for.
const OWN: u32 = 0o600;
const OF_ALL: u32 = 0o666;
const ROOT: u32 = 0;

/// The door.
pub(crate) struct Door {
    listener: UnixListener,
    keys: Option<Keys>,
    users: Vec<u32>,
}

/// A challenge that was sent, and whether it was answered.
#[derive(Default)]
pub(crate) struct Challenge {
    octets: Vec<u8>,
    is_met: bool,
}

impl Door {
    /// Opens it. A socket that a forwarder left behind is taken away.
    ///
    /// # Errors
    /// Another forwarder stands there; the kernel's.
    pub(crate) fn open(spec: &Spec) -> Result<Self, Failed> {
        match UnixStream::connect(&spec.socket) {
            Ok(_) => return Err(Failed::Taken(spec.socket.clone())),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(&spec.socket).map_err(kernel("the socket's old place"))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(kernel("the socket's old place")(error)),
        }
        let mode = if spec.users.is_empty() { OWN } else { OF_ALL };
        let listener = doorway::listen(&spec.socket, mode).map_err(kernel("the socket"))?;
        Ok(Self { listener, keys: spec.keys.clone(), users: spec.users.clone() })
    }

    /// Who knocked, if it may come in, with the challenge that it is to be sent.
    pub(crate) fn accept(&self) -> Option<(UnixStream, Option<Challenge>)> {
        let (socket, _) = self.listener.accept().ok()?;
        let user = doorway::user_of(&socket).ok()?;
        if ![ROOT, doorway::own_user()].contains(&user) && !self.users.contains(&user) {
            tracing::warn!(target: "forwarder", user, "another user's connection is refused");
            return None;
        }
        let challenge = match &self.keys {
            None => None,
            Some(_) => {
                let octets = driver::random().ok()?[..CHALLENGE].to_vec();
                Some(Challenge { octets, is_met: false })
            }
        };
        Some((socket, challenge))
    }

    /// Whether one of these proofs meets a challenge.
    pub(crate) fn prove(&self, challenge: &mut Challenge, proofs: &[Vec<u8>]) -> bool {
        let Some(keys) = &self.keys else { return false };
        let mut proofs = proofs.iter().take(KEYS_MAX);
        challenge.is_met |= proofs.any(|it| keys.is_proof(LABEL, &challenge.octets, it));
        challenge.is_met
    }

    /// Whether a key decides who controls.
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// The socket once more, for who watches whether somebody knocks.
    pub(crate) fn listener(&self) -> std::io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Challenge {
    pub(crate) fn octets(&self) -> Vec<u8> {
        self.octets.clone()
    }

    pub(crate) fn is_met(&self) -> bool {
        self.is_met
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn whom_it_names_may_open_it_and_without_a_name_its_owner_alone() {
        // As `tandem forwarder` begins.
        driver::privilege::keep_files();
        let folder = tempfile::tempdir().unwrap();
        for (users, mode) in [(vec![65_534], OF_ALL), (Vec::new(), OWN)] {
            let spec = Spec {
                socket: folder.path().join("control"),
                workers: 1,
                cores: Vec::new(),
                packets: 1,
                stride: graph::STRIDE,
                host: None,
                keys: None,
                users,
            };
            let door = Door::open(&spec).unwrap();
            let rights = std::fs::metadata(&spec.socket).unwrap().permissions();
            assert_eq!(rights.mode() & 0o777, mode);
            drop(door);
        }
    }
}
