//! Sending datagrams: runs of equal size travel as one (GSO), the rest by the batch.

use crate::function::Effects;
use crate::metrics::RuntimeMetric;
use crate::port::Flow;
use driver::{DatagramSocket, SendBatch};
use event::Metrics;
use machine::Time;
use machine::narrow::index;
use ports::Bypass;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;

/// Datagrams in one run; the kernel's `UDP_MAX_SEGMENTS`.
const RUN_MESSAGES_MAX: usize = 64;
/// Bytes in one run; a run is one IP packet for most of its way.
const RUN_BYTES_MAX: usize = 65_000;
/// The longest datagram of a run after the kernel once refused a longer one: fits every Ethernet
/// with either family and a tunnel.
const SEGMENT_SAFE: usize = 1_200;
/// Bytes that wait while the kernel's own queue is full; more are shed.
const BACKLOG_BYTES_MAX: usize = 8 << 20;

/// A datagram port of one shard.
#[derive(Debug)]
pub(crate) struct DatagramPort {
    pub(crate) socket: DatagramSocket,
    /// Where packets go and come that need the kernel's IP not.
    pub(crate) bypass: Option<Box<Bypass>>,
    wildcard: bool,
    whole: bool,
    segment_max: usize,
    backlog: VecDeque<(Flow, Box<[u8]>)>,
    backlog_bytes: usize,
    /// What the kernel has dropped so far.
    pub(crate) lost: u32,
}

/// A run of datagrams: part of an order, see [`crate::group::Groups`].
#[derive(Debug, Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
    /// 0: a single datagram.
    segment: u16,
    /// IP may fragment it.
    in_parts: bool,
}

/// What the kernel said to a message that it did not take.
enum Refusal {
    Full,
    Stale,
    Segment,
    Final(&'static str),
}

/// Room for sending, one per shard.
pub(crate) struct Sender {
    batch: SendBatch,
    runs: Vec<Run>,
    /// Far ends that a send showed to be unreachable.
    pub(crate) unreachable: Vec<(Flow, &'static str)>,
}

impl DatagramPort {
    pub(crate) fn new(socket: DatagramSocket, bypass: Option<Box<Bypass>>) -> Self {
        Self {
            whole: false,
            wildcard: socket.local().ip().is_unspecified(),
            socket,
            bypass,
            segment_max: RUN_BYTES_MAX,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            lost: 0,
        }
    }

    /// Whether runs of datagrams travel as one, out (`UDP_SEGMENT`) and in (`UDP_GRO`).
    pub(crate) fn set_runs(&mut self, on: bool) {
        if on != (self.segment_max > 0) {
            self.segment_max = if on { RUN_BYTES_MAX } else { 0 };
            self.socket.join_runs(on);
        }
    }

    /// The socket was made to keep datagrams whole (`whole` of [`crate::Carrier::Udp`]).
    pub(crate) const fn set_whole(&mut self, on: bool) {
        self.whole = on;
    }

    fn keep_whole(&self, on: bool) {
        if let Err(error) = self.socket.keep_whole(on) {
            tracing::error!(%error, "a port cannot change whether its datagrams travel whole");
        }
    }

    /// Whether runs of datagrams travel as one.
    pub(crate) const fn has_runs(&self) -> bool {
        self.segment_max > 0
    }

    /// Whether something waits for the kernel's queue.
    pub(crate) fn waits(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Bytes that wait.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.backlog_bytes
    }

    fn source(&self, flow: &Flow) -> Option<IpAddr> {
        let ip = flow.local.ip();
        (self.wildcard && !ip.is_unspecified()).then_some(ip)
    }

    fn put_back(&mut self, flow: Flow, bytes: &[u8], metrics: &Metrics<RuntimeMetric>) {
        if self.backlog_bytes + bytes.len() > BACKLOG_BYTES_MAX {
            metrics.add(RuntimeMetric::SendShed, 1);
            return;
        }
        self.backlog_bytes += bytes.len();
        self.backlog.push_back((flow, bytes.into()));
    }
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self { batch: SendBatch::new(), runs: Vec::new(), unreachable: Vec::new() }
    }

    /// Sends the messages of one group (one remote, one port), numbers in `order`.
    pub(crate) fn add(&mut self, port: &DatagramPort, effects: &Effects, order: &[u32], at: usize) {
        let mut start = 0;
        while start < order.len() {
            let (flow, bytes) = effects.message(order[start] as usize);
            let in_parts = port.whole && effects.in_parts(order[start] as usize);
            let segment = if in_parts { usize::MAX } else { bytes.len() };
            let mut total = bytes.len();
            let mut end = start + 1;
            while end < order.len() && end - start < RUN_MESSAGES_MAX && segment <= port.segment_max
            {
                let (next, more) = effects.message(order[end] as usize);
                total += more.len();
                let is_other = next.local != flow.local || effects.in_parts(order[end] as usize);
                if more.len() > segment || total > RUN_BYTES_MAX || is_other {
                    break;
                }
                end += 1;
                if more.len() < segment {
                    break;
                }
            }
            let run = if end - start > 1 { index(segment) } else { 0 };
            self.runs.push(Run { start: at + start, end: at + end, segment: run, in_parts });
            start = end;
        }
    }

    /// Sends what was added and can pass by the kernel's IP; the rest is left to
    /// [`Sender::flush`]: what does not fit the interface, and of what may travel in parts what no
    /// router would fragment ([`Bypass::send_in_parts`]).
    pub(crate) fn bypass(
        &mut self,
        now: Time,
        port: &mut DatagramPort,
        effects: &Effects,
        order: &[u32],
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let Some(bypass) = &mut port.bypass else { return };
        let (mut messages, mut octets) = (0, 0);
        self.runs.retain(|run| {
            let (flow, bytes) = effects.message(order[run.start] as usize);
            let (now, remote) = (now.as_nanos(), flow.remote.ip());
            let passes = run.segment == 0
                && match run.in_parts {
                    false => bypass.send(now, remote, bytes),
                    true => bypass.send_in_parts(now, remote, bytes),
                };
            if passes {
                messages += 1;
                octets += bytes.len() as u64;
            }
            !passes
        });
        bypass.flush();
        let lost = bypass.attend(now.as_nanos());
        metrics.add(RuntimeMetric::MessageOut, messages);
        metrics.add(RuntimeMetric::BytesOut, octets);
        metrics.add(RuntimeMetric::SendShed, lost.sent);
        metrics.add(RuntimeMetric::KernelDropped, lost.received);
    }

    /// Sends what was added, all through `port`; `order` is the whole order.
    pub(crate) fn flush(
        &mut self,
        port: &mut DatagramPort,
        effects: &Effects,
        order: &[u32],
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let runs = std::mem::take(&mut self.runs);
        let mut rest = runs.as_slice();
        if port.waits() {
            put_back(port, effects, order, rest, metrics);
            rest = &[];
        }
        while !rest.is_empty() {
            let done = self.send_batch(port, effects, order, rest, metrics);
            rest = &rest[done..];
        }
        self.runs = runs;
        self.runs.clear();
    }

    /// Sends the first runs, as many as fit into a batch; returns how many are dealt with. Those
    /// that IP may fragment go by themselves: that is a matter of the whole socket.
    fn send_batch(
        &mut self,
        port: &mut DatagramPort,
        effects: &Effects,
        order: &[u32],
        runs: &[Run],
        metrics: &Metrics<RuntimeMetric>,
    ) -> usize {
        let in_parts = runs[0].in_parts;
        let alike = runs.iter().take_while(|run| run.in_parts == in_parts).count();
        if !in_parts {
            return self.send_alike(port, effects, order, &runs[..alike], metrics);
        }
        port.keep_whole(false);
        let done = self.send_alike(port, effects, order, &runs[..alike], metrics);
        port.keep_whole(true);
        done
    }

    fn send_alike(
        &mut self,
        port: &mut DatagramPort,
        effects: &Effects,
        order: &[u32],
        runs: &[Run],
        metrics: &Metrics<RuntimeMetric>,
    ) -> usize {
        let mut filling = self.batch.fill();
        for run in runs {
            let (flow, _) = effects.message(order[run.start] as usize);
            let parts =
                order[run.start..run.end].iter().map(|&number| effects.message(number as usize).1);
            if !filling.push(&flow.remote, port.source(&flow), run.segment, parts) {
                break;
            }
        }
        let (mut sent, mut stale) = (0, false);
        while sent < filling.len() {
            metrics.add(RuntimeMetric::SendBatch, 1);
            let error = match filling.send(&port.socket, sent) {
                Ok(count) => {
                    tally(effects, order, &runs[sent..sent + count], metrics);
                    sent += count;
                    stale = false;
                    continue;
                }
                Err(error) => error,
            };
            let run = runs[sent];
            match refusal(&error, run.segment > 0, stale) {
                Refusal::Stale => stale = true,
                Refusal::Full => {
                    put_back(port, effects, order, &runs[sent..], metrics);
                    return runs.len();
                }
                Refusal::Segment => {
                    let (_, first) = effects.message(order[run.start] as usize);
                    let again = first.len() <= SEGMENT_SAFE;
                    port.segment_max = if again { 0 } else { SEGMENT_SAFE };
                    self.send_singly(port, effects, order, run, metrics);
                    return sent + 1;
                }
                Refusal::Final(why) => {
                    let (flow, _) = effects.message(order[run.start] as usize);
                    metrics.add(RuntimeMetric::SendRefused, (run.end - run.start) as u64);
                    self.unreachable.push((flow, why));
                    sent += 1;
                    stale = false;
                }
            }
        }
        sent
    }

    /// The kernel does not take this run as one: sends its datagrams one by one.
    fn send_singly(
        &mut self,
        port: &mut DatagramPort,
        effects: &Effects,
        order: &[u32],
        run: Run,
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let singles: Vec<Run> = (run.start..run.end)
            .map(|at| Run { start: at, end: at + 1, segment: 0, in_parts: run.in_parts })
            .collect();
        let mut rest = singles.as_slice();
        while !rest.is_empty() {
            if port.waits() {
                put_back(port, effects, order, rest, metrics);
                return;
            }
            let done = self.send_batch(port, effects, order, rest, metrics);
            rest = &rest[done..];
        }
    }

    /// Sends what waited; the kernel has room again.
    pub(crate) fn resume(&mut self, port: &mut DatagramPort, metrics: &Metrics<RuntimeMetric>) {
        let mut stale = false;
        while !port.backlog.is_empty() {
            let mut filling = self.batch.fill();
            for (flow, bytes) in &port.backlog {
                let parts = std::iter::once(&bytes[..]);
                if !filling.push(&flow.remote, port.source(flow), 0, parts) {
                    break;
                }
            }
            metrics.add(RuntimeMetric::SendBatch, 1);
            let (done, sent) = match filling.send(&port.socket, 0) {
                Ok(count) => (count, true),
                Err(error) => match refusal(&error, false, stale) {
                    Refusal::Full => return,
                    Refusal::Stale | Refusal::Segment => {
                        stale = true;
                        continue;
                    }
                    Refusal::Final(_) => (1, false),
                },
            };
            stale = false;
            for (_, bytes) in port.backlog.drain(..done) {
                port.backlog_bytes -= bytes.len();
                if sent {
                    metrics.add(RuntimeMetric::MessageOut, 1);
                    metrics.add(RuntimeMetric::BytesOut, bytes.len() as u64);
                } else {
                    metrics.add(RuntimeMetric::SendRefused, 1);
                }
            }
        }
    }
}

fn put_back(
    port: &mut DatagramPort,
    effects: &Effects,
    order: &[u32],
    runs: &[Run],
    metrics: &Metrics<RuntimeMetric>,
) {
    for number in runs.iter().flat_map(|run| &order[run.start..run.end]) {
        let (flow, bytes) = effects.message(*number as usize);
        port.put_back(flow, bytes, metrics);
    }
}

fn tally(effects: &Effects, order: &[u32], runs: &[Run], metrics: &Metrics<RuntimeMetric>) {
    let (mut messages, mut bytes) = (0, 0);
    for run in runs {
        messages += run.end - run.start;
        let numbers = &order[run.start..run.end];
        bytes += numbers.iter().map(|&n| effects.message(n as usize).1.len()).sum::<usize>();
    }
    metrics.add(RuntimeMetric::MessageOut, messages as u64);
    metrics.add(RuntimeMetric::BytesOut, bytes as u64);
}

/// Reads a refusal. An ICMP error of an earlier datagram is reported by the next send, once: that
/// one is tried again (`stale` says that it was).
fn refusal(error: &io::Error, segmented: bool, stale: bool) -> Refusal {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::WouldBlock => Refusal::Full,
        Kind::Interrupted => Refusal::Stale,
        Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable if !stale => {
            Refusal::Stale
        }
        // ENOBUFS is a full device queue; waiting for writability would never end.
        _ if segmented => Refusal::Segment,
        Kind::HostUnreachable => Refusal::Final("the host cannot be reached"),
        Kind::NetworkUnreachable => Refusal::Final("there is no route to the network"),
        _ => Refusal::Final("the kernel refused the datagram"),
    }
}
