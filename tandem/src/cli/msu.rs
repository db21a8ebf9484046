//! What `tandem lab msu` is told.

use super::range::seconds;
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
    /// Octets of user data in each.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(4..=272))]
    pub octets: u16,
    /// Seconds in which nothing comes before it ends.
    #[arg(long, default_value_t = 2, value_parser = seconds(1..=600))]
    pub quiet: u64,
    /// How point codes are written: itu, ansi, japan, decimal.
    #[arg(long, default_value = "itu", value_parser = ["itu", "ansi", "japan", "decimal"])]
    pub format: String,
}

/// What carries the messages of M3UA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MsuTransport {
    /// A TCP connection.
    Tcp,
    /// An association of SCTP.
    Sctp,
}
