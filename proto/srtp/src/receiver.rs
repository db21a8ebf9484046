//! The direction that comes: packets of SRTP and SRTCP become RTP and RTCP (RFC 3711 §3.3, §3.4).
//!
//! Nothing changes before a packet's tag was found right: no stream is taken up, no counter moves.
//!
//! A receiver knows the rollover counter of its peer only by what it hears, and peers differ in
//! what they do with it when keys change: some go on, some begin again. So after a change both are
//! tried until the first packet of a stream has told; until then and some packets longer, what was
//! sent before the change is still opened with the keys before.

use crate::index::{Index, Seen, Window};
use crate::key::KeyEntry;
use crate::keyring::{Keyring, Unusable};
use crate::packet::{ENCRYPTED, RTCP_HEAD, Refused, RtpHead, SRTCP_WORD, rtcp_ssrc};
use crate::parameters::Parameters;
use crate::plan::Plan;
use crate::session::Kind;
use crate::stream::{Settling, Stream, StreamState, Streams};
use cipher::{Extra, Op};

/// Packets under new keys until those before are given up: what was on its way is there by then.
const GRACE: u8 = 64;
/// Indices that are tried for one packet.
const ATTEMPTS_MAX: usize = 3;

/// One direction's receiver.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    // What a packet needs stands first, and in one piece.
    streams: Streams,
    previous: Option<Box<Keyring>>,
    keyring: Keyring,
    /// Packets until `previous` is given up.
    grace: u8,
}

/// An index that a packet may have.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    is_old: bool,
    index: Index,
    begins_again: bool,
}

/// A packet of RTP before its tag is looked at.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub plan: Plan,
    ssrc: u32,
}

impl Receiver {
    /// A receiver that heard nothing yet.
    ///
    /// # Errors
    /// Why the keys cannot be used.
    pub fn new(parameters: Parameters, keys: &[KeyEntry]) -> Result<Self, Unusable> {
        let keyring = Keyring::new(parameters, keys)?;
        Ok(Self { keyring, previous: None, grace: 0, streams: Streams::default() })
    }

    /// A receiver that goes on where another one stopped. What came up to where that one had told
    /// does not come again; what it took since then can come once more.
    ///
    /// # Errors
    /// Why the keys cannot be used.
    pub fn resume(
        parameters: Parameters,
        keys: &[KeyEntry],
        streams: &[StreamState],
    ) -> Result<Self, Unusable> {
        let mut receiver = Self::new(parameters, keys)?;
        for state in streams {
            if receiver.streams.find(state.ssrc).is_none() {
                // More were never told: the other one is bounded as well.
                let _ = receiver.streams.insert(Stream::restored(state, 0));
            }
        }
        Ok(receiver)
    }

    /// Follows another one: what that one told of streams counts where it has come further.
    pub fn advance(&mut self, streams: &[StreamState]) {
        for told in streams {
            let Some(own) = self.streams.find_mut(told.ssrc) else {
                let _ = self.streams.insert(Stream::restored(told, 0));
                continue;
            };
            let mut state = own.state();
            state.merge(told);
            if state != own.state() {
                own.pass(&state, 0);
            }
        }
    }

    /// Changes the keys. With the same keys and parameters nothing changes at all.
    ///
    /// # Errors
    /// Why the keys cannot be used.
    pub fn rekey(&mut self, parameters: Parameters, keys: &[KeyEntry]) -> Result<(), Unusable> {
        if self.keyring.is_of(&parameters, keys) {
            return Ok(());
        }
        // Under a key that stays, no counter can have begun again: its packets would come twice.
        let settling = !self.keyring.shares_a_key(keys);
        let keyring = Keyring::new(parameters, keys)?.with_left_of(&self.keyring);
        let before = core::mem::replace(&mut self.keyring, keyring);
        self.previous = Some(Box::new(before));
        self.grace = GRACE;
        for stream in self.streams.iter_mut() {
            stream.settling = Settling::both(settling);
        }
        Ok(())
    }

    /// What it opens with.
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

    /// Opens a packet of RTP in place; what it is long now.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn unprotect(&mut self, packet: &mut [u8]) -> Result<usize, Refused> {
        let head = RtpHead::read(packet)?;
        let mut refused = None;
        for attempt in self.attempts(&head).into_iter().flatten() {
            match self.attempt(packet, &head, attempt) {
                Ok(length) => return Ok(length),
                // What the keys in use say of it counts.
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(refused.unwrap_or(Refused::Exhausted))
    }

    /// The indices that a packet may have, the likeliest first.
    fn attempts(&self, head: &RtpHead) -> [Option<Attempt>; ATTEMPTS_MAX] {
        let stream = self.streams.find(head.ssrc);
        let highest = stream.and_then(Stream::highest);
        let usual = Index::estimate(highest, head.sequence);
        let attempt = |index, begins_again| Attempt { is_old: false, index, begins_again };
        let first = usual.map(|index| attempt(index, false));
        let second = match (stream, highest) {
            (Some(stream), Some(_)) if stream.settling.rtp() => {
                Some(attempt(Index::new(0, head.sequence), true))
            }
            // The stream began just before its sequence numbers did so again, unheard.
            (_, None) if head.sequence < 0x8000 => {
                Some(attempt(Index::new(1, head.sequence), false))
            }
            _ => None,
        };
        let old = self.previous.as_ref().and(usual);
        let old = old.map(|index| Attempt { is_old: true, index, begins_again: false });
        [first, second, old]
    }

    fn attempt(
        &mut self,
        packet: &mut [u8],
        head: &RtpHead,
        attempt: Attempt,
    ) -> Result<usize, Refused> {
        if !attempt.begins_again {
            self.look(head.ssrc, attempt.index)?;
        }
        let keyring = match &mut self.previous {
            Some(previous) if attempt.is_old => &mut **previous,
            _ => &mut self.keyring,
        };
        let mut plan = rtp_plan(keyring, packet, head, attempt.index)?;
        let suite = keyring.parameters.suite;
        let session = keyring.session_for(plan.key, plan.index).ok_or(Refused::Exhausted)?;
        plan.iv = session.iv(suite, head.ssrc, plan.index);
        plan.run(&session.key, packet)?;
        keyring.spend(plan.key, Kind::Rtp);
        self.commit(head.ssrc, attempt)?;
        Ok(plan.length)
    }

    /// Whether an index may still come, and its stream be taken up.
    fn look(&self, ssrc: u32, index: Index) -> Result<(), Refused> {
        match self.streams.find(ssrc) {
            Some(stream) => seen(stream.rtp.look(index.number())),
            None if self.streams.has_room() => Ok(()),
            None => Err(Refused::TooManyStreams),
        }
    }

    fn commit(&mut self, ssrc: u32, attempt: Attempt) -> Result<(), Refused> {
        let stream = match self.streams.find(ssrc) {
            Some(_) => self.streams.find_mut(ssrc).ok_or(Refused::TooManyStreams)?,
            None => self.streams.insert(Stream::new(ssrc))?,
        };
        if attempt.begins_again {
            stream.rtp = Window::default();
        }
        seen(stream.rtp.take(attempt.index.number()))?;
        if !attempt.is_old {
            stream.settling.end_rtp();
            // Where counters began again, nothing says any more what came under the keys before.
            self.heard_new(attempt.begins_again);
        }
        Ok(())
    }

    /// A packet came under the keys in use.
    fn heard_new(&mut self, ends_grace: bool) {
        self.grace = self.grace.saturating_sub(1);
        if self.grace == 0 || ends_grace {
            self.previous = None;
        }
    }

    /// What the cipher shall do to a packet of RTP of a stream that is well known; `None` if it
    /// wants more than one look.
    pub(crate) fn plan(&self, packet: &[u8]) -> Result<Option<Waiting>, Refused> {
        let head = RtpHead::read(packet)?;
        let stream = self.streams.find(head.ssrc);
        let Some(highest) = stream.filter(|it| !it.settling.rtp()).and_then(Stream::highest) else {
            return Ok(None);
        };
        if self.previous.is_some() || self.keyring.parameters.kdr.exponent().is_some() {
            return Ok(None);
        }
        let index = Index::estimate(Some(highest), head.sequence).ok_or(Refused::Exhausted)?;
        self.look(head.ssrc, index)?;
        let mut plan = rtp_plan(&self.keyring, packet, &head, index)?;
        let session = self.keyring.session(plan.key).ok_or(Refused::Exhausted)?;
        plan.iv = session.iv(self.keyring.parameters.suite, head.ssrc, plan.index);
        Ok(Some(Waiting { plan, ssrc: head.ssrc }))
    }

    /// The key of a plan, for a batch.
    pub(crate) fn key(&self, plan: &Plan) -> Option<&cipher::Key> {
        self.keyring.session(plan.key).map(|session| &session.key)
    }

    /// A packet's tag was right: it counts, unless one of the same batch was it already.
    pub(crate) fn opened(&mut self, waiting: &Waiting) -> Result<(), Refused> {
        let index = Index::of(waiting.plan.index).ok_or(Refused::Exhausted)?;
        self.keyring.spend(waiting.plan.key, Kind::Rtp);
        self.commit(waiting.ssrc, Attempt { is_old: false, index, begins_again: false })
    }

    /// Opens a packet of RTCP in place; what it is long now.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn unprotect_rtcp(&mut self, packet: &mut [u8]) -> Result<usize, Refused> {
        let ssrc = rtcp_ssrc(packet)?;
        if self.streams.find(ssrc).is_none() && !self.streams.has_room_for_rtcp() {
            return Err(Refused::TooManyStreams);
        }
        match self.rtcp(packet, ssrc, false) {
            Err(why) if self.previous.is_some() => self.rtcp(packet, ssrc, true).map_err(|_| why),
            verdict => verdict,
        }
    }

    fn rtcp(&mut self, packet: &mut [u8], ssrc: u32, is_old: bool) -> Result<usize, Refused> {
        let stream = self.streams.find(ssrc);
        let settling = !is_old && stream.is_some_and(|stream| stream.settling.rtcp());
        let keyring = match &mut self.previous {
            Some(previous) if is_old => &mut **previous,
            _ => &mut self.keyring,
        };
        let plan = rtcp_plan(keyring, packet)?;
        let is_new = stream.map_or(Ok(()), |stream| seen(stream.rtcp.look(plan.index)));
        if !settling {
            is_new?;
        }
        let session = keyring.rtcp_session(plan.key, plan.index).ok_or(Refused::Exhausted)?;
        let iv = session.iv(keyring.parameters.suite, ssrc, plan.index);
        let plan = Plan { iv, ..plan };
        plan.run(&session.key, packet)?;
        keyring.spend(plan.key, Kind::Rtcp);
        let stream = match self.streams.find(ssrc) {
            Some(_) => self.streams.find_mut(ssrc).ok_or(Refused::TooManyStreams)?,
            None => self.streams.insert(Stream::new(ssrc))?,
        };
        let begins_again = is_new.is_err();
        if begins_again {
            stream.rtcp = Window::default();
        }
        seen(stream.rtcp.take(plan.index))?;
        if !is_old {
            stream.settling.end_rtcp();
            self.heard_new(begins_again);
        }
        Ok(plan.length)
    }

    /// Octets of memory that it takes, those on the heap with it.
    #[must_use]
    pub fn size(&self) -> usize {
        let previous = self.previous.as_ref();
        let previous = previous.map_or(0, |keyring| size_of::<Keyring>() + keyring.heap());
        size_of::<Self>() + self.keyring.heap() + previous + self.streams.heap()
    }
}

fn seen(seen: Seen) -> Result<(), Refused> {
    match seen {
        Seen::New => Ok(()),
        Seen::Replayed => Err(Refused::Replayed),
        Seen::Old => Err(Refused::Old),
    }
}

/// Where the parts of a packet of RTP stand and which key it names; its IV is not there yet.
fn rtp_plan(
    keyring: &Keyring,
    packet: &[u8],
    head: &RtpHead,
    index: Index,
) -> Result<Plan, Refused> {
    let parameters = &keyring.parameters;
    let mki = keyring.mki_octets();
    let plain = packet.len().checked_sub(mki + parameters.tag_octets());
    let plain = plain.filter(|plain| *plain >= head.length).ok_or(Refused::Malformed)?;
    let layout = parameters.rtp_layout(plain, mki);
    let key = keyring.named(&packet[layout.mki])?;
    if keyring.left(key, Kind::Rtp) == 0 {
        return Err(Refused::Exhausted);
    }
    Ok(Plan {
        op: Op::Unprotect,
        key,
        index: index.number(),
        iv: [0; 16],
        clear: if parameters.encrypts_rtp { head.length } else { plain },
        data: plain,
        tag: layout.tag,
        extra: parameters.rtp_extra(index.number()),
        length: plain,
    })
}

/// Where the parts of a packet of RTCP stand, its index and which key it names.
fn rtcp_plan(keyring: &Keyring, packet: &[u8]) -> Result<Plan, Refused> {
    let parameters = &keyring.parameters;
    let mki = keyring.mki_octets();
    let added = SRTCP_WORD + mki + parameters.suite.rtcp_tag_octets();
    let plain = packet.len().checked_sub(added);
    let plain = plain.filter(|plain| *plain >= RTCP_HEAD).ok_or(Refused::Malformed)?;
    let layout = parameters.rtcp_layout(plain, mki);
    let key = keyring.named(&packet[layout.mki])?;
    let word = packet[layout.word..].first_chunk().ok_or(Refused::Malformed)?;
    let word = u32::from_be_bytes(*word);
    if (word & ENCRYPTED != 0) != parameters.encrypts_rtcp {
        return Err(Refused::WrongEncryption);
    }
    if keyring.left(key, Kind::Rtcp) == 0 {
        return Err(Refused::Exhausted);
    }
    Ok(Plan {
        op: Op::Unprotect,
        key,
        index: u64::from(word & !ENCRYPTED),
        iv: [0; 16],
        clear: if parameters.encrypts_rtcp { RTCP_HEAD } else { plain },
        data: plain,
        tag: layout.tag,
        extra: Extra::from(word),
        length: plain,
    })
}
