//! Files that may be of somebody else's choice: taken for regular files alone, and read no further
//! than they may be long. Whoever names `/dev/zero` or a FIFO keeps no reader busy.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What becomes of a symbolic link in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It leads to the file.
    Followed,
    /// It is none.
    Refused,
}

/// Opens a regular file; what it is, by its descriptor.
///
/// # Errors
/// The kernel's (`ELOOP`: a link that is refused); `InvalidInput`: it is no regular file.
pub fn open_regular(path: &Path, links: Links) -> io::Result<(File, Metadata)> {
    let link = if links == Links::Refused { libc::O_NOFOLLOW } else { 0 };
    // Opening a device may do something, and whoever named the file may put one in its place at any
    // time: the file is held first, which opens nothing, and then opened as what is held.
    let held = OpenOptions::new().read(true).custom_flags(libc::O_PATH | link).open(path)?;
    regular(&held.metadata()?)?;
    let by_number = format!("/proc/self/fd/{}", held.as_raw_fd());
    let by_number = Path::new(&by_number);
    let (path, link) = if by_number.exists() { (by_number, 0) } else { (path, link) };
    // Opening a FIFO would wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(link | libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    regular(&about)?;
    Ok((file, about))
}

fn regular(about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The text of a regular file of at most so many octets, and what the file is.
///
/// # Errors
/// As [`open_regular`]; `InvalidData`: it is longer, or no text.
pub fn read_regular(
    path: &Path,
    octets_max: usize,
    links: Links,
) -> io::Result<(String, Metadata)> {
    let (file, about) = open_regular(path, links)?;
    let mut octets = Vec::new();
    let limit = u64::try_from(octets_max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut octets)?;
    let invalid = |what: String| io::Error::new(ErrorKind::InvalidData, what);
    if octets.len() > octets_max {
        return Err(invalid(format!("the file is longer than {octets_max} octets")));
    }
    let text = String::from_utf8(octets).map_err(|error| invalid(error.to_string()))?;
    Ok((text, about))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// A FIFO has a reader while it is open, and a writer sees whether there is one.
    #[test]
    fn what_is_no_regular_file_is_not_opened_to_see_that_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                for _ in 0..5_000 {
                    assert!(open_regular(&fifo, Links::Refused).is_err());
                    assert!(open_regular(&fifo, Links::Followed).is_err());
                }
            });
            let mut writing = OpenOptions::new();
            writing.write(true).custom_flags(libc::O_NONBLOCK);
            while !asked.is_finished() {
                let refused = writing.open(&fifo).unwrap_err();
                assert_eq!(refused.raw_os_error(), Some(libc::ENXIO));
            }
        });
    }

    #[test]
    fn what_is_no_regular_file_or_too_long_is_read_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        let read = |name: &str, links| read_regular(&at(name), 4, links).map(|it| it.0);
        for links in [Links::Followed, Links::Refused] {
            assert_eq!(read("file", links).unwrap(), "text");
            assert_eq!(read("fifo", links).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert!(read("zero", links).is_err() && read(".", links).is_err());
        }
        assert_eq!(read("link", Links::Followed).unwrap(), "text");
        assert!(read("link", Links::Refused).is_err());
        fs::write(at("file"), "texts").unwrap();
        let long = read("file", Links::Followed).unwrap_err();
        assert_eq!(long.to_string(), "the file is longer than 4 octets");
    }
}
