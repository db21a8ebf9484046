//! Gateways and scripted ASPs joined by TCP connections, in virtual time.

pub mod asp;
pub mod cluster;
pub mod program;
pub mod shards;

pub use asp::Asp;
use cluster::Home;
use machine::{Duration, Time};
pub use program::Program;
use replica::cluster::Out;
use runtime::{
    Answered, Ask, ConnId, Effects, Flow, Function, GroupOrder, In, NodeId, PortId, Ticket,
    Transport,
};
use serde_json::Value;
use sgc::Gateway;
use sgc::config::Sgc;
pub use shards::Shards;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// One way of any connection.
pub const DELAY: Duration = Duration::from_millis(5);
pub const START: Time = Time::from_millis(1_700_000_000_000);

enum What {
    Up(Flow),
    Message(Flow, Vec<u8>),
    Down(Flow, &'static str),
    /// The kernel took all of it.
    Written(Flow, u64),
    /// A node of the cluster said this.
    Heard(NodeId, Vec<u8>),
}

pub enum Node {
    Gateway(Box<Shards>),
    Asp(Box<Asp>),
    Program(Box<Program>),
}

/// One end of a connection: whose it is, how that names it, and the number of the other end.
#[derive(Clone, Copy)]
struct End {
    node: usize,
    flow: Flow,
    other: u32,
}

pub struct World {
    pub now: Time,
    shards: u16,
    nodes: Vec<Node>,
    listening: BTreeMap<SocketAddr, (usize, PortId)>,
    events: BTreeMap<(Time, u64), (usize, What)>,
    ends: BTreeMap<u32, End>,
    /// Nodes that take no connections.
    deaf: BTreeSet<usize>,
    /// Nodes that do nothing any more.
    frozen: BTreeSet<usize>,
    /// Links of the cluster that are cut, each in one direction.
    pub cut: BTreeSet<(NodeId, NodeId)>,
    lives: u8,
    out: Effects,
    /// Answers to questions that were deferred.
    pub answers: Vec<(Ticket, Answered)>,
    count: u64,
    next: u32,
}

pub fn read(text: &str) -> Sgc {
    toml::from_str(text).expect("the section is well-formed")
}

pub fn checked(text: &str) -> Sgc {
    let config = read(text);
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    config
}

impl World {
    pub fn new() -> Self {
        Self::on(1)
    }

    /// One whose gateways have so many shards.
    pub fn on(shards: u16) -> Self {
        Self {
            now: START,
            shards,
            nodes: Vec::new(),
            listening: BTreeMap::new(),
            events: BTreeMap::new(),
            ends: BTreeMap::new(),
            deaf: BTreeSet::new(),
            frozen: BTreeSet::new(),
            cut: BTreeSet::new(),
            lives: 7,
            out: Effects::default(),
            answers: Vec::new(),
            count: 0,
            next: 1,
        }
    }

    /// A gateway with this section.
    pub fn gateway(&mut self, text: &str) -> usize {
        self.gateway_of_section(checked(text))
    }

    /// One of a section that is more than its text: files were read for it.
    pub fn gateway_of_section(&mut self, section: Sgc) -> usize {
        let config = Sgc { shards: self.shards, ..section };
        let id = self.nodes.len();
        for port in config.ports().iter().filter(|port| port.listens()) {
            self.listening.insert(port.listen, (id, port.id));
        }
        self.nodes.push(Node::Gateway(Box::new(Shards::new(self.now, Arc::new(config)))));
        id
    }

    pub fn asp(&mut self, asp: Asp) -> usize {
        let id = self.nodes.len();
        if let Some(listen) = asp.listen {
            self.listening.insert(listen, (id, PortId(0)));
        }
        self.nodes.push(Node::Asp(Box::new(asp)));
        id
    }

    /// The first shard of a gateway.
    pub fn gateway_of(&mut self, id: usize) -> &mut Gateway {
        &mut self.shards_of(id).all[0]
    }

    pub fn shards_of(&mut self, id: usize) -> &mut Shards {
        match &mut self.nodes[id] {
            Node::Gateway(shards) => shards,
            Node::Asp(_) | Node::Program(_) => panic!("{id} is no gateway"),
        }
    }

    /// A shard of a gateway panics: its connections break, and its function is made anew.
    pub fn crash(&mut self, id: usize, shard: u16) {
        let shards = self.shards_of(id);
        shards.crash(shard);
        let config = Arc::clone(&shards.config);
        let count = config.shards;
        let of_shard = self.ends.iter().filter(|(_, end)| {
            let owner = || Gateway::steer(&config, &end.flow, &[], count).unwrap_or_default();
            end.node == id && owner() == shard
        });
        for conn in of_shard.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.break_off(conn, false);
        }
        let mut out = core::mem::take(&mut self.out);
        let now = self.now;
        self.shards_of(id).anew(now, shard, &mut out);
        self.out = out;
        self.carry_out(id);
    }

    pub fn program(&mut self, program: Program) -> usize {
        self.nodes.push(Node::Program(Box::new(program)));
        self.nodes.len() - 1
    }

    pub fn program_of(&mut self, id: usize) -> &mut Program {
        match &mut self.nodes[id] {
            Node::Program(program) => program,
            Node::Gateway(_) | Node::Asp(_) => panic!("{id} is no program"),
        }
    }

    /// An instance of an application says something.
    pub fn at_program(&mut self, id: usize, act: impl FnOnce(&mut Program)) {
        let mut out = core::mem::take(&mut self.out);
        let program = self.program_of(id);
        act(program);
        program.flush(&mut out);
        self.out = out;
        self.carry_out(id);
        self.pass(DELAY * 4);
    }

    pub fn asp_of(&mut self, id: usize) -> &mut Asp {
        match &mut self.nodes[id] {
            Node::Asp(asp) => asp,
            Node::Gateway(_) | Node::Program(_) => panic!("{id} is no ASP"),
        }
    }

    /// Does something at an ASP; what it wants leaves.
    pub fn at(&mut self, id: usize, act: impl FnOnce(&mut Asp, Time)) {
        let now = self.now;
        let asp = self.asp_of(id);
        act(asp, now);
        let mut out = core::mem::take(&mut self.out);
        self.asp_of(id).flush(&mut out);
        self.out = out;
        self.carry_out(id);
    }

    /// Another section for a gateway.
    pub fn configure(&mut self, id: usize, text: &str) {
        self.configure_section(id, checked(text));
    }

    /// The same with a section that is more than its text.
    pub fn configure_section(&mut self, id: usize, section: Sgc) {
        let config = Arc::new(Sgc { shards: self.shards, ..section });
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        self.shards_of(id).configure(now, config, &mut out);
        self.out = out;
        self.carry_out(id);
    }

    pub fn drain(&mut self, id: usize) {
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        self.shards_of(id).drain(now, &mut out);
        self.out = out;
        self.carry_out(id);
    }

    pub fn ask(&mut self, id: usize, path: &str, params: &[(&str, &str)]) -> Value {
        self.try_ask(id, path, params).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn try_ask(
        &mut self,
        id: usize,
        path: &str,
        params: &[(&str, &str)],
    ) -> Result<Value, runtime::AskError> {
        let params = params.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let ask = Ask { path: path.to_owned(), params: params.collect() };
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        let answer = self.shards_of(id).ask(now, &ask, &mut out);
        self.out = out;
        self.carry_out(id);
        answer
    }

    /// Asks a gateway what it may answer later: the answer if it comes at once, else it is the next
    /// of [`World::answers`].
    pub fn question(&mut self, id: usize, path: &str, params: &[(&str, &str)]) -> Option<Answered> {
        let params = params.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let ask = Ask { path: path.to_owned(), params: params.collect() };
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        let answer = self.gateway_of(id).question(now, &ask, Ticket(7), &mut out);
        self.out = out;
        self.carry_out(id);
        answer
    }

    /// The sum of a column over all rows of an answer.
    pub fn sum(&mut self, id: usize, path: &str, column: &str) -> u64 {
        let rows = self.ask(id, path, &[]);
        rows.as_array().into_iter().flatten().map(|row| row[column].as_u64().unwrap_or(0)).sum()
    }

    /// Names of the alarms that stand, with their subjects.
    pub fn alarms(&mut self, id: usize) -> Vec<String> {
        let rows = self.ask(id, "alarms", &[]);
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let rows = rows.as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| format!("{} {}", word(row, "name"), word(row, "subject"))).collect()
    }

    /// A counter or gauge of a gateway.
    pub fn metric(&mut self, id: usize, name: &str) -> u64 {
        self.ask(id, "m3ua/asps", &[]);
        let cells = self.shards_of(id).all.iter().flat_map(Gateway::cells).collect::<Vec<_>>();
        let rows = cells.iter().flat_map(event::MetricCells::samples);
        let values = rows.filter(|(row, _)| row.name == name).map(|(_, reading)| match reading {
            event::Sample::Value(value) => value,
            _ => panic!("{name} is no number"),
        });
        let values: Vec<u64> = values.collect();
        assert!(!values.is_empty(), "there is no {name}");
        values.into_iter().sum()
    }

    /// The connections of a node break; it takes none until it hears again.
    pub fn deafen(&mut self, id: usize) {
        self.deaf.insert(id);
        let of_node = self.ends.iter().filter(|(_, end)| end.node == id);
        for conn in of_node.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.break_off(conn, true);
        }
    }

    /// It does nothing any more, and nobody is told.
    pub fn freeze(&mut self, id: usize) {
        self.frozen.insert(id);
    }

    pub fn hear(&mut self, id: usize) {
        self.deaf.remove(&id);
    }

    fn break_off(&mut self, conn: u32, tells_both: bool) {
        let Some(end) = self.ends.remove(&conn) else { return };
        if let Some(other) = self.ends.remove(&end.other) {
            self.plan(other.node, What::Down(other.flow, "the connection was lost"));
        }
        if tells_both {
            self.plan(end.node, What::Down(end.flow, "the connection was lost"));
        }
    }

    fn plan(&mut self, node: usize, what: What) {
        self.plan_in(DELAY, node, what);
    }

    fn plan_in(&mut self, delay: Duration, node: usize, what: What) {
        self.count += 1;
        self.events.insert((self.now + delay, self.count), (node, what));
    }

    /// Carries out what a node wants.
    fn carry_out(&mut self, node: usize) {
        self.settle_first(node);
        self.take_effects(node);
        self.settle(node);
    }

    /// What a node tells its cluster is told before anything else.
    fn settle_first(&mut self, node: usize) {
        if let Node::Gateway(shards) = &self.nodes[node]
            && let Some(home) = shards.home.clone()
        {
            home.at(self.now);
            home.publish(&mut self.out);
        }
    }

    fn take_effects(&mut self, node: usize) {
        let mut out = core::mem::take(&mut self.out);
        for flow in core::mem::take(&mut out.opens) {
            self.open(node, flow);
        }
        let sends: Vec<(Flow, Vec<u8>)> =
            out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect();
        for (flow, bytes) in sends {
            let other = self.ends.get(&flow.conn.0).and_then(|end| self.ends.get(&end.other));
            if let Some(other) = other.copied() {
                let octets = bytes.len() as u64;
                self.plan(other.node, What::Message(other.flow, bytes));
                if !self.frozen.contains(&other.node) {
                    self.plan(node, What::Written(flow, octets));
                }
            }
        }
        self.answers.append(&mut out.answers);
        for flow in core::mem::take(&mut out.closes) {
            self.break_off(flow.conn.0, false);
        }
        out.clear();
        self.out = out;
    }

    /// What the cluster of a gateway wants.
    fn settle(&mut self, id: usize) {
        let home = |it: &Self| match &it.nodes[id] {
            Node::Gateway(shards) => shards.home.clone(),
            Node::Asp(_) | Node::Program(_) => None,
        };
        let Some(home) = home(self) else { return };
        home.at(self.now);
        home.publish(&mut self.out);
        while let Some(out) = home.next_out() {
            if let Out::Send(to, bytes) = out {
                self.say(id, to, bytes);
                continue;
            }
            let Some(order) = cluster::order_of(out) else { continue };
            let (now, mut effects) = (self.now, core::mem::take(&mut self.out));
            self.gateway_of(id).grouped(now, order.view(), &mut effects);
            home.publish(&mut effects);
            self.out = effects;
            self.take_effects(id);
            if let GroupOrder::Deactivate { group } = order {
                home.quiet(group);
            }
        }
    }

    /// A datagram to another node of the cluster.
    fn say(&mut self, id: usize, to: NodeId, bytes: Vec<u8>) {
        let number = |node: &Node| match node {
            Node::Gateway(shards) => shards.config.cluster.as_ref().map(|it| NodeId(it.node)),
            Node::Asp(_) | Node::Program(_) => None,
        };
        let Some(from) = number(&self.nodes[id]) else { return };
        let other = self.nodes.iter().position(|it| number(it) == Some(to));
        if let Some(other) = other.filter(|_| !self.cut.contains(&(from, to))) {
            self.plan_in(cluster::WAY, other, What::Heard(from, bytes));
        }
    }

    /// The link between two nodes is cut, in both directions, or is not any more.
    pub fn cut_link(&mut self, a: u8, b: u8, is_cut: bool) {
        for way in [(NodeId(a), NodeId(b)), (NodeId(b), NodeId(a))] {
            match is_cut {
                true => self.cut.insert(way),
                false => self.cut.remove(&way),
            };
        }
    }

    /// A process begins anew after it died.
    pub fn revive(&mut self, id: usize) {
        self.lives += 1;
        let (now, lives) = (self.now, self.lives);
        let config = Arc::clone(&self.shards_of(id).config);
        self.nodes[id] = Node::Gateway(Box::new(Shards::living(now, config, lives)));
        self.frozen.remove(&id);
        self.deaf.remove(&id);
        self.events.retain(|_, it| it.0 != id);
        self.carry_out(id);
    }

    /// A process dies: the kernel ends its connections.
    pub fn kill(&mut self, id: usize) {
        self.deafen(id);
        self.freeze(id);
    }

    fn open(&mut self, node: usize, flow: Flow) {
        let far = self.listening.get(&flow.remote).copied();
        let is_deaf = |id: usize| self.deaf.contains(&id);
        let Some((other, port)) = far.filter(|it| !is_deaf(it.0) && !is_deaf(node)) else {
            return self.plan(node, What::Down(flow, "nobody listens there"));
        };
        let (near, far) = (self.next, self.next + 1);
        self.next += 2;
        let local = SocketAddr::new(flow.local.ip(), 40_000 + near as u16);
        let near_flow = Flow { conn: ConnId(near), local, ..flow };
        let far_flow =
            Flow { conn: ConnId(far), ..Flow::to(port, Transport::Tcp, flow.remote, local) };
        self.ends.insert(near, End { node, flow: near_flow, other: far });
        self.ends.insert(far, End { node: other, flow: far_flow, other: near });
        self.plan(node, What::Up(near_flow));
        self.plan(other, What::Up(far_flow));
    }

    fn deadline(&self) -> Option<Time> {
        let awake = self.nodes.iter().enumerate().filter(|(id, _)| !self.frozen.contains(id));
        let nodes = awake.filter_map(|(_, node)| match node {
            Node::Gateway(shards) => {
                shards.deadline().into_iter().chain(shards.home.as_ref().map(Home::deadline)).min()
            }
            Node::Asp(asp) => asp.deadline(),
            Node::Program(program) => program.deadline(),
        });
        nodes.chain(self.events.keys().next().map(|(at, _)| *at)).min()
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while let Some(entry) = self.events.first_entry().filter(|it| it.key().0 <= self.now) {
                let (node, what) = entry.remove();
                self.deliver(node, what);
            }
            for node in 0..self.nodes.len() {
                self.tick(node);
            }
        }
        self.now = end;
    }

    fn tick(&mut self, node: usize) {
        if self.frozen.contains(&node) {
            return;
        }
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        match &mut self.nodes[node] {
            Node::Gateway(shards) => {
                if let Some(home) = &shards.home {
                    home.at(now);
                    home.tick();
                }
                shards.tick(now, &mut out);
            }
            Node::Asp(asp) => asp.tick(now, &mut out),
            Node::Program(program) => program.tick(&mut out),
        }
        self.out = out;
        self.carry_out(node);
    }

    fn deliver(&mut self, node: usize, what: What) {
        if self.frozen.contains(&node) {
            return;
        }
        if let What::Heard(from, bytes) = &what {
            if let Some(home) = self.shards_of(node).home.clone() {
                home.at(self.now);
                home.heard(*from, bytes);
            }
            return self.carry_out(node);
        }
        let now = self.now;
        let mut out = core::mem::take(&mut self.out);
        let input = match &what {
            What::Heard(..) => return,
            What::Up(flow) => In::Up { flow: *flow },
            What::Message(flow, bytes) => In::Message { flow: *flow, bytes },
            What::Down(flow, why) => In::Down { flow: *flow, why },
            What::Written(flow, octets) => In::Written { flow: *flow, octets: *octets, left: 0 },
        };
        match &mut self.nodes[node] {
            Node::Gateway(shards) => {
                shards.home.iter().for_each(|it| it.at(now));
                shards.step(now, input, &mut out);
            }
            Node::Asp(asp) => asp.step(now, &input, &mut out),
            Node::Program(program) => program.step(now, &input, &mut out),
        }
        self.out = out;
        self.carry_out(node);
    }
}
