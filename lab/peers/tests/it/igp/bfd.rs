//! BFD with FRR's bfdd and with BIRD: up, down within the detection time, authentication, timers.

use super::daemons::Daemon;
use super::wire::Leaving;
use super::{Place, now, until};
use bfd::{
    AuthType, Authentication, In, Key, Limits, Out, PORT_MULTIHOP, PORT_SINGLE_HOP, Path,
    SOURCE_PORT_MIN, SessionId, SessionSettings, Sessions, State, Timers,
};
use driver::Clock;
use machine::{Duration, Machine, Time};
use std::net::Ipv4Addr;

const UDP: u8 = 17;
const INTERVAL: Duration = Duration::from_millis(50);

struct Field {
    place: Place,
    sessions: Sessions,
    id: SessionId,
    path: Path,
    clock: Clock,
    /// When the last packet of the peer was taken.
    heard: Time,
    /// Our changes of state.
    states: Vec<(Time, State)>,
}

fn peer(place: &Place) -> Ipv4Addr {
    let [a, b, c, _] = place.wire.address.octets();
    Ipv4Addr::new(a, b, c, 2)
}

impl Field {
    fn new(place: Place, path: Path, authentication: Option<Authentication>) -> Self {
        let clock = Clock::start();
        let mut sessions = Sessions::new(Limits::default(), [7; 32]);
        let authentication = authentication.map(|it| sessions.keys.add(it).unwrap());
        let timers = Timers::every(INTERVAL, 3);
        let settings = SessionSettings { authentication, ..SessionSettings::new(path, timers) };
        let id = sessions.add(now(&clock), settings).unwrap();
        Self { place, sessions, id, path, clock, heard: Time::ZERO, states: Vec::new() }
    }

    fn port(&self) -> u16 {
        if matches!(self.path, Path::Multihop { .. }) { PORT_MULTIHOP } else { PORT_SINGLE_HOP }
    }

    fn round(&mut self) {
        let mut out = Vec::new();
        for arrived in self.place.wire.receive() {
            let port = arrived.payload.get(2..4).map(|it| u16::from_be_bytes([it[0], it[1]]));
            if arrived.protocol == UDP && port == Some(self.port()) {
                let (now, octets) = (now(&self.clock), &arrived.payload[8..]);
                self.heard = now;
                let _ = self.sessions.receive(now, self.path, arrived.ttl, octets, &mut out);
            }
        }
        let now = now(&self.clock);
        self.sessions.tick(now, &mut out);
        self.take(now, out);
    }

    fn step(&mut self, input: In) {
        let (now, mut out) = (now(&self.clock), Vec::new());
        self.sessions.step(now, input, &mut out);
        self.take(now, out);
    }

    fn take(&mut self, now: Time, out: Vec<Out>) {
        for out in out {
            match out {
                Out::State { to, .. } => self.states.push((now, to)),
                Out::Send { datagram, .. } => self.send(datagram.octets()),
                Out::SendEcho { .. } => panic!("no echoes were asked for"),
            }
        }
    }

    fn send(&self, octets: &[u8]) {
        let length = u16::try_from(8 + octets.len()).unwrap();
        let head = [SOURCE_PORT_MIN, self.port(), length, 0].map(u16::to_be_bytes).concat();
        let payload = [&head[..], octets].concat();
        let destination = peer(&self.place);
        let ttl = bfd::TTL;
        self.place.wire.send(&Leaving { destination, protocol: UDP, ttl, payload: &payload });
    }

    fn state(&self) -> State {
        self.sessions.summary(self.id).unwrap().state
    }
}

/// Comes up, is put down and up by our operator, and is lost within the detection time.
fn live(field: &mut Field, says_up: impl Fn(&Field) -> bool) {
    let up = |field: &mut Field| field.state() == State::Up && says_up(field);
    until("both are up", field, Field::round, up);
    // The quick interval has been agreed on.
    let agreed = |field: &mut Field| {
        let summary = field.sessions.summary(field.id).unwrap();
        summary.interval == INTERVAL && summary.detection_time <= INTERVAL * 3
    };
    until("the intervals are agreed on", field, Field::round, agreed);
    let times = Timers::every(INTERVAL * 2, 3);
    field.step(In::TimersChanged(field.id, times));
    let slower =
        |field: &mut Field| field.sessions.summary(field.id).unwrap().interval == INTERVAL * 2;
    until("a slower interval is agreed on", field, Field::round, slower);
    assert_eq!(field.state(), State::Up);
    field.step(In::Disabled(field.id));
    until("the peer hears of it", field, Field::round, |field| !says_up(field));
    field.step(In::Enabled(field.id));
    until("both are up again", field, Field::round, up);
    let before = field.states.len();
    field.place.wire.is_cut = true;
    until("we notice the cut", field, Field::round, |field| field.state() == State::Down);
    let took = field.states[before].0.since(field.heard);
    assert!(took >= INTERVAL * 3, "not before three intervals: {took:?}");
    until("the peer notices it", field, Field::round, |field| !says_up(field));
    field.place.wire.is_cut = false;
    until("both are up once more", field, Field::round, up);
}

fn frr_says_up(field: &Field) -> bool {
    let daemon = Daemon::Frr("bfdd", String::new());
    field.place.ask(&daemon, "show bfd peers").contains("Status: up")
}

fn bird_says_up(field: &Field) -> bool {
    let said = field.place.ask(&Daemon::Bird(String::new()), "show bfd sessions");
    said.lines().any(|line| line.contains("10.") && line.contains(" Up "))
}

#[test]
fn with_frr_on_one_hop() {
    let mut place = Place::new(31);
    place.start(&Daemon::zebra());
    let configuration = "log stdout errors\nbfd\n profile quick\n  receive-interval 50\n\
        \x20 transmit-interval 50\n  detect-multiplier 3\n exit\n\
        \x20peer 10.31.0.1 interface far\n  profile quick\n exit\nexit\n";
    place.start(&Daemon::Frr("bfdd", configuration.into()));
    let path = Path::SingleHop { interface: 1, remote: peer(&place).into() };
    live(&mut Field::new(place, path, None), frr_says_up);
}

#[test]
fn with_frr_over_several_hops() {
    let mut place = Place::new(32);
    place.start(&Daemon::zebra());
    let configuration = "log stdout errors\nbfd\n profile quick\n  receive-interval 50\n\
        \x20 transmit-interval 50\n  detect-multiplier 3\n exit\n\
        \x20peer 10.32.0.1 multihop local-address 10.32.0.2\n  profile quick\n exit\nexit\n";
    place.start(&Daemon::Frr("bfdd", configuration.into()));
    let (local, remote) = (place.wire.address.into(), peer(&place).into());
    live(&mut Field::new(place, Path::Multihop { vrf: 0, local, remote }, None), frr_says_up);
}

#[test]
fn with_bird_and_each_kind_of_authentication() {
    let kinds = [
        (None, "none"),
        (Some(AuthType::SimplePassword), "simple"),
        (Some(AuthType::KeyedMd5), "keyed md5"),
        (Some(AuthType::MeticulousKeyedMd5), "meticulous keyed md5"),
        (Some(AuthType::KeyedSha1), "keyed sha1"),
        (Some(AuthType::MeticulousKeyedSha1), "meticulous keyed sha1"),
    ];
    for (at, (kind, name)) in kinds.into_iter().enumerate() {
        let net = 40 + at as u8;
        let mut place = Place::new(net);
        let password = if kind.is_some() { "password \"secret\" { id 7; };" } else { "" };
        let configuration = format!(
            "log stderr all;\nrouter id 10.255.0.2;\nprotocol device {{ }}\n\
            protocol bfd {{ interface \"far\" {{ min rx interval 50 ms; min tx interval 50 ms; \
            idle tx interval 300 ms; multiplier 3; authentication {name}; {password} }}; \
            neighbor 10.{net}.0.1 dev \"far\"; }}\n"
        );
        place.start(&Daemon::Bird(configuration));
        let key = kind.map(|kind| (kind, Key::new(kind, 7, b"secret").unwrap()));
        let authentication = key.map(|(kind, key)| Authentication::new(kind, vec![key]).unwrap());
        let path = Path::SingleHop { interface: 1, remote: peer(&place).into() };
        live(&mut Field::new(place, path, authentication), bird_says_up);
    }
}
