//! What the core answered (RFC 3261 §10.2.4, RFC 3608 §6, RFC 7315 §4.1).

use crate::aor::Aor;
use crate::binding::{AGENT_BYTES_MAX, Binding, write_contact};
use crate::pending::Pending;
use crate::registrar::{Registrar, header_expires, seconds};
use machine::Time;
use machine::slots::Key;
use sip::view::Contact;
use sip::{Header, Message, NameAddr, Uri};

/// A core's binding is refreshed when half of it is over, or this long before its end if that is
/// later (TS 24.229 §5.1.1.4.1).
const REFRESH_MARGIN_S: u32 = 600;

/// What a final answer of the core means.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "lives for one step; a box would cost more")]
pub enum CoreVerdict {
    /// The core accepted: answer 200 with what [`Registrar::write_answer`] writes. With a key:
    /// [`Registrar::refresh`] repeats the answer, no transaction need keep it.
    Answered(Aor, Change, Option<Key>),
    /// Pass the response to the client (a challenge, a refusal).
    Pass,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A contact is new.
    Registered,
    /// Known contacts were refreshed or moved.
    Refreshed,
    /// Contacts were removed.
    Removed,
    /// Nothing: it was a question.
    None,
}

impl Registrar {
    /// The core's final answer to the REGISTER behind `pending`, which is forgotten.
    pub fn on_core_answer(
        &mut self,
        now: Time,
        pending: Key,
        response: &Message<'_>,
    ) -> CoreVerdict {
        let status = response.status().unwrap_or_default();
        if status == 423 {
            self.learn_floor(response);
        }
        if !(200..300).contains(&status) {
            self.abandon(pending);
            return CoreVerdict::Pass;
        }
        let Some(record) = self.pending.at_mut(pending).map(core::mem::take) else {
            return CoreVerdict::Pass;
        };
        self.pending.give_back(pending);
        let verdict = self.accept(now, &record, response);
        for key in record.keys {
            if self.bindings.at(key).is_some_and(|binding| !binding.is_active()) {
                self.bindings.give_back(key);
            }
        }
        verdict
    }

    /// The core finds our interval too brief: from now on it is asked for what it wants.
    fn learn_floor(&mut self, response: &Message<'_>) {
        let least = response
            .header(Header::MinExpires)
            .and_then(|value| core::str::from_utf8(value).ok()?.trim().parse::<u32>().ok());
        self.core_floor_s = self.core_floor_s.max(least.unwrap_or(0));
    }

    fn accept(&mut self, now: Time, record: &Pending, response: &Message<'_>) -> CoreVerdict {
        let Ok(request) = Message::parse(&record.request) else { return CoreVerdict::Pass };
        let Some(aor) = Aor::parse(request.to().uri) else { return CoreVerdict::Pass };
        let mut contacts = request.values(Header::Contact).peekable();
        if contacts.peek() == Some(&&b"*"[..]) {
            let keys: Vec<Key> = self.bindings_of(&aor).map(|(key, _)| key).collect();
            keys.into_iter().for_each(|key| self.remove(key));
            return CoreVerdict::Answered(aor, Change::Removed, None);
        }
        let mut change = Change::None;
        let mut active = None;
        for (value, &key) in contacts.zip(&record.keys) {
            let Ok(Contact::Address(contact)) = Contact::parse(value) else { continue };
            let asked_s = contact.expires_s().or_else(|| header_expires(&request));
            let longest = self.config.client_expires_s(record.realm);
            let asked_s = asked_s.unwrap_or(longest);
            let core_s = if asked_s == 0 { 0 } else { self.core_granted(key, response) };
            if core_s == 0 {
                self.remove(key);
                change = Change::Removed;
                continue;
            }
            let known = self.bindings.at(key).is_some_and(Binding::is_active);
            let moved = Update { aor, contact, request: &request, response, record };
            let granted_s = asked_s.min(longest).min(core_s);
            if !self.activate(now, key, &moved, [granted_s, core_s]) {
                continue;
            }
            active = (record.keys.len() == 1).then_some(key);
            if change != Change::Registered {
                change = if known { Change::Refreshed } else { Change::Registered };
            }
        }
        CoreVerdict::Answered(aor, change, active)
    }

    /// Seconds that the core gave our contact for a binding; 0 when it does not list it.
    fn core_granted(&self, key: Key, response: &Message<'_>) -> u32 {
        let token = self.token(key);
        let header = header_expires(response).unwrap_or_else(|| self.core_expires_s());
        let mut listed = false;
        for value in response.values(Header::Contact) {
            listed = true;
            let Ok(contact) = NameAddr::parse(value) else { continue };
            if Uri::parse(contact.uri).is_ok_and(|uri| uri.user == Some(&token)) {
                return contact.expires_s().unwrap_or(header);
            }
        }
        if listed { 0 } else { header }
    }

    /// Seconds to ask the core for.
    pub(crate) fn core_expires_s(&self) -> u32 {
        self.config.core_expires_s.max(self.core_floor_s)
    }

    /// Makes a binding what the core has accepted. Returns whether it fits.
    fn activate(&mut self, now: Time, key: Key, update: &Update<'_>, times: [u32; 2]) -> bool {
        if self.is_one_too_many(key, update) {
            self.bindings.give_back(key);
            return false;
        }
        self.unlist(key);
        let (request, response) = (update.request, update.response);
        let mut contact = Vec::new();
        write_contact(&mut contact, &update.contact);
        let agent = request.header(Header::UserAgent).unwrap_or_default();
        let agent = &agent[..agent.len().min(AGENT_BYTES_MAX)];
        let service_route = list(response, Header::ServiceRoute);
        let associated = list(response, Header::PAssociatedUri);
        let call_id = self.hash.hash(request.call_id());
        let is_outbound = update.contact.instance().is_some() && update.contact.reg_id().is_some();
        let Some(binding) = self.bindings.at_mut(key) else { return false };
        let texts = [&*update.aor, &contact, agent, &service_route, &associated];
        if !binding.set_texts(texts) {
            self.bindings.give_back(key);
            return false;
        }
        let [granted_s, core_s] = times;
        let ahead_s = (core_s / 2).min(REFRESH_MARGIN_S);
        binding.realm = update.record.realm;
        binding.flow = update.record.flow;
        binding.call_id = call_id;
        binding.is_outbound = is_outbound;
        binding.cseq = request.cseq().number;
        binding.granted_s = granted_s;
        binding.registered = if binding.is_active() { binding.registered } else { now };
        binding.expires = now + seconds(granted_s);
        binding.core_expires = now + seconds(core_s);
        binding.core_refresh = now + seconds(core_s - ahead_s);
        binding.asked = Time::ZERO;
        self.bindings.arm(key, now + seconds(granted_s));
        self.displace(key, update);
        self.list(key);
        true
    }

    /// Whether the address of record has as many contacts as it may, by REGISTERs that crossed this
    /// one on its way.
    fn is_one_too_many(&self, key: Key, update: &Update<'_>) -> bool {
        let is_new = self.bindings.at(key).is_some_and(|binding| !binding.is_active());
        is_new
            && self.bindings_of(&update.aor).count() >= usize::from(self.config.contacts_max)
            && self.find(&update.aor, &update.contact).is_none()
    }

    /// The same contact may have been accepted twice, by two REGISTERs that crossed: the older
    /// binding goes.
    fn displace(&mut self, key: Key, update: &Update<'_>) {
        let older = self.find(&update.aor, &update.contact).filter(|&found| found != key);
        if let Some(older) = older {
            self.remove(older);
        }
    }
}

/// A contact that the core accepted, with the messages about it.
struct Update<'a> {
    aor: Aor,
    contact: NameAddr<'a>,
    request: &'a Message<'a>,
    response: &'a Message<'a>,
    record: &'a Pending,
}

/// All values of a list header as one list.
fn list(message: &Message<'_>, header: Header) -> Vec<u8> {
    let values: Vec<&[u8]> = message.values(header).collect();
    values.join(&b", "[..])
}
