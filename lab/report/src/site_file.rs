//! The text of a site file, section by section, in the order in which they are added.

use std::fmt::{Debug, Display, Write as _};
use std::net::SocketAddr;
use std::path::Path;

/// A site file that is being written.
#[derive(Debug)]
pub struct SiteFile(String);

impl SiteFile {
    /// A site whose own directory is `directory/var`, with its API; `[oam]` is open.
    #[must_use]
    pub fn new(name: &str, directory: &Path, api: SocketAddr) -> Self {
        let directory = directory.join("var");
        Self(String::new())
            .with(format_args!("[site]\nname = \"{name}\"\ndirectory = {directory:?}"))
            .with(format_args!("\n[oam]\nlisten = \"{api}\""))
    }

    /// Lines for the section that is open, or sections.
    #[must_use]
    pub fn with(mut self, lines: impl Display) -> Self {
        writeln!(self.0, "{lines}").expect("a string takes everything");
        self
    }

    /// Where messages come in, `udp:127.0.0.1:5060`, on the side `access` or `core`; its section is
    /// open.
    #[must_use]
    pub fn realm(self, name: &str, side: &str, listen: &[impl Debug]) -> Self {
        let section = format!("\n[[ssc.realm]]\nname = \"{name}\"\nside = \"{side}\"");
        self.with(format_args!("{section}\nlisten = {listen:?}"))
    }

    /// A far end in the realm `core`, `udp:127.0.0.1:5080`, that nobody probes; its section is
    /// open.
    #[must_use]
    pub fn next_hop(self, name: &str, target: impl Display) -> Self {
        let section = format!("\n[[ssc.next_hop]]\nname = \"{name}\"\nrealm = \"core\"");
        self.with(format_args!("{section}\ntargets = [\"{target}\"]\nprobe_interval_s = 0"))
    }

    /// All that comes from a realm goes to one next hop; its section is open.
    #[must_use]
    pub fn route(self, from: &str, to: &str) -> Self {
        self.with(format_args!("\n[[ssc.route]]\nfrom = \"{from}\"\nto = [\"{to}\"]"))
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> String {
        self.0
    }
}
