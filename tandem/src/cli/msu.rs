//! What `tandem lab msu` is told.

use super::range::seconds;
use clap::Args;
use std::net::SocketAddr;

/// An ASP over TCP, and what it sends.
#[derive(Debug, Args)]
pub struct Msu {
    /// The gateway: 127.0.0.1:2905.
    pub gateway: SocketAddr,
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
