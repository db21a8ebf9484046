//! What `tandem lab msu` is told.

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use sctp_command::command::SctpCarrier;
use std::net::{IpAddr, SocketAddr};

/// An ASP, and what it sends.
#[derive(Debug, Args)]
pub struct Msu {
    /// The gateway: 127.0.0.1:2905.
    pub gateway: SocketAddr,
    /// What carries the messages.
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: MsuTransport,
    /// Address here with --transport sctp; several for several networks. Absent: as the routes say.
    #[arg(long)]
    pub local: Vec<IpAddr>,
    /// What carries the packets of SCTP.
    #[arg(long, value_enum, default_value = "udp")]
    pub carrier: SctpCarrier,
    /// The gateway's UDP port with the carrier udp.
    #[arg(long, default_value_t = 9_899)]
    pub udp_port: u16,
    /// Originating point code: a number, or 3-8-3 bits as in 2-100-3.
    #[arg(long)]
    pub opc: String,
    /// Destination point code.
    #[arg(long)]
    pub dpc: String,
    /// Service indicator: 3 is SCCP, 5 is ISUP.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..16))]
    pub si: u8,
    /// Network indicator.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..4))]
    pub ni: u8,
    /// Signalling link selection; absent: 16 in turn.
    #[arg(long)]
    pub sls: Option<u8>,
    /// Routing context of the Application Server.
    #[arg(long)]
    pub context: Option<u32>,
    /// Network appearance.
    #[arg(long)]
    pub network: Option<u32>,
    /// MSUs.
    #[arg(long, short = 'n', default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub count: u32,
    /// MSUs a second at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// What is in them, where it is SCCP.
    #[command(flatten)]
    pub sccp: MsuSccp,
    /// Octets of user data in each.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(4..=272))]
    pub octets: u16,
    /// Seconds in which nothing comes before it ends.
    #[arg(long, default_value_t = 2)]
    #[arg(value_parser = RangedU64ValueParser::<u64>::new().range(1..=600))]
    pub quiet: u64,
    /// How point codes are written: itu, ansi, japan, decimal.
    #[arg(long, default_value = "itu", value_parser = ["itu", "ansi", "japan", "decimal"])]
    pub format: String,
}

/// What is in the MSUs, where that is a message of SCCP.
#[derive(Debug, Args)]
#[command(next_help_heading = "SCCP and TCAP")]
pub struct MsuSccp {
    /// Subsystem that is called: 6 is an HLR. The MSUs hold UDTs then.
    #[arg(long, value_name = "SSN")]
    pub called_ssn: Option<u8>,
    /// Digits of the title that is called; absent: the destination point code is called.
    #[arg(long, value_name = "DIGITS", requires = "called_ssn")]
    pub called_gt: Option<String>,
    /// Subsystem that calls.
    #[arg(long, value_name = "SSN", default_value_t = 8)]
    pub calling_ssn: u8,
    /// Digits of the title that calls; absent: the originating point code calls.
    #[arg(long, value_name = "DIGITS", requires = "called_ssn")]
    pub calling_gt: Option<String>,
    /// Translation type of both titles.
    #[arg(long, default_value_t = 0)]
    pub tt: u8,
    /// Numbering plan of both: 1 is E.164, 6 is E.212, 7 is E.214.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..16))]
    pub np: u8,
    /// Nature of address of both: 3 is national, 4 is international.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..128))]
    pub nai: u8,
    /// XUDTs in place of UDTs.
    #[arg(long, requires = "called_ssn")]
    pub xudt: bool,
    /// Data of SCCP as hexadecimal digits; absent: four octets.
    #[arg(long, value_name = "HEX", requires = "called_ssn", conflicts_with = "operation")]
    pub data: Option<String>,
    /// Each MSU begins a dialogue that asks for this operation of MAP: sendRoutingInfoForSM.
    #[arg(long, value_name = "NAME", requires = "called_ssn")]
    pub operation: Option<String>,
    /// Its argument: JSON as in docs/map.md, or hexadecimal digits.
    #[arg(long, value_name = "JSON", requires = "operation")]
    pub argument: Option<String>,
    /// Version of its application context; absent: the highest.
    #[arg(long, value_name = "VERSION", requires = "operation")]
    pub map_version: Option<u8>,
}

/// An operation that is looked up.
#[derive(Debug, Args)]
pub struct Operation {
    /// Its name: sendRoutingInfoForSM, initialDP; absent: all of them.
    pub name: Option<String>,
    /// This version of MAP's contexts alone, or this phase of CAMEL.
    #[arg(long)]
    pub version: Option<u8>,
    /// How deep what is inside of a parameter is shown.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=12))]
    pub depth: u8,
}

/// What carries the messages of M3UA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MsuTransport {
    /// A TCP connection.
    Tcp,
    /// An association of SCTP.
    Sctp,
}
