//! GoBGP's configuration: a peer group, and a prefix of dynamic neighbours. Without hold time it
//! waits no time for a connection that takes nothing at once, and ends it.

use super::ReflectorSpec;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Seconds: the longest that an OPEN can say.
const HOLD_TIME_S: u16 = 65_535;
const KEEPALIVE_S: u16 = 21_845;

pub(super) fn prepare(spec: &ReflectorSpec, directory: &Path) -> anyhow::Result<Vec<String>> {
    fs::write(directory.join("gobgpd.toml"), configuration(spec))?;
    let interface = crate::port::free_port(spec.listen.ip())?;
    let words = ["-f", "gobgpd.toml", "-p", "-l", "error", "--pprof-disable", "--api-hosts"];
    let words = words.into_iter().map(str::to_owned);
    Ok(words.chain([interface.to_string()]).collect())
}

fn configuration(spec: &ReflectorSpec) -> String {
    let ReflectorSpec { listen, asn, cluster, clients, .. } = spec;
    let (address, port) = (listen.ip(), listen.port());
    let mut text = format!(
        "[global.config]\nas = {asn}\nrouter-id = \"{cluster}\"\nport = {port}\n\
        local-address-list = [\"{address}\"]\n\
        [[dynamic-neighbors]]\n[dynamic-neighbors.config]\n\
        prefix = \"{clients}\"\npeer-group = \"clients\"\n\
        [[peer-groups]]\n[peer-groups.config]\npeer-group-name = \"clients\"\npeer-as = {asn}\n\
        [peer-groups.timers.config]\nhold-time = {HOLD_TIME_S}\n\
        keepalive-interval = {KEEPALIVE_S}\n\
        [peer-groups.transport.config]\npassive-mode = true\n\
        [peer-groups.route-reflector.config]\nroute-reflector-client = true\n\
        route-reflector-cluster-id = \"{cluster}\"\n"
    );
    for family in &spec.families {
        let name = match family.as_str() {
            "evpn" => "l2vpn-evpn",
            "route-target" => "rtc",
            other => other,
        };
        let _ = write!(
            text,
            "[[peer-groups.afi-safis]]\n[peer-groups.afi-safis.config]\n\
            afi-safi-name = \"{name}\"\n"
        );
    }
    text
}
