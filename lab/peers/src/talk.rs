//! A program that is spoken to by lines: its standard input and output, here or in a guest.

use crate::process::ProcessSpec;
use crate::reaper::Reaper;
use anyhow::Context;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A conversation with a program, which ends when the handle is dropped.
pub struct Talk {
    writer: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
    heard: Vec<String>,
    child: Option<(Child, Reaper)>,
}

impl Talk {
    /// Starts a program here, in its namespace and its directory.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(spec: &ProcessSpec) -> anyhow::Result<Self> {
        let reaper = Reaper::start()?;
        let mut command = spec.command(i32::try_from(reaper.group())?);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{:?}", spec.program))?;
        let reader = child.stdout.take().context("it has an output")?;
        let writer = child.stdin.take().context("it has an input")?;
        Ok(Self::new(reader, writer, Some((child, reaper))))
    }

    pub(crate) fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        child: Option<(Child, Reaper)>,
    ) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { writer: Some(Box::new(writer)), lines, heard: Vec::new(), child }
    }

    /// Says a line.
    ///
    /// # Errors
    /// When the program has ended.
    pub fn say(&mut self, line: &str) -> anyhow::Result<()> {
        let writer = self.writer.as_mut().context("it was ended")?;
        // In one piece: a program may pass on what it reads as it came.
        writer.write_all(format!("{line}\n").as_bytes())?;
        Ok(writer.flush()?)
    }

    /// Waits for a line that begins so, or takes one that was said already, and returns it.
    ///
    /// # Errors
    /// When it does not come within `limit`; what was said is quoted.
    pub fn hear(&mut self, beginning: &str, limit: Duration) -> anyhow::Result<String> {
        let until = Instant::now() + limit;
        loop {
            if let Some(line) = self.heard().iter().find(|line| line.starts_with(beginning)) {
                return Ok(line.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.heard.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("no line `{beginning}`; it said {:?}", self.heard)
                }
            }
        }
    }

    /// All lines so far.
    pub fn heard(&mut self) -> &[String] {
        self.heard.extend(self.lines.try_iter());
        &self.heard
    }

    /// Waits for a line that begins so and forgets it and what was said before it; what came
    /// behind it is still to be heard.
    ///
    /// # Errors
    /// As [`Talk::hear`].
    pub fn pass(&mut self, beginning: &str, limit: Duration) -> anyhow::Result<()> {
        self.hear(beginning, limit)?;
        let at = self.heard.iter().position(|line| line.starts_with(beginning));
        self.heard.drain(..=at.context("it was heard")?);
        Ok(())
    }

    /// Forgets what was said so far.
    pub fn forget(&mut self) {
        self.heard.extend(self.lines.try_iter());
        self.heard.clear();
    }
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk").field("heard", &self.heard).finish_non_exhaustive()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // What reads its input ends with it; what does not, with its group.
        self.writer = None;
        if let Some((child, reaper)) = self.child.take() {
            drop(reaper);
            let mut child = child;
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_in_one_piece() {
        struct Pieces(std::sync::mpsc::Sender<Vec<u8>>);
        impl Write for Pieces {
            fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
                drop(self.0.send(piece.to_vec()));
                Ok(piece.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (sender, pieces) = channel();
        let mut talk = Talk::new(std::io::empty(), Pieces(sender), None);
        talk.say("a line").expect("it takes everything");
        drop(talk);
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [b"a line\n"]);
    }

    #[test]
    fn what_comes_behind_a_line_that_is_passed_is_heard() {
        let said = "first\nbegin\nlistening\n".as_bytes();
        let mut talk = Talk::new(said, std::io::sink(), None);
        let limit = Duration::from_secs(5);
        talk.hear("listening", limit).expect("it was said");
        talk.pass("begin", limit).expect("it was said");
        assert_eq!(talk.heard(), ["listening"]);
    }
}
