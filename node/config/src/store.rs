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
//! confirmed: a crash while a commit is pending starts with the confirmed text. What was not
//! confirmed is never what a rollback without a number goes to. A site file that somebody edited is
//! overwritten only by who says so.

use crate::archive::{Archive, Cause, Entry, State};
use crate::{Diagnostic, Issue, SITE_BYTES_MAX, Site, counted, placed, read, schema_of};
use machine::{Duration, Time};
use std::io;
use std::marker::PhantomData;

/// Most revisions that are kept.
pub const REVISIONS_MAX: usize = 50;
/// Longest time to confirm.
pub const CONFIRM_MAX: Duration = Duration::from_secs(24 * 3600);
/// Pause before a rollback that failed is tried again.
pub const ROLLBACK_RETRY: Duration = Duration::from_secs(5);
/// Octets of a comment at most.
const COMMENT_OCTETS_MAX: usize = 512;
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

/// Who wants a change, and what they say to it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order<'a> {
    /// The name of a token.
    pub by: Option<&'a str>,
    /// A line for the history.
    pub comment: Option<&'a str>,
    /// A site file that was edited by hand is overwritten.
    pub overwrites: bool,
}

impl<'a> From<Option<&'a str>> for Order<'a> {
    /// Who, and nothing more.
    fn from(by: Option<&'a str>) -> Self {
        Self { by, ..Self::default() }
    }
}

/// What runs a site, and can be made to run another.
pub trait Reconfigure<S>: Send {
    /// The part of the validation that needs the running machine: whether ports can be bound,
    /// files can be read.
    fn check(&self, site: &S) -> Vec<Issue>;

    /// What making `site` run interrupts, by the paths of its file: a sentence each.
    fn interruptions(&self, _site: &S) -> Vec<Issue> {
        Vec::new()
    }

    /// Makes `site` run without a restart.
    ///
    /// # Errors
    /// What hinders; the old configuration runs on then, whole.
    fn apply(&mut self, site: &S) -> Result<(), Vec<Issue>>;
}

/// What runs a site, together with the type of its site file: text in, diagnostics out.
trait Works: Send {
    fn examine(&self, text: &str) -> Vec<Diagnostic>;

    /// What making the text run interrupts; nothing of one that cannot run.
    fn interruptions(&self, text: &str) -> Vec<Diagnostic>;

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
    running: P,
    site: PhantomData<fn() -> S>,
}

impl<S: Site, P: Reconfigure<S>> Typed<S, P> {
    /// The site of a text that nothing hinders.
    fn read(&self, text: &str) -> Result<S, Vec<Diagnostic>> {
        let site = read::<S>(text)?;
        let hindered = self.running.check(&site);
        if hindered.is_empty() { Ok(site) } else { Err(placed(text, hindered)) }
    }
}

impl<S: Site, P: Reconfigure<S>> Works for Typed<S, P> {
    fn examine(&self, text: &str) -> Vec<Diagnostic> {
        self.read(text).err().unwrap_or_default()
    }

    fn interruptions(&self, text: &str) -> Vec<Diagnostic> {
        let site = read::<S>(text).ok();
        site.map(|site| placed(text, self.running.interruptions(&site))).unwrap_or_default()
    }

    fn change(
        &mut self,
        text: &str,
        keep: &mut dyn FnMut() -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let site = self.read(text).map_err(Refused::Invalid)?;
        keep()?;
        self.running.apply(&site).map_err(|issues| Refused::Invalid(placed(text, issues)))
    }

    fn restore(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let site = read::<S>(text)?;
        self.running.apply(&site).map_err(|issues| placed(text, issues))
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
    #[error("the configuration has {}", counted(.0.len(), "mistake", "mistakes"))]
    Invalid(Vec<Diagnostic>),
    /// There is nothing to commit.
    #[error("the candidate is what runs (`ctl reload-keys` reads files that it names again)")]
    Unchanged,
    /// No commit waits for a confirmation.
    #[error("no commit waits for a confirmation")]
    NotPending,
    /// A commit waits for its confirmation.
    #[error("a commit waits for its confirmation: confirm it or roll it back first")]
    Pending,
    /// Somebody edited the site file, and what they wrote would be lost.
    #[error(
        "the site file was edited by hand since revision {0} was written to it: \
         `tandem ctl config compare` shows how, `tandem ctl config load FILE` takes it as the \
         candidate, and `--force` overwrites it"
    )]
    Edited(u64),
    /// No confirmed revision with another text is kept before the running one.
    #[error(
        "no confirmed revision with another text is kept before the running one: \
         `tandem ctl config history` lists the numbers"
    )]
    NothingBefore,
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
    /// What the site file holds unless somebody edited it, and the revision that this was.
    written: (u64, String),
}

impl Store {
    /// The store of a site whose `text` runs in `running` already. A text that differs from the
    /// newest kept revision becomes a revision.
    ///
    /// # Errors
    /// [`Refused::Invalid`] and [`Refused::Storage`].
    pub fn open<S: Site>(
        now: Time,
        text: &str,
        running: impl Reconfigure<S> + 'static,
        mut archive: Box<dyn Archive>,
    ) -> Result<Self, Refused> {
        read::<S>(text).map_err(Refused::Invalid)?;
        let works = Box::new(Typed { running, site: PhantomData });
        let mut history = archive.list()?;
        let last = history.last().map_or(0, |entry| entry.revision);
        let same = last > 0 && archive.text(last).is_ok_and(|kept| kept == text);
        end_pending(&mut history, same.then_some(last));
        if !same {
            let entry = Why::of(Cause::Start).entry(last + 1, now);
            archive.keep(&entry, text)?;
            history.push(entry);
        }
        let revision = history.last().map_or(0, |entry| entry.revision);
        let running = Running { revision, text: text.to_owned(), since: now };
        let (candidate, pending, retry) = (None, None, None);
        let written = (revision, text.to_owned());
        let mut store =
            Self { works, archive, history, running, candidate, pending, retry, written };
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

    /// Everything that would hinder a commit, the machine's own check included.
    pub fn check(&self) -> Vec<Diagnostic> {
        self.works.examine(&self.candidate().text)
    }

    /// What a commit would change, as a unified diff; empty if nothing. A site file that somebody
    /// edited, and that is not the candidate, follows with what is other in it.
    pub fn compare(&self) -> String {
        let candidate = self.candidate();
        let old = format!("revision {}", self.running.revision);
        let mut out = diff(&old, &self.running.text, "candidate", &candidate.text);
        if let Ok(Some(edited)) = self.edited()
            && edited != candidate.text
        {
            let written = format!("revision {}", self.written.0);
            let text = &self.written.1;
            out.push_str(&diff(&written, text, "site file, edited by hand", &edited));
        }
        out
    }

    /// What a commit of the candidate would interrupt; nothing where it is refused anyway.
    pub fn interruptions(&self) -> Vec<Diagnostic> {
        self.candidate.as_ref().map(|it| self.works.interruptions(&it.text)).unwrap_or_default()
    }

    /// The text of the site file, if somebody edited it since it was written.
    ///
    /// # Errors
    /// What the disk says; a file that is gone has nothing that can be lost.
    pub fn edited(&self) -> io::Result<Option<String>> {
        match self.archive.published() {
            Ok(text) => Ok((text != self.written.1).then_some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses to lose what somebody wrote into the site file; `next` is what it shall hold.
    fn may_write(&self, next: &str, overwrites: bool) -> Result<(), Refused> {
        match self.edited()? {
            Some(text) if text != next && !overwrites => Err(Refused::Edited(self.written.0)),
            _ => Ok(()),
        }
    }

    /// Makes the candidate run. With `confirm` it must be confirmed within that time; a commit
    /// without one confirms a pending commit as well. The history names who ordered it.
    ///
    /// # Errors
    /// Every variant of [`Refused`] but `NotPending` and `NotKept`; what ran runs on, the
    /// candidate, the backup and the confirm timer stay as they were.
    pub fn commit<'a>(
        &mut self,
        now: impl Into<Moment>,
        base: u64,
        confirm: Option<Duration>,
        order: impl Into<Order<'a>>,
    ) -> Result<u64, Refused> {
        let (now, order) = (now.into(), order.into());
        self.same_base(base)?;
        if confirm.is_some_and(|time| time.is_zero() || time > CONFIRM_MAX) {
            let what = format!("confirm_s is a number from 1 to {}", CONFIRM_MAX.as_secs());
            return Err(Refused::BadParameter(what));
        }
        readable(order.comment)?;
        let candidate = self.candidate();
        self.same_base(candidate.base)?;
        if candidate.text == self.running.text {
            return Err(Refused::Unchanged);
        }
        self.may_write(&candidate.text, order.overwrites)?;
        let cause = if confirm.is_some() { Cause::CommitConfirmed } else { Cause::Commit };
        let backup = self.pending.map_or(self.running.revision, |pending| pending.back_to);
        let before = self.running.revision;
        self.change(now.wall, &candidate.text, Why { order, ..Why::of(cause) })?;
        if self.pending.is_some() {
            // Without a time the commit stands for good, and what it was made on does.
            let is_confirmed = confirm.is_none();
            self.mark(before, if is_confirmed { State::Confirmed } else { State::NotConfirmed });
        }
        self.candidate = None;
        self.pending = confirm.map(|time| Pending { back_to: backup, until: now.steady + time });
        self.retry = None;
        self.evict();
        Ok(self.running.revision)
    }

    /// Confirms the pending commit.
    ///
    /// # Errors
    /// [`Refused::NotPending`] and [`Refused::Edited`] (unless it `overwrites`);
    /// [`Refused::Storage`] if the site file cannot be replaced. The commit stays pending then.
    pub fn confirm(&mut self, overwrites: bool) -> Result<u64, Refused> {
        if self.pending.is_none() {
            return Err(Refused::NotPending);
        }
        self.may_write(&self.running.text, overwrites)?;
        self.archive.publish(&self.running.text)?;
        self.written = (self.running.revision, self.running.text.clone());
        self.mark(self.running.revision, State::Confirmed);
        self.settle();
        Ok(self.running.revision)
    }

    /// Makes the text of an old revision run again, for good: `to`, or else the backup of the
    /// pending commit, or else the newest before the running one that was confirmed and has
    /// another text.
    ///
    /// # Errors
    /// [`Refused::NotKept`], [`Refused::NothingBefore`], [`Refused::Edited`],
    /// [`Refused::Invalid`], [`Refused::Storage`]; nothing changed.
    pub fn rollback<'a>(
        &mut self,
        now: impl Into<Moment>,
        to: Option<u64>,
        order: impl Into<Order<'a>>,
    ) -> Result<u64, Refused> {
        let order = order.into();
        let to = match (to, self.pending) {
            (Some(to), _) => to,
            (None, Some(pending)) => pending.back_to,
            (None, None) => self.previous().ok_or(Refused::NothingBefore)?,
        };
        readable(order.comment)?;
        let (text, left) = (self.text_of(to)?, self.running.revision);
        self.may_write(&text, order.overwrites)?;
        let why = Why { cause: Cause::Rollback, of: Some(to), order };
        self.change(now.into().wall, &text, why)?;
        let was_pending = self.pending.is_some();
        self.mark(left, if was_pending { State::NotConfirmed } else { State::RolledBack });
        self.settle();
        Ok(self.running.revision)
    }

    /// Makes the site file run as somebody edited it. A candidate stays as it is.
    ///
    /// # Errors
    /// [`Refused::Unchanged`], [`Refused::Pending`], [`Refused::Invalid`], [`Refused::Storage`];
    /// what ran runs on.
    pub fn reload(&mut self, now: impl Into<Moment>, by: Option<&str>) -> Result<u64, Refused> {
        let text = self.archive.published()?;
        if self.pending.is_some() {
            return Err(Refused::Pending);
        }
        if text == self.running.text {
            self.written.1 = text;
            return Err(Refused::Unchanged);
        }
        let why = Why { order: by.into(), ..Why::of(Cause::Reload) };
        self.change(now.into().wall, &text, why)?;
        self.evict();
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
        let why = Why { of: Some(pending.back_to), ..Why::of(Cause::Expired) };
        let left = self.running.revision;
        let back = self.text_of(pending.back_to).and_then(|text| self.change(now.wall, &text, why));
        match back {
            Ok(()) => {
                self.mark(left, State::NotConfirmed);
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

    /// Where a rollback without a number goes: the newest revision before the running one that
    /// was confirmed and has another text.
    fn previous(&self) -> Option<u64> {
        let running = &self.running;
        let before = self.history.iter().rev().filter(|entry| entry.revision < running.revision);
        let mut confirmed = before.filter(|entry| entry.state != State::NotConfirmed);
        let is_other =
            |entry: &&Entry| self.archive.text(entry.revision).is_ok_and(|it| it != running.text);
        confirmed.find(is_other).map(|entry| entry.revision)
    }

    /// Notes what became of a revision. What the disk refuses is known until the process ends; at
    /// the next start a commit that still waits was not confirmed.
    fn mark(&mut self, revision: u64, state: State) {
        let known = self.history.iter_mut().find(|entry| entry.revision == revision);
        if let Some(entry) = known.filter(|entry| entry.state != state) {
            entry.state = state;
            let _ = self.archive.record(entry);
        }
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
        if matches!(why.cause, Cause::Commit | Cause::Rollback | Cause::Reload) {
            self.written = (entry.revision, text.to_owned());
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

fn diff(old: &str, before: &str, new: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(CONTEXT_LINES).header(old, new).to_string()
}

/// Refuses a comment that is no line of the history.
fn readable(comment: Option<&str>) -> Result<(), Refused> {
    let Some(comment) = comment else { return Ok(()) };
    if comment.len() > COMMENT_OCTETS_MAX || comment.chars().any(char::is_control) {
        let what = format!("a comment is a line of at most {COMMENT_OCTETS_MAX} octets");
        return Err(Refused::BadParameter(what));
    }
    Ok(())
}

/// The process ended while commits waited for their confirmation: none of them was confirmed but
/// the one that the site file has. Histories of versions that noted no state are told by their
/// causes.
fn end_pending(history: &mut [Entry], published: Option<u64>) {
    for at in 0..history.len() {
        let Entry { cause, of, revision: end, .. } = history[at];
        if cause == Cause::Expired
            && let Some(of) = of
        {
            let between = history.iter_mut().filter(|it| (of + 1..end).contains(&it.revision));
            between.for_each(|it| it.state = State::NotConfirmed);
        }
    }
    for entry in history.iter_mut().filter(|entry| entry.state == State::Pending) {
        let is_published = Some(entry.revision) == published;
        entry.state = if is_published { State::Confirmed } else { State::NotConfirmed };
    }
}

/// Why a revision begins, and who wanted it.
#[derive(Clone, Copy)]
struct Why<'a> {
    cause: Cause,
    of: Option<u64>,
    order: Order<'a>,
}

impl Why<'_> {
    fn of(cause: Cause) -> Self {
        Self { cause, of: None, order: Order::default() }
    }

    fn entry(self, revision: u64, now: Time) -> Entry {
        let Order { by, comment, .. } = self.order;
        Entry {
            revision,
            at_us: now.as_micros(),
            cause: self.cause,
            of: self.of,
            by: by.map(str::to_owned),
            comment: comment.filter(|text| !text.is_empty()).map(str::to_owned),
            state: match self.cause {
                Cause::CommitConfirmed => State::Pending,
                _ => State::Confirmed,
            },
        }
    }
}
