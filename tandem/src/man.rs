//! Completion scripts and man pages, both from the command line's own definition.

use crate::cli::Cli;
use clap::CommandFactory as _;
use clap_complete::Shell;
use client::Exit;
use std::io::{self, Write as _};
use std::path::Path;

/// The variable by which a completion script asks the program.
pub const COMPLETE: &str = "COMPLETE";

/// Prints the completion script of a shell.
pub fn completion(shell: Shell) -> Result<(), Exit> {
    let mut script = Vec::new();
    let shells = clap_complete::env::Shells::builtins();
    let name = shell.to_string();
    match shells.completer(&name) {
        // The script asks the program: it knows functions and peers of the site.
        Some(asks) => {
            asks.write_registration(COMPLETE, "tandem", "tandem", "tandem", &mut script)?
        }
        None => clap_complete::generate(shell, &mut Cli::command(), "tandem", &mut script),
    }
    io::stdout().write_all(&script)?;
    Ok(())
}

/// Writes `tandem.1`, `tandem-ctl.1`, … into a directory.
pub fn pages(directory: &Path) -> Result<(), Exit> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)?;
    Ok(())
}
