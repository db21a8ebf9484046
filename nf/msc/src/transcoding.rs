//! The transcoder's control: streams are told it as they change, and whole to one that comes.
//! Packets go between it and the forwarder, past this.
//!
//! ```text
//!   Away ─ tick ─→ Connecting ─ Welcome ─→ Up ─ Down ─→ Away      one is started where none stands
//!                                          ├ Reached → Ledger: where the next one goes on,
//!                                          │           and the other node of a pair
//!                                          ├ Digit → session controllers, trails
//!                                          └ Load, Refused → figures, alarms
//! ```

use crate::MediaController;
use crate::coding;
use crate::lease::Lessee;
use crate::metrics::Metric;
use crate::noticed::Noticed;
use crate::streams::Owner;
use anchor::row::{Event, StreamId};
use anchor::{Dtmf, Kind, Side};
use codec::message::Message;
use codec::{End, Ledger, Numbers, Place};
use machine::{Duration, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore as _;
use runtime::{ChannelEvent, Effects, PortId};
use std::collections::BTreeMap;
use std::sync::Arc;
use transcoder::{Launch, ToTranscoder};

/// Between two attempts to reach it, and to one that could not be started.
const RETRY: Duration = Duration::from_millis(100);
const RETRY_FAILED: Duration = Duration::from_secs(1);
/// Within this time one that has come says so.
const WELCOME: Duration = Duration::from_secs(2);
/// Between two times that the other node of a pair is told how far a stream is.
const TOLD_EVERY: Duration = Duration::from_secs(2);
/// What codes nothing for so long is told: session controllers offer no such codecs then.
pub(crate) const AWAY_MAX: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// None is wanted.
    Unused,
    /// The next attempt is at that time.
    Away(Time),
    /// It has to say that it is there until then.
    Connecting(Time),
    Up,
}

/// A stream, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Of {
    pub lessee: Lessee,
    pub id: StreamId,
}

/// A digit that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digit {
    /// The event (RFC 4733 §3.2).
    pub code: u8,
    /// How long it sounds.
    pub ms: u16,
}

/// A digit that an end sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    of: Of,
    from: Side,
    code: u8,
    lasted_ms: u16,
}

/// What is told of one stream.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Its number there; `None`: nothing of it passes there.
    number: Option<u32>,
    /// Since when something does.
    since: Time,
    /// What packets to its ends were counted by when something passed there last: it is the same
    /// source when something does again.
    kept: Option<[Numbers; 2]>,
    /// When the other node of a pair was told of it last.
    told_at: Time,
    /// Of the last digit that was played.
    serial: u32,
}

/// What it said last of how it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub permille: u16,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that it dropped before it decoded them.
    pub over: u64,
    /// Streams that it takes at most.
    pub streams_max: u32,
    pub lost: u64,
    pub refused: u64,
}

/// The control of a transcoder.
#[derive(Debug)]
pub(crate) struct Transcoding {
    port: PortId,
    to: Option<Arc<ToTranscoder>>,
    state: State,
    /// Since when packets do not pass it.
    away_since: Option<Time>,
    /// A bit for the number of each codec, as the rows of media count them.
    codecs: u32,
    ledger: Ledger,
    told: BTreeMap<Of, Entry>,
    numbers: BTreeMap<u32, Of>,
    /// The number of the next stream. It begins anywhere: those that a control before this one
    /// has said stand until all has been said anew.
    next: u32,
    figures: Figures,
    /// Why it could not be started, or ended.
    why: String,
}

/// Something that happened there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    /// It is there, and knows what was said of streams.
    Came,
    /// It is gone.
    Went,
    /// An end sent a digit.
    Digit(Heard),
    /// Packets of a stream have left.
    Reached(Of),
}

/// Codecs as rows of media count them.
fn codecs_of(bits: u32) -> u32 {
    let there = codec::Codec::ALL.iter().filter(|it| bits >> it.number() & 1 == 1);
    let known = there.filter_map(|it| anchor::Codec::named(it.name().as_bytes()));
    known.fold(0, |all, it| all | 1 << it.number())
}

impl Transcoding {
    /// One that is looked for with the first tick; `None`: there is none.
    pub fn new(now: Time, port: PortId, launch: Option<Launch>, next: u32) -> Self {
        let mut new = Self {
            port,
            to: None,
            state: State::Unused,
            away_since: Some(now),
            codecs: 0,
            ledger: Ledger::default(),
            told: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next,
            figures: Figures::default(),
            why: String::new(),
        };
        new.launch(now, launch, None);
        new
    }

    /// Another way to it, or none any more.
    pub fn launch(&mut self, now: Time, launch: Option<Launch>, out: Option<&mut Effects>) {
        let is_same = self.to.as_ref().map(|it| it.launch()) == launch.as_ref();
        if is_same {
            return;
        }
        if let (Some(out), State::Connecting(_) | State::Up) = (out, self.state) {
            self.stop(out);
            out.hang_up(self.port);
        }
        self.to = launch.map(|launch| Arc::new(ToTranscoder::new(launch)));
        self.state = if self.to.is_some() { State::Away(now) } else { State::Unused };
        (self.codecs, self.away_since) = (0, Some(now));
    }

    /// Whether there is to be one.
    pub const fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Whether packets pass it.
    pub fn is_there(&self) -> bool {
        self.state == State::Up && self.away_since.is_none()
    }

    /// Since when they do not, though they should.
    pub fn away_since(&self) -> Option<Time> {
        self.away_since.filter(|_| self.is_wanted())
    }

    /// What it codes: a bit for the number of each codec. Of one that has just gone it is what it
    /// was: it comes again before a call is answered.
    pub fn codecs(&self, now: Time) -> u32 {
        let is_gone = self.away_since.is_some_and(|since| since + AWAY_MAX <= now);
        if is_gone { 0 } else { self.codecs }
    }

    /// The number under which it knows a stream.
    pub fn number_of(&self, id: StreamId) -> Option<u32> {
        self.numbers.iter().find(|(_, of)| of.id == id).map(|(number, _)| *number)
    }

    /// The streams of which something passes there.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Why it could not be started, or ended last.
    pub fn why(&self) -> &str {
        &self.why
    }

    pub const fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Thousandths of what it can do: of its time, or of its streams.
    pub fn permille(&self) -> u16 {
        let most = u64::from(self.figures.streams_max);
        let full = (self.ledger.len() as u64 * 1_000).checked_div(most).unwrap_or(0);
        self.figures.permille.max(u16::try_from(full).unwrap_or(u16::MAX).min(1_000))
    }

    /// What happened on its channel. `is_all`: what is known of streams is all that there is.
    pub fn step(
        &mut self,
        now: Time,
        event: ChannelEvent<'_>,
        is_all: bool,
        out: &mut Effects,
    ) -> Option<Happened> {
        match event {
            ChannelEvent::Message(octets) => self.message(now, octets, is_all, out),
            ChannelEvent::Absent(why) => {
                let retry = if why.is_some() { RETRY_FAILED } else { RETRY };
                self.again(now + retry);
                why.into_iter().for_each(|why| why.clone_into(&mut self.why));
                None
            }
            ChannelEvent::Down(why) => {
                why.clone_into(&mut self.why);
                let was_up = self.state == State::Up;
                self.again(now);
                self.away_since.get_or_insert(now);
                self.figures.permille = 0;
                self.figures.lost += u64::from(was_up);
                was_up.then_some(Happened::Went)
            }
            ChannelEvent::Up | ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => None,
        }
    }

    /// It is looked for again, unless nobody is to.
    fn again(&mut self, at: Time) {
        self.state = if self.to.is_some() { State::Away(at) } else { State::Unused };
    }

    fn message(
        &mut self,
        now: Time,
        octets: &[u8],
        is_all: bool,
        out: &mut Effects,
    ) -> Option<Happened> {
        match Message::read(octets).ok().flatten()? {
            Message::Welcome { codecs, streams_max } => {
                self.state = State::Up;
                self.codecs = codecs_of(codecs);
                self.figures.streams_max = streams_max;
                self.say(now, is_all, out);
                Some(Happened::Came)
            }
            Message::Reached { stream, end, sequence, timestamp } => {
                self.ledger.reached(now, stream, end, sequence, timestamp);
                self.numbers.get(&stream).map(|of| Happened::Reached(*of))
            }
            Message::Digit { stream, end, code, lasts_ms } => {
                let of = *self.numbers.get(&stream)?;
                let from = if end == codec::Side::A { Side::A } else { Side::B };
                Some(Happened::Digit(Heard { of, from, code, lasted_ms: lasts_ms }))
            }
            Message::Refused { .. } => {
                self.figures.refused += 1;
                None
            }
            Message::Load { permille, packets: [_, left, ..], is_fed, over, .. } => {
                self.figures.permille = permille;
                (self.figures.packets, self.figures.over) = (left, over);
                let was_away = self.away_since.is_some();
                self.away_since = if is_fed { None } else { Some(self.away_since.unwrap_or(now)) };
                (was_away && is_fed).then_some(Happened::Came)
            }
            _ => None,
        }
    }

    /// Says all streams.
    pub fn say(&self, now: Time, is_all: bool, out: &mut Effects) {
        if self.state == State::Up {
            out.write(self.port, |octets| self.ledger.write(now, is_all, octets));
        }
    }

    fn tell(&self, message: &Message<'_>, out: &mut Effects) {
        if self.state == State::Up {
            out.write(self.port, |octets| message.write(octets));
        }
    }

    /// Nobody controls it any more: it ends, and no other one is started.
    pub fn stop(&mut self, out: &mut Effects) {
        self.tell(&Message::Stop, out);
        (self.to, self.state) = (None, State::Unused);
    }

    /// Something of a stream passes there from now on, or nothing does any more; whether that is
    /// news.
    fn put(&mut self, now: Time, of: Of, ends: Option<[End; 2]>, out: &mut Effects) -> bool {
        let told = self.told.get(&of).copied().unwrap_or_default();
        let Some(ends) = ends else { return self.leave(of, told, out) };
        let number = told.number.unwrap_or_else(|| self.free());
        self.numbers.insert(number, of);
        let since = if told.number.is_some() { told.since } else { now };
        self.told.insert(of, Entry { number: Some(number), since, ..told });
        let is_news = self.ledger.at(number) != Some(&ends);
        if is_news {
            self.ledger.put(number, ends);
            self.tell(&Message::Put { stream: number, ends }, out);
        }
        is_news
    }

    fn free(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = number.wrapping_add(1);
            if !self.numbers.contains_key(&number) {
                return number;
            }
        }
    }

    /// Nothing of a stream passes there any more.
    fn leave(&mut self, of: Of, mut told: Entry, out: &mut Effects) -> bool {
        let number = told.number.take();
        if let Some(stream) = number {
            // Before it says so packets may have left.
            let counted = |it: Numbers| Numbers { reached: it.reached.or(Some(told.since)), ..it };
            let last = self.ledger.numbers(stream);
            told.kept = last.map(|ends| ends.map(counted)).or(told.kept);
            self.ledger.remove(stream);
            self.numbers.remove(&stream);
            self.tell(&Message::Remove { stream }, out);
        }
        if told.serial > 0 || told.kept.is_some() {
            self.told.insert(of, told);
        }
        number.is_some()
    }

    /// A stream is over.
    pub fn remove(&mut self, of: Of, out: &mut Effects) {
        if let Some(told) = self.told.remove(&of) {
            self.leave(of, told, out);
            self.told.remove(&of);
        }
    }

    /// What packets to the ends of a stream are counted by, if some have left or will.
    pub fn counted(&self, of: Of) -> Option<[Numbers; 2]> {
        let told = self.told.get(&of)?;
        told.number.and_then(|number| self.ledger.numbers(number)).or(told.kept)
    }

    /// The other node says what they are counted by: what passes here is of an earlier turn.
    pub fn keep(&mut self, of: Of, numbers: [Numbers; 2], out: &mut Effects) {
        let told = self.told.get(&of).copied().unwrap_or_default();
        self.leave(of, told, out);
        self.told.entry(of).or_default().kept = Some(numbers);
    }

    /// Whether it is time to tell the other node how far a stream is.
    fn is_due(&mut self, of: Of, now: Time) -> bool {
        let told = self.told.get_mut(&of).filter(|told| told.told_at + TOLD_EVERY <= now);
        told.map(|told| told.told_at = now).is_some()
    }

    /// Whether a digit of that number was not played yet: each is once.
    fn is_new(&mut self, of: Of, serial: u32) -> bool {
        let told = self.told.entry(of).or_default();
        let is_new = serial > told.serial;
        told.serial = told.serial.max(serial);
        is_new
    }

    /// Looks for it, starts one where none stands, and gives up one that says nothing.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        match (self.state, &self.to) {
            (State::Away(at), Some(to)) if now >= at => {
                self.state = State::Connecting(now + WELCOME);
                out.connect(self.port, to.clone());
            }
            (State::Connecting(until), _) if now >= until => {
                self.state = State::Away(now + RETRY);
                out.hang_up(self.port);
            }
            _ => {}
        }
    }

    /// When [`Transcoding::tick`] wants to be called next.
    pub const fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Away(at) | State::Connecting(at) => Some(at),
            State::Unused | State::Up => None,
        }
    }

    /// Sources and first numbers of the ends of a stream: those that it has or had, or new ones.
    fn numbered(&self, now: Time, of: Of, ends: [End; 2], random: &mut ChaCha12Rng) -> [End; 2] {
        let told = self.told.get(&of);
        let stands = told.and_then(|told| self.ledger.at(told.number?));
        let kept = told.and_then(|told| told.kept);
        let mut at = 0;
        ends.map(|end| {
            let before = (stands.map(|ends| ends[at]), kept.map(|kept| kept[at]));
            at += 1;
            match before {
                (Some(End { ssrc, sequence, timestamp, .. }), _) => {
                    End { ssrc, sequence, timestamp, ..end }
                }
                (None, Some(numbers)) => numbers.go_on(now, end),
                (None, None) => {
                    let numbers = random.next_u64().to_be_bytes();
                    let [high, low, a, b, c, d, ..] = numbers;
                    End {
                        ssrc: random.next_u32(),
                        sequence: u16::from_be_bytes([high, low]),
                        timestamp: u32::from_be_bytes([a, b, c, d]),
                        ..end
                    }
                }
            }
        })
    }
}

impl MediaController {
    /// Something happened on the transcoder's channel.
    pub(crate) fn transcoder(&mut self, now: Time, event: ChannelEvent<'_>, out: &mut Effects) {
        let is_all = self.held_until.is_none() && self.epoch.is_some();
        match self.transcoding.step(now, event, is_all, out) {
            Some(Happened::Came | Happened::Went) => self.tell_load(now, out),
            Some(Happened::Digit(heard)) => self.heard_digit(now, heard, out),
            Some(Happened::Reached(of)) => self.reached(now, of, out),
            None => {}
        }
    }

    /// A digit that came as tones: those of events the forwarder tells.
    fn heard_digit(&mut self, now: Time, heard: Heard, out: &mut Effects) {
        let Heard { of, from, code, lasted_ms } = heard;
        let Some(stream) = self.streams.at(of.lessee, of.id) else { return };
        let end = stream.end(from);
        if end.dtmf != Dtmf::Tones || self.streams.agreement.of(end).is_without_digits {
            return;
        }
        let owner = Owner { lessee: of.lessee, stream: of.id, side: from };
        let local = end.local;
        let told = Noticed { local, owner, stream };
        self.shown.metrics.add(Metric::Digits, 1);
        self.event(&told.owner, from, Event::Digit(code, lasted_ms), out);
        self.trail_digit(now, &told, (code, lasted_ms.into()), "tones");
    }

    /// Tells the transcoder what passes it of a stream.
    pub(crate) fn code(&mut self, now: Time, of: Of, out: &mut Effects) {
        if !self.transcoding.is_wanted() {
            return;
        }
        let Some(stream) = self.streams.at(of.lessee, of.id) else { return };
        let mut ends = coding::ends(&stream, &self.streams.agreement);
        // Packets of a port are those of its first stream there: of another one there is no way to
        // tell which it is for.
        let is_first = |side: &Side| {
            let owner = self.streams.owner(stream.end(*side).local);
            owner.is_none_or(|owner| owner.stream == of.id)
        };
        if matches!(ends, Ok(Some(_))) && !Side::BOTH.iter().all(is_first) {
            ends = Err("its port is another stream's");
        }
        if ends.is_err() {
            self.shown.metrics.add(Metric::StreamsNotTranscoded, 1);
        }
        let ends = ends.ok().flatten().map(|ends| {
            let [mut a, mut b] = self.transcoding.numbered(now, of, ends, &mut self.random);
            for (end, side) in [(&mut a, Side::A), (&mut b, Side::B)] {
                let local = stream.end(side).local;
                let place = self.streams.addresses.place(local.address, local.port);
                end.place =
                    place.map(|it| Place { vrf: it.vrf, address: it.address, port: it.port });
            }
            [a, b]
        });
        if self.transcoding.put(now, of, ends, out) {
            self.tell_coded(of, out);
        }
    }

    /// Packets of a stream have left the transcoder: the other node goes on behind them.
    fn reached(&mut self, now: Time, of: Of, out: &mut Effects) {
        if self.pair.tells() && self.transcoding.is_due(of, now) {
            self.tell_coded(of, out);
        }
    }

    /// Sends a digit to an end; whether something can. What the end is sent passes the transcoder
    /// from then on, so that the digit is of the same source.
    fn play(&mut self, now: Time, of: Of, to: Side, digit: Digit, out: &mut Effects) -> bool {
        let is_there = self.transcoding.codecs(now) != 0;
        let stream = self.streams.at(of.lessee, of.id).filter(|_| is_there);
        if let Some(local) = stream.map(|stream| stream.end(to).local) {
            let programs = self.streams.agree(local, |kept| kept.is_played = true);
            self.tell_agreed(local, out);
            // Who takes packets hears of the stream before one comes.
            self.code(now, of, out);
            self.dataplane.tell(now, out, &programs);
        }
        let told = self.transcoding.told.get(&of).and_then(|it| it.number);
        let Some(stream) = told.filter(|_| is_there) else {
            self.shown.metrics.add(Metric::DigitsNotPlayed, 1);
            return false;
        };
        let end = if to == Side::A { codec::Side::A } else { codec::Side::B };
        let digit = Message::Digit { stream, end, code: digit.code, lasts_ms: digit.ms };
        self.transcoding.tell(&digit, out);
        self.shown.metrics.add(Metric::DigitsPlayed, 1);
        true
    }

    /// A session controller has a digit for an end: of each number there is one.
    pub(crate) fn play_once(
        &mut self,
        now: Time,
        to: Owner,
        serial: u32,
        digit: Digit,
        out: &mut Effects,
    ) {
        let of = Of { lessee: to.lessee, id: to.stream };
        let stands = self.streams.at(of.lessee, of.id).is_some();
        if stands && self.transcoding.is_new(of, serial) {
            self.play(now, of, to.side, digit, out);
        }
    }

    /// NG has digits for an end of the sound of a call; whether they are sent.
    pub(crate) fn play_all(
        &mut self,
        now: Time,
        call: u64,
        to: Side,
        digits: &[Digit],
        out: &mut Effects,
    ) -> bool {
        let lessee = Lessee::NG;
        let audio =
            self.streams.of_call(lessee, call).find(|(_, stream)| stream.kind == Kind::Audio);
        let Some((id, _)) = audio else { return false };
        digits.iter().all(|digit| self.play(now, Of { lessee, id }, to, *digit, out))
    }

    /// Digits of a side of a call of NG go nowhere from now on, or go on.
    pub(crate) fn block_digits(
        &mut self,
        now: Time,
        call: u64,
        side: Side,
        blocks: bool,
        out: &mut Effects,
    ) {
        for local in self.driven.locals(call, side) {
            let programs = self.streams.agree(local, |kept| kept.is_without_digits = blocks);
            self.tell_agreed(local, out);
            if let Some(owner) = self.streams.owner(local) {
                self.code(now, Of { lessee: owner.lessee, id: owner.stream }, out);
            }
            self.dataplane.tell(now, out, &programs);
        }
    }
}
