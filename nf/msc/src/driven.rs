//! NG: Kamailio and others drive the controller as they drive rtpengine. Groups of addresses are
//! its interfaces; the ports that it gives are leased in the name of NG.

use crate::addresses::Addresses;
use crate::config::Msc;
use crate::lease::{Book, Lessee};
use crate::measures::Measures;
use crate::streams::Streams;
use anchor::row::Statistics;
use anchor::{Block, Local, Pool, Side, Stream, Trace};
use core::net::IpAddr;
use hashbrown::HashMap;
use machine::bucket::{Bucket, Rate};
use machine::{Duration, Time};
use ng::{Around, Counters, Effect, Engine, World};
use runtime::Flow;
use srtp::dtls::Fingerprint;
use std::collections::{BTreeMap, BTreeSet};

/// How long a command waits for figures of now: far less than it is until a proxy asks again.
const COUNTED: Duration = Duration::from_millis(200);
/// Commands a second whose reply has figures of now, and at once; of more it has those that the
/// forwarder told last.
const COUNTED_PER_S: f64 = 200.0;
const COUNTED_BURST: u32 = 64;

/// The calls of NG and the ports that it has.
pub(crate) struct Driven {
    engine: Engine,
    /// By group, and whether it is IPv6.
    pools: Pools,
    /// The ports of the streams that stand, of A and of B, by call and line.
    locals: Locals,
    /// Commands that wait for figures of now.
    waiting: Vec<Waiting>,
    counted: Bucket,
}

/// A command that waits for what passed at these ports.
pub(crate) struct Waiting {
    pub flow: Flow,
    pub message: Box<[u8]>,
    call: u64,
    awaits: BTreeSet<Local>,
    until: Time,
}

/// What is done with a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is run.
    Now,
    /// It waits, and the forwarder has to say what passed at the flows of that call.
    Later(u64),
    /// It waits already.
    Waits,
}

type Locals = HashMap<u64, BTreeMap<u8, [Local; 2]>>;
type Pools = BTreeMap<(String, bool), Pool>;

/// What a command may use.
pub(crate) struct Uses<'a> {
    pub msc: &'a Msc,
    pub streams: &'a mut Streams,
    pub measures: &'a Measures,
    pub fingerprint: Option<&'a Fingerprint>,
    /// What is coded anew: a bit for the number of each codec.
    pub codecs: u32,
    pub random: &'a mut dyn FnMut(&mut [u8]),
}

impl Driven {
    /// No calls.
    pub fn new(now: Time, seed: u64) -> Self {
        Self {
            engine: Engine::new(now, seed),
            pools: BTreeMap::new(),
            locals: HashMap::new(),
            waiting: Vec::new(),
            counted: Bucket::default(),
        }
    }

    /// What commands said and was not done, in words, and how many commands.
    pub fn undone(&self) -> (impl Iterator<Item = String>, u64) {
        let words = self.engine.undone().map(|it| String::from_utf8_lossy(it).into_owned());
        (words, self.engine.commands_undone())
    }

    /// Whether a command is run now, or waits for figures of now.
    pub fn turn(&mut self, now: Time, flow: &Flow, message: &[u8]) -> Turn {
        let Some((call, is_told)) = self.engine.about(message) else { return Turn::Now };
        let is_it = |it: &Waiting| it.flow == *flow && *it.message == *message;
        if self.waiting.iter().any(is_it) {
            return Turn::Waits;
        }
        let rate = Rate::new(COUNTED_PER_S, Some(COUNTED_BURST));
        let locals = self.locals.get(&call).into_iter().flatten().flat_map(|(_, both)| *both);
        let awaits: BTreeSet<Local> = locals.collect();
        if !is_told || awaits.is_empty() || !self.counted.has_room(now, rate) {
            return Turn::Now;
        }
        self.counted.take(now, rate);
        let (flow, message, until) = (*flow, message.into(), now + COUNTED);
        self.waiting.push(Waiting { flow, message, call, awaits, until });
        Turn::Later(call)
    }

    /// The forwarder has said what passed at a port.
    pub fn counted(&mut self, local: Local) {
        self.waiting.iter_mut().for_each(|it| {
            it.awaits.remove(&local);
        });
    }

    /// The next command that waits no longer: it was told all, or has waited for long enough, or
    /// one of the same call comes behind it.
    pub fn waited(&mut self, now: Time, behind: Option<&[u8]>) -> Option<Waiting> {
        let call = behind.and_then(|message| self.engine.about(message)).map(|it| it.0);
        let is_due =
            |it: &Waiting| it.awaits.is_empty() || it.until <= now || Some(it.call) == call;
        let at = self.waiting.iter().position(is_due)?;
        Some(self.waiting.remove(at))
    }

    /// The section has changed: blocks that are not leased any more give no more pairs.
    pub fn configure(&mut self, streams: &Streams) {
        for ((name, is_v6), pool) in &mut self.pools {
            let numbers = streams.addresses.of_group(name, *is_v6).map(|it| it.0);
            let leased = streams.book.blocks_of(Lessee::NG, &numbers.collect::<Vec<u16>>());
            let gone = pool.blocks().filter(|block| !leased.contains(block));
            let gone: Vec<Block> = gone.collect();
            gone.into_iter().for_each(|block| pool.end(block));
        }
    }

    /// Calls that are others, or gone, since that was asked last.
    pub fn take_touched(&mut self) -> BTreeSet<u64> {
        self.engine.take_touched()
    }

    /// All calls.
    pub fn numbers(&self) -> Vec<u64> {
        self.engine.numbers().collect()
    }

    /// Appends a call as fields; whether there is one of that number.
    pub fn record(&self, call: u64, out: &mut Vec<u8>) -> bool {
        self.engine.record(call, out)
    }

    /// Takes a call as it was recorded.
    pub fn restore(&mut self, now: Time, fields: &[u8]) {
        let Some(call) = self.engine.restore(now, fields) else { return };
        let Some(session) = self.engine.session(call) else { return };
        let locals = |stream: &Stream| Side::BOTH.map(|side| stream.end(side).local);
        let lines = session.streams().map(|(line, stream)| (line, locals(stream)));
        self.locals.insert(call, lines.collect());
    }

    /// Forgets a call.
    pub fn take_away(&mut self, call: u64) {
        self.engine.take_away(call);
        self.locals.remove(&call);
    }

    /// The calls that were told are this node's from now on, and so are their ports. Those that
    /// are `left` rest first.
    pub fn take_over(&mut self, now: Time, msc: &Msc, streams: &Streams, left: &[Local]) {
        self.engine.take_over(now);
        self.pools.clear();
        let quarantine = Duration::from_secs(msc.limits.quarantine_s.into());
        let calls = self.engine.numbers().filter_map(|call| self.engine.session(call));
        let locals: Vec<Local> =
            calls.flat_map(|it| it.locals().map(|(_, local)| local).collect::<Vec<_>>()).collect();
        for (group, is_v6) in msc.group.iter().flat_map(|it| [(it, false), (it, true)]) {
            let numbers = streams.addresses.of_group(&group.name, is_v6).map(|it| it.0);
            let blocks = streams.book.blocks_of(Lessee::NG, &numbers.collect::<Vec<u16>>());
            if blocks.is_empty() {
                continue;
            }
            let mut pool = Pool::new(quarantine);
            for block in blocks {
                pool.add(block);
            }
            // Those of other groups are none of this pool.
            for local in &locals {
                pool.claim(*local);
            }
            for local in left {
                if pool.claim(*local) {
                    pool.give_back(*local, now);
                }
            }
            self.pools.insert((group.name.clone(), is_v6), pool);
        }
    }

    /// Whether a call has a stream on that line.
    pub fn has(&self, call: u64, line: u8) -> bool {
        self.engine.stream(call, line).is_some()
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// A stream that an effect puts, and its generation.
    pub fn put(&mut self, call: u64, line: u8) -> Option<(Stream, u32)> {
        let (stream, generation) = self.engine.stream(call, line)?;
        let locals = Side::BOTH.map(|side| stream.end(side).local);
        let call_id = self.engine.call_id(call).unwrap_or_default();
        let is_short = call_id.len() <= Trace::CALL_ID_MAX;
        let call_id = if is_short { call_id.into() } else { Box::default() };
        let stream = Stream { trace: Trace { trail: None, call_id }, ..stream.clone() };
        self.locals.entry(call).or_default().insert(line, locals);
        Some((stream, generation))
    }

    /// A stream that an effect removes.
    pub fn remove(&mut self, call: u64, line: u8) {
        let Some(lines) = self.locals.get_mut(&call) else { return };
        lines.remove(&line);
        if lines.is_empty() {
            self.locals.remove(&call);
        }
    }

    /// The ports of a side of a call.
    pub fn locals(&self, call: u64, side: Side) -> Vec<Local> {
        let of_call = self.locals.get(&call).into_iter().flatten();
        of_call.map(|(_, locals)| locals[side.index()]).collect()
    }

    /// The Call-ID of a call.
    pub fn call_id(&self, call: u64) -> Option<&[u8]> {
        self.engine.call_id(call)
    }

    /// Takes a command, appends its reply, and says what came of it.
    pub fn take(
        &mut self,
        now: Time,
        message: &[u8],
        uses: Uses<'_>,
        out: &mut Vec<u8>,
    ) -> Vec<Effect> {
        self.run(now, uses, |engine, around| engine.take(now, message, around, out))
    }

    /// What came of a command could not be done: that is its reply, however often it comes.
    pub fn refuse(&mut self, now: Time, message: &[u8], reply: &[u8]) {
        self.engine.refuse(now, message, reply);
    }

    /// Ends calls that nobody answers or that are silent; what came of it.
    pub fn tick(&mut self, now: Time, uses: Uses<'_>) -> Vec<Effect> {
        self.run(now, uses, |engine, around| engine.tick(now, around))
    }

    /// When [`Driven::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        let waits = self.waiting.iter().map(|it| it.until);
        waits.chain(self.engine.deadline()).min()
    }

    fn run(
        &mut self,
        now: Time,
        uses: Uses<'_>,
        run: impl FnOnce(&mut Engine, &mut Around<'_>) -> Vec<Effect>,
    ) -> Vec<Effect> {
        let Streams { book, addresses, .. } = &mut *uses.streams;
        let ends = Ends { locals: &self.locals, measures: uses.measures };
        let mut ports = Ports {
            now,
            msc: uses.msc,
            addresses,
            book,
            pools: &mut self.pools,
            fingerprint: uses.fingerprint,
            codecs: uses.codecs,
        };
        let mut around = Around { world: &mut ports, counters: &ends, random: uses.random };
        run(&mut self.engine, &mut around)
    }
}

/// What was counted of the streams that stand.
struct Ends<'a> {
    locals: &'a Locals,
    measures: &'a Measures,
}

impl Counters for Ends<'_> {
    fn of(&self, call: u64, line: u8) -> [Statistics; 2] {
        let locals = self.locals.get(&call).and_then(|lines| lines.get(&line));
        let counted = |locals: &[Local; 2]| locals.map(|it| self.measures.shown(it).statistics);
        locals.map(counted).unwrap_or_default()
    }
}

/// The ports of groups.
struct Ports<'a> {
    now: Time,
    msc: &'a Msc,
    addresses: &'a Addresses,
    book: &'a mut Book,
    pools: &'a mut Pools,
    fingerprint: Option<&'a Fingerprint>,
    codecs: u32,
}

impl World for Ports<'_> {
    fn take(&mut self, interface: Option<&[u8]>, is_v6: bool) -> Option<Local> {
        let name = match interface {
            Some(name) => core::str::from_utf8(name).ok()?,
            None => &*self.msc.group.first()?.name,
        };
        let numbers: Vec<u16> = self.addresses.of_group(name, is_v6).map(|it| it.0).collect();
        if numbers.is_empty() {
            return None;
        }
        let quarantine = Duration::from_secs(self.msc.limits.quarantine_s.into());
        let pool = self.pools.entry((name.to_owned(), is_v6));
        let pool = pool.or_insert_with(|| Pool::new(quarantine));
        if let Some(local) = pool.take(self.now) {
            return Some(local);
        }
        let block = u32::from(self.msc.limits.block_pairs);
        let wanted = self.book.leased(Lessee::NG, &numbers) + block;
        self.book.want(self.now, Lessee::NG, &numbers, wanted);
        for block in self.book.blocks_of(Lessee::NG, &numbers) {
            // One that it has is not added again.
            pool.add(block);
        }
        pool.take(self.now)
    }

    fn give_back(&mut self, local: Local) {
        let now = self.now;
        let _ = self.pools.values_mut().any(|pool| pool.give_back(local, now));
    }

    fn address(&self, number: u16) -> IpAddr {
        let address = self.addresses.at(number).map(|it| it.ip);
        address.unwrap_or(IpAddr::from([0, 0, 0, 0]))
    }

    fn has_interface(&self, name: &[u8]) -> bool {
        self.msc.group.iter().any(|group| group.name.as_bytes() == name)
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint
    }

    fn codecs(&self) -> u32 {
        self.codecs
    }
}
