//! FRR's configuration: a peer group, and a listen range. Without zebra every next hop counts as
//! reachable.

use super::ReflectorSpec;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(super) fn prepare(spec: &ReflectorSpec, directory: &Path) -> anyhow::Result<Vec<String>> {
    fs::write(directory.join("bgpd.conf"), configuration(spec))?;
    let (address, port) = (spec.listen.ip().to_string(), spec.listen.port().to_string());
    let at = |name: &str| directory.join(name).display().to_string();
    let files = ["-f", &at("bgpd.conf"), "-i", &at("bgpd.pid"), "-z", &at("zserv.api")];
    let place = ["--vty_socket", &at(""), "-l", &address, "-p", &port, "-P", "0", "-Z", "-S"];
    Ok(files.into_iter().chain(place).map(str::to_owned).collect())
}

fn configuration(spec: &ReflectorSpec) -> String {
    let ReflectorSpec { asn, cluster, clients, clients_max, .. } = spec;
    let mut text = format!(
        "frr defaults datacenter\nlog stdout errors\n\
        router bgp {asn}\n\
        \x20bgp router-id {cluster}\n bgp cluster-id {cluster}\n\
        \x20no bgp default ipv4-unicast\n no bgp network import-check\n\
        \x20bgp listen limit {}\n\
        \x20neighbor clients peer-group\n neighbor clients remote-as {asn}\n\
        \x20neighbor clients timers 0 0\n neighbor clients passive\n\
        \x20bgp listen range {clients} peer-group clients\n",
        clients_max.clamp(&1, &5_000)
    );
    for family in &spec.families {
        let is_evpn = family == "evpn";
        let name = if is_evpn { "l2vpn evpn" } else { "ipv4 unicast" };
        let paths = if is_evpn { "" } else { "  maximum-paths 1\n  maximum-paths ibgp 1\n" };
        let _ = write!(
            text,
            " address-family {name}\n  neighbor clients activate\n\
            \x20 neighbor clients route-reflector-client\n{paths} exit-address-family\n"
        );
    }
    text
}
