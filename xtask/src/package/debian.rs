//! Debian packages: `tandem`, and `tandem-dbgsym` with its line tables (deb(5), deb-control(5)).

use super::elf::Binary;
use super::tree::Tree;
use super::{Release, date, documents, licences};
use anyhow::{Context, Result, bail};
use liblzma::write::XzEncoder;
use md5::{Digest as _, Md5};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Who answers for the packages, unless `DEBFULLNAME` and `DEBEMAIL` say it (as for debchange(1)).
const MAINTAINER: (&str, &str) = ("Tandem packagers", "packagers@tandem.invalid");
/// Strength of xz: the default of dpkg-deb.
const XZ: u32 = 6;
/// Files of `packaging/` that are installed as they are.
const FILES: &[(&str, &str)] = &[
    ("systemd/tandem@.service", "usr/lib/systemd/system/tandem@.service"),
    ("systemd/tandem-forwarder@.service", "usr/lib/systemd/system/tandem-forwarder@.service"),
    ("systemd/sysusers.conf", "usr/lib/sysusers.d/tandem.conf"),
    ("systemd/tmpfiles.conf", "usr/lib/tmpfiles.d/tandem.conf"),
    ("grafana/tandem.json", "usr/share/tandem/grafana/tandem.json"),
    ("prometheus/tandem.rules.yml", "usr/share/tandem/prometheus/tandem.rules.yml"),
    ("screening/fs11.toml", "usr/share/tandem/screening/fs11.toml"),
    ("../clients/python/tandem_tcu.py", "usr/share/tandem/clients/python/tandem_tcu.py"),
    ("../clients/python/examples/hlr.py", "usr/share/tandem/clients/python/examples/hlr.py"),
    (
        "../clients/python/examples/ussd_menu.py",
        "usr/share/tandem/clients/python/examples/ussd_menu.py",
    ),
    (
        "../clients/python/examples/prepaid.py",
        "usr/share/tandem/clients/python/examples/prepaid.py",
    ),
    ("../clients/python/examples/ask.py", "usr/share/tandem/clients/python/examples/ask.py"),
    ("../clients/typescript/tandem_tcu.ts", "usr/share/tandem/clients/typescript/tandem_tcu.ts"),
    (
        "../clients/typescript/examples/hlr.ts",
        "usr/share/tandem/clients/typescript/examples/hlr.ts",
    ),
    ("debian/copyright", "usr/share/doc/tandem/copyright"),
];
/// Libraries of codecs, loaded where they are there (docs/media-transcoding.md).
const CODECS: &str = "libopus0, libopencore-amrnb0, libopencore-amrwb0, libvo-amrwbenc0";
const SCRIPTS: &[&str] = &["postinst", "postrm", "prerm"];
const DESCRIPTION: &str = "virtual network functions for carriers
 One program that runs the network functions of a site: a signalling session
 controller (SIP) with service assurance, a signalling gateway (M3UA), a
 route reflector (BGP), and a provider edge with its packet forwarder.
 It also checks a site, steers it while it runs, and measures it.";

/// Writes both packages into a folder, from a binary that this machine can run.
pub fn write(release: &Release, path: &Path, output: &Path) -> Result<Vec<PathBuf>> {
    let binary = Binary::read(path)?;
    let tree = content(release, path, &binary)?;
    let name = |package: &str| {
        output.join(format!("{package}_{}_{}.deb", release.version, binary.architecture))
    };
    let (own, symbols) = (name("tandem"), name("tandem-dbgsym"));
    fs::write(&own, archive(release, &control(release, &binary, &tree)?, &tree)?)?;
    let Some(tree) = symbols_content(&binary) else { return Ok(vec![own]) };
    fs::write(&symbols, archive(release, &symbols_control(release, &binary, &tree), &tree)?)?;
    Ok(vec![own, symbols])
}

fn content(release: &Release, path: &Path, binary: &Binary) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.file("usr/bin/tandem", 0o755, binary.stripped.clone());
    for (from, to) in FILES {
        tree.file(to, 0o644, packaged(release, from)?);
    }
    documents::printed(path, &mut tree)?;
    tree.file(documents::INSTALLED_EXAMPLE, 0o644, documents::example(release)?);
    let document = |name: &str| format!("usr/share/doc/tandem/{name}");
    let changes = fs::read(release.root.join("CHANGELOG.md"))?;
    tree.file(&document("NEWS.gz"), 0o644, documents::gzip(&changes)?);
    let entry = changelog(release);
    tree.file(&document("changelog.gz"), 0o644, documents::gzip(entry.as_bytes())?);
    let texts = licences::of_dependencies(release)?;
    tree.file(&document("dependencies.gz"), 0o644, documents::gzip(texts.as_bytes())?);
    Ok(tree)
}

fn packaged(release: &Release, name: &str) -> Result<Vec<u8>> {
    let path = release.root.join("packaging").join(name);
    fs::read(&path).with_context(|| format!("{}", path.display()))
}

/// What a debugger finds; nothing of a binary without line tables.
fn symbols_content(binary: &Binary) -> Option<Tree> {
    let debug = binary.debug.clone()?;
    let mut tree = Tree::default();
    let (folder, name) = binary.build_id.split_at(2);
    let path = format!("usr/lib/debug/.build-id/{folder}/{name}.debug");
    tree.file(&path, 0o644, debug);
    // What is said of the program holds for them: no other file may be in such a package.
    tree.link("usr/share/doc/tandem-dbgsym", "tandem");
    Some(tree)
}

fn maintainer() -> String {
    let said = |name: &str, otherwise: &str| {
        std::env::var(name).ok().filter(|it| !it.is_empty()).unwrap_or(otherwise.to_owned())
    };
    format!("{} <{}>", said("DEBFULLNAME", MAINTAINER.0), said("DEBEMAIL", MAINTAINER.1))
}

/// One entry: what changed stands in the changelog of the sources, which is installed beside it.
fn changelog(release: &Release) -> String {
    format!(
        "tandem ({}) unstable; urgency=medium\n\n  * What changed: \
        /usr/share/doc/tandem/NEWS.gz.\n\n -- {}  {}\n",
        release.version,
        maintainer(),
        date::of_changelog(release.epoch)
    )
}

/// The members of `control.tar`.
fn control(release: &Release, binary: &Binary, tree: &Tree) -> Result<Tree> {
    let fields = [
        ("Package", "tandem".to_owned()),
        ("Version", release.version.clone()),
        ("Architecture", binary.architecture.to_owned()),
        ("Maintainer", maintainer()),
        ("Installed-Size", tree.installed_kib().to_string()),
        ("Depends", depends(binary)?),
        ("Recommends", "ca-certificates".to_owned()),
        ("Suggests", format!("sip-tester, tandem-dbgsym, {CODECS}")),
        ("Section", "net".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", DESCRIPTION.to_owned()),
    ];
    let mut members = described(&fields, tree);
    for name in SCRIPTS {
        members.file(name, 0o755, packaged(release, &format!("debian/{name}"))?);
    }
    Ok(members)
}

fn symbols_control(release: &Release, binary: &Binary, tree: &Tree) -> Tree {
    let fields = [
        ("Package", "tandem-dbgsym".to_owned()),
        ("Source", "tandem".to_owned()),
        ("Version", release.version.clone()),
        ("Auto-Built-Package", "debug-symbols".to_owned()),
        ("Architecture", binary.architecture.to_owned()),
        ("Maintainer", maintainer()),
        ("Installed-Size", tree.installed_kib().to_string()),
        ("Depends", format!("tandem (= {})", release.version)),
        ("Section", "debug".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", "debug symbols for tandem".to_owned()),
        ("Build-Ids", binary.build_id.clone()),
    ];
    described(&fields, tree)
}

fn described(fields: &[(&str, String)], tree: &Tree) -> Tree {
    let mut members = Tree::default();
    let fields = fields.iter().map(|(name, value)| format!("{name}: {value}\n"));
    members.file("control", 0o644, fields.collect::<String>());
    let sum = |octets: &[u8]| -> String {
        Md5::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
    };
    let sums = tree.files().map(|(path, octets)| format!("{}  {path}\n", sum(octets)));
    members.file("md5sums", 0o644, sums.collect::<String>());
    members
}

/// What the binary needs of the system, and the scripts.
fn depends(binary: &Binary) -> Result<String> {
    let mut packages = Vec::new();
    for library in &binary.libraries {
        packages.push(match library.as_str() {
            "libgcc_s.so.1" => "libgcc-s1".to_owned(),
            "libc.so.6" | "libm.so.6" => glibc(binary),
            name if name.starts_with("ld-linux-") => glibc(binary),
            other => bail!("which package has {other}, is not known"),
        });
    }
    let scripts = ["sysusers", "tmpfiles"]
        .map(|part| format!("systemd | systemd-standalone-{part} | systemd-{part}"));
    packages.extend(scripts);
    packages.sort();
    packages.dedup();
    Ok(packages.join(", "))
}

fn glibc(binary: &Binary) -> String {
    let version = binary.glibc.map(|(major, minor)| format!(" (>= {major}.{minor})"));
    format!("libc6{}", version.unwrap_or_default())
}

/// A package (deb(5)): an ar archive of its version, its control and its data.
fn archive(release: &Release, control: &Tree, data: &Tree) -> Result<Vec<u8>> {
    let mut archive = ar::Builder::new(Vec::new());
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.xz", xz(&control.tar("./", release.epoch)?)?),
        ("data.tar.xz", xz(&data.tar("./", release.epoch)?)?),
    ];
    for (name, octets) in members {
        let mut header = ar::Header::new(name.into(), u64::try_from(octets.len())?);
        header.set_mtime(release.epoch);
        header.set_mode(0o100_644);
        archive.append(&header, &octets[..])?;
    }
    Ok(archive.into_inner()?)
}

fn xz(octets: &[u8]) -> Result<Vec<u8>> {
    let mut writer = XzEncoder::new(Vec::new(), XZ);
    writer.write_all(octets)?;
    Ok(writer.finish()?)
}
