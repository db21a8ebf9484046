//! The image: one layer on nothing, as an OCI image layout (OCI Image Specification 1.1) and as a
//! tar archive of it, which `podman load` and `docker load` take.

use super::elf::Binary;
use super::tree::{Owner, ROOT, Tree};
use super::{Release, date, documents, licences};
use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Octets of everything in the image, unpacked.
const OCTETS_MAX: usize = 56_000_000;
/// Octets that are pulled: the layer as it is packed.
const PACKED_OCTETS_MAX: usize = 27_000_000;
/// The user that the image runs as; the number is that of "nonroot" in other images.
const USER: Owner = Owner { id: 65_532, name: "tandem" };
/// What functions usually listen at: BGP, M3UA, SIP, its TLS, API and console, HEP.
const PORTS: &[&str] =
    &["179/tcp", "2905/sctp", "5060/tcp", "5060/udp", "5061/tcp", "8080/tcp", "9060/tcp"];
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";
const BLOBS: &str = "blobs/sha256";
/// Columns of a line of PEM (RFC 7468 §2).
const PEM_COLUMNS: usize = 64;

/// Writes the layout and its archive into a folder, from a binary that this machine can run.
pub fn write(release: &Release, path: &Path, output: &Path) -> Result<Vec<PathBuf>> {
    let binary = Binary::read(path)?;
    ensure!(
        binary.is_static(),
        "{} needs {}, which the image does not have: link it with crt-static",
        path.display(),
        binary.libraries.join(", ")
    );
    let tree = content(release, &binary)?;
    let octets: usize = tree.files().map(|(_, octets)| octets.len()).sum();
    ensure!(octets <= OCTETS_MAX, "the image has {octets} octets, more than {OCTETS_MAX}");
    println!("   -- the image unpacked: {octets} octets");
    let layout = layout(release, &binary, &tree)?;
    let name = format!("tandem-{}-{}.oci", release.version, binary.architecture);
    let (folder, archive) = (output.join(&name), output.join(format!("{name}.tar")));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join(BLOBS))?;
    for (path, octets) in layout.files() {
        fs::write(folder.join(path), octets)?;
    }
    fs::write(&archive, layout.tar("", release.epoch)?)?;
    Ok(vec![archive])
}

fn content(release: &Release, binary: &Binary) -> Result<Tree> {
    let mut tree = Tree::default();
    let Owner { id, name } = USER;
    tree.file("usr/bin/tandem", 0o755, binary.stripped.clone());
    let users = format!(
        "root:x:0:0:root:/:/sbin/nologin\n{name}:x:{id}:{id}::/var/lib/tandem:/sbin/nologin\n"
    );
    tree.file("etc/passwd", 0o644, users);
    tree.file("etc/group", 0o644, format!("root:x:0:\n{name}:x:{id}:\n"));
    // Without it, glibc asks DNS before it reads what `--add-host` wrote.
    tree.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n");
    tree.file(ROOTS, 0o644, roots());
    tree.folder("etc/tandem", 0o755, USER);
    tree.folder("tmp", 0o1777, ROOT);
    tree.folder("var/lib/tandem", 0o700, USER);
    let texts = licences::of_dependencies(release)?;
    let texts = documents::gzip(texts.as_bytes())?;
    tree.file("usr/share/doc/tandem/dependencies.gz", 0o644, texts);
    tree.file("usr/share/doc/tandem/LICENSE", 0o644, fs::read(release.root.join("LICENSE"))?);
    Ok(tree)
}

/// The roots that Mozilla trusts, as PEM.
fn roots() -> String {
    let mut text = String::new();
    for root in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        text += "-----BEGIN CERTIFICATE-----\n";
        for line in STANDARD.encode(root).as_bytes().chunks(PEM_COLUMNS) {
            text += &String::from_utf8_lossy(line);
            text.push('\n');
        }
        text += "-----END CERTIFICATE-----\n";
    }
    text
}

/// What the image says of itself.
fn configuration(release: &Release, binary: &Binary, layer: &[u8]) -> Value {
    let created = date::of_image(release.epoch);
    let ports: serde_json::Map<String, Value> =
        PORTS.iter().map(|port| ((*port).to_owned(), json!({}))).collect();
    json!({
        "created": created,
        "architecture": binary.architecture,
        "os": "linux",
        "config": {
            "User": format!("{0}:{0}", USER.id),
            "ExposedPorts": ports,
            "Env": ["PATH=/usr/bin", format!("SSL_CERT_FILE=/{ROOTS}")],
            "Entrypoint": ["/usr/bin/tandem"],
            "Cmd": ["--help"],
            "WorkingDir": "/var/lib/tandem",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "Tandem",
                "org.opencontainers.image.description": "Virtual network functions for carriers",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [digest(layer)] },
        "history": [{ "created": created, "created_by": "cargo xtask package" }],
    })
}

fn hexadecimal(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

fn digest(octets: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(octets))
}

/// Adds a blob; what leads to it.
fn blob(layout: &mut Tree, kind: &str, octets: Vec<u8>) -> Value {
    let row = json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": digest(&octets),
        "size": octets.len(),
    });
    layout.file(&format!("{BLOBS}/{}", hexadecimal(&octets)), 0o644, octets);
    row
}

/// The files of the layout. `manifest.json` is for those who load archives of Docker alone.
fn layout(release: &Release, binary: &Binary, tree: &Tree) -> Result<Tree> {
    let archive = tree.tar("", release.epoch)?;
    let said = configuration(release, binary, &archive);
    let (said, packed) = (serde_json::to_vec(&said)?, documents::gzip(&archive)?);
    let octets = packed.len();
    ensure!(octets <= PACKED_OCTETS_MAX, "{octets} octets to pull, more than {PACKED_OCTETS_MAX}");
    println!("   -- the image to pull: {octets} octets");
    let place = |octets: &[u8]| format!("{BLOBS}/{}", hexadecimal(octets));
    let name = format!("localhost/tandem:{}", release.version);
    let docker = json!([{
        "Config": place(&said), "RepoTags": [name], "Layers": [place(&packed)],
    }]);
    let mut layout = Tree::default();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(&mut layout, "config.v1+json", said),
        "layers": [blob(&mut layout, "layer.v1.tar+gzip", packed)],
    });
    let mut row = blob(&mut layout, "manifest.v1+json", serde_json::to_vec(&manifest)?);
    row["platform"] = json!({ "architecture": binary.architecture, "os": "linux" });
    row["annotations"] = json!({
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [row],
    });
    layout.file("index.json", 0o644, serde_json::to_vec(&index)?);
    layout.file("manifest.json", 0o644, serde_json::to_vec(&docker)?);
    layout.file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#);
    Ok(layout)
}
