//! Phones with ESP of their own against a session controller on real sockets, raw ones on
//! loopback; the core is a home network behind a port.
//!
//! ```text
//! Handset 127.0.9.x ══ esp, raw ══→ 127.0.9.1 │ SSC, two shards │ 127.0.9.2 ─udp─→ Home :5080
//! ```
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use handset::{Config, Event, Handset, Home, Packet, Sockets, State, Subscriber};
use machine::Time;
use runtime::{Ask, Running, ShardSpec};
use secagree::{Mode, Preference};
use ssc::Controller;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// For anything that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The core: a home network, and what it is asked beside registrations.
pub struct Core {
    pub socket: Arc<UdpSocket>,
    pub home: Arc<Mutex<Home>>,
    pub asked: Arc<Mutex<Vec<String>>>,
    /// What it has told of registrations.
    pub notified: Arc<Mutex<Vec<String>>>,
    /// What it has answered.
    pub answered: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Core {
    pub fn start(net: u8, subscribers: Vec<Subscriber>) -> Self {
        Self::start_at(SocketAddr::from(([127, net, 0, 2], 5_080)), subscribers)
    }

    pub fn start_at(listen: SocketAddr, subscribers: Vec<Subscriber>) -> Self {
        let socket = UdpSocket::bind(listen).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (socket, home) = (Arc::new(socket), Arc::new(Mutex::new(Home::new(subscribers, 5))));
        let (asked, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let [notified, answered] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let parts = (socket.clone(), home.clone(), asked.clone(), notified.clone());
        let answers = answered.clone();
        let ends = is_over.clone();
        let thread = std::thread::spawn(move || {
            let (socket, home, asked, notified) = parts;
            let mut buffer = vec![0; 65_536];
            while !ends.load(Relaxed) {
                for (to, notify) in home.lock().unwrap().notifies() {
                    let _ = socket.send_to(&notify, to);
                    notified.lock().unwrap().push(String::from_utf8_lossy(&notify).into_owned());
                }
                let Ok((octets, from)) = socket.recv_from(&mut buffer) else { continue };
                let bytes = &buffer[..octets];
                let text = String::from_utf8_lossy(bytes).into_owned();
                if !text.starts_with("OPTIONS ") {
                    asked.lock().unwrap().push(text);
                }
                let answer = home.lock().unwrap().receive(Time::ZERO, from, bytes);
                if let Some(answer) = answer {
                    answers.lock().unwrap().push(String::from_utf8_lossy(&answer).into_owned());
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Self { socket, home, asked, notified, answered, is_over, thread: Some(thread) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What phones have in common.
pub fn config() -> Config {
    Config {
        subscriber: Subscriber::number(1),
        address: IpAddr::from([127, 0, 0, 1]),
        clear_port: 5_060,
        server_port: 6_100,
        client_port: 6_200,
        pcscf: SocketAddr::from(([127, 0, 0, 1], 5_060)),
        preference: Preference::usual(),
        expires_s: 600,
        seed: 1,
        number: 0,
    }
}

/// A phone on its sockets.
pub struct Phone {
    pub handset: Handset,
    sockets: Sockets,
    began: Instant,
    pub events: Vec<Event>,
}

impl Phone {
    pub fn new(net: u8, number: u64, mode: Mode) -> Self {
        Self::drawing(net, number, mode, number)
    }

    /// One that draws other words: as after a new start.
    pub fn drawing(net: u8, number: u64, mode: Mode, seed: u64) -> Self {
        let config = Config {
            subscriber: Subscriber::number(number),
            address: IpAddr::from([127, net, 1, number as u8]),
            pcscf: SocketAddr::from(([127, net, 0, 1], 5_060)),
            preference: Preference { modes: vec![mode], ..Preference::usual() },
            seed,
            ..config()
        };
        Self::with(config)
    }

    pub fn with(config: Config) -> Self {
        let sockets = Sockets::open(&config).expect("raw sockets need CAP_NET_RAW");
        Self { handset: Handset::new(config), sockets, began: Instant::now(), events: Vec::new() }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }

    pub fn act(&mut self, act: impl FnOnce(&mut Handset, Time, &mut Vec<Packet>)) {
        let (now, mut out) = (self.now(), Vec::new());
        act(&mut self.handset, now, &mut out);
        self.sockets.send(&out);
    }

    fn turn(&mut self) {
        let (mut came, mut out) = (Vec::new(), Vec::new());
        self.sockets.receive(&mut came).expect("the sockets stand");
        let now = self.now();
        came.iter().for_each(|packet| self.handset.receive(now, packet, &mut out));
        self.handset.tick(now, &mut out);
        self.sockets.send(&out);
        self.events.extend(std::iter::from_fn(|| self.handset.event()));
    }
}

pub fn until(phones: &mut [Phone], what: &str, done: impl Fn(&[Phone]) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done(phones) {
        let state = phones.first().map(|it| it.handset.state());
        assert!(Instant::now() < end, "{what}: {state:?}");
        phones.iter_mut().for_each(Phone::turn);
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn controller(net: u8, shards: u16, registrar: &str) -> Running<Controller> {
    controller_with(net, shards, registrar, "")
}

/// One whose realm of phones has more keys of IPsec.
pub fn controller_with(net: u8, shards: u16, registrar: &str, ipsec: &str) -> Running<Controller> {
    let listen = format!("[\"udp:127.{net}.0.1:5060\"]");
    controller_at(&listen, net, shards, registrar, ipsec)
}

/// One that phones reach there.
pub fn controller_at(
    listen: &str,
    net: u8,
    shards: u16,
    registrar: &str,
    ipsec: &str,
) -> Running<Controller> {
    start(section(listen, net, shards, registrar, ipsec))
}

/// Its section.
pub fn section(
    listen: &str,
    net: u8,
    shards: u16,
    registrar: &str,
    ipsec: &str,
) -> ssc::config::Ssc {
    let text = format!(
        r#"
        name = "sbc"
        shards = {shards}
        [registrar]
        enabled = true
        {registrar}
        [[realm]]
        name = "access"
        side = "access"
        listen = {listen}
        register_required = true
        [realm.ipsec]
        sets_max = 1000
        {ipsec}
        [[realm]]
        name = "core"
        side = "core"
        trusted = true
        listen = ["udp:127.{net}.0.2:5060"]
        [[next_hop]]
        name = "scscf"
        realm = "core"
        targets = ["udp:127.{net}.0.2:5080"]
        [[route]]
        from = "access"
        to = ["scscf"]
        "#
    );
    let config: ssc::config::Ssc = toml::from_str(&text).expect("it is a section");
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert_eq!(issues, []);
    config
}

/// One with that section.
pub fn start(config: ssc::config::Ssc) -> Running<Controller> {
    let spec = ShardSpec {
        name: "sbc".to_owned(),
        shards: config.shards,
        ports: config.ports(),
        receive_buffer_bytes: 1 << 20,
        ..ShardSpec::default()
    };
    ssc::start(spec, Arc::new(config), Arc::new(Controller::new)).expect("it starts")
}

pub fn asked(running: &Running<Controller>, path: &str) -> Vec<serde_json::Value> {
    let ask = Ask { path: path.to_owned(), ..Ask::default() };
    let answer = running.ask(ask).expect("it answers");
    answer.as_array().cloned().unwrap_or_default()
}

pub fn count(running: &Running<Controller>, name: &str) -> u64 {
    let cells = running.cells();
    let of = |cells: &event::MetricCells| {
        let readings = cells.samples().filter(|(row, _)| row.name == name);
        let value = |reading| match reading {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        };
        readings.map(|(_, reading)| value(reading)).sum::<u64>()
    };
    cells.iter().flat_map(|(_, cells)| cells).map(of).sum()
}

#[test]
fn phones_register_call_and_are_called_by_their_associations_on_two_shards() {
    let net = 201;
    let core = Core::start(net, (1..=6).map(Subscriber::number).collect());
    let running = controller(net, 2, "");
    let mut phones: Vec<Phone> =
        (1..=6).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    for phone in &mut phones {
        phone.act(Handset::register);
    }
    let registered =
        |phones: &[Phone]| phones.iter().all(|it| it.handset.state() == State::Registered);
    until(&mut phones, "all register", registered);
    assert_eq!(core.home.lock().unwrap().counts().accepted, phones.len() as u64);
    let rows = asked(&running, "ipsec");
    assert_eq!(rows.iter().filter(|row| row["state"] == "current").count(), phones.len());
    assert!(rows.iter().all(|row| !row.to_string().contains("key")));
    assert_eq!(asked(&running, "registrations").len(), phones.len());
    for text in core.asked.lock().unwrap().iter().filter(|it| it.starts_with("REGISTER ")) {
        assert!(text.contains("integrity-protected=\"") && !text.contains("Security-"), "{text}");
    }

    phone_asks(&mut phones, "UDP");
    core_asks(net, &core, &mut phones, 1);
    stranger_asks(net, &running);
    again_and_off(&running, &mut phones);
    running.stop(Duration::from_secs(1));
}

#[test]
fn phones_register_ask_and_are_asked_by_tcp_inside_of_esp_on_two_shards() {
    let net = 211;
    let core = Core::start(net, (1..=4).map(Subscriber::number).collect());
    let running = controller(net, 2, "");
    let mut phones: Vec<Phone> =
        (1..=4).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    for phone in &mut phones {
        phone.handset.speak_tcp(true);
        phone.act(Handset::register);
    }
    let registered =
        |phones: &[Phone]| phones.iter().all(|it| it.handset.state() == State::Registered);
    until(&mut phones, "all register", registered);
    assert_eq!(count(&running, "ipsec_tcp_connections"), 4);
    let rows = asked(&running, "registrations");
    assert!(rows.iter().all(|row| row["transport"] == "tcp"), "{rows:?}");
    phone_asks(&mut phones, "TCP");
    core_asks(net, &core, &mut phones, 1);
    assert_eq!(count(&running, "ipsec_tcp_opened_total"), 4, "by the phones' connections");
    for phone in &mut phones {
        phone.act(|handset, _, out| handset.hang_up(out));
    }
    until(&mut phones, "they are closed", |_| count(&running, "ipsec_tcp_connections") == 0);
    core.asked.lock().unwrap().clear();
    core_asks(net, &core, &mut phones, 2);
    assert_eq!(count(&running, "ipsec_tcp_opened_total"), 8, "to the phones' server ports");
    // No kernel listens there.
    let protected = SocketAddr::from(([127, net, 0, 1], 5_062));
    assert!(std::net::TcpStream::connect(protected).is_err());
    again_and_off(&running, &mut phones);
    running.stop(Duration::from_secs(1));
}

/// A request of a phone reaches the core, and the core's answer the phone.
pub fn phone_asks(phones: &mut [Phone], carrier: &str) {
    let number = &phones[0].handset.config().subscriber.impu.clone();
    let via = phones[0].handset.contact();
    let message = format!(
        "MESSAGE sip:b@ims.example.org SIP/2.0\r\nVia: SIP/2.0/{carrier} {via};branch=z9hG4bKm1\r\n\
         Max-Forwards: 70\r\nFrom: <{number}>;tag=1\r\nTo: <sip:b@ims.example.org>\r\n\
         Call-ID: m1\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
    );
    phones[0].act(|handset, _, out| handset.send(message.as_bytes(), out));
    let answered = |phones: &[Phone]| {
        let is_it =
            |it: &Event| matches!(it, Event::Came(text) if text.starts_with(b"SIP/2.0 200"));
        phones[0].events.iter().any(is_it)
    };
    until(phones, "the answer to the phone's request", answered);
}

/// A request of the core for each phone comes by its associations, and is answered.
pub fn core_asks(net: u8, core: &Core, phones: &mut [Phone], round: u8) {
    for at in 0..phones.len() {
        let impi = phones[at].handset.config().subscriber.impi.clone();
        let contact = core.home.lock().unwrap().contact(&impi).expect("registered").to_vec();
        let contact = String::from_utf8(contact).unwrap();
        let uri = contact.split(['<', '>']).nth(1).expect("an address").to_owned();
        let from = core.socket.local_addr().unwrap();
        let options = format!(
            "MESSAGE {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bKo{round}{at}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\n\
             Call-ID: o{round}{at}\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
        );
        phones[at].events.clear();
        core.socket
            .send_to(options.as_bytes(), SocketAddr::from(([127, net, 0, 2], 5_060)))
            .unwrap();
        let came = |phones: &[Phone]| !phones[at].events.is_empty();
        until(phones, "the core's request at the phone", came);
        let Some(Event::Came(request)) = phones[at].events.pop() else { panic!("another event") };
        assert!(request.starts_with(b"MESSAGE "), "{}", String::from_utf8_lossy(&request));
        phones[at].act(|handset, _, out| handset.answer(&request, 200, b"", out));
    }
    let answers = |core: &Core| {
        let asked = core.asked.lock().unwrap();
        asked.iter().filter(|it| it.starts_with("SIP/2.0 200")).count()
    };
    let end = Instant::now() + PATIENCE;
    while answers(core) < phones.len() {
        assert!(Instant::now() < end, "{} answers of phones came", answers(core));
        phones.iter_mut().for_each(Phone::turn);
    }
}

/// In the clear to a protected port: nothing.
fn stranger_asks(net: u8, running: &Running<Controller>) {
    let stranger = UdpSocket::bind(SocketAddr::from(([127, net, 3, 1], 6_200))).unwrap();
    for port in [5_062, 5_064, 5_066] {
        stranger
            .send_to(b"OPTIONS sip:a SIP/2.0\r\n\r\n", SocketAddr::from(([127, net, 0, 1], port)))
            .unwrap();
    }
    let end = Instant::now() + PATIENCE;
    while count(running, "ipsec_dropped_clear_total") < 3 {
        assert!(Instant::now() < end, "they are counted");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All register again, and are gone.
pub fn again_and_off(running: &Running<Controller>, phones: &mut [Phone]) {
    for phone in phones.iter_mut() {
        phone.act(Handset::register);
    }
    let again = |phones: &[Phone]| {
        let is_it = |it: &Event| *it == Event::Registered;
        phones.iter().all(|phone| phone.events.iter().any(is_it))
    };
    phones.iter_mut().for_each(|phone| phone.events.clear());
    until(phones, "all register again", again);
    for phone in phones.iter_mut() {
        phone.act(Handset::deregister);
    }
    let off = |phones: &[Phone]| phones.iter().all(|it| it.handset.state() == State::Off);
    until(phones, "all de-register", off);
    assert_eq!(asked(running, "registrations"), [] as [serde_json::Value; 0]);
    let current = |row: &&serde_json::Value| row["state"] == "current";
    assert_eq!(asked(running, "ipsec").iter().filter(current).count(), 0);
}
