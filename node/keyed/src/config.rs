//! The `store` table of a function's section: what outlives a restart, and where.

use crate::{Backend, Journal, Limits, Ring, Written};
use authentication::Password;
use config::{Issue, keys};
use machine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;
use tls::TlsSpec;

/// Octets of a name of a keyspace.
const KEYSPACE_MAX: usize = 48;

/// What outlives a restart: registrations and messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreKeys {
    /// Where rows stand beside memory. `embedded`: in a journal of this machine; `cassandra`: in a
    /// ring of Apache Cassandra, where any number of gateways share registrations.
    pub backend: BackendKey,
    /// Whether it is kept on disk, of `backend = "embedded"`. Without a journal a message is lost
    /// with the process, although it was acknowledged.
    pub journal: bool,
    /// The directory of the journal, relative to the site's; absent: the function's name and
    /// `.store`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Rows at most: two for each registration, one for each message.
    pub rows_max: u32,
    /// Octets of memory for them, megabytes.
    pub memory_max_mb: u32,
    /// Some nodes of the ring, of `backend = "cassandra"`: `["10.0.0.1:9042"]`. The others are
    /// learned from them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The keyspace. It is made where there is none, with its tables.
    pub keyspace: String,
    /// Nodes of each data centre that have a row, of a keyspace that is made.
    pub replication: u8,
    /// The data centre whose nodes are asked; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// Whose messages in the ring are this function's, one process at a time; absent: the
    /// function's name. Gateways that stand at once have different ones; one that takes the place
    /// of another has its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The name of this node's user in the ring; absent: it says none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// File with the password of that user, relative to the site's directory and its owner's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
    /// File with the authorities that sign the certificates of the nodes, which have to name their
    /// addresses: the ring is spoken with by TLS. Absent: in clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_roots: Option<String>,
    /// File with this node's certificate, its own first, for a ring that wants one of those who
    /// connect (`require_client_auth`); absent: none is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_certificate: Option<String>,
    /// File with the private key of that certificate, its owner's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key: Option<String>,
    /// How long the ring has for an answer, milliseconds: what it does not answer in that time is
    /// dealt with as if it were away.
    pub answer_ms: u32,
}

/// Where rows stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendKey {
    /// In a journal of this machine.
    #[default]
    Embedded,
    /// In a ring of Apache Cassandra.
    Cassandra,
}

impl Default for StoreKeys {
    fn default() -> Self {
        Self {
            backend: BackendKey::Embedded,
            journal: true,
            directory: None,
            rows_max: 4_000_000,
            memory_max_mb: 2_048,
            nodes: Vec::new(),
            keyspace: "tandem".to_owned(),
            replication: 3,
            datacenter: None,
            owner: None,
            user: None,
            password_file: None,
            tls_roots: None,
            tls_certificate: None,
            tls_key: None,
            answer_ms: 1_000,
        }
    }
}

impl StoreKeys {
    /// What the store keeps.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let wide = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
        let octets_max = wide(self.memory_max_mb).saturating_mul(1 << 20);
        Limits { rows_max: wide(self.rows_max), octets_max }
    }

    /// Whether what is promised to the disk outlives the process.
    #[must_use]
    pub fn outlives(&self) -> bool {
        self.journal || self.backend == BackendKey::Cassandra
    }

    /// Whether another one is the same but for its limits, which alone change while it stands.
    #[must_use]
    pub fn is_where(&self, other: &Self) -> bool {
        let (rows_max, memory_max_mb) = (self.rows_max, self.memory_max_mb);
        *self == Self { rows_max, memory_max_mb, ..other.clone() }
    }

    /// Where rows stand, of the function of that name; those whose keys begin as one of `own` are
    /// its own. Paths of issues begin inside the table.
    ///
    /// # Errors
    /// The password cannot be read.
    pub fn backend(&self, name: &str, own: &[&[u8]], directory: &Path) -> Result<Backend, Issue> {
        if self.backend == BackendKey::Embedded {
            let made = || format!("{name}.store");
            let folder = self.directory.clone().unwrap_or_else(made);
            let journal = Journal { directory: keys::located(directory, &folder) };
            return Ok(if self.journal { Backend::Journal(journal) } else { Backend::Memory });
        }
        let password = self.password_file.as_deref().map(|it| password(directory, it)).transpose();
        let password = password.map_err(|unusable| unusable.issue("password_file"))?;
        let tls = self.tls(directory);
        Ok(Backend::Ring(Box::new(Ring {
            nodes: self.nodes.clone(),
            keyspace: self.keyspace.clone(),
            replication: self.replication,
            datacenter: self.datacenter.clone(),
            owner: self.owner.clone().unwrap_or_else(|| name.to_owned()),
            own: own.iter().map(|it| it.to_vec()).collect(),
            user: self.user.clone().zip(password),
            tls,
            answer_time: Duration::from_millis(self.answer_ms.into()),
            written: Written::default(),
        })))
    }

    /// Keys and trust for the ring; none: it is spoken with in clear.
    fn tls(&self, directory: &Path) -> Option<TlsSpec> {
        let located = |it: &Option<String>| it.as_deref().map(|it| keys::located(directory, it));
        let (certificate, key) = (located(&self.tls_certificate), located(&self.tls_key));
        let roots = located(&self.tls_roots)?;
        Some(TlsSpec { roots: Some(roots), certificate, key, ..TlsSpec::default() })
    }

    /// Files that cannot be used.
    #[must_use]
    pub fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let password = self.password_file.as_deref().map(|it| password(directory, it));
        let password = password.and_then(Result::err).map(|it| it.issue("password_file"));
        let tls = self.tls(directory).and_then(|spec| {
            let error = tls::Context::load(&spec, false).err()?;
            let roots = TlsSpec { certificate: None, key: None, ..spec };
            let (path, hint) = match tls::Context::load(&roots, false) {
                Err(_) => ("tls_roots", "write the authority in PEM form"),
                Ok(_) => ("tls_certificate", "write the certificate and its key in PEM form"),
            };
            Some(Issue::new(path, error.to_string(), hint))
        });
        password.into_iter().chain(tls).collect()
    }

    /// Whether somebody on the way reads and changes rows.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_near = |it: &String| {
            let host = it.rsplit_once(':').map_or(it.as_str(), |it| it.0);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
        };
        // The nodes that are written tell of all others, which are spoken with as well.
        self.backend == BackendKey::Cassandra
            && self.tls_roots.is_none()
            && !(self.replication == 1 && self.nodes.iter().all(is_near))
    }

    /// Finds what is wrong; paths begin inside the table.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let ranges = [
            ("rows_max", self.rows_max, 16, 1 << 30),
            ("memory_max_mb", self.memory_max_mb, 1, 1 << 20),
            ("replication", self.replication.into(), 1, 9),
            ("answer_ms", self.answer_ms, 10, 30_000),
        ];
        for (path, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
        if self.backend == BackendKey::Embedded {
            if !self.nodes.is_empty() {
                let what = "no ring is asked";
                issues.push(Issue::new("nodes", what, "set backend = \"cassandra\""));
            }
            return;
        }
        if self.nodes.is_empty() {
            let hint = "write nodes = [\"127.0.0.1:9042\"]";
            issues.push(Issue::new("nodes", "it has no node", hint));
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let port = node.rsplit_once(':').filter(|it| !it.0.is_empty());
            if port.and_then(|it| it.1.parse::<u16>().ok()).is_none_or(|it| it == 0) {
                let hint = "write a host and a port: 10.0.0.1:9042";
                issues.push(Issue::new(format!("nodes[{n}]"), "it is no node", hint));
            }
        }
        let is_name = |it: &str| {
            let all = it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
            !it.is_empty() && it.len() <= KEYSPACE_MAX && all
        };
        if !is_name(&self.keyspace) {
            let hint = format!("use up to {KEYSPACE_MAX} letters, digits and underscores");
            issues.push(Issue::new("keyspace", "it is no name of a keyspace", hint));
        }
        if self.owner.as_ref().is_some_and(String::is_empty) {
            issues.push(Issue::new("owner", "the name is empty", "leave it out"));
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            let hint = "write both, or neither";
            issues.push(Issue::new("tls_certificate", "a certificate has its key", hint));
        }
        if self.tls_certificate.is_some() && self.tls_roots.is_none() {
            let hint = "write tls_roots, the authority that signs the certificates of the nodes";
            issues.push(Issue::new("tls_certificate", "the ring is spoken with in clear", hint));
        }
        if self.user.is_some() != self.password_file.is_some() {
            let hint = "write both, or neither";
            issues.push(Issue::new("user", "a user and its password belong together", hint));
        }
    }
}

/// What makes the file of a password: the ring has it, a new one would not be let in.
const TYPED: &str = r#"read -rsp "the ring's password: " it; echo "$it""#;

/// The first line of a file, whatever its length: a ring makes its own rules for passwords.
fn password(directory: &Path, name: &str) -> Result<Password, keys::Unusable> {
    let text = keys::text_of(directory, name, TYPED)?;
    Ok(Password::new(text.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        let keys: StoreKeys = toml::from_str(text).expect("it can be read");
        let mut issues = Vec::new();
        keys.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn what_is_said_of_a_ring_is_checked() {
        let good = "backend = \"cassandra\"\nnodes = [\"10.0.0.1:9042\"]\n";
        assert_eq!(issues(good), [""; 0]);
        assert_eq!(issues("nodes = [\"a:1\"]"), ["nodes"]);
        assert_eq!(issues("backend = \"cassandra\""), ["nodes"]);
        let bad = "backend = \"cassandra\"\nnodes = [\"10.0.0.1\", \"a:0\", \":1\"]\nkeyspace = \"\
                   a-b\"\nreplication = 0\nanswer_ms = 1\nuser = \"u\"\nowner = \"\"";
        let expected = [
            "replication",
            "answer_ms",
            "nodes[0]",
            "nodes[1]",
            "nodes[2]",
            "keyspace",
            "owner",
            "user",
        ];
        assert_eq!(issues(bad), expected);
        let tls = |keys: &str| issues(&format!("{good}{keys}"));
        assert_eq!(tls("tls_roots = \"r\"\ntls_certificate = \"c\"\ntls_key = \"k\""), [""; 0]);
        assert_eq!(tls("tls_roots = \"r\"\ntls_key = \"k\""), ["tls_certificate"]);
        assert_eq!(tls("tls_certificate = \"c\"\ntls_key = \"k\""), ["tls_certificate"]);
    }

    #[test]
    fn a_password_that_lacks_is_the_rings_and_no_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let unusable = password(folder.path(), "key").unwrap_err().to_string();
        let command = format!("(umask 077; {TYPED} > {})", folder.path().join("key").display());
        assert!(unusable.ends_with(&command) && !unusable.contains("openssl"), "{unusable}");
    }

    #[test]
    fn a_ring_elsewhere_in_clear_is_open_and_limits_alone_change() {
        let keys = |nodes: &str| StoreKeys {
            backend: BackendKey::Cassandra,
            nodes: vec![nodes.to_owned()],
            ..StoreKeys::default()
        };
        assert!(keys("10.0.0.1:9042").is_open());
        let is_open = |nodes, replication| StoreKeys { replication, ..keys(nodes) }.is_open();
        assert!(!is_open("127.0.0.2:9042", 1) && !is_open("[::1]:9042", 1));
        assert!(is_open("127.0.0.2:9042", 3) && is_open("127.example.org:9042", 1));
        assert!(!StoreKeys::default().is_open());
        let keys = keys("10.0.0.1:9042");
        assert!(keys.is_where(&StoreKeys { rows_max: 99, ..keys.clone() }));
        assert!(!keys.is_where(&StoreKeys { replication: 1, ..keys.clone() }));
    }
}
