//! `tandem ctl`: a running site, seen and steered through its API.

mod complete;
mod target;

pub use complete::known;
pub use target::{client_of, client_of_file};

use crate::cli::{Ctl, CtlCommand};
use crate::functions::{Kind, ROWS, functions};
use clap::Subcommand;
use client::{Client, Exit, Output, Words, configuration, output, segment};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two looks whether the site serves.
const LOOK: Duration = Duration::from_millis(100);
/// A wait that lasts so long says what it waits for, and again so long after that changes.
const PATIENCE: Duration = Duration::from_secs(2);
/// What it waits for is said again so often where it does not change.
const AGAIN: Duration = Duration::from_secs(10);

/// Makes the words of all kinds from their rows.
macro_rules! words {
    ($($(#[$doc:meta])* $key:ident: $sections:ident<$section:ty>,)*) => {
        /// The words of each kind.
        #[derive(Debug, Subcommand)]
        #[allow(non_camel_case_types, reason = "named after the rows")]
        pub enum FunctionWords {
            $(
                $(#[$doc])*
                #[command(flatten)]
                $key(<$section as Kind>::Words),
            )*
        }

        impl Words for FunctionWords {
            fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
                match self {
                    $(Self::$key(words) => words.run(client, form),)*
                }
            }
        }
    };
}
functions!(words);

/// Carries a command out.
pub fn ctl(ctl: Ctl) -> Result<(), Exit> {
    if matches!(ctl.command, CtlCommand::Wait) {
        return wait(&ctl);
    }
    let client = client_of(&ctl)?;
    let form = ctl.output;
    match ctl.command {
        CtlCommand::Wait => Ok(()),
        CtlCommand::Site => client::site(&client, form),
        CtlCommand::Function(words) => words.run(&client, form),
        CtlCommand::Pool(of) => {
            client::asked(&client, form, of.function, "pool", &show::site::POOL)
        }
        CtlCommand::Replica(of) => {
            client::asked(&client, form, of.function, "replica", &show::site::REPLICA)
        }
        CtlCommand::Track(of) => {
            client::asked(&client, form, of.function, "track", &show::site::TRACK)
        }
        CtlCommand::Switchover { function } => {
            let function = client::only(&client.able("switchover", function)?)?;
            let path = format!("/api/v1/functions/{}/switchover", segment(&function));
            let answer = client.post(&path, &json!({}))?;
            output::acted(form, &answer, &format!("the standby of {function} takes over"))
        }
        CtlCommand::ReloadCertificates(of) => {
            let path = "certificates/reload";
            let mut rows = Vec::new();
            for function in client.able(path, of.function)? {
                let path = format!("/api/v1/functions/{}/{path}", segment(&function));
                let answer = client.post(&path, &json!({}))?;
                rows.extend(answer.as_array().into_iter().flatten().cloned());
            }
            output::sheet(form, &rows.into(), |_, answer| show::site::reloaded(answer))
        }
        CtlCommand::Capture(wanted) => client::capture(&client, &wanted),
        CtlCommand::Sctp { command } => client::sctp(&client, form, command),
        CtlCommand::Diameter { command } => client::diameter(&client, form, command),
        CtlCommand::Counters { name, function, all } => {
            client::counters(&client, form, name, function, all)
        }
        CtlCommand::Alarms { history } => client::alarms(&client, form, history),
        CtlCommand::Config(command) => configuration::config(&client, form, command),
        CtlCommand::Drain => {
            client.post("/api/v1/drain", &json!({}))?;
            let what = "the site drains: it takes nothing new, and ends when what runs has ended";
            output::said(form, what)
        }
        CtlCommand::Log { filter } => log(&client, form, filter),
    }
}

fn log(client: &Client, form: Output, filter: Option<String>) -> Result<(), Exit> {
    let answer = match filter {
        Some(filter) => client.put("/api/v1/log", &json!({ "filter": filter }))?,
        None => client.get("/api/v1/log")?,
    };
    output::sheet(form, &answer, |_, answer| {
        format!("{}\n", answer["filter"].as_str().unwrap_or_default())
    })
}

/// What the site still waits for before it serves. Who has no right to ask the functions is told
/// what all are told.
fn awaited(client: &Client) -> Result<Option<String>, Exit> {
    client.get("/readyz")?;
    let all = client.functions().unwrap_or_default();
    Ok(all.into_iter().find_map(|(name, kind)| {
        let row = ROWS.iter().find(|row| row.key == kind)?;
        (row.awaited)(client, &name)
    }))
}

/// Waits until every function runs, and forwarders are there. A site that starts may not have told
/// its address yet, so that it is looked up each time. Where none is named it says which one it is:
/// another may have run before.
fn wait(ctl: &Ctl) -> Result<(), Exit> {
    let limit = Duration::from_secs(ctl.timeout);
    let until = Instant::now() + limit;
    let mut last = String::from("it was never asked");
    let mut said = Said::default();
    let is_named = ctl.url.is_some() || ctl.site.is_some();
    let mut chosen = None;
    while Instant::now() < until {
        if !is_named && chosen.is_none() {
            chosen = target::chosen_of_several(ctl)?;
        }
        let looked = match &chosen {
            Some(client) => served(client, is_named),
            None => client_of(ctl).and_then(|client| served(&client, is_named)),
        };
        match looked {
            Ok(None) => return Ok(()),
            Ok(Some(why)) => last = why,
            Err(Exit::Unreachable(why) | Exit::Failed(why) | Exit::TimedOut(why)) => last = why,
            Err(other) => return Err(other),
        }
        let left = until.saturating_duration_since(Instant::now());
        if said.is_news(limit.saturating_sub(left), &last) {
            eprintln!("waiting up to {} s: {last}", limit.as_secs());
        }
        thread::sleep(LOOK);
    }
    Err(Exit::TimedOut(format!("the site does not serve after {} s: {last}", limit.as_secs())))
}

/// What a site still waits for; of one that serves its name is said, unless it `is_named` already.
fn served(client: &Client, is_named: bool) -> Result<Option<String>, Exit> {
    let why = awaited(client)?;
    if why.is_none() && !is_named {
        // Who has no right to its name has given its address.
        let site = client.get("/api/v1/site").unwrap_or_default();
        if let Some(name) = site["name"].as_str() {
            eprintln!("the site `{}` serves", show::escaped(name));
        }
    }
    Ok(why)
}

/// What a wait has said so far.
#[derive(Debug, Default)]
struct Said {
    what: String,
    at: Duration,
}

impl Said {
    /// Whether this is to be said now that the wait has lasted so long.
    fn is_news(&mut self, lasted: Duration, what: &str) -> bool {
        let is_due = match self.what.is_empty() {
            true => lasted >= PATIENCE,
            false if self.what == what => lasted >= self.at + AGAIN,
            false => lasted >= self.at + PATIENCE,
        };
        if is_due {
            (self.what, self.at) = (what.to_owned(), lasted);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_says_what_it_waits_for_after_a_moment_and_when_that_changes() {
        let mut said = Said::default();
        let mut at = |ms, what| said.is_news(Duration::from_millis(ms), what);
        assert!(!at(1_900, "nobody listens"), "most sites serve by then");
        assert!(at(2_000, "nobody listens"));
        assert!(!at(2_100, "nobody listens"), "it is said already");
        assert!(!at(2_200, "ssc1 starts"), "not with each look");
        assert!(at(4_000, "ssc1 starts"));
        assert!(!at(13_900, "ssc1 starts"));
        assert!(at(14_000, "ssc1 starts"), "it still waits");
    }
}
