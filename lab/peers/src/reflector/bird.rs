//! BIRD's configuration: one template, and a range of neighbours.

use super::ReflectorSpec;
use std::fs;
use std::path::Path;

pub(super) fn prepare(spec: &ReflectorSpec, directory: &Path) -> anyhow::Result<Vec<String>> {
    fs::write(directory.join("bird.conf"), configuration(spec))?;
    let words = ["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"];
    Ok(words.map(str::to_owned).to_vec())
}

fn configuration(spec: &ReflectorSpec) -> String {
    let ReflectorSpec { listen, asn, cluster, clients, .. } = spec;
    let (address, port) = (listen.ip(), listen.port());
    format!(
        "log stderr {{ error, fatal, bug, auth }};\n\
        router id {cluster};\n\
        protocol device {{ }}\n\
        template bgp members {{\n\
        \x20 local {address} port {port} as {asn};\n\
        \x20 strict bind on; multihop; passive on; hold time 0;\n\
        \x20 rr client; rr cluster id {cluster};\n\
        \x20 enable extended messages on;\n\
        \x20 ipv4 {{ import all; export all; next hop keep; }};\n\
        }}\n\
        protocol bgp field from members {{\n\
        \x20 neighbor range {clients} as {asn};\n\
        \x20 dynamic name \"member\"; dynamic name digits 5;\n\
        }}\n"
    )
}
