//! How a forwarder is started, and why it cannot be.

use authentication::Keys;
use std::io;
use std::path::PathBuf;

/// How a forwarder is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Where controls find it.
    pub socket: PathBuf,
    /// Threads that forward.
    pub workers: u16,
    /// Cores for them, in turn; empty: the kernel's choice.
    pub cores: Vec<usize>,
    /// Packets that each of them holds.
    pub packets: usize,
    /// Octets of a packet's cell.
    pub stride: usize,
    /// The TUN device for the router's own addresses.
    pub host: Option<String>,
    /// Who controls it proves one of these; `None`: whoever may open the socket controls it.
    pub keys: Option<Keys>,
    /// Users, beside its own and root, who may open the socket.
    pub users: Vec<u32>,
}

/// Why a forwarder cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Another one stands there.
    #[error("another forwarder stands at {0}")]
    Taken(PathBuf),
    /// The kernel says no.
    #[error("{what}: {error}")]
    Kernel {
        /// To what.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// The plane does.
    #[error(transparent)]
    Plane(#[from] nodes::Refused),
    /// A worker hangs. Its thread, its ports and what it reads can be had back in one way only: by
    /// the end of the process.
    #[error("worker {0} has made no round for 5 s: the forwarder ends, so that another is started")]
    Hung(u16),
}

pub(crate) fn kernel(what: &'static str) -> impl Fn(io::Error) -> Failed {
    move |error| Failed::Kernel { what, error }
}
