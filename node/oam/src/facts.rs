//! What the management side itself reports.

use std::collections::BTreeMap;
use std::sync::Mutex;

event::facts! {
    /// What the API, the alarms and the configuration did.
    pub enum OamFact {
        /// HTTP requests answered.
        Request = Counter, "oam_http_requests_total";
        /// HTTP requests refused for want of a valid token.
        Unauthorized = Counter, "oam_http_unauthorized_total";
        /// HTTP requests refused because the role of their token does not reach.
        Forbidden = Counter, "oam_http_forbidden_total";
        /// HTTP requests refused because their source sent too many wrong tokens.
        Guessed = Counter, "oam_http_guesses_total";
        /// HTTP requests refused because they name a host that is not this site.
        Misdirected = Counter, "oam_http_misdirected_total";
        /// HTTP connections ended to make room for newer ones.
        Shed = Counter, "oam_http_connections_shed_total";
        /// HTTP connections ended because a head, a body or an answer took too long.
        Slow = Counter, "oam_http_slow_total";
        /// HTTP requests answered with 5xx.
        Failed = Counter, "oam_http_failed_total";
        /// Time to answer an HTTP request in microseconds.
        RequestTime = Histogram, "oam_http_request_us";
        /// Live event streams open.
        Streams = Gauge, "oam_live_streams";
        /// Alarms raised.
        AlarmRaised = Counter, "oam_alarms_raised_total";
        /// Alarms cleared.
        AlarmCleared = Counter, "oam_alarms_cleared_total";
        /// Alarms not kept because the list was full.
        AlarmShed = Counter, "oam_alarms_shed_total";
        /// Alarms that stand.
        AlarmsActive = Gauge, "oam_alarms_active";
        /// Commits that took effect.
        Committed = Counter, "oam_config_commits_total";
        /// Commits refused.
        CommitRefused = Counter, "oam_config_commits_refused_total";
        /// Rollbacks that took effect, those of unconfirmed commits included.
        RolledBack = Counter, "oam_config_rollbacks_total";
        /// Revision of the configuration that runs.
        Revision = Gauge, "oam_config_revision";
    }
}

event::facts! {
    /// What is known of each kind of alarm: labels `alarm` and `severity`.
    pub enum AlarmFact {
        /// Alarms of a kind and a severity that stand.
        Standing = Gauge, "oam_alarms_standing";
    }
}

/// The sheet of the management side: many threads write, so that a lock stands before it.
#[derive(Debug)]
pub struct Facts {
    sheet: Mutex<event::Sheet<OamFact>>,
    alarms: event::Table<AlarmFact, 2>,
}

impl Default for Facts {
    fn default() -> Self {
        Self { sheet: Mutex::default(), alarms: event::Table::new(&["alarm", "severity"]) }
    }
}

impl Facts {
    fn sheet(&self) -> std::sync::MutexGuard<'_, event::Sheet<OamFact>> {
        // A poisoned sheet is still a sheet of numbers.
        self.sheet.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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

    /// Shows the alarms that stand.
    pub fn show_alarms(&self, standing: &BTreeMap<(String, &'static str), u64>) {
        let rows = standing.iter().map(|((alarm, severity), number)| {
            ([&**alarm, *severity], [(AlarmFact::Standing, *number)])
        });
        self.alarms.show(rows);
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> [event::Cells; 2] {
        [self.sheet().cells(), self.alarms.cells()]
    }
}
