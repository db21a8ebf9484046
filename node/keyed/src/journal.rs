//! The way to a journal: a directory, and the thread that reads and writes its files.

use crate::ear::ThreadChannel;
use crate::{files, writer};
use channel::{Absent, Channel, Connect};
use runtime::Term;
use std::io;
use std::path::PathBuf;

/// A journal in a directory, which is made where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// Its directory, its owner's alone.
    pub directory: PathBuf,
}

impl Journal {
    /// How recent what stands in it is; none where no node of a pair has written it.
    ///
    /// # Errors
    /// That cannot be read.
    pub fn recall(&self) -> io::Result<Option<Term>> {
        files::recall(&self.directory)
    }
}

impl Connect for Journal {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let begun = writer::begin(self.directory.clone());
        let (jobs, ear) = begun.map_err(|error| Absent::Failed(error.to_string()))?;
        Ok(Box::new(ThreadChannel { tell: move |words| jobs.send(words).is_ok(), ear }))
    }
}
