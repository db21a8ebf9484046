//! Commands in, replies out.

use crate::bencode::{Value, Writer};
use crate::call::{Call, Ends};
use crate::command::{Command, Verb, split};
use crate::flags;
use crate::query;
use crate::record;
use crate::replies::Replies;
use crate::task::{Task, branch, end, note, with};
use crate::timeouts::{Due, Timeouts};
use crate::words;
use crate::world::{Around, Counters};
use anchor::{Refusal, Session, Side, Stream};
use core::time::Duration;
use hashbrown::HashMap;
use machine::Time;
use std::collections::{BTreeSet, VecDeque};
use xxhash_rust::xxh3::Xxh3Builder;

/// Calls of an engine at most.
pub const CALLS_MAX: usize = 200_000;
/// Octets of all calls at most. New ones are refused once seven eighths are taken: the rest is for
/// those that stand.
pub const OCTETS_MAX: usize = 1 << 30;
/// How often a call is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Calls that one tick looks at.
const LOOKS_MAX: usize = 4_096;
/// Octets of a Call-ID or a tag.
pub(crate) const NAME_OCTETS_MAX: usize = 512;
/// Calls that `list` names if it is not told how many.
const LIST_MAX: usize = 32;
/// Calls that a list names at most: a reply stays within a datagram.
const LISTED_MAX: usize = 256;
/// Digits of one command.
const DIGITS_MAX: usize = 64;
/// Warnings that are kept.
const UNDONE_MAX: usize = 16;
/// How long a digit sounds, and how long it is silent after, ms.
const DIGIT_MS: u16 = 250;
const PAUSE_MS: u16 = 100;

/// What the media plane has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A stream stands now, or is another one: [`Engine::stream`] has it.
    Put(u64, u8),
    /// A stream is gone.
    Remove(u64, u8),
    /// What a side sends goes nowhere, or goes on.
    BlockMedia(u64, Side, bool),
    /// A side's digits go nowhere, or go on.
    BlockDtmf(u64, Side, bool),
    /// Digits go from a side to the other one.
    Play {
        /// The call.
        call: u64,
        /// The side that seems to send them.
        from: Side,
        /// The digits (RFC 4733 §3.2).
        digits: Vec<u8>,
        /// How long each sounds, ms.
        ms: u16,
        /// How long it is silent after each, ms.
        pause_ms: u16,
    },
}

/// What went wrong, in rtpengine's words where it has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure(&'static str);

const NO_CALL_ID: Failure = Failure("No call-id in message");
const NO_FROM_TAG: Failure = Failure("No from-tag in message");
const NO_TO_TAG: Failure = Failure("No to-tag in message");
const NO_SDP: Failure = Failure("No SDP body in message");
const UNKNOWN_CALL: Failure = Failure("Unknown call-id");
pub(crate) const UNKNOWN_TAG: Failure = Failure("Unknown tag");
/// What rtpengine says of a call or a dialog that it does not know.
const UNKNOWN_DIALOG: &[u8] = b"Call-ID not found or tags didn't match";
const UNDECODABLE: Failure = Failure("Could not decode bencode dictionary");
const UNKNOWN_COMMAND: Failure = Failure("Unrecognized command");
pub(crate) const NO_INTERFACE: Failure = Failure("Unknown interface");
const TOO_MANY: Failure = Failure("Too many calls");
pub(crate) const TOO_LONG: Failure = Failure("A name is too long");
const NO_DIGIT: Failure = Failure("Out of range 'code' specified");

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.words())
    }
}

/// The calls of a media controller that NG drives.
#[derive(Debug)]
pub struct Engine {
    calls: HashMap<Box<[u8]>, Call, Xxh3Builder>,
    names: HashMap<u64, Box<[u8]>, Xxh3Builder>,
    replies: Replies,
    /// When each call is looked at next, in order of time.
    looks: VecDeque<(Time, u64)>,
    timeouts: Timeouts,
    octets: usize,
    octets_max: usize,
    /// Calls of which something is coded anew.
    coded: usize,
    next: u64,
    started: Time,
    ended: u64,
    expired: u64,
    /// Calls that are others, or gone, since they were last asked for.
    touched: BTreeSet<u64>,
    /// What commands said and was not done: the first warnings, and how many commands had one.
    undone: BTreeSet<Box<[u8]>>,
    commands_undone: u64,
}

impl Engine {
    /// One without calls; `seed` is what nobody can guess, so that Call-IDs cannot be chosen to
    /// collide.
    #[must_use]
    pub fn new(now: Time, seed: u64) -> Self {
        Self {
            calls: HashMap::with_hasher(Xxh3Builder::new().with_seed(seed)),
            names: HashMap::with_hasher(Xxh3Builder::new().with_seed(seed)),
            replies: Replies::default(),
            looks: VecDeque::new(),
            timeouts: Timeouts::default(),
            octets: 0,
            octets_max: OCTETS_MAX,
            coded: 0,
            next: 0,
            started: now,
            ended: 0,
            expired: 0,
            touched: BTreeSet::new(),
            undone: BTreeSet::new(),
            commands_undone: 0,
        }
    }

    /// Calls that are others since they were last asked for, or gone: what a standby is told.
    pub fn take_touched(&mut self) -> BTreeSet<u64> {
        core::mem::take(&mut self.touched)
    }

    /// The first warnings of what commands said and was not done.
    pub fn undone(&self) -> impl Iterator<Item = &[u8]> {
        self.undone.iter().map(|warning| &**warning)
    }

    /// Commands whose reply had such a warning.
    #[must_use]
    pub const fn commands_undone(&self) -> u64 {
        self.commands_undone
    }

    /// The numbers of all calls.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.names.keys().copied()
    }

    /// The session of a call.
    #[must_use]
    pub fn session(&self, call: u64) -> Option<&Session> {
        Some(&self.calls.get(self.names.get(&call)?)?.session)
    }

    /// Appends a call as fields, for a standby; whether there is one of that number.
    pub fn record(&self, call: u64, out: &mut Vec<u8>) -> bool {
        let found = self.names.get(&call).and_then(|name| Some((name, self.calls.get(name)?)));
        if let Some((name, call)) = found {
            record::write(name, call, out);
        }
        found.is_some()
    }

    /// Takes a call as it was recorded, in place of one of its number or its name; its number.
    /// `None`: it cannot be read, or there is no room for it.
    pub fn restore(&mut self, now: Time, fields: &[u8]) -> Option<u64> {
        let (name, mut call) = record::read(fields)?;
        call.heard = now;
        let number = call.number;
        self.take_away(number);
        self.forget(&name);
        if self.calls.len() >= CALLS_MAX {
            return None;
        }
        self.next = self.next.max(number);
        self.looks.push_back((now + LOOK, number));
        self.names.insert(number, name.clone());
        self.calls.insert(name.clone(), call);
        self.count(&name);
        self.touched.clear();
        Some(number)
    }

    /// Packets of all calls are counted here from now on: silence counts from here.
    pub fn take_over(&mut self, now: Time) {
        for call in self.calls.values_mut() {
            (call.heard, call.packets) = (now, 0);
        }
    }

    /// Forgets a call: nobody is told, and its ports are whose they are.
    pub fn take_away(&mut self, call: u64) {
        if let Some(name) = self.names.get(&call).cloned() {
            self.forget(&name);
        }
        self.touched.clear();
    }

    /// With other times than the usual ones.
    #[must_use]
    pub const fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// With fewer octets for all calls than [`OCTETS_MAX`].
    #[must_use]
    pub fn with_octets_max(mut self, octets_max: usize) -> Self {
        self.octets_max = octets_max.min(OCTETS_MAX);
        self
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.looks.front().map(|look| look.0)
    }

    /// Ends what nobody ends ([`Timeouts`]). The counters must be those of the media plane: a call
    /// is silent if they do not move.
    pub fn tick(&mut self, now: Time, around: &mut Around<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for _ in 0..LOOKS_MAX {
            let Some((_, number)) = self.looks.pop_front_if(|look| look.0 <= now) else { break };
            // Calls that ended since are passed over.
            let Some(name) = self.names.get(&number).cloned() else { continue };
            let Some(call) = self.calls.get_mut(&name) else { continue };
            let changes = match self.timeouts.look(now, call, around.counters) {
                Due::Nothing => Vec::new(),
                Due::End => {
                    self.expired += 1;
                    note(&mut effects, number, &end(call, around));
                    self.forget(&name);
                    continue;
                }
                Due::Withdraw => {
                    with(call, around, None, |session, means| session.reject(means.ports));
                    Vec::new()
                }
                Due::Settle => {
                    let fork = call.current.unwrap_or_default();
                    with(call, around, None, |session, means| session.settle(fork, means))
                }
            };
            note(&mut effects, number, &changes);
            self.count(&name);
            self.looks.push_back((now + LOOK, number));
        }
        effects
    }

    /// Octets of all calls.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Counts what a call takes now.
    fn count(&mut self, name: &[u8]) {
        if let Some(call) = self.calls.get_mut(name) {
            let held = call.octets(name.len());
            self.octets = self.octets.saturating_sub(call.held).saturating_add(held);
            call.held = held;
            let is_coded = call.session.streams().any(|(_, it)| it.is_transcoded());
            let was_coded = core::mem::replace(&mut call.is_coded, is_coded);
            self.coded = self.coded + usize::from(is_coded) - usize::from(was_coded);
            self.touched.insert(call.number);
        }
    }

    fn forget(&mut self, name: &[u8]) {
        if let Some(call) = self.calls.remove(name) {
            self.names.remove(&call.number);
            self.touched.insert(call.number);
            self.octets = self.octets.saturating_sub(call.held);
            self.coded -= usize::from(call.is_coded);
        }
    }

    /// A stream of a call, and its generation.
    #[must_use]
    pub fn stream(&self, call: u64, line: u8) -> Option<(&Stream, u32)> {
        self.calls.get(self.names.get(&call)?)?.session.stream(line)
    }

    /// The Call-ID of a call.
    #[must_use]
    pub fn call_id(&self, call: u64) -> Option<&[u8]> {
        self.names.get(&call).map(|name| &**name)
    }

    /// How many calls there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call that a message is about, and whether its reply tells what was counted of it.
    #[must_use]
    pub fn about(&self, message: &[u8]) -> Option<(u64, bool)> {
        let command = Command::read(message).ok()?;
        let call = self.calls.get(command.text("call-id")?)?;
        let verb = command.text("command").and_then(Verb::named)?;
        Some((call.number, matches!(verb, Verb::Query | Verb::Delete)))
    }

    /// Takes a message and appends the reply to `out`; what has no cookie gets none.
    pub fn take(
        &mut self,
        now: Time,
        message: &[u8],
        around: &mut Around<'_>,
        out: &mut Vec<u8>,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Ok(command) = Command::read(message) else {
            if let Ok(Some((cookie, _))) = split(message.trim_ascii_start()) {
                refusal(cookie, UNDECODABLE, out);
            }
            return effects;
        };
        if let Some(reply) = self.replies.to(now, message) {
            out.extend_from_slice(reply);
            return effects;
        }
        let at = out.len();
        let counters = around.counters;
        let mut task = Task { now, command: &command, around, effects: &mut effects };
        let mut body = Vec::new();
        match self.run(&mut task, counters, &mut Writer::new(&mut body)) {
            Ok(()) => {
                out.extend_from_slice(command.cookie);
                out.extend_from_slice(b" d");
                out.extend_from_slice(&body);
                out.push(b'e');
            }
            Err(why) => refusal(command.cookie, why, out),
        }
        self.replies.keep(now, message, &out[at..]);
        effects
    }

    /// What came of a message could not be done: that is its reply from here on, if it comes again.
    pub fn refuse(&mut self, now: Time, message: &[u8], reply: &[u8]) {
        self.replies.keep(now, message, reply);
    }

    /// Runs a command; the entries of the reply's dictionary are written to `out`.
    fn run(
        &mut self,
        task: &mut Task<'_, '_, '_>,
        counters: &dyn Counters,
        out: &mut Writer<'_>,
    ) -> Result<(), Failure> {
        let verb = task.command.text("command").and_then(Verb::named).ok_or(UNKNOWN_COMMAND)?;
        match verb {
            Verb::Ping => {
                out.pair("result", b"pong");
                return Ok(());
            }
            Verb::Offer => {
                let sdp = self.offer(task)?;
                out.pair("sdp", &sdp);
            }
            Verb::Answer => {
                let sdp = self.answer(task)?;
                out.pair("sdp", &sdp);
            }
            Verb::Delete if !self.delete(task, counters, out)? => {
                out.pair("warning", UNKNOWN_DIALOG).pair("result", b"ok");
                return Ok(());
            }
            Verb::Delete => {}
            Verb::Query => query::call(self.call(task)?, counters, out),
            Verb::List => self.list(task, out),
            Verb::Statistics => self.statistics(task, out),
            Verb::BlockMedia => {
                self.block(task, |call, side| Effect::BlockMedia(call, side, true))?
            }
            Verb::UnblockMedia => {
                self.block(task, |call, side| Effect::BlockMedia(call, side, false))?;
            }
            Verb::BlockDtmf => {
                self.block(task, |call, side| Effect::BlockDtmf(call, side, true))?
            }
            Verb::UnblockDtmf => {
                self.block(task, |call, side| Effect::BlockDtmf(call, side, false))?;
            }
            Verb::PlayDtmf => self.play(task)?,
        }
        out.pair("result", b"ok");
        if let Some(undone) = words::undone(task.command, task.around.world.codecs()) {
            out.pair("warning", &undone);
            self.commands_undone += 1;
            if self.undone.len() < UNDONE_MAX {
                self.undone.insert(undone.into());
            }
        }
        Ok(())
    }

    fn call(&mut self, task: &Task<'_, '_, '_>) -> Result<&mut Call, Failure> {
        let name = task.command.text("call-id").ok_or(NO_CALL_ID)?;
        self.calls.get_mut(name).ok_or(UNKNOWN_CALL)
    }

    fn offer(&mut self, task: &mut Task<'_, '_, '_>) -> Result<Vec<u8>, Failure> {
        let name = task.command.text("call-id").ok_or(NO_CALL_ID)?;
        let tag = task.command.text("from-tag").ok_or(NO_FROM_TAG)?;
        let text = task.command.text("sdp").ok_or(NO_SDP)?;
        let interfaces = task.interfaces()?;
        if name.len() > NAME_OCTETS_MAX || tag.len() > NAME_OCTETS_MAX {
            return Err(TOO_LONG);
        }
        let is_new = !self.calls.contains_key(name);
        if self.octets > if is_new { self.octets_max / 8 * 7 } else { self.octets_max } {
            return Err(TOO_MANY);
        }
        if is_new {
            self.add(name, tag, task)?;
        }
        let call = self.calls.get_mut(name).ok_or(UNKNOWN_CALL)?;
        let told = task.offer(call, tag, text, interfaces);
        if told.is_err() && is_new {
            self.forget(name);
        } else {
            self.count(name);
        }
        told
    }

    fn add(&mut self, name: &[u8], tag: &[u8], task: &mut Task<'_, '_, '_>) -> Result<(), Failure> {
        if self.calls.len() >= CALLS_MAX {
            return Err(TOO_MANY);
        }
        self.next += 1;
        let call = Call {
            number: self.next,
            session: Session::new(task.around.random),
            policies: [flags::usual(), flags::usual()],
            interfaces: [None, None],
            tag: tag.into(),
            others: Vec::new(),
            current: None,
            created: task.now,
            signalled: task.now,
            heard: task.now,
            packets: 0,
            held: 0,
            is_coded: false,
        };
        self.looks.push_back((task.now + LOOK, self.next));
        self.names.insert(self.next, name.into());
        self.calls.insert(name.into(), call);
        Ok(())
    }

    fn answer(&mut self, task: &mut Task<'_, '_, '_>) -> Result<Vec<u8>, Failure> {
        let text = task.command.text("sdp").ok_or(NO_SDP)?;
        let from_tag = task.command.text("from-tag").ok_or(NO_FROM_TAG)?;
        let to_tag = task.command.text("to-tag").ok_or(NO_TO_TAG)?;
        let branch = branch(task.command)?;
        if to_tag.len() > NAME_OCTETS_MAX {
            return Err(TOO_LONG);
        }
        if self.octets > self.octets_max {
            return Err(TOO_MANY);
        }
        let call = self.call(task)?;
        let offerer = call.speaker(from_tag).ok_or(UNKNOWN_TAG)?.side;
        // A tag that is new is one of B's, if it is A who asked.
        let new = || call.next().filter(|_| offerer == Side::A);
        let speaker = call.speaker(to_tag).or_else(new).ok_or(UNKNOWN_TAG)?;
        if speaker.side == offerer {
            return Err(UNKNOWN_TAG);
        }
        flags::answer(task.command, offerer, &mut call.policies);
        let mut out = Vec::new();
        let heard = task.heard(text, speaker);
        let changes = task.with(call, |session, means| session.answer(heard, means, &mut out))?;
        // Who was refused has not joined.
        if speaker.side == Side::B {
            call.learn(to_tag, branch);
            call.current = Some(speaker.fork);
        }
        call.signalled = task.now;
        note(task.effects, call.number, &changes);
        let name = task.command.text("call-id").ok_or(NO_CALL_ID)?;
        self.count(name);
        Ok(out)
    }

    /// Ends a call, or a dialog of it; whether there was one.
    fn delete(
        &mut self,
        task: &mut Task<'_, '_, '_>,
        counters: &dyn Counters,
        out: &mut Writer<'_>,
    ) -> Result<bool, Failure> {
        let name = task.command.text("call-id").ok_or(NO_CALL_ID)?;
        let [from, to] = ["from-tag", "to-tag"].map(|key| task.command.text(key));
        let branch = branch(task.command)?;
        let call = self.calls.get_mut(name);
        let ends = call.as_ref().map_or(Ends::Nothing, |call| call.ends(from, to, branch));
        let Some(call) = call.filter(|_| ends != Ends::Nothing) else {
            return Ok(false);
        };
        query::call(call, counters, out);
        if let Ends::Fork(fork) = ends {
            // The call goes on with the other dialogs.
            call.others[usize::from(fork.0)].is_gone = true;
            self.touched.insert(call.number);
            return Ok(true);
        }
        note(task.effects, call.number, &end(call, task.around));
        self.forget(name);
        self.ended += 1;
        Ok(true)
    }

    fn list(&self, task: &Task<'_, '_, '_>, out: &mut Writer<'_>) {
        let limit = task.command.what.at("limit").and_then(Value::number);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LIST_MAX);
        let limit = limit.min(LISTED_MAX);
        out.text(b"calls").list(|out| {
            for name in self.calls.keys().take(limit) {
                out.text(name);
            }
        });
    }

    fn statistics(&self, task: &Task<'_, '_, '_>, out: &mut Writer<'_>) {
        let uptime = task.now.since(self.started).as_secs();
        out.text(b"statistics").dictionary(|out| {
            out.text(b"currentstatistics").dictionary(|out| {
                out.count("sessionsown", self.calls.len() as u64)
                    .count("sessionsforeign", 0)
                    .count("sessionstotal", self.calls.len() as u64)
                    .count("transcodedmedia", self.coded as u64);
            });
            out.text(b"totalstatistics").dictionary(|out| {
                out.pair("uptime", uptime.to_string().as_bytes())
                    .count("managedsessions", self.ended + self.expired)
                    .count("timeoutsessions", self.expired);
            });
        });
    }

    fn block(
        &mut self,
        task: &mut Task<'_, '_, '_>,
        effect: impl Fn(u64, Side) -> Effect,
    ) -> Result<(), Failure> {
        let tag = task.command.text("from-tag");
        let call = self.call(task)?;
        let number = call.number;
        match tag.filter(|_| !task.command.has("flags", "all")) {
            Some(tag) => {
                let side = call.speaker(tag).ok_or(UNKNOWN_TAG)?.side;
                task.effects.push(effect(number, side));
            }
            None => task.effects.extend(Side::BOTH.map(|side| effect(number, side))),
        }
        Ok(())
    }

    fn play(&mut self, task: &mut Task<'_, '_, '_>) -> Result<(), Failure> {
        let command = task.command;
        let tag = command.text("from-tag").ok_or(NO_FROM_TAG)?;
        let codes = command.what.at("code").or_else(|| command.what.at("digit"));
        let digits = codes.and_then(digits).ok_or(NO_DIGIT)?;
        let ms = |key, usual| {
            let told = command.what.at(key).and_then(Value::number);
            told.and_then(|ms| u16::try_from(ms).ok()).unwrap_or(usual)
        };
        let (ms, pause_ms) = (ms("duration", DIGIT_MS), ms("pause", PAUSE_MS));
        let call = self.call(task)?;
        let from = call.speaker(tag).ok_or(UNKNOWN_TAG)?.side;
        task.effects.push(Effect::Play { call: call.number, from, digits, ms, pause_ms });
        Ok(())
    }
}

/// A reply that says why nothing was done.
fn refusal(cookie: &[u8], Failure(why): Failure, out: &mut Vec<u8>) {
    out.extend_from_slice(cookie);
    out.push(b' ');
    Writer::new(out).dictionary(|it| {
        it.pair("error-reason", why.as_bytes()).pair("result", b"error");
    });
}

/// Digits by their characters, or one by its number.
fn digits(codes: &Value<'_>) -> Option<Vec<u8>> {
    if let Value::Number(number) = codes {
        return u8::try_from(*number).ok().filter(|digit| *digit <= 15).map(|digit| vec![digit]);
    }
    let text = codes.text().filter(|text| (1..=DIGITS_MAX).contains(&text.len()))?;
    let place = |octet: &u8| b"0123456789*#ABCD".iter().position(|it| it == octet);
    let digit =
        |octet: &u8| place(&octet.to_ascii_uppercase()).and_then(|at| u8::try_from(at).ok());
    text.iter().map(digit).collect()
}
