//! A packet feature as it stands in a crate of its own: packets of protocols 253 and 254 that come
//! by its interfaces go up by a packet channel, and what comes down by it leaves by an interface as
//! a frame.

use graph::{Context, Edge, Node, Plan, Row, Slot};
use machine::Time;
use nodes::arcs::{NAME_IP4_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::program::{Interface, Item, PacketClass, Program, Removed, hand_up};
use nodes::{Out, Refused, feature};
use std::collections::BTreeSet;

const NAME: &str = "tap";
const DOWN: &str = "tap-down";
/// The feature's row.
pub const ROW: feature::Row = feature::row::<Tap>;
/// The source of frames that it sends.
pub const SOURCE: [u8; 6] = [2, 0, 0, 0, 6, 6];

/// The program by which packets of an interface are looked at.
pub fn of(interface: u32) -> Program {
    let key = interface.to_be_bytes().to_vec();
    Program::Item(Item { feature: NAME.to_owned(), key, value: Vec::new() })
}

fn interface(key: &[u8]) -> Result<u32, Refused> {
    let refused = |_| Refused::Conflict("an interface, in 4 octets".to_owned());
    key.try_into().map(u32::from_be_bytes).map_err(refused)
}

pub struct Tap {
    on: BTreeSet<u32>,
    /// What its control is told at the next tick.
    notices: Vec<Item>,
}

impl Feature for Tap {
    fn new(_: &Start<'_>) -> Self {
        Self { on: BTreeSet::new(), notices: Vec::new() }
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Item(item) = program else { return Ok(false) };
        let interface = interface(&item.key)?;
        Refused::interface(interface)?;
        self.on.insert(interface);
        self.notices.push(Item { value: b"looked at".to_vec(), ..item.clone() });
        change.join(NAME_IP4_IN, interface, NAME, true);
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Item(_, key) = removed else { return Ok(false) };
        let interface = interface(key)?;
        self.on.remove(&interface);
        change.join(NAME_IP4_IN, interface, NAME, false);
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let key = |it: &u32| Removed::Item(NAME.to_owned(), it.to_be_bytes().to_vec());
        self.on.iter().map(key).collect()
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let (Some(gone), None) = (before, after) {
            self.on.remove(&gone.index);
        }
        Ok(())
    }

    fn tick(&mut self, _: Time, out: &mut Vec<Out>) {
        out.extend(self.notices.drain(..).map(Out::Item));
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        plan.node(Up(worker.first_class)).node(Down)
    }

    fn classes(&self) -> Vec<PacketClass> {
        let ping = PacketClass { name: "ping", down: Some(DOWN) };
        vec![ping, PacketClass { name: "flood", down: None }]
    }

    fn joins(&self) -> Vec<Join> {
        vec![Join::On { arc: NAME_IP4_IN, node: NAME, rank: rank::SAMPLE + 1 }]
    }
}

/// Looks at packets, and hands up those of its protocols.
struct Up(u32);

impl Node for Up {
    fn row(&self) -> Row {
        Row::of(NAME, &[], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            match cx.packets.bytes(*slot).get(9) {
                Some(253) => hand_up(*slot, self.0, cx),
                Some(254) => hand_up(*slot, self.0 + 1, cx),
                _ => cx.next.onward_all(&[*slot], cx.packets),
            }
        }
    }
}

/// Makes frames of packets that come down.
struct Down;

impl Node for Down {
    fn row(&self) -> Row {
        Row::of(DOWN, &["inject"], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            let frame = [&[2, 0, 0, 0, 9, 9][..], &SOURCE, &[8, 0]].concat();
            if let Some(room) = cx.packets.prepend(*slot, frame.len()) {
                room.copy_from_slice(&frame);
            }
            cx.next.to(Edge(0), *slot);
        }
    }
}
