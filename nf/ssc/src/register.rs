//! REGISTER between the registrar front and the two legs, and requests to those registered.

use crate::call::relay::Relay;
use crate::config::Ssc;
use crate::egress::{Event, Field};
use crate::metrics::Metric;
use crate::refusal::{Refusal, status_line};
use crate::{Arrived, Controller};
use ims::Accepted;
use machine::Time;
use machine::slots::Key;
use registrar::{Change, CoreVerdict, Gone, Registrar, Reject, Verdict};
use runtime::Effects;
use sip::{Message, Method};
use sip_stack::border::Border;
use sip_stack::realm::{RealmId, Side};
use sip_stack::route::Way;
use sip_stack::write;
use transaction::ServerId;

/// What the registrar says about a request outside of any dialog.
pub(crate) enum Registered {
    /// Answered here, or refused: nothing is left to do.
    Done,
    /// A REGISTER for the core.
    Forward(Key),
    /// Nothing: the request is routed as any other.
    Nothing,
}

impl Controller {
    /// A REGISTER from the access side, if the registrar front is on.
    pub(crate) fn register(
        &mut self,
        at: &Arrived<'_>,
        server: ServerId,
        out: &mut Effects,
    ) -> Registered {
        let is_access = self.border.realms.row(at.realm).side == Side::Access;
        if !self.config.registrar.enabled || !is_access {
            return Registered::Nothing;
        }
        match self.registrar.on_register(at.now, &at.flow, at.realm, at.message) {
            Verdict::Forward(pending) => {
                if self.policing.is_answered() {
                    self.registrar.answered(pending);
                }
                return Registered::Forward(pending);
            }
            Verdict::Reject(reject) => self.refuse_register(at, server, reject, out),
        }
        Registered::Done
    }

    /// Answers a REGISTER that only refreshes what is known, without a transaction; `false`: it
    /// is no such message.
    pub(crate) fn refresh_register(&mut self, at: &Arrived<'_>, out: &mut Effects) -> bool {
        let is_register = at.message.method() == Method::Register && at.message.is_request();
        if !is_register || self.is_draining || !self.config.registrar.enabled {
            return false;
        }
        let is_access = self.border.realms.row(at.realm).side == Side::Access;
        let is_ours = is_access && !self.ims.is_offer(&at.flow, at.message);
        if !is_ours || self.objection(at.message).is_some() {
            return false;
        }
        let Some(listener) = self.border.realms.listener(at.flow.port) else { return false };
        let Some(refreshed) = self.registrar.refresh(at.now, &at.flow, at.message) else {
            return false;
        };
        let trail = Some(refreshed.mark);
        self.egress.received(at.now, &at.flow, trail, at.raw);
        let metric =
            if refreshed.is_repeated { Metric::Retransmissions } else { Metric::RegistersLocal };
        self.egress.metrics.add(metric, 1);
        let tag = machine::identity::hex(machine::identity::mix(refreshed.mark));
        let to = sip_stack::upstream::upstream(&at.flow, at.message);
        let oc = self.overload.feedback.answer(at.now, &at.message.via());
        self.egress.send(at.now, to, trail, out, |buffer| {
            buffer.extend_from_slice(b"SIP/2.0 200 OK\r\n");
            write::response_head(buffer, at.message, &at.flow, Some(&tag), oc);
            self.registrar.write_answer(buffer, at.now, &refreshed.aor, &listener.uri_host);
            write::no_body(buffer);
        });
        true
    }

    fn refuse_register(
        &mut self,
        at: &Arrived<'_>,
        server: ServerId,
        reject: Reject,
        out: &mut Effects,
    ) {
        let refusal = Refusal {
            min_expires_s: reject.min_expires_s,
            ..Refusal::new(reject.status, reject.why)
        };
        if reject.status == 503 {
            // A storm of registrations must not fill the table with refusals for 32 s each: a
            // copy of the request is judged anew.
            self.transactions.abandon(server);
            return self.refuse(at, None, refusal, out);
        }
        self.refuse(at, Some(server), refusal, out);
    }

    /// A REGISTER that the core should be asked for finds the table of relays full.
    pub(crate) fn no_room_for_register(
        &mut self,
        at: &Arrived<'_>,
        server: ServerId,
        pending: Key,
        out: &mut Effects,
    ) {
        self.registrar.abandon(pending);
        self.refuse_register(at, server, Reject::NO_ROOM, out);
    }

    /// The core's answer to a forwarded REGISTER; `true` when it was answered from here.
    pub(crate) fn registered(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        pending: Key,
        out: &mut Effects,
    ) -> bool {
        let upstream = self.calls.relays.at(key).map(|relay| relay.upstream.port);
        let is_accepted = matches!(at.message.status(), Some(200..=299));
        if is_accepted && upstream.is_some_and(|port| self.ims.must_agree(port)) {
            self.registrar.abandon(pending); // IMS access tells the phone that it is refused
            return false;
        }
        let is_told = at.message.status() == Some(401) && self.challenged(at, key, pending, out);
        let verdict = self.registrar.on_core_answer(at.now, pending, at.message);
        self.egress.metrics.set(Metric::BindingsLive, self.registrar.len() as u64);
        let CoreVerdict::Answered(aor, change, repeated) = verdict else { return is_told };
        let Some(relay) = self.calls.relays.at(key) else { return false };
        let Some(listener) = self.border.realms.listener(relay.upstream.port) else { return false };
        let (upstream, trail) = (relay.upstream, relay.trail());
        self.egress.send(at.now, upstream, Some(trail), out, |buffer| {
            status_line(buffer, 200);
            buffer.extend_from_slice(&relay.texts.head);
            self.registrar.write_answer(buffer, at.now, &aor, &listener.uri_host);
            write::no_body(buffer);
        });
        match (relay.server, repeated) {
            (Some(server), Some(_)) => self.transactions.abandon(server),
            _ => self.keep_answer(at.now, key, 200, out),
        }
        if matches!(change, Change::Registered | Change::Refreshed) {
            self.policing.allow_source(at.now, upstream.remote.ip());
            if let Some(binding) = repeated {
                let path = self.registrar.token(binding);
                let accepted = Accepted { core: &at.flow, answer: at.message, path: &path };
                self.ims.watch(at.now, upstream.port, &accepted);
            }
        }
        let event = match change {
            Change::Registered => Event::Registered,
            Change::Refreshed => Event::RegistrationRefreshed,
            Change::Removed => Event::Unregistered,
            Change::None => return true,
        };
        self.egress.event(at.now, &upstream, trail, event, &[("aor", Field::Text(&aor))]);
        true
    }

    /// The core challenges a REGISTER: a phone that has answered our challenge is told to try again
    /// with the same credentials. `true` when it was told so here.
    fn challenged(&mut self, at: &Arrived<'_>, key: Key, pending: Key, out: &mut Effects) -> bool {
        let Some(record) = self.registrar.record(pending) else { return false };
        let stale = self.policing.challenged(at.message, record.domain(), record.is_answered);
        let Some(text) = stale else { return false };
        let mut room = None;
        let stale = Message::parse_in(&mut room, &text).ok();
        let is_told = stale.is_some();
        if let Some(message) = stale {
            self.pass_back(
                &Arrived { message, ..*at },
                key,
                (401, media_stack::Verdict::Same),
                out,
            );
        }
        self.policing.reuse(text);
        is_told
    }

    /// Bindings that ended.
    pub(crate) fn registrar_tick(&mut self, now: Time) {
        let mut gone = Vec::new();
        self.registrar.tick(now, &mut gone);
        self.gone(now, &gone);
    }

    /// Tells what became of bindings.
    pub(crate) fn gone(&mut self, now: Time, gone: &[Gone]) {
        for binding in gone {
            let trail = self.random();
            let fields = [
                ("aor", Field::Text(&binding.aor)),
                ("contact", Field::Text(&binding.contact)),
                ("text", Field::Text(binding.why.as_bytes())),
            ];
            self.egress.event(now, &binding.flow, trail, Event::RegistrationEnded, &fields);
        }
        if !gone.is_empty() {
            self.egress.metrics.set(Metric::BindingsLive, self.registrar.len() as u64);
        }
    }

    /// A relay will not be answered: a REGISTER in it is forgotten.
    pub(crate) fn forget_register(&mut self, key: Key) {
        let pending = self
            .calls
            .relays
            .at_mut(key)
            .and_then(|relay: &mut Relay| relay.registration.pending.take());
        if let Some(pending) = pending {
            self.registrar.abandon(pending);
        }
    }
}

/// The way to the registered subscriber that a request of the core is for.
pub(crate) fn way_to_binding(
    border: &Border,
    registrar: &Registrar,
    from: RealmId,
    message: &Message<'_>,
) -> Option<Way> {
    if border.realms.row(from).side == Side::Access {
        return None;
    }
    let (key, binding) = registrar.addressed(message)?;
    let (realm, flow) = (binding.realm, binding.flow);
    Some(Way { realm, flow, plan: None, binding: Some(key), hop: None })
}

/// A registrar as the configuration wants it.
pub(crate) fn registrar(config: &Ssc, shard: u16, seed: &[u8; 16], now: Time) -> Registrar {
    Registrar::new(config.registrar(), config.limits.bindings_max, shard, seed, now)
}
