//! `tandem ctl m3ua`, `sccp`, `gtt`, `tcap`, `applications` and `cluster`.

use super::rules::{self, Try};
use clap::{Args, Subcommand};
use client::complete::{functions, functions_and_peers, peers};
use client::{
    Action, Client, Exit, Of, OfPeer, Output, Words, act, asked, asked_and, output, query, segment,
};
use serde_json::{Value, json};
use show::sgc as listings;

/// The words of signalling gateways.
#[derive(Debug, Subcommand)]
pub enum SgcWords {
    /// M3UA: ASPs, Application Servers, routes; without more, the ASPs.
    #[command(args_conflicts_with_subcommands = true)]
    M3ua {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<M3uaCommand>,
    },
    /// SCCP: subsystems here and elsewhere; without more, those here.
    #[command(args_conflicts_with_subcommands = true)]
    Sccp {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<SccpCommand>,
    },
    /// Global titles: rules, and where a number goes; without more, the rules.
    #[command(args_conflicts_with_subcommands = true)]
    Gtt {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<GttCommand>,
    },
    /// TCAP: dialogues that stand, and what became of others.
    #[command(args_conflicts_with_subcommands = true)]
    Tcap {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<TcapCommand>,
    },
    /// Rules for what peers send: sets, hits, and what they would have refused.
    #[command(args_conflicts_with_subcommands = true)]
    Screening {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<ScreeningCommand>,
    },
    /// Applications on TCAP: their subsystems, instances and dialogues.
    Applications(ApplicationsOf),
    /// The cluster of a signalling gateway; without more, its nodes.
    #[command(args_conflicts_with_subcommands = true)]
    Cluster {
        #[command(flatten)]
        of: Of,
        /// What of it.
        #[command(subcommand)]
        command: Option<ClusterCommand>,
    },
}

/// What `tandem ctl cluster` shows and does.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Its nodes: who is heard, what each serves.
    Nodes(Of),
    /// Which node serves each partition, and who stands by.
    Partitions(Of),
    /// Which node hears which other one.
    Links(Of),
    /// Give the partitions of this node to the others, before it is stopped.
    Drain(Of),
    /// Take part again.
    Undrain(Of),
}

/// What `tandem ctl applications` shows.
#[derive(Debug, Args)]
pub struct ApplicationsOf {
    /// Name of the function; absent: all signalling gateways.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Each instance: its group, its dialogues, what waits for it.
    #[arg(long)]
    pub instances: bool,
}

impl Words for SgcWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::M3ua { of, command } => {
                m3ua(client, form, command.unwrap_or(M3uaCommand::Asps(of)))
            }
            Self::Sccp { of, command } => {
                sccp(client, form, command.unwrap_or(SccpCommand::Subsystems(of)))
            }
            Self::Gtt { of, command } => {
                gtt(client, form, command.unwrap_or(GttCommand::Rules(of)))
            }
            Self::Tcap { of, command } => {
                let TcapCommand::Dialogues(of) = command.unwrap_or(TcapCommand::Dialogues(of));
                asked(client, form, of.function, "tcap/dialogues", &listings::DIALOGUES)
            }
            Self::Screening { of, command } => {
                screening(client, form, command.unwrap_or(ScreeningCommand::List(of)))
            }
            Self::Cluster { of, command } => {
                cluster(client, form, command.unwrap_or(ClusterCommand::Nodes(of)))
            }
            Self::Applications(ApplicationsOf { function, instances: true }) => {
                asked(client, form, function, "applications/instances", &listings::INSTANCES)
            }
            Self::Applications(ApplicationsOf { function, .. }) => {
                asked(client, form, function, "applications", &listings::APPLICATIONS)
            }
        }
    }
}

fn cluster(client: &Client, form: Output, command: ClusterCommand) -> Result<(), Exit> {
    let list = |of: Of, path, listing| asked(client, form, of.function, path, listing);
    let act = |of: Of, action: &str| {
        let function = client.function("sgc", of.function)?;
        let path = format!("/api/v1/functions/{}/cluster/{action}", segment(&function));
        let answer = client.post(&path, &json!({}))?;
        output::acted(form, &answer, &listings::drained(&answer))
    };
    match command {
        ClusterCommand::Nodes(of) => list(of, "cluster", &listings::CLUSTER),
        ClusterCommand::Partitions(of) => list(of, "cluster/partitions", &listings::PARTITIONS),
        ClusterCommand::Links(of) => {
            let (path, listing) = ("cluster/links", &listings::CLUSTER_LINKS);
            asked_and(client, form, of.function, path, listing, |_, rows| {
                if form == Output::Table {
                    listings::blank_unknown(rows);
                }
                Ok(())
            })
        }
        ClusterCommand::Drain(of) => act(of, "drain"),
        ClusterCommand::Undrain(of) => act(of, "undrain"),
    }
}

/// What `tandem ctl screening` shows and does.
#[derive(Debug, Subcommand)]
pub enum ScreeningCommand {
    /// The sets, and what became of what their rules were asked about.
    List(Of),
    /// The rules that held, and how often.
    Hits {
        #[command(flatten)]
        of: Of,
        /// Only this set.
        #[arg(long)]
        set: Option<String>,
        /// Those that never held as well.
        #[arg(long)]
        all: bool,
    },
    /// Ask the rules of a site file about recorded messages; nothing is changed or sent.
    Try(Try),
}

fn screening(client: &Client, form: Output, command: ScreeningCommand) -> Result<(), Exit> {
    match command {
        ScreeningCommand::List(of) => {
            asked(client, form, of.function, "screening/sets", &listings::RULE_SETS)
        }
        ScreeningCommand::Hits { of, set, all } => {
            let query = query(&[("set", set), ("all", all.then(|| "yes".to_owned()))]);
            let path = format!("screening/hits{query}");
            asked(client, form, of.function, &path, &listings::RULE_HITS)
        }
        ScreeningCommand::Try(wanted) => rules::tried(client, form, &wanted),
    }
}

/// What `tandem ctl m3ua` shows and does.
#[derive(Debug, Subcommand)]
pub enum M3uaCommand {
    /// Peers: association, state, what they are active for.
    Asps(Of),
    /// Application Servers: state, traffic mode, ASPs.
    Servers(Of),
    /// Where traffic goes.
    Routes(Of),
    /// Registered Routing Keys.
    Keys(Of),
    /// Destinations that are unavailable, restricted or congested.
    Destinations(Of),
    /// What would become of an MSU, and why; nothing is sent.
    Trace(M3uaTrace),
    /// Ask an SGP for the status of a destination (DAUD); `destinations` shows what it tells.
    #[command(override_usage = "tandem ctl m3ua audit [OPTIONS] [FUNCTION] <PEER> <POINT_CODE>")]
    Audit {
        /// Name of the function; absent, so that the peer stands here: the only signalling gateway.
        #[arg(add = functions_and_peers())]
        function: String,
        /// Name of the peer.
        #[arg(add = peers())]
        peer: String,
        /// The point code, or `all`.
        point_code: Option<String>,
    },
    /// Lock a peer out: it is down until it is let in again.
    #[command(allow_missing_positional = true)]
    Block(OfPeer),
    /// Let a peer in again.
    #[command(allow_missing_positional = true)]
    Unblock(OfPeer),
    /// Ask a peer for the traffic of an Application Server (ASP Active).
    #[command(override_usage = "tandem ctl m3ua activate [OPTIONS] [FUNCTION] <PEER> <SERVER>")]
    Activate(OfServer),
    /// Give the traffic of an Application Server back (ASP Inactive).
    #[command(override_usage = "tandem ctl m3ua deactivate [OPTIONS] [FUNCTION] <PEER> <SERVER>")]
    Deactivate(OfServer),
}

/// An MSU that is not sent.
#[derive(Debug, Args)]
pub struct M3uaTrace {
    /// Name of the function; absent: the only signalling gateway.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Its destination, as the function writes point codes.
    #[arg(long)]
    pub dpc: String,
    /// Its origin; absent: any that the peer may have.
    #[arg(long)]
    pub opc: Option<String>,
    /// Service indicator: 3 is SCCP, 5 is ISUP.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..16))]
    pub si: u8,
    /// Signalling link selection.
    #[arg(long, default_value_t = 0)]
    pub sls: u8,
    /// Network indicator.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..4))]
    pub ni: u8,
    /// The peer that it comes from; absent: it is one of this node.
    #[arg(long, add = peers())]
    pub from: Option<String>,
}

/// An Application Server at a peer of a function.
#[derive(Debug, Args)]
pub struct OfServer {
    /// Name of the function; absent, so that the peer stands here: the only signalling gateway.
    #[arg(add = functions_and_peers())]
    pub function: String,
    /// Name of the peer.
    #[arg(add = peers())]
    pub peer: String,
    /// Name of the Application Server.
    pub server: Option<String>,
}

/// What `tandem ctl sccp` shows and does.
#[derive(Debug, Subcommand)]
pub enum SccpCommand {
    /// Subsystems of this node: who takes their data, whether they are in service.
    Subsystems(Of),
    /// Nodes and subsystems elsewhere that are not as they should be.
    Remotes(Of),
    /// Connections of classes 2 and 3: with whom, whose they are, what waits.
    Connections(Of),
    /// Ask a node whether its SCCP is there, and a subsystem of it (SST); fails where it is not.
    #[command(override_usage = "tandem ctl sccp ping [OPTIONS] [FUNCTION] <POINT_CODE> [SSN]")]
    Ping {
        /// Name of the function, absent: the only signalling gateway; the point code; the number of
        /// a subsystem, absent: the SCCP alone is asked.
        #[arg(required = true, num_args = 1..=3, add = functions())]
        words: Vec<String>,
    },
    /// Take a subsystem out of service: those concerned are told.
    #[command(allow_missing_positional = true)]
    Block(OfSubsystem),
    /// Put it into service again.
    #[command(allow_missing_positional = true)]
    Unblock(OfSubsystem),
}

/// What `tandem ctl tcap` shows.
#[derive(Debug, Subcommand)]
pub enum TcapCommand {
    /// Dialogues that stand, and what became of others.
    Dialogues(Of),
}

/// A subsystem of a function.
#[derive(Debug, Args)]
pub struct OfSubsystem {
    /// Name of the function; absent: the only signalling gateway.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Name of the subsystem, or its number.
    pub subsystem: String,
}

/// What `tandem ctl gtt` shows.
#[derive(Debug, Subcommand)]
pub enum GttCommand {
    /// The rules, in the order of the site file.
    Rules(Of),
    /// Where a title goes now, and by which rules; nothing is sent.
    #[command(allow_missing_positional = true)]
    Translate(GttTranslate),
}

/// A global title.
#[derive(Debug, Args)]
pub struct GttTranslate {
    /// Name of the function; absent: the only signalling gateway.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Its digits; a plus in front is left out.
    pub digits: String,
    /// Whose title it is: a calling one is changed in what leaves the node.
    #[arg(long, default_value = "called", value_parser = ["called", "calling"])]
    pub of: String,
    /// The subsystem that is called.
    #[arg(long)]
    pub subsystem: Option<u8>,
    /// Global Title Indicator, 1 to 4.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..5))]
    pub indicator: u8,
    /// Translation type.
    #[arg(long, default_value_t = 0)]
    pub translation_type: u8,
    /// Numbering plan: 1 is E.164, 6 is E.212, 7 is E.214.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..16))]
    pub numbering_plan: u8,
    /// Nature of address: 3 is national, 4 is international.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..128))]
    pub nature_of_address: u8,
    /// Signalling link selection: by it load is shared.
    #[arg(long, default_value_t = 0)]
    pub sls: u8,
}

fn sccp(client: &Client, form: Output, command: SccpCommand) -> Result<(), Exit> {
    let act = |of: OfSubsystem, action: &str| {
        let function = client.function("sgc", of.function)?;
        let path = format!("/api/v1/functions/{}/sccp/{action}", segment(&function));
        let answer = client.post(&path, &json!({ "subsystem": of.subsystem }))?;
        output::acted(form, &answer, &listings::subsystem_set(&answer))
    };
    let list = |of: Of, path, listing| asked(client, form, of.function, path, listing);
    match command {
        SccpCommand::Subsystems(of) => list(of, "sccp/subsystems", &listings::SUBSYSTEMS),
        SccpCommand::Remotes(of) => list(of, "sccp/remotes", &listings::REMOTES),
        SccpCommand::Connections(of) => list(of, "sccp/connections", &listings::CONNECTIONS),
        SccpCommand::Ping { words } => ping(client, form, words),
        SccpCommand::Block(of) => act(of, "block"),
        SccpCommand::Unblock(of) => act(of, "unblock"),
    }
}

fn ping(client: &Client, form: Output, words: Vec<String>) -> Result<(), Exit> {
    let is_number =
        |word: &String| word.bytes().all(|it| it.is_ascii_digit() || b"-.".contains(&it));
    let mut words = words.into_iter().peekable();
    // A function that is called as point codes are is named with all three.
    let has_function = words.len() == 3 || words.peek().is_some_and(|word| !is_number(word));
    let function = if has_function { words.next() } else { None };
    let Some(point_code) = words.next() else {
        return Err(Exit::Usage("which node? `tandem ctl sccp ping [FUNCTION] POINT_CODE".into()));
    };
    let mut order = json!({ "point_code": point_code });
    if let Some(subsystem) = words.next() {
        order["subsystem"] = subsystem.into();
    }
    let function = client.function("sgc", function)?;
    let path = format!("/api/v1/functions/{}/sccp/ping", segment(&function));
    let answer = client.post(&path, &order)?;
    let rows = answer.as_array().cloned().unwrap_or_default();
    output::rows(form, &answer, &rows, &listings::PINGED)?;
    match rows.last() {
        Some(row) if row["state"] != "answers" => {
            let (ssn, state) = (&row["subsystem"], row["state"].as_str().unwrap_or_default());
            Err(Exit::Failed(format!("subsystem {ssn} of {point_code} is {state}")))
        }
        _ => Ok(()),
    }
}

fn gtt(client: &Client, form: Output, command: GttCommand) -> Result<(), Exit> {
    let title = match command {
        GttCommand::Rules(of) => {
            return asked(client, form, of.function, "gtt/rules", &listings::RULES);
        }
        GttCommand::Translate(title) => title,
    };
    let query = query(&[
        ("digits", Some(title.digits.clone())),
        ("of", Some(title.of.clone())),
        ("subsystem", title.subsystem.map(|it| it.to_string())),
        ("indicator", Some(title.indicator.to_string())),
        ("translation_type", Some(title.translation_type.to_string())),
        ("numbering_plan", Some(title.numbering_plan.to_string())),
        ("nature_of_address", Some(title.nature_of_address.to_string())),
        ("sls", Some(title.sls.to_string())),
    ]);
    let function = client.function("sgc", title.function)?;
    let path = format!("/api/v1/functions/{}/gtt/translate{query}", segment(&function));
    output::sheet(form, &client.get(&path)?, listings::translated)
}

fn m3ua(client: &Client, form: Output, command: M3uaCommand) -> Result<(), Exit> {
    match command {
        M3uaCommand::Asps(of) => asked(client, form, of.function, "m3ua/asps", &listings::ASPS),
        M3uaCommand::Servers(of) => {
            asked(client, form, of.function, "m3ua/servers", &listings::SERVERS)
        }
        M3uaCommand::Routes(of) => {
            asked(client, form, of.function, "m3ua/routes", &listings::ROUTES)
        }
        M3uaCommand::Keys(of) => asked(client, form, of.function, "m3ua/keys", &listings::KEYS),
        M3uaCommand::Destinations(of) => {
            asked(client, form, of.function, "m3ua/destinations", &listings::DESTINATIONS)
        }
        M3uaCommand::Trace(msu) => trace(client, form, &msu),
        M3uaCommand::Audit { function, peer, point_code } => {
            let (peer, point_code) = shifted(function, peer, point_code);
            let what = format!(
                "{} was asked for the status of {point_code}: `m3ua destinations` shows what it \
                 tells",
                peer.peer
            );
            act(
                client,
                form,
                action("m3ua/audit", peer, json!({ "point_code": point_code })),
                &what,
            )
        }
        M3uaCommand::Block(peer) => {
            let what = format!("{} is kept out until `m3ua unblock {}`", peer.peer, peer.peer);
            act(client, form, action("m3ua/block", peer, json!({})), &what)
        }
        M3uaCommand::Unblock(peer) => {
            let what = format!("{} is let in again", peer.peer);
            act(client, form, action("m3ua/unblock", peer, json!({})), &what)
        }
        M3uaCommand::Activate(OfServer { function, peer, server }) => {
            let (peer, server) = shifted(function, peer, server);
            let what = format!("{} was asked for the traffic of {server}", peer.peer);
            act(client, form, action("m3ua/activate", peer, json!({ "server": server })), &what)
        }
        M3uaCommand::Deactivate(OfServer { function, peer, server }) => {
            let (peer, server) = shifted(function, peer, server);
            let what = format!("{} was told to keep the traffic of {server}", peer.peer);
            act(client, form, action("m3ua/deactivate", peer, json!({ "server": server })), &what)
        }
    }
}

fn trace(client: &Client, form: Output, msu: &M3uaTrace) -> Result<(), Exit> {
    let query = query(&[
        ("dpc", Some(msu.dpc.clone())),
        ("opc", msu.opc.clone()),
        ("si", Some(msu.si.to_string())),
        ("sls", Some(msu.sls.to_string())),
        ("ni", Some(msu.ni.to_string())),
        ("from", msu.from.clone()),
    ]);
    let function = client.function("sgc", msu.function.clone())?;
    let path = format!("/api/v1/functions/{}/m3ua/trace{query}", segment(&function));
    output::sheet(form, &client.get(&path)?, listings::trace)
}

/// The peer and what follows it: of two words none is the function.
fn shifted(function: String, peer: String, last: Option<String>) -> (OfPeer, String) {
    match last {
        Some(last) => (OfPeer { function: Some(function), peer }, last),
        None => (OfPeer { function: None, peer: function }, peer),
    }
}

/// What this function is told of a peer.
const fn action(path: &str, of: OfPeer, order: Value) -> Action<'_> {
    Action { kind: "sgc", path, of, order }
}
