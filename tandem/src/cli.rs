//! The command line: what clap parses, prints as help, completes and writes as man pages.

mod forwarder;
mod groups;
mod guardian;
mod transcoder;

pub use forwarder::Forwarder;
pub use groups::grouped;
pub use guardian::Guardian;
pub use transcoder::Transcoder;

use crate::ctl::FunctionWords;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use client::complete::{Name, functions, names, sites};
use client::{Capture, ConfigCommand, DiameterCommand, Of, Output, SctpCommand, seconds};
use std::path::PathBuf;

const STATUS: &str = "Exit status: 0 done, 1 failed, 2 usage, 3 invalid configuration, \
    4 unreachable, 5 conflict, 6 timed out.";

/// Carrier-grade virtual network functions.
#[derive(Debug, Parser)]
#[command(name = "tandem", version, about, after_help = STATUS, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the functions of a site and supervise them.
    Run {
        /// The site file.
        site: PathBuf,
    },
    /// Check a site file, ports of this machine included; nothing is started.
    Check {
        /// The site file.
        site: PathBuf,
        /// Fail when it leaves something open to others, too.
        #[arg(long)]
        deny_warnings: bool,
        /// Ask the site that runs what it runs: say what a commit of this file would interrupt and
        /// what would hinder it.
        #[arg(long)]
        against_running: bool,
        /// Form of the answer.
        #[arg(long, short, value_enum, default_value = "text")]
        output: CheckOutput,
    },
    /// Look at a running site and steer it.
    Ctl(Box<Ctl>),
    /// Make, list and revoke tokens of a site's API.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Rerun published measurements.
    Lab(lab_command::command::Lab),
    /// Speak SCTP: pass bytes on like ncat, or measure like tsctp.
    Sctp(Box<sctp_command::command::Sctp>),
    /// Forward packets, told what by a control process (`tandem run` starts it).
    Forwarder(Forwarder),
    /// Transcode streams of speech, told which by a media controller (which starts it).
    Transcoder(Transcoder),
    /// Play a scene that shows what functions do, with its page in the console; without a name,
    /// list the scenes.
    Demo(lab_command::command::Demo),
    /// Abort the SCTP associations of a site whose process has died (`tandem run` starts it).
    #[command(hide = true)]
    Guardian(Guardian),
    /// End the programs of a scene or an experiment when that is gone (where there is no shell).
    #[command(hide = true)]
    Reap,
    /// Print the completion script of a shell.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Print the reference of the site file, or write its pages (docs/configuration.md).
    Reference {
        /// Where to write configuration.md and a page for each function; made if absent.
        directory: Option<PathBuf>,
    },
    /// Write the man pages into a directory.
    Man {
        /// The directory; made if absent.
        directory: PathBuf,
    },
}

/// What `tandem token` does. A site that runs follows at once.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; only its hash is kept.
    New {
        /// The site file.
        site: PathBuf,
        /// What it may do.
        #[arg(long, value_enum)]
        role: TokenRole,
        /// Its name, which the log and the history of the configuration tell: a-z, 0-9 and -.
        #[arg(long)]
        name: String,
    },
    /// Names and roles of the tokens.
    List {
        /// The site file.
        site: PathBuf,
        /// Form of the answer.
        #[arg(long, short, value_enum, default_value = "table")]
        output: Output,
    },
    /// Revoke a token: its sessions and streams end too.
    Revoke {
        /// The site file.
        site: PathBuf,
        /// Its name.
        name: String,
    },
}

/// How the result of a check is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckOutput {
    /// For people: what is wrong on standard error, `ok` on standard output.
    Text,
    /// One object on standard output: `ok`, `mistakes`, `warnings`, `notes`.
    Json,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TokenRole {
    /// Read metrics, alarms and health.
    Monitor,
    /// Read calls, registrations, routes and recordings as well, and act on them.
    Operator,
    /// Everything: configuration, log levels, the end of the process.
    Administrator,
}

/// Look at a running site and steer it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection and form")]
pub struct Ctl {
    /// Where the site's API is: http://127.0.0.1:8080.
    #[arg(long, global = true, env = "TANDEM_URL")]
    pub url: Option<String>,
    /// The site's token; else it is read from the site's directory. It may begin with a hyphen.
    #[arg(long, global = true, env = "TANDEM_TOKEN", hide_env_values = true)]
    #[arg(allow_hyphen_values = true)]
    pub token: Option<String>,
    /// The site: its name, where it runs on this machine, or its file. Absent: the one that runs.
    #[arg(long, global = true, env = "TANDEM_SITE", value_name = "NAME|SITE.toml")]
    #[arg(add = sites())]
    pub site: Option<PathBuf>,
    /// Form of the answer.
    #[arg(long, short, global = true, value_enum, default_value = "table")]
    pub output: Output,
    /// Seconds to wait for an answer.
    #[arg(long, global = true, default_value_t = 30, value_parser = seconds(1..=3600))]
    pub timeout: u64,
    /// What to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// What `tandem ctl` does.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// The site and its functions.
    Site,
    /// Wait until the site serves; where none is named (`--site`), it says which one does.
    Wait,
    /// What one kind of function knows.
    #[command(flatten)]
    Function(FunctionWords),
    /// Read keys, passwords and certificates again; connections stay, new handshakes use the new
    /// ones, and a session of BGP whose password changed begins anew. Without a name, every
    /// function that has any.
    #[command(visible_alias = "reload-keys")]
    ReloadCertificates(Of),
    /// The site's pool of sessions: what the keeper has leased, what each controller holds.
    Pool(Of),
    /// The pair: role, epoch, what the standby lacks.
    Replica(Of),
    /// What the nodes of pairs track: interfaces and gateways, and whether each is good.
    Track(Of),
    /// Let the standby of a pair take over: new requests wait, nothing is lost.
    Switchover {
        /// Name of the function; absent: the only one that is one of a pair.
        #[arg(add = functions())]
        function: Option<String>,
    },
    /// SCTP: associations and their paths; without more, the associations.
    Sctp {
        /// What of it.
        #[command(subcommand)]
        command: Option<SctpCommand>,
    },
    /// Diameter: peers, connections, the last messages; without more, the peers.
    Diameter {
        /// What of it.
        #[command(subcommand)]
        command: Option<DiameterCommand>,
    },
    /// Write messages of functions to a file that Wireshark opens, from the trails of the service
    /// assurance.
    Capture(Capture),
    /// Metrics.
    Counters {
        /// Only those whose name begins so.
        #[arg(long, add = names(Name::Metric))]
        name: Option<String>,
        /// Only those of this function.
        #[arg(long, add = functions())]
        function: Option<String>,
        /// Those that are zero as well.
        #[arg(long)]
        all: bool,
    },
    /// Alarms that stand.
    Alarms {
        /// The cleared ones as well.
        #[arg(long)]
        history: bool,
    },
    /// The configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Finish what runs, take nothing new, then end the process.
    Drain,
    /// Show or set the log levels.
    Log {
        /// Levels by target: info,ssc=debug.
        filter: Option<String>,
    },
}
