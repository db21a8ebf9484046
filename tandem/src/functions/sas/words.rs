//! What `tandem ctl` says to the service assurance server.

use clap::{Args, Subcommand};
use client::complete::{Name, names};
use client::{Client, Exit, Output, Words, output, query, segment};

/// The words of the service assurance server.
#[derive(Debug, Subcommand)]
pub enum SasWords {
    /// Recorded calls and other trails.
    Trails(Trails),
    /// The calls with the worst media, by MOS.
    WorstCalls(WorstCalls),
    /// One trail as a ladder.
    Trail {
        /// Its id, as `trails` shows it; or `trail` of a call (`-o json calls`), or a Call-ID.
        id: String,
        /// Leave out the messages in full below it.
        #[arg(long)]
        ladder: bool,
    },
}

impl Words for SasWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Trails(wanted) => trails(client, form, &wanted),
            Self::WorstCalls(wanted) => worst(client, form, &wanted),
            Self::Trail { id, ladder } => trail(client, form, &id, ladder),
        }
    }
}

/// Which trails.
#[derive(Debug, Args)]
pub struct Trails {
    /// A number, URI, Call-ID or address; and what its media were like: `MOS < 3.5`.
    pub query: Option<String>,
    /// Number or user part of From, To or an asserted identity.
    #[arg(long)]
    pub number: Option<String>,
    /// Call-ID of any leg.
    #[arg(long)]
    pub call_id: Option<String>,
    /// Address of a host.
    #[arg(long)]
    pub address: Option<String>,
    /// Method of the first request.
    #[arg(long)]
    pub method: Option<String>,
    /// Final status, or a class of them: 486, 4xx.
    #[arg(long)]
    pub status: Option<String>,
    /// call, registration, subscription, message, options, rejected, session, other; absent: all,
    /// but probes (options) only where something else is looked for.
    #[arg(long, add = names(Name::TrailKind))]
    pub kind: Option<String>,
    /// answered, busy, cancelled, no-answer, rejected, failed, …
    #[arg(long, add = names(Name::Outcome))]
    pub outcome: Option<String>,
    /// Rows at most.
    #[arg(long, default_value_t = 50)]
    pub limit: u32,
}

/// Trails of the service assurance server.
fn trails(client: &Client, form: Output, wanted: &Trails) -> Result<(), Exit> {
    let named = [&wanted.query, &wanted.number, &wanted.call_id, &wanted.address, &wanted.method];
    let is_for_all = named.into_iter().chain([&wanted.status, &wanted.kind]).all(Option::is_none);
    let query = query(&[
        // Probes of health are many and all alike.
        ("without", is_for_all.then(|| "options".to_owned())),
        ("q", wanted.query.clone()),
        ("number", wanted.number.clone()),
        ("call_id", wanted.call_id.clone()),
        ("address", wanted.address.clone()),
        ("method", wanted.method.clone()),
        ("status", wanted.status.clone()),
        ("kind", wanted.kind.clone()),
        ("outcome", wanted.outcome.clone()),
        ("limit", Some(wanted.limit.to_string())),
    ]);
    let whole = client.get(&format!("/api/v1/sas/trails{query}"))?;
    let rows = whole["trails"].as_array().map(Vec::as_slice).unwrap_or_default();
    output::rows(form, &whole, rows, show::sas::listing(rows))
}

/// Which of the worst calls.
#[derive(Debug, Args)]
pub struct WorstCalls {
    /// As of `trails`: `codec opus`, a number, an address.
    pub query: Option<String>,
    /// Rows at most, 100.
    #[arg(long, default_value_t = 20)]
    pub limit: u32,
}

/// The worst calls of the last 24 hours.
fn worst(client: &Client, form: Output, wanted: &WorstCalls) -> Result<(), Exit> {
    let query = query(&[("q", wanted.query.clone()), ("limit", Some(wanted.limit.to_string()))]);
    let whole = client.get(&format!("/api/v1/sas/worst{query}"))?;
    let trails = whole["trails"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<_> = trails.iter().map(show::sas::worst_call).collect();
    output::rows(form, &whole, &rows, &show::sas::WORST_CALLS)
}

/// One trail: the ladder as text, everything as JSON, or its messages and events as CSV.
fn trail(client: &Client, form: Output, id: &str, ladder: bool) -> Result<(), Exit> {
    let path = format!("/api/v1/sas/trails/{}", segment(id));
    match form {
        Output::Json => output::text(&output::json(&client.get(&path)?)),
        Output::Csv => {
            let whole = client.get(&path)?;
            output::rows(form, &whole, &show::sas::steps(&whole), &show::sas::STEPS)
        }
        Output::Table => {
            let drawn = if ladder { "ladder" } else { "text" };
            output::text(&client.text(&format!("{path}/{drawn}"))?)
        }
    }
}
