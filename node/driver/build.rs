//! Compiles the eBPF program of the fence. Without clang the crate is built without it, and says
//! so where it would be loaded.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "bpf/fence.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(fence)");
    let Some(directory) = env::var_os("OUT_DIR") else { return };
    let object = PathBuf::from(directory).join("fence.o");
    // Debian keeps the kernel's headers of an architecture in a folder of its own.
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let headers = format!("-I/usr/include/{machine}-linux-gnu");
    let options = ["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", &headers];
    let built =
        Command::new("clang").args(options).args(["-c", SOURCE, "-o"]).arg(&object).output();
    match built {
        Ok(output) if output.status.success() => println!("cargo::rustc-cfg=fence"),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let first = words.lines().find(|line| line.contains("error")).unwrap_or_default();
            println!("cargo::warning=built without the XDP program: clang says {first}");
        }
        Err(error) => {
            let hint = "install it (Debian: clang) to drop floods in the kernel";
            println!("cargo::warning=built without the XDP program: clang: {error}; {hint}");
        }
    }
}
