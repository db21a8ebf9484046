//! The ends of links: interfaces, looked at before anything is put between them.

use crate::Place;
use anyhow::{Context, bail};
use driver::packet::PacketSocket;
use std::fs;
use std::io::ErrorKind;

/// Octets that may wait to be read at an end. Frames beyond are counted as missed.
const RECEIVE_BYTES: i32 = 32 << 20;

/// Opens an interface.
///
/// # Errors
/// Why not, and how it is mended.
pub(crate) fn open(place: &Place, notes: &mut Vec<String>) -> anyhow::Result<PacketSocket> {
    let Some(namespace) = &place.namespace else { return open_here(place, notes) };
    // Only the thread that opens the socket moves: a socket stays in its namespace.
    let opened = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            attack::enter(namespace).with_context(|| {
                format!("{place}: the namespace cannot be entered; `ip netns` names them, root may")
            })?;
            let mut notes = Vec::new();
            open_here(place, &mut notes).map(|socket| (socket, notes))
        });
        inside.join()
    });
    let Ok(opened) = opened else { bail!("{place}: could not be opened") };
    let (socket, said) = opened?;
    notes.extend(said);
    Ok(socket)
}

fn open_here(place: &Place, notes: &mut Vec<String>) -> anyhow::Result<PacketSocket> {
    let name = &place.interface;
    let ip = match &place.namespace {
        Some(namespace) => format!("ip -n {namespace}"),
        None => "ip".into(),
    };
    if driver::link::interface(name).is_err() {
        bail!("{place}: there is no such interface; `{ip} link` names them");
    }
    let up = driver::interfaces()?.into_iter().find(|interface| interface.name == *name);
    let Some(interface) = up else { bail!("{place} is down; `{ip} link set {name} up`") };
    if interface.is_loopback {
        bail!("{place} is loopback, which has no far end; a link stands between two interfaces");
    }
    let routed = |address: &&std::net::IpAddr| match address {
        std::net::IpAddr::V4(_) => true,
        std::net::IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    if let Some(address) = interface.addresses.iter().find(routed) {
        notes.push(format!(
            "{place} has an address ({address}), so this machine answers there itself; a link \
             wants the far ends of two pairs, and programs their near ends"
        ));
    }
    PacketSocket::open(name, RECEIVE_BYTES).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            anyhow::anyhow!("{place}: packet sockets need root or CAP_NET_RAW")
        }
        _ => anyhow::anyhow!("{place}: {error}"),
    })
}

/// Refuses the two ends of one pair of virtual interfaces: every frame would go round for ever.
///
/// # Errors
/// When they are.
pub(crate) fn refuse_a_pair([one, two]: &[Place; 2]) -> anyhow::Result<()> {
    let number = |place: &Place, what: &str| {
        let path = format!("/sys/class/net/{}/{what}", place.interface);
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let here = one.namespace.is_none() && two.namespace.is_none();
    let peer = number(one, "iflink");
    if here && peer.is_some() && peer == number(two, "ifindex") {
        bail!("{one} and {two} are the two ends of one pair; a link stands between two pairs");
    }
    Ok(())
}
