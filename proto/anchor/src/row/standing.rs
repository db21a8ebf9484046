//! The streams of a media controller as its session controller says them: each message may come
//! twice, and after a new connection everything comes again.

use crate::row::StreamId;
use std::collections::BTreeMap;

/// Streams by name, each with a generation.
#[derive(Debug)]
pub struct Standing<T> {
    streams: BTreeMap<StreamId, Entry<T>>,
    /// Rises with each `Begin`.
    round: u32,
    is_open: bool,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    round: u32,
    /// An earlier start of the session controller said it, and this one has not.
    is_former: bool,
    value: T,
}

/// What a message did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done<T> {
    /// The stream is new.
    Added,
    /// It is another one; so it was before.
    Changed(T),
    /// It is gone; so it was.
    Removed(T),
    /// Nothing: that was known, or is older than what is known.
    Nothing,
}

impl<T> Default for Standing<T> {
    fn default() -> Self {
        Self { streams: BTreeMap::new(), round: 0, is_open: false }
    }
}

impl<T> Standing<T> {
    /// Takes `Put`.
    pub fn put(&mut self, stream: StreamId, generation: u32, value: T) -> Done<T> {
        let round = self.round;
        match self.streams.get_mut(&stream) {
            None => {
                let is_former = false;
                self.streams.insert(stream, Entry { generation, round, is_former, value });
                Done::Added
            }
            Some(entry) => {
                (entry.round, entry.is_former) = (round, false);
                if generation <= entry.generation {
                    return Done::Nothing;
                }
                entry.generation = generation;
                Done::Changed(core::mem::replace(&mut entry.value, value))
            }
        }
    }

    /// Takes `Remove`; a stream that was put again since stays.
    pub fn remove(&mut self, stream: StreamId, generation: u32) -> Done<T> {
        let is_meant = self.streams.get(&stream).is_some_and(|it| it.generation <= generation);
        match is_meant.then(|| self.streams.remove(&stream)).flatten() {
            Some(entry) => Done::Removed(entry.value),
            None => Done::Nothing,
        }
    }

    /// Takes a `Hello` of another epoch: generations count anew, and what stands is a former stream
    /// until it is put again or removed. `End` leaves those alone: nobody has said that their calls
    /// are over.
    pub fn renew(&mut self) {
        let entries = self.streams.values_mut();
        entries.for_each(|entry| (entry.generation, entry.is_former) = (0, true));
    }

    /// A stream is a former one, as [`Standing::renew`] makes all.
    pub fn renew_one(&mut self, stream: StreamId) {
        if let Some(entry) = self.streams.get_mut(&stream) {
            (entry.generation, entry.is_former) = (0, true);
        }
    }

    /// Whether a stream is a former one.
    #[must_use]
    pub fn is_former(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(|entry| entry.is_former)
    }

    /// Whether there are former streams.
    #[must_use]
    pub fn has_former(&self) -> bool {
        self.streams.values().any(|entry| entry.is_former)
    }

    /// Former streams have had their time: they are gone.
    pub fn end_former(&mut self) -> Vec<(StreamId, T)> {
        self.take(|entry| entry.is_former)
    }

    /// Takes `Begin`.
    pub fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.is_open = true;
    }

    /// Takes `End`: what was not put since `Begin` is gone, but for former streams.
    pub fn end(&mut self) -> Vec<(StreamId, T)> {
        if !self.is_open {
            return Vec::new();
        }
        self.is_open = false;
        let round = self.round;
        self.take(|entry| entry.round != round && !entry.is_former)
    }

    fn take(&mut self, is_gone: impl Fn(&Entry<T>) -> bool) -> Vec<(StreamId, T)> {
        let gone = self.streams.iter().filter(|(_, entry)| is_gone(entry));
        let gone: Vec<StreamId> = gone.map(|(id, _)| *id).collect();
        gone.into_iter().filter_map(|id| Some((id, self.streams.remove(&id)?.value))).collect()
    }

    /// A stream and its generation.
    #[must_use]
    pub fn entry(&self, stream: StreamId) -> Option<(u32, &T)> {
        self.streams.get(&stream).map(|entry| (entry.generation, &entry.value))
    }

    /// A stream.
    #[must_use]
    pub fn at(&self, stream: StreamId) -> Option<&T> {
        self.streams.get(&stream).map(|entry| &entry.value)
    }

    /// Those of a call.
    pub fn of_call(&self, call: u64) -> impl Iterator<Item = (StreamId, &T)> {
        let of_call = StreamId { call, line: 0 }..=StreamId { call, line: u8::MAX };
        self.streams.range(of_call).map(|(id, entry)| (*id, &entry.value))
    }

    /// All of them, with their generations.
    pub fn iter(&self) -> impl Iterator<Item = (StreamId, u32, &T)> {
        self.streams.iter().map(|(id, entry)| (*id, entry.generation, &entry.value))
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}
