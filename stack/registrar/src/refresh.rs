//! Refreshes that are answered from the cache, without a transaction.
//!
//! The binding itself is what a transaction would remember: a REGISTER that comes again bears
//! the number that the binding had last and gets the same answer with the same tag, as of a
//! stateless server (RFC 3261 §8.2.7).

use crate::aor::Aor;
use crate::binding::write_contact;
use crate::registrar::{Registrar, header_expires, seconds};
use machine::Time;
use machine::identity::mix;
use machine::slots::Key;
use runtime::Flow;
use sip::view::Contact;
use sip::{Header, Message, NameAddr};

/// A REGISTER that was answered here.
#[derive(Debug, Clone, Copy)]
pub struct Refreshed {
    /// Whose contacts the 200 lists, see [`Registrar::write_answer`].
    pub aor: Aor,
    /// The same for every copy of the request and for no other: tag and trail come from it.
    pub mark: u64,
    /// Whether it had been answered before.
    pub is_repeated: bool,
}

impl Registrar {
    /// Refreshes a known binding from its own source while the core's binding is fresh; `None`:
    /// [`Registrar::on_register`] decides.
    pub fn refresh(&mut self, now: Time, flow: &Flow, message: &Message<'_>) -> Option<Refreshed> {
        if self.bindings.is_empty() {
            return None;
        }
        let mut contacts = message.values(Header::Contact);
        let Ok(Contact::Address(contact)) = Contact::parse(contacts.next()?) else { return None };
        if contacts.next().is_some() {
            return None;
        }
        let asked = contact.expires_s().or_else(|| header_expires(message));
        if asked == Some(0) || asked.is_some_and(|it| it < self.config.client_expires_min_s) {
            return None;
        }
        let aor = Aor::parse(message.to().uri)?;
        let call_id = self.hash.hash(message.call_id());
        let key = self.known(&aor, flow, call_id, &contact)?;
        let cseq = message.cseq().number;
        let mark = mix(call_id ^ u64::from(cseq));
        let binding = self.bindings.at(key)?;
        if binding.cseq == cseq {
            return Some(Refreshed { aor, mark, is_repeated: true });
        }
        let longest = self.config.client_expires_s(binding.realm);
        let granted_s = asked.unwrap_or(longest).min(longest);
        let expires = now + seconds(granted_s);
        let is_fresh =
            cseq > binding.cseq && now < binding.core_refresh && expires <= binding.core_expires;
        if !is_fresh {
            return None;
        }
        let binding = self.bindings.at_mut(key)?;
        (binding.cseq, binding.granted_s, binding.expires) = (cseq, granted_s, expires);
        self.bindings.arm(key, expires);
        Some(Refreshed { aor, mark, is_repeated: false })
    }

    /// The binding that nothing tells from this REGISTER's: name, source, Call-ID and contact.
    fn known(
        &mut self,
        aor: &Aor,
        flow: &Flow,
        call_id: u64,
        contact: &NameAddr<'_>,
    ) -> Option<Key> {
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        write_contact(&mut text, contact);
        let mut found = self.bindings_of(aor).filter(|(_, binding)| {
            binding.call_id == call_id && binding.is_from(flow) && binding.contact() == text
        });
        let key = found.next().map(|(key, _)| key);
        drop(found);
        self.scratch = text;
        key
    }
}
