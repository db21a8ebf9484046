//! Two sides of TCAP joined, an application on one of them with instances that are scripted.

use bytes::Bytes;
use machine::{Duration, Machine, Time};
use sccp::codec::Address;
use std::collections::BTreeMap;
use tcap::{DialogueId, In, Out, Transactions};
use tcu::{
    Application, Client, ClientEvent, Component, Hello, Indication, InstanceId, Portion, Request,
    Service, Settings, Side, Speech, Spelling, Status, Wanted, carry_out, indications,
};

pub const SHORT_MESSAGE: &[u8] = crate::values::SHORT_MESSAGE;

pub const SECRET: &str = "a secret of sixteen";

pub fn settings() -> Settings {
    Settings {
        name: "hlr".to_owned(),
        function: "stp".to_owned(),
        subsystem: 6,
        is_network: false,
        tag: 0,
        point_codes: Vec::new(),
        shown: tcu::PointCodes::default(),
        titles: vec![sccp::codec::Digits::parse("4477").unwrap()],
        keys: None,
        groups: Vec::new(),
        instances_max: 8,
        dialogues_max: 1_000,
        queue_octets_max: 1 << 20,
        held_octets_max: 1 << 20,
        wait: Duration::from_secs(1),
        slow: Duration::from_secs(2),
        resume: Duration::from_secs(2),
    }
}

fn transactions(secret: u64) -> Transactions {
    let settings = tcap::Settings {
        shard: 0,
        secret,
        dialogues_max: 10_000,
        dialogues_per_source_max: 10_000,
        sources_elsewhere: false,
        idle: Duration::from_secs(60),
    };
    Transactions::new(settings, Time::ZERO)
}

pub struct Instance {
    pub client: Client,
    /// What it was told and has not looked at.
    pub told: Vec<Indication>,
    pub events: Vec<ClientEvent>,
    /// It reads nothing.
    pub is_stuck: bool,
    /// What it has not read.
    pub unread: Vec<u8>,
    pub is_closed: bool,
}

/// The far end, and the application's side.
pub struct World {
    pub now: Time,
    pub application: Application,
    pub near: Transactions,
    pub far: Transactions,
    pub instances: BTreeMap<InstanceId, Instance>,
    /// What the far end was told.
    pub heard: Vec<Indication>,
    next: u64,
    /// Where instances connect from.
    pub source: Option<core::net::IpAddr>,
    /// Messages on their way: to the near side or to the far one.
    queue: Vec<(bool, sccp::Unitdata)>,
}

pub fn invoke(id: i8) -> Component {
    // sendRoutingInfoForSM.
    let parameter = Some(Bytes::from_static(&[
        0x30, 13, 0x80, 3, 0x91, 0x44, 0x77, 0x81, 1, 0xff, 0x82, 3, 0x91, 0x44, 0x11,
    ]));
    let code = tcu::Code::Local(45);
    Component::Invoke { id, linked: None, code, parameter, class: None, time_ms: None }
}

pub fn result(id: i8) -> Component {
    Component::Result { id, is_last: true, result: None }
}

impl World {
    pub fn new(settings: Settings) -> Self {
        Self {
            now: Time::from_millis(1_000),
            application: Application::new(settings, authentication::Keys::parse(SECRET).unwrap()),
            near: transactions(1),
            far: transactions(2),
            instances: BTreeMap::new(),
            heard: Vec::new(),
            next: 1,
            source: None,
            queue: Vec::new(),
        }
    }

    /// An instance connects and greets.
    pub fn instance(&mut self, group: &str, spelling: Spelling) -> InstanceId {
        self.instance_with(group, spelling, false, None)
    }

    pub fn instance_with(
        &mut self,
        group: &str,
        spelling: Spelling,
        must_prove: bool,
        keys: Option<authentication::Keys>,
    ) -> InstanceId {
        let id = InstanceId(self.next);
        let name = format!("i{}", self.next);
        self.next += 1;
        let client = Client::new(Hello::new("hlr", group, &name), spelling, keys);
        let greeting = client.greeting();
        let (told, events, unread) = (Vec::new(), Vec::new(), Vec::new());
        let instance = Instance { client, told, events, is_stuck: false, unread, is_closed: false };
        self.instances.insert(id, instance);
        self.application.connected(self.now, id, must_prove, self.source);
        self.say(id, &greeting);
        id
    }

    fn near(&mut self, act: impl FnOnce(&mut Application, Time, &mut Side<'_>)) {
        let mut outs = Vec::new();
        let mut side = Side { transactions: &mut self.near, outs: &mut outs };
        act(&mut self.application, self.now, &mut side);
        self.sent(true, outs);
        self.settle();
    }

    fn sent(&mut self, by_near: bool, outs: Vec<Out>) {
        let unitdata = outs.into_iter().filter_map(|out| match out {
            Out::Unitdata(unitdata) => Some((!by_near, unitdata)),
            _ => None,
        });
        self.queue.extend(unitdata);
    }

    /// Octets of an instance.
    pub fn say(&mut self, id: InstanceId, octets: &[u8]) {
        self.near(|it, now, side| it.said(now, id, octets, side));
    }

    pub fn ask(&mut self, id: InstanceId, request: &Request) {
        let mut octets = Vec::new();
        self.instances.get_mut(&id).unwrap().client.write(request, &mut octets);
        self.say(id, &octets);
    }

    pub fn set_settings(&mut self, settings: Settings) {
        self.near(|it, now, side| it.set_settings(now, settings, side));
    }

    /// A service of the node takes the dialogues, or none does.
    pub fn serve_inside(&mut self, service: Option<Box<dyn Service + Send>>) {
        self.near(|it, now, side| it.serve_inside(now, service, side));
    }

    /// Its connection breaks.
    pub fn kill(&mut self, id: InstanceId) {
        self.instances.remove(&id);
        self.near(|it, now, side| it.lost(now, id, side));
    }

    pub fn stick(&mut self, id: InstanceId, is_stuck: bool) {
        self.instances.get_mut(&id).unwrap().is_stuck = is_stuck;
        self.settle();
    }

    /// The application is given one turn; what the far end hears of it.
    pub fn tick_once(&mut self) -> usize {
        self.near(|it, now, side| it.tick(now, side));
        self.heard().len()
    }

    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.application.deadline().into_iter().chain(self.near.deadline());
            let Some(at) = due.chain(self.far.deadline()).min().filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            self.near(|it, now, side| it.tick(now, side));
            let mut outs = Vec::new();
            self.near.tick(self.now, &mut outs);
            self.told(outs);
            let mut outs = Vec::new();
            self.far.tick(self.now, &mut outs);
            self.heard.extend(indications(&outs));
            self.sent(false, outs);
            self.settle();
        }
        self.now = end;
    }

    fn told(&mut self, outs: Vec<Out>) {
        let told = indications(&outs);
        self.sent(true, outs);
        for it in told {
            let mut outs = Vec::new();
            let mut side = Side { transactions: &mut self.near, outs: &mut outs };
            self.application.indicated(self.now, it, &mut side);
            self.sent(true, outs);
        }
    }

    /// Carries out everything that is on its way.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = self.queue.is_empty();
            for (to_near, unitdata) in core::mem::take(&mut self.queue) {
                let mut outs = Vec::new();
                if to_near {
                    self.near.step(self.now, In::Unitdata(unitdata), &mut outs);
                    self.told(outs);
                } else {
                    self.far.step(self.now, In::Unitdata(unitdata), &mut outs);
                    self.heard.extend(indications(&outs));
                    self.sent(false, outs);
                }
            }
            for wanted in self.application.take_wanted() {
                is_quiet = false;
                match wanted {
                    Wanted::Send(id, octets) => {
                        if let Some(instance) = self.instances.get_mut(&id) {
                            instance.unread.extend_from_slice(&octets);
                        }
                    }
                    Wanted::Close(id) => {
                        if let Some(instance) = self.instances.get_mut(&id) {
                            instance.is_closed = true;
                        }
                    }
                }
            }
            for id in self.instances.keys().copied().collect::<Vec<_>>() {
                is_quiet &= !self.read(id);
            }
            if is_quiet {
                return;
            }
        }
    }

    /// An instance reads what there is; whether there was something.
    fn read(&mut self, id: InstanceId) -> bool {
        let instance = self.instances.get_mut(&id).unwrap();
        if instance.is_stuck || instance.unread.is_empty() {
            return false;
        }
        let octets = core::mem::take(&mut instance.unread);
        let mut events = Vec::new();
        let answer = instance.client.received(&octets, &mut |event| events.push(event)).unwrap();
        for event in events {
            match event {
                ClientEvent::Indication(it) => instance.told.push(it),
                other => instance.events.push(other),
            }
        }
        let mut outs = Vec::new();
        let mut side = Side { transactions: &mut self.near, outs: &mut outs };
        self.application.written(self.now, id, 0, &mut side);
        if !answer.is_empty() {
            self.application.said(self.now, id, &answer, &mut side);
        }
        self.sent(true, outs);
        true
    }

    /// The far end begins a dialogue.
    pub fn begin(&mut self, components: Vec<Component>) -> DialogueId {
        let portion =
            Portion { context: Some(Bytes::from_static(SHORT_MESSAGE)), ..Portion::of(components) };
        let called = Address::subsystem(None, 6);
        let calling = Address::subsystem(None, 8);
        let request = Request::Begin { reference: 0, called, calling, state: None, portion };
        self.far(&request).expect("there is room")
    }

    pub fn far(&mut self, request: &Request) -> Option<DialogueId> {
        let mut outs = Vec::new();
        let speech = Speech::of_context(SHORT_MESSAGE);
        let done = carry_out(self.now, &mut self.far, request, speech, &mut outs).unwrap();
        self.sent(false, outs);
        self.settle();
        done
    }

    pub fn told_to(&mut self, id: InstanceId) -> Vec<Indication> {
        core::mem::take(&mut self.instances.get_mut(&id).unwrap().told)
    }

    pub fn heard(&mut self) -> Vec<Indication> {
        core::mem::take(&mut self.heard)
    }

    pub fn status(&self) -> Status {
        self.application.status()
    }
}
