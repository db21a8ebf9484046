//! Real packets of real programs through emulated links, between namespaces. Needs root and
//! curl: without them the tests fail and say so.

use attack::{Namespace, Veth};
use link::{Change, Counts, Emulator, Event, LinkPlan, Plan, Summary, Way, Which};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// Two namespaces with so many paths between them, each by way of a third one where a link stands.
struct Field {
    left: Namespace,
    right: Namespace,
    middle: Namespace,
}

fn address(path: usize, end: usize) -> IpAddr {
    format!("10.199.{path}.{end}").parse().unwrap()
}

impl Field {
    fn new(name: &str, paths: usize) -> Self {
        let space =
            |place| Namespace::new(&format!("{name}-{place}")).expect("namespaces need root");
        let [left, right, middle] = ["left", "right", "middle"].map(space);
        // The link's own ends say nothing by themselves.
        middle.set("net.ipv6.conf.default.disable_ipv6", "1").unwrap();
        for path in 0..paths {
            for (end, namespace) in [(1, &left), (2, &right)] {
                let (near, far) = (format!("near{path}"), format!("far{path}{end}"));
                let (v4, v6) =
                    (format!("{}/24", address(path, end)), format!("fd{path}::{end}/64"));
                let mac = |side: usize| format!("02:00:00:{side:02}:{path:02}:{end:02}");
                Veth::pair(
                    Veth { namespace, interface: &near, addresses: &[&v4], mac: &mac(0) },
                    Veth { namespace: &middle, interface: &far, addresses: &[], mac: &mac(1) },
                )
                .unwrap();
                namespace.ip(&["address", "add", &v6, "dev", &near, "nodad"]).unwrap();
            }
        }
        Self { left, right, middle }
    }

    fn plan(&self, path: usize, there: &str, back: &str, events: &[Event]) -> LinkPlan {
        let place = |end: usize| format!("{}/far{path}{end}", self.middle.name()).parse().unwrap();
        let way = |text: &str| toml::from_str::<Way>(text).unwrap();
        let (there, back) = (way(there), way(back));
        let between = [place(1), place(2)];
        LinkPlan::new(format!("path{path}"), between, &there, &back, events).unwrap()
    }

    fn link(&self, there: &str, back: &str) -> Emulator {
        let links = vec![self.plan(0, there, back, &[])];
        Emulator::start(&Plan { seed: 1, links }).unwrap()
    }
}

/// Runs on a thread inside a namespace.
fn inside<T: Send>(namespace: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            attack::enter(namespace.name()).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

fn socket(namespace: &Namespace, at: SocketAddr) -> UdpSocket {
    let socket = inside(namespace, || UdpSocket::bind(at).unwrap());
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket
}

/// Numbered datagrams from left to right, so far apart; the number and the time on the way of each
/// that came.
fn datagrams(field: &Field, count: u32, octets: usize, gap: Duration) -> Vec<(u32, Duration)> {
    let from = socket(&field.left, (address(0, 1), 0).into());
    let to = socket(&field.right, (address(0, 2), 0).into());
    let target = to.local_addr().unwrap();
    // The first one waits until the addresses are resolved.
    resolve(&from, &to);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut bytes = vec![0; octets];
            for number in 0..count {
                while begun.elapsed() < gap * number {
                    std::thread::yield_now();
                }
                let sent = begun.elapsed().as_nanos() as u64;
                bytes[..4].copy_from_slice(&number.to_be_bytes());
                bytes[4..12].copy_from_slice(&sent.to_be_bytes());
                from.send_to(&bytes, target).unwrap();
            }
        });
        let (mut bytes, mut came) = (vec![0; 65_536], Vec::new());
        while let Ok(length) = to.recv(&mut bytes) {
            assert_eq!(length, octets);
            let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            let sent = u64::from_be_bytes(bytes[4..12].try_into().unwrap());
            came.push((number, begun.elapsed().saturating_sub(Duration::from_nanos(sent))));
        }
        came
    })
}

/// Waits until a datagram passes.
#[track_caller]
fn resolve(from: &UdpSocket, to: &UdpSocket) {
    let (target, end) = (to.local_addr().unwrap(), Instant::now() + PATIENCE);
    loop {
        from.send_to(b"hello", target).unwrap();
        if to.recv(&mut [0; 16]).is_ok() {
            break;
        }
        assert!(Instant::now() < end, "nothing passes");
    }
    while to.recv(&mut [0; 16]).is_ok() {}
}

/// Whether a datagram arrives.
fn passes(from: &UdpSocket, to: &UdpSocket) -> bool {
    from.send_to(b"x", to.local_addr().unwrap()).unwrap();
    to.recv(&mut [0; 16]).is_ok()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
    }
}

/// Sends so many octets by TCP from left to right; how long it took. Each must arrive as it was.
fn stream(field: &Field, to: IpAddr, octets: usize) -> Duration {
    let listener = inside(&field.right, || TcpListener::bind((to, 0)).unwrap());
    let target = listener.local_addr().unwrap();
    let pattern = |at: usize| (at * 31 % 251) as u8;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            assert_eq!(got.len(), octets);
            assert!(got.iter().enumerate().all(|(at, &octet)| octet == pattern(at)));
        });
        let begun = Instant::now();
        let mut stream = inside(&field.left, || TcpStream::connect(target).unwrap());
        stream.write_all(&(0..octets).map(pattern).collect::<Vec<u8>>()).unwrap();
        drop(stream);
        receiver.join().unwrap();
        begun.elapsed()
    })
}

/// Nothing was lost but what the pipes lost on purpose.
fn sound(summary: &Summary) {
    for link in &summary.links {
        for way in [&link.forward, &link.reverse] {
            assert_eq!((way.missed, way.unreadable, way.refused), (0, 0, 0), "{way:?}");
        }
    }
}

fn forward(emulator: Emulator) -> Counts {
    let summary = emulator.end().unwrap();
    sound(&summary);
    summary.links[0].forward.counts
}

#[test]
fn datagrams_take_the_delay_and_their_time_at_the_rate() {
    let field = Field::new("delay", 1);
    // 1,042 octets of a frame take 8.3 ms at 1 Mbit/s.
    let emulator = field.link("delay = '10ms'\nrate = '1mbit'", "delay = '3ms'");
    let mut came = datagrams(&field, 100, 1_000, Duration::from_millis(12));
    assert_eq!(came.len(), 100);
    assert!(came.iter().map(|(number, _)| number).is_sorted());
    let least = Duration::from_micros(10_000 + 1_042 * 8);
    came.sort_by_key(|(_, delay)| *delay);
    assert!(came[0].1 >= least, "{:?}", came[0]);
    // The quickest: a busy machine hands over the others later.
    assert!(came[0].1 < least + Duration::from_millis(8), "{:?}", came[0]);
    let summary = emulator.end().unwrap();
    sound(&summary);
    let late = summary.links[0].forward.late_us.unwrap();
    assert!(late.p50 <= late.p99 && late.p99 <= late.max, "{late:?}");
    assert!(summary.links[0].reverse.counts.delivered > 0, "ARP went back");
}

#[test]
fn losses_are_as_many_as_asked_for() {
    let field = Field::new("loss", 1);
    let emulator = field.link("loss = '20%'", "loss = '0'");
    let came = datagrams(&field, 3_000, 100, Duration::from_micros(100)).len();
    let counts = forward(emulator);
    assert!((2_290..2_510).contains(&came), "{came} of 3,000 came");
    let share = counts.lost as f64 / counts.offered as f64;
    assert!((0.17..0.23).contains(&share), "{counts:?}");
    assert!(came as u64 <= counts.delivered, "{counts:?}");
}

#[test]
fn a_stream_is_held_to_the_rate_and_joined_frames_cross_as_single_ones() {
    let field = Field::new("rate", 1);
    for to in [address(0, 2), "fd0::2".parse().unwrap()] {
        let emulator = field.link("rate = '40mbit'\nqueue = '100'\ndelay = '2ms'", "");
        let octets = 4_000_000;
        let took = stream(&field, to, octets);
        let summary = emulator.end().unwrap();
        sound(&summary);
        let way = &summary.links[0].forward;
        assert!(way.joined > 20, "the sender's kernel joins: {way:?}");
        let counts = way.counts;
        let mbit_s = octets as f64 * 8.0 / took.as_secs_f64() / 1e6;
        assert!((8.0..40.0).contains(&mbit_s), "{mbit_s} Mbit/s over {to}");
        let frames = counts.delivered_octets / counts.delivered;
        assert!((1_000..1_515).contains(&frames), "{frames} octets a frame: {counts:?}");
    }
}

#[test]
fn a_run_of_datagrams_that_was_sent_as_one_is_lost_and_counted_one_by_one() {
    let field = Field::new("run", 1);
    let emulator = field.link("loss = '50%'", "");
    let at = SocketAddr::from((address(0, 1), 0));
    let from = socket(&field.left, at);
    let to = socket(&field.right, (address(0, 2), 0).into());
    resolve(&from, &to);
    let runs = inside(&field.left, || UdpSocket::bind(at).unwrap().local_addr().unwrap());
    let runs =
        inside(&field.left, || driver::DatagramSocket::bind(runs, &Default::default()).unwrap());
    let bytes: Vec<u8> = (0..40u8).flat_map(|number| [number; 1_000]).collect();
    let mut batch = driver::SendBatch::new();
    let mut filling = batch.fill();
    assert!(filling.push(&to.local_addr().unwrap(), None, 1_000, std::iter::once(&bytes[..])));
    assert_eq!(filling.send(&runs, 0).unwrap(), 1);
    let (mut octets, mut came) = ([0; 2_000], Vec::new());
    while let Ok(length) = to.recv(&mut octets) {
        assert!(length == 1_000 && octets[..1_000].iter().all(|&octet| octet == octets[0]));
        came.push(octets[0]);
    }
    assert!(came.is_sorted() && (6..35).contains(&came.len()), "{came:?}");
    let summary = emulator.end().unwrap();
    assert!(summary.links[0].forward.joined == 1, "{summary:?}");
}

#[test]
fn flipped_bits_reach_no_program_and_a_stream_outlives_them() {
    let field = Field::new("flip", 1);
    let emulator = field.link("", "");
    let from = socket(&field.left, (address(0, 1), 0).into());
    let to = socket(&field.right, (address(0, 2), 0).into());
    resolve(&from, &to);
    let corrupt = |text: &str| {
        let way: Way = toml::from_str(text).unwrap();
        let spec = way.over(&link::PipeSpec::default()).unwrap();
        emulator.change("path0", Which::Forward, Change::Become(spec)).unwrap();
    };
    corrupt("corrupt = '100%'");
    until("nothing passes", || !passes(&from, &to));
    for _ in 0..200 {
        from.send_to(&[0x55; 900], to.local_addr().unwrap()).unwrap();
    }
    assert!(to.recv(&mut [0; 1_000]).is_err(), "its checksum does not check");
    corrupt("corrupt = '2%'");
    stream(&field, address(0, 2), 2_000_000);
    let counts = forward(emulator);
    assert!(counts.corrupted > 200 && counts.delivered > 1_000, "{counts:?}");
}

#[test]
fn one_of_two_paths_is_cut_and_healed_while_the_other_carries_on() {
    let field = Field::new("cut", 2);
    let links = vec![field.plan(0, "", "", &[]), field.plan(1, "", "", &[])];
    let emulator = Emulator::start(&Plan { seed: 1, links }).unwrap();
    let pair = |path: usize| {
        let from = socket(&field.left, (address(path, 1), 0).into());
        let to = socket(&field.right, (address(path, 2), 0).into());
        resolve(&from, &to);
        (from, to)
    };
    let passes = |(from, to): &(UdpSocket, UdpSocket)| passes(from, to);
    let (one, two) = (pair(0), pair(1));
    emulator.change("path0", Which::Both, Change::Cut).unwrap();
    until("the first is cut", || !passes(&one));
    assert!(passes(&two));
    emulator.change("path0", Which::Both, Change::Heal).unwrap();
    until("the first is healed", || passes(&one));
    assert!(passes(&two));
    assert!(emulator.change("path2", Which::Both, Change::Cut).is_err());
    let summary = emulator.end().unwrap();
    assert!(summary.links[0].forward.counts.cut >= 1);
    assert_eq!(summary.links[1].forward.counts.cut, 0);
}

#[test]
fn curl_fetches_a_file_through_a_bad_link() {
    let curl = Command::new("curl").arg("--version").output();
    assert!(curl.is_ok(), "curl is not installed (Debian: curl)");
    let field = Field::new("curl", 1);
    let rough = "delay = '5ms'\njitter = '1ms'\nrate = '50mbit'\ngilbert_elliott = '0.5%,40%'\n\
        duplicate = '1%'\nreorder = '1%'\nhold = '2ms'";
    let emulator = field.link(rough, "");
    let listener = inside(&field.right, || TcpListener::bind((address(0, 2), 80)).unwrap());
    let body = vec![b'x'; 1_000_000];
    let got = std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4_096];
            assert!(stream.read(&mut request).unwrap() > 0);
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        });
        let url = format!("http://{}/", address(0, 2));
        let command = ["netns", "exec", field.left.name(), "curl", "-sS", "--max-time", "30", &url];
        let output = Command::new("ip").args(command).output().unwrap();
        server.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    });
    assert!(got == body);
    forward(emulator);
}

#[test]
fn an_end_that_cannot_be_used_is_refused_with_the_hint() {
    let field = Field::new("refuse", 1);
    let middle = field.middle.name();
    let refused = |one: &str, two: &str| {
        let between = [one.parse().unwrap(), two.parse().unwrap()];
        let way = Way::default();
        let links = vec![LinkPlan::new("x".into(), between, &way, &way, &[]).unwrap()];
        Emulator::start(&Plan { seed: 1, links }).map(drop).unwrap_err()
    };
    let far = |end: usize| format!("{middle}/far0{end}");
    assert!(format!("{:#}", refused("tq-none/x", &far(1))).contains("ip netns"));
    let none = refused(&far(1), &format!("{middle}/none0")).to_string();
    assert!(none.contains(&format!("`ip -n {middle} link`")), "{none}");
    assert!(refused("lo", &far(1)).to_string().contains("loopback"));
    field.middle.ip(&["link", "set", "far02", "down"]).unwrap();
    let down = refused(&far(1), &far(2)).to_string();
    assert!(down.contains(&format!("`ip -n {middle} link set far02 up`")), "{down}");
    let near = format!("{}/near0", field.left.name());
    field.middle.ip(&["link", "set", "far02", "up"]).unwrap();
    let way = Way::default();
    let between = [near.parse().unwrap(), far(2).parse().unwrap()];
    let links = vec![LinkPlan::new("x".into(), between, &way, &way, &[]).unwrap()];
    let emulator = Emulator::start(&Plan { seed: 1, links }).unwrap();
    assert!(emulator.notes()[0].contains("far ends"), "{:?}", emulator.notes());
}
