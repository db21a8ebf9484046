//! Speech: a packet of RTP every 20 ms, of SRTP where there are keys.

use crate::layer::{Header, Layer};
use crate::random::Random;
use crate::sizes::FCS;
use crate::stream::Stream;
use crate::talk::Suppression;
use crate::values::{Part, Values, Vary};
use core::fmt;
use srtp::{MasterKey, Suite};
use std::sync::Arc;

/// Packets of one flow a second while somebody speaks.
pub const PACKETS_PER_S: u32 = 50;
/// Ticks of the clock of 8 kHz between two packets.
pub(crate) const TICKS: u32 = 160;

/// What speech is coded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// A-law: 160 octets (RFC 3551 §4.5.14); noise of pauses by RFC 3389.
    G711,
    /// G.722: 160 octets, with a clock of 8 kHz all the same (RFC 3551 §4.5.2).
    G722,
    /// G.729A: 20 octets (RFC 3551 §4.5.6); noise of pauses by its Annex B.
    G729,
}

impl Codec {
    /// The payload type (RFC 3551 §6).
    #[must_use]
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::G711 => 8,
            Self::G722 => 9,
            Self::G729 => 18,
        }
    }

    /// Octets of 20 ms.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::G711 | Self::G722 => 160,
            Self::G729 => 20,
        }
    }

    /// Payload type and octets of the noise of a pause.
    pub(crate) const fn noise(self) -> (u8, usize) {
        match self {
            Self::G711 | Self::G722 => (13, 1),
            Self::G729 => (18, 2),
        }
    }
}

/// Keys of one direction: a master key for each flow.
#[derive(Clone)]
pub struct Guard {
    /// What protects.
    pub suite: Suite,
    /// Those of the flows, in their order.
    pub keys: Arc<[MasterKey]>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({}, {} keys)", self.suite.name(), self.keys.len())
    }
}

impl Guard {
    /// Keys by seed, the same ones each time: they guard nothing but packets of the lab.
    #[must_use]
    pub fn by_seed(suite: Suite, flows: u32, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5256_5450);
        let mut key = |_| {
            let length = MasterKey::octets_of(suite);
            let octets: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            MasterKey::of(suite, &octets)
        };
        Self { suite, keys: (0..flows).filter_map(&mut key).collect() }
    }

    /// The flows, of so many, whose keys are others than before.
    pub(crate) fn renewed<'a>(
        &'a self,
        before: &'a Self,
        flows: u32,
    ) -> impl Iterator<Item = (usize, &'a MasterKey)> {
        let pairs = self.keys.iter().zip(&*before.keys).take(flows as usize);
        pairs.enumerate().filter(|(_, (key, known))| key != known).map(|(at, (key, _))| (at, key))
    }
}

/// That a stream is speech.
#[derive(Debug, Clone)]
pub struct Voice {
    /// What with.
    pub codec: Codec,
    /// Whether pauses are not sent.
    pub suppression: Option<Suppression>,
    /// What its packets are protected with as they leave; `None`: RTP.
    pub sent: Option<Guard>,
    /// What they are protected with as they arrive; `None`: RTP.
    pub received: Option<Guard>,
}

impl Voice {
    /// RTP without pauses.
    #[must_use]
    pub const fn of(codec: Codec) -> Self {
        Self { codec, suppression: None, sent: None, received: None }
    }

    /// Whether its keys and its stream fit each other.
    pub(crate) fn fits(&self, stream: &Stream) -> bool {
        let enough = |guard: &Option<Guard>| {
            guard.as_ref().is_none_or(|it| {
                it.keys.len() >= stream.flows as usize
                    && it.keys.iter().all(|key| key.suite() == it.suite)
            })
        };
        stream.sizes.each().count() == 1 && enough(&self.sent) && enough(&self.received)
    }

    /// Whether packets are as long as those of another one, and are opened in the same way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let suites = |it: &Self| [&it.sent, &it.received].map(|it| it.as_ref().map(|it| it.suite));
        self.codec == other.codec
            && self.suppression == other.suppression
            && suites(self) == suites(other)
    }
}

impl Stream {
    /// Speech behind these headers, which end with UDP; flow number n has the source `ssrc` + n.
    #[must_use]
    pub fn speech(name: &str, mut layers: Vec<Layer>, ssrc: u32, voice: Voice) -> Self {
        layers.push(Layer::Rtp { ssrc });
        let size = Header::of(&layers).octets.len() + voice.codec.octets() + FCS;
        let layer = layers.len() - 1;
        let values = Values::Count { first: ssrc.into(), step: 1, count: u32::MAX, every: 1 };
        let mut stream = Self::new(name, layers, size);
        stream.vary.push(Vary { layer, part: Part::Source, values });
        stream.voice = Some(voice);
        stream
    }

    /// Packets a second of all its flows at a packet every 20 ms; 0 for what is no speech.
    #[must_use]
    pub fn speech_pps(&self) -> f64 {
        let activity =
            |voice: &Voice| voice.suppression.as_ref().map_or(1.0, Suppression::activity);
        let all = f64::from(self.flows) * f64::from(PACKETS_PER_S);
        self.voice.as_ref().map_or(0.0, |voice| all * activity(voice))
    }
}
