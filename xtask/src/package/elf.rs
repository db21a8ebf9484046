//! What a binary says of itself, and its line tables apart from it (System V ABI, chapters 4 and
//! 5).

use super::said;
use anyhow::{Context, Result, bail, ensure};
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object as _, ObjectSection as _};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Tag of a library in the dynamic section.
const DT_NEEDED: u64 = 1;
/// Octets of an entry of the dynamic section: tag and value.
const DYN_OCTETS: usize = 16;

/// A binary, without and with line tables.
pub struct Binary {
    /// The machine, as Debian and OCI both name it.
    pub architecture: &'static str,
    /// Its identity, hexadecimal; the linker makes it of what is in the binary.
    pub build_id: String,
    /// Libraries that it needs: `libc.so.6`.
    pub libraries: Vec<String>,
    /// The newest glibc whose symbols it asks for: (2, 34).
    pub glibc: Option<(u32, u32)>,
    /// What is installed.
    pub stripped: Vec<u8>,
    /// Symbols and line tables; none of a binary that was built without line tables.
    pub debug: Option<Vec<u8>>,
}

impl Binary {
    /// Reads a binary and takes it apart.
    ///
    /// # Errors
    /// It is no binary of a machine that is packaged, or has no build-id; binutils is missing.
    pub fn read(path: &Path) -> Result<Self> {
        let octets = fs::read(path).with_context(|| format!("{}", path.display()))?;
        let file = ElfFile64::<Endianness>::parse(&octets[..])
            .with_context(|| format!("{} is no binary", path.display()))?;
        let architecture = match file.architecture() {
            Architecture::X86_64 => "amd64",
            Architecture::Aarch64 => "arm64",
            other => bail!("{}: packages of {other:?} are not made", path.display()),
        };
        let build_id = file.build_id()?.context("the linker gave it no build-id")?;
        let build_id: String = build_id.iter().map(|octet| format!("{octet:02x}")).collect();
        ensure!(build_id.len() > 2, "its build-id is too short");
        let section = |name| file.section_by_name(name).map(|it| it.data()).transpose();
        let names = section(".dynstr")?.unwrap_or_default();
        let libraries = libraries(section(".dynamic")?.unwrap_or_default(), names)?;
        let has_lines = file.section_by_name(".debug_line").is_some();
        let (stripped, debug) = apart(path)?;
        let debug = has_lines.then_some(debug);
        Ok(Self { architecture, build_id, libraries, glibc: glibc(names), stripped, debug })
    }

    /// Whether it runs where no library is.
    pub fn is_static(&self) -> bool {
        self.libraries.is_empty()
    }
}

fn name_at(names: &[u8], at: usize) -> Option<String> {
    let octets = names.get(at..)?.split(|&octet| octet == 0).next()?;
    String::from_utf8(octets.to_vec()).ok()
}

fn libraries(dynamic: &[u8], names: &[u8]) -> Result<Vec<String>> {
    let mut libraries = Vec::new();
    for entry in dynamic.as_chunks::<DYN_OCTETS>().0 {
        let [tag, value] = [&entry[..8], &entry[8..]]
            .map(|half| half.iter().rev().fold(0, |number, &octet| number << 8 | u64::from(octet)));
        if tag == DT_NEEDED {
            let name = name_at(names, usize::try_from(value)?);
            libraries.push(name.context("a library without a name")?);
        }
    }
    libraries.sort();
    Ok(libraries)
}

/// The newest of the versions `GLIBC_2.34` among the names.
fn glibc(names: &[u8]) -> Option<(u32, u32)> {
    let names = names.split(|&octet| octet == 0).filter_map(|it| std::str::from_utf8(it).ok());
    let versions = names.filter_map(|name| {
        let mut parts = name.strip_prefix("GLIBC_")?.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    versions.max()
}

/// The binary without symbols and line tables, and these alone, by binutils: what a debugger finds
/// by the build-id.
fn apart(path: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    let (stripped, debug) = (folder.path().join("stripped"), folder.path().join("debug"));
    let objcopy = |words: &[&str], into: &Path| {
        let done = said(Command::new("objcopy").args(words).arg(path).arg(into));
        done.context("objcopy is in the Debian package binutils")
    };
    objcopy(&["--only-keep-debug", "--compress-debug-sections=zlib"], &debug)?;
    objcopy(&["--strip-unneeded", "--remove-section=.comment"], &stripped)?;
    Ok((fs::read(stripped)?, fs::read(debug)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_newest_glibc_are_read() {
        let names = b"\0libm.so.6\0GLIBC_2.4\0libc.so.6\0GLIBC_2.34\0GLIBC_PRIVATE\0GCC_3.0\0";
        let entry = |tag: u64, value: u64| [tag.to_le_bytes(), value.to_le_bytes()].concat();
        let dynamic = [entry(1, 1), entry(5, 99), entry(1, 21), entry(0, 0)].concat();
        let wanted = ["libc.so.6".to_owned(), "libm.so.6".to_owned()];
        assert_eq!(libraries(&dynamic, names).expect("both have names"), wanted);
        assert!(libraries(&entry(1, 1_000), names).is_err());
        assert_eq!(glibc(names), Some((2, 34)));
        assert_eq!(glibc(b""), None);
    }
}
