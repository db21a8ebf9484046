//! Limits where calls begin and end.

use crate::Arrived;
use crate::metrics::Metric;
use crate::refusal::Refusal;
use admission::{Asking, Callers, Excess, Grant, Kind, OverloadControl};
use event::Metrics;
use machine::Time;
use machine::slots::Key;
use sip::Method;
use sip_stack::route::Way;

/// What counts the calls that exceed a limit of this kind.
const fn metric(kind: Kind) -> Metric {
    match kind {
        Kind::Pool => Metric::PoolRefused,
        Kind::Units => Metric::UnitsRefused,
        Kind::Realm => Metric::RealmRefused,
        Kind::NextHop => Metric::NextHopRefused,
        Kind::Subscriber => Metric::SubscriberRefused,
    }
}

fn refusal(excess: Excess) -> Refusal {
    Refusal {
        excess: Some(excess),
        retry_after_s: excess.answer.retry_after_s,
        ..Refusal::new(excess.answer.status, excess.why())
    }
}

/// What an INVITE is held against.
pub(crate) struct Limiting<'a> {
    pub(crate) overload: &'a mut OverloadControl,
    pub(crate) callers: Callers<'a>,
    pub(crate) media: &'a media_stack::Client,
    pub(crate) metrics: &'a Metrics<Metric>,
}

impl Limiting<'_> {
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
            self.metrics.add(Metric::PoolOverdraft, is_beyond.into());
        });
        let is_own = self.overload.limits.has_subscribers(at.realm);
        let caller = if is_own {
            let from = at.message.from().uri;
            self.callers.name(at.realm, &at.flow, subscriber, from).into_owned()
        } else {
            Vec::new()
        };
        let mut asking = Asking {
            realm: at.realm,
            hop: way.hop,
            subscriber: if is_own { self.callers.number(at.realm, &caller) } else { 0 },
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
            self.metrics.add(metric(excess.kind), 1);
            if excess.kind == Kind::Subscriber {
                self.overload.limits.note_refused(&asking, &caller);
            }
            Err(refusal(excess))
        })
    }
}
