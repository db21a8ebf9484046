//! A call between two sides: descriptions in, descriptions out, and the streams that they agree on.
//!
//! ```text
//!            offer            answer            settle
//!   settled ───────→ offered ───────→ answered ───────→ settled       reject: back to what was
//!                       ↑  each fork, its last word counts ┘           agreed, ports given back
//! ```
//! Nothing changes when something is refused. The streams change by answers only.

use crate::answer::Sections;
use crate::bundle;
use crate::guard::OwnKeys;
use crate::line::Line;
use crate::means::{Heard, Means};
use crate::offer::{Policies, Verdict, judge};
use crate::packed::Packed;
use crate::pending::{Answer, Kept, Pending};
use crate::policy::{Family, Origin, Policy};
use crate::port::{Local, Source};
use crate::refusal::{Reason, Refusal};
use crate::section::{Description, Section, is_v6};
use crate::side::{Fork, Side};
use crate::stream::{Guard, Stream};
use crate::towards::Towards;
use crate::write::{Entry, Head, State, body, passed_origin};
use core::net::{IpAddr, Ipv4Addr};
use sdp::SESSION_BYTES_MAX;

mod record;

/// Streams of a call at most.
pub const LINES_MAX: usize = 32;

/// What happened to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It stands now.
    Added(u8),
    /// It is another one now.
    Changed(u8),
    /// It is gone.
    Removed(u8),
}

/// A call.
#[derive(Debug)]
pub struct Session {
    lines: Vec<Line>,
    towards: [Towards; 2],
    offer: Option<Box<Pending>>,
    is_settled: bool,
    generation: u32,
}

/// What is written for a side.
struct Draft<'d, 'a> {
    description: &'d Description<'a>,
    entries: &'d [Entry<'d, 'a>],
    /// The names of streams that share a port.
    bundle: Vec<&'a [u8]>,
}

impl Session {
    /// A call without streams.
    pub fn new(random: &mut dyn FnMut(&mut [u8])) -> Self {
        let mut towards = || {
            let mut octets = [0; 8];
            random(&mut octets);
            // Some read it as a signed number.
            Towards { id: u64::from_be_bytes(octets) >> 2, version: 0, digest: None }
        };
        let towards = [towards(), towards()];
        Self { lines: Vec::new(), towards, offer: None, is_settled: false, generation: 0 }
    }

    /// A stream, and how often the streams had changed when it did so last.
    #[must_use]
    pub fn stream(&self, line: u8) -> Option<(&Stream, u32)> {
        let line = self.lines.get(usize::from(line))?;
        line.stream.as_ref().map(|stream| (stream, line.generation))
    }

    /// All streams.
    pub fn streams(&self) -> impl Iterator<Item = (u8, &Stream)> {
        (0..).zip(&self.lines).filter_map(|(at, line)| Some((at, line.stream.as_ref()?)))
    }

    /// Ports that the call holds, of A and of B.
    pub fn locals(&self) -> impl Iterator<Item = (Side, Local)> {
        self.lines.iter().flat_map(|line| {
            Side::BOTH.into_iter().filter_map(|side| Some((side, line.locals[side.index()]?)))
        })
    }

    /// Octets that it takes on the heap, about: descriptions that may still be answered, ports and
    /// streams.
    #[must_use]
    pub fn octets(&self) -> usize {
        let offer = self.offer.as_ref().map_or(0, |offer| {
            let answers = offer.answers.iter().map(|answer| answer.text.len());
            let packed = offer.packed.iter().flat_map(|packed| packed.iter());
            let packed = packed.map(Packed::octets).sum::<usize>();
            size_of::<Pending>()
                + packed
                + offer.text.len()
                + offer.told.len()
                + answers.sum::<usize>()
        });
        let payloads = self.lines.iter().filter_map(|line| line.stream.as_ref());
        let payloads = payloads.map(|stream| stream.payloads.len()).sum::<usize>();
        self.lines.len() * size_of::<Line>() + payloads * size_of::<crate::Payload>() + offer
    }

    /// Whether an offer waits for its answer, and whose.
    #[must_use]
    pub fn pending(&self) -> Option<Side> {
        self.offer.as_ref().filter(|offer| offer.current.is_none()).map(|offer| offer.from)
    }

    /// Takes an offer and appends the one for the other side to `out`.
    ///
    /// # Errors
    /// A [`Refusal`]; nothing has changed then.
    pub fn offer(
        &mut self,
        heard: Heard<'_>,
        means: &mut Means<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match self.pending() {
            Some(side) if side == heard.from => return Err(Reason::Pending.into()),
            Some(_) => return Err(Reason::Glare.into()),
            None => {}
        }
        let description = Description::read(heard.text, heard.source)?;
        if !means.are_anchoring() {
            out.extend_from_slice(heard.text);
            return Ok(());
        }
        if description.sections.len() > LINES_MAX {
            return Err(Reason::Many.into());
        }
        if description.sections.len() < self.lines.len() {
            return Err(Reason::Lines.into());
        }
        let policies = means.as_speaks(heard.from);
        let verdicts = self.judge(&description, &policies, heard.from.other())?;
        let lines_before = self.lines.len();
        let fresh = self.take_ports(&description, &verdicts, heard.from, means)?;
        let out_of_reach = self.out_of_reach(&description, &verdicts, heard.from, means.ports);
        if let Some(refusal) = out_of_reach {
            self.undo(&fresh, lines_before, means.ports);
            return Err(refusal);
        }
        let (told, packed) = self.tell(heard, &description, &verdicts, means);
        if told.len() > SESSION_BYTES_MAX {
            // Its answer could not be laid beside it.
            self.undo(&fresh, lines_before, means.ports);
            return Err(Reason::Many.into());
        }
        out.extend_from_slice(&told);
        self.offer = Some(Box::new(Pending {
            from: heard.from,
            text: Kept::new(heard.text.to_vec()),
            source: heard.source,
            signaller: heard.signaller,
            told: Kept::new(told),
            packed,
            lines_before,
            fresh,
            answers: Vec::new(),
            current: None,
        }));
        Ok(())
    }

    /// Takes an answer and appends the one for the offerer to `out`. While the call is not settled,
    /// each fork may answer, more than once: the streams follow the last word.
    ///
    /// # Errors
    /// A [`Refusal`]; the offer waits on.
    pub fn answer(
        &mut self,
        heard: Heard<'_>,
        means: &mut Means<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Change>, Refusal> {
        if !means.are_anchoring() {
            Description::read(heard.text, heard.source)?;
            out.extend_from_slice(heard.text);
            return Ok(Vec::new());
        }
        let mut offer = self.offer.take().ok_or(Reason::Unasked)?;
        let agreed = if offer.from == heard.from {
            Err(Reason::Unasked.into())
        } else {
            self.agree(&offer, &heard, means, out)
        };
        if agreed.is_ok() {
            offer.keep(&heard);
            offer.current = Some(heard.fork);
            offer.fresh.clear();
        }
        self.offer = Some(offer);
        let streams = agreed?;
        let changes = self.commit(streams);
        if self.is_settled {
            self.finish(means.ports);
        }
        Ok(changes)
    }

    /// The dialog of `fork` is the one that stays: the offer cannot be answered any more, the
    /// streams are those of that fork, and ports that nobody wants go.
    pub fn settle(&mut self, fork: Fork, means: &mut Means<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        let Some(offer) = self.offer.take_if(|offer| offer.current.is_some()) else {
            self.is_settled = true;
            return changes;
        };
        let answer = offer.answers.iter().find(|answer| answer.fork == fork);
        if let Some(answer) = answer.filter(|_| offer.current != Some(fork)) {
            let from = offer.from.other();
            let Answer { source, signaller, .. } = *answer;
            let heard = Heard { text: &answer.text, from, fork, source, signaller };
            // It was agreed once; what was written then stays as it is.
            let sent = self.towards[offer.from.index()].digest;
            if let Ok(streams) = self.agree(&offer, &heard, means, &mut Vec::new()) {
                changes = self.commit(streams);
            }
            self.towards[offer.from.index()].digest = sent;
        }
        self.is_settled = true;
        self.finish(means.ports);
        changes
    }

    /// The offer was refused or withdrawn: what was agreed before stays.
    pub fn reject(&mut self, ports: &mut dyn Source) {
        let Some(offer) = self.offer.take_if(|offer| offer.current.is_none()) else { return };
        self.undo(&offer.fresh, offer.lines_before, ports);
    }

    /// The media controller is gone, and its ports with it: every stream gets ports of `ports`.
    /// The peers are to be told by a re-INVITE each. Protected streams are gone until then: nobody
    /// knows how far their keys were used, so that new ones have to be agreed on.
    ///
    /// # Errors
    /// [`Reason::Room`]: nothing has changed.
    pub fn relocate(&mut self, ports: &mut dyn Source) -> Result<Vec<Change>, Refusal> {
        let mut taken = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            for side in Side::BOTH {
                let Some(old) = line.locals[side.index()] else { continue };
                // What was leased may be forgotten; the far end is of the family of its port.
                let remote = line.stream.as_ref().and_then(|stream| stream.end(side).remote);
                let was_v6 = || ports.address(old.address).is_ipv6();
                let is_v6 = remote.map_or_else(was_v6, |remote| remote.is_ipv6());
                let Some(new) = ports.take(side, is_v6) else {
                    taken.into_iter().for_each(|(_, _, local)| ports.give_back(local));
                    return Err(Refusal::at(Reason::Room, at));
                };
                taken.push((at, side, new));
            }
        }
        for (at, side, new) in taken {
            self.lines[at].locals[side.index()] = Some(new);
        }
        self.offer = None;
        let locals: Vec<_> = self.lines.iter().map(|line| line.locals).collect();
        let next = self.generation.wrapping_add(1);
        let mut changes = Vec::new();
        for (at, line) in (0..).zip(&mut self.lines) {
            line.keys = <[OwnKeys; 2]>::default();
            line.ice = [None, None];
            line.generation = next;
            match line.stream.take() {
                Some(mut stream) if stream.ends.iter().all(|end| end.guard == Guard::None) => {
                    stream.settle_at(at, &locals);
                    line.stream = Some(stream);
                    changes.push(Change::Changed(at));
                }
                Some(_) => changes.push(Change::Removed(at)),
                None => {}
            }
        }
        self.generation = next;
        Ok(changes)
    }

    /// The media controller has its ports still but not how far keys of SRTP were used: it said
    /// another epoch in its [`crate::row::Message::Hello`]. Streams with keys are gone until a
    /// re-INVITE has agreed on others, which the next offer and answer have; the peers are to be
    /// told by one. An offer that may have put such keys to use can be answered no more.
    pub fn renew_keys(&mut self) -> Vec<Change> {
        let has_keys =
            |stream: &Stream| stream.ends.iter().any(|end| matches!(end.guard, Guard::Keys { .. }));
        let were_told = self.offer.as_ref().is_none_or(|offer| offer.current.is_some());
        let next = self.generation.wrapping_add(1);
        let (mut changes, mut were_used) = (Vec::new(), false);
        for (at, line) in (0..).zip(&mut self.lines) {
            let is_protected = line.stream.as_ref().is_some_and(has_keys);
            let has_own = line.keys.iter().any(|keys| keys.iter().next().is_some());
            let is_used = is_protected || has_own && were_told;
            if !is_used {
                continue;
            }
            were_used = true;
            line.keys = <[OwnKeys; 2]>::default();
            if is_protected {
                line.stream = None;
                line.generation = next;
                changes.push(Change::Removed(at));
            }
        }
        if were_used {
            self.offer = None;
        }
        if !changes.is_empty() {
            self.generation = next;
        }
        changes
    }

    /// The call is over: gives all ports back.
    pub fn end(&mut self, ports: &mut dyn Source) -> Vec<Change> {
        self.offer = None;
        let changes = self.streams().map(|(line, _)| Change::Removed(line)).collect();
        for line in self.lines.drain(..) {
            line.locals.into_iter().flatten().for_each(|local| ports.give_back(local));
        }
        changes
    }

    /// What becomes of each stream; an offer of which nothing is left is refused for the first
    /// reason.
    fn judge<'a>(
        &self,
        description: &Description<'a>,
        policies: &Policies<'_>,
        to: Side,
    ) -> Result<Vec<Verdict<'a>>, Refusal> {
        let standing = |at: usize| {
            let stream = self.lines.get(at).and_then(|line| line.stream.as_ref());
            stream.map(|stream| &stream.end(to).guard)
        };
        let sections = description.sections.iter().enumerate();
        let verdicts: Vec<_> =
            sections.map(|(at, section)| judge(section, policies, standing(at))).collect();
        let is_left = verdicts.iter().any(|verdict| !matches!(verdict, Verdict::Refuse(_)));
        let refused = verdicts.iter().enumerate().find_map(|(at, verdict)| match verdict {
            Verdict::Refuse(Some(reason)) => Some(Refusal::at(*reason, at)),
            _ => None,
        });
        match refused {
            Some(refusal) if !is_left => Err(refusal),
            _ => Ok(verdicts),
        }
    }

    /// The first stream of an offer whose packets could not be sent to where it says.
    fn out_of_reach(
        &self,
        description: &Description<'_>,
        verdicts: &[Verdict<'_>],
        from: Side,
        ports: &dyn Source,
    ) -> Option<Refusal> {
        let own: Vec<Local> = self.locals().map(|(_, local)| local).collect();
        let sections = description.sections.iter().zip(&self.lines).zip(verdicts).enumerate();
        let mut relayed = sections.filter(|(_, (_, it))| matches!(it, Verdict::Relay(_)));
        relayed.find_map(|(at, ((section, line), _))| {
            let to = ports.address(line.locals[from.other().index()]?.address);
            // The other side would be told an address that is none.
            let is_known = if to.is_unspecified() { Err(Reason::Room) } else { Ok(()) };
            let reached = is_known.and_then(|()| line.reaches(section, from, &own, ports));
            Some(Refusal::at(reached.err()?, at))
        })
    }

    /// Takes the ports that an offer needs; all or none.
    fn take_ports(
        &mut self,
        description: &Description<'_>,
        verdicts: &[Verdict<'_>],
        from: Side,
        means: &mut Means<'_>,
    ) -> Result<Vec<(usize, Side)>, Refusal> {
        let lines_before = self.lines.len();
        self.lines.resize_with(description.sections.len(), Line::default);
        let mut fresh = Vec::new();
        for (at, verdict) in verdicts.iter().enumerate() {
            if !matches!(verdict, Verdict::Relay(_)) {
                continue;
            }
            for side in Side::BOTH {
                if self.lines[at].locals[side.index()].is_some() {
                    continue;
                }
                let is_v6 = self.is_v6(side, from, &description.sections[at], means);
                let Some(local) = means.ports.take(side, is_v6) else {
                    self.undo(&fresh, lines_before, means.ports);
                    return Err(Refusal::at(Reason::Room, at));
                };
                self.lines[at].locals[side.index()] = Some(local);
                fresh.push((at, side));
            }
        }
        Ok(fresh)
    }

    /// The family of a side's addresses: as the policy says, as on its other streams, as in the
    /// offer.
    fn is_v6(&self, side: Side, from: Side, section: &Section<'_>, means: &Means<'_>) -> bool {
        let given = self.lines.iter().find_map(|line| line.locals[side.index()]);
        match means.policies[side.index()].family {
            Family::V4 => false,
            Family::V6 => true,
            Family::Same => match given {
                Some(local) if side != from => means.ports.address(local.address).is_ipv6(),
                _ => is_v6(section.media.connection()),
            },
        }
    }

    fn undo(&mut self, fresh: &[(usize, Side)], lines: usize, ports: &mut dyn Source) {
        for &(at, side) in fresh {
            let local = self.lines.get_mut(at).and_then(|line| line.locals[side.index()].take());
            local.into_iter().for_each(|local| ports.give_back(local));
        }
        self.lines.truncate(lines);
    }

    /// The offer for the other side.
    fn tell(
        &mut self,
        heard: Heard<'_>,
        description: &Description<'_>,
        verdicts: &[Verdict<'_>],
        means: &mut Means<'_>,
    ) -> (Vec<u8>, Option<Box<[Packed; 2]>>) {
        let to = heard.from.other();
        let policy = means.policies[to.index()];
        let mut entries = Vec::with_capacity(verdicts.len());
        for ((section, verdict), line) in
            description.sections.iter().zip(verdicts).zip(&mut self.lines)
        {
            let state = match verdict {
                Verdict::Pass => State::Passed,
                Verdict::Refuse(_) => State::Refused,
                Verdict::Relay(plan) => match line.offered(section, plan, to, means) {
                    Some(relayed) => State::Relayed(Box::new(relayed)),
                    None => State::Refused,
                },
            };
            entries.push(Entry { section, state });
        }
        let names = if policy.bundle { bundle::offered(&entries) } else { Vec::new() };
        let offered = Packed::of(heard.text, description);
        let told = Packed::written(heard.text, &entries, &names);
        let packed = offered.zip(told).map(|(offered, told)| Box::new([offered, told]));
        let mut out = Vec::with_capacity(1_024);
        let draft = Draft { description, entries: &entries, bundle: names };
        self.write(&mut out, to, draft, policy);
        (out, packed)
    }

    /// Writes a description for a side. The version rises with what was changed (RFC 3264 §8).
    fn write(&mut self, out: &mut Vec<u8>, to: Side, draft: Draft<'_, '_>, policy: &Policy) {
        let Draft { description, entries, bundle } = draft;
        let relayed = || {
            entries.iter().filter_map(|entry| match &entry.state {
                State::Relayed(relayed) => Some(&**relayed),
                _ => None,
            })
        };
        let has_ice = relayed().any(|relayed| relayed.ice.is_some());
        let passes_guard = entries.iter().any(|entry| match &entry.state {
            State::Relayed(relayed) => relayed.is_end_to_end || !entry.section.carriage.is_rtp(),
            _ => false,
        });
        let head = Head { description, bundle, has_ice, passes_guard };
        let own = relayed().next().map(|relayed| relayed.local.ip());
        out.extend_from_slice(b"v=0\r\n");
        let at = out.len();
        if policy.origin == Origin::Own {
            // The version depends on what follows: the line is put before it afterwards.
            body(out, &head, entries, policy);
            let address = own.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let end = out.len();
            self.towards[to.index()].origin(out, address, at..end);
            let octets = out.len() - end;
            out[at..].rotate_right(octets);
            return;
        }
        let own = own.filter(|_| policy.origin == Origin::PassAtOwnAddress);
        passed_origin(out, description, own);
        body(out, &head, entries, policy);
    }

    /// The streams that an answer makes, and the answer for the offerer.
    fn agree(
        &mut self,
        offer: &Pending,
        heard: &Heard<'_>,
        means: &mut Means<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Option<Stream>>, Refusal> {
        let answered = Description::read(heard.text, heard.source)?;
        let [offered, told] = match offer.packed.as_deref() {
            Some(packed) => packed.each_ref().map(|packed| packed.unpack(&offer.text)),
            None => [
                Description::read(&offer.text, offer.source)?,
                Description::read(&offer.told, None)?,
            ],
        };
        if answered.sections.len() > offered.sections.len() {
            return Err(Reason::Lines.into());
        }
        let signallers = [offer.signaller, heard.signaller];
        let own: Vec<Local> = self.locals().map(|(_, local)| local).collect();
        let mut streams = Vec::with_capacity(offered.sections.len());
        let mut entries = Vec::with_capacity(offered.sections.len());
        for (at, (one, two)) in offered.sections.iter().zip(&told.sections).enumerate() {
            let answer = answered.sections.get(at).filter(|answer| !answer.is_refused());
            let (entry, stream) = match answer {
                Some(answer) if !two.is_refused() => {
                    let sections =
                        Sections { offered: one, told: two, answered: answer, signallers };
                    let agreed = self.lines[at].agree(sections, offer.from, &own, means);
                    let (state, stream) = agreed.map_err(|reason| Refusal::at(reason, at))?;
                    (Entry { section: answer, state }, stream)
                }
                _ => (Entry { section: one, state: State::Refused }, None),
            };
            entries.push(entry);
            streams.push(stream);
        }
        let [from, to] = [offer.from, offer.from.other()];
        let mut names = Vec::new();
        if means.policies[from.index()].bundle {
            names = bundle::share(&offered.bundle, &offered.sections, from, &mut streams);
            bundle::follow(&mut entries, &streams, from);
        }
        if !told.bundle.is_empty() {
            bundle::share(&answered.bundle, &told.sections, to, &mut streams);
        }
        let draft = Draft { description: &answered, entries: &entries, bundle: names };
        self.write(out, from, draft, means.policies[from.index()]);
        Ok(streams)
    }

    /// The streams stand from now on.
    fn commit(&mut self, streams: Vec<Option<Stream>>) -> Vec<Change> {
        let mut changes = Vec::new();
        let next = self.generation.wrapping_add(1);
        for (at, (line, stream)) in (0..).zip(self.lines.iter_mut().zip(streams)) {
            let change = match (&line.stream, &stream) {
                (None, Some(_)) => Change::Added(at),
                (Some(_), None) => Change::Removed(at),
                (Some(old), Some(new)) if old != new => Change::Changed(at),
                _ => continue,
            };
            line.stream = stream;
            line.generation = next;
            changes.push(change);
        }
        if !changes.is_empty() {
            self.generation = next;
        }
        changes
    }

    /// The offer is done: streams that nobody wants give their ports back.
    fn finish(&mut self, ports: &mut dyn Source) {
        self.offer = None;
        for line in self.lines.iter_mut().filter(|line| line.stream.is_none()) {
            let locals = line.locals.iter_mut().filter_map(Option::take);
            locals.for_each(|local| ports.give_back(local));
            line.keys = <[OwnKeys; 2]>::default();
            line.ice = [None, None];
        }
    }
}
