//! `tandem ctl plane`, `tandem ctl igp`, `tandem ctl bfd`, `tandem ctl ldp`, `tandem ctl label`,
//! `tandem ctl lsp` and `tandem ctl path`.

use super::igp::{
    Between, IgpCommand, LabelCommand, LdpCommand, LspCommand, igp, label, ldp, lsp, path,
};
use clap::{Args, Subcommand};
use client::complete::{Name, functions, names};
use client::{Client, Exit, Of, Output, Words, asked, asked_and, output, pages, query, segment};
use question::{Does, Question};
use serde_json::{Value, json};
use show::Listing;
use show::pe as listings;

/// Questions to the forwarder begin so.
const PLANE: &str = "plane/";

/// The words of provider edge routers.
#[derive(Debug, Subcommand)]
pub enum PeWords {
    /// The packet plane of routers: graph, ports, traces; without more, a summary.
    Plane {
        /// What of it.
        #[command(subcommand)]
        command: Option<PlaneCommand>,
    },
    /// Routing within a domain, OSPF and IS-IS: neighbours, databases, routes; without more, a
    /// summary.
    Igp {
        /// What of it.
        #[command(subcommand)]
        command: Option<IgpCommand>,
    },
    /// Neighbours watched by BFD: states, intervals in force, why they went down last.
    Bfd(Of),
    /// Labels by LDP: neighbours, bindings; without more, a summary.
    Ldp {
        /// What of it.
        #[command(subcommand)]
        command: Option<LdpCommand>,
    },
    /// Labels of routers: who gives them, and to what each was given; without more, who gives them.
    Label {
        /// What of it.
        #[command(subcommand)]
        command: Option<LabelCommand>,
    },
    /// Paths of labels (RFC 8029): whether packets come to their end, and past which routers.
    Lsp {
        /// What of it.
        #[command(subcommand)]
        command: LspCommand,
    },
    /// The paths between two routers that OSPF and IS-IS see, and where packets go when the first
    /// link of the shortest one does not work.
    Path(Between),
}

impl Words for PeWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let all = || Of { function: None };
        match self {
            Self::Plane { command } => {
                plane(client, form, command.unwrap_or(PlaneCommand::Summary(all())))
            }
            Self::Igp { command } => {
                igp(client, form, command.unwrap_or(IgpCommand::Summary(all())))
            }
            Self::Bfd(of) => asked(client, form, of.function, "bfd/sessions", &show::igp::BFD),
            Self::Ldp { command } => {
                ldp(client, form, command.unwrap_or(LdpCommand::Summary(all())))
            }
            Self::Label { command } => {
                label(client, form, command.unwrap_or(LabelCommand::Space(all())))
            }
            Self::Lsp { command } => lsp(client, form, command),
            Self::Path(between) => path(client, form, between),
        }
    }
}

/// What `tandem ctl plane` shows and does.
#[derive(Debug, Subcommand)]
pub enum PlaneCommand {
    /// How the router stands.
    Summary(Of),
    /// Nodes of the graph: packets, clocks a packet, every drop with its reason.
    Graph(Of),
    /// Packets that were lost, by node, port or interface, and why.
    Drops(Of),
    /// Ports: driver, link, packets and drops.
    Ports(Of),
    /// Interfaces: packets and octets.
    Interfaces(Of),
    /// Routes: those of the configuration and its files, those that interfaces make, those that
    /// were learnt.
    Routes(Of),
    /// Routing tables: labels, routes, interfaces.
    Vrfs(Of),
    /// MAC addresses of bridge domains: where they are, learnt or configured.
    Macs(Of),
    /// Neighbours: ARP and ND.
    Neighbours(Of),
    /// Cross-connects and what passed them.
    CrossConnects(Of),
    /// Filters, rule by rule, with their hits.
    Filters(Of),
    /// Neighbours by interface: how many, and why others are not there.
    Resolution(Of),
    /// Workers: how they stand, panics, cells of packets.
    Workers(Of),
    /// What the forwarder refused.
    Refusals(Of),
    /// What happened to MAC addresses of bridge domains: moves, freezes, limits.
    Events(Of),
    /// Trace packets from now on: `traced` shows them.
    Trace(PlaneTrace),
    /// The packets that `trace` chose, node by node.
    Traced(Of),
    /// Any question to the forwarder; parameters are written `name=value`.
    #[command(
        after_help = questions_as_help(),
        override_usage = "tandem ctl plane ask [OPTIONS] [FUNCTION] <PATH> [PARAMS]..."
    )]
    Ask {
        /// Name of the function; absent, so that the question stands here: all that answer it.
        #[arg(add = functions())]
        function: String,
        /// What is asked.
        #[arg(add = names(Name::Question))]
        path: Option<String>,
        /// How: `name=value`.
        #[arg(add = names(Name::Parameter))]
        params: Vec<String>,
    },
}

/// Which packets to trace.
#[derive(Debug, Args)]
pub struct PlaneTrace {
    /// Name of the function; absent: the only provider edge.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// So many at each worker, at most 256.
    #[arg(long, default_value_t = 10)]
    pub packets: u32,
    /// Only from this port.
    #[arg(long)]
    pub port: Option<String>,
    /// Only those with these octets in their first 128: `0a000001`.
    #[arg(long)]
    pub containing: Option<String>,
}

fn plane(client: &Client, form: Output, command: PlaneCommand) -> Result<(), Exit> {
    let (of, about, listing) = match command {
        PlaneCommand::Summary(of) => (of, "pe/summary", &listings::SUMMARY),
        PlaneCommand::Graph(of) => (of, "plane/graph", &listings::GRAPH),
        PlaneCommand::Drops(of) => (of, "plane/drops", &listings::DROPS),
        PlaneCommand::Ports(of) => return ports(client, form, of.function),
        PlaneCommand::Interfaces(of) => return interfaces(client, form, of.function),
        PlaneCommand::Routes(of) => (of, "pe/routes", &listings::ROUTES),
        PlaneCommand::Vrfs(of) => (of, "pe/vrfs", &listings::VRFS),
        PlaneCommand::Macs(of) => (of, "plane/macs", &listings::MACS),
        PlaneCommand::CrossConnects(of) => {
            let passed = Passed { about: "plane/interfaces", by: &["interface"] };
            let of = (of.function, "pe/cross-connects");
            return joined(client, form, of, &passed, &listings::CROSS_CONNECTS);
        }
        PlaneCommand::Filters(of) => {
            return asked(client, form, of.function, "plane/filters", &listings::FILTERS);
        }
        PlaneCommand::Neighbours(of) => (of, "plane/neighbours", &listings::NEIGHBOURS),
        PlaneCommand::Resolution(of) => (of, "plane/resolution", &listings::RESOLUTION),
        PlaneCommand::Workers(of) => (of, "plane/workers", &listings::WORKERS),
        PlaneCommand::Refusals(of) => (of, "pe/refusals", &listings::REFUSALS),
        PlaneCommand::Events(of) => (of, "pe/events", &listings::EVENTS),
        PlaneCommand::Traced(of) => (of, "plane/traced", &listings::TRACED),
        PlaneCommand::Trace(wanted) => return trace(client, form, &wanted),
        PlaneCommand::Ask { function, path, params } => {
            return ask(client, form, Wanted::read(function, path, params));
        }
    };
    asked(client, form, of.function, about, listing)
}

/// The questions that a forwarder is asked.
pub fn forwarder_questions() -> impl Iterator<Item = Question> {
    let is_asked = |it: &Question| it.does == Does::Ask && it.path.starts_with(PLANE);
    pe::questions().into_iter().filter(is_asked)
}

/// A line for each question, with its parameters.
fn questions_as_help() -> String {
    let line = |it: Question| {
        let named = it.parameters.iter().map(|it| format!(" {}=…", it.name));
        let asked = it.path.trim_start_matches(PLANE).to_owned() + &named.collect::<String>();
        let about = it.about.trim().lines().next().unwrap_or_default();
        format!("  {asked:<24}  {about}\n")
    };
    format!("Questions:\n{}", forwarder_questions().map(line).collect::<String>())
}

/// What was written as `name=value`, if the question has such a parameter.
fn parameter<'t>(of: &Question, text: &'t str) -> Result<(&'t str, Option<String>), Exit> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Exit::Usage(format!("`{text}`: write a parameter as name=value")));
    };
    let known = of.parameters.iter().map(|it| it.name);
    if !known.clone().any(|it| it == name) {
        let path = of.path.trim_start_matches(PLANE);
        let hint = config::meant(name, known, "it has none");
        return Err(Exit::Usage(format!("`{path}` has no parameter `{name}`: {hint}")));
    }
    Ok((name, Some(value.to_owned())))
}

/// A question to the forwarder, as its words stand.
struct Wanted {
    function: Option<String>,
    path: String,
    params: Vec<String>,
}

impl Wanted {
    /// The first word is the function, but where what follows is no question.
    fn read(first: String, second: Option<String>, mut params: Vec<String>) -> Self {
        match second {
            Some(path) if !path.contains('=') => Self { function: Some(first), path, params },
            parameter => {
                params.splice(0..0, parameter);
                Self { function: None, path: first, params }
            }
        }
    }
}

/// Asks the forwarder one of its questions.
fn ask(client: &Client, form: Output, wanted: Wanted) -> Result<(), Exit> {
    let Wanted { function, path, params } = wanted;
    let path = path.as_str();
    let found = listings::ASKED.iter().find(|(known, _)| *known == path);
    let Some((_, listing)) = found else {
        let hint = config::meant(path, listings::ASKED.iter().map(|(known, _)| *known), "");
        return Err(Exit::Usage(format!("a forwarder is not asked for `{path}`: {hint}")));
    };
    let of = forwarder_questions().find(|it| it.path.strip_prefix(PLANE) == Some(path));
    let named = of.iter().flat_map(|of| params.iter().map(|text| parameter(of, text)));
    let named = named.collect::<Result<Vec<_>, Exit>>()?;
    let about = format!("plane/{path}{}", query(&named));
    asked(client, form, function, &about, listing)
}

/// Why a function that runs does not serve yet: nobody forwards for it, as its answer `about` says.
/// `None`: somebody does, or it needs nobody, or may not be asked.
pub fn forwarder_away(client: &Client, function: &str, about: &str) -> Option<String> {
    let path = format!("/api/v1/functions/{}/{about}", segment(function));
    let rows = client.find(&path).ok().flatten()?;
    let is_away = rows[0]["forwarder"] == "away";
    is_away.then(|| format!("the forwarder of {function} is away"))
}

/// Rows of the forwarder, and the keys by which they belong to rows of the configuration.
struct Passed {
    about: &'static str,
    by: &'static [&'static str],
}

/// Rows of the configuration with what the forwarder has counted of each.
fn joined(
    client: &Client,
    form: Output,
    of: (Option<String>, &str),
    passed: &Passed,
    listing: &Listing,
) -> Result<(), Exit> {
    let (function, about) = of;
    asked_and(client, form, function, about, listing, |name, rows| {
        let path = format!("/api/v1/functions/{}/{}", segment(name), passed.about);
        let counted = pages(client, &path, client.find(&path)?.unwrap_or_default())?;
        for row in rows {
            let is_its = |it: &&Value| passed.by.iter().all(|key| it[*key] == row[*key]);
            let Some(more) = counted.iter().find(is_its).and_then(Value::as_object) else {
                continue;
            };
            more.iter().for_each(|(key, value)| row[key] = value.clone());
        }
        Ok(())
    })
}

/// Interfaces of the configuration, what passed them, and whether their ports are up.
fn interfaces(client: &Client, form: Output, function: Option<String>) -> Result<(), Exit> {
    let listing = &listings::INTERFACES;
    asked_and(client, form, function, "pe/interfaces", listing, |name, rows| {
        let [counts, ports] =
            ["plane/interfaces", "plane/ports"].map(|about| known(client, name, about));
        listings::with_counts(rows, &counts, &ports);
        Ok(())
    })
}

/// Ports, and why the forwarder refused those that do not stand.
fn ports(client: &Client, form: Output, function: Option<String>) -> Result<(), Exit> {
    let listing = &listings::PORTS;
    asked_and(client, form, function, "plane/ports", listing, |name, rows| {
        listings::with_refused(rows, &known(client, name, "pe/refusals"));
        Ok(())
    })
}

/// What a function tells beside what it was asked for; nothing while its forwarder is away.
fn known(client: &Client, function: &str, about: &str) -> Vec<Value> {
    let path = format!("/api/v1/functions/{}/{about}", segment(function));
    let first = client.find(&path).ok().flatten().unwrap_or_default();
    pages(client, &path, first).unwrap_or_default()
}

fn trace(client: &Client, form: Output, wanted: &PlaneTrace) -> Result<(), Exit> {
    let function = client.function("pe", wanted.function.clone())?;
    let path = format!("/api/v1/functions/{}/plane/trace", segment(&function));
    let mut how = json!({ "packets": wanted.packets.to_string() });
    for (name, value) in [("port", &wanted.port), ("containing", &wanted.containing)] {
        if let Some(value) = value {
            how[name] = Value::from(value.clone());
        }
    }
    let what = tracing(wanted, &function);
    output::acted(form, &client.post(&path, &how)?, &what)
}

/// What is traced from now on, and where to look.
fn tracing(wanted: &PlaneTrace, function: &str) -> String {
    let next = match wanted.packets {
        1 => "the next packet".to_owned(),
        packets => format!("the next {packets} packets"),
    };
    let port = wanted.port.as_ref().map(|port| format!(" from port {port}")).unwrap_or_default();
    let octets = wanted.containing.as_ref();
    let octets = octets.map(|octets| format!(" with the octets {octets}")).unwrap_or_default();
    format!(
        "traced at each worker: {next}{port}{octets}; `plane traced {function}` shows their way"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_forwarder_is_asked_has_a_table_and_a_line_of_help() {
        let asked: Vec<&str> =
            forwarder_questions().filter_map(|it| it.path.strip_prefix(PLANE)).collect();
        assert_eq!(asked, listings::ASKED.map(|(path, _)| path));
        let help = questions_as_help();
        assert!(asked.iter().all(|path| help.contains(&format!("\n  {path} "))), "{help}");
    }

    #[test]
    fn the_function_of_a_question_may_be_left_out() {
        let read = |words: &[&str]| {
            let mut words = words.iter().map(|&word| word.to_owned());
            let first = words.next().unwrap();
            Wanted::read(first, words.next(), words.collect())
        };
        let both = read(&["pe1", "macs", "limit=5"]);
        assert_eq!((both.function.as_deref(), both.path.as_str()), (Some("pe1"), "macs"));
        let alone = read(&["macs", "limit=5", "skip=2"]);
        assert_eq!((alone.function, alone.path.as_str()), (None, "macs"));
        assert_eq!(alone.params, ["limit=5", "skip=2"]);
        assert_eq!(read(&["ports"]).path, "ports");
    }

    #[test]
    fn a_parameter_that_a_question_has_not_is_refused_with_the_nearest() {
        let of = forwarder_questions().find(|it| it.path == "plane/macs").unwrap();
        assert_eq!(parameter(&of, "limit=5").unwrap(), ("limit", Some("5".to_owned())));
        let refused = |text| match parameter(&of, text) {
            Err(Exit::Usage(said)) => said,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused("limt=5"), "`macs` has no parameter `limt`: did you mean `limit`?");
        assert!(refused("limit").contains("name=value"));
    }

    #[test]
    fn who_traces_is_told_which_packets_and_where_to_look() {
        let all = PlaneTrace { function: None, packets: 10, port: None, containing: None };
        let wanted =
            "traced at each worker: the next 10 packets; `plane traced pe1` shows their way";
        assert_eq!(tracing(&all, "pe1"), wanted);
        let (port, containing) = (Some("ge0".to_owned()), Some("0a000001".to_owned()));
        let said = tracing(&PlaneTrace { packets: 1, port, containing, ..all }, "pe1");
        assert!(said.contains("the next packet from port ge0 with the octets 0a000001;"), "{said}");
    }
}
