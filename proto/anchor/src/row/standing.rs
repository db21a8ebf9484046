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
                self.streams.insert(stream, Entry { generation, round, value });
                Done::Added
            }
            Some(entry) => {
                entry.round = round;
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

    /// Takes a `Hello` of another epoch: generations count anew, and what stands stays until it is
    /// put again, removed, or left out between `Begin` and `End`.
    pub fn renew(&mut self) {
        self.streams.values_mut().for_each(|entry| entry.generation = 0);
    }

    /// Takes `Begin`.
    pub fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.is_open = true;
    }

    /// Takes `End`: what was not put since `Begin` is gone.
    pub fn end(&mut self) -> Vec<(StreamId, T)> {
        if !self.is_open {
            return Vec::new();
        }
        self.is_open = false;
        let round = self.round;
        let gone: Vec<StreamId> =
            self.streams.iter().filter(|it| it.1.round != round).map(|it| *it.0).collect();
        gone.into_iter().filter_map(|id| Some((id, self.streams.remove(&id)?.value))).collect()
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
