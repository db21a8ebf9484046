//! Makes sure that the console's folder exists: without a built console the API serves a page
//! that says how to build it.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/dist");
    std::fs::create_dir_all(&dist)?;
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
