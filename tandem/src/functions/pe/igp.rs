//! `tandem ctl igp`, `tandem ctl ldp`, `tandem ctl label` and `tandem ctl lsp`.

use clap::{Args, Subcommand};
use client::complete::functions;
use client::{Client, Exit, Of, Output, asked, query};
use show::igp as listings;

/// What `tandem ctl igp` shows.
#[derive(Debug, Subcommand)]
pub enum IgpCommand {
    /// How OSPF and IS-IS stand.
    Summary(Of),
    /// Routers that are heard, and how far the exchange with each has come.
    Neighbours(Of),
    /// Interfaces: state, cost, designated router.
    Interfaces(Of),
    /// The link state databases.
    Database(Database),
    /// Routes, those on the router's own links included.
    Routes(Routes),
    /// Runs of SPF, by area and level.
    Spf(Of),
    /// Links of the topologies that SPF sees.
    Topology(Topology),
    /// What the last runs of SPF saw change of them.
    Changes(Topology),
}

/// Which topologies.
#[derive(Debug, Args)]
pub struct Topology {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only of `ospf`, or of `isis`.
    #[arg(long)]
    pub protocol: Option<String>,
    /// Only of this area or level: `0.0.0.0`, `level-2`.
    #[arg(long)]
    pub area: Option<String>,
}

/// Between which routers.
#[derive(Debug, Args)]
pub struct Between {
    /// The first router: its number, of IS-IS its system ID or name.
    pub from: String,
    /// The last one.
    pub to: String,
    /// Name of the function that is asked; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only of `ospf`, or of `isis`.
    #[arg(long)]
    pub protocol: Option<String>,
    /// Only of this area or level: `0.0.0.0`, `level-2`.
    #[arg(long)]
    pub area: Option<String>,
}

/// Which LSAs.
#[derive(Debug, Args)]
pub struct Database {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only of `ospf`, or of `isis`.
    #[arg(long)]
    pub protocol: Option<String>,
    /// Only of this area or level: `0.0.0.0` or `0`, `level-2`.
    #[arg(long)]
    pub area: Option<String>,
    /// Only of this type: `Router`, `Network`, `Summary`, `AS External`, `LSP` …
    #[arg(long)]
    pub kind: Option<String>,
    /// Only what this router says.
    #[arg(long)]
    pub router: Option<String>,
}

/// Which routes.
#[derive(Debug, Args)]
pub struct Routes {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only of `ospf`, or of `isis`.
    #[arg(long)]
    pub protocol: Option<String>,
    /// Only those within this prefix.
    #[arg(long)]
    pub within: Option<String>,
    /// Only those that cover this address.
    #[arg(long)]
    pub covering: Option<String>,
}

/// Shows it.
pub fn igp(client: &Client, form: Output, command: IgpCommand) -> Result<(), Exit> {
    let (of, about, listing) = match command {
        IgpCommand::Summary(of) => (of, "igp/summary", &listings::SUMMARY),
        IgpCommand::Neighbours(of) => (of, "igp/neighbours", &listings::NEIGHBOURS),
        IgpCommand::Interfaces(of) => (of, "igp/interfaces", &listings::INTERFACES),
        IgpCommand::Spf(of) => (of, "igp/spf", &listings::SPF),
        IgpCommand::Database(it) => {
            let of = ("protocol", it.protocol);
            let how = query(&[of, ("area", it.area), ("kind", it.kind), ("router", it.router)]);
            let about = format!("igp/database{how}");
            return asked(client, form, it.function, &about, &listings::DATABASE);
        }
        IgpCommand::Topology(it) => {
            let how = query(&[("protocol", it.protocol), ("area", it.area)]);
            let about = format!("igp/topology{how}");
            return asked(client, form, it.function, &about, &listings::TOPOLOGY);
        }
        IgpCommand::Changes(it) => {
            let how = query(&[("protocol", it.protocol), ("area", it.area)]);
            let about = format!("igp/changes{how}");
            return asked(client, form, it.function, &about, &listings::CHANGES);
        }
        IgpCommand::Routes(it) => {
            let of = ("protocol", it.protocol);
            let how = query(&[of, ("within", it.within), ("covering", it.covering)]);
            let about = format!("igp/routes{how}");
            return asked(client, form, it.function, &about, &listings::ROUTES);
        }
    };
    asked(client, form, of.function, about, listing)
}

/// Shows the paths between two routers.
pub fn path(client: &Client, form: Output, it: Between) -> Result<(), Exit> {
    let ends = [("from", Some(it.from)), ("to", Some(it.to))];
    let how = query(&[&ends[..], &[("protocol", it.protocol), ("area", it.area)]].concat());
    asked(client, form, it.function, &format!("igp/path{how}"), &listings::PATHS)
}

/// What `tandem ctl ldp` shows.
#[derive(Debug, Subcommand)]
pub enum LdpCommand {
    /// How LDP stands.
    Summary(Of),
    /// Routers that are heard, and their sessions.
    Neighbours(Of),
    /// Prefixes and their labels, here and at neighbours.
    Bindings(Bindings),
}

/// Which bindings.
#[derive(Debug, Args)]
pub struct Bindings {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only those within this prefix.
    #[arg(long)]
    pub within: Option<String>,
}

/// Shows it.
pub fn ldp(client: &Client, form: Output, command: LdpCommand) -> Result<(), Exit> {
    let (of, about, listing) = match command {
        LdpCommand::Summary(of) => (of.function, "ldp/summary".to_owned(), &listings::LDP),
        LdpCommand::Neighbours(of) => {
            (of.function, "ldp/neighbours".to_owned(), &listings::LDP_NEIGHBOURS)
        }
        LdpCommand::Bindings(it) => {
            let how = query(&[("within", it.within)]);
            (it.function, format!("ldp/bindings{how}"), &listings::LDP_BINDINGS)
        }
    };
    asked(client, form, of, &about, listing)
}

/// What `tandem ctl label` shows.
#[derive(Debug, Subcommand)]
pub enum LabelCommand {
    /// Who gives labels, and how many are given.
    Space(Of),
    /// Labels that were given, and to what.
    Given(Given),
}

/// Which labels.
#[derive(Debug, Args)]
pub struct Given {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only this one.
    #[arg(long)]
    pub label: Option<u32>,
}

/// Shows it.
pub fn label(client: &Client, form: Output, command: LabelCommand) -> Result<(), Exit> {
    match command {
        LabelCommand::Space(of) => {
            asked(client, form, of.function, "labels/space", &listings::LABEL_SPACE)
        }
        LabelCommand::Given(it) => {
            let how = query(&[("label", it.label.map(|it| it.to_string()))]);
            asked(client, form, it.function, &format!("labels/given{how}"), &listings::LABELS)
        }
    }
}

/// What `tandem ctl lsp` does.
#[derive(Debug, Subcommand)]
pub enum LspCommand {
    /// Sends requests along the labels of a prefix: whether they come to its end.
    Ping(Pinged),
    /// Finds out which routers the labels of a prefix lead past.
    Trace(Traced),
}

/// Which path, and how often.
#[derive(Debug, Args)]
pub struct Pinged {
    /// The prefix, as LDP has it: `10.255.0.3/32`, or `10.255.0.3`.
    pub prefix: String,
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Requests, 1 to 20.
    #[arg(long)]
    pub count: Option<u8>,
}

/// Which path, and how far.
#[derive(Debug, Args)]
pub struct Traced {
    /// The prefix, as LDP has it: `10.255.0.3/32`, or `10.255.0.3`.
    pub prefix: String,
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Hops, 1 to 32.
    #[arg(long)]
    pub hops: Option<u8>,
}

/// Does it.
pub fn lsp(client: &Client, form: Output, command: LspCommand) -> Result<(), Exit> {
    let (word, function, prefix, more) = match command {
        LspCommand::Ping(it) => ("ping", it.function, it.prefix, ("count", it.count)),
        LspCommand::Trace(it) => ("trace", it.function, it.prefix, ("hops", it.hops)),
    };
    let more = (more.0, more.1.map(|it| it.to_string()));
    let about = format!("lsp/{word}{}", query(&[("prefix", Some(prefix)), more]));
    asked(client, form, function, &about, &listings::LSP)
}
