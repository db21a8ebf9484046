//! From the plane's writer to the workers' loops: which ports have which queues.

use crate::{Config, Refused};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The queues of all ports. A worker's loop looks at one number to see that nothing changed.
#[derive(Default)]
pub struct QueuePrograms {
    generation: AtomicU64,
    workers: AtomicU16,
    ports: Mutex<BTreeMap<u16, Arc<Config>>>,
}

impl QueuePrograms {
    /// Gives a port queues, or takes them away.
    ///
    /// # Errors
    /// What cannot be; nothing was changed.
    pub fn set(&self, port: u16, queues: Option<&Config>) -> Result<(), Refused> {
        if let Some(queues) = queues {
            queues.check()?;
        }
        {
            let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
            match queues {
                Some(queues) => ports.insert(port, Arc::new(queues.clone())),
                None => ports.remove(&port),
            };
        }
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The ports with queues.
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.keys().copied().collect()
    }

    /// So many workers send by each port.
    pub fn serve(&self, workers: usize) {
        self.workers.store(u16::try_from(workers).unwrap_or(u16::MAX), Ordering::Release);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Which time this is: another number if anything has changed.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// All ports with queues, and the number of workers.
    pub(crate) fn all(&self) -> (BTreeMap<u16, Arc<Config>>, u16) {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        (ports.clone(), self.workers.load(Ordering::Acquire).max(1))
    }
}
