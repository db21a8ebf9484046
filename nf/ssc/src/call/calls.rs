//! Every call of a shard, the requests under way, and what is to be looked at next.

use super::Call;
use super::connections::{Connections, Lost};
use super::relay::Relay;
use super::relays::Relays;
use crate::Arrived;
use crate::config::{Ssc, Timers};
use admission::{Callers, Limits};
use machine::identity::{Side, Token, hash_combine};
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use registrar::Registrar;
use runtime::Seed;
use sip::view::SessionExpires;
use sip::{Header, Message};
use sip_stack::border::Border;
use sip_stack::session::{Asked, is_refresh};
use transaction::merged::Merged;

/// Calls and the requests between their legs.
pub(crate) struct Calls {
    /// The shard that their names lead to.
    shard: u16,
    pub(crate) table: Slots<Call>,
    pub(crate) relays: Relays,
    merged: Merged,
    /// Nobody foresees what is hashed with it.
    secret: u64,
    /// Empty between steps: what the clock hands out.
    pub(crate) due: Vec<Key>,
    /// The calls that connections carry.
    pub(super) connections: Connections,
    /// Connections that ended since the calls on them were last looked for.
    pub(super) lost: Lost,
    /// Calls whose re-INVITE was refused in this step, and what the standby is told of that.
    pub(crate) refused: Vec<(Key, Vec<u8>)>,
    /// Calls whose INVITE is to be sent again after a takeover, and when.
    pub(crate) asked_again: Vec<Key>,
    pub(crate) asked_again_at: Time,
}

impl Calls {
    /// Without calls; `secrets` are two that nobody foresees.
    pub(crate) fn new(config: &Ssc, seed: &Seed, secrets: [u64; 2]) -> Self {
        let (limits, [relays, secret]) = (&config.limits, secrets);
        let octets_max = limits.requests_octets_max as usize;
        let now = seed.now;
        Self {
            shard: seed.shard,
            table: Slots::new(limits.calls_max, now),
            relays: Relays::new(limits.relays_max, octets_max, relays, now),
            merged: Merged::new(secret),
            secret,
            due: Vec::new(),
            connections: Connections::default(),
            lost: Lost::default(),
            refused: Vec::new(),
            asked_again: Vec::new(),
            asked_again_at: Time::MAX,
        }
    }

    /// Takes the limits of another configuration.
    pub(crate) fn configure(&mut self, config: &Ssc) {
        self.table.set_max(config.limits.calls_max);
        self.relays.set_max(config.limits.relays_max);
        self.relays.set_octets_max(config.limits.requests_octets_max as usize);
    }

    /// Who calls, as limits know him.
    pub(crate) const fn callers<'a>(
        &self,
        border: &'a Border,
        registrar: &'a Registrar,
    ) -> Callers<'a> {
        Callers::new(border, registrar, self.secret)
    }

    /// A number below 100 for a call, which nobody can choose with its Call-ID.
    #[allow(clippy::cast_possible_truncation, reason = "below 100")]
    pub(crate) fn dice(&self, call_id: &[u8]) -> u8 {
        (hash_combine(self.secret, call_id) % 100) as u8
    }

    /// Whether the request came already, by another way, and still runs.
    pub(crate) fn is_merged(&self, message: &Message<'_>) -> bool {
        let same = |relay: &Relay| {
            relay.initial
                && relay.cseq_up == message.cseq().number
                && relay.method == message.method()
        };
        let relay = self.merged.same(message).and_then(|key| self.relays.at(key));
        relay.is_some_and(same)
    }

    /// Remembers a request outside of dialogs.
    pub(crate) fn remember(&mut self, message: &Message<'_>, relay: Key) {
        self.merged.remember(message, relay);
    }

    /// A call is over: its record and what it holds are given back.
    pub(crate) fn end(
        &mut self,
        now: Time,
        key: Key,
        limits: &mut Limits,
        media: &mut media_stack::Client,
    ) {
        if let Some(call) = self.table.at_mut(key) {
            limits.release(core::mem::take(&mut call.grant));
            if let Some(media_key) = call.media.key {
                media.end(now, media_key);
            }
        }
        self.table.give_back(key);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.relays.clear();
        self.connections.clear();
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty() && self.relays.is_empty()
    }

    /// When a call or a request wants to be looked at.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let lost = self.lost.deadline();
        let asked_again = Some(self.asked_again_at).filter(|&at| at < Time::MAX);
        [self.relays.deadline(), self.table.deadline(), lost, asked_again]
            .into_iter()
            .flatten()
            .min()
    }

    /// The call and side that a token names, if it is one of ours and the call lives.
    pub(crate) fn call_of(&self, token: &Token) -> Option<(Key, Side)> {
        if token.shard != self.shard {
            return None;
        }
        let key = self.table.user_of(token.index)?;
        let call = self.table.at(key)?;
        let same = key.generation & 0x7fff == u32::from(token.generation);
        (same && call.check(token.side) == token.check).then_some((key, token.side))
    }

    /// A 2xx to INVITE or UPDATE crossed: the session lives until then.
    pub(crate) fn session_agreed(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        asked: Asked,
        timers: &Timers,
    ) {
        let method = at.message.method();
        if !is_refresh(method) {
            return;
        }
        let told = at.message.header(Header::SessionExpires).map(SessionExpires::parse);
        let interval_s = match told {
            Some(Ok(told)) => told.interval_s,
            _ => asked.owed(at.message, method, 200).unwrap_or(0),
        };
        let call_max_s = timers.call_max_s;
        let Some(call) = self.table.at_mut(key) else { return };
        call.session_end = match interval_s {
            0 => Time::MAX,
            interval_s => at.now + Duration::from_secs(interval_s.into()),
        };
        if call.call_end == Time::MAX && call_max_s > 0 {
            call.call_end = at.now + Duration::from_secs(call_max_s.into());
        }
        let due = call.due();
        if due < Time::MAX {
            self.table.arm(key, due);
        }
    }
}
