//! How a change of one route comes into a table: its prefix is *expanded*. Each address of the
//! prefix whose present route is not longer gets the new hop by one store, of its entry or of the
//! node that takes the place of the one it was in: a reader finds what was, or what is.

use super::address::Address;
use super::node::{Class, Entry, FAN_MAX, Nodes, Piece, SIZES};
use crate::memory::Full;

/// A chunk that had so many pieces, and has at most as many as this, becomes a row again.
const ROW_AGAIN: usize = FAN_MAX / 2;
/// A split whose parts have so many lines becomes a wide. Below that the parts lie closer together
/// than the entries of a wide would, and stay in the nearer caches.
const WIDE_LINES: u32 = 1024;
/// A wide with at most as many pieces becomes a split.
const SPLIT_AGAIN: usize = 256;
/// After so many changes below it a node is looked at whether it has become too large.
const SPLIT_STEP: u32 = 16;
const LOW_STEP: u32 = 8;
const WIDE_STEP: u32 = 1024;

/// A change of the table.
#[derive(Clone, Copy)]
pub(super) struct Change<A> {
    /// The prefix.
    pub(super) address: A,
    pub(super) length: u32,
    /// Entries of what depth it concerns.
    pub(super) depths: (u8, u8),
    /// What they become.
    pub(super) hop: u32,
    pub(super) depth: u8,
}

/// Where in the address a node decides.
#[derive(Clone, Copy)]
struct Place {
    /// The first bit of its chunk.
    offset: u32,
    /// The chunk's high octet, where that is decided already.
    high: Option<u8>,
}

impl Place {
    /// The first bit that is not decided.
    const fn decided(self) -> u32 {
        if self.high.is_some() { self.offset + 8 } else { self.offset }
    }

    const fn next(self) -> Self {
        Self { offset: self.offset + 16, high: None }
    }
}

impl<A: Address> Change<A> {
    fn concerns(&self, entry: Entry, depth: u8) -> bool {
        !entry.is_node() && self.depths.0 <= depth && depth <= self.depths.1
    }

    /// The first and the last value of a chunk that the prefix covers.
    fn range(&self, offset: u32) -> (u16, u16) {
        let first = self.address.chunk(offset);
        let rest = (offset + 16).saturating_sub(self.length).min(16);
        (first, first | (((1_u32 << rest) - 1) & 0xFFFF) as u16)
    }
}

impl Nodes {
    /// Paints what is below the root in a word.
    pub(super) fn expand<A: Address>(&mut self, at: usize, change: &Change<A>) -> Result<(), Full> {
        self.change(at, Place { offset: 0, high: None }, change)
    }

    fn change<A: Address>(
        &mut self,
        at: usize,
        place: Place,
        change: &Change<A>,
    ) -> Result<(), Full> {
        if change.length <= place.decided() {
            self.cover(at, change);
            return Ok(());
        }
        let entry = self.entry(at);
        if !entry.is_node() {
            let piece = Piece { end: u16::MAX, entry, depth: self.depth(at) };
            return self.row_changed(at, place, vec![piece], change);
        }
        match entry.class() {
            Class::Few | Class::Fan => {
                let mut pieces = Vec::with_capacity(FAN_MAX + 2);
                self.pieces(entry, &mut pieces);
                self.row_changed(at, place, pieces, change)
            }
            Class::Split => self.split_changed(at, place, change),
            Class::Low => self.low_changed(at, place, change),
            Class::Wide => self.wide_changed(at, place, change),
            Class::Top => self.top_changed(entry, change),
        }
    }

    /// The prefix has all addresses of an entry.
    fn cover<A: Address>(&mut self, at: usize, change: &Change<A>) {
        let entry = self.entry(at);
        if entry.is_node() {
            self.cover_range(entry, 0, self.cells(entry) - 1, change);
        } else if change.concerns(entry, self.depth(at)) {
            self.set(at, Entry(change.hop), change.depth);
        }
    }

    fn cover_range<A: Address>(&mut self, node: Entry, low: usize, high: usize, on: &Change<A>) {
        for cell in low..=high {
            self.cover(node.first() + cell, on);
        }
    }

    /// A hop or a row of pieces in a word becomes another row, or what its pieces need.
    fn row_changed<A: Address>(
        &mut self,
        at: usize,
        place: Place,
        before: Vec<Piece>,
        change: &Change<A>,
    ) -> Result<(), Full> {
        let old = self.entry(at);
        let (low, high) = change.range(place.offset);
        let mut pieces = Vec::with_capacity(before.len() + 2);
        let mut start = 0;
        for (cell, piece) in before.iter().enumerate() {
            let (from, to) = (start.max(low), piece.end.min(high));
            if piece.entry.is_node() && from <= to {
                self.change(old.first() + cell, place.next(), change)?;
                let (entry, depth) =
                    (self.entry(old.first() + cell), self.depth(old.first() + cell));
                pieces.push(Piece { end: piece.end, entry, depth });
            } else if from <= to && change.concerns(piece.entry, piece.depth) {
                if start < from {
                    pieces.push(Piece { end: from - 1, ..*piece });
                }
                let (entry, depth) = self.changed(*piece, place, change)?;
                pieces.push(Piece { end: to, entry, depth });
                if to < piece.end {
                    pieces.push(*piece);
                }
            } else {
                pieces.push(*piece);
            }
            start = piece.end.wrapping_add(1);
        }
        merge(&mut pieces);
        self.replace_row(at, place, &before, &pieces)
    }

    /// What a piece becomes within the prefix: the new hop, or a node where the prefix is longer.
    fn changed<A: Address>(
        &mut self,
        piece: Piece,
        place: Place,
        change: &Change<A>,
    ) -> Result<(Entry, u8), Full> {
        if change.length <= place.offset + 16 {
            return Ok((Entry(change.hop), change.depth));
        }
        let next = place.next();
        let (low, high) = change.range(next.offset);
        let (entry, depth) = self.changed(piece, next, change)?;
        let mut pieces = Vec::with_capacity(3);
        if low > 0 {
            pieces.push(Piece { end: low - 1, ..piece });
        }
        pieces.push(Piece { end: high, entry, depth });
        if high < u16::MAX {
            pieces.push(Piece { end: u16::MAX, ..piece });
        }
        merge(&mut pieces);
        match pieces[..] {
            [piece] => Ok((piece.entry, piece.depth)),
            _ => Ok((self.row(&pieces)?, 0)),
        }
    }

    fn replace_row(
        &mut self,
        at: usize,
        place: Place,
        before: &[Piece],
        pieces: &[Piece],
    ) -> Result<(), Full> {
        let old = self.entry(at);
        let same_ends = before.len() == pieces.len()
            && before.iter().zip(pieces).all(|(old, new)| old.end == new.end);
        if same_ends && old.is_node() {
            for (cell, (old_piece, new)) in before.iter().zip(pieces).enumerate() {
                if old_piece != new {
                    self.set(old.first() + cell, new.entry, new.depth);
                }
            }
            return Ok(());
        }
        let (entry, depth) = self.build(place, pieces)?;
        self.set(at, entry, depth);
        if old.is_node() {
            self.drop_node(old);
        }
        Ok(())
    }

    /// The node that these pieces need.
    fn build(&mut self, place: Place, pieces: &[Piece]) -> Result<(Entry, u8), Full> {
        if let [piece] = pieces {
            return Ok((piece.entry, piece.depth));
        }
        if pieces.len() <= FAN_MAX {
            return Ok((self.row(pieces)?, 0));
        }
        let Some(high) = place.high else { return Ok((self.split(place, pieces)?, 0)) };
        let low = self.array(Class::Low, Entry(0), 0)?;
        let mut at = 0;
        for cell in 0..256 {
            while pieces[at].end < u16::from(high) << 8 | cell {
                at += 1;
            }
            self.set(low.first() + usize::from(cell), pieces[at].entry, pieces[at].depth);
        }
        Ok((low, 0))
    }

    fn split(&mut self, place: Place, pieces: &[Piece]) -> Result<Entry, Full> {
        let split = self.array(Class::Split, Entry(0), 0)?;
        for high in 0..=u8::MAX {
            let (first, last) = (u16::from(high) << 8, u16::from(high) << 8 | 0xff);
            let from = pieces.partition_point(|piece| piece.end < first);
            let to = pieces.partition_point(|piece| piece.end < last);
            let mut part = pieces[from..=to].to_vec();
            part.last_mut().expect("the range has a piece").end = u16::MAX;
            let (entry, depth) = self.build(Place { high: Some(high), ..place }, &part)?;
            self.set(split.first() + usize::from(high), entry, depth);
        }
        Ok(split)
    }

    fn split_changed<A: Address>(
        &mut self,
        at: usize,
        place: Place,
        change: &Change<A>,
    ) -> Result<(), Full> {
        let split = self.entry(at);
        let (low, high) = change.range(place.offset);
        let (first, last) = (low >> 8, high >> 8);
        if change.length <= place.offset + 8 {
            self.cover_range(split, usize::from(first), usize::from(last), change);
        } else {
            let place = Place { high: Some((first & 0xFF) as u8), ..place };
            self.change(split.first() + usize::from(first), place, change)?;
        }
        if !self.counted(split).is_multiple_of(SPLIT_STEP) {
            return Ok(());
        }
        let parts = (0..256).map(|cell| self.entry(split.first() + cell));
        let nodes = parts.filter(|part| part.is_node());
        if nodes.map(|part| SIZES[part.class() as usize]).sum::<u32>() >= WIDE_LINES {
            return self.widened(at, split);
        }
        let mut pieces = Vec::new();
        for high in 0..=u8::MAX {
            self.pieces_of_octet(split, high, &mut pieces);
        }
        merge(&mut pieces);
        if pieces.len() > ROW_AGAIN {
            return Ok(());
        }
        let (entry, depth) = self.build(place, &pieces)?;
        self.replace_array(at, split, entry, depth);
        Ok(())
    }

    /// A split becomes a wide: one load instead of two and a search.
    fn widened(&mut self, at: usize, split: Entry) -> Result<(), Full> {
        let wide = self.array(Class::Wide, Entry(0), 0)?;
        let mut start = 0_usize;
        for high in 0..=u8::MAX {
            let mut pieces = Vec::new();
            self.pieces_of_octet(split, high, &mut pieces);
            for piece in pieces {
                for cell in start..=usize::from(piece.end) {
                    self.set(wide.first() + cell, piece.entry, piece.depth);
                }
                start = usize::from(piece.end) + 1;
            }
        }
        self.replace_array(at, split, wide, 0);
        Ok(())
    }

    /// Another entry takes the place of a split or wide, whose parts of the same chunk go with it.
    fn replace_array(&mut self, at: usize, old: Entry, entry: Entry, depth: u8) {
        self.set(at, entry, depth);
        if old.class() == Class::Split {
            for cell in 0..256 {
                let part = self.entry(old.first() + cell);
                if part.is_node() {
                    self.drop_node(part);
                }
            }
        }
        self.drop_node(old);
    }

    /// The pieces of a split's part, with the ends that they have in the whole chunk.
    fn pieces_of_octet(&self, split: Entry, high: u8, pieces: &mut Vec<Piece>) {
        let at = split.first() + usize::from(high);
        let (entry, first) = (self.entry(at), u16::from(high) << 8);
        let before = pieces.len();
        if !entry.is_node() {
            pieces.push(Piece { end: u16::MAX, entry, depth: self.depth(at) });
        } else if entry.class() == Class::Low {
            for low in 0..=0xff_u16 {
                let at = entry.first() + usize::from(low);
                let (entry, depth) = (self.entry(at), self.depth(at));
                pieces.push(Piece { end: first | low, entry, depth });
            }
        } else {
            self.pieces(entry, pieces);
        }
        let kept = &mut pieces[before..];
        kept.last_mut().expect("a part has a piece").end = first | 0xff;
    }

    fn low_changed<A: Address>(
        &mut self,
        at: usize,
        place: Place,
        change: &Change<A>,
    ) -> Result<(), Full> {
        let node = self.entry(at);
        let (low, high) = change.range(place.offset);
        self.cells_changed(node, low & 0xff, high & 0xff, place, change)?;
        if !self.counted(node).is_multiple_of(LOW_STEP) {
            return Ok(());
        }
        let octet = u16::from(place.high.unwrap_or(0)) << 8;
        let piece = |cell: u16| {
            let at = node.first() + usize::from(cell);
            Piece { end: octet | cell, entry: self.entry(at), depth: self.depth(at) }
        };
        let mut pieces: Vec<Piece> = (0..=0xff).map(piece).collect();
        merge(&mut pieces);
        if pieces.len() > ROW_AGAIN {
            return Ok(());
        }
        pieces.last_mut().expect("a node has a piece").end = u16::MAX;
        let (entry, depth) = self.build(place, &pieces)?;
        self.set(at, entry, depth);
        self.drop_node(node);
        Ok(())
    }

    fn cells_changed<A: Address>(
        &mut self,
        node: Entry,
        low: u16,
        high: u16,
        place: Place,
        change: &Change<A>,
    ) -> Result<(), Full> {
        if change.length <= place.offset + 16 {
            self.cover_range(node, usize::from(low), usize::from(high), change);
            return Ok(());
        }
        self.change(node.first() + usize::from(low), place.next(), change)
    }

    fn wide_changed<A: Address>(
        &mut self,
        at: usize,
        place: Place,
        change: &Change<A>,
    ) -> Result<(), Full> {
        let wide = self.entry(at);
        let (low, high) = change.range(place.offset);
        self.cells_changed(wide, low, high, place, change)?;
        // The root of a large table stays one.
        if place.offset == 0 || !self.counted(wide).is_multiple_of(WIDE_STEP) {
            return Ok(());
        }
        let mut pieces = Vec::new();
        for cell in 0..=u16::MAX {
            let at = wide.first() + usize::from(cell);
            pieces.push(Piece { end: cell, entry: self.entry(at), depth: self.depth(at) });
            if pieces.len() > 2 * SPLIT_AGAIN {
                merge(&mut pieces);
                if pieces.len() > SPLIT_AGAIN {
                    return Ok(());
                }
            }
        }
        merge(&mut pieces);
        let (entry, depth) = self.build(place, &pieces)?;
        self.replace_array(at, wide, entry, depth);
        Ok(())
    }

    fn top_changed<A: Address>(&mut self, top: Entry, change: &Change<A>) -> Result<(), Full> {
        let first = change.address.first_24();
        if change.length <= 24 {
            let last = first | ((1_u32 << (24 - change.length)) - 1);
            self.cover_range(top, first as usize, last as usize, change);
            return Ok(());
        }
        let place = Place { offset: 16, high: Some((first & 0xFF) as u8) };
        self.change(top.first() + first as usize, place, change)
    }
}

/// Pieces beside each other that say the same become one.
fn merge(pieces: &mut Vec<Piece>) {
    pieces.dedup_by(|next, piece| {
        let is_same = piece.entry == next.entry && piece.depth == next.depth;
        if is_same {
            piece.end = next.end;
        }
        is_same
    });
}
