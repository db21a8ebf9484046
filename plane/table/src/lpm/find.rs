//! How an address is looked up, one after the other: the walk that every machine can do. What a
//! node decides is found without a branch on its class, whose turns nobody could foretell.

use super::address::Address;
use super::node::{CLASSES, Class, Entry};
use crate::memory::{LINE_BYTES, LINE_WORDS, Region};
use std::sync::atomic::Ordering;

/// How a class decides.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// One bit for each end that is compared.
    pub(super) ends: u32,
    /// The word of the first entry.
    pub(super) first: u8,
    /// Bits of the chunk that are indexed by: those of `mask` after a shift.
    pub(super) shift: u8,
    /// Bits of the chunk that are decided.
    pub(super) advance: u8,
    pub(super) mask: u16,
}

/// The ways by class. A top is only ever a root, and is not walked.
pub(super) static WAYS: [Way; CLASSES] = {
    const fn row(class: Class, ends: u32) -> Way {
        #[allow(clippy::cast_possible_truncation, reason = "it is within the first lines")]
        let first = class.first() as u8;
        Way { ends, first, shift: 0, advance: 16, mask: 0 }
    }
    const fn array(shift: u8, mask: u16, advance: u8) -> Way {
        Way { ends: 0, first: 0, shift, advance, mask }
    }
    let wide = array(0, 0xffff, 16);
    [
        row(Class::Few, (1 << Class::Few.ends()) - 1),
        row(Class::Fan, u32::MAX),
        array(8, 0xff, 0),
        array(0, 0xff, 16),
        wide,
        wide,
        wide,
        wide,
    ]
};

/// Memory of nodes as it is walked.
pub(super) struct Walk<'a> {
    pub(super) region: &'a Region,
    /// Of a family that has tops.
    pub(super) shorts: Option<&'a Region>,
}

impl Walk<'_> {
    /// The hop that an entry leads to.
    #[inline]
    pub(super) fn find<A: Address>(&self, mut entry: Entry, address: A) -> u32 {
        let mut offset = 0;
        if entry.is_node() && entry.class() == Class::Top {
            entry = self.top(entry, address);
            offset = 16;
        }
        while entry.is_node() {
            let way = WAYS[(entry.0 >> 28) as usize & (CLASSES - 1)];
            let chunk = address.chunk(offset);
            let cell = self.ends_below(entry, way.ends, chunk)
                + usize::from((chunk >> way.shift) & way.mask);
            entry = self.entry(entry, usize::from(way.first) + cell);
            offset += u32::from(way.advance);
        }
        entry.0
    }

    #[inline]
    pub(super) fn top<A: Address>(&self, top: Entry, address: A) -> Entry {
        self.entry(top, address.first_24() as usize)
    }

    /// An entry of a node by its word in the node.
    #[inline]
    pub(super) fn entry(&self, node: Entry, word: usize) -> Entry {
        let at = node.line() as usize * LINE_WORDS + word;
        // SAFETY: a node that can be found lies in the region, and its class has such a word.
        Entry(unsafe { self.region.known_word(at) }.load(Ordering::Acquire))
    }

    /// How many ends of a row are below a value.
    #[inline]
    fn ends_below(&self, node: Entry, mask: u32, value: u16) -> usize {
        let at = self.row(node);
        let ends = match mask {
            0 => return 0,
            // SAFETY: a few has ten ends, which do not change while it can be found.
            0x3ff => unsafe { std::slice::from_raw_parts(at, Class::Few.ends()) },
            // SAFETY: a fan has as many ends, which do not change while it can be found.
            _ => unsafe { std::slice::from_raw_parts(at, Class::Fan.ends()) },
        };
        ends.iter().map(|end| usize::from(*end < value)).sum()
    }

    /// Where the ends of a row begin.
    #[inline]
    pub(super) fn row(&self, node: Entry) -> *const u16 {
        self.region.base().wrapping_add(node.line() as usize * LINE_BYTES).cast()
    }
}
