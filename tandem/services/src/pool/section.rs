//! The `[pool]` section of the site file.

use config::Issue;
use pool::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A week: the longest grace time.
const GRACE_S_MAX: u32 = 7 * 24 * 3_600;
/// Functions with a share of their own.
const SHARES_MAX: usize = 64;

/// A pool of sessions (calls) that all controllers of the site draw from and return to. One
/// process keeps it (`sessions`), others of the site reach it over the management network
/// (`keeper`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// This process keeps the pool: calls of all controllers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// UDP address where other processes reach the keeper; absent: only the controllers of this
    /// process draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// UDP address of the keeper in another process, in place of `sessions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<SocketAddr>,
    /// File with the secret that keeper and others share, relative to the site's directory and
    /// readable for its owner only. The keeper makes it when it is missing; copy it to the others.
    #[serde(default = "secret_file")]
    pub secret_file: String,
    /// How long controllers start calls beyond what they hold when the keeper is away, seconds.
    #[serde(default = "grace_s")]
    pub grace_s: u32,
    /// How many calls beyond what it holds a shard may have meanwhile; absent: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdraft: Option<u32>,
    /// Answer to a call that exceeds the pool.
    #[serde(default = "status")]
    pub status: u16,
    /// What single functions get; of a pair, both nodes are `pair-NUMBER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub share: Vec<ShareSection>,
}

/// What one function gets of the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareSection {
    /// Its name, `pair-NUMBER` for the nodes of a pair.
    pub function: String,
    /// Sessions that are kept back for it.
    #[serde(default)]
    pub min: u32,
    /// Sessions that it gets at most; absent: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

fn secret_file() -> String {
    "pool-secret".to_owned()
}

const fn grace_s() -> u32 {
    3_600
}

const fn status() -> u16 {
    503
}

/// What calls notice when `new` takes the place of `old`: a sentence each. None of them ends.
pub fn interruptions(old: Option<&Section>, new: Option<&Section>) -> Vec<String> {
    const REFUSED: &str = "new calls are refused while more run, calls in progress go on";
    let sessions = |section: Option<&Section>| section.and_then(|own| own.sessions);
    let mut said = Vec::new();
    match (sessions(old), sessions(new)) {
        (Some(old), Some(new)) if new < old => {
            said.push(format!("pool: {new} sessions in place of {old}: {REFUSED}"));
        }
        (None, Some(new)) => said.push(format!("pool: {new} sessions from now on: {REFUSED}")),
        (Some(_), None) => said.push("pool: it ends: calls are limited by it no more".to_owned()),
        _ => {}
    }
    let most = |section: Option<&Section>, name: &str| {
        let share = section.into_iter().flat_map(|own| &own.share).find(|it| it.function == name);
        share.and_then(|it| it.max).unwrap_or(u32::MAX)
    };
    for share in new.into_iter().flat_map(|own| &own.share) {
        let (name, max) = (&*share.function, most(new, &share.function));
        if max < most(old, name) {
            said.push(format!("pool: {name} gets {max} sessions at most: {REFUSED}"));
        }
    }
    said
}

impl Section {
    /// What changes only with a restart of the site: the key, and what it says.
    pub fn link(section: Option<&Self>) -> [(&'static str, String); 3] {
        let text = |of: fn(&Self) -> String| section.map(of).unwrap_or_default();
        let address = |at: Option<SocketAddr>| at.map(|at| at.to_string()).unwrap_or_default();
        [
            ("listen", section.map(|own| address(own.listen)).unwrap_or_default()),
            ("keeper", section.map(|own| address(own.keeper)).unwrap_or_default()),
            (
                "secret_file",
                text(|own| if own.is_linked() { own.secret_file.clone() } else { String::new() }),
            ),
        ]
    }

    /// Whether there is another process.
    pub const fn is_linked(&self) -> bool {
        self.listen.is_some() || self.keeper.is_some()
    }

    /// What each function gets.
    pub fn shares(&self) -> Vec<Share> {
        let share = |own: &ShareSection| Share {
            function: own.function.clone(),
            min: own.min,
            max: own.max.unwrap_or(u32::MAX),
        };
        self.share.iter().map(share).collect()
    }

    /// Pushes what the types alone cannot refuse.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.sessions.is_some() == self.keeper.is_some() {
            let what = "a site keeps its pool or draws from the keeper of another process";
            let hint = "write `sessions = N` here, or `keeper = \"ADDRESS:PORT\"`";
            issues.push(Issue::new("sessions", what, hint));
        }
        if self.sessions == Some(0) {
            let hint = "write a number, or leave [pool] out for no limit";
            issues.push(Issue::new("sessions", "a pool without sessions", hint));
        }
        let idle = [("listen", self.listen.is_some()), ("share", !self.share.is_empty())];
        for (key, _) in idle.into_iter().filter(|(_, is_set)| *is_set && self.keeper.is_some()) {
            issues.push(Issue::new(key, "only the keeper has it", "move it to the keeper's site"));
        }
        if self.secret_file.is_empty() {
            issues.push(Issue::new("secret_file", "the path is empty", "write a file's name"));
        }
        if self.grace_s > GRACE_S_MAX {
            let what = format!("{} is out of range", self.grace_s);
            issues.push(Issue::new("grace_s", what, format!("use 0 to {GRACE_S_MAX}")));
        }
        if !(300..700).contains(&self.status) {
            issues.push(Issue::new("status", "not a final failure", "use 300 to 699"));
        }
        self.validate_shares(issues);
    }

    fn validate_shares(&self, issues: &mut Vec<Issue>) {
        if self.share.len() > SHARES_MAX {
            let hint = format!("use at most {SHARES_MAX}");
            issues.push(Issue::new("share", "too many shares", hint));
        }
        for (n, share) in self.share.iter().enumerate() {
            if share.max.is_some_and(|max| max < share.min) {
                let at = format!("share[{n}].max");
                issues.push(Issue::new(at, "less than its min", "use min or more"));
            }
            if self.share[..n].iter().any(|other| other.function == share.function) {
                let what = format!("`{}` has a share already", share.function);
                issues.push(Issue::new(format!("share[{n}].function"), what, "remove one"));
            }
        }
        let all: u64 = self.share.iter().map(|share| u64::from(share.min)).sum();
        if self.sessions.is_some_and(|sessions| all > sessions.into()) {
            let what = format!("{all} sessions are kept back, which is more than the pool has");
            issues.push(Issue::new("share", what, "lower their min"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        let section: Section = toml_of(text);
        let mut issues = Vec::new();
        section.validate(&mut issues);
        issues.into_iter().map(|issue| issue.path).collect()
    }

    fn toml_of(text: &str) -> Section {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_pool_that_cannot_work_is_refused() {
        assert_eq!(issues(r#"{ "sessions": 10 }"#), Vec::<String>::new());
        assert_eq!(issues(r#"{ "keeper": "127.0.0.1:5970" }"#), Vec::<String>::new());
        assert_eq!(issues("{}"), ["sessions"]);
        assert_eq!(issues(r#"{ "sessions": 1, "keeper": "127.0.0.1:1" }"#), ["sessions"]);
        let wrong = r#"{ "sessions": 0, "grace_s": 4000000000, "status": 200, "secret_file": "" }"#;
        assert_eq!(issues(wrong), ["sessions", "secret_file", "grace_s", "status"]);
        let row = r#"{ "function": "a", "min": 9, "max": 8 }"#;
        let shares = format!(r#"{{ "sessions": 10, "share": [{row}, {row}] }}"#);
        let expected = ["share[0].max", "share[1].max", "share[1].function", "share"];
        assert_eq!(issues(&shares), expected);
        let remote = r#"{ "keeper": "127.0.0.1:1", "listen": "127.0.0.1:2" }"#;
        assert_eq!(issues(remote), ["listen"]);
    }
}
