//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Where an experiment says how far it is.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar of `steps`.
    #[must_use]
    pub fn new(title: &str, steps: u64) -> Self {
        if !std::io::stderr().is_terminal() {
            eprintln!("{title}");
            return Self { bar: None };
        }
        let style = ProgressStyle::with_template("{spinner:.cyan} {prefix} {wide_bar:.cyan} {msg}");
        let bar = ProgressBar::new(steps);
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(title.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar: Some(bar) }
    }

    /// Says what happens now.
    pub fn say(&self, words: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(words.to_owned()),
            None => eprintln!("  {words}"),
        }
    }

    /// A step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
