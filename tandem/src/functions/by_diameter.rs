//! What a section of Diameter is for a site: its files, its listeners, what it leaves open. For any
//! function that lends one.

use super::ssc::tls::located;
use config::keys::{self, Unusable};
use config::{Issue, ListenAddress};
use diameter_stack::config::{Carriage, Node, Section, Tls};
use std::fs::File;
use std::net::IpAddr;
use std::path::Path;
use tls::Context;

/// Makes the paths of its files those of the site's directory, whole.
pub fn locate(node: &mut Node, directory: &Path) {
    for name in node.tls.iter_mut().flat_map(Tls::files) {
        *name = located(directory, name);
    }
}

/// What hinders connections over TLS from taking its files; paths are relative to the node.
pub fn unusable(node: &Node, directory: &Path) -> Vec<Issue> {
    let Some(tls) = &node.tls else { return Vec::new() };
    let files = [
        ("tls.certificate", Some(&tls.certificate)),
        ("tls.key", Some(&tls.key)),
        ("tls.roots", tls.roots.as_ref()),
    ];
    let unread = files.into_iter().filter_map(|(key, name)| {
        let name = name?;
        let error = File::open(keys::located(directory, name)).err()?;
        Some(Unusable::unread(directory, name, &error, "").issue(key))
    });
    let unread: Vec<Issue> = unread.collect();
    if !unread.is_empty() {
        return unread;
    }
    let mut whole = node.clone();
    locate(&mut whole, directory);
    let error = whole.tls.and_then(|tls| Context::load(&tls.spec(), true).err());
    let hint = "give a certificate, its private key without a passphrase, and roots in PEM form";
    error.map(|error| Issue::new("tls", error.to_string(), hint)).into_iter().collect()
}

/// The addresses that it binds; `path` makes a path of the stack one of the function.
pub fn listens(section: &Section<'_>, path: impl Fn(&str) -> String) -> Vec<ListenAddress> {
    let bound = section.bound().into_iter();
    bound
        .map(|(at, datagram, address)| ListenAddress { path: path(&at), datagram, address })
        .collect()
}

/// What it leaves open; paths are those of the stack.
pub fn exposures(section: &Section<'_>) -> Vec<Issue> {
    let mut found = Vec::new();
    for (at, peer) in section.peer.iter().enumerate() {
        let is_far = |it: &IpAddr| !it.is_loopback();
        if peer.transport != Carriage::Tls && peer.addresses.is_empty() {
            let what =
                "whoever reaches this node and says this host is this peer: it has no addresses";
            found.push(Issue::new(
                format!("peer[{at}].name"),
                what,
                "give `addresses`, or use TLS",
            ));
        } else if peer.transport != Carriage::Tls && peer.addresses.iter().any(is_far) {
            let what = "its address alone proves who this peer is, and what is said can be read";
            let hint = "use transport = \"tls\", or keep the network to it private";
            found.push(Issue::new(format!("peer[{at}].transport"), what, hint));
        }
    }
    let tls = section.node.tls.as_ref();
    let keys = [
        ("tls.verify_clients", tls.is_none_or(|it| it.verify_clients)),
        ("tls.verify_servers", tls.is_none_or(|it| it.verify_servers)),
    ];
    for (key, _) in keys.into_iter().filter(|it| !it.1) {
        let what = "a peer need not prove who it is";
        found.push(Issue::new(key, what, "leave it out: certificates are verified then"));
    }
    found
}
