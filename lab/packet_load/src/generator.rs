//! Packets one after the other: a template of each size, patched by what its flow has.

use crate::analyser::Analyser;
use crate::layer::Header;
use crate::listener::Listener;
use crate::order::Pick;
use crate::random::Random;
use crate::records::{LEAD, Records};
use crate::signature::{Form, Signature, key};
use crate::sizes::{FCS, SIZE_MIN};
use crate::speaker::{RTP, Said, Speaker, sender, senders};
use crate::stream::{Plan, Refused, Stream};
use crate::sum;
use graph::{HEADROOM, Pool, Slot};
use machine::Time;
use srtp::{Packet, Sender};

/// Packets that are drawn at once, so that what their flows have is fetched together.
const AHEAD: usize = 64;
/// The filling of a packet: 0x00 to 0xff over and over (RFC 2544 app. C.2.6.4 has so).
const FILL: usize = 256;
/// The shape of the noise of a pause: speech has one size.
const NOISE: u8 = 1;
/// Packets that are protected together.
const TOGETHER: usize = 32;

impl Plan {
    /// Writes every flow's headers down.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn generator(&self) -> Result<Generator, Refused> {
        Generator::new(self)
    }
}

/// A packet of one size before its flow is known.
#[derive(Debug, Clone)]
struct Shape {
    frame: Box<[u8]>,
    /// Where the signature begins; the noise of a pause has none.
    signature: Option<usize>,
    /// What lengths and filling add to the checksums.
    ip: u32,
    transport: u32,
    /// Octets behind it that protect it: then its payload is not in the checksum yet.
    tag: usize,
}

/// A stream under way.
#[derive(Debug)]
struct Compiled {
    name: String,
    first_flow: u32,
    records: Records,
    shapes: Vec<Shape>,
    round: Box<[u8]>,
    round_at: usize,
    pick: Pick,
    /// Where the checksum of IPv4 stands.
    ip_at: Option<usize>,
    /// Where that of the transport stands, and whether zero means none there.
    transport_at: Option<(usize, bool)>,
    speaker: Option<Speaker>,
    /// The number of its first flow's sender, where it is SRTP.
    first_sender: usize,
}

/// A packet that is written but for what protects it, and for the checksum over that.
#[derive(Debug, Clone, Copy, Default)]
struct Composed {
    length: usize,
    /// What is known of the checksum, and where it stands.
    sum: u64,
    transport_at: Option<(usize, bool)>,
    guarded: Option<Guarded>,
}

/// What is to be protected of a packet.
#[derive(Debug, Clone, Copy)]
struct Guarded {
    sender: usize,
    /// Where RTP begins and ends, the tag not counted.
    rtp: usize,
    end: usize,
}

/// A packet that was drawn.
#[derive(Debug, Clone, Copy, Default)]
struct Drawn {
    stream: u16,
    shape: u8,
    flow: u32,
    /// Where its record begins.
    record: usize,
    sequence: u32,
    sums: u32,
    said: Said,
}

/// The packets of a plan.
#[derive(Debug)]
pub struct Generator {
    streams: Vec<Compiled>,
    /// The streams in turn, and where it stands.
    turns: Box<[u16]>,
    turn: usize,
    form: Form,
    seed: u64,
    key: u64,
    random: Random,
    ahead: [Drawn; AHEAD],
    ahead_at: usize,
    longest: usize,
    senders: Vec<Sender>,
    /// Where packets stand that are protected together.
    room: Vec<u8>,
    /// What receives its speech, until there is an analyser.
    plan: Plan,
}

impl Generator {
    pub(crate) fn new(plan: &Plan) -> Result<Self, Refused> {
        plan.check()?;
        let form = form(plan)?;
        let mut random = Random::new(plan.seed);
        let mut streams = Vec::with_capacity(plan.streams.len());
        let (mut first_flow, mut guards) = (0, Vec::new());
        for (at, stream) in plan.streams.iter().enumerate() {
            let records = Records::new(stream, at, plan.seed)?;
            let mut compiled = Compiled::new(stream, records, form, &mut random);
            compiled.first_flow = first_flow;
            compiled.first_sender = guards.len();
            compiled.speaker = Speaker::new(stream, first_flow, plan.seed);
            if let Some(guard) = stream.voice.as_ref().and_then(|voice| voice.sent.as_ref()) {
                guards.extend(senders(guard, stream.flows));
            }
            streams.push(compiled);
            first_flow += stream.flows;
        }
        let numbered = plan.streams.iter().enumerate();
        let turns = numbered.flat_map(|(at, stream)| vec![at as u16; stream.weight as usize]);
        let mut turns: Box<[u16]> = turns.collect();
        random.shuffle(&mut turns);
        let shapes = streams.iter().flat_map(|stream| &stream.shapes);
        let longest = shapes.map(|shape| shape.frame.len()).max().unwrap_or_default();
        Ok(Self {
            streams,
            turns,
            turn: 0,
            form,
            seed: plan.seed,
            key: key(plan.seed, 0),
            random,
            ahead: [Drawn::default(); AHEAD],
            ahead_at: AHEAD,
            longest,
            room: vec![0; if guards.is_empty() { 0 } else { TOGETHER * longest }],
            senders: guards,
            plan: plan.clone(),
        })
    }

    /// How signatures are written.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.form
    }

    /// The longest packet, octets without frame check sequence.
    #[must_use]
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// What tells what became of the packets. It belongs to the same trial.
    #[must_use]
    pub fn analyser(&self) -> Analyser {
        let streams = self.streams.iter();
        let sizes = streams.map(|stream| (stream.name.clone(), stream.records.flows()));
        let listener = Listener::new(&self.plan);
        Analyser::new(self.form, self.seed, self.key, sizes.collect(), listener)
    }

    /// From now on packets are those of this plan, which has the same streams and flows with other
    /// addresses, ports or keys, as calls have after other media were agreed. Numbers go on.
    ///
    /// # Errors
    /// What is wrong with it; nothing has changed then.
    pub fn follow(&mut self, plan: &Plan, analyser: &mut Analyser) -> Result<(), Refused> {
        plan.check()?;
        if plan.streams.len() != self.streams.len() {
            return Err(Refused::Streams(plan.streams.len()));
        }
        let mut all = Vec::with_capacity(self.streams.len());
        let before = self.plan.streams.iter().zip(&self.streams);
        for (at, (stream, (before, known))) in plan.streams.iter().zip(before).enumerate() {
            if stream.flows != known.records.flows() {
                return Err(Refused::Flows);
            }
            let is_like = match (&stream.voice, &before.voice) {
                (Some(after), Some(before)) => after.is_like(before),
                (after, before) => after.is_none() && before.is_none(),
            };
            if !is_like {
                return Err(Refused::Voice(at));
            }
            let mut records = Records::new(stream, at, self.seed)?;
            records.go_on_from(&known.records);
            all.push(records);
        }
        for (stream, records) in self.streams.iter_mut().zip(all) {
            stream.records = records;
        }
        for drawn in &mut self.ahead[self.ahead_at..] {
            let stream = &self.streams[usize::from(drawn.stream)];
            let records = &stream.records;
            drawn.record = (drawn.flow - stream.first_flow) as usize * records.stride;
            drawn.sums = records.words[drawn.record + 1];
        }
        self.take_keys(plan);
        analyser.follow(&self.plan, plan);
        self.plan = plan.clone();
        Ok(())
    }

    /// Flows whose keys are others send by them.
    fn take_keys(&mut self, plan: &Plan) {
        let pairs = self.plan.streams.iter().zip(&plan.streams);
        for ((before, after), known) in pairs.zip(&self.streams) {
            let guards = [before, after].map(|it| it.voice.as_ref()?.sent.as_ref());
            let [Some(before), Some(after)] = guards else { continue };
            for (flow, key) in after.renewed(before, known.records.flows()) {
                self.senders[known.first_sender + flow] = sender(after.suite, key);
            }
        }
    }

    /// Every flow begins again with number 0; packets of other trials are foreign to this one's
    /// analyser. The order of packets goes on, and so do the numbers of RTP.
    pub fn begin(&mut self, trial: u64) {
        self.key = key(self.seed, trial);
        self.ahead_at = AHEAD;
        for stream in &mut self.streams {
            stream.records.restart();
            stream.speaker.iter_mut().for_each(|speaker| speaker.noise = 0);
        }
    }

    /// Packets that were written of each flow, stream by stream.
    pub(crate) fn sent(&self) -> Vec<Vec<u32>> {
        let streams = self.streams.iter();
        let mut sent: Vec<Vec<u32>> =
            streams.map(|stream| stream.records.sent().collect()).collect();
        // What was drawn but not written was not sent.
        for drawn in self.ahead[self.ahead_at..].iter().filter(|drawn| !drawn.said.is_noise) {
            let stream = usize::from(drawn.stream);
            sent[stream][(drawn.flow - self.streams[stream].first_flow) as usize] -= 1;
        }
        sent
    }

    /// Packets of noise of a stream of speech in this trial.
    pub(crate) fn noise(&self, stream: usize) -> u64 {
        self.streams[stream].speaker.as_ref().map_or(0, |speaker| speaker.noise)
    }

    /// Octets of the next packet, without frame check sequence.
    #[inline]
    pub fn next_length(&mut self) -> usize {
        let drawn = self.peek();
        self.streams[usize::from(drawn.stream)].shapes[usize::from(drawn.shape)].frame.len()
    }

    /// Writes the next packet, sent at `now`, and says how many octets it has.
    ///
    /// # Panics
    /// When there is less room than it needs; [`Generator::longest`] is enough for each.
    #[inline]
    pub fn write(&mut self, now: Time, into: &mut [u8]) -> usize {
        let composed = self.compose(now, into);
        if let Some(Guarded { sender, rtp, end }) = composed.guarded {
            let protected =
                self.senders[sender].protect(&mut into[rtp..composed.length], end - rtp);
            debug_assert!(protected.is_ok(), "an index is there for every packet");
        }
        composed.finish(into);
        composed.length
    }

    /// Writes one packet into each cell; they were just taken, so that their packets are empty.
    ///
    /// # Panics
    /// When cells have less room than [`Generator::longest`].
    pub fn fill(&mut self, now: Time, pool: &mut Pool, slots: &[Slot]) {
        let place = |pool: &mut Pool, slot: Slot, length: usize| {
            let meta = pool.meta_mut(slot);
            meta.offset = HEADROOM as u16;
            meta.length = length as u16;
        };
        if self.senders.is_empty() {
            for slot in slots {
                let length = self.write(now, &mut pool.cell_mut(*slot)[HEADROOM..]);
                place(pool, *slot, length);
            }
            return;
        }
        for slots in slots.chunks(TOGETHER) {
            let written = self.write_together(now, slots.len());
            for ((slot, packet), composed) in
                slots.iter().zip(self.room.chunks_exact(self.longest)).zip(written)
            {
                let cell = &mut pool.cell_mut(*slot)[HEADROOM..];
                cell[..composed.length].copy_from_slice(&packet[..composed.length]);
                composed.finish(cell);
                place(pool, *slot, composed.length);
            }
        }
    }

    /// Writes packets side by side, those of SRTP protected in one go.
    fn write_together(&mut self, now: Time, count: usize) -> [Composed; TOGETHER] {
        let mut written = [Composed::default(); TOGETHER];
        let mut room = std::mem::take(&mut self.room);
        let mut guarded = Vec::with_capacity(count);
        for (number, composed) in written.iter_mut().take(count).enumerate() {
            let at = number * self.longest;
            *composed = self.compose(now, &mut room[at..at + self.longest]);
            if let Some(Guarded { sender, rtp, end }) = composed.guarded {
                let room = composed.length - rtp;
                guarded.push(Packet::rtp(sender, at + rtp, end - rtp, room));
            }
        }
        srtp::protect(&mut self.senders[..], &mut room, &mut guarded);
        debug_assert!(guarded.iter().all(|packet| packet.verdict.is_ok()), "indices are there");
        self.room = room;
        written
    }

    /// Writes the next packet but for what protects it.
    #[inline]
    fn compose(&mut self, now: Time, into: &mut [u8]) -> Composed {
        let drawn = self.peek();
        self.ahead_at += 1;
        let stream = &mut self.streams[usize::from(drawn.stream)];
        let shape = &stream.shapes[usize::from(drawn.shape)];
        let frame = &mut into[..shape.frame.len()];
        frame.copy_from_slice(&shape.frame);
        let words = &stream.records.words[drawn.record + LEAD..];
        for (offset, word) in stream.records.offsets.iter().zip(words) {
            let at = usize::from(*offset);
            frame[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        let mut sum = u64::from(drawn.sums >> 16) + u64::from(shape.transport);
        if let Some(at) = shape.signature {
            let time = now.as_nanos() as u32;
            let signature = Signature { flow: drawn.flow, sequence: drawn.sequence, time };
            let signed = self.form.write(signature, self.key, &mut frame[at..]);
            sum += if shape.tag > 0 { 0 } else { signed };
        }
        if let Some(at) = stream.ip_at {
            let sum = !sum::fold(u64::from(drawn.sums & 0xffff) + u64::from(shape.ip));
            frame[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
        }
        let mut guarded = None;
        if let Some(speaker) = &mut stream.speaker {
            let flow = drawn.flow - stream.first_flow;
            sum += speaker.write(flow, drawn.said, frame);
            let sender = stream.first_sender + flow as usize;
            let (rtp, end) = (speaker.rtp, frame.len() - shape.tag);
            guarded = (shape.tag > 0).then_some(Guarded { sender, rtp, end });
        }
        Composed { length: frame.len(), sum, transport_at: stream.transport_at, guarded }
    }

    #[inline]
    fn peek(&mut self) -> Drawn {
        if self.ahead_at == AHEAD {
            self.draw();
        }
        self.ahead[self.ahead_at]
    }

    fn draw(&mut self) {
        for drawn in &mut self.ahead {
            let number = self.turns[self.turn];
            self.turn = if self.turn + 1 == self.turns.len() { 0 } else { self.turn + 1 };
            let stream = &mut self.streams[usize::from(number)];
            let mut flow = stream.pick.next(&mut self.random);
            drawn.said = Said::default();
            if let Some(speaker) = &mut stream.speaker {
                // A pause ends some time: whoever is silent now speaks after so many turns.
                drawn.said = loop {
                    match speaker.say(flow) {
                        Some(said) => break said,
                        None => flow = stream.pick.next(&mut self.random),
                    }
                };
            }
            drawn.stream = number;
            drawn.flow = stream.first_flow + flow;
            drawn.record = flow as usize * stream.records.stride;
            drawn.shape = stream.round[stream.round_at];
            stream.round_at += 1;
            stream.round_at =
                if stream.round_at == stream.round.len() { 0 } else { stream.round_at };
            if drawn.said.is_noise {
                drawn.shape = NOISE;
            }
        }
        for drawn in &mut self.ahead {
            let words = &mut self.streams[usize::from(drawn.stream)].records.words;
            if let [sequence, sums] = &mut words[drawn.record..drawn.record + LEAD] {
                (drawn.sequence, drawn.sums) = (*sequence, *sums);
                *sequence = sequence.wrapping_add(u32::from(!drawn.said.is_noise));
            }
        }
        self.ahead_at = 0;
    }
}

impl Compiled {
    fn new(stream: &Stream, records: Records, form: Form, random: &mut Random) -> Self {
        let header = Header::of(&stream.layers);
        let voice = stream.voice.as_ref();
        let tag = voice.and_then(|it| it.sent.as_ref()).map_or(0, |it| it.suite.tag_octets());
        let shape = |size| Shape::new(&header, length(size), tag, Some(form));
        let mut shapes: Vec<Shape> = stream.sizes.each().map(shape).collect();
        // The noise of pauses comes behind the only size.
        shapes.extend(voice.map(|voice| {
            let length = header.octets.len() + voice.codec.noise().1;
            Shape::new(&header, length, tag, None)
        }));
        let ip_at = header.network.filter(|network| !network.is_v6).map(|network| network.at + 10);
        Self {
            name: stream.name.clone(),
            first_flow: 0,
            first_sender: 0,
            speaker: None,
            records,
            shapes,
            round: stream.sizes.round(random),
            round_at: 0,
            pick: Pick::new(stream.order, stream.flows, random),
            ip_at,
            transport_at: header.transport.map(|found| (found.sum_at, found.is_udp)),
        }
    }
}

impl Composed {
    /// Writes the checksum of the transport.
    #[inline]
    fn finish(&self, frame: &mut [u8]) {
        let Some((at, zero_is_none)) = self.transport_at else { return };
        let protected = match self.guarded {
            Some(Guarded { rtp, .. }) => sum::of(&frame[rtp + RTP..self.length]),
            None => 0,
        };
        let sum = !sum::fold(self.sum + u64::from(protected));
        let sum = if sum == 0 && zero_is_none { 0xffff } else { sum };
        frame[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
    }
}

/// Octets of a packet of a size.
fn length(size: usize) -> usize {
    size.max(SIZE_MIN) - FCS
}

impl Shape {
    /// A packet of `length` octets, and a tag behind it; signed if there is a form.
    fn new(header: &Header, length: usize, tag: usize, form: Option<Form>) -> Self {
        let filling = (0..length).map(|at| (at % FILL) as u8);
        let mut frame: Box<[u8]> = filling.chain(std::iter::repeat_n(0, tag)).collect();
        let payload = header.octets.len();
        frame[..payload].copy_from_slice(&header.octets);
        let signature = form.map(|form| (form.begins(length).unwrap_or(payload), form.octets()));
        if let Some((at, octets)) = signature {
            frame[at..at + octets].fill(0);
        }
        let (ip, transport) = header.lengths(&mut frame);
        let filled = if tag > 0 { 0 } else { sum::of(&frame[payload..]) };
        let signature = signature.map(|(at, _)| at);
        Self { frame, signature, ip, transport: transport + filled, tag }
    }
}

/// The longest form that every frame has room for.
fn form(plan: &Plan) -> Result<Form, Refused> {
    let mut form = Form::Sixteen;
    for (at, stream) in plan.streams.iter().enumerate() {
        let header = Header::of(&stream.layers).octets.len();
        let has_room = |size: usize, form: Form| {
            form.begins(length(size)).is_some_and(|begins| begins >= header)
        };
        for size in stream.sizes.each() {
            if !has_room(size, Form::Twelve) {
                let least = header + Form::Twelve.octets() + FCS;
                return Err(Refused::Small { stream: at, size, least });
            }
            if !has_room(size, Form::Sixteen) {
                form = Form::Twelve;
            }
        }
    }
    Ok(form)
}
