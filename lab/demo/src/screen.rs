//! What the demonstration prints.

use crate::place::Place;
use crate::scene::{Figure, Programme, Scene};
use report::thousands;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

/// Columns of the words in front of a part.
const HEAD: usize = 9;
const WHO: usize = 24;
const WHAT: usize = 40;
const TRY: usize = 34;
const NUMBER: usize = 18;

/// Standard output, with colours on a terminal.
#[derive(Debug)]
pub struct Screen {
    has_colours: bool,
    stays: bool,
    begun: Instant,
}

impl Screen {
    /// Colours only where a person looks and has not switched them off. Addresses are printed only
    /// where the scene `stays`.
    pub(crate) fn new(stays: bool) -> Self {
        let has_colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { has_colours, stays, begun: Instant::now() }
    }

    /// Text in a colour (ECMA-48, SGR), where there are any.
    #[must_use]
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.has_colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Text that stands back.
    #[must_use]
    pub fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A tick or a cross.
    #[must_use]
    pub fn verdict(&self, right: bool) -> String {
        if right { self.paint("32", "✓") } else { self.paint("31;1", "✗") }
    }

    /// A line.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.trim_end())?;
        out.flush()
    }

    /// What happens now, with the time since the scene began.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn event(&self, text: &str) -> io::Result<()> {
        let time = format!("{:6.1} s", self.begun.elapsed().as_secs_f64());
        self.line(&format!("  {}  {text}", self.dim(&time)))
    }

    /// What went wrong.
    pub(crate) fn wrong(&self, text: &str) -> io::Result<()> {
        self.line(&format!("\n  {} {text}", self.verdict(false)))
    }

    fn head(&self, name: &str) -> String {
        self.bold(&format!("{name:<HEAD$}"))
    }

    pub(crate) fn title(&self, scene: &Scene) -> io::Result<()> {
        let name = self.bold(&format!("Tandem demo · {}", scene.name));
        self.line(&format!("\n{name}  {}\n", scene.line))?;
        scene.about.iter().try_for_each(|line| self.line(&format!("  {line}")))
    }

    /// Who runs; where, and how to reach it, only if it stays.
    pub(crate) fn programme(
        &self,
        programme: &Programme,
        console: String,
        place: &Place,
    ) -> io::Result<()> {
        self.line("")?;
        for (number, [name, what, at]) in programme.cast.iter().enumerate() {
            let head = if number == 0 { "runs" } else { "" };
            let at = if self.stays { at.as_str() } else { "" };
            let what = format!("{what:<WHAT$}");
            let row = format!("  {}{name:<WHO$} {} {at}", self.head(head), self.dim(&what));
            self.line(&row)?;
        }
        if let Some(note) = &programme.note {
            self.line(&format!("  {}{note}", self.head("note")))?;
        }
        if !self.stays {
            return Ok(());
        }
        let url = self.paint("36;1", &console);
        self.line(&format!("\n  {}{url}", self.head("console")))?;
        self.line(&format!("  {}{}", self.head("look at"), programme.look))?;
        let site = place.site_file();
        let export = format!("export TANDEM_SITE={}", site.display());
        self.line(&format!("\n  {}{}", self.head("try"), self.dim("in another terminal:")))?;
        self.line(&format!("  {:HEAD$}{export}", ""))?;
        let tandem = shortest(&place.tandem);
        for [words, what] in programme.tries {
            let row = format!("{tandem} ctl {words:<TRY$} {}", self.dim(what));
            self.line(&format!("  {:HEAD$}{row}", ""))?;
        }
        Ok(())
    }

    /// From now on time runs.
    pub(crate) fn begins(&mut self) -> io::Result<()> {
        self.begun = Instant::now();
        self.line("")
    }

    /// What was measured; whether all of it is as it should be.
    pub(crate) fn figures(&self, figures: &[Figure]) -> io::Result<bool> {
        self.line(&format!("\n  {}", self.bold("measured")))?;
        for figure in figures {
            let mut number = thousands(figure.value as f64);
            if let Some(of) = figure.of {
                let _ = write!(number, " of {}", thousands(of as f64));
            }
            let mark = self.verdict(figure.holds());
            let Figure { what, note, .. } = figure;
            self.line(&format!("  {mark} {number:>NUMBER$}  {what}  {}", self.dim(note)))?;
        }
        Ok(figures.iter().all(Figure::holds))
    }

    /// The end of a log, when something went wrong.
    pub(crate) fn log(&self, name: &str, text: &str) -> io::Result<()> {
        self.line(&format!("\n  {}", self.bold(&format!("last words of {name}"))))?;
        text.lines().try_for_each(|line| self.line(&format!("    {line}")))
    }

    pub(crate) fn goes_on(&self, what: &str) -> io::Result<()> {
        self.line(&format!("\n  {}\n", self.dim(&format!("{what}; Ctrl-C ends"))))
    }

    /// The last lines; `others` are the scenes that may be played instead.
    pub(crate) fn end(&self, right: bool, others: &[&str]) -> io::Result<()> {
        let words = if right { "all went as it should" } else { "something went wrong" };
        self.line(&format!("\n  {} {words}, nothing left behind", self.verdict(right)))?;
        let others = others.join(", ");
        self.line(&format!("  other scenes, by `tandem demo NAME`: {others}\n"))
    }
}

/// The bare name of a program that the `PATH` finds by it, a path from here where it is below, else
/// the whole path.
fn shortest(path: &Path) -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let name = path.file_name().map(Path::new);
    let first = std::env::split_paths(&folders)
        .filter_map(|folder| Some(folder.join(name?)))
        .find(|found| found.is_file());
    if let Some(name) = name.filter(|_| first.is_some_and(|found| is_same(&found, path))) {
        return name.display().to_string();
    }
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.canonicalize().ok();
    file(one).is_some_and(|one| Some(one) == file(other))
}
