//! The sections of the nodes: one session controller, and media controllers with addresses of both
//! sides.

use std::net::SocketAddr;
use std::sync::Arc;

pub(super) const ACCESS: &str = "10.9.0.1:5060";
pub(super) const CORE: &str = "10.9.0.2:5060";
/// The pairs: session controllers, then media controllers.
pub(super) const PAIRS: usize = 3;

pub(super) fn session_controller() -> ssc::config::Ssc {
    let controllers: String = (1..PAIRS)
        .map(|pair| {
            let (one, other) = (control(pair, 0), control(pair, 1));
            format!(
                "[[media.controller]]\nname = \"msc{pair}\"\naddress = \"{one}\"\n\
                 other_address = \"{other}\"\n"
            )
        })
        .collect();
    let text = format!(
        r#"
name = "ssc1"
[[realm]]
name = "access"
listen = ["udp:{ACCESS}"]
trusted = true
media = {{ anchor = true, srtp = "required" }}
[[realm]]
name = "core"
side = "core"
listen = ["udp:{CORE}"]
trusted = true
media = {{ anchor = true }}
[[next_hop]]
name = "bob"
realm = "core"
targets = ["udp:198.51.100.50:5060"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["bob"]
[media]
pairs_min = 16
gone_s = 5
{controllers}"#
    );
    let config: ssc::config::Ssc = toml::from_str(&text).unwrap();
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    config
}

/// Where a media controller takes session controllers.
pub(super) fn control(pair: usize, node: usize) -> SocketAddr {
    format!("127.0.{pair}.{}:2970", node + 1).parse().unwrap()
}

pub(super) fn media_controller(pair: usize, node: usize) -> Arc<msc::Settings> {
    let (own, group) = (100 + 10 * pair + node, 20 + pair);
    let letter = ["a", "b"][node];
    let text = format!(
        r#"
name = "msc{pair}"
listen = "{}"
[[port]]
name = "a"
driver = "af_packet"
[[port]]
name = "c"
driver = "af_packet"
[[interface]]
name = "a"
addresses = ["192.0.2.{own}/24"]
[[interface]]
name = "c"
addresses = ["198.51.100.{own}/24"]
[[group]]
name = "access"
addresses = ["192.0.2.{group}"]
ports = "20000-20127"
[[group]]
name = "core"
addresses = ["198.51.100.{group}"]
ports = "30000-30127"
[limits]
block_pairs = 16
quarantine_s = 5
session_controller_away_s = 20
[replica]
pair = {pair}
node = "{letter}"
listen = "127.0.0.1:1"
peer = "127.0.0.1:2"
"#,
        control(pair, node)
    );
    let msc: msc::Msc = toml::from_str(&text).unwrap();
    let mut issues = Vec::new();
    msc.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    let launch = forwarder::Launch {
        socket: "/".into(),
        command: Vec::new(),
        log: "/".into(),
        ..forwarder::Launch::default()
    };
    Arc::new(msc::Settings { msc, keys: None, launch, transcoder: None, certificate: None })
}
