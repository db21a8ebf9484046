//! An archive that a kernel unpacks as its first file system: cpio, format `newc`
//! (Linux: Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;

const MAGIC: &str = "070701";
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;
const LAST: &str = "TRAILER!!!";
const ALIGNMENT: usize = 4;

/// An archive that grows.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Puts in a file that may be executed, and the directories above it.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        self.parents(path);
        self.entry(path, PROGRAM, (0, 0), content);
    }

    /// Puts in a directory, and those above it.
    pub fn directory(&mut self, path: &str) {
        if self.directories.insert(path.to_owned()) {
            self.parents(path);
            self.entry(path, DIRECTORY, (0, 0), &[]);
        }
    }

    /// Puts in a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entry(path, LINK, (0, 0), target.as_bytes());
    }

    /// Puts in a character device by its numbers.
    pub fn device(&mut self, path: &str, numbers: (u32, u32)) {
        self.parents(path);
        self.entry(path, CHARACTER_DEVICE, numbers, &[]);
    }

    /// The whole archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(LAST, 0, (0, 0), &[]);
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, numbers: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let (length, name) = (content.len() as u32, path.len() as u32 + 1);
        let fields = [self.entries, mode, 0, 0, 1, 0, length, 0, 0, numbers.0, numbers.1, name, 0];
        self.bytes.extend_from_slice(MAGIC.as_bytes());
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_aligned_entries_with_their_lengths_and_every_directory_once() {
        let mut archive = Archive::default();
        archive.file("bin/tool", b"12345");
        archive.link("bin/other", "tool");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        assert_eq!(text.matches(MAGIC).count(), 4, "directory, file, link, end: {text}");
        let field = |entry: &str, number: usize| {
            let at = text.find(&format!("{entry}\0")).unwrap() - 13 * 8;
            u32::from_str_radix(&text[at + number * 8..][..8], 16).unwrap()
        };
        assert_eq!((field("bin/tool", 6), field("bin/tool", 11)), (5, 9));
        assert_eq!((field("bin/other", 1), field("bin", 1)), (LINK, DIRECTORY));
        assert!(text.contains("tool\0\x0012345\0\0\0"), "{text}");
    }
}
