//! The listener of a forwarder: a socket that its owner may open, root, and whom it names; and
//! where it has a key, only who proves the key may control it.

use crate::highest;
use crate::spec::{Failed, Spec, kernel};
use authentication::{KEYS_MAX, Keys};
use driver::unix_socket;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// What a proof is for: control of the forwarder.
pub(crate) const LABEL: &[u8] = b"tandem forwarder control";
/// And packets: neither proof stands for the other.
pub(crate) const PACKETS_LABEL: &[u8] = b"tandem forwarder packets";
/// Octets of a challenge.
const CHALLENGE: usize = 32;
/// Rights of the socket: of its owner alone, or of all, whose users are then asked for.
const OWN: u32 = 0o600;
const OF_ALL: u32 = 0o666;
/// Rights of its folder, where it is made, in the same way.
const OWN_FOLDER: u32 = 0o700;
const FOLDER_OF_ALL: u32 = 0o755;
const ROOT: u32 = 0;

/// The listener.
pub(crate) struct ControlListener {
    listener: UnixListener,
    keys: Option<Keys>,
    users: Vec<u32>,
}

/// A challenge that was sent, and for what it was answered.
#[derive(Default)]
pub(crate) struct Challenge {
    octets: Vec<u8>,
    is_met: bool,
    is_met_for_packets: bool,
}

/// Who knocked.
pub(crate) enum Knock {
    Guest(Guest),
    /// A user who may not come in.
    Stranger(u32),
    Nobody,
}

/// Who may come in.
pub(crate) struct Guest {
    pub(crate) socket: UnixStream,
    pub(crate) user: u32,
    /// The forwarder's own user, or root.
    pub(crate) is_own: bool,
    /// What it is to be sent.
    pub(crate) challenge: Option<Challenge>,
}

/// Whether a user is the forwarder's own, or root.
fn is_own(user: u32) -> bool {
    user == ROOT || user == unix_socket::own_user()
}

impl ControlListener {
    /// Opens it. A socket that a forwarder left behind is taken away; its folder is made where it
    /// is missing, since a forwarder that is a unit of its own starts before its control.
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
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        if let Some(folder) = spec.socket.parent().filter(is_missing) {
            let folder_mode = if spec.users.is_empty() { OWN_FOLDER } else { FOLDER_OF_ALL };
            let made = DirBuilder::new().recursive(true).mode(folder_mode).create(folder);
            made.map_err(kernel("the socket's folder"))?;
        }
        let listener = unix_socket::listen(&spec.socket, mode).map_err(kernel("the socket"))?;
        let listener = highest::place_listener(listener);
        Ok(Self { listener, keys: spec.keys.clone(), users: spec.users.clone() })
    }

    /// Who knocked next.
    pub(crate) fn accept(&self) -> Knock {
        let Ok((socket, _)) = self.listener.accept() else { return Knock::Nobody };
        let Ok(user) = unix_socket::user_of(&socket) else { return Knock::Nobody };
        let is_own = is_own(user);
        if !is_own && !self.users.contains(&user) {
            return Knock::Stranger(user);
        }
        let challenge = match (&self.keys, driver::random()) {
            (None, _) => None,
            (Some(_), Ok(random)) => {
                Some(Challenge { octets: random[..CHALLENGE].to_vec(), ..Challenge::default() })
            }
            (Some(_), Err(_)) => return Knock::Nobody,
        };
        Knock::Guest(Guest { socket, user, is_own, challenge })
    }

    /// Whether one of these proofs meets a challenge.
    pub(crate) fn prove(&self, challenge: &mut Challenge, proofs: &[Vec<u8>]) -> bool {
        let Some(keys) = &self.keys else { return false };
        for proof in proofs.iter().take(KEYS_MAX) {
            challenge.is_met |= keys.is_proof(LABEL, &challenge.octets, proof);
            challenge.is_met_for_packets |= keys.is_proof(PACKETS_LABEL, &challenge.octets, proof);
        }
        challenge.is_met || challenge.is_met_for_packets
    }

    /// Whether packets go to this user: with a key to who proves it for that, without one to none
    /// but the forwarder's own user and root.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn gives_packets(
        &self,
        is_own: bool,
        challenge: Option<&Challenge>,
    ) -> Result<(), &'static str> {
        let is_proven = challenge.is_some_and(|it| it.is_met_for_packets);
        match self.has_keys() {
            true if !is_proven => Err("packets go to who has this forwarder's key"),
            false if !is_own => {
                Err("without a key packets go to the forwarder's own user and root")
            }
            _ => Ok(()),
        }
    }

    /// Whether a key decides who controls.
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// The socket once more, for who watches whether somebody knocks.
    pub(crate) fn listener(&self) -> std::io::Result<UnixListener> {
        self.listener.try_clone().map(highest::place_listener)
    }
}

impl Challenge {
    pub(crate) fn octets(&self) -> Vec<u8> {
        self.octets.clone()
    }

    /// Whether its control was proved.
    pub(crate) fn is_met(&self) -> bool {
        self.is_met
    }

    /// Whether a key was proved for anything.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_met || self.is_met_for_packets
    }
}

impl AsFd for ControlListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn spec(folder: &tempfile::TempDir, keys: Option<Keys>, users: Vec<u32>) -> Spec {
        Spec {
            socket: folder.path().join("control"),
            workers: 1,
            cores: Vec::new(),
            packets: 1,
            stride: graph::STRIDE,
            host: None,
            keys,
            users,
        }
    }

    #[test]
    fn packets_go_to_its_own_user_and_with_a_key_to_who_proves_it_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let stranger = unix_socket::own_user() + 1;
        assert!(is_own(ROOT) && is_own(unix_socket::own_user()) && !is_own(stranger));
        let listener = ControlListener::open(&spec(&folder, None, vec![stranger])).unwrap();
        assert_eq!(listener.gives_packets(true, None), Ok(()));
        let refused = "without a key packets go to the forwarder's own user and root";
        assert_eq!(listener.gives_packets(false, None), Err(refused));
        drop(listener);
        let keys = Keys::parse("0123456789abcdef").unwrap();
        let listener =
            ControlListener::open(&spec(&folder, Some(keys.clone()), vec![stranger])).unwrap();
        let refused = "packets go to who has this forwarder's key";
        for (label, given) in [(LABEL, Err(refused)), (PACKETS_LABEL, Ok(()))] {
            let mut challenge = Challenge { octets: vec![7; CHALLENGE], ..Challenge::default() };
            assert_eq!(listener.gives_packets(true, Some(&challenge)), Err(refused));
            let proofs = keys.prove(label, &challenge.octets());
            assert!(listener.prove(&mut challenge, &proofs));
            assert_eq!(listener.gives_packets(false, Some(&challenge)), given);
            assert_eq!(challenge.is_met(), given.is_err(), "nor does it control");
        }
    }

    #[test]
    fn whom_it_names_may_open_it_and_without_a_name_its_owner_alone() {
        // As `tandem forwarder` begins.
        driver::privilege::keep_files();
        let folder = tempfile::tempdir().unwrap();
        for (users, mode) in [(vec![65_534], OF_ALL), (Vec::new(), OWN)] {
            let spec = spec(&folder, None, users);
            let listener = ControlListener::open(&spec).unwrap();
            let rights = std::fs::metadata(&spec.socket).unwrap().permissions();
            assert_eq!(rights.mode() & 0o777, mode);
            drop(listener);
        }
    }
}
