//! Tandem: one binary that runs a site, checks it, steers it and measures it.
//!
//! Exit status: 0 done, 1 failed, 2 usage, 3 invalid configuration, 4 unreachable, 5 conflict,
//! 6 timed out.
#![forbid(unsafe_code)]

mod anchored;
mod changes;
mod check;
mod cli;
mod ctl;
mod exposure;
mod functions;
mod guardian;
mod man;
mod metrics;
mod paired;
mod probe;
mod reference;
mod rights;
mod run;
mod site;
mod site_controller;
mod site_text;
mod token;
mod transcoder;

use clap::{CommandFactory as _, FromArgMatches as _};
use cli::{CheckOutput, Cli, Command};
use client::{Exit, complete};
use std::process::ExitCode;

/// Calls leave and come in all sizes: it saves a tenth of a call's time. Without huge pages: one of
/// them takes milliseconds to be cleared, in which nobody is answered.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    complete::known_by(ctl::known);
    clap_complete::CompleteEnv::with_factory(Cli::command).var(man::COMPLETE).complete();
    let parsed = cli::grouped(Cli::command()).try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}

fn dispatch(cli: Cli) -> Result<(), Exit> {
    match cli.command {
        Command::Run { site } => run::run(&site),
        Command::Check { site, deny_warnings, against_running, output } => {
            let json = output == CheckOutput::Json;
            check::check(&site, check::Wanted { deny_warnings, against_running, json })
        }
        Command::Ctl(ctl) => ctl::ctl(*ctl),
        Command::Token(asked) => token::token(asked),
        Command::Lab(lab) => lab_command::lab(lab),
        Command::Sctp(asked) => sctp_command::run(&asked),
        Command::Forwarder(asked) => functions::forwarder(asked),
        Command::Transcoder(asked) => transcoder::run(asked),
        Command::Demo(demo) => lab_command::demo(&demo),
        Command::Guardian(asked) => guardian::run(&asked),
        Command::Reap => Ok(peers::reap()?),
        Command::Completion { shell } => man::completion(shell),
        Command::Reference { directory } => reference::print(directory.as_deref()),
        Command::Man { directory } => man::pages(&directory),
    }
}

/// Help and version are no errors; everything else is a wrong usage.
fn usage(error: &clap::Error) -> ExitCode {
    // Nowhere to complain when standard error is gone.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(client::USAGE) } else { ExitCode::SUCCESS }
}
