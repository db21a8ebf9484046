//! `interface-output`: the end of every frame's way; counted by interface, handed to its port, or
//! to the bridge domain whose routed side the interface is.

use crate::interfaces::INTO_BRIDGE;
use crate::view::Shared;
use graph::{Context, Edge, Group, Groups, Node, Pool, Reason, Row, Slot};

const TO_BRIDGE: Edge = Edge(0);
const DOWN: Reason = Reason(0);

/// The node.
pub struct InterfaceOutput {
    shared: Shared,
    groups: Groups,
}

impl InterfaceOutput {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        Self { shared, groups: Groups::default() }
    }
}

impl Node for InterfaceOutput {
    fn row(&self) -> Row {
        Row::of("interface-output", &["bridge-input"], &["interface is down"])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let counters = &self.shared.counters;
        if let Some((interface, octets)) = alike(batch, cx.packets) {
            if hand_over(interfaces.out(interface), batch, cx) {
                counters.sent(interface, batch.len() as u64, octets);
            }
            return;
        }
        self.groups.take(batch, cx.packets, |meta| u32::from(interfaces.out(meta.transmit)));
        while let Some(Group { key, slots }) = self.groups.next_group() {
            if !hand_over((key & 0xffff) as u16, slots, cx) {
                continue;
            }
            if let Some((interface, octets)) = alike(slots, cx.packets) {
                counters.sent(interface, slots.len() as u64, octets);
                continue;
            }
            for slot in slots {
                let meta = cx.packets.meta(*slot);
                counters.sent(meta.transmit, 1, meta.length.into());
            }
        }
    }
}

/// The interface that all of them leave by, if it is one, and their octets.
#[inline]
fn alike(slots: &[Slot], packets: &Pool) -> Option<(u32, u64)> {
    let interface = packets.meta(*slots.first()?).transmit;
    let mut octets = 0;
    for slot in slots {
        let meta = packets.meta(*slot);
        if meta.transmit != interface {
            return None;
        }
        octets += u64::from(meta.length);
    }
    Some((interface, octets))
}

/// Packets for one port; false when there is none.
#[inline]
fn hand_over(port: u16, slots: &[Slot], cx: &mut Context<'_>) -> bool {
    if port == INTO_BRIDGE {
        // What the routed side sends is a frame that comes from there.
        for slot in slots {
            let meta = cx.packets.meta_mut(*slot);
            meta.interface = meta.transmit;
            cx.next.to(TO_BRIDGE, *slot);
        }
    } else if cx.out.send_all(usize::from(port), slots).is_err() {
        slots.iter().for_each(|slot| cx.next.drop(*slot, DOWN));
        return false;
    }
    true
}
