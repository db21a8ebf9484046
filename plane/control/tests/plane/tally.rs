//! A packet feature with state as it stands in a crate of its own: it counts packets to addresses
//! that programs name. It edits no other file: its row is all that the plane learns of it.

use graph::{Context, Node, Plan, Row, Slot};
use nodes::arcs::{NAME_IP4_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::header::{IP4, long};
use nodes::program::{Interface, Item, Program, Removed};
use nodes::{Refused, feature};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use table::epoch::{Published, Publisher};

const NAME: &str = "tally";
/// The feature's row.
pub const ROW: feature::Row = feature::row::<Tally>;

/// Counters by interface and destination.
type Counters = BTreeMap<(u32, u32), Arc<AtomicU64>>;

/// The program by which packets of an interface to an address are counted.
pub fn counted(interface: u32, address: u32) -> Program {
    let key = [interface.to_be_bytes(), address.to_be_bytes()].concat();
    Program::Item(Item { feature: NAME.to_owned(), key, value: Vec::new() })
}

fn key(octets: &[u8]) -> Result<(u32, u32), Refused> {
    let whole: Result<[u8; 8], _> = octets.try_into();
    let refused = |_| Refused::Conflict("an interface and an address, in 8 octets".to_owned());
    let both = u64::from_be_bytes(whole.map_err(refused)?);
    Ok(((both >> 32) as u32, both as u32))
}

pub struct Tally {
    counters: Counters,
    out: Publisher<Counters>,
    changed: bool,
}

impl Tally {
    pub fn packets(&self, interface: u32, address: u32) -> Option<u64> {
        self.counters.get(&(interface, address)).map(|counter| counter.load(Relaxed))
    }

    fn join(&mut self, interface: u32, change: &mut Change<'_>) {
        let on = self.counters.range((interface, 0)..=(interface, u32::MAX)).next().is_some();
        change.join(NAME_IP4_IN, interface, NAME, on);
        self.changed = true;
    }
}

impl Feature for Tally {
    fn new(start: &Start<'_>) -> Self {
        let out = Publisher::new(start.domain, Counters::new());
        Self { counters: Counters::new(), out, changed: false }
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Item(item) = program else { return Ok(false) };
        let key = key(&item.key)?;
        Refused::interface(key.0)?;
        self.counters.entry(key).or_default();
        self.join(key.0, change);
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Item(_, name) = removed else { return Ok(false) };
        let key = key(name)?;
        self.counters.remove(&key);
        self.join(key.0, change);
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let key = |(at, to): &(u32, u32)| [at.to_be_bytes(), to.to_be_bytes()].concat();
        self.counters.keys().map(|it| Removed::Item(NAME.to_owned(), key(it))).collect()
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let (Some(gone), None) = (before, after) {
            self.counters.retain(|key, _| key.0 != gone.index);
            self.changed = true;
        }
        Ok(())
    }

    fn publish(&mut self, _: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.changed) {
            self.out.publish(self.counters.clone());
        }
    }

    fn nodes(&mut self, _: &Worker<'_>, plan: Plan) -> Plan {
        plan.node(TallyNode(self.out.published()))
    }

    fn joins(&self) -> Vec<Join> {
        vec![Join::On { arc: NAME_IP4_IN, node: NAME, rank: rank::SAMPLE + 1 }]
    }
}

/// The node.
struct TallyNode(Arc<Published<Counters>>);

impl Node for TallyNode {
    fn row(&self) -> Row {
        Row::of(NAME, &[], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let counters = self.0.read(cx.reader);
        for slot in batch {
            let packet = cx.packets.bytes(*slot);
            let to = if packet.len() < IP4 { 0 } else { long(packet, 16) };
            if let Some(counter) = counters.get(&(cx.packets.meta(*slot).interface, to)) {
                counter.fetch_add(1, Relaxed);
            }
        }
        cx.next.onward_all(batch, cx.packets);
    }
}
