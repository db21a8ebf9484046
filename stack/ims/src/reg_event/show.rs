//! What the management side sees of subscriptions to registrations.

use crate::access::Access;
use crate::watch::{Stage, Watch};
use machine::{Duration, Time};
use question::Condition;
use schemars::JsonSchema;
use serde::Serialize;

/// How long a refusal of the core is an alarm.
const REFUSED: Duration = Duration::from_secs(3_600);
/// Of ten subscriptions that may be so many are an alarm.
const SCARCE_TENTHS: u64 = 9;

/// A subscription of this P-CSCF to the registrations of a public user identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegEventRow {
    /// The public user identity.
    pub identity: String,
    /// The realm of its phones.
    pub realm: String,
    /// `waiting`, `asked`, `standing` or `leaving`.
    pub state: &'static str,
    /// Where SUBSCRIBE requests go.
    pub core: String,
    /// The number of the last document; absent: none has come.
    pub version: Option<u32>,
    /// The answer to the last SUBSCRIBE that was refused, until one is accepted.
    pub refused: Option<u16>,
    /// SUBSCRIBE requests that have failed since one was accepted.
    pub failures: u8,
    /// Microseconds of the function's clock at which it ends, as the core said last.
    pub expires_at_us: Option<u64>,
    /// Microseconds of the function's clock at which the next SUBSCRIBE is due.
    pub due_at_us: u64,
}

impl Access {
    /// A row for each subscription, at most `limit`; of one public user identity where it is
    /// named.
    #[must_use]
    pub fn show_reg_events(&self, identity: Option<&str>, limit: usize) -> Vec<RegEventRow> {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let row = |watch: &Watch| RegEventRow {
            identity: text(&watch.identity),
            realm: self.rows.get(watch.realm).map(|it| it.realm.name.clone()).unwrap_or_default(),
            state: watch.stage.word(),
            core: watch.core.remote.to_string(),
            version: watch.far.version,
            refused: (watch.refused != 0).then_some(watch.refused),
            failures: watch.failures,
            expires_at_us: (watch.stage == Stage::Standing).then(|| watch.expires.as_micros()),
            due_at_us: watch.due.as_micros(),
        };
        match identity {
            Some(identity) => {
                let found = self.watches.of(identity.as_bytes());
                found.and_then(|key| self.watches.at(key)).map(row).into_iter().collect()
            }
            None => self.watches.slots.iter().take(limit).map(|(_, watch)| row(watch)).collect(),
        }
    }

    /// The conditions that stand of them.
    pub(crate) fn reg_event_alarms(&self, now: Time, alarms: &mut Vec<Condition>) {
        if let Some((at, status)) = self.watches.refused
            && now.since(at) < REFUSED
        {
            let text = format!(
                "the core answers {status} to subscriptions to registrations (Event: reg): \
                 of what it ends itself nothing is known here"
            );
            let row = Condition::new("ims-reg-events-refused", "core", "minor", text);
            alarms.push(row.caused_by("configuration-or-customization-error"));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let (count, most) = (self.watches.count_of(at), row.realm.section.reg_events_max);
            if row.realm.section.reg_event
                && u64::from(count) * 10 >= u64::from(most) * SCARCE_TENTHS
            {
                let text = format!("{count} subscriptions to registrations of {most} stand");
                let name = row.realm.name.as_str();
                let row = Condition::new("ims-reg-events-scarce", name, "minor", text);
                alarms.push(row.caused_by("resource-at-or-nearing-capacity"));
            }
        }
    }
}
