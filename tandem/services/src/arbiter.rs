//! The arbiter of a site as one of its functions: its section, its metrics and its alarm.

use config::Issue;
use config::keys;
use event::MetricCells;
use oam::{Managed, PortRow, State};
use question::{Condition, Question, questions};
use replica::{ArbiterServer, PAIRS_MAX, Terms};
use runtime::{Ask, AskError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// The arbiter's name as a function of the site.
pub const ARBITER: &str = "arbiter";
/// The longest promise that may be allowed, milliseconds; as long as the longest `detect_ms`.
const PROMISE_MAX_MS: u32 = 60_000;

/// The third vote of pairs whose nodes run on other machines (`[ssc.replica]`, `arbiter`). What
/// is here changes with a restart of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// UDP address to listen on.
    pub listen: SocketAddr,
    /// The longest time for which the vote is promised to one node, milliseconds: at least
    /// `detect_ms` of each pair. Who asks for more is refused.
    #[serde(default = "promise_max_ms")]
    pub promise_max_ms: u32,
    /// The pairs that it serves. None at all: whoever asks, for which `listen` must be a loopback
    /// address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<PairSection>,
}

/// A pair that the arbiter serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairSection {
    /// Its number.
    pub pair: u32,
    /// File with its keys, the same as at both nodes; relative to the site's directory.
    pub key_file: String,
}

const fn promise_max_ms() -> u32 {
    5_000
}

impl Section {
    /// Pushes what the types alone cannot refuse.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.pair.is_empty() && !self.listen.ip().is_loopback() {
            let what = "whoever reaches the arbiter could keep pairs from a failover";
            let hint = "name each pair: `[[arbiter.pair]]`, `pair = 1`, `key_file = \"pair.key\"`";
            issues.push(Issue::new("listen", what, hint));
        }
        if !(1..=PROMISE_MAX_MS).contains(&self.promise_max_ms) {
            let what = format!("{} is out of range", self.promise_max_ms);
            issues.push(Issue::new("promise_max_ms", what, format!("use 1 to {PROMISE_MAX_MS}")));
        }
        if self.pair.len() > PAIRS_MAX {
            let hint = format!("use at most {PAIRS_MAX}");
            issues.push(Issue::new("pair", "too many pairs", hint));
        }
        for (n, row) in self.pair.iter().enumerate() {
            if self.pair[..n].iter().any(|other| other.pair == row.pair) {
                let what = format!("pair {} is there already", row.pair);
                issues.push(Issue::new(format!("pair[{n}].pair"), what, "remove one"));
            }
        }
    }

    /// What hinders the reading of its keys; paths are relative to the section.
    pub fn unreadable(&self, directory: &Path) -> Vec<Issue> {
        let rows = self.pair.iter().enumerate();
        let issue = |(n, row): (usize, &PairSection)| {
            let unusable = keys::read(directory, &row.key_file).err()?;
            Some(unusable.issue(format!("pair[{n}].key_file")))
        };
        rows.filter_map(issue).collect()
    }
}

/// The arbiter, if this site has one.
pub struct Arbiter {
    server: ArbiterServer,
    listen: SocketAddr,
    started_at_us: u64,
}

impl Arbiter {
    /// Serves what the section says.
    ///
    /// # Errors
    /// A key cannot be read, the address not be bound; no thread.
    pub fn start(section: &Section, directory: &Path) -> io::Result<Self> {
        let pairs = section.pair.iter().map(|row| {
            let keys = keys::read(directory, &row.key_file);
            keys.map(|keys| (u64::from(row.pair), keys))
                .map_err(|error| io::Error::other(format!("arbiter.pair.key_file: {error}")))
        });
        let terms = Terms {
            promise_max: Duration::from_millis(section.promise_max_ms.into()),
            pairs: pairs.collect::<io::Result<_>>()?,
        };
        let server = ArbiterServer::start(section.listen, &terms)?;
        let started_at_us = oam::clock::now().as_micros();
        Ok(Self { server, listen: section.listen, started_at_us })
    }

    fn alarms(&self) -> Vec<Condition> {
        let Some(count) = self.server.refuses() else { return Vec::new() };
        let text = format!(
            "{count} datagrams of late were no requests of a known pair: a node has another key \
             or asks for too long a promise, or somebody forges them"
        );
        let row = Condition::new("arbiter-refuses", ARBITER, "minor", text);
        vec![row.caused_by("unauthorized-access-attempt")]
    }
}

type Serve = fn(&Arbiter, &Ask) -> Result<Value, AskError>;

questions! {
    /// What an arbiter may be asked.
    const QUESTIONS: Serve;
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, _| Ok(it.alarms());
}

/// What an arbiter may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Managed for Arbiter {
    fn name(&self) -> String {
        ARBITER.to_owned()
    }

    fn kind(&self) -> &'static str {
        ARBITER
    }

    fn state(&self) -> State {
        State::Running
    }

    fn shards(&self) -> u16 {
        1
    }

    fn started_at_us(&self) -> u64 {
        self.started_at_us
    }

    fn ports(&self) -> Vec<PortRow> {
        vec![PortRow {
            name: "votes".to_owned(),
            transport: "udp".to_owned(),
            address: self.listen.to_string(),
        }]
    }

    fn cells(&self) -> Vec<(u16, Vec<MetricCells>)> {
        vec![(0, vec![self.server.cells()])]
    }

    fn ask(&self, ask: Ask) -> Result<Value, AskError> {
        let serve = question::find(QUESTIONS, &ask.path);
        serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?(self, &ask)
    }

    fn questions(&self) -> Vec<Question> {
        questions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arbiter_that_anybody_reaches_names_its_pairs() {
        let issues = |text: &str| {
            let section: Section = serde_json::from_str(text).unwrap();
            let mut issues = Vec::new();
            section.validate(&mut issues);
            issues.into_iter().map(|issue| issue.path).collect::<Vec<_>>()
        };
        assert_eq!(issues(r#"{ "listen": "127.0.0.1:5998" }"#), Vec::<String>::new());
        assert_eq!(issues(r#"{ "listen": "[::1]:5998" }"#), Vec::<String>::new());
        assert_eq!(issues(r#"{ "listen": "192.0.2.1:5998" }"#), ["listen"]);
        assert_eq!(issues(r#"{ "listen": "0.0.0.0:5998" }"#), ["listen"]);
        let row = r#"{ "pair": 1, "key_file": "key" }"#;
        let one = format!(r#"{{ "listen": "192.0.2.1:5998", "pair": [{row}] }}"#);
        assert_eq!(issues(&one), Vec::<String>::new());
        let two = format!(
            r#"{{ "listen": "192.0.2.1:5998", "promise_max_ms": 0, "pair": [{row}, {row}] }}"#
        );
        assert_eq!(issues(&two), ["promise_max_ms", "pair[1].pair"]);
    }
}
