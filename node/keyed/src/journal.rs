//! The way to a journal: a directory, and the thread that reads and writes its files.

use crate::writer::{self, Ear, Job};
use channel::{Absent, Came, Channel, Connect};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// A journal in a directory, which is made where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// Its directory, its owner's alone.
    pub directory: PathBuf,
}

impl Connect for Journal {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let begun = writer::begin(self.directory.clone());
        let (jobs, ear) = begun.map_err(|error| Absent::Failed(error.to_string()))?;
        Ok(Box::new(Open { jobs, ear }))
    }
}

/// A journal that is open, or is being opened.
struct Open {
    jobs: Sender<Job>,
    ear: Arc<Ear>,
}

impl Channel for Open {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ear.descriptor()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let (words, why) = self.ear.take();
        words.iter().for_each(|it| take(Came::Message(it)));
        why.map_or(Ok(()), Err)
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        if messages.is_empty() {
            return Ok(());
        }
        let sent = self.jobs.send(Job(messages));
        sent.map_err(|_| self.ear.why().unwrap_or_else(|| "its thread is gone".to_owned()))
    }

    fn waits(&self) -> bool {
        false
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ear.close();
    }
}
