//! What can go wrong when a function is started or its ports are changed.

use std::io;
use std::net::SocketAddr;

/// Why a function cannot start or take a new configuration. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// A port cannot be bound.
    #[error("port \"{port}\" cannot be bound to {listen}: {source}{}", hint(source))]
    Bind {
        /// The port's name.
        port: String,
        /// The address it wants.
        listen: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// Two ports want the same address.
    #[error("ports \"{first}\" and \"{second}\" both want {listen}")]
    Conflict {
        /// The first one's name.
        first: String,
        /// The second one's name.
        second: String,
        /// The address they both want.
        listen: SocketAddr,
    },
    /// Certificates or keys are unusable.
    #[error("port \"{port}\": {what}")]
    Tls {
        /// The port's name.
        port: String,
        /// What is wrong and with which file.
        what: String,
    },
    /// The kernel cannot keep what a port demands of its far ends.
    #[error("port \"{port}\": {what}")]
    Guard {
        /// The port's name.
        port: String,
        /// What is wrong; no key is shown.
        what: String,
    },
    /// A number is outside its limits.
    #[error("{0}")]
    Limit(String),
    /// A core cannot be used.
    #[error("core {core} cannot be used: {source}")]
    Core {
        /// The core.
        core: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The system is out of something a shard needs.
    #[error("a shard cannot start: {0}")]
    System(#[from] io::Error),
    /// No shard runs any more.
    #[error("the function has failed")]
    Failed,
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => " (another program listens there)",
        io::ErrorKind::AddrNotAvailable => " (no interface of this machine has that address)",
        io::ErrorKind::PermissionDenied => " (ports below 1024 need CAP_NET_BIND_SERVICE)",
        _ => "",
    }
}

/// The words of a panic.
pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}
