//! `[….media]` of a function: its media controllers, and what the calls do with them.

use authentication::Keys;
use config::{Issue, meant};
use core::net::SocketAddr;
use machine::Duration;
use runtime::{Carrier, ClientAuth, PortId, PortSpec, StreamSpec, TlsSpec, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Media controllers of one function at most.
pub const CONTROLLERS_MAX: usize = 64;
/// Octets that wait for a media controller at most; with more its connection ends, and everything
/// is said again on the next one.
const QUEUE_OCTETS_MAX: usize = 16 << 20;

/// Media controllers, and how ports of theirs are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Media {
    /// The media controllers. A call gets the one with the fewest streams that has room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controller: Vec<ControllerConfig>,
    /// Pairs of ports that each shard leases of each media controller and group at least: what new
    /// calls find while more are being leased.
    pub pairs_min: u32,
    /// Pairs of ports that a shard leases of each media controller and group at most.
    pub pairs_max: u32,
    /// Seconds that a pair of ports rests between two calls.
    pub quarantine_s: u32,
    /// Seconds without a media controller, both nodes of a pair, after which its calls go to
    /// another one.
    pub gone_s: u32,
    /// What becomes of calls whose media controller is gone.
    pub gone: Gone,
    /// Whether a call ends when one of its streams is without packets for `timeout_s` of its realm.
    pub timeout_ends_call: bool,
}

/// What becomes of the calls of a media controller that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gone {
    /// They are moved to another one by a re-INVITE on each leg; those that cannot be end.
    Move,
    /// They end by BYE.
    End,
    /// They stand as they are: their media come back with the media controller.
    Keep,
}

impl Default for Media {
    fn default() -> Self {
        Self {
            controller: Vec::new(),
            pairs_min: 1_024,
            pairs_max: 262_144,
            quarantine_s: 10,
            gone_s: 10,
            gone: Gone::Move,
            timeout_ends_call: false,
        }
    }
}

/// A media controller, or a pair of them that stands for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerConfig {
    /// Name, unique in the function.
    pub name: String,
    /// Where it listens for session controllers: `127.0.0.1:2970`.
    pub address: String,
    /// Where the other node of its pair does, if that has an address of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_address: Option<String>,
    /// File with the key that both ends know, in the site's directory and its owner's alone; each
    /// proves to the other that it has it. Absent: no proof is asked for, which is for connections
    /// by TLS or on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    #[schemars(skip)]
    pub keys: Option<Keys>,
    /// Certificates, where it is spoken to by TLS; absent: TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// Files for TLS, PEM, relative to the site's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain of this side, where the media controller asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Private key of this side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Certificates that sign that of the media controller; absent: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Name that its certificate must carry; absent: its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Tls {
    /// What its connections take; paths as they stand here.
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

    /// Its files, to make them absolute.
    pub fn files(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.certificate, &mut self.key, &mut self.roots].into_iter().flatten()
    }
}

impl ControllerConfig {
    /// Its addresses.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let texts = [Some(&self.address), self.other_address.as_ref()].into_iter().flatten();
        texts.filter_map(|text| text.parse().ok())
    }

    pub(crate) const fn transport(&self) -> Transport {
        if self.tls.is_some() { Transport::Tls } else { Transport::Tcp }
    }

    fn validate(&self, at: &str, issues: &mut Vec<Issue>) {
        let mut check = |key: &str, text: &str| {
            let address: Result<SocketAddr, _> = text.parse();
            if address.is_err() {
                let what = format!("`{text}` is not an IP address and a port");
                issues.push(Issue::new(format!("{at}.{key}"), what, "write 127.0.0.1:2970"));
            }
            address.ok()
        };
        let one = check("address", &self.address);
        let other = self.other_address.as_deref().and_then(|text| check("other_address", text));
        if let (Some(one), Some(other)) = (one, other) {
            if one == other {
                let hint = "give that of the other node, or leave it out";
                let at = format!("{at}.other_address");
                issues.push(Issue::new(at, "both nodes have one address", hint));
            } else if one.is_ipv4() != other.is_ipv4() {
                let hint = "use addresses of one family";
                let at = format!("{at}.other_address");
                issues.push(Issue::new(at, "the nodes of a pair differ in IPv4 and IPv6", hint));
            }
        }
        if let Some(tls) = &self.tls
            && tls.certificate.is_some() != tls.key.is_some()
        {
            let what = "a certificate and its key belong together";
            issues.push(Issue::new(format!("{at}.tls"), what, "give both or none"));
        }
    }
}

impl Media {
    /// Finds what is wrong; paths begin inside the section (`controller[0].address`).
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.controller.len() > CONTROLLERS_MAX {
            let what = format!("more than {CONTROLLERS_MAX} media controllers");
            issues.push(Issue::new("controller", what, "use several functions"));
        }
        for (index, controller) in self.controller.iter().enumerate() {
            let at = format!("controller[{index}]");
            let twice = self.controller[..index].iter().any(|it| it.name == controller.name);
            if controller.name.is_empty() {
                let at = format!("{at}.name");
                issues.push(Issue::new(at, "the name is empty", "give it a name"));
            } else if twice {
                let what = format!("the name `{}` is given twice", controller.name);
                issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
            }
            controller.validate(&at, issues);
        }
        let numbers = [
            ("pairs_min", self.pairs_min, 2, 1 << 20),
            ("pairs_max", self.pairs_max, self.pairs_min, 1 << 24),
            ("quarantine_s", self.quarantine_s, 0, 600),
            ("gone_s", self.gone_s, 1, 3_600),
        ];
        for (path, value, least, most) in numbers {
            if !(least..=most).contains(&value) {
                let hint = format!("use {least} to {most}");
                issues.push(Issue::new(path, format!("{value} is out of range"), hint));
            }
        }
    }

    /// The ports to the media controllers, numbered from `first`: by their places here.
    pub fn ports(&self, first: PortId) -> impl Iterator<Item = PortSpec> + '_ {
        (first.0..).zip(&self.controller).filter_map(|(id, controller)| {
            let address = controller.addresses().next()?;
            let any = match address.ip() {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let stream = StreamSpec {
                tls: controller.tls.as_ref().map(|tls| Arc::new(tls.spec())),
                connect_only: true,
                paced: true,
                queue_bytes_max: Some(QUEUE_OCTETS_MAX),
                ..StreamSpec::default()
            };
            Some(PortSpec {
                id: PortId(id),
                name: format!("media {}", controller.name),
                listen: SocketAddr::new(any, 0),
                carrier: Carrier::of(controller.transport(), false, stream),
                ..PortSpec::default()
            })
        })
    }

    pub(crate) fn quarantine(&self) -> Duration {
        Duration::from_secs(self.quarantine_s.into())
    }

    pub(crate) fn gone_after(&self) -> Duration {
        Duration::from_secs(self.gone_s.into())
    }
}

/// What stands near a word that is none of `known`.
pub(crate) fn near(word: &str, known: &[&str]) -> String {
    meant(word, known.iter().copied(), format!("use one of {}", known.join(", ")))
}
