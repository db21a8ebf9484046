//! Limits where calls begin and end.

use super::emergency::Known;
use super::{Asking, Excess, Grant, Kind, Limits};
use crate::ask::rows::{LimitRow, UnitsRow};
use crate::facts::Fact;
use crate::realm::RealmId;
use crate::refusal::Refusal;
use crate::route::Way;
use crate::{Arrived, Controller};
use machine::Time;
use machine::bucket::Rate;
use machine::narrow::index;
use machine::slots::Key;
use media_stack::Demand;
use overload::Limit;
use question::Either;
use runtime::{Flow, Transport};
use sip::{Header, Message, Method, RequestHead};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

/// Refused subscribers that are shown, those with the most refusals.
const SUBSCRIBERS_SHOWN_MAX: usize = 100;

impl Limits {
    /// Whether subscribers of the realm have limits of their own.
    pub(super) fn has_subscribers(&self, realm: RealmId) -> bool {
        self.subscriber_limits.get(usize::from(realm.0)).is_some_and(Limit::is_on)
    }

    /// What a call costs, by the transport it comes over, its flow and its media.
    fn cost(&self, transport: Transport, message: &Message<'_>) -> u16 {
        let units = &self.resources;
        let way = match transport {
            Transport::Udp => 0,
            Transport::Tcp => units.tcp,
            Transport::Tls => units.tls,
        };
        let lists = |header| message.lists(header, b"100rel");
        let is_reliable = lists(Header::Supported) || lists(Header::Require);
        let flow = if is_reliable { units.reliable } else { 0 };
        let lines = memchr::memmem::find_iter(message.body(), b"\nm=").count();
        let lines = index(lines);
        let media = units.media.saturating_mul(lines.saturating_sub(1));
        units.call.saturating_add(way).saturating_add(flow).saturating_add(media)
    }

    /// What its media cost beyond that.
    fn media_cost(&self, demand: Demand) -> u16 {
        let units = &self.resources;
        let srtp = units.srtp.saturating_mul(demand.protected);
        let transcoding = if demand.is_transcoded { units.transcoding } else { 0 };
        units.anchored.saturating_add(srtp).saturating_add(transcoding)
    }

    /// The subscribers who were refused and still have a call or a rate that is used.
    fn show_subscribers(&self) -> impl Iterator<Item = LimitRow> {
        let mut refusals: Vec<_> = self.subscribers.refusals().collect();
        refusals.sort_by_key(|(refused, _)| core::cmp::Reverse(refused.count));
        refusals.truncate(SUBSCRIBERS_SHOWN_MAX);
        refusals.into_iter().map(|(refused, live)| {
            let limit = self.subscriber_limits.get(usize::from(refused.group));
            LimitRow {
                kind: Kind::Subscriber.word(),
                name: String::from_utf8_lossy(&refused.name).into_owned(),
                calls: live,
                calls_max: limit.and_then(|limit| limit.number_max),
                calls_per_s: limit.and_then(|limit| limit.rate).map(Rate::per_s),
                refused: refused.count,
            }
        })
    }

    /// Rows for people and programs.
    pub(crate) fn show(&self) -> Vec<Either<LimitRow, UnitsRow>> {
        let counters = self.counters.iter().filter(|c| c.limit.is_on() || c.live > 0);
        let rows = counters.map(|counter| LimitRow {
            kind: counter.kind.word(),
            name: counter.name.clone(),
            calls: counter.live,
            calls_max: counter.limit.number_max,
            calls_per_s: counter.limit.rate.map(Rate::per_s),
            refused: counter.refused,
        });
        let units = UnitsRow {
            kind: Kind::Units.word(),
            name: "",
            units: self.stock.units(),
            units_max: self.stock.units_max(),
            calls: self.stock.holders(),
        };
        rows.chain(self.show_subscribers()).map(Either::A).chain([Either::B(units)]).collect()
    }
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Units => "resource-units",
            Self::Realm => "realm",
            Self::NextHop => "next-hop",
            Self::Subscriber => "subscriber",
        }
    }

    const fn fact(self) -> Fact {
        match self {
            Self::Pool => Fact::PoolRefused,
            Self::Units => Fact::UnitsRefused,
            Self::Realm => Fact::RealmRefused,
            Self::NextHop => Fact::NextHopRefused,
            Self::Subscriber => Fact::SubscriberRefused,
        }
    }
}

impl Excess {
    fn refusal(self) -> Refusal {
        let why = match (self.kind, self.is_rate) {
            (Kind::Pool, _) => "the site's pool of sessions is used up",
            (Kind::Units, _) => "the resource units are used up",
            (Kind::Realm, true) => "the realm's calls per second are reached",
            (Kind::Realm, false) => "the realm's calls at once are reached",
            (Kind::NextHop, true) => "the next hop's calls per second are reached",
            (Kind::NextHop, false) => "the next hop's calls at once are reached",
            (Kind::Subscriber, true) => "the subscriber's calls per second are reached",
            (Kind::Subscriber, false) => "the subscriber's calls at once are reached",
        };
        Refusal {
            excess: Some(self),
            retry_after_s: self.answer.retry_after_s,
            ..Refusal::new(self.answer.status, why)
        }
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
        let pooled = self.overload.pool_admits(at.now, is_emergency, &self.wire.facts);
        let is_own = self.overload.limits.has_subscribers(at.realm);
        let caller = if is_own {
            self.caller((at.realm, &at.flow), subscriber, at.message.from().uri).into_owned()
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
            let media = self.overload.limits.media_cost(demand);
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
            self.wire.facts.add(excess.kind.fact(), 1);
            if excess.kind == Kind::Subscriber {
                self.overload.limits.subscribers.refused(asking.subscriber, at.realm.0, &caller);
            }
            Err(excess.refusal())
        })
    }

    /// The name that a subscriber's limit goes by: his address of record, else the URI in From
    /// where that is believed, else where he sends from (of IPv6: /64), for a stranger may write
    /// another From into each call.
    pub(crate) fn caller<'a>(
        &'a self,
        (realm, flow): (RealmId, &Flow),
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
