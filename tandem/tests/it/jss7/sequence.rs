//! What Q.774 allows of messages between two sides: who begins a dialogue, who may go on with it,
//! and that nothing follows its end. And of one side, which may be many nodes: that no identifier
//! is of two dialogues.

use super::wire::{Kind, Row};
use std::collections::{HashMap, HashSet};

/// A dialogue on the wire.
#[derive(Debug)]
struct Dialogue {
    /// The identifier of each side, once it was said.
    ids: [Option<String>; 2],
    /// The side that has begun it.
    begun: usize,
    /// Which side has ended it.
    is_over: [bool; 2],
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    all: Vec<Dialogue>,
    /// Identifiers of each side, each with its subsystem, and the last dialogue that it was of.
    named: [HashMap<(String, String), usize>; 2],
    /// Those that the cluster has given.
    given: HashSet<String>,
    /// Messages that broke a dialogue off.
    pub aborts: usize,
}

impl Seen {
    /// Dialogues that were begun.
    pub fn begun(&self) -> usize {
        self.all.len()
    }

    /// A side says its identifier of a dialogue for the first time. No side has it of two that go
    /// on; the cluster never again, whichever of its subsystems and nodes.
    fn names(&mut self, side: usize, row: &Row, dialogue: usize, is_cluster: bool) {
        let id = row.otid.clone().expect("it has an identifier");
        let is_new = !is_cluster || self.given.insert(id.clone());
        let before = self.named[side].insert((row.subsystem.clone(), id), dialogue);
        let goes_on = before.is_some_and(|it| self.all[it].is_over == [false; 2]);
        let before = before.map(|it| &self.all[it]);
        assert!(is_new && !goes_on, "{row:?} has two owners: {before:?}");
    }

    fn message(&mut self, row: &Row, is_cluster: bool) {
        let (side, other) = (usize::from(row.is_forth), usize::from(!row.is_forth));
        let Some(kind) = row.kind else { return };
        let otid = row.otid.as_deref();
        if kind == Kind::Begin {
            let mut ids = [None, None];
            ids[side] = otid.map(str::to_owned);
            self.all.push(Dialogue { ids, begun: side, is_over: [false; 2] });
            return self.names(side, row, self.all.len() - 1, is_cluster);
        }
        // Both ends of a dialogue have the same subsystem here.
        let dtid = (row.subsystem.clone(), row.dtid.clone().expect("it is of a dialogue"));
        let of = self.named[other].get(&dtid).copied();
        let of = of.unwrap_or_else(|| panic!("of no dialogue: {row:?}"));
        let dialogue = &mut self.all[of];
        assert!(!dialogue.is_over[side], "{row:?} comes behind the end of {dialogue:?}");
        match (kind, &dialogue.ids[side]) {
            (Kind::Continue, None) => {
                assert_ne!(dialogue.begun, side);
                dialogue.ids[side] = otid.map(str::to_owned);
                self.names(side, row, of, is_cluster);
            }
            (Kind::Continue, Some(id)) => assert_eq!(Some(&**id), otid, "{row:?} {dialogue:?}"),
            (Kind::Abort, _) => {
                dialogue.is_over[side] = true;
                self.aborts += 1;
            }
            _ => dialogue.is_over[side] = true,
        }
    }
}

/// Reads all that passed; the cluster is who connected, or who was connected to.
pub fn check(rows: &[Row], cluster_connects: bool) -> Seen {
    let mut seen = Seen::default();
    rows.iter().for_each(|it| seen.message(it, it.is_forth == cluster_connects));
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Begin, Continue, End};

    fn row(is_forth: bool, kind: Kind, otid: &str, dtid: &str) -> Row {
        let id = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
        let (map, cap, subsystem) = (Vec::new(), Vec::new(), "6".to_owned());
        Row { is_forth, subsystem, kind: Some(kind), otid: id(otid), dtid: id(dtid), map, cap }
    }

    fn is_refused(rows: &[Row]) -> bool {
        std::panic::catch_unwind(|| check(rows, false)).is_err()
    }

    #[test]
    fn what_may_follow_is_let_pass_and_nothing_else() {
        let good = || {
            let first = [row(true, Begin, "a", ""), row(false, Continue, "b", "a")];
            let last = [row(true, Continue, "a", "b"), row(false, End, "", "a")];
            first.into_iter().chain(last).collect::<Vec<_>>()
        };
        assert_eq!(check(&good(), false).begun(), 1);
        let with = |more: Row| good().into_iter().chain([more]).collect::<Vec<_>>();
        // A message that crosses the end, but none behind it.
        assert!(!is_refused(&with(row(true, Continue, "a", "b"))));
        assert!(is_refused(&with(row(false, Continue, "b", "a"))));
        assert!(is_refused(&with(row(false, End, "", "a"))));
        // An identifier of the cluster is never given again; one of who speaks with it may be.
        assert!(!is_refused(&with(row(true, Begin, "a", ""))));
        assert!(is_refused(&with(row(false, Begin, "b", ""))));
        assert!(is_refused(&[row(true, Begin, "a", ""), row(true, Begin, "a", "")]));
        assert!(is_refused(&[row(false, Continue, "b", "a")]));
        let other = [row(true, Begin, "a", ""), row(false, Continue, "b", "a")];
        let other = other.into_iter().chain([row(false, Continue, "c", "a")]);
        assert!(is_refused(&other.collect::<Vec<_>>()));
    }
}
