//! The files of a package, in the order of their names, and the tar archive of them.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use tar::{EntryType, Header};

/// Octets of a name that a header of ustar has room for without its prefix.
const NAME_OCTETS_MAX: usize = 100;

/// A user and a group by number and name.
#[derive(Clone, Copy)]
pub struct Owner {
    /// The number of both.
    pub id: u64,
    /// The name of both.
    pub name: &'static str,
}

/// Root.
pub const ROOT: Owner = Owner { id: 0, name: "root" };

struct Entry {
    mode: u32,
    owner: Owner,
    kind: Kind,
}

enum Kind {
    File(Vec<u8>),
    Folder,
    /// What a symbolic link leads to.
    Link(&'static str),
}

impl Entry {
    fn folder() -> Self {
        Self { mode: 0o755, owner: ROOT, kind: Kind::Folder }
    }

    fn octets(&self) -> Option<&[u8]> {
        if let Kind::File(octets) = &self.kind { Some(octets) } else { None }
    }
}

/// Files and folders by their path, which begins with no slash; folders above a file are there.
#[derive(Default)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Adds a file of root.
    pub fn file(&mut self, path: &str, mode: u32, octets: impl Into<Vec<u8>>) {
        self.above(path);
        let entry = Entry { mode, owner: ROOT, kind: Kind::File(octets.into()) };
        self.entries.insert(path.to_owned(), entry);
    }

    /// Adds a folder.
    pub fn folder(&mut self, path: &str, mode: u32, owner: Owner) {
        self.above(path);
        self.entries.insert(path.to_owned(), Entry { mode, owner, kind: Kind::Folder });
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, to: &'static str) {
        self.above(path);
        let entry = Entry { mode: 0o777, owner: ROOT, kind: Kind::Link(to) };
        self.entries.insert(path.to_owned(), entry);
    }

    fn above(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert_with(Entry::folder);
        }
    }

    /// Files and what is in them.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.entries.iter();
        files.filter_map(|(path, entry)| Some((path.as_str(), entry.octets()?)))
    }

    /// What it takes when it is unpacked, KiB, each entry rounded up as dpkg-gencontrol does.
    pub fn installed_kib(&self) -> usize {
        let entries = self.entries.values();
        entries.map(|entry| entry.octets().map_or(1, |it| it.len().div_ceil(1_024))).sum()
    }

    /// Its archive (POSIX.1-1988 ustar), every name behind `prefix`, every time `epoch`.
    ///
    /// # Errors
    /// A name is too long.
    pub fn tar(&self, prefix: &str, epoch: u64) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        if !prefix.is_empty() {
            append(&mut archive, prefix.trim_end_matches('/'), &Entry::folder(), epoch)?;
        }
        for (path, entry) in &self.entries {
            append(&mut archive, &format!("{prefix}{path}"), entry, epoch)?;
        }
        Ok(archive.into_inner()?)
    }
}

fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    name: &str,
    entry: &Entry,
    epoch: u64,
) -> Result<()> {
    let octets = entry.octets().unwrap_or_default();
    let slash = if matches!(entry.kind, Kind::Folder) { "/" } else { "" };
    let name = format!("{name}{slash}");
    ensure!(name.len() < NAME_OCTETS_MAX, "{name}: longer than ustar has room for");
    let mut header = Header::new_ustar();
    // Octet by octet: the crate would take the `./` away that dpkg-deb writes.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(match entry.kind {
        Kind::File(_) => EntryType::Regular,
        Kind::Folder => EntryType::Directory,
        Kind::Link(_) => EntryType::Symlink,
    });
    if let Kind::Link(to) = entry.kind {
        header.set_link_name(to)?;
    }
    header.set_mode(entry.mode);
    header.set_uid(entry.owner.id);
    header.set_gid(entry.owner.id);
    header.set_username(entry.owner.name)?;
    header.set_groupname(entry.owner.name)?;
    header.set_mtime(epoch);
    header.set_size(u64::try_from(octets.len())?);
    header.set_cksum();
    archive.append(&header, octets).with_context(|| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_folders_above_its_files_in_order_and_one_time() {
        let mut tree = Tree::default();
        tree.file("usr/bin/tandem", 0o755, "program");
        tree.folder("etc", 0o700, Owner { id: 7, name: "seven" });
        tree.file("etc/a", 0o644, "");
        let archive = tree.tar("./", 1_000).expect("it fits");
        let mut archive = tar::Archive::new(&archive[..]);
        let entries = archive.entries().expect("an archive").map(|entry| {
            let entry = entry.expect("an entry");
            let header = entry.header();
            assert_eq!(header.mtime().expect("a time"), 1_000);
            let name = String::from_utf8(entry.path_bytes().to_vec()).expect("text");
            (name, header.mode().expect("a mode"), header.uid().expect("a user"))
        });
        let wanted = [
            ("./", 0o755, 0),
            ("./etc/", 0o700, 7),
            ("./etc/a", 0o644, 0),
            ("./usr/", 0o755, 0),
            ("./usr/bin/", 0o755, 0),
            ("./usr/bin/tandem", 0o755, 0),
        ];
        assert!(entries.eq(wanted.map(|(name, mode, uid)| (name.to_owned(), mode, uid))));
        assert_eq!(tree.installed_kib(), 4);
    }

    #[test]
    fn a_name_that_a_header_has_no_room_for_is_refused() {
        let mut tree = Tree::default();
        tree.file(&"long".repeat(25), 0o644, "");
        assert!(tree.tar("", 0).is_err());
    }
}
