//! Chores of the house. `cargo xtask end-to-end BINARY` proves the finished binary with programs
//! that nobody here wrote: SIPp places calls, Chromium reads them in the console. `live-change` is
//! one step of it by itself. `fuzz` runs the targets of `lab/fuzz` under libFuzzer. `bpf` compiles
//! the eBPF program that the repository has as an object. `figures` writes docs/figures.md.
//! `package` makes what is installed, and `installed` tries it. `test` runs the tests.
#![allow(clippy::print_stdout, reason = "a command line program speaks on standard output")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test says no by panicking"))]

mod bpf;
mod end_to_end;
mod figures;
mod fuzz;
mod installed;
mod live_change;
mod package;
mod site;
mod test;

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["end-to-end", binary] => end_to_end::run(Path::new(binary)),
        ["live-change", binary] => live_change::run(Path::new(binary)),
        ["fuzz", ref words @ ..] => fuzz::run(words),
        ["figures", ref files @ ..] => figures::run(files),
        ["bpf"] => bpf::run(),
        ["test", ref wanted @ ..] => test::run(wanted),
        ["package", ref words @ ..] => package::run(words),
        ["installed", folder] => installed::run(Path::new(folder)),
        _ => anyhow::bail!(
            "usage: cargo xtask test [PART OF A NAME]…, end-to-end|live-change PATH-OF-TANDEM, \
             bpf, figures FILE…, or fuzz|package|installed …"
        ),
    }
}
