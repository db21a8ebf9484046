//! Source checks (RFC 3704): `ip4-urpf` and `ip6-urpf` for interfaces that want them.

use graph::Plan;
use nodes::Refused;
use nodes::arcs::{NAME_IP4_IN, NAME_IP6_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::urpf::SourceCheck;
use program::{Interface, Program, Removed, Urpf};
use std::sync::Arc;

/// The feature; what it knows stands in the rows of interfaces.
pub(crate) struct SourceChecks;

impl Feature for SourceChecks {
    fn new(_: &Start<'_>) -> Self {
        Self
    }

    fn name(&self) -> &'static str {
        "source-check"
    }

    fn apply(&mut self, _: &Program, _: &mut Change<'_>) -> Result<bool, Refused> {
        Ok(false)
    }

    fn remove(&mut self, _: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        Ok(false)
    }

    fn said(&self) -> Vec<Removed> {
        Vec::new()
    }

    fn interface(
        &mut self,
        _: Option<&Interface>,
        after: Option<&Interface>,
        change: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let Some(after) = after {
            let checked = after.urpf != Urpf::Off;
            change.join(NAME_IP4_IN, after.index, "ip4-urpf", checked);
            change.join(NAME_IP6_IN, after.index, "ip6-urpf", checked);
        }
        Ok(())
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let shared = worker.shared;
        let check = |six| {
            let (routes, hops) = (shared.routes.clone(), Arc::clone(&shared.hops));
            SourceCheck::new(shared.clone(), routes, hops, six)
        };
        plan.node(check(false)).node(check(true))
    }

    fn joins(&self) -> Vec<Join> {
        vec![
            Join::On { arc: NAME_IP4_IN, node: "ip4-urpf", rank: rank::SOURCE },
            Join::On { arc: NAME_IP6_IN, node: "ip6-urpf", rank: rank::SOURCE },
        ]
    }
}
