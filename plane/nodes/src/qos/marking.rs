//! `classify`, `mark-out`: from marks to classes where packets come in, and back where they leave
//! (RFC 2474, RFC 2475 §2.3, IEEE 802.1Q §6.9, RFC 3270).

use super::fields::{dscp, set_dscp};
use crate::header::{TAG, TYPE_MPLS, TYPE_SERVICE, TYPE_VLAN, word};
use crate::program::{AS_IT_IS, Marking};
use graph::{Context, Meta, Node, Row, Slot};
use machine::narrow::place;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::epoch::Published;

/// Code points.
const DSCPS: usize = 64;
/// Classes and priorities.
const CLASSES: usize = 8;
/// Classes by colour.
const MARKS: usize = CLASSES * 3;

/// The maps of an interface.
#[derive(Clone)]
pub struct Maps {
    by_dscp: Option<[(u8, u8); DSCPS]>,
    by_priority: Option<[(u8, u8); CLASSES]>,
    to_dscp: [u8; MARKS],
    to_priority: [u8; CLASSES],
}

/// The maps of all interfaces; replaced whole when one changes.
#[derive(Default)]
pub struct Markings {
    maps: Vec<Maps>,
    by_interface: Vec<u32>,
}

impl Maps {
    /// `None` when a list has neither none nor all of its rows, or a value is out of range.
    pub fn of(marking: &Marking) -> Option<Self> {
        let classes =
            |list: &[(u8, u8)]| list.iter().all(|(class, colour)| *class < 8 && *colour < 3);
        if !classes(&marking.by_dscp) || !classes(&marking.by_priority) {
            return None;
        }
        let below =
            |list: &[u8], limit: u8| list.iter().all(|mark| *mark < limit || *mark == AS_IT_IS);
        if !below(&marking.to_dscp, 64) || !below(&marking.to_priority, 8) {
            return None;
        }
        Some(Self {
            by_dscp: whole(&marking.by_dscp)?,
            by_priority: whole(&marking.by_priority)?,
            to_dscp: whole(&marking.to_dscp)?.unwrap_or([AS_IT_IS; MARKS]),
            to_priority: whole(&marking.to_priority)?.unwrap_or([AS_IT_IS; CLASSES]),
        })
    }
}

/// All rows, or (`Some(None)`) none.
fn whole<T: Copy, const N: usize>(list: &[T]) -> Option<Option<[T; N]>> {
    if list.is_empty() { Some(None) } else { list.try_into().ok().map(Some) }
}

impl Markings {
    /// Interfaces with the same maps each have their own: there are few.
    pub fn of(markings: &BTreeMap<u32, Maps>) -> Self {
        let mut made = Self::default();
        for (interface, maps) in markings {
            let at = *interface as usize;
            made.by_interface.resize(made.by_interface.len().max(at + 1), u32::MAX);
            made.by_interface[at] = place(made.maps.len());
            made.maps.push(maps.clone());
        }
        made
    }

    /// Class and colour of a priority or traffic class that comes in, if there is a map for it.
    #[inline]
    pub(crate) fn by_priority(&self, interface: u32, priority: u8) -> Option<(u8, u8)> {
        self.at(interface)?.by_priority.map(|map| map[usize::from(priority) % CLASSES])
    }

    #[inline]
    fn at(&self, interface: u32) -> Option<&Maps> {
        self.maps.get(*self.by_interface.get(interface as usize)? as usize)
    }
}

/// `classify`: the class and colour of what comes in. The code point decides where there is one
/// and a map for it, else the priority that the outer tag or label had (`Meta::class`).
pub struct Classify(pub Arc<Published<Markings>>);

impl Node for Classify {
    fn row(&self) -> Row {
        Row::of("classify", &[], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let markings = self.0.read(cx.reader);
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            if let Some(maps) = markings.at(meta.interface) {
                classify(maps, meta, cell);
            }
        }
        cx.next.onward_all(batch, cx.packets);
    }
}

fn classify(maps: &Maps, meta: &mut Meta, cell: &[u8]) {
    let start = usize::from(meta.offset);
    let by_dscp = maps.by_dscp.filter(|_| meta.l3 != 0).and_then(|map| {
        let packet = cell.get(usize::from(meta.l3)..start + usize::from(meta.length))?;
        dscp(packet).map(|dscp| map[usize::from(dscp) % DSCPS])
    });
    // Until now it is the priority of the outer tag, or of the label.
    let by_priority = || maps.by_priority.map(|map| map[usize::from(meta.class) % CLASSES]);
    if let Some((class, colour)) = by_dscp.or_else(by_priority) {
        (meta.class, meta.colour) = (class, meta.colour.max(colour));
    }
}

/// `mark-out`: the code point, and the priority of tags and labels, of what leaves.
pub struct MarkOut(pub Arc<Published<Markings>>);

impl Node for MarkOut {
    fn row(&self) -> Row {
        Row::of("mark-out", &[], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let markings = self.0.read(cx.reader);
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            if let Some(maps) = markings.at(meta.transmit) {
                mark(maps, meta, cell);
            }
        }
        cx.next.onward_all(batch, cx.packets);
    }
}

fn mark(maps: &Maps, meta: &Meta, cell: &mut [u8]) {
    let class = usize::from(meta.class) % CLASSES;
    let end = usize::from(meta.offset) + usize::from(meta.length);
    let point = maps.to_dscp[class * 3 + usize::from(meta.colour.min(2))];
    if point != AS_IT_IS
        && meta.l3 != 0
        && let Some(packet) = cell.get_mut(usize::from(meta.l3)..end)
    {
        set_dscp(packet, point);
    }
    let priority = maps.to_priority[class];
    if priority != AS_IT_IS
        && let Some(frame) = cell.get_mut(usize::from(meta.offset)..end)
    {
        set_priority(frame, priority);
    }
}

/// Writes the priority of all tags and labels of a frame.
fn set_priority(frame: &mut [u8], priority: u8) {
    let mut at = 12;
    while matches!(word(frame, at), TYPE_VLAN | TYPE_SERVICE) && frame.len() >= at + 2 + TAG {
        frame[at + 2] = frame[at + 2] & 0x1f | priority << 5;
        at += TAG;
    }
    if word(frame, at) != TYPE_MPLS {
        return;
    }
    at += 2;
    while let Some(entry) = frame.get_mut(at..at + 4) {
        entry[2] = entry[2] & !0x0e | priority << 1;
        if entry[2] & 1 == 1 {
            return;
        }
        at += 4;
    }
}
