//! A gateway's own side: where instances of its applications connect, and what a section says of
//! them.
//!
//! ```text
//!   [[sgc.application]] ─ lent as a Section ─→ Place, PortSpec ─→ Listeners ⇄ tcu::Application
//! ```

mod application;
mod listeners;
mod section;
mod show;
mod validate;

pub use application::{Absent, Application, Inside, PointCodesAs, Served, Tls};
pub use listeners::{Happening, Heard, Listeners};
pub use section::{LISTENERS_MAX, Listener, Place, Section, owns};
pub use show::{ApplicationRow, InstanceRow, instance_rows};

/// Instances of an application at most, whatever is configured.
pub const INSTANCES_MAX: u32 = 1_024;
/// Octets that a connection is given before it has taken those before, and one message: what else
/// waits, waits in its application.
pub(crate) const SOCKET_OCTETS: usize = 1 << 20;
/// What a path of a Unix socket begins with.
pub(crate) const UNIX: &str = "unix:";
