//! Limits where calls begin and end.

use crate::facts::Fact;
use crate::refusal::Refusal;
use crate::{Arrived, Controller};
use admission::{Asking, Excess, Grant, Kind, Known};
use machine::Time;
use machine::slots::Key;
use runtime::Flow;
use sip::{Method, RequestHead};
use sip_stack::realm::RealmId;
use sip_stack::route::Way;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

/// What counts the calls that exceed a limit of this kind.
const fn fact(kind: Kind) -> Fact {
    match kind {
        Kind::Pool => Fact::PoolRefused,
        Kind::Units => Fact::UnitsRefused,
        Kind::Realm => Fact::RealmRefused,
        Kind::NextHop => Fact::NextHopRefused,
        Kind::Subscriber => Fact::SubscriberRefused,
    }
}

fn refusal(excess: Excess) -> Refusal {
    Refusal {
        excess: Some(excess),
        retry_after_s: excess.answer.retry_after_s,
        ..Refusal::new(excess.answer.status, excess.why())
    }
}

impl Controller {
    /// What an INVITE that goes this way takes of the limits; nothing for other requests. An
    /// emergency call beyond a limit goes uncounted and is not refused.
    pub(crate) fn granted(
        &mut self,
        at: &Arrived<'_>,
        way: &Way,
        subscriber: Option<Key>,
        is_emergency: bool,
    ) -> Result<Grant, Refusal> {
        if at.message.method() != Method::Invite {
            return Ok(Grant::default());
        }
        let live = self.overload.limits.sessions();
        let pooled = self.overload.share.admits(at.now, live, is_emergency);
        let pooled = pooled.map(|is_beyond| {
            self.egress.facts.add(Fact::PoolOverdraft, is_beyond.into());
        });
        let is_own = self.overload.limits.has_subscribers(at.realm);
        let caller = if is_own {
            self.caller(at.realm, &at.flow, subscriber, at.message.from().uri).into_owned()
        } else {
            Vec::new()
        };
        let mut asking = Asking {
            realm: at.realm,
            hop: way.hop,
            subscriber: if is_own { self.calls.merged.name(at.realm, &caller) } else { 0 },
            units: self.overload.limits.cost(at.flow.transport, at.message),
        };
        let realms = [at.realm.0, way.realm.0];
        if self.media.anchors(realms) {
            let demand = self.media.demand(realms, at.message.body());
            let media = self.overload.limits.media_cost(demand.protected, demand.is_transcoded);
            asking.units = asking.units.saturating_add(media);
        }
        // Rates are those of arrivals: a pause of the machine takes nothing from anybody.
        let waited_ns = self.overload.admission.delay().as_nanos();
        let waited_ns = u64::try_from(waited_ns).unwrap_or(u64::MAX);
        let arrived = Time::from_nanos(at.now.as_nanos().saturating_sub(waited_ns));
        pooled.and_then(|()| self.overload.limits.admit(arrived, &asking)).or_else(|excess| {
            if is_emergency {
                return Ok(Grant::default());
            }
            self.egress.facts.add(fact(excess.kind), 1);
            if excess.kind == Kind::Subscriber {
                self.overload.limits.note_refused(&asking, &caller);
            }
            Err(refusal(excess))
        })
    }

    /// The name that a subscriber's limit goes by: his address of record, else the URI in From
    /// where that is believed, else where he sends from (of IPv6: /64), for a stranger may write
    /// another From into each call.
    pub(crate) fn caller<'a>(
        &'a self,
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

    /// A call is over: its record and what it holds are given back.
    pub(crate) fn give_back(&mut self, now: Time, key: Key) {
        if let Some(call) = self.calls.table.at_mut(key) {
            self.overload.limits.release(core::mem::take(&mut call.grant));
            if let Some(media) = call.media.key {
                self.media.end(now, media);
            }
        }
        self.calls.table.give_back(key);
    }

    /// Whether a call for help from this source would be taken as such; costs the source nothing.
    pub(crate) fn has_room_for_help(&self, now: Time, flow: &Flow) -> bool {
        self.overload.emergencies.has_room(now, flow, self.known(flow))
    }

    /// Whether one more call for help is taken as such, and is counted; what is beyond is a call as
    /// others are.
    pub(crate) fn takes_call_for_help(&mut self, now: Time, flow: &Flow) -> bool {
        let known = self.known(flow);
        let has_room = self.overload.emergencies.has_room(now, flow, known);
        if has_room {
            self.overload.emergencies.take(now, flow, known);
        }
        has_room
    }

    /// Counts what looked like a call for help and could not be read.
    pub(crate) fn misread_call_for_help(&mut self, now: Time, flow: &Flow, bytes: &[u8]) {
        if RequestHead::read(bytes).is_some_and(|head| head.is_emergency(false)) {
            self.takes_call_for_help(now, flow);
        }
    }

    fn known(&self, flow: &Flow) -> Known {
        let subscriber = self.subscriber(flow).and_then(|key| self.registrar.binding(key));
        if let Some(binding) = subscriber {
            Known::Registered(self.calls.merged.name(binding.realm, binding.aor()))
        } else if flow.transport.is_stream() {
            Known::Connection
        } else {
            Known::Nothing
        }
    }
}
