//! Lists of numbers inside chunks and parameters, read where they stand.

use super::{be16, be32};
use core::marker::PhantomData;

/// An item of fixed width in a [`List`].
pub trait Item: Copy + PartialEq + core::fmt::Debug {
    /// Octets on the wire.
    const BYTES: usize;
    /// From that many octets.
    fn read(bytes: &[u8]) -> Self;
    /// Appends them.
    fn write(&self, out: &mut Vec<u8>);
}

/// Items of fixed width, as octets that the reader has measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct List<'a, T> {
    bytes: &'a [u8],
    item: PhantomData<T>,
}

impl<'a, T: Item + 'a> List<'a, T> {
    /// No items.
    pub const EMPTY: Self = Self { bytes: &[], item: PhantomData };

    /// The items in `bytes`; what does not fill an item at the end is not read.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, item: PhantomData }
    }

    /// Number of items.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len() / T::BYTES
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Item after item.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + use<'a, T> {
        self.bytes.chunks_exact(T::BYTES).map(T::read)
    }

    /// The octets.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<T: Item> core::fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Item for u16 {
    const BYTES: usize = 2;
    fn read(bytes: &[u8]) -> Self {
        be16(bytes, 0)
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Item for u32 {
    const BYTES: usize = 4;
    fn read(bytes: &[u8]) -> Self {
        be32(bytes, 0)
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

/// A Gap Ack Block: first and last TSN as distance from the Cumulative TSN Ack (RFC 9260 §3.3.4).
impl Item for (u16, u16) {
    const BYTES: usize = 4;
    fn read(bytes: &[u8]) -> Self {
        (be16(bytes, 0), be16(bytes, 2))
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }
}

/// A stream whose messages up to a number are skipped (RFC 8260 §2.3.1; RFC 3758 §3.2 has 16 bits
/// and ordered messages only).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
    /// The stream.
    pub stream: u16,
    /// Whether the unordered messages of it are meant.
    pub is_unordered: bool,
    /// The last Message Identifier that is skipped.
    pub mid: u32,
}

impl Item for Skip {
    const BYTES: usize = 8;
    fn read(bytes: &[u8]) -> Self {
        let is_unordered = bytes[3] & 1 != 0;
        Self { stream: be16(bytes, 0), is_unordered, mid: be32(bytes, 4) }
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.stream.write(out);
        u16::from(self.is_unordered).write(out);
        self.mid.write(out);
    }
}

/// Gap Ack Blocks, or pairs of stream and Stream Sequence Number.
pub type Gaps<'a> = List<'a, (u16, u16)>;
/// Numbers of 32 bits, such as duplicate TSNs.
pub type Words<'a> = List<'a, u32>;
/// Streams of an I-FORWARD-TSN.
pub type Skips<'a> = List<'a, Skip>;
