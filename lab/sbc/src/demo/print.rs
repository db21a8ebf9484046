//! What the demonstration prints.

use super::stage::Addresses;
use super::{Change, Played};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

const WIDTH: usize = 36;

/// Standard output, with colours on a terminal.
#[derive(Debug)]
pub struct Printer {
    colours: bool,
}

impl Printer {
    /// Colours only where a person looks and has not switched them off.
    #[must_use]
    pub fn new() -> Self {
        let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { colours }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn verdict(&self, right: bool) -> String {
        if right { self.paint("32", "✓") } else { self.paint("31;1", "✗") }
    }

    fn line(text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// The first line.
    pub fn title(&self) -> io::Result<()> {
        Self::line(&format!("\n{}  real SIP calls through one site\n", self.bold("Tandem demo")))
    }

    /// Who is where.
    pub fn stage(&self, at: &Addresses) -> io::Result<()> {
        let Addresses { access, core, network, collector, .. } = at;
        let rows = [
            ("subscribers", "127.0.0.100 …".to_owned(), "SIPp"),
            ("SSC", format!("{access} ⇄ {core}"), "access ⇄ core"),
            ("softswitch, registrar", network.to_string(), "SIPp"),
            ("SAS", collector.to_string(), "HEP3"),
        ];
        for (name, place, what) in rows {
            let place = format!("{place:<34}");
            Self::line(&format!("  {name:<22} {place} {}", self.dim(what)))?;
        }
        Self::line(&format!("\n  {}", self.dim("playing the scenes …")))
    }

    /// The table of what happened.
    pub fn outcome(&mut self, played: &[Played], elapsed: Duration) -> io::Result<()> {
        let head = format!("{:<WIDTH$} {:>6} {:>8} {:>8}", "", "calls", "SIPp ok", "in SAS");
        Self::line(&format!("\n  {}", self.dim(&head)))?;
        for one in played {
            let (title, calls) = (one.scene.title, one.scene.calls);
            let (ok, shown) = (one.counts.succeeded, one.right());
            let verdict = self.verdict(one.went_well());
            let numbers = format!("{title:<WIDTH$} {calls:>6} {ok:>8} {shown:>8}");
            let delay = median_delay_ms(one)
                .map(|ms| format!("post-dial delay {ms} ms"))
                .unwrap_or_default();
            Self::line(&format!("  {numbers}  {verdict} {}", self.dim(&delay)))?;
            self.why(one)?;
        }
        let calls: u64 = played.iter().map(|one| one.scene.calls).sum();
        let trails = played.iter().flat_map(|one| one.shown.iter().flatten());
        let messages: u64 = trails.filter_map(|trail| trail["messages"].as_u64()).sum();
        let again: u64 = played.iter().map(|one| one.counts.retransmissions).sum();
        let rate = calls as f64 / elapsed.as_secs_f64();
        Self::line(&format!(
            "\n  {calls} dialogs in {:.1} s ({rate:.1}/s), {messages} messages kept by the SAS, \
            {again} sent again by SIPp",
            elapsed.as_secs_f64()
        ))
    }

    /// Why a scene did not go well.
    fn why(&self, one: &Played) -> io::Result<()> {
        if one.went_well() {
            return Ok(());
        }
        let missing = one.shown.iter().filter(|trail| trail.is_none()).count();
        let wrong = one.shown.iter().flatten().find(|t| t["outcome"] != one.scene.outcome);
        let told = wrong.map(|trail| format!("; the SAS says {}", trail["outcome"]));
        let (failed, told) = (one.counts.failed, told.unwrap_or_default());
        Self::line(&format!("      {failed} failed in SIPp, {missing} not in the SAS{told}"))?;
        for line in one.errors.lines().take(6) {
            Self::line(&format!("      {}", self.dim(line)))?;
        }
        Ok(())
    }

    /// What the header rules changed.
    pub fn rules(&self, changes: &Result<Vec<Change>, String>) -> io::Result<()> {
        Self::line("\n  header rules, the same INVITE before and after the SSC:")?;
        match changes {
            Ok(changes) => changes.iter().try_for_each(|(before, after)| {
                let before = if before.is_empty() { "(nothing)" } else { before };
                let after = if after.is_empty() { "(nothing)" } else { after };
                Self::line(&format!(
                    "    {} → {}",
                    self.paint("31", before),
                    self.paint("32", after)
                ))
            }),
            Err(why) => Self::line(&format!("    {} {why}", self.verdict(false))),
        }
    }

    /// The end of a log, when something went wrong.
    pub fn log(&self, name: &str, text: &str) -> io::Result<()> {
        Self::line(&format!("\n  {}", self.bold(&format!("last words of {name}"))))?;
        text.lines().try_for_each(|line| Self::line(&format!("    {line}")))
    }

    /// Where to look.
    pub fn console(&self, url: &str, stays: bool) -> io::Result<()> {
        Self::line(&format!("\n  console  {}", self.paint("36;1", url)))?;
        if stays {
            Self::line(&format!("  {}", self.dim("a call a second goes on; Ctrl-C ends")))?;
        }
        Ok(())
    }

    /// The last line.
    pub fn end(&self, right: bool) -> io::Result<()> {
        let words = if right { "everything went as it should" } else { "something went wrong" };
        Self::line(&format!("\n  {} {words}, nothing left behind\n", self.verdict(right)))
    }
}

fn median_delay_ms(one: &Played) -> Option<u64> {
    let trails = one.shown.iter().flatten();
    let mut delays: Vec<u64> =
        trails.filter_map(|trail| trail["post_dial_delay_ms"].as_u64()).collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).copied()
}
