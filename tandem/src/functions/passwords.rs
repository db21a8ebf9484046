//! Passwords of BGP peers and of their groups, in the section or in files.

use bgp_stack::config::{Group, Peer, Secret};
use config::Issue;
use config::keys::{self, Unusable};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Octets of a file with a password at most.
const FILE_OCTETS_MAX: u64 = 4_096;

/// Whether one stands in the section itself.
pub fn stand_in(groups: &[Group], peers: &[Peer]) -> bool {
    groups.iter().any(|group| group.password.is_some())
        || peers.iter().any(|peer| peer.password.is_some())
}

/// Every file with one, with the path of its key.
pub fn files<'a>(
    groups: &'a [Group],
    peers: &'a [Peer],
) -> impl Iterator<Item = (String, &'a String)> {
    let of_groups = groups.iter().enumerate();
    let of_groups = of_groups.map(|(n, it)| (key("group", n), &it.password_file));
    let of_peers = peers.iter().enumerate();
    let of_peers = of_peers.map(|(n, it)| (key("peer", n), &it.password_file));
    of_groups.chain(of_peers).filter_map(|(at, name)| Some((at, name.as_ref()?)))
}

/// Files that cannot be used, by paths below the section.
pub fn unusable(groups: &[Group], peers: &[Peer], directory: &Path) -> Vec<Issue> {
    let unusable = files(groups, peers);
    unusable.filter_map(|(at, name)| Some(of(directory, name).err()?.issue(at))).collect()
}

/// Puts those of files where they hold.
///
/// # Errors
/// A file that cannot be used, by its path below the section.
pub fn read(groups: &mut [Group], peers: &mut [Peer], directory: &Path) -> Result<(), Issue> {
    for (n, group) in groups.iter_mut().enumerate() {
        if let Some(name) = &group.password_file {
            let password = of(directory, name).map_err(|it| it.issue(key("group", n)))?;
            group.password = Some(password);
        }
    }
    for (n, peer) in peers.iter_mut().enumerate() {
        if let Some(name) = &peer.password_file {
            let password = of(directory, name).map_err(|it| it.issue(key("peer", n)))?;
            peer.password = Some(password);
        }
    }
    Ok(())
}

/// The path of the key that names the file of a row.
pub fn key(row: &str, number: usize) -> String {
    format!("{row}[{number}].password_file")
}

/// The first line of a file.
///
/// # Errors
/// It cannot be read, or is empty.
pub fn of(directory: &Path, name: &str) -> Result<Secret, Unusable> {
    let unread = |error: io::Error| Unusable::unread(directory, name, &error, "cat");
    let mut text = String::new();
    let file = File::open(keys::located(directory, name)).map_err(unread)?;
    file.take(FILE_OCTETS_MAX).read_to_string(&mut text).map_err(unread)?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err(unread(io::Error::other("its first line is empty"))),
    }
}
