//! What somebody should look at of a cluster.

use crate::member::Clustered;
use crate::partition::wishes;
use question::Condition;
use replica::groups::GroupRow;

impl Clustered {
    /// What somebody should look at.
    pub fn alarms(&self, rows: &mut Vec<Condition>) {
        let Some(nodes) = &self.nodes else { return };
        // What is true of many partitions is one alarm.
        let of_groups = |it: &Condition| it.subject.starts_with("group ");
        rows.extend(nodes.alarms().into_iter().filter(|it| !of_groups(it)));
        for node in self.heard.keys() {
            let stands = self.peers.standing(*node);
            if stands.is_some_and(|it| it.digest != self.settings.digest) {
                let subject = format!("node {node}");
                let text = format!("{subject} is configured otherwise in what has to be alike");
                rows.push(alarm("cluster-nodes-differ", &subject, "major", text));
            }
        }
        self.partition_alarms(&nodes.groups(), rows);
    }

    fn partition_alarms(&self, groups: &[GroupRow], rows: &mut Vec<Condition>) {
        let mut of =
            |name: &str, severity: &str, (count, is_starting): (usize, bool), text: &str| {
                if count > 0 {
                    let row = alarm(name, "partitions", severity, format!("{count} {text}"));
                    rows.push(row.starting(is_starting));
                }
            };
        // How many, and whether none of them has failed yet.
        let count = |is: &dyn Fn(&GroupRow) -> bool| {
            let such = || groups.iter().filter(|it| is(it));
            (such().count(), such().all(|it| it.is_starting))
        };
        let lacks = count(&|it| it.role == "active" && it.standbys.is_empty());
        let text = "partitions of this node have no standby: its death now loses their dialogues";
        of("cluster-no-standby", "major", lacks, text);
        let text = "partitions are served by no node: there is no majority, or no copy";
        of("cluster-partition-unserved", "critical", count(&|it| it.serves.is_none()), text);
        let behind = self.behind.and(self.open).len() as usize;
        let text = "partitions have a standby that is too far behind";
        of("cluster-behind", "major", (behind, false), text);
        let wishes = wishes(&self.settings.shares());
        let is_elsewhere = |it: &GroupRow| {
            let first = wishes.get(usize::from(it.group)).and_then(|it| it.first());
            it.serves.is_some() && it.serves != first.map(|it| it.0)
        };
        let text = "partitions have moved: another node serves them than the one that shall";
        of("cluster-partition-moved", "warning", (count(&is_elsewhere).0, false), text);
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}
