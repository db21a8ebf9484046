//! What a thread of the store has said and its shard has not heard, and the channel between both.

use channel::{Came, Channel};
use driver::Waker;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Pieces that wait to be heard.
const PIECES_MAX: usize = 16;

#[derive(Default)]
struct Said {
    words: Vec<Vec<u8>>,
    why: Option<String>,
    is_closed: bool,
}

/// What the thread has said and the shard has not heard.
pub(crate) struct Ear {
    said: Mutex<Said>,
    room: Condvar,
    bell: Waker,
}

impl Ear {
    pub fn new() -> io::Result<Self> {
        let bell = Waker::new()?;
        bell.doze();
        Ok(Self { said: Mutex::default(), room: Condvar::new(), bell })
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said, and why nothing more will be.
    fn take(&self) -> (Vec<Vec<u8>>, Option<String>) {
        self.bell.clear();
        self.bell.doze();
        let mut said = self.said();
        self.room.notify_all();
        (std::mem::take(&mut said.words), said.why.clone())
    }

    /// Nobody listens any more.
    fn close(&self) {
        self.said().is_closed = true;
        self.room.notify_all();
    }

    /// Says words, waiting for room; false if nobody listens.
    pub fn say(&self, words: Vec<u8>) -> bool {
        let mut said = self.said();
        while said.words.len() >= PIECES_MAX && !said.is_closed {
            said = self.room.wait(said).unwrap_or_else(PoisonError::into_inner);
        }
        said.words.push(words);
        let is_heard = !said.is_closed;
        drop(said);
        self.bell.wake();
        is_heard
    }

    /// Says why nothing more will be said.
    pub fn end(&self, why: String) {
        self.said().why = Some(why);
        self.bell.wake();
    }
}

/// A channel to a thread that is told words; `tell` is false when the thread is gone.
pub(crate) struct ThreadChannel<T> {
    pub tell: T,
    pub ear: Arc<Ear>,
}

impl<T: Fn(Vec<u8>) -> bool + Send> Channel for ThreadChannel<T> {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ear.bell.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let (words, why) = self.ear.take();
        words.iter().for_each(|it| take(Came::Message(it)));
        why.map_or(Ok(()), Err)
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        if messages.is_empty() || (self.tell)(messages) {
            return Ok(());
        }
        Err(self.ear.said().why.clone().unwrap_or_else(|| "its thread is gone".to_owned()))
    }

    fn waits(&self) -> bool {
        false
    }
}

impl<T> Drop for ThreadChannel<T> {
    fn drop(&mut self) {
        self.ear.close();
    }
}
