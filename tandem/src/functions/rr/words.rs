//! `tandem ctl bgp`.

use crate::cli::{Of, OfPeer, Output};
use crate::ctl::{Client, Words, asked, query, segment};
use crate::exit::Exit;
use crate::output::{self, Column, plain, time};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Rows that one question brings.
const PAGE: u64 = 1_000;

/// The words of route reflectors.
#[derive(Debug, Subcommand)]
pub enum RrWords {
    /// BGP: peers, routes, update groups; without more, a summary of the peers.
    Bgp {
        /// What of it.
        #[command(subcommand)]
        command: Option<BgpCommand>,
    },
}

impl Words for RrWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let Self::Bgp { command } = self;
        bgp(client, form, command.unwrap_or(BgpCommand::Summary(Of { function: None })))
    }
}

/// What `tandem ctl bgp` shows and does.
#[derive(Debug, Subcommand)]
pub enum BgpCommand {
    /// Peers: state, routes, messages, the last error.
    Summary(Of),
    /// Everything about a peer: capabilities, timers, counters, connections.
    Peer(OfPeer),
    /// Routes with their best path, page by page.
    Routes(BgpRoutes),
    /// All paths of the route that covers a prefix, and why the best one is it.
    Route {
        /// Name of the function.
        function: String,
        /// A prefix or an address; in other families a text that the route is shown with.
        prefix: String,
        /// The family; absent: ipv4-unicast or ipv6-unicast.
        #[arg(long)]
        family: Option<String>,
    },
    /// Update groups: members, position, what waits.
    Groups(Of),
    /// Families: routes and paths.
    Families(Of),
    /// Caches of validated prefixes (RPKI): state, serial number, records.
    Rpki(Of),
    /// Write the tables to a file (MRT, TABLE_DUMP_V2).
    Dump {
        /// Name of the function.
        function: String,
        /// The file; there must be none.
        file: std::path::PathBuf,
    },
    /// Monitoring stations (BMP): state, what waits.
    Bmp(Of),
    /// Ask the caches of validated prefixes now.
    RpkiRefresh {
        /// Name of the function.
        function: String,
    },
    /// The validated prefixes that cover a prefix.
    Origin {
        /// Name of the function.
        function: String,
        /// A prefix or an address.
        prefix: String,
        /// Whether this AS may announce it.
        #[arg(long)]
        asn: Option<u32>,
    },
    /// Begin the session of a peer anew.
    Clear(BgpClear),
    /// End the session of a peer until it is enabled again.
    Shutdown(BgpPeer),
    /// Let a peer back that was shut down or had too many routes.
    Enable(OfPeer),
}

/// Which routes.
#[derive(Debug, Args)]
pub struct BgpRoutes {
    /// Name of the function.
    pub function: String,
    /// The family.
    #[arg(default_value = "ipv4-unicast")]
    pub family: String,
    /// Only those that this prefix covers.
    #[arg(long)]
    pub within: Option<String>,
    /// Only those that are shown with that in their text.
    #[arg(long)]
    pub text: Option<String>,
    /// Only those that this peer has announced.
    #[arg(long, value_name = "PEER")]
    pub received: Option<String>,
    /// Only those that this peer was told.
    #[arg(long, value_name = "PEER")]
    pub advertised: Option<String>,
    /// Pass over so many.
    #[arg(long, default_value_t = 0)]
    pub skip: u64,
    /// Rows at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u64,
}

/// A peer, and what it is told.
#[derive(Debug, Args)]
pub struct BgpPeer {
    /// Which peer.
    #[command(flatten)]
    pub peer: OfPeer,
    /// What the peer's operator reads (RFC 9003), up to 255 octets.
    #[arg(long)]
    pub text: Option<String>,
}

/// How a session begins anew.
#[derive(Debug, Args)]
pub struct BgpClear {
    /// Which peer, and what it is told.
    #[command(flatten)]
    pub peer: BgpPeer,
    /// The session stays; its routes are exchanged again.
    #[arg(long, conflicts_with = "hard")]
    pub soft: bool,
    /// Nothing outlives it, graceful restart or not (RFC 8538).
    #[arg(long)]
    pub hard: bool,
}

const SUMMARY: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("peer", "PEER"),
    plain("address", "ADDRESS"),
    plain("asn", "AS"),
    plain("kind", "KIND"),
    plain("state", "STATE"),
    time("since_us", "SINCE"),
    plain("routes_accepted", "ROUTES IN"),
    plain("routes_out", "ROUTES OUT"),
    plain("messages_in", "MSGS IN"),
    plain("messages_out", "MSGS OUT"),
    plain("waiting_octets", "WAITING"),
    plain("why", "WHY"),
];

const ROUTES: &[Column] = &[
    plain("route", "ROUTE"),
    plain("next_hop", "NEXT HOP"),
    plain("local_pref", "LOCAL PREF"),
    plain("med", "MED"),
    plain("as_path", "AS PATH"),
    plain("origin", "ORIGIN"),
    plain("peer", "PEER"),
    plain("paths", "PATHS"),
];

const PATHS: &[Column] = &[
    plain("route", "ROUTE"),
    plain("best", "BEST"),
    plain("loses_by", "LOSES BY"),
    plain("peer", "PEER"),
    plain("path_id", "PATH"),
    plain("next_hop", "NEXT HOP"),
    plain("local_pref", "LOCAL PREF"),
    plain("med", "MED"),
    plain("as_path", "AS PATH"),
    plain("origin", "ORIGIN"),
    plain("originator", "ORIGINATOR"),
    plain("clusters", "CLUSTERS"),
    plain("communities", "COMMUNITIES"),
    plain("validation", "VALIDATION"),
];

const GROUPS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("group", "GROUP"),
    plain("family", "FAMILY"),
    plain("audience", "TOLD"),
    plain("kind", "KIND"),
    plain("add_path", "ADD-PATH"),
    plain("peers", "PEERS"),
    plain("routes_out", "ROUTES OUT"),
    plain("behind", "BEHIND"),
    plain("walks", "WALKS"),
    plain("waiting_octets", "WAITING"),
];

const FAMILIES: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("family", "FAMILY"),
    plain("routes", "ROUTES"),
    plain("paths", "PATHS"),
];

const CACHES: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("cache", "CACHE"),
    plain("state", "STATE"),
    plain("source", "SOURCE"),
    plain("version", "VERSION"),
    plain("serial", "SERIAL"),
    plain("ipv4", "IPV4"),
    plain("ipv6", "IPV6"),
    plain("expires_s", "EXPIRES S"),
    plain("why", "WHY"),
];

const STATIONS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("station", "STATION"),
    plain("address", "ADDRESS"),
    plain("state", "STATE"),
    plain("tables", "TABLES"),
    plain("complete", "COMPLETE"),
    plain("waiting_octets", "WAITING"),
    plain("sent_octets", "SENT"),
    plain("overflows", "OVERFLOWS"),
    plain("why", "WHY"),
];

const ORIGINS: &[Column] = &[
    plain("prefix", "PREFIX"),
    plain("max_length", "MAX LENGTH"),
    plain("asn", "AS"),
    plain("state", "STATE"),
];

fn bgp(client: &Client, form: Output, command: BgpCommand) -> Result<(), Exit> {
    match command {
        BgpCommand::Summary(of) => asked(client, form, of.function, "bgp/summary", SUMMARY),
        BgpCommand::Peer(of) => peer(client, &of),
        BgpCommand::Routes(wanted) => routes(client, form, &wanted),
        BgpCommand::Route { function, prefix, family } => {
            let query = query(&[("prefix", Some(prefix)), ("family", family)]);
            rows(client, form, (&function, &format!("route{query}")), PATHS)
        }
        BgpCommand::Rpki(of) => asked(client, form, of.function, "bgp/rpki", CACHES),
        BgpCommand::Bmp(of) => asked(client, form, of.function, "bgp/bmp", STATIONS),
        BgpCommand::Dump { function, file } => dump(client, &function, &file),
        BgpCommand::RpkiRefresh { function } => {
            let path = format!("/api/v1/functions/{}/bgp/rpki-refresh", segment(&function));
            let whole = client.post(&path, &json!({}))?;
            output::rows(form, &whole, rows_of(&whole), CACHES)
        }
        BgpCommand::Origin { function, prefix, asn } => {
            let asn = asn.map(|asn| asn.to_string());
            let query = query(&[("prefix", Some(prefix)), ("asn", asn)]);
            rows(client, form, (&function, &format!("origin{query}")), ORIGINS)
        }
        BgpCommand::Groups(of) => asked(client, form, of.function, "bgp/groups", GROUPS),
        BgpCommand::Families(of) => asked(client, form, of.function, "bgp/families", FAMILIES),
        BgpCommand::Clear(BgpClear { peer, soft, hard }) => {
            let how = match (soft, hard) {
                (true, _) => "soft",
                (_, true) => "hard",
                _ => "",
            };
            act(client, &peer.peer, "clear", &json!({ "how": how, "text": peer.text }))
        }
        BgpCommand::Shutdown(BgpPeer { peer, text }) => {
            act(client, &peer, "shutdown", &json!({ "text": text }))
        }
        BgpCommand::Enable(peer) => act(client, &peer, "enable", &json!({})),
    }
}

fn rows_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What a function answers, as a table.
fn rows(
    client: &Client,
    form: Output,
    (function, what): (&str, &str),
    columns: &[Column],
) -> Result<(), Exit> {
    let whole = client.get(&format!("/api/v1/functions/{}/bgp/{what}", segment(function)))?;
    output::rows(form, &whole, rows_of(&whole), columns)
}

/// All there is to say about a peer has no columns: it is shown as JSON.
fn peer(client: &Client, of: &OfPeer) -> Result<(), Exit> {
    let query = query(&[("peer", Some(of.peer.clone()))]);
    let path = format!("/api/v1/functions/{}/bgp/peer{query}", segment(&of.function));
    output::text(&output::json(&client.get(&path)?))
}

/// Writes the tables to a file, page after page.
fn dump(client: &Client, function: &str, file: &Path) -> Result<(), Exit> {
    let fault = |error: std::io::Error| Exit::Usage(format!("{}: {error}", file.display()));
    let mut out = BufWriter::new(File::create_new(file).map_err(fault)?);
    let (mut from, mut octets) = (None, 0);
    loop {
        let query = query(&[("from", from)]);
        let path = format!("/api/v1/functions/{}/bgp/dump{query}", segment(function));
        let page = client.get(&path)?;
        let piece = from_hex(page["octets"].as_str().unwrap_or_default());
        octets += piece.len();
        out.write_all(&piece).map_err(fault)?;
        match page["next"].as_str() {
            Some(next) => from = Some(next.to_owned()),
            None => break,
        }
    }
    out.flush().map_err(fault)?;
    output::text(&format!("{octets} octets of MRT\n"))
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().as_chunks::<2>().0.iter().map(|[a, b]| digit(*a) << 4 | digit(*b)).collect()
}

/// Asks page after page until there are as many rows as are wanted.
fn routes(client: &Client, form: Output, wanted: &BgpRoutes) -> Result<(), Exit> {
    let (mut rows, mut skip) = (Vec::new(), wanted.skip);
    while (rows.len() as u64) < wanted.limit {
        let limit = (wanted.limit - rows.len() as u64).min(PAGE);
        let query = query(&[
            ("family", Some(wanted.family.clone())),
            ("within", wanted.within.clone()),
            ("text", wanted.text.clone()),
            ("received", wanted.received.clone()),
            ("advertised", wanted.advertised.clone()),
            ("skip", Some(skip.to_string())),
            ("limit", Some(limit.to_string())),
        ]);
        let path = format!("/api/v1/functions/{}/bgp/routes{query}", segment(&wanted.function));
        let page = client.get(&path)?;
        rows.extend_from_slice(rows_of(&page["rows"]));
        match page["next"].as_u64().filter(|next| *next > skip) {
            Some(next) => skip = next,
            None => break,
        }
    }
    output::rows(form, &Value::from(rows.clone()), &rows, ROUTES)
}

/// Tells the function something; what is not said is left out.
fn act(client: &Client, of: &OfPeer, action: &str, order: &Value) -> Result<(), Exit> {
    let path = format!("/api/v1/functions/{}/bgp/{action}", segment(&of.function));
    let mut order = order.clone();
    if let Some(order) = order.as_object_mut() {
        order.retain(|_, value| !value.is_null());
    }
    order["peer"] = Value::from(of.peer.clone());
    output::text(&output::json(&client.post(&path, &order)?))
}
