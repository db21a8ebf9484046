//! Packages of a small program that speaks as `tandem` does: read by our own hand, and by the tools
//! that will read them elsewhere. What `tandem` itself makes of it, the end-to-end run sees.
//!
//! A program of its own: it builds and installs packages.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const EPOCH: u64 = 1_700_000_000;
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the root").to_path_buf()
}

/// What a program says on both outputs; it must end well.
fn said(command: &mut Command) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    let missing = "runs: the Makefile's setup installs its Debian package";
    let output = command.output().unwrap_or_else(|_| panic!("{name} {missing}"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{name}: {}\n{text}", output.status);
    text
}

/// The program, for a package (dynamic) or an image (static).
fn stub(folder: &Path, name: &str, words: &[&str]) -> PathBuf {
    let binary = folder.join(name);
    let source = root().join("xtask/tests/package/stub.rs");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "-Cdebuginfo=line-tables-only", "--crate-name=tandem"]);
    said(rustc.args(words).arg(source).arg("-o").arg(&binary));
    binary
}

/// A folder with both programs.
fn binaries() -> &'static (PathBuf, PathBuf) {
    static BINARIES: OnceLock<(tempfile::TempDir, (PathBuf, PathBuf))> = OnceLock::new();
    let (_folder, both) = BINARIES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let dynamic = stub(folder.path(), "dynamic", &[]);
        let fixed = stub(folder.path(), "static", &["-Ctarget-feature=+crt-static"]);
        (folder, (dynamic, fixed))
    });
    both
}

/// Packages both into a folder.
fn packaged() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (dynamic, fixed) = binaries();
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.arg("package").arg("--binary").arg(dynamic).arg("--static-binary").arg(fixed);
    xtask.arg("--output").arg(folder.path()).env("SOURCE_DATE_EPOCH", EPOCH.to_string());
    said(xtask.env_remove("DEBFULLNAME").env_remove("DEBEMAIL"));
    folder
}

fn deb(folder: &Path, package: &str) -> PathBuf {
    let names = fs::read_dir(folder).expect("the folder is there").map(|it| it.expect("a file"));
    let start = format!("{package}_{VERSION}_");
    let mut found = names.filter(|it| it.file_name().to_string_lossy().starts_with(&start));
    found.next().expect("the package is there").path()
}

/// The members of a Debian package: name → octets; `tar.xz` is unpacked to tar.
fn members(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = ar::Archive::new(fs::File::open(path).expect("the package opens"));
    let mut members = Vec::new();
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry.expect("a member");
        let header = entry.header();
        assert_eq!((header.mtime(), header.uid(), header.gid()), (EPOCH, 0, 0));
        let name = String::from_utf8(header.identifier().to_vec()).expect("text");
        let mut octets = Vec::new();
        if name.ends_with(".xz") {
            liblzma::read::XzDecoder::new(entry).read_to_end(&mut octets).expect("xz");
        } else {
            entry.read_to_end(&mut octets).expect("octets");
        }
        members.push((name, octets));
    }
    members
}

/// The entries of an archive: name → (mode, user, octets).
fn entries(archive: &[u8]) -> BTreeMap<String, (u32, u64, Vec<u8>)> {
    let mut archive = tar::Archive::new(archive);
    let mut names = Vec::new();
    let mut found = BTreeMap::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let name = String::from_utf8(entry.path_bytes().into_owned()).expect("text");
        let header = entry.header();
        assert_eq!(header.mtime().expect("a time"), EPOCH, "{name}");
        let (mode, user) = (header.mode().expect("a mode"), header.uid().expect("a user"));
        let mut octets = Vec::new();
        entry.read_to_end(&mut octets).expect("octets");
        names.push(name.trim_end_matches('/').to_owned());
        found.insert(name, (mode, user, octets));
    }
    assert!(names.is_sorted(), "{names:?}");
    found
}

/// The table of sections of a binary, by binutils.
fn sections(folder: &Path, octets: &[u8]) -> String {
    let path = folder.join("binary");
    fs::write(&path, octets).expect("written");
    said(Command::new("readelf").args(["-S", "-W"]).arg(path))
}

#[test]
fn a_debian_package_is_complete_and_its_line_tables_are_apart() {
    let folder = packaged();
    let parts = members(&deb(folder.path(), "tandem"));
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["debian-binary", "control.tar.xz", "data.tar.xz"]);
    assert_eq!(parts[0].1, b"2.0\n");
    let (control, data) = (entries(&parts[1].1), entries(&parts[2].1));
    let control =
        |name: &str| String::from_utf8_lossy(&control[&format!("./{name}")].2).into_owned();
    assert!(control("control").contains("\nDepends: libc6 (>= 2."));
    assert!(!entries(&parts[1].1).contains_key("./conffiles"));
    assert!(!data.keys().any(|name| name.starts_with("./etc/")), "no folder of a site is dpkg's");
    for name in [
        "usr/share/tandem/example/site.toml",
        "usr/bin/tandem",
        "usr/lib/systemd/system/tandem@.service",
        "usr/lib/systemd/system/tandem-forwarder@.service",
        "usr/lib/sysusers.d/tandem.conf",
        "usr/lib/tmpfiles.d/tandem.conf",
        "usr/share/man/man1/tandem.1.gz",
        "usr/share/bash-completion/completions/tandem",
        "usr/share/zsh/vendor-completions/_tandem",
        "usr/share/fish/vendor_completions.d/tandem.fish",
        "usr/share/doc/tandem/copyright",
        "usr/share/doc/tandem/changelog.gz",
        "usr/share/doc/tandem/dependencies.gz",
    ] {
        assert!(data.contains_key(&format!("./{name}")), "{name}");
        assert!(control("md5sums").contains(&format!("  {name}\n")), "{name}");
    }
    assert!(data.values().all(|(_, user, _)| *user == 0));
    let (mode, _, program) = &data["./usr/bin/tandem"];
    assert_eq!(*mode, 0o755);
    assert!(!sections(folder.path(), program).contains(".debug_line"), "it is stripped");
    let symbols = members(&deb(folder.path(), "tandem-dbgsym"));
    let symbols = entries(&symbols[2].1);
    let (_, (_, _, tables)) =
        symbols.iter().find(|(name, _)| name.ends_with(".debug")).expect("line tables");
    assert!(sections(folder.path(), tables).contains(".debug_line"));
}

#[test]
fn the_same_binary_makes_the_same_octets() {
    let (first, second) = (packaged(), packaged());
    let said = said(Command::new("diff").arg("-r").arg(first.path()).arg(second.path()));
    assert_eq!(said, "");
    assert_eq!(fs::read_dir(first.path()).expect("the folder is there").count(), 4);
}

#[test]
fn the_tools_that_install_packages_find_no_fault() {
    let folder = packaged();
    for package in ["tandem", "tandem-dbgsym"] {
        let path = deb(folder.path(), package);
        let fields = said(Command::new("dpkg-deb").arg("-I").arg(&path));
        assert!(fields.contains(&format!("Package: {package}\n")), "{fields}");
        let files = said(Command::new("dpkg-deb").arg("-c").arg(&path));
        assert!(files.contains("root/root"), "{files}");
    }
    // lintian, dpkg and podman.
    said(Command::new(env!("CARGO_BIN_EXE_xtask")).arg("installed").arg(folder.path()));
}

/// What stands behind the keys of these names in a unit, up to the first specifier.
fn places(text: &str, keys: &[&str]) -> Vec<String> {
    let values = text.lines().filter_map(|line| line.split_once('='));
    let values = values.filter(|(key, _)| keys.contains(key));
    let words = values.flat_map(|(_, value)| value.split_whitespace());
    let place =
        |word: &str| word.trim_start_matches(['-', '+', '@']).split('%').next().map(String::from);
    words.filter_map(place).collect()
}

#[test]
fn systemd_reads_no_file_that_a_site_may_write() {
    let folder = root().join("packaging/systemd");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it is there");
    let units = ["tandem@.service", "tandem-forwarder@.service"].map(read);
    // Those of the directories that systemd makes for a unit's user.
    let mut given = ["/var/lib/", "/run/", "/var/cache/", "/var/log/"].map(String::from).to_vec();
    given.extend(units.iter().flat_map(|unit| places(unit, &["ReadWritePaths"])));
    let tmpfiles = read("tmpfiles.conf");
    let rows = tmpfiles.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_site = rows.filter(|row| row.get(3) == Some(&"tandem"));
    given.extend(of_site.map(|row| row[1].to_owned()));
    assert!(given.iter().any(|it| it == "/etc/tandem/"), "{given:?}");
    let keys = ["EnvironmentFile", "LoadCredential", "LoadCredentialEncrypted"];
    let files: Vec<String> = units.iter().flat_map(|unit| places(unit, &keys)).collect();
    assert!(!files.is_empty());
    for file in files {
        assert!(!given.iter().any(|folder| file.starts_with(folder)), "{file}: root reads it");
    }
}

/// Runs dpkg in a root of its own, whose database it makes.
fn dpkg(there: &Path, words: &[&str]) -> String {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", there.display()));
    dpkg.args(["--force-not-root", "--force-script-chrootless", "--force-depends"]);
    said(dpkg.args(words))
}

#[test]
fn it_is_installed_upgraded_removed_and_purged_in_a_root_of_its_own() {
    let (folder, there) = (packaged(), tempfile::tempdir().expect("a folder"));
    let there = there.path();
    for name in ["var/lib/dpkg/updates", "var/lib/dpkg/info", "etc"] {
        fs::create_dir_all(there.join(name)).expect("made");
    }
    fs::write(there.join("var/lib/dpkg/status"), "").expect("written");
    let package = deb(folder.path(), "tandem");
    dpkg(there, &["-i", package.to_str().expect("text")]);
    let users = fs::read_to_string(there.join("etc/passwd")).expect("users are there");
    assert!(users.contains("tandem:x:"), "{users}");
    let site = there.join("etc/tandem/example/site.toml");
    said(Command::new(there.join("usr/bin/tandem")).arg("check").arg(&site));
    // It is the site's user's, and a commit changed it: the next package leaves it.
    let user = users.lines().find_map(|line| line.strip_prefix("tandem:x:")).expect("a user");
    let uid = fs::metadata(&site).expect("the site is there").uid();
    assert_eq!(user.split(':').next(), Some(uid.to_string().as_str()));
    let changed = fs::read_to_string(&site).expect("the site is there") + "# changed\n";
    fs::write(&site, &changed).expect("written");
    dpkg(there, &["--force-confold", "-i", package.to_str().expect("text")]);
    assert_eq!(fs::read_to_string(&site).expect("it stays"), changed);
    let state = there.join("var/lib/tandem");
    fs::create_dir_all(state.join("example")).expect("made");
    dpkg(there, &["--remove", "tandem"]);
    assert!(!there.join("usr/bin/tandem").exists());
    assert!(site.exists() && state.exists(), "what somebody wrote stays");
    dpkg(there, &["--purge", "tandem"]);
    assert!(!site.exists() && !state.exists());
}

fn blob(layout: &Path, row: &Value) -> Vec<u8> {
    let name = row["digest"].as_str().expect("a digest").strip_prefix("sha256:").expect("SHA-256");
    let path = layout.join("blobs/sha256").join(name);
    let octets = fs::read(&path).expect("the blob is there");
    assert_eq!(row["size"], octets.len());
    let sum = said(Command::new("sha256sum").arg(&path));
    assert!(sum.starts_with(name), "{sum}");
    octets
}

fn json(octets: &[u8]) -> Value {
    serde_json::from_slice(octets).expect("JSON")
}

fn layout(folder: &Path) -> PathBuf {
    let names = fs::read_dir(folder).expect("the folder is there").map(|it| it.expect("a file"));
    let mut paths = names.map(|it| it.path());
    paths
        .find(|path| path.extension().is_some_and(|end| end == "oci"))
        .expect("the layout is there")
}

#[test]
fn an_image_leads_from_its_index_to_one_layer_and_runs_as_no_root() {
    let folder = packaged();
    let layout = layout(folder.path());
    let index = json(&fs::read(layout.join("index.json")).expect("an index"));
    let manifest = json(&blob(&layout, &index["manifests"][0]));
    let about = json(&blob(&layout, &manifest["config"]));
    assert_eq!(about["config"]["User"], "65532:65532");
    assert_eq!(about["config"]["Entrypoint"][0], "/usr/bin/tandem");
    assert_eq!(about["config"]["Cmd"][0], "--help");
    let packed = blob(&layout, &manifest["layers"][0]);
    let mut layer = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut layer).expect("gzip");
    let files = entries(&layer);
    assert_eq!(files["usr/bin/tandem"].0, 0o755);
    assert_eq!((files["var/lib/tandem/"].0, files["var/lib/tandem/"].1), (0o700, 65_532));
    assert_eq!(files["tmp/"].0, 0o1777);
    let roots = String::from_utf8_lossy(&files["etc/ssl/certs/ca-certificates.crt"].2).into_owned();
    assert!(roots.matches("BEGIN CERTIFICATE").count() > 50);
}

#[test]
fn an_image_of_a_binary_that_needs_libraries_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.arg("package").arg("--static-binary").arg(&binaries().0);
    let output = xtask.arg("--output").arg(folder.path()).output().expect("it runs");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("libc.so.6"));
}

#[test]
fn the_archive_of_an_image_is_one_of_oci_and_one_of_docker() {
    let folder = packaged();
    let archive = format!("{}.tar", layout(folder.path()).display());
    let about = said(Command::new("skopeo").args([
        "inspect",
        "--config",
        &format!("oci-archive:{archive}"),
    ]));
    assert_eq!(json(about.as_bytes())["config"]["StopSignal"], "SIGTERM");
    said(Command::new("skopeo").args(["inspect", &format!("docker-archive:{archive}")]));
}
