//! What the types alone cannot refuse.

use super::Rr;
use bgp::codec::CEASE_COMMUNICATION_BYTES_MAX;
use config::Issue;
use runtime::SHARDS_MAX;

/// Seconds for which routes may be waited for after a start at most: an hour.
const DEFERRAL_S_MAX: u32 = 3_600;

impl Rr {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if self.name.is_empty() || !self.name.bytes().all(is_name) {
            let hint = "use letters, digits and hyphens";
            issues.push(Issue::new("name", format!("`{}` is not a name", self.name), hint));
        }
        if let Some((what, hint)) = self.capture.objection() {
            issues.push(Issue::new("capture", what, hint));
        }
        self.validate_own(issues);
        self.speaker().validate(issues);
        self.validate_feeds(issues);
        self.validate_places(issues);
    }

    fn validate_own(&self, issues: &mut Vec<Issue>) {
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            let what = format!("{} is out of range", self.shards);
            issues.push(Issue::new("shards", what, format!("use 1 to {SHARDS_MAX}")));
        }
        if self.cluster.is_some_and(|cluster| cluster.is_unspecified()) {
            let hint = "remove it: the BGP Identifier is taken then";
            issues.push(Issue::new("cluster", "the Cluster Identifier is zero", hint));
        }
        if self.deferral_s.is_some_and(|it| !(1..=DEFERRAL_S_MAX).contains(&it)) {
            let hint = format!("use 1 to {DEFERRAL_S_MAX}, or remove it");
            issues.push(Issue::new("deferral_s", "out of range", hint));
        }
        let octets = self.shutdown_text.as_ref().map_or(0, String::len);
        if octets > CEASE_COMMUNICATION_BYTES_MAX {
            let hint = format!("use {CEASE_COMMUNICATION_BYTES_MAX} or fewer");
            let what = format!("a text of {octets} octets");
            issues.push(Issue::new("shutdown_text", what, hint));
        }
    }
}
