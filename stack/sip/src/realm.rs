//! Realms: the sides of the controller, their listeners (a transport at an address) and their
//! trust.
//!
//! A message names its realm by the port it came in on; a message that leaves is written with
//! the words its listener has prepared (Via, Contact), so that nothing is formatted on the way.

use crate::settings::RealmSettings;
use machine::narrow::index;
pub use runtime::Address;
use runtime::{Flow, PortId, Transport};
use sip::HeaderSet;
use std::net::SocketAddr;

/// Realms in one controller at most.
pub const REALMS_MAX: usize = 256;
/// Ports are numbered below this; a listener's number is a hash of its address.
pub const PORTS_MAX: u16 = 1 << PORT_BITS;
const PORT_BITS: u16 = 12;

/// Index of a realm in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RealmId(pub u16);

/// Which way a realm looks.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Towards subscribers: registrations come from here, far ends sit behind NATs.
    #[default]
    Access,
    /// Towards the operator's own network.
    Core,
}

/// Where requests inside a call, which name its Call-ID and tags, may come from.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum InDialogSource {
    /// From address and port of the far end.
    Flow,
    /// From the address of the far end.
    Address,
    /// From whoever is in the realm.
    Realm,
}

/// The transport as a Via header writes it (RFC 3261 §20.42).
#[must_use]
pub const fn via_word(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "UDP",
        Transport::Tcp => "TCP",
        Transport::Tls => "TLS",
    }
}

/// A place where a realm listens, and the words that messages leaving it begin with.
#[derive(Debug, Clone)]
pub struct Listener {
    /// The realm it belongs to.
    pub realm: RealmId,
    /// The runtime's port.
    pub port: PortId,
    /// What carries the messages.
    pub transport: Transport,
    /// Where it listens.
    pub local: SocketAddr,
    /// `host:port` as others shall write it: the advertised host or the listening address.
    pub sent_by: String,
    /// `Via: SIP/2.0/UDP host:port;rport;branch=`.
    pub via: Vec<u8>,
    /// `host:port` or `host:port;transport=tcp`, for Contact, Path and Record-Route.
    pub uri_host: Vec<u8>,
}

impl Listener {
    /// The flow from this listener to a far end that has not spoken yet.
    #[must_use]
    pub const fn flow(&self, remote: SocketAddr) -> Flow {
        Flow::to(self.port, self.transport, self.local, remote)
    }
}

/// One side of the controller.
#[derive(Debug, Clone)]
pub struct Realm {
    /// Its index.
    pub id: RealmId,
    /// Its name.
    pub name: String,
    /// Access or core.
    pub side: Side,
    /// Whether identities asserted by or towards it are believed (RFC 3325's trust domain).
    pub trusted: bool,
    /// Headers that cross although it is not trusted.
    pub passes: HeaderSet,
    /// Whether IP addresses of its far ends are hidden from other realms.
    pub hide_hosts: bool,
    /// Where requests inside its calls may come from.
    pub in_dialog_source: InDialogSource,
    /// Whether requests other than REGISTER need a binding.
    pub register_required: bool,
    /// Where it listens, in the order of the configuration.
    pub listeners: Vec<Listener>,
}

/// All realms, found by port or by name.
#[derive(Debug, Clone)]
pub struct Realms {
    rows: Vec<Realm>,
    /// By port number: realm and listener, `u8::MAX` twice where nothing listens.
    by_port: Vec<(u16, u16)>,
}

impl Realms {
    /// The realms of checked settings.
    #[must_use]
    pub fn new(settings: &[RealmSettings<'_>]) -> Self {
        let mut rows: Vec<Realm> = settings
            .iter()
            .enumerate()
            .map(|(n, realm)| Realm {
                id: RealmId(index(n)),
                name: realm.name.to_owned(),
                side: realm.side,
                trusted: realm.trusted,
                passes: realm.passes,
                hide_hosts: realm.hide_hosts,
                in_dialog_source: realm.in_dialog_source,
                register_required: realm.register_required,
                listeners: Vec::new(),
            })
            .collect();
        let mut by_port = vec![(u16::MAX, u16::MAX); PORTS_MAX.into()];
        for (realm, port, address) in listeners(settings.iter().map(|realm| &realm.listen[..])) {
            let row = &mut rows[usize::from(realm.0)];
            by_port[usize::from(port.0)] = (realm.0, index(row.listeners.len()));
            let section = &settings[usize::from(realm.0)];
            // RFC 5923 §5: only where both sides show a certificate.
            let alias = if section.is_mutual && address.transport == Transport::Tls {
                ";alias"
            } else {
                ""
            };
            let advertised = section.advertise;
            let mut made = listener(realm, port, address, advertised);
            made.via = via(address.transport, &made.sent_by, alias);
            row.listeners.push(made);
        }
        Self { rows, by_port }
    }

    /// The realm with this index.
    #[must_use]
    pub fn row(&self, id: RealmId) -> &Realm {
        &self.rows[usize::from(id.0)]
    }

    /// Every realm.
    #[must_use]
    pub fn rows(&self) -> &[Realm] {
        &self.rows
    }

    /// The realm called `name`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<RealmId> {
        self.rows.iter().find(|realm| realm.name == name).map(|realm| realm.id)
    }

    /// The listener behind a port.
    #[must_use]
    pub fn listener(&self, port: PortId) -> Option<&Listener> {
        let &(realm, listener) = self.by_port.get(usize::from(port.0))?;
        self.rows.get(usize::from(realm))?.listeners.get(usize::from(listener))
    }

    /// The listener of a realm that speaks `transport` to addresses like `remote`.
    #[must_use]
    pub fn listener_for(
        &self,
        realm: RealmId,
        transport: Transport,
        remote: SocketAddr,
    ) -> Option<&Listener> {
        self.row(realm).listeners.iter().find(|listener| {
            listener.transport == transport && listener.local.is_ipv4() == remote.is_ipv4()
        })
    }

    /// Whether `host:port` is one of our own listeners, as listening or advertised address.
    #[must_use]
    pub fn is_ours(&self, host: &[u8], port: Option<u16>) -> bool {
        self.rows
            .iter()
            .flat_map(|realm| &realm.listeners)
            .any(|listener| listener.is_at(host, port))
    }
}

/// The listeners of realms that listen there. A listener's port is a hash of its address, so that
/// it stays the same when other listeners come and go.
#[must_use]
pub fn listeners<'a>(
    realms: impl Iterator<Item = &'a [String]>,
) -> Vec<(RealmId, PortId, Address)> {
    let mut taken = vec![false; PORTS_MAX.into()];
    let mut listeners = Vec::new();
    for (realm, listens) in realms.enumerate().take(REALMS_MAX) {
        for listen in listens {
            let Ok(address) = listen.parse::<Address>() else { continue };
            let is_taken = |port: PortId| taken[usize::from(port.0)];
            let Some(port) = PortId::stable(listen, PORTS_MAX, is_taken) else { continue };
            taken[usize::from(port.0)] = true;
            listeners.push((RealmId(index(realm)), port, address));
        }
    }
    listeners
}

impl Listener {
    /// The host as others shall write it, without the port.
    #[must_use]
    pub fn host(&self) -> &[u8] {
        let ours = self.sent_by.as_bytes();
        &ours[..ours.iter().rposition(|&b| b == b':').unwrap_or(ours.len())]
    }

    fn is_at(&self, host: &[u8], port: Option<u16>) -> bool {
        let ours = self.sent_by.as_bytes();
        let split = self.host().len();
        let default = if self.transport == Transport::Tls { 5061 } else { 5060 };
        let port = port.unwrap_or(default);
        ours[..split].eq_ignore_ascii_case(host) && decimal(&ours[split..]) == port
    }
}

/// The number after the colon of `:5060`.
fn decimal(text: &[u8]) -> u16 {
    text.iter().skip(1).fold(0u16, |n, &b| n.wrapping_mul(10).wrapping_add(u16::from(b - b'0')))
}

fn via(transport: Transport, sent_by: &str, alias: &str) -> Vec<u8> {
    format!("Via: SIP/2.0/{} {sent_by}{alias};rport;branch=", via_word(transport)).into_bytes()
}

fn listener(realm: RealmId, port: PortId, address: Address, advertised: Option<&str>) -> Listener {
    let Address { transport, socket } = address;
    let sent_by = match advertised {
        Some(host) if host.contains(':') && !host.starts_with('[') => {
            format!("[{host}]:{}", socket.port())
        }
        Some(host) => format!("{host}:{}", socket.port()),
        None => socket.to_string(),
    };
    let uri_host = match transport {
        Transport::Udp => sent_by.clone(),
        other => format!("{sent_by};transport={}", other.word()),
    };
    Listener {
        realm,
        port,
        transport,
        local: socket,
        sent_by,
        via: Vec::new(),
        uri_host: uri_host.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in ["udp:127.0.0.1:5060", "tcp:[::1]:5060", "tls:127.0.0.1:5061"] {
            assert_eq!(text.parse::<Address>().map(|a| a.to_string()), Ok(text.to_owned()));
        }
        assert!("127.0.0.1:5060".parse::<Address>().is_err());
        assert!("sctp:127.0.0.1:5060".parse::<Address>().is_err());
        assert!("udp:localhost:5060".parse::<Address>().is_err());
    }
}
