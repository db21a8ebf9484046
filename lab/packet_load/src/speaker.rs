//! Speech under way: what each flow has sent of RTP, which goes on from trial to trial as the
//! replay windows of who receives it do.

use crate::layer::{Header, Layer};
use crate::random::mix;
use crate::stream::Stream;
use crate::sum;
use crate::talk::{Step, Suppression, Talk};
use crate::voice::{Codec, Guard, TICKS};
use srtp::{KeyEntry, MasterKey, Parameters, Sender, Suite};

/// Octets of a header of RTP.
pub(crate) const RTP: usize = 12;
/// The marker of RTP, beside the payload type (RFC 3550 §5.1).
const MARKER: u8 = 0x80;

/// A flow.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Packets sent, and steps of 20 ms that were.
    packets: u32,
    steps: u32,
    talk: Talk,
}

/// What is said in a packet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Said {
    pub(crate) steps: u32,
    pub(crate) is_first: bool,
    pub(crate) is_noise: bool,
}

/// The flows of a stream of speech.
#[derive(Debug)]
pub(crate) struct Speaker {
    lines: Vec<Line>,
    codec: Codec,
    suppression: Option<Suppression>,
    seed: u64,
    /// Where RTP begins in a frame.
    pub(crate) rtp: usize,
    /// Packets of noise of this trial.
    pub(crate) noise: u64,
}

/// The senders of a guard's flows.
pub(crate) fn senders(guard: &Guard, flows: u32) -> impl Iterator<Item = Sender> + '_ {
    let keys = guard.keys.iter().take(flows as usize);
    keys.map(move |key| sender(guard.suite, key))
}

/// That of a key.
pub(crate) fn sender(suite: Suite, key: &MasterKey) -> Sender {
    let sender = Sender::new(Parameters::of(suite), &[KeyEntry::alone(key.clone())]);
    sender.expect("a key of its suite, alone, is usable")
}

impl Speaker {
    /// That of a stream which is speech.
    pub(crate) fn new(stream: &Stream, first_flow: u32, seed: u64) -> Option<Self> {
        let voice = stream.voice.as_ref()?;
        let at = stream.layers.iter().position(|layer| matches!(layer, Layer::Rtp { .. }))?;
        let rtp = Header::of(&stream.layers).starts[at];
        let seed = mix(seed ^ u64::from(first_flow) << 32);
        let talk = |flow| {
            let how = voice.suppression.as_ref();
            how.map_or_else(Talk::default, |how| Talk::new(how, own(seed, flow)))
        };
        let line = |flow| Line { packets: 0, steps: 0, talk: talk(flow) };
        Some(Self {
            lines: (0..stream.flows).map(line).collect(),
            codec: voice.codec,
            suppression: voice.suppression,
            seed,
            rtp,
            noise: 0,
        })
    }

    /// What a flow says in its next step; `None`: nothing.
    #[inline]
    pub(crate) fn say(&mut self, flow: u32) -> Option<Said> {
        let line = &mut self.lines[flow as usize];
        let steps = line.steps;
        line.steps = steps.wrapping_add(1);
        let Some(how) = &self.suppression else {
            return Some(Said { steps, is_first: steps == 0, is_noise: false });
        };
        match line.talk.step(how, own(self.seed, flow)) {
            Step::Speech { is_first } => Some(Said { steps, is_first, is_noise: false }),
            Step::Noise => Some(Said { steps, is_first: false, is_noise: true }),
            Step::Nothing => None,
        }
    }

    /// Writes the header of RTP but for its source; what that adds to the checksum.
    #[inline]
    pub(crate) fn write(&mut self, flow: u32, said: Said, frame: &mut [u8]) -> u64 {
        let line = &mut self.lines[flow as usize];
        // A first number below 2^15: no packet that is lost makes the receiver guess wrongly
        // (RFC 3711 §3.3.1).
        let drawn = own(self.seed, flow);
        let sequence = ((drawn as u16) & 0x7fff).wrapping_add(line.packets as u16);
        let timestamp = ((drawn >> 32) as u32).wrapping_add(said.steps.wrapping_mul(TICKS));
        line.packets = line.packets.wrapping_add(1);
        self.noise += u64::from(said.is_noise);
        let kind = if said.is_noise { self.codec.noise().0 } else { self.codec.payload_type() };
        let kind = if said.is_first { kind | MARKER } else { kind };
        let header = &mut frame[self.rtp..self.rtp + RTP];
        header[1] = kind;
        header[2..4].copy_from_slice(&sequence.to_be_bytes());
        header[4..8].copy_from_slice(&timestamp.to_be_bytes());
        u64::from(sum::word(kind.into()) + sum::of(&header[2..8]))
    }
}

/// The chance of a flow.
const fn own(seed: u64, flow: u32) -> u64 {
    mix(seed.wrapping_add(flow as u64 + 1))
}
