//! The controller as what a shard runs: what comes in, what time brings, another configuration.

use crate::config::{self, MEDIA_PORT};
use crate::metrics::Metric;
use crate::{Controller, PING_OCTETS, access, ask, media, reg_event, shed, timers};
use machine::narrow::micros;
use machine::{Duration, Time};
use overload::ALL;
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, Mirrored, PortId};
use sip_stack::realm::Realms;
use sip_stack::realm_map::RealmMap;
use sip_stack::steer;
use std::sync::Arc;

impl Function for Controller {
    type Config = config::Ssc;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.pair.state.is_standby() {
            self.is_draining |= matches!(input, In::Drain);
            return; // the other node answers
        }
        self.border.announce_names(out);
        if self.media.takes(now, &input, out) {
            self.media_said(now, out);
            return self.finish_step(now, out);
        }
        match input {
            In::Message { flow, bytes } if access::unwrapped(self, now, &flow, bytes, out) => {}
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Up { flow } => {
                if self.egress.capture.owns(&flow) {
                    self.egress.capture.up();
                }
            }
            In::Proved { flow, names } => self.border.proved(&flow, names),
            In::Down { flow, why } => {
                self.overload.forget(&flow);
                self.down(now, flow, why, out);
            }
            In::Resolved { query, answer } => {
                self.border.resolved(now, query, answer, out);
                self.policing.know(&self.border.hops);
            }
            In::Drain => self.is_draining = true,
            // Of ports that a controller has none of.
            In::Returned { .. } | In::Ready { .. } | In::Written { .. } => {}
            In::Channel { port, event } => self.ims.channel(port, &event),
            In::Work { work, .. } => access::handed(work, out),
            In::HandedBack { .. } => {} // a packet of ESP is lost, as on any wire
        }
        self.finish_step(now, out);
    }

    fn waited(&mut self, now: Time, delay: Duration) {
        self.overload.admission.waited(delay);
        let is_off = self.config.overload.delay_target_ms == 0;
        self.overload.waiting.waited(if is_off { Duration::ZERO } else { delay });
        let whole = self.overload.admission.whole(now);
        self.egress.capture.whole = if self.config.overload.thin_captures { whole } else { ALL };
        self.egress.metrics.observe(Metric::QueueDelay, micros(delay));
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.pair.state.is_standby() {
            return;
        }
        let (pair, copied) = self.copied();
        pair.snapshot(copied, out);
        self.send_asked_again(now, out);
        self.border.announce_names(out);
        self.begin_waiting(now, out);
        self.transactions.tick(now, &mut self.outs);
        self.transacted(now, out);
        self.relays_due(now, out);
        self.calls_due(now, out);
        self.registrar_tick(now);
        self.ims.tick(now);
        reg_event::subscribe(self, now, out);
        self.border.look_up(now, &mut self.random, out);
        self.probing().send_due(now, out);
        self.lost(now, out);
        self.media.tick(now, out);
        self.media_said(now, out);
        let refused = self.overload.tally.take(now);
        shed::tell_tally(&refused, now, &mut self.egress, &mut self.random);
        self.transacted(now, out);
        self.finish_step(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.pair.state.is_standby() {
            return None;
        }
        let deadlines = [
            self.pair.state.deadline(),
            self.transactions.deadline(),
            self.calls.deadline(),
            self.border.hops.deadline(),
            self.border.lookups.deadline(),
            self.registrar.deadline(),
            self.overload.deadline(),
            self.egress.capture.deadline(),
            self.media.deadline(),
            self.ims.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<config::Ssc>, out: &mut Effects) {
        while !self.overload.waiting.is_empty() {
            self.begin_waiting(now, out); // they came before the change
        }
        self.egress.capture.flush_all(out);
        let realms = Realms::new(&config.border().realms);
        let moved = RealmMap::between(&self.border.realms, &realms);
        self.change_realms(now, realms, &moved, out);
        self.calls.forget_plans(&self.config, &config);
        self.border.configure(&config.border(), &moved, now);
        self.transactions.set_timers(timers(&config));
        self.calls.configure(&config);
        self.overload.configure(&config.admission());
        self.egress.capture.configure(config.capture_settings());
        self.egress.rule(&config.rule, &self.border.realms);
        self.registrar.configure(config.registrar(), config.limits.bindings_max);
        self.media.configure(now, media::settings(&config), out);
        self.media.flush(out);
        access::protect(self, now, out); // as it was agreed before the change
        self.tell(out); // before it leaves
        self.ims.configure(&config.ims());
        access::name_ports(self);
        if self.ims.lacks_some() {
            out.ask_for_all();
        }
        self.config = config;
        let secret = [self.random(), self.random()];
        self.policing.configure(&self.config, &self.border.hops, secret, now);
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port >= MEDIA_PORT {
            return media_stack::frame(buffer);
        }
        match sip::frame(buffer) {
            sip::Framing::Partial => Frame::Partial,
            // A ping (RFC 5626 §4.4.1) wants its pong; less is a pong or the half of a ping.
            sip::Framing::Skip(octets @ PING_OCTETS..) => Frame::Answer(octets, b"\r\n"),
            sip::Framing::Skip(octets) => Frame::Skip(octets),
            sip::Framing::Message(octets) => Frame::Message(octets),
            sip::Framing::Broken(violation) => Frame::Broken(violation.what),
        }
    }

    fn ends_frame(port: PortId, buffer: &[u8], seen: usize) -> bool {
        port >= MEDIA_PORT || sip::ends_head(buffer, seen)
    }

    fn steer(_config: &Self::Config, flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        match flow.port {
            _ if shards <= 1 => None,
            port if port < MEDIA_PORT => steer::steer(bytes, shards),
            port if config::Ssc::steers_esp(port) => ipsec::steer(bytes, shards),
            _ => None,
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let answer = ask::answer(self, now, ask, out);
        self.media.flush(out);
        access::protect(self, now, out);
        self.tell(out);
        answer
    }

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        self.mirrored(now, input, out);
        access::protect(self, now, out);
    }

    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.overload.waiting.is_empty()
    }

    fn waits_for(&self) -> &'static str {
        "calls that run, or requests that are not answered"
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        let media = self.media.metrics.cells();
        let [agreements, esp, reg_events] = self.ims.cells();
        let own = [self.egress.metrics.cells(), self.next_hop_table.cells(), media];
        own.into_iter().chain([agreements, esp, reg_events]).collect()
    }
}
