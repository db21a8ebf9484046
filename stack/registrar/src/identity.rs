//! Who has sent a request, as the network says it (RFC 3325 §5, TS 24.229 §5.2.6.3): one of the
//! public user identities that the core has registered with the client, never what the client says
//! without that.
//!
//! ```text
//! P-Associated-URI of the 200  the implicit set without its barred ones; its first is the default
//! none, or an empty one        the address of record alone (RFC 7315 §4.1)
//! ```
//! From is no part of it: a caller may call himself there as he likes.

use crate::aor::Aor;
use crate::binding::Binding;
use crate::registrar::Registrar;
use machine::slots::Key;
use runtime::Flow;
use sip::NameAddr;

/// Identities that a sender can prefer: one of `sip` or `sips`, one of `tel` (RFC 3325 §9.2).
const PREFERRED_MAX: usize = 2;

impl Registrar {
    /// The binding that a request was sent by whose sender prefers these identities, by whichever
    /// of the flows that lead to one client: the one that the first of them is registered with,
    /// else the one that was registered first. One that is for emergencies alone takes other
    /// requests only where there is no other.
    #[must_use]
    pub fn preferring<'a>(
        &self,
        flows: &[Flow],
        preferred: impl Iterator<Item = &'a [u8]>,
        is_emergency: bool,
    ) -> Option<Key> {
        let any = || flows.iter().flat_map(|flow| self.by_source(flow));
        let all = || any().filter(|(_, binding)| is_emergency || !binding.is_emergency());
        let with = |value: &[u8]| {
            let wanted = identity(value)?.0;
            all().find(|(_, binding)| binding.registered_as(&wanted).is_some())
        };
        let found = preferred.take(PREFERRED_MAX).find_map(with);
        let found = found.or_else(|| all().min_by_key(|(_, binding)| binding.registered));
        let found = found.or_else(|| any().next());
        found.map(|(key, _)| key)
    }
}

impl Binding {
    /// Appends the identity of a sender who prefers these, as the core has written it: the first of
    /// them that is registered with the binding, else the default one. Whether it was asked for.
    pub fn write_identity<'a>(
        &self,
        preferred: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<u8>,
    ) -> bool {
        let mut preferred = preferred.take(PREFERRED_MAX);
        let asked = preferred.find_map(|value| self.registered_as(&identity(value)?.0));
        match asked.or_else(|| self.identities().next()) {
            Some(Registered::Listed(address)) => {
                if !address.display.is_empty() {
                    out.extend_from_slice(address.display);
                    out.push(b' ');
                }
                out.push(b'<');
                out.extend_from_slice(address.uri);
            }
            Some(Registered::Alone) | None => {
                let aor = self.aor();
                let is_number = aor.iter().all(|octet| matches!(octet, b'+' | b'0'..=b'9'));
                out.extend_from_slice(if is_number { b"<tel:" } else { b"<sip:" });
                out.extend_from_slice(aor);
            }
        }
        out.push(b'>');
        asked.is_some()
    }

    /// That identity among those which the core has registered with the binding.
    fn registered_as(&self, wanted: &Aor) -> Option<Registered<'_>> {
        self.identities().find(|own| match own {
            Registered::Listed(address) => Aor::parse(address.uri).is_some_and(|it| it == *wanted),
            Registered::Alone => self.aor() == &**wanted,
        })
    }

    /// Those identities, in the order of the core.
    fn identities(&self) -> impl Iterator<Item = Registered<'_>> {
        let listed = || sip::Items::new(self.associated()).filter_map(identity);
        let alone = listed().next().is_none().then_some(Registered::Alone);
        listed().map(|(_, address)| Registered::Listed(address)).chain(alone)
    }
}

/// A public user identity that is registered with a binding.
#[derive(Debug, Clone, Copy)]
enum Registered<'a> {
    /// As it stands in P-Associated-URI.
    Listed(NameAddr<'a>),
    /// There is no such list: its address of record.
    Alone,
}

/// What names somebody, in the form in which that is compared.
fn identity(value: &[u8]) -> Option<(Aor, NameAddr<'_>)> {
    let address = NameAddr::parse(value).ok()?;
    Some((Aor::parse(address.uri)?, address))
}
