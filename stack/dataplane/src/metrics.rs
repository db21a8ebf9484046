//! What ports, interfaces and nodes of the forwarder have counted, as tables of metrics: asked for
//! now and then, under numbers that no ticket of the runtime has.

use crate::Dataplane;
use event::{MetricCells, Table};
use forwarder::ipc::{self, Request};
use machine::{Duration, Time};
use runtime::Effects;
use serde_json::Value;

/// What is asked, under the numbers that count down from the highest; the last of it for the load.
const ASKED: [&str; 4] = ["ports", "interfaces", "graph", "workers"];
/// What is shown as metrics.
const SHOWN: usize = 3;
/// An answer is waited for so long at most before it is asked for again.
const PATIENCE: Duration = Duration::from_secs(10);

event::metrics! {
    /// The metrics of one port; its label is `port`.
    pub enum PortMetric {
        /// 1 while the link of a port is there.
        Up = Gauge, "plane_port_up";
        /// Packets that came by a port.
        Received = Counter, "plane_port_received_packets_total";
        /// Octets that came by a port.
        ReceivedOctets = Counter, "plane_port_received_octets_total";
        /// Packets that left by a port.
        Sent = Counter, "plane_port_sent_packets_total";
        /// Octets that left by a port.
        SentOctets = Counter, "plane_port_sent_octets_total";
    }
}

event::metrics! {
    /// Drops of one port by their reason; the labels are `port`, `direction` and `reason`.
    pub enum PortDropMetric {
        /// Packets dropped at a port, as far as its driver counts them.
        Dropped = Counter, "plane_port_drops_total";
    }
}

event::metrics! {
    /// The metrics of one interface; its label is `interface`.
    pub enum InterfaceMetric {
        /// Packets that came by an interface.
        Received = Counter, "plane_interface_received_packets_total";
        /// Octets that came by an interface.
        ReceivedOctets = Counter, "plane_interface_received_octets_total";
        /// Packets that left by an interface.
        Sent = Counter, "plane_interface_sent_packets_total";
        /// Octets that left by an interface.
        SentOctets = Counter, "plane_interface_sent_octets_total";
    }
}

event::metrics! {
    /// Drops of one node of the graph by their reason; the labels are `node` and `reason`.
    pub enum NodeDropMetric {
        /// Packets that a node of the graph dropped.
        Dropped = Counter, "plane_drops_total";
    }
}

/// What a node has taken for itself, by the words that stand among its reasons: no drop.
const TAKEN: [&str; 2] = ["arp heard", "nd heard"];

/// The tables, and whether an answer is waited for.
pub(crate) struct Metrics {
    ports: Table<PortMetric, 1>,
    port_drops: Table<PortDropMetric, 3>,
    interfaces: Table<InterfaceMetric, 1>,
    node_drops: Table<NodeDropMetric, 2>,
    /// Answers that have not come, and until when they are waited for.
    waits: (usize, Time),
    load: Load,
}

/// How busy the workers are.
#[derive(Default)]
struct Load {
    /// When they were asked, if the answer has not come.
    asked: Option<Time>,
    /// What they said, and when they were asked for that.
    before: Option<(Time, Vec<u64>)>,
    /// Of the one that has most to do.
    permille: u16,
}

impl Load {
    fn take(&mut self, rows: &[Value]) {
        let Some(asked) = self.asked.take() else { return };
        let busy: Vec<u64> = rows.iter().map(|row| count(row, "busy_ms")).collect();
        if let Some((since, before)) = &self.before {
            let passed = machine::narrow::millis(asked.since(*since)).max(1);
            let more = busy.iter().zip(before).map(|(busy, before)| busy.saturating_sub(*before));
            let permille = more.max().unwrap_or(0).saturating_mul(1_000) / passed;
            self.permille = machine::narrow::at_most(permille.min(1_000), u16::MAX);
        }
        self.before = Some((asked, busy));
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            ports: Table::new(&["port"]),
            port_drops: Table::new(&["port", "direction", "reason"]),
            interfaces: Table::new(&["interface"]),
            node_drops: Table::new(&["node", "reason"]),
            waits: (0, Time::ZERO),
            load: Load::default(),
        }
    }
}

impl Metrics {
    /// Takes an answer to a question of that number.
    fn take(&mut self, number: u64, answer: &Value) {
        let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
        if path(number) == Some("workers") {
            return self.load.take(rows);
        }
        self.waits.0 = self.waits.0.saturating_sub(1);
        match path(number) {
            Some("ports") => self.take_ports(rows),
            Some("interfaces") => self.interfaces.show(rows.iter().map(|row| {
                let metrics = [
                    (InterfaceMetric::Received, count(row, "received")),
                    (InterfaceMetric::ReceivedOctets, count(row, "received_octets")),
                    (InterfaceMetric::Sent, count(row, "sent")),
                    (InterfaceMetric::SentOctets, count(row, "sent_octets")),
                ];
                ([name(&row["interface"])], metrics)
            })),
            Some("graph") => {
                let rows = rows.iter().flat_map(|row| {
                    let dropped = row["dropped"].as_object().into_iter().flatten();
                    let dropped = dropped.filter(|it| !TAKEN.contains(&it.0.as_str()));
                    dropped.map(move |(reason, count)| {
                        let count = count.as_u64().unwrap_or(0);
                        ([name(&row["node"]), reason.clone()], [(NodeDropMetric::Dropped, count)])
                    })
                });
                self.node_drops.show(rows);
            }
            _ => {}
        }
    }

    fn cells(&self) -> [MetricCells; 4] {
        let Self { ports, port_drops, interfaces, node_drops, .. } = self;
        [ports.cells(), port_drops.cells(), interfaces.cells(), node_drops.cells()]
    }

    fn take_ports(&mut self, rows: &[Value]) {
        self.ports.show(rows.iter().map(|row| {
            let metrics = [
                (PortMetric::Up, u64::from(row["up"] == true)),
                (PortMetric::Received, count(row, "received")),
                (PortMetric::ReceivedOctets, count(row, "received_octets")),
                (PortMetric::Sent, count(row, "sent")),
                (PortMetric::SentOctets, count(row, "sent_octets")),
            ];
            ([name(&row["port"])], metrics)
        }));
        let drops = rows.iter().flat_map(|row| {
            row.as_object().into_iter().flatten().filter_map(|(key, count)| {
                let (direction, reason) = match key.strip_prefix("not_received_") {
                    Some(reason) => ("received", reason),
                    None => ("sent", key.strip_prefix("not_sent_")?),
                };
                let labels = [name(&row["port"]), direction.to_owned(), reason.to_owned()];
                Some((labels, [(PortDropMetric::Dropped, count.as_u64().unwrap_or(0))]))
            })
        });
        self.port_drops.show(drops);
    }
}

fn path(number: u64) -> Option<&'static str> {
    ASKED.get(usize::try_from(u64::MAX - number).ok()?).copied()
}

fn count(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or(0)
}

fn name(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The tables without rows: what [`Dataplane::cells`] are of.
#[must_use]
pub fn empty_tables() -> [MetricCells; 4] {
    Metrics::default().cells()
}

impl Dataplane {
    /// Asks the forwarder what it has counted; [`Dataplane::cells`] show it when it has answered.
    /// What it counted is gone while it is away.
    pub fn measure(&mut self, now: Time, out: &mut Effects) {
        if !self.is_controlled() {
            self.metrics.waits = (0, Time::ZERO);
            for (below, _) in (0..).zip(&ASKED[..SHOWN]) {
                self.metrics.take(u64::MAX - below, &Value::Null);
            }
            return;
        }
        let (waiting, until) = self.metrics.waits;
        if waiting > 0 && now < until {
            return;
        }
        self.metrics.waits = (SHOWN, now + PATIENCE);
        self.open_questions(out);
        (0..SHOWN).for_each(|which| self.ask_for(which, out));
    }

    fn ask_for(&self, which: usize, out: &mut Effects) {
        let (id, path) = (u64::MAX - which as u64, ASKED[which].to_owned());
        let asked = Request::Ask { id, path, params: Vec::new() };
        // It is far below the longest message.
        out.write(self.channels.questions, |into| {
            let _ = ipc::write(&asked, into);
        });
    }

    /// Asks the forwarder how busy its workers are, for [`Dataplane::load_permille`]; once a second
    /// or so.
    pub fn measure_load(&mut self, now: Time, out: &mut Effects) {
        if !self.is_controlled() {
            self.metrics.load = Load::default();
            return;
        }
        let is_waited_for = |asked: Time| now.since(asked) < PATIENCE;
        if self.metrics.load.asked.is_some_and(is_waited_for) {
            return;
        }
        self.metrics.load.asked = Some(now);
        self.open_questions(out);
        self.ask_for(SHOWN, out);
    }

    /// How much of its time the worker that has most to do had packets, in thousandths, between the
    /// last two answers; 0 as long as there are none.
    #[must_use]
    pub fn load_permille(&self) -> u16 {
        self.metrics.load.permille
    }

    /// Takes an answer that no ticket waits for, if it is one to [`Dataplane::measure`].
    pub(crate) fn measured(&mut self, number: u64, answer: Result<Value, String>) {
        if path(number).is_some()
            && let Ok(answer) = self.named(answer)
        {
            self.metrics.take(number, &answer);
        }
    }

    /// What ports, interfaces and nodes have counted, for the management side.
    #[must_use]
    pub fn cells(&self) -> [MetricCells; 4] {
        self.metrics.cells()
    }
}
