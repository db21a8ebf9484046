//! From chunks to messages, and messages in the order of their streams (RFC 9260 §6.5, §6.6,
//! §6.9; RFC 8260 §2.2.3). Where the user takes parts of messages, one that grows long is given
//! before it has ended.

use crate::codec::DataFlags;
use crate::id::{low16, low32, unwrap16, unwrap32};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

/// A chunk of user data without its header.
#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    pub(crate) stream: u16,
    /// Stream Sequence Number or Message Identifier.
    pub(crate) number: u32,
    /// Whether `number` is a Message Identifier (I-DATA).
    pub(crate) is_interleaved: bool,
    /// The unwrapped TSN, or the Fragment Sequence Number (I-DATA).
    pub(crate) index: u64,
    pub(crate) ppid: u32,
    pub(crate) flags: DataFlags,
    pub(crate) payload: Bytes,
    /// Octets of the packet that the payload is a part of.
    pub(crate) packet_bytes: usize,
}

impl Fragment {
    /// A small part that is kept does not hold its whole packet.
    fn compact(&mut self) {
        if self.payload.len() < self.packet_bytes / 2 {
            self.payload = Bytes::copy_from_slice(&self.payload);
        }
    }
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its stream.
    pub stream: u16,
    /// Payload Protocol Identifier.
    pub ppid: u32,
    /// Whether it came out of the order of its stream.
    pub is_unordered: bool,
    /// The user data.
    pub payload: Bytes,
}

/// Which part of a message it is that is given before it has come whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its beginning.
    First,
    /// What follows; there is more.
    Middle,
    /// Its end.
    Last,
}

/// What can be given to the user.
#[derive(Debug)]
pub(crate) enum Given {
    Whole(Message),
    Part(Message, Part),
    /// The rest of a message of that stream, unordered or not, will not come.
    Aborted(u16, bool),
}

/// The peer has broken the rules of fragmentation; the words go into the ABORT.
pub(crate) type Violation = &'static str;

/// Fragments that follow each other.
#[derive(Debug)]
struct Run {
    is_begun: bool,
    is_ended: bool,
    stream: u16,
    number: u32,
    is_unordered: bool,
    ppid: u32,
    parts: VecDeque<Bytes>,
    /// Octets of them.
    octets: usize,
    /// Fragments before them that the user was given already.
    given: u64,
}

impl Run {
    /// Fragments from its first one on.
    fn length(&self) -> u64 {
        self.given + self.parts.len() as u64
    }

    /// Takes what it has out of it, as one piece.
    fn draw(&mut self) -> Bytes {
        self.given = self.length();
        let mut payload = BytesMut::with_capacity(core::mem::take(&mut self.octets));
        self.parts.drain(..).for_each(|part| payload.extend_from_slice(&part));
        payload.freeze()
    }

    /// Appends the run that follows. The shorter one is moved: fragments that come backwards cost
    /// no more than others.
    fn append(&mut self, mut next: Self) {
        self.is_ended |= next.is_ended;
        self.octets += next.octets;
        if self.parts.len() < next.parts.len() {
            while let Some(part) = self.parts.pop_back() {
                next.parts.push_front(part);
            }
            self.parts = next.parts;
        } else {
            self.parts.extend(next.parts);
        }
    }
}

/// Group and index: all DATA is of one group and indexed by TSN; of I-DATA each message is a
/// group, indexed by FSN.
type Key = (u64, u64);

/// What has come and cannot be delivered yet.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    runs: BTreeMap<Key, Run>,
    /// The message of a stream, unordered or not, that is being given in parts.
    partial: BTreeMap<(u16, bool), Key>,
    /// Whole messages that wait for their turn, by stream and unwrapped number.
    waiting: BTreeMap<(u16, u64), Message>,
    /// The next number of each stream, unwrapped; streams that never spoke are not in it.
    next: Vec<u64>,
    /// Octets of user data held.
    held: usize,
}

/// Runs and messages held at most: each has a TSN of its own in the window.
const ITEMS_MAX: usize = crate::id::place(super::received::WINDOW);
/// Octets of the receive buffer for each of them: what is tiny takes more memory than its octets.
const ITEM_BYTES: usize = 16;
/// As many may be held however small the buffer is.
const ITEMS_MIN: usize = 256;
/// Unwrapped numbers begin here, so that an old one does not fall below zero.
const FIRST: u64 = 1 << 32;

impl Reassembly {
    /// Octets of user data held.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// Whether more is held than an honest peer has in its window, or than becomes a buffer of that
    /// many octets.
    pub(crate) fn is_full(&self, buffer: usize) -> bool {
        let most = (buffer / ITEM_BYTES).clamp(ITEMS_MIN, ITEMS_MAX);
        self.runs.len() + self.waiting.len() >= most
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.waiting.is_empty()
    }

    /// Takes a fragment that came for the first time and gives what can be delivered: of a message
    /// whose turn it is also what has come of it, each time that is `point` octets or more.
    pub(crate) fn take(
        &mut self,
        mut fragment: Fragment,
        point: Option<u32>,
        deliver: &mut impl FnMut(Given),
    ) -> Result<(), Violation> {
        let Fragment { stream, number, is_interleaved, ppid, flags, .. } = fragment;
        let is_unordered = flags.is_unordered();
        if flags.is_begin() && flags.is_end() {
            if !is_unordered && !self.is_next(stream, number, is_interleaved) {
                fragment.compact();
            }
            let message = Message { stream, ppid, is_unordered, payload: fragment.payload };
            self.whole(message, number, is_interleaved, deliver);
            return Ok(());
        }
        fragment.compact();
        self.held += fragment.payload.len();
        let key = self.join(fragment)?;
        let run = &self.runs[&key];
        if !(run.is_begun && run.is_ended) {
            let is_long = point.is_some_and(|point| run.octets >= point as usize);
            let is_ready = run.is_begun && is_long;
            if is_ready && (is_unordered || self.is_next(stream, number, is_interleaved)) {
                self.part(key, deliver);
            }
            return Ok(());
        }
        let Some(mut run) = self.runs.remove(&key) else { return Ok(()) };
        self.held -= run.octets;
        let was_begun = run.given > 0;
        let message = Message { stream, ppid: run.ppid, is_unordered, payload: run.draw() };
        if !was_begun {
            self.whole(message, number, is_interleaved, deliver);
            return Ok(());
        }
        self.partial.remove(&(stream, is_unordered));
        deliver(Given::Part(message, Part::Last));
        if !is_unordered {
            *self.next_of(stream) += 1;
            self.release(stream, deliver);
        }
        Ok(())
    }

    /// Gives what has come of a message, unless another one of its kind is being given.
    fn part(&mut self, key: Key, deliver: &mut impl FnMut(Given)) {
        let run = self.runs.get_mut(&key).expect("it was found just now");
        if *self.partial.entry((run.stream, run.is_unordered)).or_insert(key) != key {
            return;
        }
        let part = if run.given == 0 { Part::First } else { Part::Middle };
        self.held -= run.octets;
        let Run { stream, ppid, is_unordered, .. } = *run;
        deliver(Given::Part(Message { stream, ppid, is_unordered, payload: run.draw() }, part));
    }

    /// Joins a fragment to its neighbours; the key of their run.
    fn join(&mut self, fragment: Fragment) -> Result<Key, Violation> {
        let group = match fragment.is_interleaved {
            true => {
                let unordered = u64::from(fragment.flags.is_unordered());
                1 << 63
                    | unordered << 48
                    | u64::from(fragment.stream) << 32
                    | u64::from(fragment.number)
            }
            false => 0,
        };
        let index = fragment.index;
        let run = Run {
            is_begun: fragment.flags.is_begin(),
            is_ended: fragment.flags.is_end(),
            stream: fragment.stream,
            number: fragment.number,
            is_unordered: fragment.flags.is_unordered(),
            ppid: fragment.ppid,
            octets: fragment.payload.len(),
            given: 0,
            parts: VecDeque::from([fragment.payload]),
        };
        let before = self.runs.range((group, 0)..(group, index)).next_back();
        let before = before.filter(|(key, before)| key.1 + before.length() == index);
        let key = before.map(|(key, _)| *key);
        let key = match key {
            Some(key) if self.follow(key, &run)? => {
                let before = self.runs.get_mut(&key).expect("it was found just now");
                before.append(run);
                key
            }
            _ => {
                self.runs.insert((group, index), run);
                (group, index)
            }
        };
        let after = (group, index + 1);
        if let Some(next) = self.runs.remove(&after) {
            match self.follow(key, &next) {
                Ok(true) => {
                    let run = self.runs.get_mut(&key).expect("it was made just now");
                    run.append(next);
                }
                Ok(false) => drop(self.runs.insert(after, next)),
                Err(violation) => return Err(violation),
            }
        }
        Ok(key)
    }

    /// Whether `next`, which comes right after the run at `key`, belongs to the same message.
    fn follow(&self, key: Key, next: &Run) -> Result<bool, Violation> {
        let run = &self.runs[&key];
        match (run.is_ended, next.is_begun) {
            (true, true) => Ok(false),
            (true, false) => Err("a fragment follows the last one"),
            (false, true) => Err("a message begins within another"),
            (false, false) if run.stream != next.stream => Err("the stream of a message changes"),
            (false, false) if run.is_unordered != next.is_unordered => {
                Err("the U bit of a message changes")
            }
            (false, false) if !run.is_unordered && run.number != next.number => {
                Err("the number of a message changes")
            }
            (false, false) => Ok(true),
        }
    }

    fn whole(
        &mut self,
        message: Message,
        number: u32,
        is_interleaved: bool,
        deliver: &mut impl FnMut(Given),
    ) {
        if message.is_unordered {
            deliver(Given::Whole(message));
            return;
        }
        let stream = message.stream;
        let next = self.next_of(stream);
        let number = unwrapped(*next, number, is_interleaved);
        if number != *next {
            // An old number under a new TSN is a fault of the peer's; it must not be kept.
            if number > *next {
                self.held += message.payload.len();
                if let Some(old) = self.waiting.insert((stream, number), message) {
                    self.held -= old.payload.len();
                }
            }
            return;
        }
        *next += 1;
        deliver(Given::Whole(message));
        if !self.waiting.is_empty() {
            self.release(stream, deliver);
        }
    }

    fn is_next(&mut self, stream: u16, number: u32, is_interleaved: bool) -> bool {
        let next = *self.next_of(stream);
        unwrapped(next, number, is_interleaved) == next
    }

    fn next_of(&mut self, stream: u16) -> &mut u64 {
        let index = usize::from(stream);
        if index >= self.next.len() {
            self.next.resize(index + 1, FIRST);
        }
        &mut self.next[index]
    }

    /// Delivers what has its turn on `stream`.
    fn release(&mut self, stream: u16, deliver: &mut impl FnMut(Given)) {
        let mut next = *self.next_of(stream);
        while let Some(message) = self.waiting.remove(&(stream, next)) {
            self.held -= message.payload.len();
            deliver(Given::Whole(message));
            next += 1;
        }
        *self.next_of(stream) = next;
    }

    /// Fragments of DATA up to `tsn` will never become whole (RFC 3758 §3.6).
    pub(crate) fn forget_to(&mut self, tsn: u64, deliver: &mut impl FnMut(Given)) {
        let keys: Vec<Key> = self.runs.range((0, 0)..=(0, tsn)).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| self.forget(*key, deliver));
    }

    fn forget(&mut self, key: Key, deliver: &mut impl FnMut(Given)) {
        let Some(run) = self.runs.remove(&key) else { return };
        self.held -= run.octets;
        if run.given > 0 {
            self.partial.remove(&(run.stream, run.is_unordered));
            deliver(Given::Aborted(run.stream, run.is_unordered));
        }
    }

    /// The ordered messages of `stream` up to `number` are skipped; what waits behind is
    /// delivered, and what was whole before it too.
    pub(crate) fn skip(
        &mut self,
        stream: u16,
        number: u32,
        is_interleaved: bool,
        deliver: &mut impl FnMut(Given),
    ) {
        let next = *self.next_of(stream);
        let end = unwrapped(next, number, is_interleaved) + 1;
        if end <= next {
            return;
        }
        let range = (stream, next)..(stream, end);
        let whole: Vec<_> = self.waiting.range(range).map(|(key, _)| *key).collect();
        for key in whole {
            if let Some(message) = self.waiting.remove(&key) {
                self.held -= message.payload.len();
                deliver(Given::Whole(message));
            }
        }
        *self.next_of(stream) = end;
        self.release(stream, deliver);
    }

    /// Fragments of I-DATA of `stream` up to `mid` will never become whole (RFC 8260 §2.3.1).
    pub(crate) fn forget_mids(
        &mut self,
        stream: u16,
        is_unordered: bool,
        mid: u32,
        deliver: &mut impl FnMut(Given),
    ) {
        let group = 1 << 63 | u64::from(is_unordered) << 48 | u64::from(stream) << 32;
        let of_stream = (group, 0)..=(group | 0xFFFF_FFFF, u64::MAX);
        let is_old = |key: &Key| (mid.wrapping_sub(low32(key.0)) as i32) >= 0;
        let keys: Vec<Key> =
            self.runs.range(of_stream).map(|(key, _)| *key).filter(is_old).collect();
        keys.iter().for_each(|key| self.forget(*key, deliver));
    }

    /// The numbers of these streams begin anew; none listed: of all (RFC 6525 §5.2.2). What waits
    /// behind a number that will not come any more goes.
    pub(crate) fn reset(&mut self, streams: &[u16]) {
        let is_meant = |stream: u16| streams.is_empty() || streams.contains(&stream);
        for (stream, next) in (0..=u16::MAX).zip(&mut self.next) {
            if is_meant(stream) {
                *next = FIRST;
            }
        }
        let held = &mut self.held;
        self.waiting.retain(|(stream, _), message| {
            let stays = !is_meant(*stream);
            *held -= if stays { 0 } else { message.payload.len() };
            stays
        });
    }
}

const fn unwrapped(next: u64, number: u32, is_interleaved: bool) -> u64 {
    match is_interleaved {
        true => unwrap32(next, number),
        false => unwrap16(next, low16(number as u64)),
    }
}
