//! Files and folders that are their owner's alone, whatever the umask says: what is recorded here
//! is what people said to each other.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// Makes a folder and those above it; one that was there becomes its owner's alone.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    if mode & !FOLDER != 0 {
        fs::set_permissions(path, Permissions::from_mode(mode & FOLDER))?;
    }
    Ok(())
}

/// Makes an empty file, or empties the one that was there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}
