//! A ring of Apache Cassandra: where it is, and the thread that speaks with it.
//!
//! ```text
//!   a shard ⇄ words ⇄ Worker ─┬─ Rows: prepared statements, LOCAL_QUORUM ─→ nodes of the ring
//!                             └─ Lease: who may have the rows of this owner
//! ```

mod lease;
mod rows;
mod schema;
mod worker;

use crate::ear::{Ear, ThreadChannel};
use authentication::Password;
use channel::{Absent, Channel, Connect};
use machine::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tls::TlsSpec;

/// Where a ring is, and what of it is this node's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// Some of its nodes, a host and a port each.
    pub nodes: Vec<String>,
    /// The keyspace, made where there is none.
    pub keyspace: String,
    /// How many nodes of each data centre have a row, of a keyspace that is made.
    pub replication: u8,
    /// The data centre whose nodes are asked; none: all.
    pub datacenter: Option<String>,
    /// Whose own rows they are: no two stores that stand at once may have the same.
    pub owner: String,
    /// How keys of rows begin that are this node's alone.
    pub own: Vec<Vec<u8>>,
    /// Who this node is to the ring.
    pub user: Option<(String, Password)>,
    /// Keys and trust; none: in clear.
    pub tls: Option<TlsSpec>,
    /// How long it has for an answer.
    pub answer_time: Duration,
    /// What this process has written of its own rows.
    pub written: Written,
}

/// What this process has made of its own rows, whatever connections there were. It says nothing of
/// where a ring is: all are equal.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<Made>);

#[derive(Debug, Default)]
struct Made {
    /// The time of the last change, microseconds; 0: none.
    stamp: AtomicU64,
    /// What tells this process from others.
    process: OnceLock<[u8; 32]>,
}

/// Another process has had the rows since: they are nobody's here until the next start.
const LOST: u64 = u64::MAX;

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

impl Written {
    fn get(&self) -> u64 {
        self.0.stamp.load(Ordering::Relaxed)
    }

    fn set(&self, stamp: u64) {
        self.0.stamp.fetch_max(stamp, Ordering::Relaxed);
    }

    /// What tells this process from others, drawn once.
    fn process(&self) -> Result<Vec<u8>, String> {
        let drawn = match self.0.process.get() {
            Some(drawn) => *drawn,
            None => {
                let drawn = driver::random().map_err(|error| error.to_string())?;
                *self.0.process.get_or_init(|| drawn)
            }
        };
        Ok(drawn.to_vec())
    }

    /// Another process has the rows. One that has never had them may still wait for them.
    fn lose(&self) {
        if self.get() > 0 {
            self.set(LOST);
        }
    }

    fn is_lost(&self) -> bool {
        self.get() == LOST
    }
}

impl Ring {
    /// The keyspace and the nodes, for a person.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{} at {}", self.keyspace, self.nodes.join(", "))
    }
}

impl Connect for Ring {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let failed = |error: std::io::Error| Absent::Failed(error.to_string());
        let ear = Arc::new(Ear::new().map_err(failed)?);
        let (jobs, queue) = tokio::sync::mpsc::unbounded_channel();
        let (own, ring) = (Arc::clone(&ear), self.clone());
        let thread = std::thread::Builder::new().name("ring".to_owned());
        let runs = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = match runtime {
                Ok(runtime) => {
                    let ended = runtime.block_on(worker::run(&ring, &own, queue));
                    runtime.shutdown_background();
                    ended
                }
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = ended {
                own.end(format!("the ring {}: {why}", ring.place()));
            }
        };
        thread.spawn(runs).map_err(failed)?;
        Ok(Box::new(ThreadChannel { tell: move |words| jobs.send(words).is_ok(), ear }))
    }
}
