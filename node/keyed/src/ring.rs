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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// The time of the last change that this process made of its own rows, microseconds; 0: none. It
/// says nothing of where a ring is: all are equal.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<AtomicU64>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

impl Written {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, stamp: u64) {
        self.0.fetch_max(stamp, Ordering::Relaxed);
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
