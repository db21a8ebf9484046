//! `tandem ctl capture`: messages of functions as a file that Wireshark opens, from the trails of
//! the service assurance server.

use crate::api::Client;
use crate::complete::{Name, names};
use crate::exit::Exit;
use crate::range::seconds;
use clap::Args;
use local::{query, segment};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which messages are written to a file.
#[derive(Debug, Args)]
pub struct Capture {
    /// Only what concerns this number, URI, Call-ID or address; absent: all.
    pub query: Option<String>,
    /// The file (pcapng); there must be none. `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub write: PathBuf,
    /// Trails whose messages are written at most, the newest first.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: u32,
    /// Watch for so long first, and write only what has begun since.
    #[arg(long, value_parser = seconds(1..=3_600))]
    pub seconds: Option<u64>,
    /// call, registration, …; absent: all kinds.
    #[arg(long, add = names(Name::TrailKind))]
    pub kind: Option<String>,
}

/// Writes the messages of the trails that match, the oldest first. Each is a section of the file
/// (draft-ietf-opsawg-pcapng §4.1), of which a file may have many.
pub fn capture(client: &Client, wanted: &Capture) -> Result<(), Exit> {
    let begun_us = oam::clock::now().as_micros();
    if let Some(seconds) = wanted.seconds {
        std::thread::sleep(Duration::from_secs(seconds));
    }
    let query = query(&[
        ("q", wanted.query.clone()),
        ("kind", wanted.kind.clone()),
        ("from_us", wanted.seconds.map(|_| begun_us.to_string())),
        ("limit", Some(wanted.limit.to_string())),
    ]);
    let path = format!("/api/v1/sas/trails{query}");
    let Some(found) = client.find(&path)? else {
        let what =
            "no service assurance server records here: add [sas], and `capture` to a function";
        return Err(Exit::Failed(what.into()));
    };
    let trails = found["trails"].as_array().map(Vec::as_slice).unwrap_or_default();
    if trails.is_empty() {
        return Err(Exit::Failed("no trail matches: no file was written".into()));
    }
    let mut out = file(&wanted.write)?;
    let mut octets = 0;
    for id in trails.iter().rev().filter_map(|trail: &Value| trail["id"].as_str()) {
        let path = format!("/api/v1/sas/trails/{}/pcapng", segment(id));
        let section = client.octets(&path)?;
        octets += section.len();
        out.write_all(&section)?;
    }
    out.flush()?;
    eprintln!("{}, {octets} octets", config::counted(trails.len(), "trail", "trails"));
    Ok(())
}

fn file(path: &Path) -> Result<Box<dyn Write>, Exit> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdout()));
    }
    let fault = |error: io::Error| Exit::Usage(format!("{}: {error}", path.display()));
    Ok(Box::new(io::BufWriter::new(File::create_new(path).map_err(fault)?)))
}
