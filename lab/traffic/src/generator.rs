//! Packets one after the other: a template of each size, patched by what its flow has.

use crate::analyser::Analyser;
use crate::layer::Header;
use crate::order::Pick;
use crate::random::Random;
use crate::records::{LEAD, Records};
use crate::signature::{Form, Signature, key};
use crate::sizes::{FCS, SIZE_MIN};
use crate::stream::{Plan, Refused, Stream};
use crate::sum;
use graph::{HEADROOM, Pool, Slot};
use machine::Time;

/// Packets that are drawn at once, so that what their flows have is fetched together.
const AHEAD: usize = 64;
/// The filling of a packet: 0x00 to 0xff over and over (RFC 2544 app. C.2.6.4 has so).
const FILL: usize = 256;

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
    /// Where the signature begins.
    signature: usize,
    /// What lengths and filling add to the checksums.
    ip: u32,
    transport: u32,
}

/// A stream under way.
#[derive(Debug, Clone)]
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
}

/// The packets of a plan.
#[derive(Debug, Clone)]
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
}

impl Generator {
    pub(crate) fn new(plan: &Plan) -> Result<Self, Refused> {
        plan.check()?;
        let form = form(plan)?;
        let mut random = Random::new(plan.seed);
        let mut streams = Vec::with_capacity(plan.streams.len());
        let mut first_flow = 0;
        for (at, stream) in plan.streams.iter().enumerate() {
            let records = Records::new(stream, at, plan.seed)?;
            streams.push(Compiled::new(stream, first_flow, records, (form, &mut random)));
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
        Analyser::new(self.form, (self.seed, self.key), sizes.collect())
    }

    /// Every flow begins again with number 0; packets of other trials are foreign to this one's
    /// analyser. The order of packets goes on.
    pub fn begin(&mut self, trial: u64) {
        self.key = key(self.seed, trial);
        self.ahead_at = AHEAD;
        self.streams.iter_mut().for_each(|stream| stream.records.restart());
    }

    /// Packets that were written of each flow, stream by stream.
    pub(crate) fn sent(&self) -> Vec<Vec<u32>> {
        let streams = self.streams.iter();
        let mut sent: Vec<Vec<u32>> =
            streams.map(|stream| stream.records.sent().collect()).collect();
        // What was drawn but not written was not sent.
        for drawn in &self.ahead[self.ahead_at..] {
            let stream = usize::from(drawn.stream);
            sent[stream][(drawn.flow - self.streams[stream].first_flow) as usize] -= 1;
        }
        sent
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
        let drawn = self.peek();
        self.ahead_at += 1;
        let stream = &self.streams[usize::from(drawn.stream)];
        let shape = &stream.shapes[usize::from(drawn.shape)];
        let frame = &mut into[..shape.frame.len()];
        frame.copy_from_slice(&shape.frame);
        let words = &stream.records.words[drawn.record + LEAD..];
        for (offset, word) in stream.records.offsets.iter().zip(words) {
            let at = usize::from(*offset);
            frame[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        let time = now.as_nanos() as u32;
        let signature = Signature { flow: drawn.flow, sequence: drawn.sequence, time };
        let signed = self.form.write(signature, self.key, &mut frame[shape.signature..]);
        if let Some(at) = stream.ip_at {
            let sum = !sum::fold(u64::from(drawn.sums & 0xffff) + u64::from(shape.ip));
            frame[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
        }
        if let Some((at, zero_is_none)) = stream.transport_at {
            let header = u64::from(drawn.sums >> 16) + u64::from(shape.transport);
            let sum = !sum::fold(header + signed);
            let sum = if sum == 0 && zero_is_none { 0xffff } else { sum };
            frame[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
        }
        frame.len()
    }

    /// Writes one packet into each cell; they were just taken, so that their packets are empty.
    ///
    /// # Panics
    /// When cells have less room than [`Generator::longest`].
    pub fn fill(&mut self, now: Time, pool: &mut Pool, slots: &[Slot]) {
        for slot in slots {
            let length = self.write(now, &mut pool.cell_mut(*slot)[HEADROOM..]);
            let meta = pool.meta_mut(*slot);
            meta.offset = HEADROOM as u16;
            meta.length = length as u16;
        }
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
            let flow = stream.pick.next(&mut self.random);
            drawn.stream = number;
            drawn.flow = stream.first_flow + flow;
            drawn.record = flow as usize * stream.records.stride;
            drawn.shape = stream.round[stream.round_at];
            stream.round_at += 1;
            stream.round_at =
                if stream.round_at == stream.round.len() { 0 } else { stream.round_at };
        }
        for drawn in &mut self.ahead {
            let words = &mut self.streams[usize::from(drawn.stream)].records.words;
            if let [sequence, sums] = &mut words[drawn.record..drawn.record + LEAD] {
                (drawn.sequence, drawn.sums) = (*sequence, *sums);
                *sequence = sequence.wrapping_add(1);
            }
        }
        self.ahead_at = 0;
    }
}

impl Compiled {
    fn new(
        stream: &Stream,
        first_flow: u32,
        records: Records,
        (form, random): (Form, &mut Random),
    ) -> Self {
        let header = Header::of(&stream.layers);
        let shapes = stream.sizes.each().map(|size| Shape::new(&header, size, form)).collect();
        let ip_at = header.network.filter(|network| !network.is_v6).map(|network| network.at + 10);
        Self {
            name: stream.name.clone(),
            first_flow,
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

impl Shape {
    fn new(header: &Header, size: usize, form: Form) -> Self {
        let length = size.max(SIZE_MIN) - FCS;
        let mut frame: Box<[u8]> = (0..length).map(|at| (at % FILL) as u8).collect();
        let payload = header.octets.len();
        frame[..payload].copy_from_slice(&header.octets);
        let signature = form.begins(length).unwrap_or(payload);
        frame[signature..signature + form.octets()].fill(0);
        let (ip, transport) = header.lengths(&mut frame);
        let transport = transport + sum::of(&frame[payload..]);
        Self { frame, signature, ip, transport }
    }
}

/// The longest form that every frame has room for.
fn form(plan: &Plan) -> Result<Form, Refused> {
    let mut form = Form::Sixteen;
    for (at, stream) in plan.streams.iter().enumerate() {
        let header = Header::of(&stream.layers).octets.len();
        let has_room = |size: usize, form: Form| {
            form.begins(size.max(SIZE_MIN) - FCS).is_some_and(|begins| begins >= header)
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
