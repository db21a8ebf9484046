//! The direction that leaves: packets of RTP and RTCP become SRTP and SRTCP (RFC 3711 §3.3, §3.4).
//!
//! Sequence numbers are those that came: who relays does not count anew. So the same packet may
//! come twice, or another one with its number; the second is refused, for its index was used.

use crate::key::{Allowance, KeyEntry};
use crate::keyring::{Keyring, Unusable};
use crate::packet::{ENCRYPTED, RTCP_HEAD, Refused, RtpHead, SRTCP_WORD, rtcp_ssrc};
use crate::parameters::Parameters;
use crate::past::Past;
use crate::plan::Plan;
use crate::session::Kind;
use crate::stream::{Stream, StreamState, Streams, Unused};
use cipher::{Extra, Op};

/// How far a standby that takes over goes ahead of what it was told. The one before it may have
/// used that many indices since: they are never used again. Sequence numbers move with the indices,
/// so receivers see a gap and no packet is lost to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip(u16);

/// The largest skip: a receiver that saw none of what was skipped still guesses the rollover
/// counter rightly, also where twice as much is left out around the first wrap.
pub const SKIP_MAX: u16 = 1 << 13;

impl Skip {
    /// None: who had the state before has told all of it and sends no more.
    pub const NONE: Self = Self(0);

    /// As far as a sender of a pair may have come.
    pub const MAX: Self = Self(SKIP_MAX);

    /// By so many indices: at least as many as the other one may have used since it told its
    /// state. `None` for zero and past [`SKIP_MAX`].
    #[must_use]
    pub const fn by(indices: u16) -> Option<Self> {
        if indices == 0 || indices > SKIP_MAX { None } else { Some(Self(indices)) }
    }

    pub(crate) const fn indices(self) -> u16 {
        self.0
    }
}

/// Indices that a sender of a pair uses at most beyond what the other one has applied: so many as
/// that one goes ahead by when it takes over.
pub const UNAPPLIED_MAX: u32 = SKIP_MAX as u32;

/// Indices that a sender uses at most from when one of its streams begins until the other one has
/// applied that: where streams begin is anybody's choice, and that one begins them 8,192 ahead.
pub const BEGUN_MAX: u32 = 64;

/// What a standby is to be told at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// Nothing but how far streams have come.
    None,
    /// A stream has begun.
    Stream,
    /// Somebody knows of it already.
    Noted,
}

/// What becomes of rollover counters when the keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollover {
    /// They go on (RFC 3711 §3.3.1).
    Kept,
    /// They begin again at zero: the own address or port changed with the keys (RFC 4568 §7.1.4).
    Reset,
}

/// The lower half of a number.
#[allow(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
const fn lower(number: u64) -> u32 {
    number as u32
}

/// One direction's sender. It cannot be cloned: two of it would use the same indices.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    // What a packet needs stands first, and in one piece.
    streams: Streams,
    /// By how many indices its streams have moved beyond what a standby has applied, all together.
    unapplied: u32,
    /// What streams that nobody told of begin ahead by.
    ahead: u16,
    /// Whether it goes no further than [`UNAPPLIED_MAX`].
    is_bounded: bool,
    news: News,
    /// Of what was not applied, so much was told …
    told: u32,
    /// … by the notice of this number, its lower half.
    notice: u32,
    keyring: Keyring,
    past: Option<Box<Past>>,
}

impl Sender {
    /// A sender whose keys nobody has used.
    ///
    /// # Errors
    /// Why the keys cannot be used.
    pub fn new(parameters: Parameters, keys: &[KeyEntry]) -> Result<Self, Unusable> {
        let keyring = Keyring::new(parameters, keys)?;
        Ok(Self {
            streams: Streams::default(),
            unapplied: 0,
            ahead: 0,
            is_bounded: false,
            news: News::None,
            told: 0,
            notice: 0,
            keyring,
            past: None,
        })
    }

    /// A sender that goes on where another one stopped.
    ///
    /// # Errors
    /// Why the keys cannot be used.
    pub fn resume(
        parameters: Parameters,
        keys: &[KeyEntry],
        streams: &[StreamState],
        skip: Skip,
    ) -> Result<Self, Unusable> {
        let mut sender = Self::new(parameters, keys)?;
        sender.ahead = skip.0;
        for state in streams {
            if sender.streams.find(state.ssrc).is_none() {
                // More were never told: the other one is bounded as well.
                let _ = sender.streams.insert(Stream::restored(state, skip.0));
            }
        }
        Ok(sender)
    }

    /// What a standby must know beside keys and streams, of one that changed its keys or took over
    /// itself; `None`: nothing.
    #[must_use]
    pub fn past(&self) -> Option<Past> {
        let past = self.past.as_deref().cloned().unwrap_or_default().with_ahead(self.ahead);
        (past != Past::default()).then_some(past)
    }

    /// With what the one before it told of its past.
    #[must_use]
    pub fn with_past(mut self, past: Past) -> Self {
        self.remember(&past);
        self
    }

    /// Takes in what another one that had these keys told of its past.
    pub fn remember(&mut self, past: &Past) {
        self.ahead = self.ahead.max(past.ahead());
        self.past.get_or_insert_default().merge(past);
    }

    /// Whether another one may take over with what this one tells: then it goes no further than
    /// [`UNAPPLIED_MAX`] beyond what that one has applied.
    pub const fn bound(&mut self, is_bounded: bool) {
        self.is_bounded = is_bounded;
    }

    /// By how many indices it has moved since that was told. Zero while a notice is on its way: one
    /// follows the other.
    #[must_use]
    pub const fn untold(&self) -> u32 {
        if self.told > 0 { 0 } else { self.unapplied }
    }

    /// Whether it has moved by so many indices since it told, has begun a stream, or waits for what
    /// it told to be applied; once, until [`Self::reported`] or [`Self::unnoted`].
    #[inline]
    pub const fn is_to_tell(&mut self, indices: u32) -> bool {
        let is_far = match self.news {
            News::None => self.untold() >= indices || self.unapplied > UNAPPLIED_MAX,
            News::Stream => true,
            News::Noted => return false,
        };
        if is_far {
            self.news = News::Noted;
        }
        is_far
    }

    /// Where it was when [`Self::untold`] said so much is told by the notice of this number.
    pub const fn reported(&mut self, number: u64, untold: u32) {
        if self.told == 0 {
            (self.notice, self.told) = (lower(number), untold);
        }
        self.news = News::None;
    }

    /// All notices up to this number are applied by whoever may take over; `u64::MAX` where nobody
    /// may.
    pub const fn applied(&mut self, number: u64) {
        // None waits for so long that half of all numbers are told meanwhile.
        let is_behind = lower(number).wrapping_sub(self.notice) < 1 << 31;
        if number == u64::MAX || is_behind {
            self.unapplied = self.unapplied.saturating_sub(self.told);
            self.told = 0;
        }
    }

    /// What is on its way is lost.
    pub const fn lost(&mut self) {
        self.told = 0;
    }

    /// Nobody knows that it has something to tell.
    pub const fn unnoted(&mut self) {
        self.news = News::None;
    }

    /// Nothing leaves while a standby does not know where it is; nor does it move any further.
    #[inline]
    const fn may_move(&self) -> Result<(), Refused> {
        match self.is_bounded && self.unapplied > UNAPPLIED_MAX {
            true => Err(Refused::Untold),
            false => Ok(()),
        }
    }

    /// An index that is `by` behind the highest so far was spent; whether a packet may leave with
    /// it. If not, nothing leaves before that it was spent is applied by whoever may take over.
    #[inline]
    fn moved(&mut self, by: u32) -> Result<(), Refused> {
        self.unapplied = self.unapplied.saturating_add(by);
        self.may_move()
    }

    /// Goes on behind what another one that had one of these keys has used: no index of its streams
    /// up to where they are, and `skip` more of all streams, those that nobody told of with them.
    pub fn advance(&mut self, streams: &[StreamState], skip: Skip) {
        self.ahead = self.ahead.max(skip.0);
        for own in self.streams.iter_mut() {
            let mut state = own.state();
            streams.iter().filter(|it| it.ssrc == own.ssrc).for_each(|it| state.merge(it));
            if skip != Skip::NONE || state != own.state() {
                own.pass(&state, skip.0);
            }
        }
        for state in streams {
            if self.streams.find(state.ssrc).is_none() {
                // Where there is no room for it, it has none later either.
                let _ = self.streams.insert(Stream::restored(state, skip.0));
            }
        }
    }

    /// Changes the keys. With the same keys and parameters nothing changes at all: counters go on
    /// through a re-INVITE, another port, a hold.
    ///
    /// # Errors
    /// Why the keys cannot be used; counters cannot begin again under a key that was ever used, and
    /// a key that they left behind cannot come back.
    pub fn rekey(
        &mut self,
        parameters: Parameters,
        keys: &[KeyEntry],
        rollover: Rollover,
    ) -> Result<(), Unusable> {
        if self.keyring.is_of(&parameters, keys) {
            return Ok(());
        }
        let begins_again = rollover == Rollover::Reset;
        let was_used = self.past.as_ref().is_some_and(|past| past.refuses(keys, rollover));
        if was_used || begins_again && self.keyring.shares_a_key(keys) {
            return Err(Unusable::Used);
        }
        let keyring = Keyring::new(parameters, keys)?.with_left_of(&self.keyring);
        let before = core::mem::replace(&mut self.keyring, keyring);
        self.past.get_or_insert_default().replace(before.entries(), rollover);
        if begins_again {
            self.streams.clear();
            self.ahead = 0;
        }
        Ok(())
    }

    /// What it protects with.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.keyring.parameters
    }

    /// The keys with what is left of them: with the streams all that a standby needs.
    pub fn keys(&self) -> impl Iterator<Item = &KeyEntry> {
        self.keyring.entries()
    }

    /// How far each stream has come.
    pub fn streams(&self) -> impl Iterator<Item = StreamState> {
        self.streams.iter().map(Stream::state)
    }

    /// How far one stream has come.
    #[must_use]
    pub fn stream(&self, ssrc: u32) -> Option<StreamState> {
        self.streams.find(ssrc).map(Stream::state)
    }

    /// What is left of the key that is in use: before it ends, there must be another one.
    #[must_use]
    pub fn left(&self) -> Allowance {
        let left = |kind| self.keyring.usable(kind).map_or(0, |at| self.keyring.left(at, kind));
        Allowance { rtp: left(Kind::Rtp), rtcp: left(Kind::Rtcp) }
    }

    /// Octets that a packet of RTP grows by.
    #[must_use]
    pub fn overhead(&self) -> usize {
        self.keyring.mki_octets() + self.parameters().tag_octets()
    }

    /// Octets that a packet of RTCP grows by.
    #[must_use]
    pub fn rtcp_overhead(&self) -> usize {
        self.keyring.mki_octets() + self.parameters().suite.rtcp_tag_octets() + SRTCP_WORD
    }

    /// Protects a packet of RTP in its buffer; what it is long now.
    ///
    /// # Errors
    /// Why it may not leave.
    pub fn protect(&mut self, buffer: &mut [u8], length: usize) -> Result<usize, Refused> {
        let plan = self.plan(buffer, length)?;
        self.run(&plan, buffer)
    }

    pub(crate) fn run(&mut self, plan: &Plan, buffer: &mut [u8]) -> Result<usize, Refused> {
        let session = self.keyring.session_for(plan.key, plan.index);
        plan.run(&session.ok_or(Refused::Exhausted)?.key, buffer)?;
        Ok(plan.length)
    }

    /// The key of a plan, for a batch.
    pub(crate) fn key(&self, plan: &Plan) -> Option<&cipher::Key> {
        self.keyring.session(plan.key).map(|session| &session.key)
    }

    /// Whether session keys do not change with the index, so that packets can wait for a batch.
    pub(crate) const fn is_steady(&self) -> bool {
        self.keyring.parameters.kdr.exponent().is_none()
    }

    /// The context of an SSRC, taken up where it is new.
    fn stream_of(&mut self, ssrc: u32) -> Result<&mut Stream, Refused> {
        if self.streams.find(ssrc).is_some() {
            return self.streams.find_mut(ssrc).ok_or(Refused::TooManyStreams);
        }
        self.streams.insert(Stream::unheard(ssrc, self.ahead))
    }

    /// Spends an index for a packet of RTP and writes all of it but what the cipher writes.
    pub(crate) fn plan(&mut self, buffer: &mut [u8], length: usize) -> Result<Plan, Refused> {
        self.may_move()?;
        let packet = buffer.get(..length).ok_or(Refused::NoRoom)?;
        let head = RtpHead::read(packet)?;
        let whole = length + self.overhead();
        if buffer.len() < whole {
            return Err(Refused::NoRoom);
        }
        let at = self.keyring.usable(Kind::Rtp).ok_or(Refused::Exhausted)?;
        let stream = self.stream_of(head.ssrc)?;
        let before = stream.rtp.end();
        let unused = stream.spend(head.sequence)?;
        let by = stream.rtp.moved_since(before);
        if before == 0 {
            self.news = News::Stream;
            self.unapplied = self.unapplied.max(UNAPPLIED_MAX - BEGUN_MAX);
        }
        self.moved(by)?;
        self.keyring.spend(at, Kind::Rtp);
        Ok(self.rtp_plan(buffer, &head, length, Spent { at, unused }))
    }

    fn rtp_plan(&mut self, buffer: &mut [u8], head: &RtpHead, length: usize, spent: Spent) -> Plan {
        let index = spent.unused.into_number();
        let [.., high, low] = index.to_be_bytes();
        buffer[2..4].copy_from_slice(&[high, low]);
        let parameters = self.keyring.parameters;
        let layout = parameters.rtp_layout(length, self.keyring.mki_octets());
        self.keyring.write_mki(spent.at, &mut buffer[layout.mki.clone()]);
        let iv = self.keyring.session_for(spent.at, index);
        let iv = iv.map_or([0; 16], |session| session.iv(parameters.suite, head.ssrc, index));
        let clear = if parameters.encrypts_rtp { head.length } else { length };
        Plan {
            op: Op::Protect,
            key: spent.at,
            index,
            iv,
            clear,
            data: length,
            tag: layout.tag,
            extra: parameters.rtp_extra(index),
            length: layout.length,
        }
    }

    /// Protects a packet of RTCP in its buffer; what it is long now.
    ///
    /// # Errors
    /// Why it may not leave.
    pub fn protect_rtcp(&mut self, buffer: &mut [u8], length: usize) -> Result<usize, Refused> {
        self.may_move()?;
        let ssrc = rtcp_ssrc(buffer.get(..length).ok_or(Refused::NoRoom)?)?;
        let whole = length + self.rtcp_overhead();
        if buffer.len() < whole {
            return Err(Refused::NoRoom);
        }
        let at = self.keyring.usable(Kind::Rtcp).ok_or(Refused::Exhausted)?;
        if self.streams.find(ssrc).is_none() && !self.streams.has_room_for_rtcp() {
            return Err(Refused::TooManyStreams);
        }
        let index = self.stream_of(ssrc)?.spend_rtcp()?.into_number();
        self.moved(1)?;
        self.keyring.spend(at, Kind::Rtcp);
        let parameters = self.keyring.parameters;
        let layout = parameters.rtcp_layout(length, self.keyring.mki_octets());
        let index_word = u32::try_from(index).map_err(|_| Refused::Exhausted)?;
        let word = if parameters.encrypts_rtcp { index_word | ENCRYPTED } else { index_word };
        buffer[layout.word..layout.word + SRTCP_WORD].copy_from_slice(&word.to_be_bytes());
        self.keyring.write_mki(at, &mut buffer[layout.mki.clone()]);
        let session = self.keyring.rtcp_session(at, index).ok_or(Refused::Exhausted)?;
        let plan = Plan {
            op: Op::Protect,
            key: at,
            index,
            iv: session.iv(parameters.suite, ssrc, index),
            clear: if parameters.encrypts_rtcp { RTCP_HEAD } else { length },
            data: length,
            tag: layout.tag,
            extra: Extra::from(word),
            length: layout.length,
        };
        plan.run(&session.key, buffer)?;
        Ok(plan.length)
    }

    /// Octets of memory that it takes, those on the heap with it.
    #[must_use]
    pub fn size(&self) -> usize {
        let past = self.past.as_ref().map_or(0, |past| size_of::<Past>() + past.heap());
        size_of::<Self>() + self.keyring.heap() + self.streams.heap() + past
    }
}

/// A master key and the index that was spent under it.
struct Spent {
    at: usize,
    unused: Unused,
}
