//! Programs that others wrote, started and stopped by the lab.
//!
//! Every program is a [`Process`]: its own process group, pinned to a core where that matters, its
//! output in a file, its end when the handle is dropped or the lab ends, however that comes about.
#![forbid(unsafe_code)]

mod cassandra;
mod guest;
mod jars;
mod jss7;
mod kamailio;
mod ng_client;
mod port;
mod priority;
mod process;
mod reaper;
mod reflector;
mod rtpengine;
mod scscf;
mod sipp;
mod talk;
mod tsctp;

pub use cassandra::{Cassandra, CassandraSpec, CassandraTls};
pub use guest::{GUEST_ADDRESSES, GUEST_CONTROL, GUEST_WIRES, Guest, HOST_CONTROL, guest_mac};
pub use jss7::{Jss7, Jss7Spec, Passed, java};
pub use kamailio::{Duty, Kamailio, KamailioSpec, TlsFiles};
pub use ng_client::{Ng, Reply, Says};
pub use port::{free_port, wait_for_sip};
pub use priority::{Priority, pin, pinned};
pub use process::{Member, Process, ProcessSpec, Usage};
pub use reaper::reap;
pub use reflector::{Reflector, ReflectorKind, ReflectorSpec};
pub use rtpengine::{Rtpengine, RtpengineSpec};
pub use scscf::{Scscf, ScscfSpec};
pub use sipp::{Sipp, SippCounts, SippSpec};
pub use talk::Talk;
pub use tsctp::tsctp;
