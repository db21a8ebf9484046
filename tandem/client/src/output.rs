//! What is printed on standard output: tables and sheets for people, JSON, CSV (`tandem/show`).

use crate::exit::Exit;
use clap::ValueEnum;
use serde_json::Value;
use show::{Listing, Look};
use std::io::{self, IsTerminal as _, Write as _};

pub use show::{harmless_lines, json};

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// What the API answered.
    Json,
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
}

/// How the terminal is: colours are for terminals, and not where `NO_COLOR` is set
/// (no-color.org) or the terminal is a dumb one.
fn look() -> Look {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_terminal = io::stdout().is_terminal();
    let size = terminal_size::terminal_size().filter(|_| is_terminal);
    Look {
        width: size.map(|(width, _)| usize::from(width.0)),
        colour: is_terminal && !is_set("NO_COLOR") && !is_dumb,
        now_us: oam::clock::now().as_micros(),
    }
}

/// Prints text; but for the ends of lines and tabs, what would steer a terminal is escaped.
pub fn text(text: &str) -> Result<(), Exit> {
    write(&harmless_lines(text))
}

/// Prints a line, or several, on standard error, with nothing that would steer a terminal.
pub fn complaint(text: &str) {
    eprintln!("{}", harmless_lines(text));
}

fn write(text: &str) -> Result<(), Exit> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Prints rows; `whole` is what JSON shows.
pub fn rows(output: Output, whole: &Value, rows: &[Value], listing: &Listing) -> Result<(), Exit> {
    let printed = match output {
        Output::Json => json(whole),
        Output::Csv => show::csv(rows, listing),
        Output::Table => show::table(&look(), rows, listing),
    };
    write(&printed)
}

/// Prints an answer as a sheet for people; it has no columns, so that CSV has a line for each of
/// its values.
pub fn sheet(
    output: Output,
    whole: &Value,
    draw: impl FnOnce(&Look, &Value) -> String,
) -> Result<(), Exit> {
    let printed = match output {
        Output::Json => json(whole),
        Output::Csv => show::csv_of(whole),
        Output::Table => draw(&look(), whole),
    };
    write(&printed)
}

/// Says what was done; programs are shown the answer.
pub fn acted(output: Output, answer: &Value, what: &str) -> Result<(), Exit> {
    sheet(output, answer, |_, _| format!("{}\n", harmless_lines(what)))
}

/// Says what was done, of what has no answer.
pub fn said(output: Output, what: &str) -> Result<(), Exit> {
    acted(output, &Value::Null, what)
}
