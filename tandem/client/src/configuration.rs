//! `tandem ctl config`: candidate, compare, check, commit, confirm, rollback.

use crate::api::Client;
use crate::complete::{Name, names};
use crate::exit::Exit;
use crate::output::{self, Output};
use crate::range::seconds;
use clap::Subcommand;
use local::query;
use serde_json::{Value, json};
use show::site::mistakes;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const CANDIDATE: &str = "/api/v1/config/candidate";

/// What `tandem ctl config` does.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print what runs, or a kept revision.
    Show {
        /// A kept revision.
        #[arg(long, add = names(Name::Revision))]
        revision: Option<u64>,
        /// The candidate in place of what runs.
        #[arg(long, conflicts_with = "revision")]
        candidate: bool,
    },
    /// Edit the candidate in $EDITOR.
    Edit,
    /// Make a file the candidate: the site file itself, when it was edited by hand.
    #[command(visible_alias = "set-file")]
    Load {
        /// The file; `-` is standard input.
        file: PathBuf,
    },
    /// Throw the candidate away.
    Discard,
    /// What a commit would change, what it would interrupt, and what somebody wrote into the site
    /// file by hand.
    Compare,
    /// Everything that would hinder a commit.
    Check,
    /// Make the candidate run.
    Commit {
        /// Take it back unless confirmed within this many seconds.
        #[arg(long, value_name = "SECONDS", value_parser = seconds(1..=86_400))]
        confirm: Option<u64>,
        /// The revision that the change is based on; absent: that of the candidate.
        #[arg(long)]
        revision: Option<u64>,
        /// A line for the history.
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
        /// Overwrite a site file that was edited by hand.
        #[arg(long)]
        force: bool,
    },
    /// Confirm the pending commit.
    Confirm {
        /// Overwrite a site file that was edited by hand.
        #[arg(long)]
        force: bool,
    },
    /// Make an old revision run again.
    Rollback {
        /// The revision; absent: that before the pending commit, or the newest before the running
        /// one that was confirmed and has another text.
        #[arg(add = names(Name::Revision))]
        to: Option<u64>,
        /// A line for the history.
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
        /// Overwrite a site file that was edited by hand.
        #[arg(long)]
        force: bool,
    },
    /// Kept revisions: who made each, what they said, and what became of it.
    History,
    /// The JSON schema of the site file.
    Schema,
}

/// Carries a command out.
pub fn config(client: &Client, form: Output, command: ConfigCommand) -> Result<(), Exit> {
    match command {
        ConfigCommand::Show { revision, candidate } => show(client, form, revision, candidate),
        ConfigCommand::Edit => edit(client, form),
        ConfigCommand::Load { file } => {
            put(client, &contents(&file)?, running(client)?)?;
            let what = match file == Path::new("-") {
                true => "what came in".to_owned(),
                false => file.display().to_string(),
            };
            loaded(form, &format!("{what} is the candidate"))
        }
        ConfigCommand::Discard => {
            client.delete(CANDIDATE)?;
            output::said(form, "the candidate is thrown away: it is what runs")
        }
        ConfigCommand::Compare => compare(client, form),
        ConfigCommand::Check => check(client, form),
        ConfigCommand::Commit { confirm, revision, comment, force } => {
            let order = json!({ "confirm_s": confirm, "comment": comment, "force": force });
            commit(client, form, order, revision)
        }
        ConfigCommand::Confirm { force } => {
            done(form, &client.post("/api/v1/config/confirm", &json!({ "force": force }))?)
        }
        ConfigCommand::Rollback { to, comment, force } => {
            let order = json!({ "to": to, "comment": comment, "force": force });
            done(form, &client.post("/api/v1/config/rollback", &order)?)
        }
        ConfigCommand::History => {
            let whole = client.get("/api/v1/config/history")?;
            let rows = whole.as_array().map(Vec::as_slice).unwrap_or_default();
            output::rows(form, &whole, rows, &show::site::HISTORY)
        }
        ConfigCommand::Schema => output::text(&output::json(&client.get("/api/v1/config/schema")?)),
    }
}

fn show(client: &Client, form: Output, revision: Option<u64>, candidate: bool) -> Result<(), Exit> {
    let query = query(&[("revision", revision.map(|revision| revision.to_string()))]);
    let path = if candidate { CANDIDATE.to_owned() } else { format!("/api/v1/config{query}") };
    let answer = client.get(&path)?;
    if form == Output::Json {
        return output::text(&output::json(&answer));
    }
    output::text(text_of(&answer))
}

fn text_of(answer: &Value) -> &str {
    answer["text"].as_str().unwrap_or_default()
}

fn revision_of(answer: &Value) -> u64 {
    answer["revision"].as_u64().unwrap_or_default()
}

fn running(client: &Client) -> Result<u64, Exit> {
    Ok(revision_of(&client.get("/api/v1/config")?))
}

fn contents(file: &Path) -> Result<String, Exit> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| Exit::Failed(format!("{}: {error}", file.display())))?;
    Ok(text)
}

fn put(client: &Client, text: &str, base: u64) -> Result<(), Exit> {
    client.put_text(&format!("{CANDIDATE}?revision={base}"), text)
}

/// Opens the candidate in the operator's editor and puts back what was written.
fn edit(client: &Client, form: Output) -> Result<(), Exit> {
    let candidate = client.get(CANDIDATE)?;
    let file = tempfile::Builder::new().prefix("candidate-").suffix(".toml").tempfile()?;
    std::fs::write(file.path(), text_of(&candidate))?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".into());
    // An editor may be written with its arguments, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program)
        .args(words)
        .arg(file.path())
        .status()
        .map_err(|error| Exit::Failed(format!("{editor}: {error}")))?;
    if !status.success() {
        return Err(Exit::Failed(format!("{editor} failed, the candidate is unchanged")));
    }
    let text = contents(file.path())?;
    if text == text_of(&candidate) {
        eprintln!("the candidate is unchanged");
        return Ok(());
    }
    put(client, &text, revision_of(&candidate))?;
    loaded(form, "what you wrote is the candidate")
}

fn loaded(form: Output, what: &str) -> Result<(), Exit> {
    output::said(form, &format!("{what}; `config compare` shows what a commit of it changes"))
}

fn check(client: &Client, form: Output) -> Result<(), Exit> {
    let answer = client.post(&format!("{CANDIDATE}/check"), &json!({}))?;
    let found = answer["issues"].as_array().map_or(0, Vec::len);
    if form == Output::Json {
        output::text(&output::json(&answer))?;
        return if found == 0 { Ok(()) } else { Err(Exit::Invalid(String::new())) };
    }
    if found == 0 {
        return output::said(form, "the candidate is right");
    }
    // The text is at hand, so that its lines are shown.
    if let Ok(found) = serde_json::from_value::<Vec<config::Diagnostic>>(answer["issues"].clone()) {
        let candidate = client.get(CANDIDATE)?;
        return Err(Exit::Invalid(config::render("candidate", text_of(&candidate), &found)));
    }
    let found = config::counted(found, "mistake", "mistakes");
    Err(Exit::Invalid(mistakes(&answer["issues"], &format!("the candidate has {found}"))))
}

/// The difference, and below it what a commit would interrupt.
fn compare(client: &Client, form: Output) -> Result<(), Exit> {
    let mut text = client.text(&format!("{CANDIDATE}/compare"))?;
    let (mut mistakes, mut found) = (json!([]), json!([]));
    let mut told = String::new();
    if text.contains("+++ candidate") {
        mistakes = client.post(&format!("{CANDIDATE}/check"), &json!({}))?["issues"].clone();
        found = client.get(&format!("{CANDIDATE}/interruptions"))?;
        let rows = |of: &Value| of.as_array().cloned().unwrap_or_default();
        told = match rows(&mistakes).len() {
            0 => config::interruptions_listed(
                rows(&found).iter().filter_map(|row| row["what"].as_str()),
            ),
            count => format!(
                "What a commit interrupts cannot be said: {} (`tandem ctl config check`).\n",
                config::counted(count, "mistake", "mistakes")
            ),
        };
    }
    let whole = json!({ "diff": text, "mistakes": mistakes, "interrupts": found });
    output::sheet(form, &whole, |_, _| {
        text.push_str(&told);
        output::harmless_lines(&text)
    })
}

fn commit(
    client: &Client,
    form: Output,
    mut order: Value,
    revision: Option<u64>,
) -> Result<(), Exit> {
    let base = match revision {
        Some(revision) => revision,
        None => revision_of(&client.get(CANDIDATE)?),
    };
    order["revision"] = base.into();
    done(form, &client.post(&format!("{CANDIDATE}/commit"), &order)?)
}

fn done(form: Output, answer: &Value) -> Result<(), Exit> {
    if form == Output::Json {
        return output::text(&output::json(answer));
    }
    let revision = revision_of(answer);
    match answer["confirm_within_s"].as_u64() {
        Some(left_s) => output::text(&format!(
            "revision {revision} runs; confirm within {left_s} s: tandem ctl config confirm\n"
        )),
        None => output::text(&format!("revision {revision} runs\n")),
    }
}
