//! Candidate, commit, confirm, rollback: what runs and how it changes.
//!
//! ```text
//!                 commit                         confirm, commit, rollback
//!   settled ─────────────────→ settled   ┌──────────────────────────────→ settled
//!      │  commit with a time             │
//!      └──────────────────────────→ pending ──(time is up)──→ settled on the backup
//!                                    ↑   │
//!                                    └───┘ commit with a new time: the backup stays the first's
//! ```
//!
//! Every change of what runs is a new revision, a return to an old text too, so that a revision
//! number names one moment of the site. Time is an argument. The site file follows only what is
//! confirmed: a crash while a commit is pending starts with the confirmed text.

use crate::archive::{Archive, Cause, Entry};
use crate::{Diagnostic, Issue, SITE_BYTES_MAX, Site, Source, locate, read, schema_of};
use machine::{Duration, Time};
use std::io;
use std::marker::PhantomData;

/// Most revisions that are kept.
pub const REVISIONS_MAX: usize = 50;
/// Longest time to confirm.
pub const CONFIRM_MAX: Duration = Duration::from_secs(24 * 3600);
/// Pause before a rollback that failed is tried again.
pub const ROLLBACK_RETRY: Duration = Duration::from_secs(5);
/// Lines of context in a comparison.
const CONTEXT_LINES: usize = 3;

/// Now, by both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// What people are shown: since the UNIX epoch, may be set forward or back.
    pub wall: Time,
    /// What deadlines are held against: only moves forward.
    pub steady: Time,
}

impl From<Time> for Moment {
    /// Both clocks in one, for whoever has only one.
    fn from(now: Time) -> Self {
        Self { wall: now, steady: now }
    }
}

/// What the configuration steers.
pub trait Plant<S>: Send {
    /// The part of the validation that needs the running machine: whether ports can be bound,
    /// files can be read.
    fn check(&self, site: &S) -> Vec<Issue>;

    /// Makes `site` run without a restart.
    ///
    /// # Errors
    /// What hinders; the old configuration runs on then, whole.
    fn apply(&mut self, site: &S) -> Result<(), Vec<Issue>>;
}

/// A plant together with the type of its site file: text in, diagnostics out.
trait Works: Send {
    fn examine(&self, text: &str) -> Vec<Diagnostic>;

    /// Examines the text, lets it be kept, and makes it run; what ran runs on after any failure.
    fn change(
        &mut self,
        text: &str,
        keep: &mut dyn FnMut() -> Result<(), Refused>,
    ) -> Result<(), Refused>;

    /// Makes a text run that ran before.
    fn restore(&mut self, text: &str) -> Result<(), Vec<Diagnostic>>;

    fn schema(&self) -> serde_json::Value;
}

struct Typed<S, P> {
    plant: P,
    site: PhantomData<fn() -> S>,
}

impl<S: Site, P: Plant<S>> Typed<S, P> {
    /// The site of a text that nothing hinders.
    fn read(&self, text: &str) -> Result<S, Vec<Diagnostic>> {
        let site = read::<S>(text)?;
        let hindered = self.plant.check(&site);
        if hindered.is_empty() { Ok(site) } else { Err(placed(text, hindered)) }
    }
}

impl<S: Site, P: Plant<S>> Works for Typed<S, P> {
    fn examine(&self, text: &str) -> Vec<Diagnostic> {
        self.read(text).err().unwrap_or_default()
    }

    fn change(
        &mut self,
        text: &str,
        keep: &mut dyn FnMut() -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let site = self.read(text).map_err(Refused::Invalid)?;
        keep()?;
        self.plant.apply(&site).map_err(|issues| Refused::Invalid(placed(text, issues)))
    }

    fn restore(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let site = read::<S>(text)?;
        self.plant.apply(&site).map_err(|issues| placed(text, issues))
    }

    fn schema(&self) -> serde_json::Value {
        schema_of::<S>()
    }
}

/// Why an operation was refused; nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Someone else changed what the request was based on.
    #[error("revision {running} runs, not {given}: read it again and repeat the change")]
    Conflict {
        /// What the request was based on.
        given: u64,
        /// What runs.
        running: u64,
    },
    /// The candidate is wrong.
    #[error("the configuration has {} mistakes", .0.len())]
    Invalid(Vec<Diagnostic>),
    /// There is nothing to commit.
    #[error("the candidate is what runs (`ctl reload-keys` reads files that it names again)")]
    Unchanged,
    /// No commit waits for a confirmation.
    #[error("no commit waits for a confirmation")]
    NotPending,
    /// The revision is not kept (any more).
    #[error("revision {0} is not kept")]
    NotKept(u64),
    /// A parameter is out of range.
    #[error("{0}")]
    BadParameter(String),
    /// The disk refused.
    #[error("the revision cannot be stored: {0}")]
    Storage(#[from] io::Error),
}

/// The revision that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its number.
    pub revision: u64,
    /// Its text.
    pub text: String,
    /// Since when.
    pub since: Time,
}

/// A commit that waits for its confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// The last confirmed revision: what runs again if nobody confirms.
    pub back_to: u64,
    /// When that happens, by [`Moment::steady`].
    pub until: Time,
}

/// The text being edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The running revision that the edit began with.
    pub base: u64,
    /// The text, right or wrong.
    pub text: String,
}

/// What a passing moment changed.
#[derive(Debug)]
pub enum Passed {
    /// Nothing was due.
    Nothing,
    /// A commit was not confirmed; the backup runs again as this revision.
    RolledBack(u64),
    /// The backup does not run: tried again after [`ROLLBACK_RETRY`].
    RollbackFailed(Refused),
}

/// The configuration of a site and its history.
pub struct Store {
    works: Box<dyn Works>,
    archive: Box<dyn Archive>,
    history: Vec<Entry>,
    running: Running,
    candidate: Option<Candidate>,
    pending: Option<Pending>,
    /// When the due rollback is tried again.
    retry: Option<Time>,
}

impl Store {
    /// The store of a site whose `text` runs in `plant` already. A text that differs from the
    /// newest kept revision becomes a revision.
    ///
    /// # Errors
    /// [`Refused::Invalid`] and [`Refused::Storage`].
    pub fn open<S: Site>(
        now: Time,
        text: &str,
        plant: impl Plant<S> + 'static,
        mut archive: Box<dyn Archive>,
    ) -> Result<Self, Refused> {
        read::<S>(text).map_err(Refused::Invalid)?;
        let works = Box::new(Typed { plant, site: PhantomData });
        let mut history = archive.list()?;
        let last = history.last().map_or(0, |entry| entry.revision);
        let same = last > 0 && archive.text(last).is_ok_and(|kept| kept == text);
        if !same {
            let entry = Why { cause: Cause::Start, of: None, by: None }.entry(last + 1, now);
            archive.keep(&entry, text)?;
            history.push(entry);
        }
        let revision = history.last().map_or(0, |entry| entry.revision);
        let running = Running { revision, text: text.to_owned(), since: now };
        let (candidate, pending, retry) = (None, None, None);
        let mut store = Self { works, archive, history, running, candidate, pending, retry };
        store.evict();
        Ok(store)
    }

    /// What runs.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// The JSON schema of the site file.
    pub fn schema(&self) -> serde_json::Value {
        self.works.schema()
    }

    /// The commit that waits for its confirmation.
    pub fn pending(&self) -> Option<Pending> {
        self.pending
    }

    /// Every kept revision, oldest first.
    pub fn history(&self) -> &[Entry] {
        &self.history
    }

    /// The text of a kept revision.
    ///
    /// # Errors
    /// [`Refused::NotKept`] and [`Refused::Storage`].
    pub fn text_of(&self, revision: u64) -> Result<String, Refused> {
        if !self.history.iter().any(|entry| entry.revision == revision) {
            return Err(Refused::NotKept(revision));
        }
        Ok(self.archive.text(revision)?)
    }

    /// The text being edited; what runs, if nobody edits.
    pub fn candidate(&self) -> Candidate {
        self.candidate.clone().unwrap_or_else(|| Candidate {
            base: self.running.revision,
            text: self.running.text.clone(),
        })
    }

    /// Replaces the candidate; it may be wrong, only a commit refuses that. `base` is the revision
    /// that the editor saw running.
    ///
    /// # Errors
    /// [`Refused::Conflict`] and [`Refused::BadParameter`].
    pub fn edit(&mut self, base: u64, text: String) -> Result<(), Refused> {
        self.same_base(base)?;
        if text.len() > SITE_BYTES_MAX {
            let what = format!("a site file has at most {SITE_BYTES_MAX} octets");
            return Err(Refused::BadParameter(what));
        }
        self.candidate = Some(Candidate { base, text });
        Ok(())
    }

    /// Throws the candidate away.
    pub fn discard(&mut self) {
        self.candidate = None;
    }

    /// Everything that would hinder a commit, the plant's own check included.
    pub fn check(&self) -> Vec<Diagnostic> {
        self.works.examine(&self.candidate().text)
    }

    /// What a commit would change, as a unified diff; empty if nothing.
    pub fn compare(&self) -> String {
        let candidate = self.candidate();
        let diff = similar::TextDiff::from_lines(&self.running.text, &candidate.text);
        let old = format!("revision {}", self.running.revision);
        diff.unified_diff().context_radius(CONTEXT_LINES).header(&old, "candidate").to_string()
    }

    /// Makes the candidate run. With `confirm` it must be confirmed within that time; a commit
    /// without one confirms a pending commit as well. The history names `by`.
    ///
    /// # Errors
    /// Every variant of [`Refused`] but `NotPending` and `NotKept`; what ran runs on, the
    /// candidate, the backup and the confirm timer stay as they were.
    pub fn commit(
        &mut self,
        now: impl Into<Moment>,
        base: u64,
        confirm: Option<Duration>,
        by: Option<&str>,
    ) -> Result<u64, Refused> {
        let now = now.into();
        self.same_base(base)?;
        if confirm.is_some_and(|time| time.is_zero() || time > CONFIRM_MAX) {
            let what = format!("confirm_s is a number from 1 to {}", CONFIRM_MAX.as_secs());
            return Err(Refused::BadParameter(what));
        }
        let candidate = self.candidate();
        self.same_base(candidate.base)?;
        if candidate.text == self.running.text {
            return Err(Refused::Unchanged);
        }
        let cause = if confirm.is_some() { Cause::CommitConfirmed } else { Cause::Commit };
        let backup = self.pending.map_or(self.running.revision, |pending| pending.back_to);
        self.change(now.wall, &candidate.text, Why { cause, of: None, by })?;
        self.candidate = None;
        self.pending = confirm.map(|time| Pending { back_to: backup, until: now.steady + time });
        self.retry = None;
        self.evict();
        Ok(self.running.revision)
    }

    /// Confirms the pending commit.
    ///
    /// # Errors
    /// [`Refused::NotPending`]; [`Refused::Storage`] if the site file cannot be replaced, the
    /// commit stays pending then.
    pub fn confirm(&mut self) -> Result<u64, Refused> {
        if self.pending.is_none() {
            return Err(Refused::NotPending);
        }
        self.archive.publish(&self.running.text)?;
        self.settle();
        Ok(self.running.revision)
    }

    /// Makes the text of an old revision run again, for good: `to`, or else the backup of the
    /// pending commit, or else the revision before the running one.
    ///
    /// # Errors
    /// [`Refused::NotKept`], [`Refused::Invalid`], [`Refused::Storage`]; nothing changed.
    pub fn rollback(
        &mut self,
        now: impl Into<Moment>,
        to: Option<u64>,
        by: Option<&str>,
    ) -> Result<u64, Refused> {
        let to = match (to, self.pending) {
            (Some(to), _) => to,
            (None, Some(pending)) => pending.back_to,
            (None, None) => self.previous().ok_or(Refused::NotKept(0))?,
        };
        let text = self.text_of(to)?;
        self.change(now.into().wall, &text, Why { cause: Cause::Rollback, of: Some(to), by })?;
        self.settle();
        Ok(self.running.revision)
    }

    /// When [`Store::tick`] wants to be called next, by [`Moment::steady`].
    pub fn deadline(&self) -> Option<Time> {
        self.pending.map(|pending| self.retry.unwrap_or(pending.until))
    }

    /// Lets time pass: a commit that was not confirmed in time is taken back, softly.
    pub fn tick(&mut self, now: impl Into<Moment>) -> Passed {
        let now = now.into();
        let Some(pending) = self.pending else { return Passed::Nothing };
        if self.deadline().is_none_or(|due| now.steady < due) {
            return Passed::Nothing;
        }
        let why = Why { cause: Cause::Expired, of: Some(pending.back_to), by: None };
        let back = self.text_of(pending.back_to).and_then(|text| self.change(now.wall, &text, why));
        match back {
            Ok(()) => {
                self.settle();
                Passed::RolledBack(self.running.revision)
            }
            Err(refused) => {
                self.retry = Some(now.steady + ROLLBACK_RETRY);
                Passed::RollbackFailed(refused)
            }
        }
    }

    fn settle(&mut self) {
        self.pending = None;
        self.retry = None;
        self.evict();
    }

    fn previous(&self) -> Option<u64> {
        let before = self.history.iter().rev().map(|entry| entry.revision);
        before.filter(|&revision| revision < self.running.revision).max()
    }

    fn same_base(&self, given: u64) -> Result<(), Refused> {
        let running = self.running.revision;
        if given == running { Ok(()) } else { Err(Refused::Conflict { given, running }) }
    }

    /// Keeps the text as a new revision and makes it run, or changes nothing at all.
    fn change(&mut self, now: Time, text: &str, why: Why<'_>) -> Result<(), Refused> {
        let entry = why.entry(self.running.revision + 1, now);
        let (archive, mut is_kept) = (&mut self.archive, false);
        let done = self.works.change(text, &mut || {
            archive.keep(&entry, text)?;
            is_kept = true;
            Ok(())
        });
        if let Err(refused) = done {
            if is_kept {
                self.archive.forget(&[entry.revision])?;
            }
            return Err(refused);
        }
        // What must still be confirmed stays out of the site file; what expired never was in it.
        if matches!(why.cause, Cause::Commit | Cause::Rollback)
            && let Err(error) = self.archive.publish(text)
        {
            return Err(self.undo(entry.revision, error));
        }
        self.running = Running { revision: entry.revision, text: text.to_owned(), since: now };
        self.history.push(entry);
        Ok(())
    }

    /// The text runs but the site file cannot be replaced: back to what ran before.
    fn undo(&mut self, revision: u64, error: io::Error) -> Refused {
        if let Err(found) = self.works.restore(&self.running.text) {
            return Refused::Invalid(found);
        }
        Refused::Storage(self.archive.forget(&[revision]).err().unwrap_or(error))
    }

    /// Forgets the oldest revisions beyond [`REVISIONS_MAX`], never a pending commit's backup. If
    /// the disk refuses, they are kept until the next time.
    fn evict(&mut self) {
        let excess = self.history.len().saturating_sub(REVISIONS_MAX);
        let backup = self.pending.map(|pending| pending.back_to);
        let numbers = self.history.iter().map(|entry| entry.revision);
        let old: Vec<u64> = numbers.filter(|&n| Some(n) != backup).take(excess).collect();
        if !old.is_empty() && self.archive.forget(&old).is_ok() {
            self.history.retain(|entry| !old.contains(&entry.revision));
        }
    }
}

fn placed(text: &str, issues: Vec<Issue>) -> Vec<Diagnostic> {
    match Source::parse(text) {
        Ok(source) => locate(&source, issues),
        Err(syntax) => vec![syntax],
    }
}

/// Why a revision begins, and who wanted it.
#[derive(Clone, Copy)]
struct Why<'a> {
    cause: Cause,
    of: Option<u64>,
    by: Option<&'a str>,
}

impl Why<'_> {
    fn entry(self, revision: u64, now: Time) -> Entry {
        let (cause, of, by) = (self.cause, self.of, self.by.map(str::to_owned));
        Entry { revision, at_us: now.as_micros(), cause, of, by }
    }
}
