//! Packets of features that leave the graph upward.

use crate::Class;
use graph::meta::PUNTED;
use graph::{Context, Slot};

/// Classes of packets that features hand up are numbered from here on; those below are
/// [`Class`]es.
pub const CLASSES_FROM: u32 = 64;
const _: () = assert!(Class::ALL.len() <= CLASSES_FROM as usize);

/// A class of a feature's packets: they go up by the packet channel of whoever asks for them, and
/// come down by it to a node of the feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketClass {
    /// Its name within the feature. A packet channel asks for `feature/name`.
    pub name: &'static str,
    /// The node that takes packets down, with `Meta::words[0]` the class, and `Meta::transmit` and
    /// `Meta::vrf` as they were said; `None`: none come down.
    pub down: Option<&'static str>,
}

/// Hands a packet up, as it starts at `Meta::offset`, by the packet channel of a class of the
/// feature: it leaves the graph, and is dropped and counted where nobody has asked for the class.
#[inline]
pub fn hand_up(slot: Slot, class: u32, cx: &mut Context<'_>) {
    let meta = cx.packets.meta_mut(slot);
    meta.words[0] = class;
    meta.flags |= PUNTED;
    cx.out.punt(slot);
}
