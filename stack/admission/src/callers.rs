//! Who calls, as limits and buckets know him.

use crate::Known;
use machine::identity::{hash_combine, mix};
use machine::slots::Key;
use registrar::Registrar;
use runtime::Flow;
use sip_stack::border::Border;
use sip_stack::realm::RealmId;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

/// Who calls, as limits and buckets know him.
#[derive(Clone, Copy)]
pub struct Callers<'a> {
    /// The realms they call from, and whom they may be believed in.
    pub border: &'a Border,
    /// Who is registered.
    pub registrar: &'a Registrar,
    secret: u64,
}

impl<'a> Callers<'a> {
    /// With a secret that no caller knows: whoever could choose names that meet in a table would
    /// spend what another one has.
    #[must_use]
    pub const fn new(border: &'a Border, registrar: &'a Registrar, secret: u64) -> Self {
        Self { border, registrar, secret }
    }

    /// A subscriber of a realm, hashed.
    #[must_use]
    pub fn number(self, realm: RealmId, name: &[u8]) -> u64 {
        hash_combine(mix(self.secret ^ u64::from(realm.0)), name)
    }

    /// The name that a subscriber's limit goes by: his address of record, else the URI in From
    /// where that is believed, else where he sends from (of IPv6: /64), for a stranger may write
    /// another From into each call.
    #[must_use]
    pub fn name(
        self,
        realm: RealmId,
        flow: &Flow,
        subscriber: Option<Key>,
        from: &'a [u8],
    ) -> Cow<'a, [u8]> {
        let binding = subscriber.and_then(|key| self.registrar.binding(key));
        match (binding, flow.remote.ip()) {
            (Some(binding), _) => binding.aor().into(),
            (None, _) if self.border.is_authenticated(realm, flow) => from.into(),
            (None, IpAddr::V4(ip)) => ip.to_string().into_bytes().into(),
            (None, IpAddr::V6(ip)) => {
                let network = ip.to_bits() >> 64 << 64;
                format!("{}/64", Ipv6Addr::from_bits(network)).into_bytes().into()
            }
        }
    }

    /// What is known of a source.
    #[must_use]
    pub fn known(self, flow: &Flow) -> Known {
        let subscriber =
            self.registrar.subscriber(flow).and_then(|key| self.registrar.binding(key));
        if let Some(binding) = subscriber {
            Known::Registered(self.number(binding.realm, binding.aor()))
        } else if flow.transport.is_stream() {
            Known::Connection
        } else {
            Known::Nothing
        }
    }
}
