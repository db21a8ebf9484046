//! Keys of a function's section that are the stack's alone: their shape, their help (the doc
//! comments) and their checks.

use crate::realm::Address;
use runtime::{ClientAuth, TlsSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files for TLS, PEM, relative to the site's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain of this side.
    pub certificate: String,
    /// Private key of this side.
    pub key: String,
    /// Certificates that sign the far ends' certificates; absent: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Ask every client for a certificate signed by `roots`.
    #[serde(default)]
    pub verify_clients: bool,
    /// Check the certificate of the servers that this side connects to.
    #[serde(default = "yes")]
    pub verify_servers: bool,
}

/// A route: which requests go to which next hops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Realm the request comes from.
    pub from: String,
    /// Only these methods; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// Regular expression that the user part of the Request-URI must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Host of the Request-URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Next hops in the order to try; empty: refuse with `reject`.
    #[serde(default)]
    pub to: Vec<String>,
    /// Status for requests that match, in a route without `to`; absent: 404.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<u16>,
}

const fn yes() -> bool {
    true
}

/// A target of a next hop as written in the site file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A transport and an address.
    Address(Address),
    /// A `sip:` or `sips:` URI whose host is looked up (RFC 3263).
    Domain(String),
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// A sentence that says what a target looks like.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(host) = text.strip_prefix("sip:").or_else(|| text.strip_prefix("sips:")) else {
            return text.parse().map(Self::Address);
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '@' || c == '<') {
            return Err("after sip: stands a domain");
        }
        Ok(Self::Domain(text.to_owned()))
    }
}

impl Tls {
    /// What a port of the realm takes; paths as they stand here.
    #[must_use]
    pub fn spec(&self) -> TlsSpec {
        TlsSpec {
            certificate: Some(self.certificate.clone().into()),
            key: Some(self.key.clone().into()),
            roots: self.roots.clone().map(Into::into),
            client_auth: if self.verify_clients { ClientAuth::Required } else { ClientAuth::Off },
            verify: self.verify_servers,
            ..TlsSpec::default()
        }
    }
}

/// The headers of these names.
#[must_use]
pub fn headers(names: &[String]) -> sip::HeaderSet {
    let headers = names.iter().map(|name| sip::Header::parse(name.as_bytes()));
    headers.fold(sip::HeaderSet::default(), |set, header| set.and(sip::HeaderSet::of(&[header])))
}
