//! The nodes of every worker; features add theirs (`feature.rs`).

use crate::view::Shared;
use crate::{arp, echo, ethernet, glean, inject, ip4, ip6, llc, local, nd, output, reassembly};
use graph::Plan;
use std::sync::Arc;

/// The nodes of every worker, whatever features there are.
#[must_use]
pub fn trunk(shared: &Shared) -> Plan {
    let (routes, hops) = (&shared.routes, &shared.hops);
    Plan::new()
        .node(ethernet::EthernetInput::new(shared.clone()))
        .node(arp::ArpInput::new(shared.clone(), Arc::clone(&routes.ipv4), Arc::clone(hops)))
        .node(llc::LlcInput::new(shared.clone()))
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
        .node(output::InterfaceOutput::new(shared.clone()))
        .node(ip4::Ip4Redirect::new(Arc::clone(hops), shared.seed))
        .node(ip6::Ip6Redirect::new(Arc::clone(hops), shared.seed))
}
