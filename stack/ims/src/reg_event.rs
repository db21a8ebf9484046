//! What the core tells this P-CSCF itself of the registrations of its phones: the event package
//! reg (RFC 3680, RFC 6665), as TS 24.229 §5.2.3 wants it.
//!
//! ```text
//! phone         Access                                   S-CSCF
//!  │ 200 ←───── watch ←───────────── 200 (REGISTER) ─────┤
//!  │            watch_due: SUBSCRIBE, Event: reg ───────→│
//!  │            notified ←──────── NOTIFY, reginfo+xml ──┤ each time that something changes
//!  ╳ binding, associations end ←── terminated ───────────┤ network-initiated de-registration
//! ```
//! A subscription stands for each default public user identity, whoever of its phones registered
//! first. It is renewed until no phone of it is bound here any more, and then taken back.
//!
//! - **Whose a NOTIFY is** its To tag says, which is ours, with 64 random bits, its Call-ID with 64
//!   others, and the far end's tag; what does not fit is refused, and so is what came by another
//!   realm than the subscription left by.
//! - **What ends** are bindings that the document names by the contact that the core has of us, or
//!   all of an address of record; and the associations of phones that have no binding left
//!   (TS 24.229 §5.2.5.2), 32 s later: answers go on that long.

mod answer;
mod notify;
mod record;
mod show;
mod subscribe;

use crate::access::{Access, LINGERING};
use crate::leaving::granted_s;
use crate::metrics::RegEventMetric;
use crate::set::Stage;
use crate::trails::Value;
use crate::watch::{Next, Watch};
use machine::Time;
use machine::slots::Key;
pub use notify::Notified;
pub(crate) use record::{read, write};
use registrar::Aor;
use runtime::{Flow, PortId};
pub use show::RegEventRow;
use sip::{Header, Message, NameAddr};
use sip_stack::realm::Listener;
use trail::Event;

/// The media type of a NOTIFY's document.
pub const MEDIA_TYPE: &str = reginfo::MEDIA_TYPE;

/// Octets of a public user identity that is watched.
const IDENTITY_OCTETS_MAX: usize = 255;

/// A SUBSCRIBE that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Names it to [`Access::write_subscribe`] and to what becomes of it.
    pub key: Key,
    /// By which port, and where it goes.
    pub flow: Flow,
    /// The trail of its subscription.
    pub trail: u64,
}

/// The core's answer to a REGISTER that it has accepted.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'a> {
    /// By which flow it came.
    pub core: &'a Flow,
    /// The answer.
    pub answer: &'a Message<'a>,
    /// The user part of the Path of its REGISTER.
    pub path: &'a [u8],
}

/// The public user identity that a registration is watched by: the first that the core has
/// associated with it, else what was registered (TS 24.229 §5.2.3).
fn identity<'a>(answer: &Message<'a>) -> Option<&'a [u8]> {
    let first = answer.values(Header::PAssociatedUri).next();
    let first = first.and_then(|value| NameAddr::parse(value).ok()).map(|it| it.uri);
    let uri = first.unwrap_or(answer.to().uri);
    let is_fit = uri.len() <= IDENTITY_OCTETS_MAX && Aor::parse(uri).is_some();
    is_fit.then_some(uri)
}

impl Access {
    /// The core has accepted a registration of a phone at the port `from`; its answer came by
    /// its flow. Where its realm wants that, what becomes of it is watched from now on.
    pub fn watch(&mut self, now: Time, from: PortId, accepted: &Accepted<'_>) {
        let Accepted { core, answer, path } = *accepted;
        let Some((realm, _)) = self.row(from) else { return };
        let section = &self.rows[realm].realm.section;
        let granted_s = granted_s(answer);
        if !section.reg_event || granted_s == 0 {
            return;
        }
        let Some(identity) = identity(answer) else { return };
        let (most, secret) = (section.reg_events_max, self.secret_number());
        let (identity, path, core) = (identity.into(), path.into(), *core);
        let begun = Watch { realm, identity, path, core, secret, granted_s, ..Watch::default() };
        self.watches.watch(now, begun, most);
    }

    fn secret_number(&mut self) -> u128 {
        use rand_chacha::rand_core::RngCore;
        u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64())
    }

    /// The next SUBSCRIBE that is due. `stands` says whether a phone of that public user identity
    /// is bound here: of others the subscription is taken back.
    pub fn watch_due(&mut self, now: Time, stands: impl Fn(&[u8]) -> bool) -> Option<Asking> {
        loop {
            let key = self.watches.due(now)?;
            let anew = self.secret_number();
            let Some(watch) = self.watches.at_mut(key) else { continue };
            match watch.next(now, stands(&watch.identity), anew) {
                Next::Subscribe(flow) => {
                    let trail = watch.trail();
                    return Some(Asking { key, flow, trail });
                }
                Next::Wait => self.watches.arm(key),
                Next::Over => self.watches.remove(key),
            }
        }
    }

    /// Appends the SUBSCRIBE of [`Access::watch_due`], which leaves by that listener under that
    /// branch.
    pub fn write_subscribe(
        &mut self,
        now: Time,
        asking: &Asking,
        listener: &Listener,
        branch: &[u8],
        out: &mut Vec<u8>,
    ) {
        self.watches.metrics.add(RegEventMetric::Subscribes, 1);
        let shard = self.watches.shard;
        let Some(watch) = self.watches.at_mut(asking.key) else { return };
        watch.ask(now);
        let section = self.rows.get(watch.realm).map(|row| &row.realm.section);
        let names = [watch.tag(shard, asking.key), watch.call_id(shard, asking.key)];
        subscribe::write(watch, names, listener, branch, section, out);
        self.watches.arm(asking.key);
    }

    /// Bindings that the network has ended: associations of phones without another one end, but
    /// for answers (TS 24.229 §5.2.5.2).
    fn taken_back(&mut self, now: Time, flow: &Flow, why: &str) {
        let keys: Vec<Key> = self.table.by_identity(self.known_by(flow)).to_vec();
        for key in keys {
            let Some(set) = self.table.at_mut(key) else { continue };
            if set.stage.is_under_way() || set.stage == Stage::Ending {
                continue; // another registration of the phone has begun
            }
            self.trails.over(set, Event::AgreementEnded, why);
            set.usage.registered_until = Time::ZERO;
            let (impi, expires) = (set.impi.clone(), set.expires.min(now + LINGERING));
            self.table.forget_registered(&impi);
            self.table.advance(key, Stage::Ending, expires);
        }
        self.gauges();
    }

    /// Tells the trail of a subscription what became of it.
    fn watched(&mut self, key: Key, event: Event, more: Vec<(&'static str, Value)>) {
        let Some(watch) = self.watches.at(key) else { return };
        let identity = ("aor", Value::Text(watch.identity.to_vec()));
        let fields = core::iter::once(identity).chain(more).collect();
        let call_id = watch.call_id(self.watches.shard, key);
        self.trails.push(event, watch.core, &call_id, fields);
    }
}
