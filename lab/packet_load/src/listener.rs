//! What is heard of speech: which flow a packet is of, what it says once it was opened, and how
//! evenly packets came.

use crate::histogram::Histogram;
use crate::layer::Layer;
use crate::report::{Delays, VoiceReport};
use crate::signature::{Form, Signature};
use crate::speaker::RTP;
use crate::stream::{Plan, Stream};
use srtp::{KeyEntry, MasterKey, Parameters, Receiver, Refused, Suite};

/// Sixteenths of jitter, as RFC 3550 A.8 keeps it.
const SCALE: i64 = 16;

/// The flows of a stream.
#[derive(Debug, Clone, Copy)]
struct Flows {
    stream: usize,
    ssrc: u32,
    count: u32,
    /// The number of its first flow in the plan, and of its first receiver, if it has any.
    first: u32,
    receiver: Option<usize>,
}

/// How evenly packets of a flow came: the delay before, and the jitter.
#[derive(Debug, Clone, Copy, Default)]
struct Transit {
    delay_ns: u32,
    packets: u32,
    /// In sixteenths of a nanosecond.
    jitter: i64,
}

/// What is counted of a stream.
#[derive(Debug, Default)]
struct Tally {
    noise: u64,
    opened: u64,
    forged: u64,
    replayed: u64,
    refused: u64,
    variation: Histogram,
}

/// What a packet of a known source was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Speech, of which its signature tells the rest.
    Speech(Signature),
    /// The noise of a pause.
    Noise,
    /// Not what it should be, or not of this trial.
    Nothing,
}

/// What receives the speech of a plan.
#[derive(Debug)]
pub(crate) struct Listener {
    flows: Vec<Flows>,
    receivers: Vec<Receiver>,
    transits: Vec<Transit>,
    tallies: Vec<Tally>,
    /// Where SRTP is opened.
    room: Vec<u8>,
}

impl Listener {
    /// That of a plan that has speech.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        plan.streams.iter().any(|stream| stream.voice.is_some()).then(|| {
            let tallies = plan.streams.iter().map(|_| Tally::default()).collect();
            let transits = vec![Transit::default(); plan.flows() as usize];
            let mut listener =
                Self { flows: vec![], receivers: vec![], transits, tallies, room: vec![] };
            let mut first = 0;
            for (number, stream) in plan.streams.iter().enumerate() {
                listener.add(number, stream, first);
                first += stream.flows;
            }
            listener
        })
    }

    fn add(&mut self, number: usize, stream: &Stream, first: u32) {
        let (Some(voice), Some(Layer::Rtp { ssrc })) = (&stream.voice, stream.layers.last()) else {
            return;
        };
        let receiver = voice.received.as_ref().map(|_| self.receivers.len());
        self.flows.push(Flows {
            stream: number,
            ssrc: *ssrc,
            count: stream.flows,
            first,
            receiver,
        });
        let Some(guard) = &voice.received else { return };
        let keys = guard.keys.iter().take(stream.flows as usize);
        self.receivers.extend(keys.map(|key| opening(guard.suite, key)));
    }

    /// Flows whose keys are others from now on begin with them.
    pub(crate) fn follow(&mut self, before: &Plan, after: &Plan) {
        for flows in &self.flows {
            let of =
                |plan: &'_ Plan| plan.streams.get(flows.stream)?.voice.as_ref()?.received.clone();
            let (Some(first), Some(before), Some(after)) = (flows.receiver, of(before), of(after))
            else {
                continue;
            };
            for (flow, key) in after.renewed(&before, flows.count) {
                self.receivers[first + flow] = opening(after.suite, key);
            }
        }
    }

    /// Another trial begins; what was heard of indices stays.
    pub(crate) fn begin(&mut self) {
        self.transits.fill(Transit::default());
        self.tallies.iter_mut().for_each(|tally| *tally = Tally::default());
    }

    /// Packets of noise of this trial.
    pub(crate) fn noise(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.noise).sum()
    }

    /// What a frame is; `None` if it is of no source of the plan.
    pub(crate) fn hear(&mut self, frame: &[u8], form: Form, key: u64) -> Option<Heard> {
        let (at, end) = payload(frame)?;
        let ssrc = u32::from_be_bytes(*frame[at..end].get(8..RTP)?.first_chunk()?);
        let is_of = |flows: &&Flows| ssrc.wrapping_sub(flows.ssrc) < flows.count;
        let flows = *self.flows.iter().find(is_of)?;
        let tally = &mut self.tallies[flows.stream];
        let Some(receiver) = flows.receiver else {
            return Some(said(&frame[at..end], at, form, key, tally));
        };
        self.room.clear();
        self.room.extend_from_slice(&frame[at..end]);
        let number = receiver + ssrc.wrapping_sub(flows.ssrc) as usize;
        match self.receivers[number].unprotect(&mut self.room) {
            Ok(length) => {
                tally.opened += 1;
                return Some(said(&self.room[..length], at, form, key, tally));
            }
            Err(Refused::Forged) => tally.forged += 1,
            Err(Refused::Replayed | Refused::Old) => tally.replayed += 1,
            Err(_) => tally.refused += 1,
        }
        Some(Heard::Nothing)
    }

    /// A packet of speech came that was not there yet.
    #[inline]
    pub(crate) fn came(&mut self, stream: usize, flow: u32, delay_ns: u32) {
        let transit = &mut self.transits[flow as usize];
        if transit.packets > 0 {
            let between = delay_ns.wrapping_sub(transit.delay_ns) as i32;
            let between = between.unsigned_abs();
            self.tallies[stream].variation.add(between.into());
            transit.jitter += i64::from(between) - (transit.jitter + SCALE / 2) / SCALE;
        }
        transit.packets = transit.packets.saturating_add(1);
        transit.delay_ns = delay_ns;
    }

    /// How much delays differ from packet to packet, in all streams.
    pub(crate) fn variation(&self) -> Delays {
        let mut all = Histogram::default();
        self.tallies.iter().for_each(|tally| all.merge(&tally.variation));
        Delays::of(&all)
    }

    /// What became of a stream of speech of which so many packets of noise were sent.
    pub(crate) fn settle(&self, stream: usize, noise_sent: u64) -> Option<VoiceReport> {
        let flows = self.flows.iter().find(|flows| flows.stream == stream)?;
        let tally = &self.tallies[stream];
        let own = &self.transits[flows.first as usize..][..flows.count as usize];
        let jitters = own.iter().filter(|it| it.packets > 1).map(|it| it.jitter / SCALE);
        let (sum, count, most) = jitters.fold((0, 0, 0), |(sum, count, most), jitter| {
            (sum + jitter, count + 1, jitter.max(most))
        });
        Some(VoiceReport {
            noise_sent,
            noise_received: tally.noise,
            variation: Delays::of(&tally.variation),
            jitter_mean_ns: sum as f64 / f64::from(count.max(1)),
            jitter_max_ns: most.unsigned_abs(),
            opened: tally.opened,
            forged: tally.forged,
            replayed: tally.replayed,
            refused: tally.refused,
        })
    }
}

fn opening(suite: Suite, key: &MasterKey) -> Receiver {
    let receiver = Receiver::new(Parameters::of(suite), &[KeyEntry::alone(key.clone())]);
    receiver.expect("a key of its suite, alone, is usable")
}

/// What a packet of RTP says that begins at octet `at` of its frame, which the place of a
/// signature is counted from.
fn said(rtp: &[u8], at: usize, form: Form, key: u64, tally: &mut Tally) -> Heard {
    let begins = form.begins(at + rtp.len()).and_then(|begins| begins.checked_sub(at));
    let Some(begins) = begins.filter(|begins| *begins >= RTP) else {
        tally.noise += 1;
        return Heard::Noise;
    };
    form.read(key, &rtp[begins..]).map_or(Heard::Nothing, Heard::Speech)
}

/// Where the payload of UDP begins and ends in a frame of IPv4 without options, or IPv6 without
/// extension headers; `None` for all else.
fn payload(frame: &[u8]) -> Option<(usize, usize)> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let (mut at, mut kind) = (14, word(12)?);
    while matches!(kind, 0x8100 | 0x88a8) {
        (at, kind) = (at + 4, word(at + 2)?);
    }
    let (protocol, transport) = match kind {
        0x0800 if *frame.get(at)? == 0x45 => (*frame.get(at + 9)?, at + 20),
        0x86dd => (*frame.get(at + 6)?, at + 40),
        _ => return None,
    };
    let end = transport + usize::from(word(transport + 4)?);
    let is_whole = protocol == 17 && transport + 8 <= end && end <= frame.len();
    is_whole.then_some((transport + 8, end))
}
