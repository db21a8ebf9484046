//! What the stack takes of a function's section: its realms, next hops and routes, as the site
//! file has them.

use crate::config::Route;
use crate::realm::{InDialogSource, Side};
use machine::Duration;
use sip::HeaderSet;
use std::borrow::Cow;

/// What a section says of the border. All of it has been checked.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// The realms, in order.
    pub realms: Vec<RealmSettings<'a>>,
    /// The next hops, in order.
    pub hops: Vec<HopSettings<'a>>,
    /// The routes, in order.
    pub routes: &'a [Route],
}

/// A realm.
#[derive(Debug, Clone)]
pub struct RealmSettings<'a> {
    /// Its name.
    pub name: &'a str,
    /// Access or core.
    pub side: Side,
    /// Where it listens.
    pub listen: Cow<'a, [String]>,
    /// Host to write into Via and Contact in place of the listening address.
    pub advertise: Option<&'a str>,
    /// Whether identities asserted by or towards it are believed (RFC 3325's trust domain).
    pub trusted: bool,
    /// Names in certificates of far ends that are believed although it is not trusted.
    pub trusted_peers: &'a [String],
    /// Headers that cross although it is not trusted.
    pub passes: HeaderSet,
    /// Whether IP addresses of its far ends are hidden from other realms.
    pub hide_hosts: bool,
    /// Where requests inside its calls may come from.
    pub in_dialog_source: InDialogSource,
    /// Whether requests other than REGISTER need a binding.
    pub register_required: bool,
    /// Whether far ends show a certificate over TLS, as we do.
    pub is_mutual: bool,
}

/// A next hop.
#[derive(Debug, Clone)]
pub struct HopSettings<'a> {
    /// Its name.
    pub name: &'a str,
    /// The realm it is reached through.
    pub realm: &'a str,
    /// Its targets in order of preference, each as [`crate::config::Target`] reads it.
    pub targets: &'a [String],
    /// Name that the certificates of its `tls:` targets must carry; `None`: the domain looked up.
    pub tls_name: Option<&'a str>,
    /// Time between probes; zero is off.
    pub probe_interval: Duration,
    /// Probes that must fail in a row before a target counts as down.
    pub probe_failures: u32,
    /// Final answers after which the next target is tried.
    pub failover_status: &'a [u16],
    /// Whether its overload control feedback (RFC 7339) is obeyed.
    pub overload_control: bool,
}
