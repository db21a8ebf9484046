//! Who may come in: tokens, each with a name and a role, in files of their owner alone.
//!
//! ```text
//!   DIRECTORY/token          the administrator's, as it is sent; made at the first start
//!   DIRECTORY/tokens/NAME    another: its role, and the SHA-256 of what is sent, NAME.RANDOM
//! ```
//!
//! A token names its file, which is read each time: what is made counts at once, and so does what
//! is revoked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;

/// Random octets in a token and in a session's number.
const TOKEN_OCTETS: usize = 32;
/// Shortest token that a file may hold.
const TOKEN_CHARACTERS_MIN: usize = 16;
/// Octets of a token's file at most.
const FILE_BYTES_MAX: u64 = 4096;
/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;
/// Tokens of a site at most, beside the first one.
pub const TOKENS_MAX: usize = 64;
/// Longest name of a token, octets.
pub const NAME_BYTES_MAX: usize = 32;
/// Name under which the token stands that a site makes for itself.
pub const FIRST: &str = "administrator";

/// What a token may do; each role may what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Metrics, alarms, health: nothing of any call or subscriber, and no change.
    Monitor,
    /// Calls, registrations, routes and recordings as well, and actions on them: end a call, switch
    /// over.
    Operator,
    /// Everything: the configuration, log levels, the end of the process.
    Administrator,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Monitor, Self::Operator, Self::Administrator];

    /// Its name: `monitor`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Monitor => "monitor",
            Self::Operator => "operator",
            Self::Administrator => "administrator",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// SHA-256 of a token.
type Digest = [u8; 32];

fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

/// Whoever has shown a token, or is known to the kernel: its name and role.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The token's name.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// Of its token; none where the kernel said who it is.
    digest: Option<Digest>,
}

impl Principal {
    /// A user of this machine, as the kernel says.
    #[must_use]
    pub const fn local(name: Arc<str>, role: Role) -> Self {
        Self { name, role, digest: None }
    }

    /// Whether it is the same token in the same role.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, self.role, self.digest) == (&other.name, other.role, other.digest)
    }
}

/// A token as its file has it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    role: Role,
    #[serde(with = "base64_digest")]
    sha256: Digest,
    made_at_us: u64,
}

mod base64_digest {
    use super::{Digest, URL_SAFE_NO_PAD};
    use base64::Engine as _;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&URL_SAFE_NO_PAD.encode(digest))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let octets =
            URL_SAFE_NO_PAD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        octets.try_into().map_err(|_| D::Error::custom("a SHA-256 has 32 octets"))
    }
}

/// A token in the list of all.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its role and when it was made, microseconds since the UNIX epoch; or why it opens nothing.
    pub state: Result<(Role, u64), String>,
}

/// The folder of the tokens beside the first one.
#[derive(Debug, Clone)]
pub struct Tokens(PathBuf);

impl Tokens {
    /// The tokens in `folder`, which need not be there.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Makes a token; only its SHA-256 stays. File and folder are those of who makes it, which must
    /// be the site's user.
    ///
    /// # Errors
    /// `InvalidInput` for a name that cannot be one, `AlreadyExists`, or what the disk says.
    pub fn make(&self, now_us: u64, name: &str, role: Role) -> io::Result<String> {
        if !is_name(name) {
            let what = format!(
                "`{name}` is no name for a token: write 1 to {NAME_BYTES_MAX} of a-z, 0-9 and -, \
                 and another than `{FIRST}`"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if self.list()?.len() >= TOKENS_MAX {
            let what = format!("there are {TOKENS_MAX} tokens: revoke one first");
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
        }
        let around = self.0.parent().unwrap_or(Path::new("."));
        fs::metadata(around).map_err(|error| {
            let what = format!("{}: {error}; start the site once", around.display());
            io::Error::new(error.kind(), what)
        })?;
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let token = format!("{name}.{}", random()?);
        let kept = Kept { role, sha256: digest(&token), made_at_us: now_us };
        let path = self.0.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = (|| {
            file.write_all(&serde_json::to_vec_pretty(&kept)?)?;
            file.sync_all()
        })();
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(token)
    }

    /// Every token, by name.
    ///
    /// # Errors
    /// What the disk says of the folder.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut listed = Vec::new();
        for entry in entries {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if is_name(&name) {
                let state = self.read(&name).map(|kept| (kept.role, kept.made_at_us));
                listed.push(Listed { name, state: state.map_err(|error| error.to_string()) });
            }
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Revokes a token: requests with it, its sessions and its streams end.
    ///
    /// # Errors
    /// `NotFound`, or what the disk says.
    pub fn revoke(&self, name: &str) -> io::Result<()> {
        if !is_name(name) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no token has this name"));
        }
        fs::remove_file(self.0.join(name))
    }

    fn read(&self, name: &str) -> io::Result<Kept> {
        let file = File::open(self.0.join(name))?;
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        if mode & OTHERS != 0 {
            let what = format!("its file has mode {mode:04o}: others may use it; chmod 600");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) && name != FIRST
}

/// Every token that opens the site.
#[derive(Debug)]
pub struct Authenticator {
    first: Digest,
    tokens: Tokens,
}

impl Authenticator {
    /// The site's first token, the administrator's, and those of a folder.
    #[must_use]
    pub fn new(first: &str, tokens: Tokens) -> Self {
        Self { first: digest(first), tokens }
    }

    /// Who has this token. All wrong ones of a name take the same time.
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<Principal> {
        let shown = digest(token);
        if bool::from(shown.ct_eq(&self.first)) {
            return Some(Principal {
                name: FIRST.into(),
                role: Role::Administrator,
                digest: Some(shown),
            });
        }
        let (name, _) = token.split_once('.')?;
        let kept = is_name(name).then(|| self.tokens.read(name).ok())??;
        let same: bool = shown.ct_eq(&kept.sha256).into();
        same.then(|| Principal { name: name.into(), role: kept.role, digest: Some(shown) })
    }

    /// Whether what let somebody in is still there, with the same role.
    #[must_use]
    pub fn is_valid(&self, principal: &Principal) -> bool {
        let Some(digest) = &principal.digest else { return true };
        if &*principal.name == FIRST {
            return digest.ct_eq(&self.first).into();
        }
        let kept = self.tokens.read(&principal.name);
        kept.is_ok_and(|kept| kept.role == principal.role && kept.sha256.ct_eq(digest).into())
    }
}

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
            if fs::metadata(path)?.permissions().mode() & OTHERS != 0 {
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

/// A random text of 256 bits.
pub(crate) fn random() -> io::Result<String> {
    let mut octets = [0; TOKEN_OCTETS];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(octets))
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
    fn tokens_have_names_and_roles_and_only_their_hash_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(folder.path().join("tokens"));
        assert_eq!(tokens.list().unwrap(), []);
        let token = tokens.make(7, "prometheus", Role::Monitor).unwrap();
        let file = folder.path().join("tokens/prometheus");
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(token.split_once('.').unwrap().1), "{text}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.path().join("tokens")), mode(&file)), (0o700, 0o600));
        let again = tokens.make(7, "prometheus", Role::Administrator).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let listed = Listed { name: "prometheus".into(), state: Ok((Role::Monitor, 7)) };
        assert_eq!(tokens.list().unwrap(), [listed]);

        let authenticator = Authenticator::new("the-first-of-all", tokens.clone());
        let principal = authenticator.authenticate(&token).unwrap();
        assert_eq!((&*principal.name, principal.role), ("prometheus", Role::Monitor));
        assert_eq!(
            authenticator.authenticate("the-first-of-all").unwrap().role,
            Role::Administrator
        );
        for wrong in ["", "prometheus", "prometheus.", "other.x", "../tokens/prometheus.x"] {
            assert!(authenticator.authenticate(wrong).is_none(), "{wrong}");
        }
        fs::set_permissions(&file, Permissions::from_mode(0o604)).unwrap();
        assert!(
            !authenticator.is_valid(&principal) && authenticator.authenticate(&token).is_none()
        );
        assert!(tokens.list().unwrap()[0].state.as_ref().unwrap_err().contains("0604"));
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert!(authenticator.is_valid(&principal));
        tokens.revoke("prometheus").unwrap();
        assert!(
            !authenticator.is_valid(&principal) && authenticator.authenticate(&token).is_none()
        );
        // Another of the same name is not the old one.
        tokens.make(8, "prometheus", Role::Monitor).unwrap();
        assert!(
            !authenticator.is_valid(&principal) && authenticator.authenticate(&token).is_none()
        );
    }

    #[test]
    fn a_name_is_one_plain_file_and_there_are_so_many() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(folder.path().join("tokens"));
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in ["", ".", "..", "../x", "a/b", "A", "a.b", FIRST, &long] {
            let refused = tokens.make(0, name, Role::Monitor).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{name}");
            assert_eq!(tokens.revoke(name).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        for n in 0..TOKENS_MAX {
            tokens.make(0, &format!("t{n}"), Role::Monitor).unwrap();
        }
        let refused = tokens.make(0, "more", Role::Monitor).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded);
        let none = Tokens::new(folder.path().join("none/tokens"));
        assert!(none.make(0, "x", Role::Monitor).unwrap_err().to_string().contains("start"));
    }
}
