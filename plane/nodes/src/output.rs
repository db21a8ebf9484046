//! `interface-output`: the end of every frame's way; counted by interface, handed to its port.

use crate::interfaces::Input;
use crate::plane::Shared;
use graph::{Context, Node, Reason, Row, Slot};

const DOWN: Reason = Reason(0);

/// The node.
pub struct InterfaceOutput {
    shared: Shared,
}

impl InterfaceOutput {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for InterfaceOutput {
    fn row(&self) -> Row {
        Row::of("interface-output", &[], &["interface is down"])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        for slot in batch {
            let meta = cx.packets.meta(*slot);
            let link = interfaces.row(meta.transmit);
            if link.input == Input::Nothing {
                cx.next.drop(*slot, DOWN);
                continue;
            }
            self.shared.counters.sent(meta.transmit, 1, u64::from(meta.length));
            if let Err(slot) = cx.out.send(usize::from(link.port), *slot) {
                cx.next.drop(slot, DOWN);
            }
        }
    }
}
