//! Labels: what becomes of packets by their outermost one (RFC 3031, RFC 3032).

use graph::Plan;
use nodes::Refused;
use nodes::arcs::NAME_OUT;
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::l2::bridge::PSEUDOWIRES_MAX;
use nodes::mpls::entry::{IPV4_EXPLICIT_NULL, IPV6_EXPLICIT_NULL, LABELS};
use nodes::mpls::table::{self, Action, Labels, Row};
use nodes::mpls::{MplsExpired, MplsInput};
use program::{LabelAction, Program, Removed, Tunnel};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The feature. Workers read a label's word as it is written: nothing is published.
pub(crate) struct LabelTable {
    labels: Arc<Labels>,
    said: BTreeSet<u32>,
}

impl LabelTable {
    /// What becomes of packets with a label from now on.
    fn label(&mut self, label: u32, action: &LabelAction, hop: u32) -> Result<(), Refused> {
        Refused::above("label", label, LABELS - 1)?;
        self.labels.set(label, row(action, hop)?);
        self.said.insert(label);
        Ok(())
    }

    /// A label is not known any more (explicit null always is).
    fn forget(&mut self, label: u32) -> Result<(), Refused> {
        Refused::above("label", label, LABELS - 1)?;
        let row = match label {
            IPV4_EXPLICIT_NULL | IPV6_EXPLICIT_NULL => Row::new(Action::Pop, 0, 0),
            _ => Row::UNKNOWN,
        };
        self.said.remove(&label);
        self.labels.set(label, row);
        Ok(())
    }
}

/// The word of a label; `hop` is the hop as the table numbers it.
fn row(action: &LabelAction, hop: u32) -> Result<Row, Refused> {
    let flags = |tunnel: &Tunnel| match tunnel {
        Tunnel::Pipe => 0,
        Tunnel::ShortPipe => table::SHORT_PIPE,
        Tunnel::Uniform => table::UNIFORM,
    };
    let frame = |word: bool, flow: bool| {
        let word = if word { table::CONTROL_WORD } else { 0 };
        word | if flow { table::FLOW_LABEL } else { 0 }
    };
    Ok(match action {
        LabelAction::Forward { tunnel, .. } => Row::new(Action::Forward, flags(tunnel), hop),
        LabelAction::PopVrf { vrf, tunnel } => Row::new(Action::Vrf, flags(tunnel), *vrf),
        LabelAction::PopPseudowire { pseudowire, control_word, flow_label } => {
            Refused::above("pseudowire", *pseudowire, PSEUDOWIRES_MAX - 1)?;
            Row::new(Action::Bridge, frame(*control_word, *flow_label), *pseudowire)
        }
        LabelAction::PopInterface { interface, control_word, flow_label } => {
            Row::new(Action::Interface, frame(*control_word, *flow_label), *interface)
        }
        LabelAction::Pop { tunnel } => Row::new(Action::Pop, flags(tunnel), 0),
    })
}

impl Feature for LabelTable {
    /// Nothing but the labels that are always known.
    fn new(_: &Start<'_>) -> Self {
        let labels = Labels::new();
        for null in [IPV4_EXPLICIT_NULL, IPV6_EXPLICIT_NULL] {
            labels.set(null, Row::new(Action::Pop, 0, 0));
        }
        Self { labels, said: BTreeSet::new() }
    }

    fn name(&self) -> &'static str {
        "labels"
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Label { label, action } = program else { return Ok(false) };
        let hop = match action {
            LabelAction::Forward { hop, .. } => change.hop(*hop)?,
            LabelAction::PopVrf { vrf, .. } => change.vrf(*vrf).map(|()| 0)?,
            _ => 0,
        };
        self.label(*label, action, hop).map(|()| true)
    }

    fn remove(&mut self, removed: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Label(label) = removed else { return Ok(false) };
        self.forget(*label).map(|()| true)
    }

    fn said(&self) -> Vec<Removed> {
        self.said.iter().map(|label| Removed::Label(*label)).collect()
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        plan.node(MplsInput::new(worker.shared.clone(), Arc::clone(&self.labels)))
            .node(MplsExpired::new(worker.shared.clone(), Arc::clone(&self.labels)))
    }

    fn joins(&self) -> Vec<Join> {
        vec![Join::From { arc: NAME_OUT, node: "mpls-input" }]
    }
}
