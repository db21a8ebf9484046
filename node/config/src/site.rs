//! From the text of a site file to its typed value, or to everything that is wrong with it.

use crate::draft::{self, Corrected};
use crate::schema::DIAGNOSTICS_MAX;
use crate::{Diagnostic, Issue, Source, schema};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// An address that a site binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// Where the site file says so: `oam.listen`, `ssc[0].realm[1].listen[0]`.
    pub path: String,
    /// Whether it takes datagrams (UDP); otherwise connections (TCP, TLS).
    pub datagram: bool,
    /// The address; port 0 lets the kernel choose and conflicts with nothing.
    pub address: SocketAddr,
}

impl ListenAddress {
    /// Whether both cannot be bound at once: same kind, same port, and the same address or a
    /// wildcard of the same family.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        let (a, b) = (self.address, other.address);
        self.datagram == other.datagram
            && a.port() == b.port()
            && a.port() != 0
            && a.is_ipv4() == b.is_ipv4()
            && (a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified())
    }

    /// Whether this machine would let the process bind it now; nothing stays bound.
    ///
    /// # Errors
    /// What hinders, at the place in the site file.
    pub fn try_bind(&self) -> Result<(), Issue> {
        let tried = if self.datagram {
            UdpSocket::bind(self.address).map(drop)
        } else {
            TcpListener::bind(self.address).map(drop)
        };
        tried.map_err(|error| self.refusal(&error))
    }

    /// What the kernel's refusal of the address means, and how to mend it.
    #[must_use]
    pub fn refusal(&self, error: &io::Error) -> Issue {
        let kind = if self.datagram { "UDP" } else { "TCP" };
        let address = self.address;
        let (what, hint) = match error.kind() {
            io::ErrorKind::AddrInUse => (
                format!("{kind} {address} is taken by another program on this machine"),
                "stop that program (ss -lnp shows it) or choose another port",
            ),
            io::ErrorKind::AddrNotAvailable => (
                format!("no interface of this machine has the address {}", address.ip()),
                "use an address that `ip address` shows",
            ),
            io::ErrorKind::PermissionDenied => (
                format!("{kind} {address} may not be bound by this user"),
                "choose a port from 1024 up or grant CAP_NET_BIND_SERVICE",
            ),
            _ => (format!("{kind} {address} cannot be bound: {error}"), ""),
        };
        Issue::new(&*self.path, what, hint)
    }
}

/// Says of every address that is not bound any more that it closes.
#[must_use]
pub fn closing(old: &[ListenAddress], new: &[ListenAddress]) -> Vec<Issue> {
    let stays = |bound: &&ListenAddress| {
        new.iter().any(|it| it.datagram == bound.datagram && it.address == bound.address)
    };
    let closed = old.iter().filter(|bound| !stays(bound));
    let say = |bound: &ListenAddress| {
        let address = bound.address;
        let what = match bound.datagram {
            true => format!("UDP {address} closes: who speaks to it is not heard any more"),
            false => format!("TCP {address} closes, and the connections that came to it end"),
        };
        Issue::new("name", what, "")
    };
    closed.map(say).collect()
}

/// The typed content of a site file.
pub trait Site: DeserializeOwned + Serialize + JsonSchema + Clone + Send + Sync + 'static {
    /// Pushes everything that the types alone cannot refuse.
    fn validate(&self, issues: &mut Vec<Issue>);

    /// Every address that the site binds.
    fn listen_addresses(&self) -> Vec<ListenAddress> {
        Vec::new()
    }
}

/// The JSON schema of a site file, with the doc comments of its types as descriptions.
#[must_use]
pub fn schema_of<S: Site>() -> Json {
    schemars::schema_for!(S).to_value()
}

/// Reads a site file: syntax, keys, types, values, validation, conflicts between its ports.
///
/// # Errors
/// Everything that is wrong, in the order of the text, never empty.
pub fn read<S: Site>(text: &str) -> Result<S, Vec<Diagnostic>> {
    let source = Source::parse(text).map_err(|error| vec![error])?;
    let root = schema_of::<S>();
    let found = schema::look(&source, &root);
    if found.is_empty()
        && let Ok(site) = toml::from_str::<S>(text)
    {
        let issues = objections(&site);
        return if issues.is_empty() { Ok(site) } else { Err(locate(&source, issues)) };
    }
    let (mut found, _) = draft::judge::<S>(&source, &root, found);
    if found.is_empty()
        && let Err(error) = toml::from_str::<S>(text)
    {
        // What the draft of the text does not show.
        found.push(source.at(error.span().or(Some(0..0)), refusal(&error, String::new())));
    }
    found.sort_by_key(|it| (it.line, it.column));
    found.truncate(DIAGNOSTICS_MAX);
    Err(found)
}

/// What the types alone do not refuse, conflicts between ports included.
pub(crate) fn objections<S: Site>(site: &S) -> Vec<Issue> {
    let mut issues = Vec::new();
    site.validate(&mut issues);
    // A section that checks its own addresses has said it already.
    let mut clashes = conflicts(&site.listen_addresses());
    clashes.retain(|clash| issues.iter().all(|known| known.path != clash.path));
    issues.extend(clashes);
    // What two readers of a value object to in the same words is one mistake.
    let mut said = BTreeSet::new();
    issues.retain(|it| said.insert((it.path.clone(), it.what.clone())));
    issues
}

/// The site of a text with mistakes: for who has to say something of it beside them.
#[must_use]
pub fn corrected<S: Site>(text: &str) -> Option<Corrected<S>> {
    let source = Source::parse(text).ok()?;
    let root = schema_of::<S>();
    let found = schema::look(&source, &root);
    draft::judge::<S>(&source, &root, found).1
}

/// The site of a text whose keys and types fit, whatever else is wrong with it: for who has to say
/// something of it beside its mistakes.
#[must_use]
pub fn shape<S: Site>(text: &str) -> Option<S> {
    toml::from_str(text).ok()
}

/// Gives issues that were found outside (a port that the machine has not free) their places.
#[must_use]
pub fn locate(source: &Source, issues: Vec<Issue>) -> Vec<Diagnostic> {
    let mut found: Vec<_> = issues.into_iter().map(|issue| source.locate(issue)).collect();
    found.sort_by_key(|d| (d.line, d.column));
    found
}

/// The same of a text, whose syntax may be wrong.
#[must_use]
pub fn placed(text: &str, issues: Vec<Issue>) -> Vec<Diagnostic> {
    match Source::parse(text) {
        Ok(source) => locate(&source, issues),
        Err(syntax) => vec![syntax],
    }
}

/// How a text that its type does not parse is written.
const HINTS: [(&str, &str); 4] = [
    ("IPv4 address syntax", "write four numbers, as in `192.0.2.1`"),
    ("IPv6 address syntax", "write an address as in `2001:db8::1`"),
    ("IP address syntax", "write an address, as in `192.0.2.1` or `2001:db8::1`"),
    ("socket address syntax", "write an address and a port, as in `127.0.0.1:8080`"),
];

/// What serde refuses although the schema did not: the shape of an alternative, a text that its
/// type does not parse.
pub(crate) fn refusal(error: &toml::de::Error, path: String) -> Issue {
    let what = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
    // The words are those of the standard library's parsers.
    let hint = HINTS.iter().find(|(word, _)| what.contains(word)).map_or("", |(_, hint)| hint);
    Issue::new(path, what, hint)
}

fn conflicts(addresses: &[ListenAddress]) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (at, later) in addresses.iter().enumerate() {
        if let Some(first) = addresses[..at].iter().find(|first| first.conflicts(later)) {
            let kind = if later.datagram { "UDP" } else { "TCP" };
            let what = format!("{kind} {} is taken by `{}` already", later.address, first.path);
            issues.push(Issue::new(&*later.path, what, "choose another address or port"));
        }
    }
    issues
}
