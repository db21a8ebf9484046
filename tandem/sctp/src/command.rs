//! The command line of `tandem sctp`.

use clap::{Args, Subcommand, ValueEnum};
use sctp_stack::Carrier;
use std::net::IpAddr;

const EXAMPLES: &str = "\
Two terminals; what is typed in one appears in the other:
  tandem sctp server --port 5000
  tandem sctp client --peer 127.0.0.1 --port 5000
The same over two networks, so that either may fail:
  tandem sctp server --port 5000 --local 10.1.0.2 --local 10.2.0.2
  tandem sctp client --port 5000 --local 10.1.0.1 --local 10.2.0.1 \\
    --peer 10.1.0.2 --peer 10.2.0.2 --preset 'telecom(2)' --set hb_interval_ms=1000
To a machine whose kernel speaks SCTP (ncat --sctp -l 5000 there):
  tandem sctp client --carrier ip --peer 192.0.2.7 --port 5000
How fast:
  tandem sctp throughput --once
  tandem sctp throughput --peer 127.0.0.1 --size 1024 --seconds 10";

/// Speak SCTP: pass bytes on like ncat, or measure like tsctp.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Sctp {
    /// What to do.
    #[command(subcommand)]
    pub command: SctpMode,
}

/// What `tandem sctp` does.
#[derive(Debug, Subcommand)]
pub enum SctpMode {
    /// Take associations: lines of standard input go to the youngest, what arrives is printed.
    Server(SctpServer),
    /// Associate with a server: lines of standard input are messages, what arrives is printed.
    Client(SctpClient),
    /// Send messages as fast as the peer takes them, or take them; without --peer it takes them.
    Throughput(SctpThroughput),
}

/// Take associations.
#[derive(Debug, Args)]
pub struct SctpServer {
    /// The endpoint here.
    #[command(flatten)]
    pub endpoint: SctpEndpoint,
    /// Go on after the first association has ended.
    #[arg(long)]
    pub keep_open: bool,
}

/// Associate with a server.
#[derive(Debug, Args)]
pub struct SctpClient {
    /// The endpoint here.
    #[command(flatten)]
    pub endpoint: SctpEndpoint,
    /// Address of the server; several for a server with several, the first is the primary path.
    #[arg(long, required = true)]
    pub peer: Vec<IpAddr>,
    /// Its UDP port with the carrier udp.
    #[arg(long, default_value_t = 9_899)]
    pub peer_udp_port: u16,
    /// Streams that the lines take in turn.
    #[arg(long, default_value_t = 1)]
    pub streams: u16,
    /// Keep the association when standard input ends, until the server ends it.
    #[arg(long)]
    pub keep_open: bool,
}

/// Measure.
#[derive(Debug, Args)]
pub struct SctpThroughput {
    /// The endpoint here.
    #[command(flatten)]
    pub endpoint: SctpEndpoint,
    /// Address to send to; several for a peer with several. Absent: take what others send.
    #[arg(long)]
    pub peer: Vec<IpAddr>,
    /// The peer's UDP port with the carrier udp.
    #[arg(long, default_value_t = 9_899)]
    pub peer_udp_port: u16,
    /// Octets of a message.
    #[arg(long, default_value_t = 1_024, requires = "peer")]
    pub size: u32,
    /// Messages to send.
    #[arg(long, requires = "peer", conflicts_with = "seconds")]
    pub count: Option<u64>,
    /// Time to send; 10 unless --count is given.
    #[arg(long, requires = "peer", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// Streams that the messages take in turn.
    #[arg(long, default_value_t = 1, requires = "peer")]
    pub streams: u16,
    /// The messages need no order.
    #[arg(long, requires = "peer")]
    pub unordered: bool,
    /// Small messages wait for an acknowledgement or a full packet (tsctp without -D).
    #[arg(long)]
    pub nagle: bool,
    /// End after the first association.
    #[arg(long, conflicts_with = "peer")]
    pub once: bool,
}

/// The endpoint here.
#[derive(Debug, Args)]
pub struct SctpEndpoint {
    /// Address here; several for several networks. Absent: as the routes say.
    #[arg(long)]
    pub local: Vec<IpAddr>,
    /// SCTP port of the server.
    #[arg(long, default_value_t = 5_001, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// SCTP port here when --peer is given; absent: one of 49152 and above.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub local_port: Option<u16>,
    /// What carries the packets.
    #[arg(long, value_enum, default_value = "udp")]
    pub carrier: SctpCarrier,
    /// UDP port here with the carrier udp; absent: 9899, with --peer any.
    #[arg(long)]
    pub udp_port: Option<u16>,
    /// Parameters to start from: rfc9260, tandem, telecom(2).
    #[arg(long, default_value = "rfc9260")]
    pub preset: String,
    /// A parameter or an extension that differs, as in a site file (docs/sctp.md): rto_min_ms=100.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Metrics as JSON: a line for each event on standard error; throughput: one object on standard
    /// output at the end of each association.
    #[arg(long)]
    pub json: bool,
}

/// What carries SCTP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SctpCarrier {
    /// UDP datagrams (RFC 6951).
    Udp,
    /// IP packets of protocol 132; needs CAP_NET_RAW.
    Ip,
    /// The same past the kernel's IP (AF_XDP); needs CAP_NET_ADMIN and CAP_BPF too.
    Xdp,
    /// The SCTP of this machine's kernel, where it has one.
    Kernel,
}

impl From<SctpCarrier> for Carrier {
    fn from(carrier: SctpCarrier) -> Self {
        match carrier {
            SctpCarrier::Udp => Self::Udp,
            SctpCarrier::Ip => Self::Ip,
            SctpCarrier::Xdp => Self::Xdp,
            SctpCarrier::Kernel => Self::Kernel,
        }
    }
}
