//! Lists of numbers of 32 bits as they lie in a packet.

/// Numbers of 32 bits, the high octet first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words<'a> {
    octets: &'a [u8],
}

impl<'a> Words<'a> {
    /// The numbers that the octets hold; of a last one that is cut off nothing is seen.
    #[must_use]
    pub const fn of(octets: &'a [u8]) -> Self {
        Self { octets }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.octets.len() / 4
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The octets of the first `count` of them.
    pub(crate) fn first(&self, count: usize) -> &'a [u8] {
        &self.octets[..4 * self.len().min(count)]
    }
}

impl Iterator for Words<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (word, rest) = self.octets.split_first_chunk::<4>()?;
        self.octets = rest;
        Some(u32::from_be_bytes(*word))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Words<'_> {}
