//! From the text of a site file to its typed value, or to everything that is wrong with it.

use crate::{Diagnostic, Issue, Source, schema};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::net::SocketAddr;

/// An address that a site binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doorway {
    /// Where the site file says so: `oam.listen`, `ssc[0].realm[1].listen[0]`.
    pub path: String,
    /// Whether it takes datagrams (UDP); otherwise connections (TCP, TLS).
    pub datagram: bool,
    /// The address; port 0 lets the kernel choose and conflicts with nothing.
    pub address: SocketAddr,
}

impl Doorway {
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
}

/// The typed content of a site file.
pub trait Site: DeserializeOwned + Serialize + JsonSchema + Clone + Send + Sync + 'static {
    /// Pushes everything that the types alone cannot refuse.
    fn validate(&self, issues: &mut Vec<Issue>);

    /// Every address that the site binds.
    fn doorways(&self) -> Vec<Doorway>;
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
    let found = schema::look(&source, &schema_of::<S>());
    if !found.is_empty() {
        return Err(found);
    }
    let site: S = toml::from_str(text).map_err(|error| vec![typed(&source, &error)])?;
    let mut issues = Vec::new();
    site.validate(&mut issues);
    // A section that checks its own addresses has said it already.
    let mut clashes = conflicts(&site.doorways());
    clashes.retain(|clash| issues.iter().all(|known| known.path != clash.path));
    issues.extend(clashes);
    if issues.is_empty() { Ok(site) } else { Err(locate(&source, issues)) }
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

/// What serde refuses although the schema did not: the shape of an alternative, a text that its
/// type does not parse.
fn typed(source: &Source, error: &toml::de::Error) -> Diagnostic {
    let what = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
    source.at(error.span().or(Some(0..0)), Issue::new("", what, ""))
}

fn conflicts(doorways: &[Doorway]) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (at, later) in doorways.iter().enumerate() {
        if let Some(first) = doorways[..at].iter().find(|first| first.conflicts(later)) {
            let kind = if later.datagram { "UDP" } else { "TCP" };
            let what = format!("{kind} {} is taken by `{}` already", later.address, first.path);
            issues.push(Issue::new(&*later.path, what, "choose another address or port"));
        }
    }
    issues
}
