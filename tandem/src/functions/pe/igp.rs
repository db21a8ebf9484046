//! `tandem ctl igp` and `tandem ctl ldp`.

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
