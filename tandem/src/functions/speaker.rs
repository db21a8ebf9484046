//! What a speaker of BGP leaves open to others, or refuses though its author may not know.

use super::passwords;
use crate::exposure::readable;
use authentication::KEY_CHARACTERS_MIN;
use bgp_stack::config::{Group, Secret, Section};
use config::keys::{self, quoted};
use config::{Issue, counted};
use std::path::Path;

/// A peer that may be further away may be anybody: paths through the Internet have fewer routers.
const HOPS_MAX: u8 = 64;

/// By paths below the section.
pub fn exposures(section: &Section<'_>, directory: &Path) -> Vec<Issue> {
    let mut found = Vec::new();
    proofs(section, &mut found);
    guessed(section, directory, &mut found);
    let hint = "name a policy, or say `default_policy = \"accept\"`";
    let refused = section.refused_by_default().into_iter();
    found.extend(refused.map(|(at, what)| Issue::new(at, format!("{what} (RFC 8212)"), hint)));
    for n in section.accepting_anybody() {
        let what = "peers of any AS come from these ranges, and all of their routes are taken";
        let hint = "name an `import` policy, or the AS by `asn`";
        found.push(Issue::new(format!("group[{n}].default_policy"), what, hint));
    }
    found
}

/// How far away a peer may be, where that proves anything.
fn is_near(hops: Option<u8>) -> bool {
    hops.is_some_and(|hops| hops <= HOPS_MAX)
}

/// Sessions that nothing binds to their peer.
fn proofs(section: &Section<'_>, found: &mut Vec<Issue>) {
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
fn guessed(section: &Section<'_>, directory: &Path, found: &mut Vec<Issue>) {
    for (at, name) in passwords::files(section.group, section.peer) {
        let path = keys::located(directory, name);
        if let Some(what) = readable(&path) {
            found.push(Issue::new(&*at, what, format!("chmod 600 {}", quoted(&path))));
        }
        short(passwords::of(directory, name).ok().as_ref(), &at, found);
    }
    let groups = section.group.iter().enumerate().map(|(n, it)| ("group", n, &it.password));
    let peers = section.peer.iter().enumerate().map(|(n, it)| ("peer", n, &it.password));
    for (row, n, password) in groups.chain(peers) {
        short(password.as_ref(), passwords::key(row, n).trim_end_matches("_file"), found);
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
