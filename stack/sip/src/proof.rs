//! Who the far ends of TLS connections are: what their certificates proved, whether that makes
//! them trusted, and which of their connections serve both ways.
//!
//! ```text
//!  handshake ─ names (RFC 5922 §7.1) ─┬─ trusted_peers of the realm → identities are believed
//!                                     └─ Via: …;alias → the next hop of that name and address
//!                                        is reached over this connection (RFC 5923)
//! ```

use crate::border::Border;
use crate::config::Target;
use crate::realm::{RealmId, Realms};
use crate::settings::{RealmSettings, Settings};
use crate::source::{Connection, connection};
use runtime::{Effects, Flow, Transport};
use sip::{Message, Params};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Connections whose far end is remembered; what comes on top is a far end without a name.
const PROOFS_MAX: usize = 65_536;
/// Targets that must prove a name.
const NAMED_MAX: usize = 4_096;
/// Port of a `sent-by` over TLS that names none (RFC 3261 §18.1.1).
const PORT: u16 = 5061;

/// What one connection's far end has proved.
#[derive(Debug)]
struct Proof {
    realm: RealmId,
    names: Vec<String>,
    is_trusted: bool,
    is_aliased: bool,
}

/// A target that is reached over TLS and must prove a name.
#[derive(Debug)]
struct Named {
    realm: RealmId,
    remote: SocketAddr,
    name: String,
    /// The search of the DNS that found it; `None`: it is configured.
    search: Option<usize>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Proofs {
    by_connection: BTreeMap<Connection, Proof>,
    named: Vec<Named>,
    /// By realm: names that are trusted.
    trusted: Vec<Vec<String>>,
    /// Whether the runtime knows the names that targets must prove.
    is_told: bool,
}

/// A name as certificates compare it: without `sip:`, in lower case.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("sip:").or_else(|| name.strip_prefix("sips:")).unwrap_or(name);
    name.trim_end_matches('.').to_ascii_lowercase()
}

impl Proofs {
    /// Takes checked settings.
    pub fn configure(&mut self, settings: &Settings<'_>, realms: &Realms) {
        let names =
            |realm: &RealmSettings<'_>| realm.trusted_peers.iter().map(|n| plain(n)).collect();
        self.trusted = settings.realms.iter().map(names).collect();
        self.named.clear();
        for hop in &settings.hops {
            let (Some(realm), Some(name)) = (realms.named(hop.realm), hop.tls_name) else {
                continue;
            };
            for target in hop.targets {
                if let Ok(Target::Address(address)) = Target::parse(target)
                    && address.transport == Transport::Tls
                {
                    self.named.push(Named {
                        realm,
                        remote: address.socket,
                        name: plain(name),
                        search: None,
                    });
                }
            }
        }
        self.is_told = false;
        let trusted = &self.trusted;
        for proof in self.by_connection.values_mut() {
            proof.is_trusted = is_trusted(trusted, proof.realm, &proof.names);
        }
    }

    /// A search of the DNS found these targets, which must prove `name`, in place of those before.
    pub fn found(
        &mut self,
        search: usize,
        realm: RealmId,
        remotes: impl Iterator<Item = SocketAddr>,
        name: &str,
    ) {
        self.named.retain(|named| named.search != Some(search));
        let (name, room) = (plain(name), NAMED_MAX.saturating_sub(self.named.len()));
        self.named.extend(remotes.take(room).map(|remote| Named {
            realm,
            remote,
            name: name.clone(),
            search: Some(search),
        }));
    }

    /// Realms moved to other indices.
    pub fn remap(&mut self, to: impl Fn(RealmId) -> Option<RealmId>) {
        self.by_connection.retain(|_, proof| match to(proof.realm) {
            Some(realm) => {
                proof.realm = realm;
                true
            }
            None => false,
        });
    }

    /// Whether the far end of a connection proved a name that its realm trusts.
    pub fn trusts(&self, flow: &Flow) -> bool {
        flow.transport == Transport::Tls
            && self.by_connection.get(&connection(flow)).is_some_and(|proof| proof.is_trusted)
    }

    /// A connection ended.
    pub fn forget(&mut self, flow: &Flow) {
        if flow.transport == Transport::Tls {
            self.by_connection.remove(&connection(flow));
        }
    }

    fn prove(&mut self, realm: RealmId, flow: &Flow, names: &[String]) {
        if self.by_connection.len() >= PROOFS_MAX {
            return;
        }
        let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let is_trusted = is_trusted(&self.trusted, realm, &names);
        let proof = Proof { realm, names, is_trusted, is_aliased: false };
        self.by_connection.insert(connection(flow), proof);
    }

    /// Whether requests to `remote` may take this connection: a next hop stands there, and the
    /// far end has proved its name. Once for each connection.
    fn may_alias(&mut self, flow: &Flow, remote: SocketAddr) -> bool {
        let Some(proof) = self.by_connection.get_mut(&connection(flow)) else { return false };
        if proof.is_aliased {
            return false;
        }
        let proved = |named: &&Named| {
            (named.realm, named.remote) == (proof.realm, remote)
                && proof.names.contains(&named.name)
        };
        let found = self.named.iter().find(proved).is_some();
        proof.is_aliased = found;
        found
    }
}

fn is_trusted(trusted: &[Vec<String>], realm: RealmId, names: &[String]) -> bool {
    let trusted = trusted.get(usize::from(realm.0));
    trusted.is_some_and(|trusted| names.iter().any(|name| trusted.contains(name)))
}

impl Border {
    /// A far end has proved its names.
    pub fn proved(&mut self, flow: &Flow, names: &[String]) {
        if let Some(listener) = self.realms.listener(flow.port) {
            self.proofs.prove(listener.realm, flow, names);
        }
    }

    /// Whether what a far end asserts is believed: its realm is trusted, or it proved a name that
    /// the realm trusts.
    pub fn is_authenticated(&self, realm: RealmId, flow: &Flow) -> bool {
        self.realms.row(realm).trusted || self.proofs.trusts(flow)
    }

    /// Tells the runtime which names the certificates of next hops must carry, once after each
    /// configuration.
    pub fn announce_names(&mut self, out: &mut Effects) {
        if self.proofs.is_told {
            return;
        }
        self.proofs.is_told = true;
        for named in self.proofs.named.iter().filter(|named| named.search.is_none()) {
            out.name(named.remote, &named.name);
        }
    }

    /// The far end offers its connection for requests of ours (RFC 5923 §5.1): `alias` in its Via,
    /// over TLS, with a certificate.
    pub fn reuse(&mut self, flow: &Flow, message: &Message<'_>, out: &mut Effects) {
        if flow.transport != Transport::Tls || !message.is_request() {
            return;
        }
        let via = message.via();
        if !Params::new(via.params).any(|param| param.name.eq_ignore_ascii_case(b"alias")) {
            return;
        }
        let remote = SocketAddr::new(flow.remote.ip(), via.port.unwrap_or(PORT));
        if self.proofs.may_alias(flow, remote) {
            out.alias(*flow, remote);
        }
    }
}
