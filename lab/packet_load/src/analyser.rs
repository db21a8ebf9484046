//! What became of the packets: loss, duplicates, order and delay, by flow and stream.

use crate::flow::{Arrival, Flow};
use crate::generator::Generator;
use crate::listener::{Heard, Listener};
use crate::report::{Report, Tally};
use crate::signature::{Form, Signature, key};
use crate::sizes::FCS;
use crate::stream::Plan;
use machine::Time;

/// Packets that are looked at together, so that what is known of their flows is fetched at once.
const TOGETHER: usize = 64;

/// A packet that was read and not counted yet.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    flow: u32,
    sequence: u32,
    delay_ns: u32,
    octets: u32,
}

/// Takes what was received. Sixteen octets for each flow, and 27 KB for each stream; of speech the
/// same again and the keys.
#[derive(Debug)]
pub struct Analyser {
    form: Form,
    seed: u64,
    key: u64,
    /// The first flow of each stream, and the end.
    bounds: Vec<u32>,
    names: Vec<String>,
    flows: Vec<Flow>,
    tallies: Vec<Tally>,
    seen: [Seen; TOGETHER],
    waiting: usize,
    foreign: u64,
    first: Option<Time>,
    last: Time,
    listener: Option<Listener>,
}

impl Analyser {
    pub(crate) fn new(
        form: Form,
        seed: u64,
        key: u64,
        streams: Vec<(String, u32)>,
        listener: Option<Listener>,
    ) -> Self {
        let mut bounds = vec![0];
        for (_, flows) in &streams {
            bounds.push(bounds[bounds.len() - 1] + flows);
        }
        let flows = vec![Flow::default(); bounds[bounds.len() - 1] as usize];
        Self {
            form,
            seed,
            key,
            bounds,
            tallies: vec![Tally::default(); streams.len()],
            names: streams.into_iter().map(|(name, _)| name).collect(),
            flows,
            seen: [Seen::default(); TOGETHER],
            waiting: 0,
            foreign: 0,
            first: None,
            last: Time::ZERO,
            listener,
        }
    }

    /// Forgets all and takes the packets of another trial from now on.
    pub fn begin(&mut self, trial: u64) {
        self.key = key(self.seed, trial);
        self.flows.fill(Flow::default());
        self.tallies.iter_mut().for_each(Tally::clear);
        (self.waiting, self.foreign, self.first, self.last) = (0, 0, None, Time::ZERO);
        self.listener.iter_mut().for_each(Listener::begin);
    }

    /// What is received from now on is protected as the other plan says.
    pub(crate) fn follow(&mut self, before: &Plan, after: &Plan) {
        self.listener.iter_mut().for_each(|listener| listener.follow(before, after));
    }

    /// Packets of this trial that were received so far, duplicates with them.
    #[must_use]
    pub fn received(&self) -> u64 {
        let noise = self.listener.as_ref().map_or(0, Listener::noise);
        let arrived: u64 = self.tallies.iter().map(|tally| tally.arrived).sum();
        arrived + self.waiting as u64 + noise
    }

    /// Takes a packet, without frame check sequence, that was received at `now`.
    #[inline]
    pub fn receive(&mut self, now: Time, packet: &[u8]) {
        let heard = self.listener.as_mut().and_then(|it| it.hear(packet, self.form, self.key));
        match heard {
            Some(Heard::Speech(signature)) => self.take(now, packet, signature),
            Some(Heard::Noise) => {}
            Some(Heard::Nothing) => self.foreign += 1,
            None => self.receive_signed(now, packet),
        }
    }

    #[inline]
    fn receive_signed(&mut self, now: Time, packet: &[u8]) {
        let begins = self.form.begins(packet.len());
        let at_end = begins.and_then(|at| self.form.read(self.key, &packet[at..]));
        let Some(signature) = at_end.or_else(|| self.padded(packet)) else {
            self.foreign += 1;
            return;
        };
        self.take(now, packet, signature);
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &[u8], signature: Signature) {
        if signature.flow as usize >= self.flows.len() {
            self.foreign += 1;
            return;
        }
        self.seen[self.waiting] = Seen {
            flow: signature.flow,
            sequence: signature.sequence,
            delay_ns: (now.as_nanos() as u32).wrapping_sub(signature.time),
            octets: (packet.len() + FCS) as u32,
        };
        self.first.get_or_insert(now);
        self.last = now;
        self.waiting += 1;
        if self.waiting == TOGETHER {
            self.count();
        }
    }

    /// A signature before octets that were added to make the frame long enough.
    #[cold]
    fn padded(&self, packet: &[u8]) -> Option<Signature> {
        let end = network_end(packet).filter(|end| *end < packet.len())?;
        self.form.read(self.key, &packet[self.form.begins(end)?..])
    }

    fn count(&mut self) {
        let seen = &self.seen[..self.waiting];
        let touched = seen.iter().map(|seen| self.flows[seen.flow as usize].touch());
        std::hint::black_box(touched.fold(0u32, u32::wrapping_add));
        for seen in seen {
            let stream = match self.tallies.len() {
                1 => 0,
                _ => self.bounds.partition_point(|first| *first <= seen.flow) - 1,
            };
            let tally = &mut self.tallies[stream];
            tally.arrived += 1;
            tally.octets += u64::from(seen.octets);
            let arrival = self.flows[seen.flow as usize].arrive(seen.sequence);
            if let (Some(listener), Arrival::InOrder { .. } | Arrival::Reordered { .. }) =
                (&mut self.listener, &arrival)
            {
                listener.came(stream, seen.flow, seen.delay_ns);
            }
            match arrival {
                Arrival::InOrder { missing } => {
                    tally.discontinuities += u64::from(missing > 0);
                    tally.loss_period_max = tally.loss_period_max.max(missing);
                    tally.delays.add(seen.delay_ns.into());
                }
                Arrival::Reordered { behind } => {
                    tally.reordered += 1;
                    tally.behind_max = tally.behind_max.max(behind);
                    tally.delays.add(seen.delay_ns.into());
                }
                Arrival::Duplicate => tally.duplicates += 1,
                Arrival::TooLate => tally.too_late += 1,
            }
        }
        self.waiting = 0;
    }

    /// What became of all that the generator sent in this trial.
    pub fn settle(&mut self, generator: &Generator) -> Report {
        self.count();
        let seconds = self.last.since(self.first.unwrap_or(self.last)).as_secs_f64();
        let mut streams = Vec::with_capacity(self.tallies.len());
        for (at, sent) in generator.sent().into_iter().enumerate() {
            let (first, end) = (self.bounds[at] as usize, self.bounds[at + 1] as usize);
            let pairs = sent.into_iter().zip(&self.flows[first..end]);
            let report = self.tallies[at].report(&self.names[at], pairs, seconds);
            let noise = generator.noise(at);
            let voice = self.listener.as_ref().and_then(|listener| listener.settle(at, noise));
            streams.push(match voice {
                Some(voice) => report.with_voice(voice),
                None => report,
            });
        }
        let mut all = Tally::default();
        self.tallies.iter().for_each(|tally| all.merge(tally));
        let mut report = Report::new(streams, &all, self.foreign, seconds);
        if let (Some(listener), Some(voice)) = (&self.listener, &mut report.all.voice) {
            voice.variation = listener.variation();
        }
        report
    }
}

/// Where the network packet of a frame ends, by its own word: tags and labels before it are passed
/// over; `None` for all that is neither IPv4 nor IPv6.
fn network_end(frame: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let (mut at, mut kind) = (14, word(12)?);
    while matches!(kind, 0x8100 | 0x88a8) {
        (at, kind) = (at + 4, word(at + 2)?);
    }
    if kind == 0x8847 {
        while word(at + 2)? & 0x0100 == 0 {
            at += 4;
        }
        at += 4;
        kind = if frame.get(at)? >> 4 == 6 { 0x86dd } else { 0x0800 };
    }
    match kind {
        0x0800 => Some(at + usize::from(word(at + 2)?)),
        0x86dd => Some(at + 40 + usize::from(word(at + 4)?)),
        _ => None,
    }
}
