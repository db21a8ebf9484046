//! Files of records in a folder, one line each: whoever collects them takes finished files and
//! deletes them.
//!
//! ```text
//! Effects::connect(RecordFiles) → NAME.part, with a header
//! Effects::write → the thread → appended … long enough, or old enough → synced, renamed:
//!                                                        NAME-SECONDS-NUMBER.jsonl
//! ```
//! A finished file is whole and is not written to any more. What a process left unfinished is
//! finished by the next one, up to its last line. Nothing is deleted here: where finished files
//! have the room that the folder may take, or the disk has none, lines are lost and counted.

use crate::record_writer::{self, Ear, Job};
use channel::{Absent, Came, Channel, Connect};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Octets that wait for the disk at most; what comes on top is lost, and counted.
const WAITING_OCTETS_MAX: usize = 16 << 20;
/// What a message of such a channel has: lines that were written and lines that were lost since
/// the last one, eight octets each, the highest first.
pub const COUNTS_OCTETS: usize = 16;

/// Files of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFiles {
    /// Their folder, made for its owner alone where there is none.
    pub folder: PathBuf,
    /// What their names begin with.
    pub name: String,
    /// The first line of each, with its end.
    pub header: Vec<u8>,
    /// A file is finished beyond so many octets.
    pub file_octets_max: u64,
    /// A file with a record is finished after so long.
    pub file_time_max: Duration,
    /// Octets of finished files beyond which no file is begun.
    pub folder_octets_max: u64,
}

impl Connect for RecordFiles {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let begun = record_writer::begin(self.clone());
        let (jobs, ear) = begun.map_err(|error| Absent::Failed(error.to_string()))?;
        Ok(Box::new(Writing { jobs, ear }))
    }
}

/// Files that are written, or are being opened.
struct Writing {
    jobs: Sender<Job>,
    ear: Arc<Ear>,
}

impl Channel for Writing {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ear.descriptor()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let (written, lost, why) = self.ear.take();
        if written + lost > 0 {
            let mut counts = [0; COUNTS_OCTETS];
            counts[..8].copy_from_slice(&written.to_be_bytes());
            counts[8..].copy_from_slice(&lost.to_be_bytes());
            take(Came::Message(&counts));
        }
        why.map_or(Ok(()), Err)
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        let octets = messages.len();
        if self.ear.waiting.load(Relaxed) + octets > WAITING_OCTETS_MAX {
            self.ear.lost(&messages);
            return Ok(());
        }
        if self.ear.hand(&messages) {
            self.ear.waiting.fetch_add(octets, Relaxed);
            // Where the thread ends meanwhile, it counts what was handed as lost.
            let _ = self.jobs.send(Job(messages));
        }
        Ok(())
    }

    fn waits(&self) -> bool {
        false
    }
}
