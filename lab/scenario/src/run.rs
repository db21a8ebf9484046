//! A run: endpoints are connected, time is the machine's, and the player plays until all is over.

use crate::connection::{Connection, Event, datagrams};
use crate::endpoint::Place;
use crate::file::{Role, RoleSpelling};
use crate::inside::Inside;
use crate::player::{In, Player, Want, Wanted};
use crate::program::Program;
use crate::report::{Phase, Report};
use crate::sip::{Sip, endpoint};
use crate::stack::Stack;
use anyhow::{Context as _, bail};
use machine::{Machine as _, Time};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tcu::{Client, ClientEvent, Hello, Indication, Misread, Spelling};

/// Reads that wait to be looked at; then sockets are not read any more.
const EVENTS_MAX: usize = 4_096;
/// Of those looked at in one go, at most.
const EVENTS_AT_ONCE_MAX: usize = 256;
/// Longest wait for a gateway to take a role in.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);

/// How a program is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Roles that are played here; none: those that have a place, or all.
    pub only: Vec<String>,
    /// Plays at most.
    pub count: Option<u64>,
    /// Whether who only answers does so to the end of the measurement; else until it is stopped.
    pub is_timed: bool,
    /// What random choices are made with.
    pub seed: u64,
    /// The folder that paths of sockets and keys are in.
    pub base: PathBuf,
}

/// Which roles are played here: those that have a place; all, inside, where none has.
fn played(program: &Program, only: &[String]) -> anyhow::Result<Vec<bool>> {
    for name in only {
        if program.role(name).is_none() {
            let known = program.roles.iter().map(|it| &*it.name);
            bail!("there is no role `{name}`; {}", config::meant(name, known, "there is none"));
        }
    }
    let has_places = program.roles.iter().any(|it| it.at.is_some());
    let is_here = |it: &Role| {
        (it.at.is_some() || !has_places) && (only.is_empty() || only.contains(&it.name))
    };
    let is_here: Vec<bool> = program.roles.iter().map(is_here).collect();
    if !is_here.contains(&true) {
        bail!("none of its roles has a place: say where, with --at ROLE=PLACE");
    }
    Ok(is_here)
}

enum Endpoint {
    /// Played elsewhere.
    None,
    /// With others inside this process.
    Inside,
    Application {
        client: Box<Client>,
        connection: Connection,
        out: Vec<u8>,
        /// The gateway has taken it in.
        is_welcome: bool,
    },
    Stack {
        stack: Box<Stack>,
        connection: Connection,
    },
    Sip {
        sip: Box<Sip>,
        socket: UdpSocket,
    },
}

struct Runner {
    program: Arc<Program>,
    player: Player,
    endpoints: Vec<Endpoint>,
    inside: Inside,
    events: Receiver<Event>,
    clock: Instant,
    wants: Vec<Want>,
    told: Vec<(usize, Indication)>,
}

/// Runs a program to its end, until `is_stopped`, or until a connection is lost: then
/// [`Report::lost`] says why.
///
/// # Errors
/// A gateway cannot be reached, or takes a role not in.
pub fn run(
    program: Program,
    options: &Options,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Report> {
    let program = Arc::new(program);
    let is_here = played(&program, &options.only)?;
    let clock = Instant::now();
    let now = Time::ZERO;
    let (sender, events) = sync_channel(EVENTS_MAX);
    let mut runner = Runner {
        player: Player::new(Arc::clone(&program), is_here.clone(), options.seed, now),
        endpoints: Vec::new(),
        inside: Inside::new(&program.roles, options.seed, now),
        events,
        clock,
        wants: Vec::new(),
        told: Vec::new(),
        program,
    };
    runner.connect(&is_here, options, &sender)?;
    let begins = runner.program.begins(&|role| is_here.get(role).copied().unwrap_or(false));
    if begins || options.is_timed {
        let now = runner.now();
        runner.player.start(now, options.count);
    }
    Ok(runner.finish(is_stopped))
}

fn keys(role: &Role, base: &Path) -> anyhow::Result<Option<authentication::Keys>> {
    let Some(file) = &role.key_file else { return Ok(None) };
    config::keys::read(base, file)
        .map(Some)
        .map_err(|wrong| anyhow::anyhow!("{}", wrong.issue(file).what))
}

impl Runner {
    fn now(&self) -> Time {
        Time::ZERO + self.clock.elapsed()
    }

    /// Connects the roles, and waits until each is taken in.
    fn connect(
        &mut self,
        is_here: &[bool],
        options: &Options,
        events: &SyncSender<Event>,
    ) -> anyhow::Result<()> {
        let program = Arc::clone(&self.program);
        for (at, role) in program.roles.iter().enumerate() {
            let is_here = is_here.get(at) == Some(&true);
            let endpoint = match &role.at {
                _ if !is_here => Endpoint::None,
                None => Endpoint::Inside,
                Some(text) => {
                    let place: Place = text.parse().map_err(anyhow::Error::msg)?;
                    let endpoint = self.endpoint(at, role, &place, options, events);
                    endpoint.with_context(|| format!("role {} at {text}", role.name))?
                }
            };
            self.endpoints.push(endpoint);
        }
        for at in 0..self.endpoints.len() {
            let name = &program.roles[at].name;
            self.taken_in(at).with_context(|| format!("role {name}"))?;
        }
        Ok(())
    }

    fn endpoint(
        &self,
        at: usize,
        role: &Role,
        place: &Place,
        options: &Options,
        events: &SyncSender<Event>,
    ) -> anyhow::Result<Endpoint> {
        if let Place::Stack { .. } = place {
            let seed = options.seed.wrapping_add(at as u64);
            let mut stack = Box::new(Stack::new(role, seed, self.now())?);
            let (mut connection, streams) = Connection::open(place, role.udp_port, at, events)?;
            stack.up(self.now(), streams);
            flush_stack(&mut stack, &mut connection)?;
            return Ok(Endpoint::Stack { stack, connection });
        }
        if *place == Place::Inside {
            return Ok(Endpoint::Inside);
        }
        if let Place::Sip(to) = place {
            return self.sip(at, role, *to, options, events);
        }
        let name = role.application.as_ref().unwrap_or(&role.name);
        let group = role.group.as_deref().unwrap_or_default();
        let hello = Hello::new(name, group, &format!("play-{}", std::process::id()));
        let spelling = match role.spelling {
            RoleSpelling::Tagged => Spelling::Tagged,
            RoleSpelling::Json => Spelling::Json,
        };
        let client = Box::new(Client::new(hello, spelling, keys(role, &options.base)?));
        let (mut connection, _) = Connection::open(place, role.udp_port, at, events)?;
        connection.send(0, client.greeting().into())?;
        Ok(Endpoint::Application { client, connection, out: Vec::new(), is_welcome: false })
    }

    /// An end of SIP: it calls if a step does, else it answers.
    fn sip(
        &self,
        at: usize,
        role: &Role,
        to: SocketAddr,
        options: &Options,
        events: &SyncSender<Event>,
    ) -> anyhow::Result<Endpoint> {
        let calls = self.program.calls.get(at).copied().unwrap_or(false);
        let (side, local) = match (calls, &role.local) {
            (false, _) => (sip_load::Side::Answerer, to),
            (true, Some(local)) => {
                let local = local.parse().with_context(|| format!("local = {local}"))?;
                (sip_load::Side::Caller, local)
            }
            (true, None) => bail!("who calls needs `local`: the address and port it calls from"),
        };
        let socket = datagrams(local, at, events)?;
        let local = socket.local_addr()?;
        let seed = options.seed.wrapping_add(at as u64) ^ u64::from(std::process::id()) << 8;
        let sip = Box::new(Sip::new(role, side, endpoint(local, to), seed, self.now())?);
        Ok(Endpoint::Sip { sip, socket })
    }

    /// Waits until the gateway has taken a role in. What roles are told meanwhile is played.
    fn taken_in(&mut self, at: usize) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match &self.endpoints[at] {
                Endpoint::None | Endpoint::Inside | Endpoint::Sip { .. } => return Ok(()),
                Endpoint::Application { is_welcome: true, .. } => return Ok(()),
                Endpoint::Stack { stack, .. } if stack.is_active() => return Ok(()),
                Endpoint::Stack { stack, .. } if Instant::now() >= until => {
                    bail!("the gateway does not let it become active: {}", stack.last);
                }
                _ if Instant::now() >= until => bail!("the gateway does not take it in"),
                _ => {}
            }
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Ended(role, why)) if role == at => bail!("{why}"),
                Ok(event) => self.happened(event)?,
                Err(_) => {}
            }
            self.turn()?;
        }
    }

    /// Plays, and leaves the gateways.
    fn finish(mut self, is_stopped: &dyn Fn() -> bool) -> Report {
        let played = self.play(is_stopped);
        self.player.stop(&mut self.wants);
        // Of a connection that is lost now too, the first was told.
        let played = played.and(self.carry_out());
        let mut report = self.player.report(self.now());
        report.lost = played.err().map(|why| format!("{why:#}"));
        for (role, endpoint) in self.program.roles.iter().zip(&self.endpoints) {
            if let Endpoint::Sip { sip, .. } = endpoint {
                report.sip.insert(role.name.clone(), sip.report());
            }
        }
        self.end();
        report
    }

    fn play(&mut self, is_stopped: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut looked = Instant::now();
        while self.player.phase(self.now()) != Phase::Over {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if is_stopped() {
                    break;
                }
            }
            self.turn()?;
            let now = self.now();
            let wait = self.deadline().map_or(LOOK, |at| at.since(now)).min(LOOK);
            match self.events.recv_timeout(wait) {
                Ok(event) => {
                    self.happened(event)?;
                    for _ in 0..EVENTS_AT_ONCE_MAX {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.happened(event)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("every connection is gone");
                }
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        let stacks = self.endpoints.iter().filter_map(|it| match it {
            Endpoint::Stack { stack, .. } => stack.deadline(),
            Endpoint::Sip { sip, .. } => sip.deadline(),
            _ => None,
        });
        let own = [self.player.deadline(), self.inside.deadline()];
        own.into_iter().flatten().chain(stacks).min()
    }

    /// Lets timers fire, and carries out what is wanted.
    fn turn(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        self.player.tick(now, &mut self.wants);
        for (at, endpoint) in self.endpoints.iter_mut().enumerate() {
            match endpoint {
                Endpoint::Stack { stack, .. } => {
                    stack.tick(now);
                    self.told.extend(stack.take_indications().into_iter().map(|it| (at, it)));
                }
                Endpoint::Sip { sip, .. } => sip.tick(now),
                _ => {}
            }
        }
        self.inside.tick(now, &mut self.told);
        self.carry_out()
    }

    /// Carries out what is wanted, and tells what comes of it, until nothing does.
    fn carry_out(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        loop {
            for (role, it) in core::mem::take(&mut self.told) {
                self.player.step(now, In::Indication(role, it), &mut self.wants);
            }
            for (role, endpoint) in self.endpoints.iter_mut().enumerate() {
                let Endpoint::Sip { sip, .. } = endpoint else { continue };
                for (call, became) in sip.take_moments() {
                    self.player.step(now, In::Call(role, call, became), &mut self.wants);
                }
            }
            if self.wants.is_empty() && self.told.is_empty() {
                break;
            }
            for want in core::mem::take(&mut self.wants) {
                self.request(now, &want);
            }
        }
        let mut first = Ok(());
        for role in 0..self.endpoints.len() {
            if let Err(why) = flush(&mut self.endpoints[role]) {
                let lost = self.lost(role, &format!("{why:#}"));
                first = first.and(lost);
            }
        }
        first
    }

    /// The connection of a role is gone: its plays have failed, and the run ends.
    fn lost(&mut self, role: usize, why: &str) -> anyhow::Result<()> {
        let endpoint = core::mem::replace(&mut self.endpoints[role], Endpoint::None);
        if let Endpoint::Application { connection, .. } | Endpoint::Stack { connection, .. } =
            &endpoint
        {
            connection.close();
        }
        let now = self.now();
        self.player.step(now, In::Lost(role, why.to_owned()), &mut self.wants);
        bail!("role {}: {why}", self.program.roles[role].name)
    }

    fn request(&mut self, now: Time, want: &Want) {
        let request = match (&want.what, self.endpoints.get_mut(want.role)) {
            (Wanted::Request(request), _) => request,
            (Wanted::Call { call, subscriber }, Some(Endpoint::Sip { sip, .. })) => {
                return sip.call(now, *call, *subscriber);
            }
            (Wanted::Release { call }, Some(Endpoint::Sip { sip, .. })) => {
                return sip.release(now, *call);
            }
            _ => return,
        };
        match self.endpoints.get_mut(want.role) {
            Some(Endpoint::Application { client, out, .. }) => client.write(request, out),
            Some(Endpoint::Stack { stack, .. }) => {
                stack.request(now, request);
                let told = stack.take_indications().into_iter();
                self.told.extend(told.map(|it| (want.role, it)));
            }
            Some(Endpoint::Inside) => {
                self.inside.request(now, want.role, request, &mut self.told);
            }
            Some(Endpoint::Sip { .. } | Endpoint::None) | None => {}
        }
    }

    /// Something came by a socket.
    fn happened(&mut self, event: Event) -> anyhow::Result<()> {
        let now = self.now();
        match event {
            Event::Octets(role, octets) => {
                if let Some(Endpoint::Application { client, out, is_welcome, .. }) =
                    self.endpoints.get_mut(role)
                {
                    let (told, mut bye) = (&mut self.told, None);
                    let answer = client.received(&octets, &mut |event| match event {
                        ClientEvent::Welcome(_) => *is_welcome = true,
                        ClientEvent::Indication(it) => told.push((role, it)),
                        ClientEvent::Bye(why) => bye = Some(why),
                        ClientEvent::Malformed(it) => {
                            let Misread { what, at, .. } = it;
                            bye = Some(format!("the gateway does not understand {at}: {what}"));
                        }
                        ClientEvent::Unread(wrong) => bye = Some(wrong.to_string()),
                    });
                    match answer {
                        Ok(answer) => out.extend(answer),
                        Err(wrong) => bye = Some(wrong.to_string()),
                    }
                    if let Some(why) = bye {
                        // What came before it is told.
                        let carried = self.carry_out();
                        let lost = self.lost(role, &format!("the connection ends: {why}"));
                        return carried.and(lost);
                    }
                }
            }
            Event::Message(role, stream, message) => {
                if let Some(Endpoint::Stack { stack, .. }) = self.endpoints.get_mut(role) {
                    stack.message(now, stream, message);
                    self.told.extend(stack.take_indications().into_iter().map(|it| (role, it)));
                }
            }
            Event::Datagram(role, from, octets) => {
                if let Some(Endpoint::Sip { sip, .. }) = self.endpoints.get_mut(role)
                    && !octets.is_empty()
                {
                    sip.datagram(now, from, &octets);
                }
            }
            Event::Ended(role, why) => {
                return self.lost(role, &why);
            }
        }
        self.carry_out()
    }

    /// Leaves the gateways.
    fn end(mut self) {
        let now = self.now();
        for endpoint in &mut self.endpoints {
            match endpoint {
                Endpoint::Application { connection, .. } => connection.close(),
                Endpoint::Stack { stack, connection } => {
                    stack.down(now);
                    // The gateway may be gone already.
                    let _ = flush_stack(stack, connection);
                    connection.close();
                }
                Endpoint::Sip { .. } | Endpoint::Inside | Endpoint::None => {}
            }
        }
    }
}

/// Sends what is to be sent.
fn flush(endpoint: &mut Endpoint) -> anyhow::Result<()> {
    match endpoint {
        Endpoint::Application { connection, out, .. } if !out.is_empty() => {
            connection.send(0, core::mem::take(out).into())?;
        }
        Endpoint::Stack { stack, connection } => flush_stack(stack, connection)?,
        Endpoint::Sip { sip, socket } => {
            for (to, octets) in sip.take_sends() {
                // What is not taken is lost, as on any way of UDP.
                let _ = socket.send_to(&octets, to);
            }
        }
        _ => {}
    }
    Ok(())
}

fn flush_stack(stack: &mut Stack, connection: &mut Connection) -> anyhow::Result<()> {
    for (stream, message) in stack.take_sends() {
        connection.send(stream, message)?;
    }
    if stack.has_ended {
        bail!("the gateway has ended the association: {}", stack.last);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Cause;
    use std::collections::BTreeMap;

    /// Calls that pause, played inside; what comes by a connection of the first role.
    fn runner(came: Vec<Event>) -> (Runner, SyncSender<Event>) {
        let mut built_in = crate::built_in().iter();
        let text = built_in.find(|it| it.name == "cap-call-monitoring").expect("it is there").text;
        let program = Arc::new(crate::read(text, Path::new(".")).expect("it is right"));
        let is_here = vec![true; program.roles.len()];
        let (sender, events) = sync_channel(EVENTS_MAX);
        came.into_iter().for_each(|it| sender.send(it).expect("there is room"));
        let mut player = Player::new(Arc::clone(&program), is_here, 1, Time::ZERO);
        player.start(Time::ZERO, None);
        let runner = Runner {
            player,
            endpoints: program.roles.iter().map(|_| Endpoint::Inside).collect(),
            inside: Inside::new(&program.roles, 1, Time::ZERO),
            events,
            clock: Instant::now(),
            wants: Vec::new(),
            told: Vec::new(),
            program,
        };
        (runner, sender)
    }

    #[test]
    fn a_connection_that_is_lost_ends_the_run_with_its_report() {
        let (runner, _sender) = runner(vec![Event::Ended(0, "it is gone".into())]);
        let report = runner.finish(&|| false);
        let why = report.lost.as_deref().expect("it was lost");
        assert!(why.contains("it is gone"), "{why}");
        let failures: Vec<&BTreeMap<Cause, u64>> =
            report.scenarios.iter().map(|it| &it.failures).collect();
        assert!(failures[0].get(&Cause::Lost).is_some_and(|it| *it > 0), "{report:#?}");
        for it in &report.scenarios {
            assert_eq!((it.begun, it.running), (it.completed + it.failed(), 0), "{report:#?}");
        }
        assert!(report.table().contains("before it was over: role"), "{}", report.table());
    }

    #[test]
    fn every_connection_that_is_gone_is_told_and_a_run_that_is_stopped_is_not_lost() {
        let (it, sender) = runner(vec![]);
        drop(sender);
        assert!(it.finish(&|| false).lost.is_some_and(|it| it.contains("every connection")));
        let (it, _sender) = runner(vec![]);
        assert_eq!(it.finish(&|| true).lost, None);
    }
}
