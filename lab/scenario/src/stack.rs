//! A stack of its own: TCAP, SCCP and M3UA of a role that is an ASP at a signalling gateway, as
//! octets in and octets out.
//!
//! ```text
//!   Request ─→ TcUser ─ Unitdata ─→ sccp::Node ─ MSU ─→ m3ua::Process ─ message ─→ wire
//! ```

use crate::endpoint::TcUser;
use crate::file::Role;
use anyhow::Context as _;
use bytes::Bytes;
use m3ua::codec::{PointCode, RoutingContext};
use m3ua::{
    Key, Parameters, PeerId, PeerSettings, Process, Role as M3uaRole, ServerId, ServerSettings,
    Settings, Side, Transfer,
};
use machine::identity::mix;
use machine::{Machine as _, Time};
use sccp::codec::{Digits, Routing, SERVICE_INDICATOR};
use sccp::{Change, Choice, Node, Rule, Rules, Selector, Target};
use sgc::config::PointCodeFormat;
use tcu::{Indication, Request};

/// The Network Indicator of what is sent: national.
const NATIONAL: u8 = 2;

/// The stack of one role.
pub(crate) struct Stack {
    user: TcUser,
    node: Node,
    process: Process,
    peer: PeerId,
    server: ServerId,
    /// Messages go there that are to nobody else.
    via: PointCode,
    subsystem: u8,
    tcap_outs: Vec<tcap::Out>,
    sends: Vec<(u16, Bytes)>,
    told: Vec<Indication>,
    /// What the gateway said against it.
    pub(crate) last: String,
    pub(crate) has_ended: bool,
}

fn point_code(name: &str, text: Option<&String>) -> anyhow::Result<PointCode> {
    let text = text.with_context(|| format!("a stack of its own needs `{name}`"))?;
    let read = PointCodeFormat::Itu.read(text);
    read.with_context(|| format!("{name} {text}: {}", PointCodeFormat::Itu.example()))
}

impl Stack {
    pub(crate) fn new(role: &Role, seed: u64, now: Time) -> anyhow::Result<Self> {
        let own = point_code("point_code", role.point_code.as_ref())?;
        let via = point_code("peer", role.peer.as_ref())?;
        let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
        let mut process = Process::new(settings).map_err(anyhow::Error::msg)?;
        let refused = |error: m3ua::Refused| anyhow::anyhow!("{error:?}");
        let peer = process.add_peer(PeerSettings::new(M3uaRole::Asp)).map_err(refused)?;
        let context = role.routing_context.map(RoutingContext);
        let settings = ServerSettings::new(Side::Here, context, Key::of(own));
        let server = process.add_server(settings).map_err(refused)?;
        process.assign(now, server, peer, &mut Vec::new()).map_err(refused)?;
        let settings = sccp::Settings {
            network: None,
            point_code: own,
            aliases: Vec::new(),
            network_indicator: NATIONAL,
            concerned: Vec::new(),
            parameters: sccp::Parameters::q714(),
        };
        let target =
            Target { point_code: Some(via), subsystem: None, routing: Routing::Title, weight: 1 };
        let rule = Rule {
            selector: Selector::default(),
            prefix: Digits::default().into(),
            change: Change::default(),
            targets: vec![target],
            choice: Choice::Backup,
        };
        let rules = Rules::new(vec![rule]).expect("the rule has a target");
        let mut node = Node::new(settings, rules);
        node.step(now, sccp::In::State(role.subsystem, true), &mut Vec::new());
        Ok(Self {
            user: TcUser::new(mix(seed), now),
            node,
            process,
            peer,
            server,
            via,
            subsystem: role.subsystem,
            tcap_outs: Vec::new(),
            sends: Vec::new(),
            told: Vec::new(),
            last: "it says nothing".into(),
            has_ended: false,
        })
    }

    /// The way to the gateway stands.
    pub(crate) fn up(&mut self, now: Time, streams: Option<u16>) {
        self.m3ua(now, m3ua::In::CommunicationUp(self.peer, streams));
    }

    /// Whether the gateway sends here.
    pub(crate) fn is_active(&self) -> bool {
        self.process.is_active(self.peer, self.server)
    }

    /// A message of M3UA came.
    pub(crate) fn message(&mut self, now: Time, stream: u16, message: Bytes) {
        self.m3ua(now, m3ua::In::Message(self.peer, stream, message));
    }

    /// The role asks for something.
    pub(crate) fn request(&mut self, now: Time, request: &Request) {
        self.user.request(now, request, &mut self.tcap_outs, &mut self.told);
        self.went(now);
    }

    /// Leaves the gateway.
    pub(crate) fn down(&mut self, now: Time) {
        self.m3ua(now, m3ua::In::AspDown(self.peer));
    }

    pub(crate) fn tick(&mut self, now: Time) {
        let mut outs = Vec::new();
        self.process.tick(now, &mut outs);
        self.m3ua_went(now, outs);
        let mut outs = Vec::new();
        self.node.tick(now, &mut outs);
        self.sccp_went(now, outs);
        self.user.tick(now, &mut self.tcap_outs, &mut self.told);
        self.went(now);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let all = [self.process.deadline(), self.node.deadline(), self.user.deadline()];
        all.into_iter().flatten().min()
    }

    /// What is to be sent, each with its stream.
    pub(crate) fn take_sends(&mut self) -> Vec<(u16, Bytes)> {
        core::mem::take(&mut self.sends)
    }

    /// What the role is told.
    pub(crate) fn take_indications(&mut self) -> Vec<Indication> {
        core::mem::take(&mut self.told)
    }

    fn m3ua(&mut self, now: Time, input: m3ua::In) {
        let mut outs = Vec::new();
        self.process.step(now, input, &mut outs);
        self.m3ua_went(now, outs);
    }

    fn m3ua_went(&mut self, now: Time, outs: Vec<m3ua::Out>) {
        use m3ua::Indication as Told;
        for out in outs {
            match out {
                m3ua::Out::Send(_, stream, bytes) => self.sends.push((stream, bytes)),
                m3ua::Out::Abort(_) => self.has_ended = true,
                m3ua::Out::Indicate(Told::Transfer(.., msu)) if msu.si == SERVICE_INDICATOR => {
                    self.sccp(now, sccp::In::Transfer(msu));
                }
                m3ua::Out::Indicate(Told::Pause(_, affected)) => {
                    self.sccp(now, sccp::In::Pause(affected));
                }
                m3ua::Out::Indicate(Told::Resume(_, affected)) => {
                    self.sccp(now, sccp::In::Resume(affected));
                }
                m3ua::Out::Indicate(Told::Status(_, affected, cause, _)) => {
                    self.sccp(now, sccp::In::Status(affected, cause));
                }
                m3ua::Out::Indicate(other) => self.last = format!("{other:?}"),
            }
        }
    }

    fn sccp(&mut self, now: Time, input: sccp::In) {
        let mut outs = Vec::new();
        self.node.step(now, input, &mut outs);
        self.sccp_went(now, outs);
    }

    fn sccp_went(&mut self, now: Time, outs: Vec<sccp::Out>) {
        for out in outs {
            match out {
                sccp::Out::Transfer(msu) => self.transfer(now, msu),
                sccp::Out::Indicate(sccp::Indication::Unitdata(_, unitdata)) => {
                    self.received(now, tcap::In::Unitdata(unitdata));
                }
                sccp::Out::Indicate(sccp::Indication::Notice { cause, data, .. }) => {
                    self.received(now, tcap::In::Notice(cause, data));
                }
                sccp::Out::Indicate(_) => {}
            }
        }
    }

    fn transfer(&mut self, now: Time, msu: Transfer) {
        self.m3ua(now, m3ua::In::Transfer(msu));
    }

    fn received(&mut self, now: Time, input: tcap::In) {
        self.user.received(now, input, &mut self.tcap_outs, &mut self.told);
        self.went(now);
    }

    /// What TCAP sends.
    fn went(&mut self, now: Time) {
        for out in core::mem::take(&mut self.tcap_outs) {
            let tcap::Out::Unitdata(mut unitdata) = out else { continue };
            let called = &mut unitdata.called;
            if called.point_code.is_none() && called.title.is_none() {
                called.point_code = Some(self.via);
            }
            unitdata.calling.subsystem.get_or_insert(self.subsystem);
            self.sccp(now, sccp::In::Unitdata(unitdata));
        }
    }
}
