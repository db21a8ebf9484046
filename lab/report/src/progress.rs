//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Silence after which a line says that it goes on, in the first minute of a step.
const SILENCE: Duration = Duration::from_secs(5);
/// The same of a step that lasts longer.
const LONG_SILENCE: Duration = Duration::from_secs(30);

/// Where an experiment says how far it is.
#[derive(Debug)]
pub struct Progress(Shown);

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// A bar of `steps`.
    #[must_use]
    pub fn new(title: &str, steps: u64) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(Shown::Lines(Lines::new(title, |line| eprintln!("{line}"))));
        }
        let style = ProgressStyle::with_template("{spinner:.cyan} {prefix} {wide_bar:.cyan} {msg}");
        let bar = ProgressBar::new(steps);
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(title.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(Shown::Bar(bar))
    }

    /// Says what happens now.
    pub fn say(&self, words: &str) {
        match &self.0 {
            Shown::Bar(bar) => bar.set_message(words.to_owned()),
            Shown::Lines(lines) => lines.say(format!("  {words}")),
        }
    }

    /// A step is done.
    pub fn step(&self) {
        if let Shown::Bar(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Lines of a thread of their own, which repeats the last one while nothing new is said.
#[derive(Debug)]
struct Lines {
    /// `None` as soon as it ends.
    words: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    fn new(title: &str, print: impl Fn(&str) + Send + 'static) -> Self {
        let (words, heard) = channel();
        let thread = thread::spawn(move || repeat(&heard, pause, print));
        let lines = Self { words: Some(words), thread: Some(thread) };
        lines.say(title.to_owned());
        lines
    }

    fn say(&self, line: String) {
        // The thread lives as long as this sender.
        let _ = self.words.as_ref().map(|words| words.send(line));
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.words = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// How long a step that has lasted so long may go on without a line.
const fn pause(lasted: Duration) -> Duration {
    if lasted.as_secs() < 60 { SILENCE } else { LONG_SILENCE }
}

/// Prints what is said, and again with its seconds while nothing else is, until all senders end.
fn repeat(words: &Receiver<String>, pause: impl Fn(Duration) -> Duration, print: impl Fn(&str)) {
    let (mut last, mut since) = (String::new(), Instant::now());
    loop {
        match words.recv_timeout(pause(since.elapsed())) {
            Ok(line) => {
                print(&line);
                (last, since) = (line, Instant::now());
            }
            Err(RecvTimeoutError::Timeout) => {
                print(&format!("{last}: for {} s", since.elapsed().as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_lasts_says_so_again_until_the_next_begins() {
        let (words, heard) = channel();
        let (to, printed) = channel();
        words.send("one".to_owned()).unwrap();
        let thread = thread::spawn(move || {
            repeat(&heard, |_| Duration::from_millis(1), |line| to.send(line.to_owned()).unwrap());
        });
        assert_eq!(printed.recv().unwrap(), "one");
        assert_eq!(printed.recv().unwrap(), "one: for 0 s");
        words.send("two".to_owned()).unwrap();
        assert!(printed.iter().any(|line| line == "two"));
        drop(words);
        thread.join().unwrap();
        assert_eq!((pause(SILENCE), pause(2 * LONG_SILENCE)), (SILENCE, LONG_SILENCE));
    }

    #[test]
    fn all_that_was_said_is_printed_before_it_ends() {
        let (to, printed) = channel();
        let lines = Lines::new("title", move |line| to.send(line.to_owned()).unwrap());
        lines.say("  last".to_owned());
        drop(lines);
        assert_eq!(printed.iter().collect::<Vec<_>>(), ["title", "  last"]);
    }
}
