//! Marks and classes: `classify` where packets come in, `mark-out` where they leave.

use graph::Plan;
use nodes::Refused;
use nodes::arcs::{NAME_OUT, RECEIVED, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::qos::marking::{Classify, Maps, MarkOut, Markings};
use nodes::view::Shared;
use program::{Interface, Program, Removed};
use std::collections::BTreeMap;
use table::epoch::Publisher;

/// The feature. The node of labels reads its table as well.
pub(crate) struct ClassMaps {
    maps: BTreeMap<u32, Maps>,
    out: Publisher<Markings>,
    changed: bool,
}

impl ClassMaps {
    fn join(&self, interface: u32, change: &mut Change<'_>) {
        let on = self.maps.contains_key(&interface);
        for arc in RECEIVED {
            change.join(arc, interface, "classify", on);
        }
        change.join(NAME_OUT, interface, "mark-out", on);
    }
}

impl Feature for ClassMaps {
    fn new(start: &Start<'_>) -> Self {
        let out = Publisher::new(start.domain, Markings::default());
        Self { maps: BTreeMap::new(), out, changed: false }
    }

    fn name(&self) -> &'static str {
        "marking"
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Marking(marking) = program else { return Ok(false) };
        Refused::interface(marking.interface)?;
        let whole = || Refused::Conflict("a map has all its rows, in their ranges".to_owned());
        self.maps.insert(marking.interface, Maps::of(marking).ok_or_else(whole)?);
        self.changed = true;
        self.join(marking.interface, change);
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Marking(interface) = removed else { return Ok(false) };
        self.maps.remove(interface);
        self.changed = true;
        self.join(*interface, change);
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        self.maps.keys().map(|at| Removed::Marking(*at)).collect()
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let (Some(before), None) = (before, after) {
            self.changed |= self.maps.remove(&before.index).is_some();
        }
        Ok(())
    }

    fn publish(&mut self, _: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.changed) {
            self.out.publish(Markings::of(&self.maps));
        }
    }

    fn share(&self, shared: &mut Shared) {
        shared.markings = self.out.published();
    }

    fn nodes(&mut self, _: &Worker<'_>, plan: Plan) -> Plan {
        plan.node(Classify(self.out.published())).node(MarkOut(self.out.published()))
    }

    fn joins(&self) -> Vec<Join> {
        let classify = |arc| Join::On { arc, node: "classify", rank: rank::CLASSIFY };
        let mark = Join::On { arc: NAME_OUT, node: "mark-out", rank: rank::MARK };
        RECEIVED.into_iter().map(classify).chain([mark]).collect()
    }
}
