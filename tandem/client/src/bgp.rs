//! `tandem ctl bgp`: of every function that speaks it.

use crate::Words;
use crate::api::{Client, only};
use crate::asked::{Action, Of, OfPeer, act, asked, function_or_address};
use crate::complete::{Name, functions, functions_and_peers, names, peers};
use crate::exit::Exit;
use crate::output::{self, Output};
use clap::{Args, Subcommand};
use local::{query, segment};
use serde_json::{Value, json};
use show::Listing;
use show::rr as listings;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::IpAddr;
use std::path::Path;

/// The kinds of functions that these words are of.
const KINDS: [&str; 2] = ["rr", "pe"];
/// The kind that has feeds and dumps.
const REFLECTOR: &str = "rr";
/// Rows that one question brings.
const PAGE: u64 = 1_000;
/// Routes that are asked for, to be sorted for people.
const SORTED_MAX: u64 = 20_000;
/// Octets of a dump at most: four times the table of the Internet from a thousand peers.
const DUMP_OCTETS_MAX: u64 = 256 << 30;
/// Pages in a row that hold nothing and name a next one, at most: a table has gaps, but an end.
const EMPTY_MAX: u32 = 10_000;

/// The words of what speaks BGP: route reflectors and provider edges.
#[derive(Debug, Subcommand)]
pub enum BgpWords {
    /// BGP: peers, routes, update groups; without more, a summary of the peers.
    Bgp {
        /// What of it.
        #[command(subcommand)]
        command: Option<BgpCommand>,
    },
}

impl Words for BgpWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let Self::Bgp { command } = self;
        bgp(
            client,
            form,
            command.unwrap_or(BgpCommand::Summary(OfTable { function: None, vrf: None })),
        )
    }
}

/// What `tandem ctl bgp` shows and does.
#[derive(Debug, Subcommand)]
pub enum BgpCommand {
    /// Peers: state, routes, messages, the last error.
    #[command(visible_alias = "peers")]
    Summary(OfTable),
    /// Everything about a peer: capabilities, timers, counters, connections.
    #[command(allow_missing_positional = true)]
    Peer(OfPeer),
    /// Routes with their best path, page by page.
    Routes(BgpRoutes),
    /// What a peer announced (Adj-RIB-In), before the import policy beside after it.
    #[command(override_usage = "tandem ctl bgp received [OPTIONS] [FUNCTION] <PEER> [FAMILY]")]
    Received(BgpReceived),
    /// All paths of the route that covers a prefix, and why the best one is it.
    #[command(allow_missing_positional = true)]
    Route {
        /// Name of the function; absent: the only one with BGP.
        #[arg(add = functions())]
        function: Option<String>,
        /// A prefix or an address; in other families a text that the route is shown with.
        prefix: String,
        /// The family; absent: ipv4-unicast or ipv6-unicast.
        #[arg(long, add = names(Name::Family))]
        family: Option<String>,
        /// Of a provider edge: of that routing table; absent: of the global one.
        #[arg(long)]
        vrf: Option<String>,
    },
    /// Update groups: members, position, what waits.
    Groups(OfTable),
    /// Families: routes and paths.
    Families(OfTable),
    /// Next hops of routes, and how an edge reaches them.
    NextHops(Of),
    /// Routes as the plane of an edge has them, those of VPNs among them.
    Fib {
        /// Name of the function; absent: all that answer.
        #[arg(add = functions())]
        function: Option<String>,
        /// Only those within this prefix.
        #[arg(long)]
        within: Option<String>,
    },
    /// Caches of validated prefixes (RPKI): state, serial number, records.
    Rpki(Of),
    /// Write the tables to a file (MRT, TABLE_DUMP_V2).
    #[command(allow_missing_positional = true)]
    Dump {
        /// Name of the function; absent: the only one with BGP.
        #[arg(add = functions())]
        function: Option<String>,
        /// The file; there must be none.
        file: std::path::PathBuf,
    },
    /// Monitoring stations (BMP): state, what waits.
    Bmp(Of),
    /// Ask the caches of validated prefixes now.
    RpkiRefresh {
        /// Name of the function; absent: the only one with BGP.
        #[arg(add = functions())]
        function: Option<String>,
    },
    /// The validated prefixes that cover a prefix.
    #[command(allow_missing_positional = true)]
    Origin {
        /// Name of the function; absent: the only one with BGP.
        #[arg(add = functions())]
        function: Option<String>,
        /// A prefix or an address.
        prefix: String,
        /// Whether this AS may announce it.
        #[arg(long)]
        asn: Option<u32>,
    },
    /// Begin the session of a peer anew.
    #[command(allow_missing_positional = true)]
    Clear(BgpClear),
    /// End the session of a peer until it is enabled again.
    #[command(allow_missing_positional = true)]
    Shutdown(BgpPeer),
    /// Let a peer back that was shut down or had too many routes.
    #[command(allow_missing_positional = true)]
    Enable(OfPeer),
    /// Forget a peer that came from a range and is away, with its alarm; without an address all.
    Forget {
        /// Name of the function; absent: the only one with BGP.
        #[arg(add = functions())]
        function: Option<String>,
        /// Its address.
        #[arg(add = names(Name::AwayPeer))]
        address: Option<IpAddr>,
    },
}

/// Which function, and which of its routing tables.
#[derive(Debug, Args)]
pub struct OfTable {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Of a provider edge: only that routing table.
    #[arg(long)]
    pub vrf: Option<String>,
}

/// Which routes.
#[derive(Debug, Args)]
pub struct BgpRoutes {
    /// Name of the function; absent: the only one with BGP.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// The family; absent: ipv4-unicast.
    #[arg(add = names(Name::Family))]
    pub family: Option<String>,
    /// Only those that this prefix covers.
    #[arg(long)]
    pub within: Option<String>,
    /// Of a provider edge: those of that routing table; absent: of the global one.
    #[arg(long)]
    pub vrf: Option<String>,
    /// Only those that are shown with that in their text.
    #[arg(long)]
    pub text: Option<String>,
    /// Only those that this peer has announced.
    #[arg(long, value_name = "PEER", add = peers())]
    pub received: Option<String>,
    /// Only those that this peer was told.
    #[arg(long, value_name = "PEER", add = peers())]
    pub advertised: Option<String>,
    /// Pass over so many.
    #[arg(long, default_value_t = 0)]
    pub skip: u64,
    /// Rows at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u64,
}

/// What a peer announced.
#[derive(Debug, Args)]
pub struct BgpReceived {
    /// Name of the function; absent, so that the peer stands here: the only route reflector.
    #[arg(add = functions_and_peers())]
    pub function: String,
    /// Name of the peer.
    #[arg(add = peers())]
    pub peer: Option<String>,
    /// The family; absent: ipv4-unicast.
    #[arg(add = names(Name::Family))]
    pub family: Option<String>,
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

fn bgp(client: &Client, form: Output, command: BgpCommand) -> Result<(), Exit> {
    match command {
        BgpCommand::Summary(of) => of_table(client, form, of, "summary", &listings::SUMMARY),
        BgpCommand::Peer(of) => peer(client, form, &of),
        BgpCommand::Routes(wanted) => routes(client, form, &wanted),
        BgpCommand::Received(wanted) => received(client, form, &wanted),
        BgpCommand::Route { function, prefix, family, vrf } => {
            let query = query(&[("prefix", Some(prefix)), ("family", family), ("vrf", vrf)]);
            rows(client, form, function, &format!("route{query}"), &listings::PATHS)
        }
        BgpCommand::Rpki(of) => asked(client, form, of.function, "bgp/rpki", &listings::CACHES),
        BgpCommand::Bmp(of) => asked(client, form, of.function, "bgp/bmp", &listings::STATIONS),
        BgpCommand::Dump { function, file } => {
            dump(client, &client.function(REFLECTOR, function)?, &file)
        }
        BgpCommand::RpkiRefresh { function } => {
            let function = client.function(REFLECTOR, function)?;
            let path = format!("/api/v1/functions/{}/bgp/rpki-refresh", segment(&function));
            let whole = client.post(&path, &json!({}))?;
            output::rows(form, &whole, rows_of(&whole), &listings::CACHES)
        }
        BgpCommand::Origin { function, prefix, asn } => {
            let asn = asn.map(|asn| asn.to_string());
            let query = query(&[("prefix", Some(prefix)), ("asn", asn)]);
            rows(client, form, function, &format!("origin{query}"), &listings::ORIGINS)
        }
        BgpCommand::Groups(of) => of_table(client, form, of, "groups", &listings::GROUPS),
        BgpCommand::Families(of) => of_table(client, form, of, "families", &listings::FAMILIES),
        BgpCommand::NextHops(of) => {
            asked(client, form, of.function, "bgp/next-hops", &listings::NEXT_HOPS)
        }
        BgpCommand::Fib { function, within } => {
            let about = format!("bgp/fib{}", query(&[("within", within)]));
            asked(client, form, function, &about, &listings::FIB)
        }
        BgpCommand::Clear(BgpClear { peer, soft, hard }) => {
            let name = &peer.peer.peer;
            let (how, what) = match (soft, hard) {
                (true, _) => ("soft", format!("the routes of {name} are exchanged again")),
                (_, true) => {
                    ("hard", format!("the session of {name} begins anew, without a trace"))
                }
                _ => ("", format!("the session of {name} begins anew")),
            };
            let order = json!({ "how": how, "text": peer.text });
            act(client, form, action(client, "bgp/clear", peer.peer, order)?, &what)
        }
        BgpCommand::Shutdown(BgpPeer { peer, text }) => {
            let name = &peer.peer;
            let what = format!("the session of {name} is shut down until `bgp enable {name}`");
            act(client, form, action(client, "bgp/shutdown", peer, json!({ "text": text }))?, &what)
        }
        BgpCommand::Enable(peer) => {
            let what = format!("the session of {} may stand again", peer.peer);
            act(client, form, action(client, "bgp/enable", peer, json!({}))?, &what)
        }
        BgpCommand::Forget { function, address } => {
            let (function, address) = function_or_address(function, address);
            let function = speaker(client, function)?;
            let path = format!("/api/v1/functions/{}/bgp/forget", segment(&function));
            let order = address.map_or_else(|| json!({}), |peer| json!({ "peer": peer }));
            let answer = client.post(&path, &order)?;
            output::sheet(form, &answer, |_, answer| listings::forgotten(answer))
        }
    }
}

/// Rows of a routing table.
fn of_table(
    client: &Client,
    form: Output,
    of: OfTable,
    what: &str,
    listing: &Listing,
) -> Result<(), Exit> {
    let about = format!("bgp/{what}{}", query(&[("vrf", of.vrf)]));
    asked(client, form, of.function, &about, listing)
}

/// The function that is meant: the one that was named, or the only one that speaks BGP.
fn speaker(client: &Client, named: Option<String>) -> Result<String, Exit> {
    if let Some(name) = named {
        return Ok(name);
    }
    let all = client.functions()?.into_iter();
    let all = all.filter(|(_, kind)| KINDS.contains(&kind.as_str()));
    let mut all: Vec<String> = all.map(|(name, _)| name).collect();
    if all.len() > 1 {
        // An edge has BGP or has not.
        let mut speaking = Vec::new();
        for name in all {
            let path = format!("/api/v1/functions/{}/bgp/families", segment(&name));
            speaking.extend(client.find(&path)?.map(|_| name));
        }
        all = speaking;
    }
    if all.is_empty() { client.function(REFLECTOR, None) } else { only(&all) }
}

fn rows_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What a function answers, as a table.
fn rows(
    client: &Client,
    form: Output,
    function: Option<String>,
    what: &str,
    listing: &Listing,
) -> Result<(), Exit> {
    let function = speaker(client, function)?;
    let whole = client.get(&format!("/api/v1/functions/{}/bgp/{what}", segment(&function)))?;
    output::rows(form, &whole, rows_of(&whole), listing)
}

/// All there is to say about a peer: a sheet for people.
fn peer(client: &Client, form: Output, of: &OfPeer) -> Result<(), Exit> {
    let query = query(&[("peer", Some(of.peer.clone()))]);
    let function = speaker(client, of.function.clone())?;
    let path = format!("/api/v1/functions/{}/bgp/peer{query}", segment(&function));
    output::sheet(form, &client.get(&path)?, |look, rows| listings::sheet(look, &rows[0]))
}

/// Writes the tables to a file, page after page.
fn dump(client: &Client, function: &str, file: &Path) -> Result<(), Exit> {
    let fault = |error: std::io::Error| Exit::Usage(format!("{}: {error}", file.display()));
    let mut out = BufWriter::new(File::create_new(file).map_err(fault)?);
    let (mut from, mut octets, mut empty) = (None, 0, 0);
    loop {
        let query = query(&[("from", from)]);
        let path = format!("/api/v1/functions/{}/bgp/dump{query}", segment(function));
        let page = client.get(&path)?;
        let piece = from_hex(page["octets"].as_str().unwrap_or_default());
        octets += piece.len() as u64;
        empty = if piece.is_empty() { empty + 1 } else { 0 };
        out.write_all(&piece).map_err(fault)?;
        match page["next"].as_str() {
            // A site that is no site of ours does not fill the disk.
            Some(_) if empty > EMPTY_MAX || octets > DUMP_OCTETS_MAX => {
                let what = format!("the dump has no end: given up after {octets} octets");
                return Err(Exit::Failed(what));
            }
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

/// Asks page after page until there are as many rows as are wanted; `next` is where others follow.
fn pages(
    client: &Client,
    function: &str,
    filters: &[(&str, Option<String>)],
    place: Place,
) -> Result<(Vec<Value>, Option<u64>), Exit> {
    let (mut rows, mut skip, mut empty) = (Vec::new(), place.skip, 0);
    loop {
        let limit = (place.limit - rows.len() as u64).min(PAGE);
        let own = [("skip", Some(skip.to_string())), ("limit", Some(limit.to_string()))];
        let query = query(&[filters, &own].concat());
        let path = format!("/api/v1/functions/{}/bgp/routes{query}", segment(function));
        let page = client.get(&path)?;
        rows.extend_from_slice(rows_of(&page["rows"]));
        empty = if rows_of(&page["rows"]).is_empty() { empty + 1 } else { 0 };
        let next = page["next"].as_u64().filter(|next| *next > skip && empty <= EMPTY_MAX);
        match next {
            Some(next) if (rows.len() as u64) < place.limit => skip = next,
            next => return Ok((rows, next)),
        }
    }
}

/// Which rows of all.
#[derive(Clone, Copy)]
struct Place {
    skip: u64,
    limit: u64,
}

/// Routes. For people they are sorted, where there are not too many to be asked for.
fn routes(client: &Client, form: Output, wanted: &BgpRoutes) -> Result<(), Exit> {
    let (of, family) = reflector_and_family(client, wanted)?;
    let filters = [
        ("family", Some(family)),
        ("within", wanted.within.clone()),
        ("vrf", wanted.vrf.clone()),
        ("text", wanted.text.clone()),
        ("received", wanted.received.clone()),
        ("advertised", wanted.advertised.clone()),
    ];
    let place = Place { skip: wanted.skip, limit: wanted.limit };
    let ask = |place| pages(client, &of, &filters, place);
    listed(form, place, ask, &listings::ROUTES)
}

/// Which reflector is asked for which family; a word alone that names no function is a family.
fn reflector_and_family(client: &Client, wanted: &BgpRoutes) -> Result<(String, String), Exit> {
    let (function, family) = match (&wanted.function, &wanted.family) {
        (Some(word), None) if !client.functions()?.iter().any(|(name, _)| name == word) => {
            (None, Some(word))
        }
        (function, family) => (function.clone(), family.as_ref()),
    };
    if let Some(prefix) = family.filter(|it| it.contains('/') || it.parse::<IpAddr>().is_ok()) {
        return Err(Exit::Usage(format!(
            "`{prefix}` is no family: `bgp route FUNCTION {prefix}` shows the paths of a route, \
             `--within {prefix}` the routes that a prefix covers"
        )));
    }
    let family = family.map_or("ipv4-unicast", String::as_str).to_owned();
    Ok((speaker(client, function)?, family))
}

/// Prints the wanted rows and how many more there are.
fn listed(
    form: Output,
    place: Place,
    ask: impl Fn(Place) -> Result<(Vec<Value>, Option<u64>), Exit>,
    listing: &Listing,
) -> Result<(), Exit> {
    if form != Output::Table {
        let (rows, _) = ask(place)?;
        return output::rows(form, &Value::from(rows.clone()), &rows, listing);
    }
    let (mut rows, next) = ask(Place { skip: 0, limit: SORTED_MAX })?;
    if next.is_some() {
        // More than are sorted: the order is the table's own.
        let (rows, next) = ask(place)?;
        output::rows(form, &Value::Null, &rows, listing)?;
        let more = next.map(|_| listings::more(rows.len(), None)).unwrap_or_default();
        return output::text(&more);
    }
    listings::sorted(&mut rows);
    let all = rows.len() as u64;
    let place = (usize::try_from(place.skip), usize::try_from(place.limit));
    let (skip, limit) = (place.0.unwrap_or(usize::MAX), place.1.unwrap_or(usize::MAX));
    let rows: Vec<Value> = rows.into_iter().skip(skip).take(limit).collect();
    output::rows(form, &Value::Null, &rows, listing)?;
    output::text(&listings::more(rows.len(), Some(all.saturating_sub(skip as u64))))
}

/// What a peer announced, before the import policy and after it.
fn received(client: &Client, form: Output, wanted: &BgpReceived) -> Result<(), Exit> {
    let names = || Ok(client.functions()?.into_iter().map(|(name, _)| name).collect());
    let (function, peer, family) = whose(wanted, names)?;
    let function = speaker(client, function)?;
    let filters = [
        ("family", Some(family.unwrap_or_else(|| "ipv4-unicast".to_owned()))),
        ("received", Some(peer)),
        ("before", Some("true".to_owned())),
    ];
    let ask = |place| pages(client, &function, &filters, place);
    let place = Place { skip: wanted.skip, limit: wanted.limit };
    listed(form, place, ask, &listings::RECEIVED)
}

/// The function, the peer and the family that were written: of two words the first is the function
/// if one is called so, else it is left out. `functions`: those of the site.
fn whose(
    written: &BgpReceived,
    functions: impl FnOnce() -> Result<Vec<String>, Exit>,
) -> Result<(Option<String>, String, Option<String>), Exit> {
    let first = written.function.clone();
    Ok(match (written.peer.clone(), written.family.clone()) {
        (None, family) => (None, first, family),
        (Some(peer), None) if !functions()?.contains(&first) => (None, first, Some(peer)),
        (Some(peer), family) => (Some(first), peer, family),
    })
}

/// What a function is told of a peer.
fn action<'a>(
    client: &Client,
    path: &'a str,
    mut of: OfPeer,
    order: Value,
) -> Result<Action<'a>, Exit> {
    of.function = Some(speaker(client, of.function)?);
    Ok(Action { kind: REFLECTOR, path, of, order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_received_are_a_function_if_one_is_called_so_a_peer_and_a_family() {
        let whose = |words: &[&str]| {
            let mut words = words.iter().map(|word| (*word).to_owned());
            let written = BgpReceived {
                function: words.next().unwrap(),
                peer: words.next(),
                family: words.next(),
                skip: 0,
                limit: 1,
            };
            whose(&written, || Ok(vec!["rr1".to_owned()])).unwrap()
        };
        let text = |word: &str| Some(word.to_owned());
        assert_eq!(whose(&["pe1"]), (None, "pe1".to_owned(), None));
        assert_eq!(whose(&["pe1", "evpn"]), (None, "pe1".to_owned(), text("evpn")));
        assert_eq!(whose(&["rr1", "pe1"]), (text("rr1"), "pe1".to_owned(), None));
        let all = (text("rr1"), "pe1".to_owned(), text("evpn"));
        assert_eq!(whose(&["rr1", "pe1", "evpn"]), all);
    }
}
