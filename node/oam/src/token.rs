//! Who may come in: one token in a file of mode 0600, and sessions that were opened with it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machine::{Duration, Time};
use std::collections::VecDeque;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use subtle::ConstantTimeEq as _;

/// Random octets in a token and in a session's number.
const TOKEN_OCTETS: usize = 32;
/// Shortest token that a file may hold.
const TOKEN_CHARACTERS_MIN: usize = 16;
/// Sessions at the same time; the oldest ends when one more begins.
pub const SESSIONS_MAX: usize = 256;
/// Life of a session.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 3600);

/// Reads the token of `path`, or makes one there. The file is readable for its owner only.
///
/// # Errors
/// What the disk says; `InvalidData` if the file holds a token too short to be one.
pub fn read_or_make(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let token = text.trim().to_owned();
            if token.len() < TOKEN_CHARACTERS_MIN {
                let what = format!("{} holds no token; delete it", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
                tracing::warn!(path = %path.display(), "token file was readable for others");
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
            }
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = random()?;
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            writeln!(file, "{token}")?;
            file.sync_all()?;
            Ok(token)
        }
        Err(error) => Err(error),
    }
}

fn random() -> io::Result<String> {
    let mut octets = [0; TOKEN_OCTETS];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(octets))
}

fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// The token and the sessions that stand.
#[derive(Debug)]
pub struct Gate {
    token: String,
    sessions: VecDeque<(String, Time)>,
}

impl Gate {
    /// A gate that `token` opens.
    #[must_use]
    pub fn new(token: String) -> Self {
        Self { token, sessions: VecDeque::new() }
    }

    /// Whether this is the token; takes the same time for every wrong one of its length.
    #[must_use]
    pub fn admits(&self, token: &str) -> bool {
        same(&self.token, token)
    }

    /// Opens a session for whoever knows the token.
    ///
    /// # Errors
    /// When the kernel has no randomness.
    pub fn open(&mut self, now: Time, token: &str) -> io::Result<Option<String>> {
        if !self.admits(token) {
            return Ok(None);
        }
        let session = random()?;
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back((session.clone(), now + SESSION_LIFE));
        Ok(Some(session))
    }

    /// Whether the session stands.
    pub fn knows(&mut self, now: Time, session: &str) -> bool {
        self.sessions.retain(|(_, until)| *until > now);
        self.sessions.iter().fold(false, |found, (known, _)| found | same(known, session))
    }

    /// Ends a session.
    pub fn close(&mut self, session: &str) {
        self.sessions.retain(|(known, _)| !same(known, session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_readable_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = read_or_make(&path).unwrap();
        assert_eq!(token.len(), 43);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read_or_make(&path).unwrap(), token);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short\n").unwrap();
        assert!(read_or_make(&path).is_err());
    }

    #[test]
    fn a_session_ends_after_its_life_or_when_closed() {
        let mut gate = Gate::new("secret".into());
        let now = Time::from_millis(5);
        assert_eq!(gate.open(now, "secre").unwrap(), None);
        let one = gate.open(now, "secret").unwrap().unwrap();
        let two = gate.open(now, "secret").unwrap().unwrap();
        assert!(gate.knows(now, &one) && gate.knows(now, &two) && !gate.knows(now, "x"));
        gate.close(&one);
        assert!(!gate.knows(now, &one) && gate.knows(now, &two));
        assert!(!gate.knows(now + SESSION_LIFE, &two));
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let mut gate = Gate::new("secret".into());
        let first = gate.open(Time::ZERO, "secret").unwrap().unwrap();
        for _ in 0..SESSIONS_MAX {
            gate.open(Time::ZERO, "secret").unwrap();
        }
        assert!(!gate.knows(Time::ZERO, &first));
        assert_eq!(gate.sessions.len(), SESSIONS_MAX);
    }
}
