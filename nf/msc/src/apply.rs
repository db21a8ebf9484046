//! What session controllers and NG say, and what comes of it.

use crate::MediaController;
use crate::config::NG_PORT;
use crate::controllers::{Controller, KeyId};
use crate::driven::{Driven, Turn, Uses};
use crate::flows::{self, Flows};
use crate::keying::class_of;
use crate::lease::Lessee;
use crate::links::Heard;
use crate::measures::Last;
use crate::metrics::Metric;
use crate::over::Over;
use crate::streams::{Changed, Owner, Refusal};
use crate::transcoding::{Digit, Of};
use anchor::row::{self, Load, Message, StreamId};
use anchor::{End, Local, Side};
use handshake::{Came, Change, Received};
use machine::bucket::Rate;
use machine::{Duration, Time};
use ng::Effect;
use nodes::Program;
use rand_chacha::rand_core::RngCore as _;
use runtime::{Effects, Flow};

/// Session controllers that wait for a forwarder at most.
const EARLY_MAX: usize = 64;
/// Checks and records of DTLS that are taken: in one turn, before session controllers are heard
/// again, and in a second.
const UPS_BURST: u32 = 512;
const UPS_PER_S: f64 = 20_000.0;
/// Octets of a reply to a datagram whose source nobody has shown to be right, unless what was asked
/// is as long.
const REPLY_OCTETS_MAX: usize = 1_400;

/// A session controller that said who it is.
pub(crate) struct Early {
    pub flow: Flow,
    pub name: Box<str>,
    pub epoch: u64,
    /// What it has proved.
    pub keys: Box<[KeyId]>,
}

impl MediaController {
    /// A session controller has connected.
    pub(crate) fn connected(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        if !self.pair.serves() {
            // It shall look for the other node.
            return out.close(flow);
        }
        let challenge = self.settings.keys.is_some().then(|| {
            let mut nonce = [0; 32];
            self.random.fill_bytes(&mut nonce);
            nonce
        });
        self.links.up(now, flow, challenge, out);
    }

    /// A connection is over.
    pub(crate) fn disconnected(&mut self, now: Time, flow: &Flow) {
        self.early.retain(|early| early.flow.conn != flow.conn);
        let lessee = self.links.down(flow);
        self.away(now, lessee);
    }

    fn away(&mut self, now: Time, lessee: Option<Lessee>) {
        if let Some(controller) = lessee.and_then(|it| self.controllers.at_mut(it)) {
            controller.away_since = Some(now);
            controller.is_whole = false;
        }
    }

    /// Closes a connection that says what none may say.
    fn refuse(&mut self, now: Time, flow: &Flow, out: &mut Effects) {
        self.shown.metrics.add(Metric::ConnectionsRefused, 1);
        let lessee = self.links.close(flow, out);
        self.away(now, lessee);
    }

    /// A message of a session controller.
    pub(crate) fn row(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        self.shown.metrics.add(Metric::Messages, 1);
        let Ok(Some((envelope, _))) = row::read(bytes) else { return self.refuse(now, flow, out) };
        let keys = self.settings.keys.as_ref();
        match self.links.hear(now, flow, envelope, keys, out) {
            Heard::Nothing => {}
            Heard::Hello { .. } if self.early.len() >= EARLY_MAX => self.refuse(now, flow, out),
            // What is known of streams is the forwarder's to say first.
            Heard::Hello { name, epoch, keys } if self.epoch.is_none() => {
                self.early.push(Early { flow: *flow, name, epoch, keys });
            }
            Heard::Hello { name, epoch, keys } => {
                self.hello(now, Early { flow: *flow, name, epoch, keys }, out);
            }
            Heard::Said(lessee, message) => self.said(now, lessee, message, out),
            Heard::Broken(_) => self.refuse(now, flow, out),
        }
    }

    /// A session controller says who it is.
    pub(crate) fn hello(
        &mut self,
        now: Time,
        Early { flow, name, epoch, keys }: Early,
        out: &mut Effects,
    ) {
        // It may have gone while the forwarder was asked.
        if !self.links.has(&flow) {
            return;
        }
        let controllers_max = usize::from(self.settings.msc.limits.session_controllers_max);
        let Some(lessee) = self.controllers.named(&name, now, controllers_max) else {
            return self.refuse(now, &flow, out);
        };
        // Who has the key may come by another way. Without one, a name is of who has it.
        let is_taken = keys.is_empty() && self.links.is_alive_elsewhere(now, lessee, &flow);
        if is_taken || !self.controllers.binds(lessee, &keys, self.settings.keys.as_ref()) {
            self.shown.metrics.add(Metric::NamesRefused, 1);
            return self.refuse(now, &flow, out);
        }
        self.links.open(now, &flow, lessee, out);
        let Some(controller) = self.controllers.at_mut(lessee) else { return };
        (controller.away_since, controller.is_whole) = (None, false);
        if controller.epoch.replace(epoch).is_some_and(|before| before != epoch) {
            self.renew(now, lessee);
        }
        let hello = Message::Hello {
            version: row::VERSION,
            name: self.settings.msc.name.as_str().into(),
            epoch: self.epoch.unwrap_or(0),
            fingerprint: self.keying.fingerprint().cloned().map(Box::new),
        };
        let load = self.load(now);
        if let Some(link) = self.links.of(lessee) {
            link.send(out, hello);
            link.send(out, Message::Load(load));
        }
        // Whose the name is, the control that comes next has to know.
        self.note_memory(now, out);
    }

    /// A session controller began anew: what it said before fades as if it stayed away.
    fn renew(&mut self, now: Time, lessee: Lessee) {
        let until = now + self.away_time();
        // A control that began anew, too, does not know what stands with its forwarder.
        let is_unknown = self.held_until.is_some();
        self.streams.renew(lessee);
        self.streams.book.renew(now, lessee, is_unknown.then_some(until));
        if !is_unknown && !self.streams.has_former(lessee) {
            return;
        }
        if let Some(controller) = self.controllers.at_mut(lessee) {
            controller.former_until = Some(until);
        }
        self.held_until = self.held_until.map(|held| held.max(until));
    }

    fn away_time(&self) -> Duration {
        Duration::from_secs(self.settings.msc.limits.session_controller_away_s.into())
    }

    /// What a session controller says.
    fn said(&mut self, now: Time, lessee: Lessee, message: Message, out: &mut Effects) {
        match message {
            Message::Lease { group, pairs } => {
                let is_known = self.settings.msc.group.iter().any(|it| *it.name == *group);
                if let Some(controller) = self.controllers.at_mut(lessee).filter(|_| is_known) {
                    controller.wants.insert(group.to_string(), pairs);
                }
                self.shown.metrics.add(Metric::GroupsUnknown, u64::from(!is_known));
                self.lease(now, lessee, &group, out);
                self.note_memory(now, out);
            }
            Message::Put { stream, generation, what } => {
                let put = self.streams.put(lessee, stream, generation, &what, now);
                match put {
                    Ok(changed) => self.done(now, lessee, changed, out),
                    Err(why) => self.not_taken(why),
                }
            }
            // Of the same name, but not the one that is meant.
            Message::Remove { stream, .. } if self.streams.is_former(lessee, stream) => {}
            Message::Remove { stream, generation } => {
                let changed = self.streams.remove(lessee, stream, generation, now);
                self.done(now, lessee, changed, out);
            }
            Message::Begin => self.streams.begin(lessee),
            Message::End => {
                let changed = self.streams.end(lessee, now);
                self.done(now, lessee, changed, out);
                let until = now + self.away_time();
                let has_former = self.streams.has_former(lessee);
                if let Some(controller) = self.controllers.at_mut(lessee) {
                    controller.is_whole = true;
                    if has_former {
                        controller.former_until.get_or_insert(until);
                    }
                }
                let is_settled = |it: &Controller| it.is_whole && it.former_until.is_none();
                if self.controllers.iter().all(|(_, it)| is_settled(it)) {
                    self.release(now, out);
                }
            }
            Message::Ask { stream } => {
                let found = self.streams.at(lessee, stream);
                let found = found.filter(|_| !self.streams.is_former(lessee, stream));
                let statistics = found.map(|it| {
                    Side::BOTH.map(|side| self.measures.shown(it.end(side).local).statistics)
                });
                if let Some(link) = self.links.of(lessee) {
                    link.send(out, Message::Report { stream, statistics });
                }
            }
            Message::Play { stream, end, serial, digit, ms } => {
                let to = Owner { lessee, stream, side: end };
                self.play_once(now, to, serial, Digit { code: digit, ms }, out);
            }
            // The rest is this side's to say, or a later version's.
            Message::Hello { .. }
            | Message::Grant { .. }
            | Message::Report { .. }
            | Message::Event { .. }
            | Message::Load(_)
            | Message::Ack { .. }
            | Message::Challenge { .. }
            | Message::Prove { .. }
            | Message::Unknown => {}
        }
    }

    pub(crate) fn not_taken(&mut self, why: Refusal) {
        let metric = match why {
            Refusal::NotLeased => Metric::StreamsNotLeased,
            Refusal::Taken => Metric::StreamsTaken,
            Refusal::TooMany => Metric::StreamsTooMany,
        };
        self.shown.metrics.add(metric, 1);
    }

    /// Sees to it that a session controller has what it wants of a group, and says what it has.
    fn lease(&mut self, now: Time, lessee: Lessee, group: &str, out: &mut Effects) {
        let wanted = self.controllers.at(lessee).and_then(|it| it.wants.get(group)).copied();
        let mut has_none = true;
        for is_v6 in [false, true] {
            let addresses: Vec<_> = self.streams.addresses.of_group(group, is_v6).collect();
            if addresses.is_empty() {
                continue;
            }
            has_none = false;
            let numbers: Vec<u16> = addresses.iter().map(|it| it.0).collect();
            let share = self.settings.msc.limits.pairs_max.unwrap_or(u32::MAX);
            self.streams.book.want(now, lessee, &numbers, wanted.unwrap_or(0).min(share));
            let blocks = self.streams.book.blocks_of(lessee, &numbers);
            if let Some(link) = self.links.of(lessee) {
                link.send(out, Message::Grant { group: group.into(), is_v6, addresses, blocks });
            }
        }
        if let Some(link) = self.links.of(lessee).filter(|_| has_none) {
            let (addresses, blocks) = (Vec::new(), Vec::new());
            link.send(out, Message::Grant { group: group.into(), is_v6: false, addresses, blocks });
        }
    }

    /// The section has changed: session controllers hear what they have now.
    pub(crate) fn grant_again(&mut self, now: Time, out: &mut Effects) {
        let wants: Vec<(Lessee, String)> = self
            .controllers
            .iter()
            .flat_map(|(lessee, it)| it.wants.keys().map(move |group| (lessee, group.clone())))
            .collect();
        for (lessee, group) in wants {
            self.lease(now, lessee, &group, out);
            let is_known = self.settings.msc.group.iter().any(|it| it.name == group);
            if let Some(controller) = self.controllers.at_mut(lessee).filter(|_| !is_known) {
                controller.wants.remove(&group);
            }
        }
    }

    /// What came of a change: the forwarder is told, and trails.
    pub(crate) fn done(&mut self, now: Time, lessee: Lessee, changed: Changed, out: &mut Effects) {
        // Who transcodes hears of a stream before its packets come.
        for id in changed.added.iter().chain(&changed.changed) {
            self.code(now, Of { lessee, id: *id }, out);
        }
        self.dataplane.tell(now, out, &changed.programs);
        for (ids, is_new) in [(changed.added, true), (changed.changed, false)] {
            for id in ids {
                self.tell_stream(lessee, id, out);
                if is_new {
                    self.tell_coded(Of { lessee, id }, out);
                }
                self.stands(now, lessee, id, out);
                self.measured(now, lessee, id, out);
                self.trail_stands(now, lessee, id, is_new);
            }
        }
        for (id, stream) in changed.removed {
            self.transcoding.remove(Of { lessee, id }, out);
            self.tell_gone(lessee, id, out);
            for side in Side::BOTH {
                let local = stream.end(side).local;
                // Another stream of its call may have the port still, and is the first one now.
                if let Some(heir) = self.streams.owner(local) {
                    self.code(now, Of { lessee, id: heir.stream }, out);
                    continue;
                }
                self.keying.forget(local, out);
                self.measures.unprotected.forget(local);
                let owner = Owner { lessee, stream: id, side };
                let over = Over { owner, stream: stream.clone(), at: now };
                if let Some((local, over)) = self.ended.add(local, over) {
                    self.tell_over(local, &over, out);
                }
            }
        }
    }

    /// The ends of a stream are measured from here on, as they are coded now.
    fn measured(&mut self, now: Time, lessee: Lessee, id: StreamId, out: &mut Effects) {
        let Some(stream) = self.streams.at(lessee, id) else { return };
        for side in Side::BOTH {
            let local = stream.end(side).local;
            if let Some(over) = self.ended.take(local) {
                self.tell_over(local, &over, out);
            }
            // Of streams that share a port the first one is measured.
            if self.streams.owner(local).is_some_and(|owner| owner.stream == id) {
                self.measures.stands(now, local, &stream, side);
            }
        }
    }

    /// Says of ends that are over what they were like, when the forwarder has said it.
    pub(crate) fn tell_ended(&mut self, now: Time, out: &mut Effects) {
        while let Some((local, over)) = self.ended.due(now) {
            self.tell_over(local, &over, out);
        }
    }

    fn tell_over(&mut self, local: anchor::Local, over: &Over, out: &mut Effects) {
        let Over { owner, stream, at } = over;
        let Some(Last { traced, rest, whole }) = self.measures.end(*at, local) else {
            return self.trail_ended(*at, *owner, stream, None);
        };
        if let Some(report) = traced {
            self.trail_quality(*at, *owner, stream, &report);
        }
        if let Some(report) = rest {
            self.reported(owner, owner.side, &report, out);
        }
        self.trail_ended(*at, *owner, stream, Some(&whole));
    }

    /// Whoever begins a handshake of a stream does, when it is known with whom.
    fn stands(&mut self, now: Time, lessee: Lessee, id: StreamId, out: &mut Effects) {
        let Some(stream) = self.streams.at(lessee, id) else { return };
        if stream.ends.iter().any(|end| self.keying.concerns(end)) {
            stream.ends.iter().for_each(|end| self.end_stands(now, end, out));
        }
    }

    fn end_stands(&mut self, now: Time, end: &End, out: &mut Effects) {
        let place = self.streams.addresses.place(end.local.address, end.local.port);
        let known = self.streams.agreement.of(end).into();
        let came = self.keying.stands(now, end, place, known, out);
        self.agreed(now, came, out);
    }

    /// Whose checks and handshakes a port has is told how its end stands, or that there is none.
    pub(crate) fn tell_end(&mut self, now: Time, local: Local, out: &mut Effects) {
        match self.end_at(local) {
            Some(end) => self.end_stands(now, &end, out),
            None => self.keying.is_gone(local, out),
        }
    }

    fn end_at(&self, local: Local) -> Option<End> {
        let owner = self.streams.owner(local)?;
        Some(self.streams.at(owner.lessee, owner.stream)?.end(owner.side).clone())
    }

    /// A further shard says what came of an end. What was agreed with one that is described in
    /// another way by now is of no use.
    pub(crate) fn worked(&mut self, now: Time, from: u16, work: &[u8], out: &mut Effects) {
        let mut changes = self.keying.worked(now, from, work, out);
        let is_its = |it: &Change| self.end_at(it.end.local).is_some_and(|end| it.is_of(&end));
        changes.retain(|it| self.pair.serves() && is_its(it));
        self.agreed(now, Came { changes, ..Came::default() }, out);
    }

    /// Something came up by the packet channel: a check, or a record of DTLS.
    pub(crate) fn came_up(
        &mut self,
        now: Time,
        event: runtime::ChannelEvent<'_>,
        out: &mut Effects,
    ) {
        let Some((record, datagram)) = self.keying.step(now, crate::PACKET_CHANNEL, event) else {
            return;
        };
        // Session controllers come first: whoever is not heard here asks again.
        let rate = Rate::new(UPS_PER_S, Some(UPS_BURST));
        if !self.keying.ups.has_room(now, rate) {
            return self.shown.metrics.add(Metric::PacketsPostponed, 1);
        }
        self.keying.ups.take(now, rate);
        let (address, port) = (datagram.to.ip(), datagram.to.port());
        let place = media::program::Place { vrf: record.vrf, address, port };
        let Some(address) = self.streams.addresses.number_of(&place) else { return };
        let Some(owner) = self.streams.owner(anchor::Local { address, port }) else { return };
        let Some(stream) = self.streams.at(owner.lessee, owner.stream) else { return };
        let end = stream.end(owner.side);
        let known = self.streams.agreement.of(end).into();
        let (class, is_rtcp) = (class_of(&record), end.local.port != port);
        let received = Received { class, datagram: &datagram, end, place, is_rtcp, known };
        let came = self.keying.packet(now, &received, out);
        self.agreed(now, came, out);
    }

    /// What checks and handshakes agreed on changes flows.
    pub(crate) fn agreed(&mut self, now: Time, came: Came, out: &mut Effects) {
        self.shown.metrics.add(Metric::DtlsFailed, came.failures);
        self.shown.metrics.add(Metric::DtlsUnsuited, came.unsuited);
        self.shown.metrics.add(Metric::PacketsPostponed, came.postponed);
        for change in came.changes {
            let local = change.end.local;
            let programs = self.streams.agree(local, |kept| change.apply(kept));
            self.tell_agreed(local, out);
            self.dataplane.tell(now, out, &programs);
        }
    }

    /// A command of NG.
    pub(crate) fn command(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        if self.epoch.is_none() {
            // Whoever asks asks again: ports are given when it is known which have streams.
            return;
        }
        self.shown.metrics.add(Metric::NgCommands, 1);
        match self.driven.turn(now, flow, bytes) {
            Turn::Waits => {}
            Turn::Later(call) => {
                let flows = self.streams.flows(Lessee::NG, call);
                let again = flows::difference(&Flows::new(), &flows);
                self.dataplane.tell(now, out, &again);
            }
            Turn::Now => {
                self.waited(now, Some(bytes), out);
                self.run(now, flow, bytes, out);
            }
        }
    }

    /// Runs the commands of NG that have waited.
    pub(crate) fn waited(&mut self, now: Time, behind: Option<&[u8]>, out: &mut Effects) {
        while let Some(it) = self.driven.waited(now, behind) {
            self.run(now, &it.flow, &it.message, out);
        }
    }

    fn run(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let mut reply = Vec::new();
        let done = self.driven(now, out, |driven, uses| driven.take(now, bytes, uses, &mut reply));
        if let Err(why) = done {
            reply = ng_refusal(bytes, why);
            self.driven.refuse(now, bytes, &reply);
        }
        let is_long = reply.len() > bytes.len().max(REPLY_OCTETS_MAX);
        if flow.port == NG_PORT && is_long {
            self.shown.metrics.add(Metric::NgRepliesLong, 1);
            reply = ng_refusal(bytes, "The reply is too long for UDP: ask over TCP");
        }
        out.send(*flow, |octets| octets.extend_from_slice(&reply));
    }

    /// Ends calls of NG that nobody ends.
    pub(crate) fn end_calls(&mut self, now: Time, out: &mut Effects) {
        self.waited(now, None, out);
        if self.driven.deadline().is_some_and(|at| at <= now) {
            // Nobody waits for an answer.
            let _ = self.driven(now, out, |driven, uses| driven.tick(now, uses));
        }
    }

    /// Has the engine of NG do something.
    ///
    /// # Errors
    /// Why something that came of it could not be done, in words for its reply.
    fn driven(
        &mut self,
        now: Time,
        out: &mut Effects,
        run: impl FnOnce(&mut Driven, Uses<'_>) -> Vec<Effect>,
    ) -> Result<(), &'static str> {
        let random = &mut self.random;
        let uses = Uses {
            msc: &self.settings.msc,
            streams: &mut self.streams,
            measures: &self.measures,
            fingerprint: self.keying.fingerprint(),
            codecs: self.transcoding.codecs(now),
            random: &mut |octets: &mut [u8]| random.fill_bytes(octets),
        };
        let mut done = Ok(());
        let effects = run(&mut self.driven, uses);
        self.tell_calls(out);
        for effect in effects {
            done = done.and(self.effect(now, effect, out));
        }
        done
    }

    /// A call of NG whose media cannot be forwarded ends: as if its proxy had ended it.
    fn end_call(&mut self, now: Time, call: u64, out: &mut Effects) {
        // Another cookie each time: what is asked twice is answered once.
        let cookie = machine::identity::hex(self.random.next_u64());
        let Some(name) = self.driven.call_id(call) else { return };
        let command = ng_delete(&cookie, name);
        // The reply is nobody's.
        let take =
            |driven: &mut Driven, uses: Uses<'_>| driven.take(now, &command, uses, &mut Vec::new());
        let _ = self.driven(now, out, take);
    }

    fn effect(&mut self, now: Time, effect: Effect, out: &mut Effects) -> Result<(), &'static str> {
        match effect {
            Effect::Put(call, line) => {
                let Some((stream, generation)) = self.driven.put(call, line) else { return Ok(()) };
                let id = StreamId { call, line };
                match self.streams.put(Lessee::NG, id, generation, &stream, now) {
                    Ok(changed) => self.done(now, Lessee::NG, changed, out),
                    Err(why) => {
                        self.not_taken(why);
                        self.end_call(now, call, out);
                        return Err("Ran out of ports");
                    }
                }
            }
            Effect::Remove(call, line) => {
                let id = StreamId { call, line };
                let changed = self.streams.remove(Lessee::NG, id, u32::MAX, now);
                self.done(now, Lessee::NG, changed, out);
                self.driven.remove(call, line);
            }
            Effect::BlockMedia(call, side, is_blocked) => {
                let mut programs: Vec<Program> = Vec::new();
                for local in self.driven.locals(call, side) {
                    programs.extend(self.streams.agree(local, |it| it.is_blocked = is_blocked));
                    self.tell_agreed(local, out);
                }
                self.dataplane.tell(now, out, &programs);
            }
            Effect::BlockDtmf(call, side, blocks) => {
                self.block_digits(now, call, side, blocks, out);
            }
            Effect::Play { call, from, digits, ms, .. } => {
                let digits: Vec<Digit> =
                    digits.into_iter().map(|code| Digit { code, ms }).collect();
                if !self.play_all(now, call, from.other(), &digits, out) {
                    return Err("Digits cannot be sent into this stream");
                }
            }
        }
        Ok(())
    }

    /// How this controller is.
    pub(crate) fn load(&self, now: Time) -> Load {
        Load {
            streams: u32::try_from(self.streams.total()).unwrap_or(u32::MAX),
            packets_per_s: self.shown.packets.per_s(),
            forwarder_permille: self.dataplane.load_permille(),
            transcoder_permille: self.transcoding.permille(),
            codecs: self.transcoding.codecs(now),
            is_draining: self.is_draining || !self.dataplane.is_controlled(),
            traces: self.capture.is_on(),
        }
    }

    /// Tells session controllers how this one is.
    pub(crate) fn tell_load(&mut self, now: Time, out: &mut Effects) {
        let load = self.load(now);
        for link in self.links.open_ones() {
            link.tell_load(now, load, out);
        }
    }

    /// What session controllers said before they began anew has had its time.
    fn end_former(&mut self, now: Time, out: &mut Effects) {
        let is_due = |it: &Controller| it.former_until.is_some_and(|until| until <= now);
        let due = self.controllers.iter().filter(|(_, it)| is_due(it)).map(|(lessee, _)| lessee);
        for lessee in due.collect::<Vec<Lessee>>() {
            if let Some(controller) = self.controllers.at_mut(lessee) {
                controller.former_until = None;
            }
            let changed = self.streams.end_former(lessee, now);
            self.done(now, lessee, changed, out);
        }
    }

    /// Session controllers that were away for too long lose what they have.
    pub(crate) fn forget_those_away(&mut self, now: Time, out: &mut Effects) {
        self.end_former(now, out);
        let away = self.away_time();
        let is_over = |since: Option<Time>| since.is_some_and(|since| since + away <= now);
        let gone: Vec<Lessee> = self
            .controllers
            .iter()
            .filter(|(_, it)| is_over(it.away_since))
            .map(|(lessee, _)| lessee)
            .collect();
        for lessee in &gone {
            let changed = self.streams.forget(*lessee, now);
            self.done(now, *lessee, changed, out);
            self.streams.book.forget(now, *lessee);
            self.controllers.forget(*lessee);
        }
        if !gone.is_empty() {
            self.note_memory(now, out);
        }
    }
}

/// The command of NG that ends a call.
fn ng_delete(cookie: &[u8], call_id: &[u8]) -> Vec<u8> {
    let mut command = cookie.to_vec();
    command.extend_from_slice(format!(" d7:call-id{}:", call_id.len()).as_bytes());
    command.extend_from_slice(call_id);
    command.extend_from_slice(b"7:command6:deletee");
    command
}

/// A reply of NG that says why there is none.
fn ng_refusal(command: &[u8], why: &str) -> Vec<u8> {
    let cookie = command.split(|octet| *octet == b' ').next().unwrap_or_default();
    let mut reply = cookie.to_vec();
    reply.push(b' ');
    let said = format!("d12:error-reason{}:{why}6:result5:errore", why.len());
    reply.extend_from_slice(said.as_bytes());
    reply
}
