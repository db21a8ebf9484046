//! A REGISTER on its way to the core: what must be remembered until the answer.

use crate::aor::Aor;
use crate::binding::{AGENT_BYTES_MAX, write_contact};
use crate::registrar::Registrar;
use machine::slots::{Key, Reuse};
use machine::{Duration, Time};
use runtime::Flow;
use sip::view::Contact;
use sip::{Header, Message, NameAddr, Uri};
use sip_stack::RealmId;

/// REGISTERs that wait for the core's answer at once.
pub const PENDING_MAX: u32 = 65_536;
/// Whatever becomes of the request, after this nobody waits any more (longer than timer F).
pub(crate) const WAIT: Duration = Duration::from_secs(64);

/// A REGISTER on its way.
#[derive(Debug)]
pub struct Pending {
    /// The request as it came.
    pub(crate) request: Vec<u8>,
    pub(crate) flow: Flow,
    pub(crate) realm: RealmId,
    /// The binding of each contact, in their order: a new one or the one that is refreshed.
    pub(crate) keys: Vec<Key>,
    /// Whether its client had answered a challenge of ours: it knows no nonce of the core's.
    pub is_answered: bool,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            request: Vec::new(),
            flow: Flow::NOWHERE,
            realm: RealmId(0),
            keys: Vec::new(),
            is_answered: false,
        }
    }
}

impl Pending {
    /// The domain that it asks to register in.
    #[must_use]
    pub fn domain(&self) -> Option<&[u8]> {
        let uri = self.request.split(|&octet| octet == b' ').nth(1)?;
        Uri::parse(uri).ok().map(|uri| uri.host)
    }
}

impl Reuse for Pending {
    fn reuse(&mut self) {
        *self = Self::default();
    }
}

impl Registrar {
    /// Makes the record of a REGISTER that goes to the core, with a binding for each contact that
    /// has none yet; `None` when there is no room.
    pub(crate) fn suspend(
        &mut self,
        now: Time,
        flow: &Flow,
        realm: RealmId,
        aor: &Aor,
        message: &Message<'_>,
    ) -> Option<Key> {
        let (pending, record) = self.pending.take()?;
        record.request.extend_from_slice(message.raw());
        record.flow = *flow;
        record.realm = realm;
        self.pending.arm(pending, now + WAIT);
        for value in message.values(Header::Contact) {
            let Ok(Contact::Address(contact)) = Contact::parse(value) else { continue };
            let known = self.find(aor, &contact);
            let key = known.or_else(|| self.prepare(aor, &contact, message));
            let Some(key) = key else {
                self.abandon(pending);
                return None;
            };
            if let Some(binding) = self.bindings.at_mut(key) {
                binding.asked = now;
            }
            self.pending.at_mut(pending)?.keys.push(key);
        }
        Some(pending)
    }

    /// A REGISTER that waits for the core's answer.
    #[must_use]
    pub fn record(&self, pending: Key) -> Option<&Pending> {
        self.pending.at(pending)
    }

    /// The client of a REGISTER had answered a challenge of ours.
    pub fn answered(&mut self, pending: Key) {
        if let Some(record) = self.pending.at_mut(pending) {
            record.is_answered = true;
        }
    }

    /// A binding that waits for the core's answer; nobody finds it before.
    fn prepare(&mut self, aor: &Aor, contact: &NameAddr<'_>, message: &Message<'_>) -> Option<Key> {
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        write_contact(&mut text, contact);
        let agent = message.header(Header::UserAgent).unwrap_or_default();
        let agent = &agent[..agent.len().min(AGENT_BYTES_MAX)];
        let made = self
            .bindings
            .take()
            .map(|(key, binding)| (key, binding.set_texts([aor, &text, agent, b"", b""])));
        self.scratch = text;
        match made {
            Some((key, true)) => Some(key),
            Some((key, false)) => {
                self.bindings.give_back(key);
                None
            }
            None => None,
        }
    }

    /// Nobody answered, or the answer was not 2xx: everything is as before.
    pub fn abandon(&mut self, pending: Key) {
        let Some(record) = self.pending.at_mut(pending) else { return };
        let keys = core::mem::take(&mut record.keys);
        self.pending.give_back(pending);
        for key in keys {
            let Some(binding) = self.bindings.at_mut(key) else { continue };
            if binding.is_active() {
                binding.asked = Time::ZERO;
                let expires = binding.expires;
                self.bindings.arm(key, expires); // it may have waited for the core's word
            } else {
                self.bindings.give_back(key);
            }
        }
    }
}
