//! All nodes of a worker, and the arcs between them.

use crate::l2::{BridgeInput, CrossConnect};
use crate::mpls::{MplsExpired, MplsInput};
use crate::program::{Direction, Family};
use crate::qos::{Classify, FilterNode, MarkOut, PolicerNode, Stage};
use crate::sampling::Sample;
use crate::view::{Shared, Views};
use crate::{
    arcs, arp, echo, ethernet, glean, inject, ip4, ip6, local, nd, output, reassembly, urpf,
};
use graph::Plan;
use machine::narrow::place;
use std::sync::Arc;
use table::mac::Learner;

/// All nodes of a worker.
#[must_use]
pub fn plan(shared: &Shared, (views, learner): (Views, Learner)) -> Plan {
    let (routes, hops) = (&shared.routes, &shared.hops);
    let plan = Plan::new()
        .node(ethernet::EthernetInput::new(shared.clone()))
        .node(arp::ArpInput::new(shared.clone(), Arc::clone(&routes.ipv4), Arc::clone(hops)))
        .node(ip4::Ip4Input)
        .node(ip4::Ip4Options)
        .node(ip4::Ip4Lookup::new(Arc::clone(&routes.ipv4), Arc::clone(hops), shared.seed))
        .node(ip4::Ip4Fragment::new(Arc::clone(hops)))
        .node(ip4::Ip4Error::new(shared.clone()))
        .node(ip6::Ip6Input::new(shared.clone()))
        .node(ip6::Ip6Options)
        .node(ip6::Ip6Lookup::new(Arc::clone(&routes.ipv6), Arc::clone(hops), shared.seed))
        .node(ip6::Ip6Error::new(shared.clone()))
        .node(nd::NdInput::new(shared.clone()))
        .node(local::Local::new(shared.clone(), false))
        .node(local::Local::new(shared.clone(), true))
        .node(echo::Echo::new(shared.clone()))
        .node(reassembly::Reassembly::new(shared.clone()))
        .node(glean::Glean::new(shared.clone(), Arc::clone(hops)))
        .node(inject::Inject::new(shared.clone()))
        .node(output::InterfaceOutput::new(shared.clone()));
    let check = |six| urpf::SourceCheck::new(shared.clone(), routes.clone(), Arc::clone(hops), six);
    let plan = plan.node(check(false)).node(check(true));
    let plan = plan
        .node(ip4::Ip4Redirect::new(Arc::clone(hops), shared.seed))
        .node(ip6::Ip6Redirect::new(Arc::clone(hops), shared.seed));
    let plan = services_plan(plan, &views, learner, shared.seed);
    arcs::arcs().into_iter().fold(plan, Plan::arc)
}

/// The nodes of labels, frames and traffic classes.
fn services_plan(plan: Plan, views: &Views, learner: Learner, seed: u32) -> Plan {
    let filter = |stage| FilterNode::new(views.clone(), stage);
    plan.node(MplsInput::new(views.clone()))
        .node(MplsExpired::new(views.clone()))
        .node(CrossConnect::new(views.clone()))
        .node(BridgeInput::new(views.clone(), learner))
        .node(Sample::new(views.clone(), seed ^ place(views.worker)))
        .node(Classify(views.clone()))
        .node(MarkOut(views.clone()))
        .node(filter(Stage::In(Family::Ip4)))
        .node(filter(Stage::In(Family::Ip6)))
        .node(filter(Stage::In(Family::Ethernet)))
        .node(filter(Stage::Out))
        .node(PolicerNode::new(views.clone(), Direction::In))
        .node(PolicerNode::new(views.clone(), Direction::Out))
}
