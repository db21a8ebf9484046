//! `tandem ctl media` and `tandem ctl streams`.

use crate::cli::{Of, Output};
use crate::complete::functions;
use crate::ctl::{Client, Words, asked_and, query};
use crate::exit::Exit;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use show::msc as listings;

/// The words of media controllers.
#[derive(Debug, Subcommand)]
pub enum MscWords {
    /// How the media controllers stand: load, leases of ports, session controllers.
    Media(Of),
    /// Streams of media: their ends, codecs, loss and quality.
    Streams(Streams),
}

/// Which streams.
#[derive(Debug, Args)]
pub struct Streams {
    /// Name of the function.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only those of this call: its number, or its Call-ID.
    #[arg(long)]
    pub call: Option<String>,
    /// Streams at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
}

impl Words for MscWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Media(Of { function }) => media(client, form, function),
            Self::Streams(wanted) => streams(client, form, wanted),
        }
    }
}

fn media(client: &Client, form: Output, function: Option<String>) -> Result<(), Exit> {
    asked_and(client, form, function, "media", &listings::MEDIA, |_, rows| {
        for row in rows {
            let leases = listed(&row["leases"], |it| {
                let [group, family] = ["group", "family"].map(|key| it[key].as_str().unwrap_or(""));
                format!("{group} {family} {}/{}/{}", it["in_use"], it["leased"], it["pairs"])
            });
            let controllers = listed(&row["session_controllers"], |it| {
                let texts = ["session_controller", "state"].map(|key| it[key].as_str());
                texts.map(|text| text.unwrap_or("")).join(" ")
            });
            row["ports"] = json!(leases);
            row["session_controllers_told"] = json!(controllers);
        }
        Ok(())
    })
}

fn listed(rows: &Value, told: impl Fn(&Value) -> String) -> String {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn streams(client: &Client, form: Output, wanted: Streams) -> Result<(), Exit> {
    let Streams { function, call, limit } = wanted;
    let about = format!("streams{}", query(&[("call", call), ("limit", Some(limit.to_string()))]));
    asked_and(client, form, function, &about, &listings::STREAMS, |_, rows| {
        for row in rows {
            let ends = row["ends"].as_array().cloned().unwrap_or_default();
            for end in ends {
                let leg = end["leg"].as_str().unwrap_or("a").to_owned();
                for key in ["codec", "suite", "packets", "lost", "mos", "state"] {
                    row[format!("{leg}_{key}")] = end[key].clone();
                }
                let there = [&end["latched"], &end["remote"]].into_iter().find(|it| !it.is_null());
                row[format!("{leg}_at")] = there.cloned().unwrap_or_default();
            }
        }
        Ok(())
    })
}
