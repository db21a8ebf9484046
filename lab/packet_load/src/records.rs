//! What is known of each flow: the number of its next packet, its part of the checksums, and the
//! words that differ from flow to flow, side by side in one run of memory.
//!
//! ```text
//!   record │ next number │ sums: IPv4 in the low half, transport in the high │ word │ word │ … │
//! ```

use crate::layer::{Header, Layer};
use crate::stream::{Refused, Stream};
use crate::sum;

/// Words before those that differ.
pub(crate) const LEAD: usize = 2;

/// The flows of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    /// Words of a record.
    pub(crate) stride: usize,
    /// Where the words that differ stand in a packet.
    pub(crate) offsets: Box<[u16]>,
    pub(crate) words: Vec<u32>,
}

impl Records {
    /// Those of stream number `at`.
    pub(crate) fn new(stream: &Stream, at: usize, seed: u64) -> Result<Self, Refused> {
        let mut layers = stream.layers.clone();
        let mut header = Header::of(&layers);
        let offsets = candidates(stream, at, &header)?;
        let stride = LEAD + offsets.len();
        // What the template says already.
        let said: Vec<u32> = offsets.iter().map(|offset| word(&header.octets, *offset)).collect();
        let mut words = Vec::with_capacity(stride * stream.flows as usize);
        for flow in 0..stream.flows {
            set(stream, at, &mut layers, flow, seed)?;
            header.write(&layers);
            let (ip, transport) = header.sums();
            let (ip, transport) = (sum::fold(ip.into()), sum::fold(transport.into()));
            words.extend([0, u32::from(transport) << 16 | u32::from(ip)]);
            words.extend(offsets.iter().map(|offset| word(&header.octets, *offset)));
        }
        Ok(Self { stride, offsets: offsets.into(), words }.without(&said))
    }

    /// Leaves out the words that are for every flow as the template has them.
    fn without(self, said: &[u32]) -> Self {
        let differs = |column: usize| {
            let said = said[column - LEAD];
            self.words.chunks_exact(self.stride).any(|record| record[column] != said)
        };
        let kept: Vec<usize> = (LEAD..self.stride).filter(|column| differs(*column)).collect();
        let offsets = kept.iter().map(|column| self.offsets[column - LEAD]).collect();
        let stride = LEAD + kept.len();
        let mut words = Vec::with_capacity(self.words.len() / self.stride * stride);
        for record in self.words.chunks_exact(self.stride) {
            words.extend_from_slice(&record[..LEAD]);
            words.extend(kept.iter().map(|column| record[*column]));
        }
        Self { stride, offsets, words }
    }

    /// Each flow goes on with its number, as it had it there.
    pub(crate) fn go_on_from(&mut self, before: &Self) {
        let numbers: Vec<u32> = before.sent().collect();
        let records = self.words.chunks_exact_mut(self.stride);
        records.zip(numbers).for_each(|(record, number)| record[0] = number);
    }

    /// How many flows there are.
    pub(crate) fn flows(&self) -> u32 {
        (self.words.len() / self.stride) as u32
    }

    /// How many packets each flow was given.
    pub(crate) fn sent(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.chunks_exact(self.stride).map(|record| record[0])
    }

    /// Every flow begins again.
    pub(crate) fn restart(&mut self) {
        self.words.chunks_exact_mut(self.stride).for_each(|record| record[0] = 0);
    }
}

fn word(octets: &[u8], offset: u16) -> u32 {
    let at = usize::from(offset);
    u32::from_ne_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// The words that may differ.
fn candidates(stream: &Stream, at: usize, header: &Header) -> Result<Vec<u16>, Refused> {
    let mut offsets = Vec::new();
    for (number, vary) in stream.vary.iter().enumerate() {
        let refused = Refused::Value { stream: at, vary: number, flow: 0 };
        let layer = stream.layers.get(vary.layer).ok_or(refused)?;
        let start = header.starts[vary.layer];
        offsets.extend(vary.part.words(layer).iter().map(|word| (start + word) as u16));
    }
    offsets.sort_unstable();
    offsets.dedup();
    Ok(offsets)
}

/// Gives the headers the values of a flow; each field has a chance of its own.
fn set(
    stream: &Stream,
    at: usize,
    layers: &mut [Layer],
    flow: u32,
    seed: u64,
) -> Result<(), Refused> {
    for (number, vary) in stream.vary.iter().enumerate() {
        let own = seed.wrapping_add((at as u64) << 40 | (number as u64) << 32);
        let value = vary.values.of(flow, own);
        let set = value.and_then(|value| vary.part.set(&mut layers[vary.layer], value));
        set.ok_or(Refused::Value { stream: at, vary: number, flow })?;
    }
    Ok(())
}
