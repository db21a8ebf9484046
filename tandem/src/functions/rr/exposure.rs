//! What a route reflector leaves open to others, or refuses though its author may not know.

use super::{password_files, password_key, password_of};
use crate::exposure::readable;
use authentication::KEY_CHARACTERS_MIN;
use config::keys::{self, quoted};
use config::{Issue, counted};
use rr::config::{Group, Rr, Secret};
use std::net::IpAddr;
use std::path::Path;

/// A peer that may be further away may be anybody: paths through the Internet have fewer routers.
const HOPS_MAX: u8 = 64;

/// By paths below the section.
pub fn exposures(section: &Rr, directory: &Path) -> Vec<Issue> {
    let mut found = Vec::new();
    proofs(section, &mut found);
    passwords(section, directory, &mut found);
    let hint = "name a policy, or say `default_policy = \"accept\"`";
    let refused = section.refused_by_default().into_iter();
    found.extend(refused.map(|(at, what)| Issue::new(at, format!("{what} (RFC 8212)"), hint)));
    for n in section.speaker().accepting_anybody() {
        let what = "peers of any AS come from these ranges, and all of their routes are taken";
        let hint = "name an `import` policy, or the AS by `asn`";
        found.push(Issue::new(format!("group[{n}].default_policy"), what, hint));
    }
    feeds(section, &mut found);
    found
}

/// How far away a peer may be, where that proves anything.
fn is_near(hops: Option<u8>) -> bool {
    hops.is_some_and(|hops| hops <= HOPS_MAX)
}

/// Sessions that nothing binds to their peer.
fn proofs(section: &Rr, found: &mut Vec<Issue>) {
    let what = "its sessions are neither signed (TCP-MD5) nor bound to near routers (GTSM)";
    let far = format!("; `ttl_security_hops` above {HOPS_MAX} lets in the whole Internet");
    let hint = "give `password_file`, or `ttl_security_hops` for a neighbour on the same link";
    let is_signed = |group: &Group| group.password.is_some() || group.password_file.is_some();
    let mut open = |at: String, hops: Option<u8>| {
        let more = hops.map_or("", |_| &far);
        found.push(Issue::new(at, format!("{what}{more}"), hint));
    };
    for (n, group) in section.group.iter().enumerate() {
        let is_proved = is_signed(group) || is_near(group.ttl_security_hops);
        if !group.ranges.is_empty() && !is_proved {
            open(format!("group[{n}].ranges"), group.ttl_security_hops);
        }
    }
    for (n, peer) in section.peer.iter().enumerate() {
        let group = section.group.iter().find(|group| Some(&group.name) == peer.group.as_ref());
        let hops = peer.ttl_security_hops.or(group.and_then(|group| group.ttl_security_hops));
        let is_proved = peer.password.is_some()
            || peer.password_file.is_some()
            || group.is_some_and(is_signed)
            || is_near(hops);
        if !is_proved && !peer.address.is_loopback() {
            open(format!("peer[{n}].address"), hops);
        }
    }
}

/// Passwords that are guessed, and files of them that others read.
fn passwords(section: &Rr, directory: &Path, found: &mut Vec<Issue>) {
    for (at, name) in password_files(section) {
        let path = keys::located(directory, name);
        if let Some(what) = readable(&path) {
            found.push(Issue::new(&*at, what, format!("chmod 600 {}", quoted(&path))));
        }
        short(password_of(directory, name).ok().as_ref(), &at, found);
    }
    let groups = section.group.iter().enumerate().map(|(n, it)| ("group", n, &it.password));
    let peers = section.peer.iter().enumerate().map(|(n, it)| ("peer", n, &it.password));
    for (row, n, password) in groups.chain(peers) {
        short(password.as_ref(), password_key(row, n).trim_end_matches("_file"), found);
    }
}

fn short(password: Option<&Secret>, at: &str, found: &mut Vec<Issue>) {
    let Some(octets) = password.map(|password| password.octets().len()) else { return };
    if octets < KEY_CHARACTERS_MIN {
        let long = counted(octets, "character", "characters");
        let what =
            format!("a password of {long}: who has seen one packet of the session guesses it");
        let hint = "agree on one of 16 characters and more, as `openssl rand -base64 24` makes it";
        found.push(Issue::new(at, what, hint));
    }
}

/// What is read and told in clear, beside BGP.
fn feeds(section: &Rr, found: &mut Vec<Issue>) {
    let is_far = |ip: &IpAddr| !ip.to_canonical().is_loopback();
    for (n, _) in section.rpki.iter().enumerate().filter(|(_, it)| is_far(&it.address)) {
        let what =
            "who is on the way to this cache decides which origins are valid: RTR is in clear";
        let hint = "reach it through a private network, a tunnel, or a cache on this machine";
        found.push(Issue::new(format!("rpki[{n}].address"), what, hint));
    }
    for (n, station) in section.bmp.iter().enumerate().filter(|(_, it)| is_far(&it.address)) {
        let what = format!("all routes go to `{}` in clear (BMP)", station.name);
        let hint = "reach it through a private network or a tunnel";
        found.push(Issue::new(format!("bmp[{n}].address"), what, hint));
    }
}
