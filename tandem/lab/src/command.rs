//! What `tandem lab` and `tandem demo` are told.

use clap::{Args, Subcommand, ValueEnum};
use client::complete::{Name, names};
use client::seconds;
use std::net::SocketAddrV4;
use std::path::PathBuf;

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
    /// Register a terminal for short messages (application/vnd.3gpp.sms), send one, and take what
    /// comes: for a short message gateway to be tried with.
    Terminal(Box<phone_command::terminal::Terminal>),
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
    /// Sizes of reflections.
    #[command(flatten)]
    pub reflection: Reflection,
    /// Sizes of the packet plane.
    #[command(flatten)]
    pub plane: Plane,
}

/// Sizes of `throughput`, `services` and `denial-of-service`.
#[derive(Debug, Args)]
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
    pub mrt: Option<PathBuf>,
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
