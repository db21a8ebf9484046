//! What the management side itself reports.

use std::sync::Mutex;

event::facts! {
    /// What the API, the alarms and the configuration did.
    pub enum OamFact {
        /// A request was answered.
        Request = Counter, Debug, "oam_http_requests_total", "HTTP requests answered";
        /// A request carried no valid token or session.
        Unauthorized = Counter, Info, "oam_http_unauthorized_total",
            "HTTP requests refused for want of a valid token";
        /// A token's role does not reach.
        Forbidden = Counter, Warn, "oam_http_forbidden_total",
            "HTTP requests refused because the role of their token does not reach";
        /// Wrong tokens beyond a source's budget.
        Guessed = Counter, Warn, "oam_http_guesses_total",
            "HTTP requests refused because their source sent too many wrong tokens";
        /// A request named a host that is not ours.
        Misdirected = Counter, Warn, "oam_http_misdirected_total",
            "HTTP requests refused because they name a host that is not this site";
        /// A connection made room for a newer one.
        Shed = Counter, Warn, "oam_http_connections_shed_total",
            "HTTP connections ended to make room for newer ones";
        /// A peer drew out a head, a body or an answer.
        Slow = Counter, Info, "oam_http_slow_total",
            "HTTP connections ended because a head, a body or an answer took too long";
        /// A request failed on our side.
        Failed = Counter, Warn, "oam_http_failed_total", "HTTP requests answered with 5xx";
        /// Time to answer.
        RequestTime = Histogram, Debug, "oam_http_request_us",
            "Time to answer an HTTP request in microseconds";
        /// Live streams that are open.
        Streams = Gauge, Debug, "oam_live_streams", "Live event streams open";
        /// An alarm was raised.
        AlarmRaised = Counter, Info, "oam_alarms_raised_total", "Alarms raised";
        /// An alarm was cleared.
        AlarmCleared = Counter, Info, "oam_alarms_cleared_total", "Alarms cleared";
        /// Alarms beyond the limit.
        AlarmShed = Counter, Warn, "oam_alarms_shed_total",
            "Alarms not kept because the list was full";
        /// Alarms that stand.
        AlarmsActive = Gauge, Debug, "oam_alarms_active", "Alarms that stand";
        /// A commit took effect.
        Committed = Counter, Info, "oam_config_commits_total", "Commits that took effect";
        /// A commit was refused.
        CommitRefused = Counter, Info, "oam_config_commits_refused_total", "Commits refused";
        /// A rollback took effect.
        RolledBack = Counter, Warn, "oam_config_rollbacks_total",
            "Rollbacks that took effect, those of unconfirmed commits included";
        /// The running revision.
        Revision = Gauge, Debug, "oam_config_revision", "Revision of the configuration that runs";
    }
}

/// The sheet of the management side: many threads write, so that a lock stands before it.
#[derive(Debug, Default)]
pub struct Facts(Mutex<event::Sheet<OamFact>>);

impl Facts {
    fn sheet(&self) -> std::sync::MutexGuard<'_, event::Sheet<OamFact>> {
        // A poisoned sheet is still a sheet of numbers.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds `n` to a counter.
    pub fn add(&self, fact: OamFact, n: u64) {
        self.sheet().add(fact, n);
    }

    /// Changes a gauge by `by`.
    pub fn shift(&self, fact: OamFact, by: i64) {
        let sheet = self.sheet();
        sheet.set(fact, sheet.read(fact).saturating_add_signed(by));
    }

    /// Sets a gauge.
    pub fn set(&self, fact: OamFact, value: u64) {
        self.sheet().set(fact, value);
    }

    /// Records a value in a histogram.
    pub fn observe(&self, fact: OamFact, value: u64) {
        self.sheet().observe(fact, value);
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> event::Cells {
        self.sheet().cells()
    }
}
