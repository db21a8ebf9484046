//! Hops of learnt routes: equal ways, each behind the label that the next router wants, and a way
//! that stands in for the only one.
//!
//! ```text
//!   route → pair ─→ primary: label → "ospf 3 10.0.0.2"      the protocol's own hop of a neighbour:
//!             └───→ backup:  labels → "via 7 10.0.1.2"      empty since its adjacency is lost
//! ```
//! A pair leads to its backup when the plane says that the neighbour's link is down, or this
//! control that the neighbour is lost: one program, however many routes there are.

use crate::hops::{Hops, behind, plain, shared};
use dataplane::{Edit, Kind, Rank};
use igp::{Guard, Protocol, Router, Way};
use nodes::Program;
use nodes::program::{Hop, Removed};

/// Where a route leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lead {
    /// Equal ways, with the labels that their routers want.
    pub(crate) ways: Vec<(Way, Option<u32>)>,
    /// Its ways are hops of that protocol's own.
    pub(crate) guard: Option<Protocol>,
    /// What stands in for the only way, behind labels.
    pub(crate) backup: Option<(Way, Vec<u32>)>,
}

impl Lead {
    /// Its hop.
    pub(crate) fn hop(&self, router: Option<&Router>, hops: &mut impl Hops) -> u32 {
        let members: Vec<(u32, u32)> =
            self.ways.iter().map(|(way, label)| (self.way(way, *label, router, hops), 1)).collect();
        let primary = shared(members, hops);
        let Some((way, labels)) = &self.backup else { return primary };
        let backup = behind(plain(way, hops), labels, hops);
        let name = format!("backup {primary} {backup}");
        hops.hop(Rank::Paired, &name, Hop::Backup { primary, backup })
    }

    fn way(
        &self,
        way: &Way,
        label: Option<u32>,
        router: Option<&Router>,
        hops: &mut impl Hops,
    ) -> u32 {
        let over = match self.guard {
            Some(protocol) => {
                let guard = (protocol, *way);
                let is_away = router.is_some_and(|it| it.is_away(&guard));
                hops.hop(Rank::Hop, &name_of(&guard), guarded(&guard, is_away))
            }
            None => plain(way, hops),
        };
        behind(over, label.as_slice(), hops)
    }
}

fn name_of(guard: &Guard) -> String {
    let (protocol, way) = guard;
    format!("{} {} {}", protocol.name(), way.interface, way.gateway)
}

/// The hop of a neighbour: a group of nobody while it is away.
fn guarded(guard: &Guard, is_away: bool) -> Hop {
    let way = guard.1;
    if is_away {
        return Hop::Group { members: Vec::new(), resilient: false };
    }
    let (interface, gateway) = (way.interface, Some(way.gateway));
    Hop::Via { interface, gateway, labels: Vec::new() }
}

/// Says that a neighbour is away, or back, where anything leads to it.
pub(crate) fn move_guard(guard: &Guard, is_back: bool, edit: &mut Edit<'_>) {
    let id = edit.number(Kind::Hop, &name_of(guard));
    let name = Removed::Hop(id);
    if edit.said().things.contains_key(&(Rank::Hop, name.clone())) {
        edit.put(Rank::Hop, name, Program::Hop { id, hop: guarded(guard, !is_back) });
    }
}
