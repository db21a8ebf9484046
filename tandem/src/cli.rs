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
use std::net::SocketAddrV4;
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
    Lab(Lab),
    /// Speak SCTP: pass bytes on like ncat, or measure like tsctp.
    Sctp(Box<sctp_command::command::Sctp>),
    /// Forward packets, told what by a control process (`tandem run` starts it).
    Forwarder(Forwarder),
    /// Transcode streams of speech, told which by a media controller (which starts it).
    Transcoder(Transcoder),
    /// Play a scene that shows what functions do, with its page in the console; without a name,
    /// list the scenes.
    Demo(Demo),
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

/// Rerun published measurements.
#[derive(Debug, Args)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What `tandem lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Name the experiments, a line each.
    List,
    /// Attack: forged packets, or hostile use of sockets; refused outside of the lab's namespaces
    /// and of loopback.
    Attack(Attack),
    /// Send MSUs as an ASP that comes up at a signalling gateway, and show what comes back.
    Msu(Box<msu_command::command::Msu>),
    /// Say what an operation of MAP or CAP is: contexts, argument, result, errors, and their JSON.
    Operation(msu_command::command::Operation),
    /// Register a phone of IMS with AKA and IPsec, call, and answer calls: for a P-CSCF to be tried
    /// with.
    Phone(Box<phone_command::command::Phone>),
    /// Play scenarios of TCAP: what roles say to each other in dialogues of MAP and CAP, once or at
    /// a rate, against a gateway, its applications, or each other.
    Play(Box<play_command::command::Play>),
    /// Put emulated links between interfaces, for packets of any program.
    Link(Box<link_command::command::Link>),
    /// Run an experiment and compare with the published figures.
    Run(Box<Trial>),
}

/// An experiment and how it is run.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "experiments"), allow(dead_code))]
pub struct Trial {
    /// Its name; absent: they are listed.
    #[arg(add = names(Name::Experiment))]
    pub name: Option<String>,
    /// End sooner, at the price of coarser figures: most within 60 seconds, `throughput`
    /// and `hardening` within three minutes, the reports `sbc` and `ss7` within ten.
    #[arg(long)]
    pub quick: bool,
    /// One JSON object on standard output and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Only these scenarios, by the names in the table; what is no name is answered with all.
    #[arg(long = "scenario")]
    pub scenarios: Vec<String>,
    /// Directory for the page and the data of a report (`sbc`, `ss7`); absent: target/lab.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Real packets between namespaces, where it is a simulation otherwise (`sctp-failover`).
    #[arg(long)]
    pub live: bool,
    /// Another `tandem`: attacked (`hardening`) or measured (`reflection-ipv4`, `reflection-evpn`,
    /// `throughput`) in place of this one, or measured beside it (`compare`).
    #[arg(long, value_name = "PATH")]
    pub binary: Option<PathBuf>,
    #[command(flatten)]
    pub reflection: Reflection,
    #[command(flatten)]
    pub plane: Plane,
}

/// Sizes of `throughput`, `services` and `denial-of-service`.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "experiments"), allow(dead_code))]
pub struct Plane {
    /// All services of the report at their full number.
    #[arg(long)]
    pub full: bool,
    /// IPv4 routes; a quarter as many of IPv6.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub routes: Option<u32>,
    /// Flows: 1,1000000 runs with either number.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub flows: Vec<u32>,
}

/// Sizes of `reflection-ipv4` and `reflection-evpn`.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "experiments"), allow(dead_code))]
pub struct Reflection {
    /// Route reflector that runs beside Tandem's: bird, frr, gobgp, openbgpd.
    #[arg(long, value_parser = ["bird", "frr", "gobgp", "openbgpd"])]
    pub peer: Option<String>,
    /// Clients: 100,1000 runs with either number.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=9_000))]
    pub clients: Vec<u16>,
    /// Prefixes of the Internet-like table; the synthetic one has eight times as many.
    #[arg(long, value_parser = clap::value_parser!(u32).range(100..=2_000_000))]
    pub prefixes: Option<u32>,
    /// MACs of the Ethernet VPNs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2_000..=10_000_000))]
    pub macs: Option<u32>,
    /// An MRT file (a table dump) whose IPv4 routes are announced in place of the Internet-like
    /// table; with `reflection-ipv4`.
    #[arg(long, value_name = "FILE", conflicts_with = "prefixes")]
    pub mrt: Option<std::path::PathBuf>,
}

/// An attack.
#[derive(Debug, Args)]
pub struct Attack {
    /// What it consists of.
    #[arg(value_enum)]
    pub kind: AttackKind,
    /// The interface of a flood: a veth in a namespace whose name begins with `tq-`, or lo.
    #[arg(long)]
    pub interface: Option<String>,
    /// Where it goes: 10.0.0.1:5060.
    #[arg(long)]
    pub to: SocketAddrV4,
    /// How many live ports of media are meant, from that of `--to` on, each even one; with `rtp`,
    /// `rtcp`, `stun`, `dtls`.
    #[arg(long, default_value_t = 1)]
    pub ports: u16,
    /// Another address: where the accomplice of `oversized-dialogs` answers, the address that
    /// `init` names as its own.
    #[arg(long)]
    pub other: Option<SocketAddrV4>,
    /// The target's link-layer address; absent: the kernel is asked for it.
    #[arg(long)]
    pub mac: Option<String>,
    /// Packets, connections, dialogs or sessions a second.
    #[arg(long, default_value_t = 10_000)]
    pub rate: u32,
    /// How long, seconds.
    #[arg(long, default_value_t = 10, value_parser = seconds(1..=600))]
    pub seconds: u64,
    /// Addresses that it comes from, or claims to; absent: 198.18.0.0/15 for a flood of packets,
    /// 127.66.0.0/30 for what uses sockets.
    #[arg(long)]
    pub sources: Option<String>,
    /// One JSON object on standard output and nothing else.
    #[arg(long)]
    pub json: bool,
}

/// What an attack consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AttackKind {
    /// SIP INVITEs over UDP.
    Invite,
    /// SIP REGISTERs over UDP.
    Register,
    /// ICMP echo requests.
    Icmp,
    /// TCP SYNs.
    Syn,
    /// UDP datagrams to every address of the target's /16, for its router to look for.
    NeighbourScan,
    /// First fragments of which the rest never comes.
    Fragments,
    /// Speech of strangers at live ports of media.
    Rtp,
    /// Farewells of strangers at live ports of media, some in the name of good streams.
    Rtcp,
    /// Connectivity checks that nobody agreed on, at live ports of media.
    Stun,
    /// Hellos of DTLS of which nothing follows, at live ports of media.
    Dtls,
    /// TCP connections on which nothing is said.
    IdleConnections,
    /// TLS greetings that break off.
    HalfHandshakes,
    /// SIP requests over TCP whose answers are never read.
    SlowReading,
    /// Heartbeats of a pair's other node that it did not send.
    Replica,
    /// Requests for an arbiter's vote in the name of a node that did not ask.
    Arbiter,
    /// HEP3 packets of calls that nobody made.
    Hep,
    /// SCTP associations whose INIT names the address of `--other`.
    Init,
    /// SCTP INITs in UDP of which nothing follows.
    InitFlood,
    /// MSUs of an ASP over TCP in the name of another point code.
    ForgedMsu,
    /// SIP requests within dialogs that nobody has.
    StrangersDialogs,
    /// SIP dialogs whose names grow past what a datagram holds.
    OversizedDialogs,
    /// ESP with guessed indices, wrong codes, replays and old numbers, some in the name of phones.
    Esp,
    /// Registrations of IMS that are begun and never finished.
    Aka,
    /// BGP paths that do not fit once their AS numbers have four octets.
    WideningPaths,
}

/// The demonstration.
#[derive(Debug, Args)]
pub struct Demo {
    /// The scene; absent: the scenes are listed.
    #[arg(add = names(Name::Scene))]
    pub scene: Option<String>,
    /// End by itself once the scene is played, on a terminal too.
    #[arg(long)]
    pub once: bool,
}
