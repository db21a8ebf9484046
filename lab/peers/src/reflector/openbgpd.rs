//! OpenBGPD's configuration: a template neighbour. It separates its privileges, so that it needs
//! root and the user `_openbgpd` of the package.

use super::ReflectorSpec;
use anyhow::Context;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const USER: &str = "_openbgpd:";

/// Its processes lock themselves into their user's home, which its service makes when it starts.
fn make_home() -> anyhow::Result<()> {
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with(USER));
    let home = line.and_then(|line| line.split(':').nth(5)).context("no user _openbgpd")?;
    fs::create_dir_all(home).with_context(|| format!("OpenBGPD needs {home}, and root"))
}

pub(super) fn prepare(spec: &ReflectorSpec, directory: &Path) -> anyhow::Result<Vec<String>> {
    make_home()?;
    let file = directory.join("bgpd.conf");
    let socket = directory.join("bgpd.sock");
    fs::write(&file, configuration(spec, &socket))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(vec!["-d".into(), "-f".into(), file.display().to_string()])
}

fn configuration(spec: &ReflectorSpec, socket: &Path) -> String {
    let ReflectorSpec { listen, asn, cluster, clients, .. } = spec;
    let (address, port) = (listen.ip(), listen.port());
    format!(
        "AS {asn}\nrouter-id {cluster}\nfib-update no\nlisten on {address} port {port}\n\
        socket {socket:?}\n\
        neighbor {clients} {{\n\
        \x20 remote-as {asn}\n  descr \"clients\"\n  passive\n\
        \x20 route-reflector {cluster}\n  announce IPv4 unicast\n\
        }}\n\
        allow from any\nallow to any\n"
    )
}
