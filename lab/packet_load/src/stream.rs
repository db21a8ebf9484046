//! What shall be sent: streams, each with its headers, flows, sizes and order.

use crate::layer::Layer;
use crate::order::Order;
use crate::sizes::Sizes;
use crate::values::Vary;
use crate::voice::Voice;

/// Streams of a plan at most.
pub const STREAMS_MAX: usize = 256;
/// Flows of a plan at most, all streams together.
pub const FLOWS_MAX: u32 = 1 << 24;
/// Headers of a stream at most.
pub(crate) const LAYERS_MAX: usize = 16;

/// Packets with the same headers but for what differs from flow to flow.
#[derive(Debug, Clone)]
pub struct Stream {
    /// For people.
    pub name: String,
    /// The headers from the outside in; Ethernet first.
    pub layers: Vec<Layer>,
    /// What differs from flow to flow.
    pub vary: Vec<Vary>,
    /// How many flows, 1 to [`FLOWS_MAX`].
    pub flows: u32,
    /// How long the frames are.
    pub sizes: Sizes,
    /// In which order the flows come.
    pub order: Order,
    /// Its part of all packets, 1 to 1,000.
    pub weight: u32,
    /// Whether it is speech; then its last header is one of RTP.
    pub voice: Option<Voice>,
}

impl Stream {
    /// One flow in frames of `size` octets; the rest by its fields.
    #[must_use]
    pub fn new(name: &str, layers: Vec<Layer>, size: usize) -> Self {
        Self {
            name: name.to_owned(),
            layers,
            vary: Vec::new(),
            flows: 1,
            sizes: Sizes::fixed(size),
            order: Order::RoundRobin,
            weight: 1,
            voice: None,
        }
    }
}

/// Streams that are sent together.
#[derive(Debug, Clone)]
pub struct Plan {
    /// One or more, at most [`STREAMS_MAX`].
    pub streams: Vec<Stream>,
    /// The same seed gives the same packets.
    pub seed: u64,
}

/// Why a plan cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The number of streams is not as said.
    #[error("1 to {STREAMS_MAX} streams, not {0}")]
    Streams(usize),
    /// A stream's weight is not as said.
    #[error("stream {0}: a weight of 1 to 1,000")]
    Weight(usize),
    /// The number of flows is not as said.
    #[error("1 to {FLOWS_MAX} flows in all streams together, each at least 1")]
    Flows,
    /// A header stands where it may not.
    #[error("stream {stream}: header {layer} may not stand there")]
    Layer {
        /// The stream.
        stream: usize,
        /// The header.
        layer: usize,
    },
    /// A field does not exist, or one of its values does not fit.
    #[error("stream {stream}: field {vary} is not there, or a value of flow {flow} does not fit")]
    Value {
        /// The stream.
        stream: usize,
        /// The field, by its number in the stream's list.
        vary: usize,
        /// The flow.
        flow: u32,
    },
    /// A mix of sizes without weights or with too large ones, or a size that is too large.
    #[error("stream {0}: sizes up to {max} octets with weights of 1 to 4,096 in all",
        max = crate::sizes::SIZE_MAX)]
    Sizes(usize),
    /// Speech without a header of RTP or the other way round, of several sizes, or with fewer keys
    /// than flows.
    #[error("stream {0}: speech has one header of RTP, one size, and keys for every flow")]
    Voice(usize),
    /// Frames have no room for headers and signature.
    #[error("stream {stream}: frames of {size} octets have no room; {least} have")]
    Small {
        /// The stream.
        stream: usize,
        /// The size.
        size: usize,
        /// What would do, octets.
        least: usize,
    },
}

impl Plan {
    /// A plan of one stream.
    #[must_use]
    pub fn of(stream: Stream, seed: u64) -> Self {
        Self { streams: vec![stream], seed }
    }

    /// Flows of all streams.
    #[must_use]
    pub fn flows(&self) -> u64 {
        self.streams.iter().map(|stream| u64::from(stream.flows)).sum()
    }

    /// # Errors
    /// What is wrong with it but for values and room.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let count = self.streams.len();
        if !(1..=STREAMS_MAX).contains(&count) {
            return Err(Refused::Streams(count));
        }
        let has_none = self.streams.iter().any(|stream| stream.flows == 0);
        if has_none || self.flows() > u64::from(FLOWS_MAX) {
            return Err(Refused::Flows);
        }
        for (at, stream) in self.streams.iter().enumerate() {
            if !(1..=1_000).contains(&stream.weight) {
                return Err(Refused::Weight(at));
            }
            let is_long = stream.sizes.each().any(|size| size > crate::sizes::SIZE_MAX);
            if is_long || !stream.sizes.is_sound() {
                return Err(Refused::Sizes(at));
            }
            check_layers(at, &stream.layers)?;
            let is_rtp = matches!(stream.layers.last(), Some(Layer::Rtp { .. }));
            let is_sound = match &stream.voice {
                Some(voice) => is_rtp && voice.fits(stream),
                None => !is_rtp,
            };
            if !is_sound {
                return Err(Refused::Voice(at));
            }
        }
        Ok(())
    }
}

fn check_layers(stream: usize, layers: &[Layer]) -> Result<(), Refused> {
    let refused = |layer| Err(Refused::Layer { stream, layer });
    if !matches!(layers.first(), Some(Layer::Ethernet { .. })) {
        return refused(0);
    }
    if layers.len() > LAYERS_MAX {
        return refused(LAYERS_MAX);
    }
    let wrong = layers.windows(2).position(|pair| !pair[0].may_hold(&pair[1]));
    let networks = layers.iter().enumerate();
    let mut networks =
        networks.filter(|(_, layer)| matches!(layer, Layer::Ipv4 { .. } | Layer::Ipv6 { .. }));
    match (wrong, networks.nth(1)) {
        (Some(at), _) => refused(at + 1),
        (None, Some((at, _))) => refused(at),
        (None, None) => Ok(()),
    }
}
