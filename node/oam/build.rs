//! Packs the files of the console, so that they are built into the binary as they are sent: text
//! with gzip. Without a built console there are none, and the API serves a page that says how to
//! build it.

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Ends of names of files that become smaller.
const TEXT: [&str; 8] = ["css", "html", "js", "json", "map", "svg", "txt", "webmanifest"];

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/dist");
    fs::create_dir_all(&dist)?;
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says it"));
    let mut names = Vec::new();
    list(&dist, "", &mut names)?;
    names.sort();
    let mut table = String::from("[\n");
    for (number, name) in names.iter().enumerate() {
        let octets = fs::read(dist.join(name))?;
        let digest = Sha256::digest(&octets);
        let tag = digest[..8].iter().fold(String::new(), |mut tag, octet| {
            let _ = write!(tag, "{octet:02x}");
            tag
        });
        let extension = Path::new(name).extension().and_then(|it| it.to_str());
        let is_packed = extension.is_some_and(|it| TEXT.contains(&it));
        let packed = output.join(format!("console-{number}"));
        fs::write(&packed, if is_packed { pack(&octets)? } else { octets })?;
        let _ = writeln!(
            table,
            "File {{ name: {name:?}, tag: {tag:?}, is_packed: {is_packed}, \
             octets: include_bytes!({packed:?}) }},"
        );
    }
    fs::write(output.join("console.rs"), table + "]\n")
}

/// One member of gzip without name and time (RFC 1952), the same for the same octets.
fn pack(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    writer.write_all(octets)?;
    writer.finish()
}

/// The files below a folder, by their paths there.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
