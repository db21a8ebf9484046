//! What the core tells (RFC 6665 §4.1.3, RFC 3680 §5, TS 24.229 §5.2.5.2).

use crate::access::{Access, LINGERING};
use crate::metrics::RegEventMetric;
use crate::trails::Value;
use crate::watch::{AGAIN_MAX, Stage, TIMERS, Watch};
use dialog::{RouteSet, Subscription, SubscriptionPhase};
use machine::slots::Key;
use machine::{Duration, Time};
use reginfo::{
    Contact, ContactState, Event as Why, Reginfo, Registration, RegistrationState, State,
};
use registrar::{Aor, Gone, Registrar};
use runtime::{Flow, PortId, Transport};
use sip::view::{Event as Package, SubscriptionState};
use sip::{Header, Message, Method, Uri};
use trail::Event;

/// What a NOTIFY has changed.
#[derive(Debug, Default)]
pub struct Notified {
    /// The status that it is answered with.
    pub status: u16,
    /// The trail of its subscription.
    pub trail: u64,
    /// Bindings that have ended.
    pub gone: Vec<Gone>,
}

/// A document that was taken.
struct Document {
    reginfo: Reginfo,
    /// Some before it were not: all is asked for anew.
    lacks_some: bool,
}

/// Whether a port is of the realm that a subscription has left by.
pub(super) type IsNear<'a> = &'a dyn Fn(PortId) -> bool;

/// Whether nothing of an address of record is registered any more (RFC 3680 §5.2): a core that has
/// lost its registrations tells everything anew, and says `init` without a contact that stands.
fn is_over(row: &Registration, state: State) -> bool {
    let stands = |contact: &Contact| contact.state == ContactState::Active;
    match row.state {
        RegistrationState::Terminated => true,
        RegistrationState::Init => state == State::Full && !row.contacts.iter().any(stands),
        RegistrationState::Active => false,
    }
}

/// Why the network has ended a contact, in words.
const fn why(event: Why) -> &'static str {
    match event {
        Why::Rejected => "the network has ended it: rejected (TS 24.229 §5.2.5.2)",
        Why::Probation => "the network has ended it: probation (TS 24.229 §5.2.5.2)",
        Why::Deactivated => "the network has ended it: deactivated (TS 24.229 §5.2.5.2)",
        Why::Expired => "it has expired at the network (RFC 3680 §4.7.1)",
        Why::Unregistered => "it was removed at the network by a phone (RFC 3680 §4.7.1)",
        _ => "its public user identity is not registered any more (TS 24.229 §5.2.5.2)",
    }
}

impl Access {
    /// Whether a NOTIFY names a subscription of this P-CSCF: then [`Access::notified`] takes it.
    #[must_use]
    pub fn is_watching(&self, message: &Message<'_>) -> bool {
        message.method() == Method::Notify
            && message.to_tag().is_some_and(|tag| self.watches.named(tag).is_some())
    }

    /// Takes a NOTIFY that [`Access::is_watching`], which came by `flow`. `is_near` says whether a
    /// port is of the realm of that flow. Of `registrar` what the network has ended ends.
    pub fn notified(
        &mut self,
        now: Time,
        flow: &Flow,
        message: &Message<'_>,
        is_near: impl Fn(PortId) -> bool,
        registrar: &mut Registrar,
    ) -> Notified {
        let key = message.to_tag().and_then(|tag| self.watches.named(tag));
        let Some(key) = key else { return Notified { status: 481, ..Notified::default() } };
        let trail = self.watches.at(key).map(Watch::trail).unwrap_or_default();
        let taken = self.taken(now, key, flow, message, &is_near);
        let mut gone = Vec::new();
        let status = match taken {
            Ok(document) => {
                self.watches.metrics.add(RegEventMetric::Notifies, 1);
                if let Some(document) = document {
                    gone = self.document_taken(now, key, &document, registrar);
                }
                self.said(now, key, message);
                200
            }
            Err(status) => status,
        };
        Notified { status, trail, gone }
    }

    /// Its document, unless it is to be refused with a status.
    fn taken(
        &mut self,
        now: Time,
        key: Key,
        flow: &Flow,
        message: &Message<'_>,
        is_near: IsNear<'_>,
    ) -> Result<Option<Document>, u16> {
        let shard = self.watches.shard;
        let Some(watch) = self.watches.at_mut(key) else { return Err(481) };
        let is_ours = watch.call_id(shard, key) == *message.call_id()
            && is_near(watch.core.port)
            && (watch.core.transport != Transport::Tls || flow.transport == Transport::Tls)
            && (watch.far.tag.is_empty() || message.from_tag() == Some(&*watch.far.tag))
            && watch.usage.is_some();
        if !is_ours {
            self.watches.metrics.add(RegEventMetric::Strangers, 1);
            return Err(481);
        }
        let package = message.header(Header::Event).and_then(|it| Package::parse(it).ok());
        if package.is_none_or(|it| !it.package.eq_ignore_ascii_case(b"reg") || it.id().is_some()) {
            return Err(489);
        }
        let number = message.cseq().number;
        if watch.far.cseq.is_some_and(|before| number <= before) {
            return Err(500); // RFC 3261 §12.2.2
        }
        let state = message.header(Header::SubscriptionState);
        let Some(state) = state.and_then(|it| SubscriptionState::parse(it).ok()) else {
            return Err(400);
        };
        let body = document(message).inspect_err(|status| {
            if *status == 400 {
                self.watches.metrics.add(RegEventMetric::Unreadable, 1);
            }
        })?;
        let Some(watch) = self.watches.at_mut(key) else { return Err(481) };
        // It may come before the answer to its SUBSCRIBE (RFC 6665 §4.1.2.4).
        let routes = RouteSet::from_request(message);
        watch.learn(message.from_tag(), message, routes).ok_or(400_u16)?;
        watch.far.cseq = Some(number);
        if let Some(usage) = &mut watch.usage {
            usage.notified(now, &state);
        }
        let Some(reginfo) = body else { return Ok(None) };
        let before = watch.far.version;
        if before.is_some_and(|before| reginfo.version <= before) {
            self.watches.metrics.add(RegEventMetric::Outdated, 1);
            return Ok(None);
        }
        watch.far.version = Some(reginfo.version);
        let is_next = before.is_some_and(|before| before.checked_add(1) == Some(reginfo.version));
        let lacks_some = reginfo.state == State::Partial && !is_next;
        Ok(Some(Document { reginfo, lacks_some }))
    }

    /// What a document ends, and whose associations then.
    fn document_taken(
        &mut self,
        now: Time,
        key: Key,
        document: &Document,
        registrar: &mut Registrar,
    ) -> Vec<Gone> {
        let mut gone = Vec::new();
        let identity = self.watches.at(key).and_then(|watch| Aor::parse(&watch.identity));
        let Some(identity) = identity else { return gone };
        let mut spares_some = false;
        // There are as many as the octets of a document have room for.
        for row in &document.reginfo.registrations {
            let is_over = is_over(row, document.reginfo.state);
            for contact in &row.contacts {
                let Some(binding) = named(contact, &identity, registrar) else { continue };
                if is_over || contact.state == ContactState::Terminated {
                    registrar.end_one(binding, why(contact.event), &mut gone);
                } else {
                    self.may_shorten(now, contact, binding, registrar);
                }
            }
            // Whatever contacts it names: none of them is registered any more (RFC 3680 §5.2).
            if is_over {
                spares_some |= self.over(now, key, &row.aor, registrar, &mut gone);
            }
        }
        self.watches.metrics.add(RegEventMetric::Deregistered, gone.len() as u64);
        for binding in &gone {
            if registrar.by_source(&binding.flow).next().is_none() {
                self.taken_back(now, &binding.flow, binding.why);
            }
        }
        let Some(watch) = self.watches.at_mut(key) else { return gone };
        let is_left = registrar.reached_by(&identity).next().is_some();
        watch.heard();
        watch.is_unneeded = !is_left;
        if !is_left && watch.stage == Stage::Standing {
            watch.due = now;
        } else if document.lacks_some && watch.stage == Stage::Standing {
            watch.due = watch.due.min(now + TIMERS.t2);
        } else if spares_some && watch.stage == Stage::Standing {
            watch.due = watch.due.min(now + LINGERING); // the core tells everything anew
        }
        self.watches.arm(key);
        gone
    }

    /// One contact that stands on, and its binding.
    fn may_shorten(&mut self, now: Time, contact: &Contact, key: Key, registrar: &mut Registrar) {
        if contact.event == Why::Shortened
            && let Some(left_s) = contact.expires_s
        {
            let left_s = u32::try_from(left_s).unwrap_or(u32::MAX);
            if registrar.shorten(now, key, left_s) {
                self.watches.metrics.add(RegEventMetric::Shortened, 1);
            }
        }
    }

    /// All of an address of record, but for what may have been registered while the document was
    /// on its way: of late, and after the subscription had begun. Whether something was.
    fn over(
        &mut self,
        now: Time,
        key: Key,
        aor: &str,
        registrar: &mut Registrar,
        gone: &mut Vec<Gone>,
    ) -> bool {
        let Some(aor) = Aor::parse(aor.as_bytes()) else { return false };
        let began = self.watches.at(key).map_or(Time::ZERO, |watch| watch.began);
        let is_older = |registered: Time| registered <= began || now.since(registered) >= LINGERING;
        let bindings = registrar.bindings_of(&aor).map(|(key, it)| (key, is_older(it.registered)));
        let (older, spared): (Vec<_>, Vec<_>) = bindings.partition(|(_, is_older)| *is_older);
        for (key, _) in older {
            registrar.end_one(key, why(Why::Registered), gone);
        }
        !spared.is_empty()
    }

    /// What the subscription is told of itself (RFC 6665 §4.1.3).
    fn said(&mut self, now: Time, key: Key, message: &Message<'_>) {
        let state = message.header(Header::SubscriptionState);
        let state = state.and_then(|it| SubscriptionState::parse(it).ok());
        let secret = self.secret_number();
        let Some(watch) = self.watches.at_mut(key) else { return };
        let phase = watch.usage.as_ref().map(Subscription::phase);
        let (Some(state), Some(SubscriptionPhase::Terminated)) = (state, phase) else {
            if let (Some(left_s), Stage::Standing) =
                (state.and_then(|it| it.expires_s()), watch.stage)
            {
                watch.ends_before(now, left_s);
            }
            return self.watches.arm(key);
        };
        let was_asked = watch.stage == Stage::Asked;
        if watch.stage == Stage::Leaving {
            watch.due = now;
            return self.watches.arm(key);
        }
        let reason = Value::Text(state.reason().unwrap_or_default().to_vec());
        self.watched(key, Event::RegistrationNotWatched, vec![("text", reason)]);
        let Some(watch) = self.watches.at_mut(key) else { return };
        watch.begin_anew(secret);
        if watch.is_unneeded {
            watch.due = now; // nobody is left to be watched: it is over
            return self.watches.arm(key);
        }
        let wait = Duration::from_secs(state.retry_after_s().unwrap_or_default().into());
        match state.reason() {
            Some(b"deactivated" | b"timeout") if !was_asked => watch.due = now,
            Some(b"rejected" | b"noresource" | b"invariant") => {
                watch.later(now, AGAIN_MAX);
            }
            _ => watch.later(now, wait),
        }
        self.watches.arm(key);
    }
}

/// The binding that a contact names: one that is reached by the identity that is watched, so that a
/// document about one user ends nothing of another one.
fn named(contact: &Contact, identity: &Aor, registrar: &Registrar) -> Option<Key> {
    let user = Uri::parse(contact.uri.as_bytes()).ok()?.user?;
    let (key, _) = registrar.by_token(user)?;
    registrar.reached_by(identity).any(|(it, _)| it == key).then_some(key)
}

/// The document of a NOTIFY; it may have none.
fn document(message: &Message<'_>) -> Result<Option<Reginfo>, u16> {
    if message.body().is_empty() {
        return Ok(None);
    }
    let media = message.header(Header::ContentType).unwrap_or_default();
    let media = media.split(|octet| *octet == b';').next().unwrap_or_default().trim_ascii();
    if !media.eq_ignore_ascii_case(reginfo::MEDIA_TYPE.as_bytes()) {
        return Err(415);
    }
    if message.named(b"Content-Encoding").next().is_some() {
        return Err(415);
    }
    Reginfo::read(message.body()).map(Some).map_err(|_| 400)
}
