//! The configuration of links in a function, and their ports.

use authentication::Keys;
use config::Issue;
use runtime::{
    Address, Carrier, ClientAuth, Flow, PortId, PortSpec, StreamSpec, TlsSpec, Transport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Links of a function at most, and numbers of their ports.
pub const LINKS_MAX: u16 = 64;
/// Octets that wait for a gateway that reads slowly; beyond them the link ends.
pub(crate) const QUEUE_OCTETS_MAX: usize = 4 << 20;
/// Characters of a name that a greeting carries.
const NAME_MAX: usize = 64;

/// What the section of a function says of its links. The function owns the keys, so that its
/// section is one table with keys of its own beside these.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The name of the function: what its instances call themselves.
    pub name: &'a str,
    /// The links.
    pub link: &'a [Link],
    /// Dialogues at most, over all links.
    pub dialogues_max: usize,
    /// The first of [`LINKS_MAX`] ports.
    pub first_port: PortId,
}

/// A link to an application of a signalling gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name, unique in the function.
    pub name: String,
    /// Where `[[sgc.application]]` listens: `tcp:127.0.0.1:7700`, `tls:192.0.2.1:7701`.
    pub address: String,
    /// The name of that application.
    pub application: String,
    /// The group of its instances that this one belongs to; empty: the one without a name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// File with the key that is proved there, in the site's directory and its owner's alone; the
    /// first line counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    pub keys: Option<Keys>,
    /// Keys and trust of TLS, for a `tls:` address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// Files for TLS, PEM, relative to the site's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// Certificate chain of this side, where the gateway asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Private key of this side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Certificates that sign that of the gateway; absent: those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Name that its certificate must carry; absent: its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Tls {
    /// What a connection takes; paths as they stand here.
    #[must_use]
    pub fn spec(&self) -> TlsSpec {
        TlsSpec {
            certificate: self.certificate.clone().map(Into::into),
            key: self.key.clone().map(Into::into),
            roots: self.roots.clone().map(Into::into),
            client_auth: ClientAuth::Off,
            verify: true,
            peer_name: self.name.clone(),
        }
    }

    /// Its files, with the key that names each.
    pub fn files(&mut self) -> impl Iterator<Item = (&'static str, &mut String)> {
        let all = [
            ("certificate", &mut self.certificate),
            ("key", &mut self.key),
            ("roots", &mut self.roots),
        ];
        all.into_iter().filter_map(|(key, file)| file.as_mut().map(|file| (key, file)))
    }
}

impl Link {
    fn place(&self) -> Option<Address> {
        self.address.parse::<Address>().ok().filter(|it| it.transport.is_stream())
    }

    /// Whether what is said on it can be read by others than this machine.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let place = self.place();
        place.is_some_and(|it| it.transport == Transport::Tcp && !it.socket.ip().is_loopback())
    }
}

impl Section<'_> {
    /// Each link with the way to its gateway; a port of its own, so that two links to one address
    /// are two connections.
    #[must_use]
    pub fn flows(&self) -> Vec<(&Link, Flow)> {
        let mut all: Vec<(&Link, Flow)> = Vec::new();
        for link in self.link {
            let number = |of: PortId| PortId(self.first_port.0 + of.0);
            let is_taken = |port| all.iter().any(|it| it.1.port == number(port));
            let port = PortId::stable(&link.name, LINKS_MAX, is_taken);
            let Some((port, place)) = port.zip(link.place()) else { continue };
            let any: IpAddr = match place.socket {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let local = SocketAddr::new(any, 0);
            all.push((link, Flow::to(number(port), place.transport, local, place.socket)));
        }
        all
    }

    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let spec = |(link, flow): (&Link, Flow)| PortSpec {
            id: flow.port,
            name: format!("link {}", link.name),
            listen: flow.local,
            carrier: Carrier::of(
                flow.transport,
                false,
                StreamSpec {
                    tls: Some(Arc::new(link.tls.clone().unwrap_or_default().spec())),
                    connect_only: true,
                    paced: true,
                    queue_bytes_max: Some(QUEUE_OCTETS_MAX),
                    ..StreamSpec::default()
                },
            ),
            ..PortSpec::default()
        };
        self.flows().into_iter().map(spec).collect()
    }

    /// Whether a port is one of these.
    #[must_use]
    pub const fn owns(&self, port: PortId) -> bool {
        port.0 >= self.first_port.0 && port.0 < self.first_port.0 + LINKS_MAX
    }

    /// Finds what is wrong; paths begin inside the function's section (`link[0].address`).
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.link.len() > usize::from(LINKS_MAX) {
            let hint = format!("use {LINKS_MAX} or fewer");
            issues.push(Issue::new("link", "there are too many links", hint));
        }
        for (n, link) in self.link.iter().enumerate() {
            let at = |key: &str| format!("link[{n}].{key}");
            let names = [("name", &link.name), ("application", &link.application)];
            for (key, name) in names {
                if name.is_empty() || name.len() > NAME_MAX {
                    let what = format!("`{name}` is no name");
                    issues.push(Issue::new(at(key), what, "use 1 to 64 characters"));
                }
            }
            if self.link[..n].iter().any(|it| it.name == link.name) {
                let what = format!("the name `{}` is given twice", link.name);
                issues.push(Issue::new(at("name"), what, "names are unique"));
            }
            if link.group.len() > NAME_MAX {
                issues.push(Issue::new(at("group"), "it is no name", "use up to 64 characters"));
            }
            let Some(place) = link.place() else {
                let what = format!("`{}` is no place to connect to", link.address);
                let hint = "write tcp:127.0.0.1:7700 or tls:192.0.2.1:7701";
                issues.push(Issue::new(at("address"), what, hint));
                continue;
            };
            if link.tls.is_some() && place.transport != Transport::Tls {
                let hint = "write a tls: address, or leave it out";
                issues.push(Issue::new(at("tls"), "the link is not over TLS", hint));
            }
            let tls = link.tls.as_ref();
            if tls.is_some_and(|it| it.certificate.is_some() != it.key.is_some()) {
                let what = "a certificate is of no use without its key, nor a key without it";
                issues.push(Issue::new(at("tls"), what, "give certificate and key, or neither"));
            }
        }
    }
}
