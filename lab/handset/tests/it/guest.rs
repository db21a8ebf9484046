//! Kernels and programs of others at an end of ESP, in a guest with Debian's kernel (qemu). Needs
//! root, qemu, Kamailio and SIPp (Debian: qemu-system-x86, kamailio-ims-modules, sip-tester).
//!
//! ```text
//! Handset 10.92.0.3 ══ esp ══→ 10.92.0.2 │ XFRM │ kamailio, ims_ipsec_pcscf ─udp─→ 10.90.0.1 Home
//! SSC     10.92.0.1 ←══ esp ══ 10.92.0.2 │ XFRM │ SIPp, TCP
//! SSC     10.92.0.6 ←══ esp ══ 10.92.0.4 │ XFRM │ socat ←─udp─ 10.90.0.1 Handset
//! ```
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::live::{Core, Phone, asked, config, controller_at, count, until};
use handset::{Carrier, Config, Event, Handset, Packet, State, Subscriber};
use machine::Time;
use peers::{GUEST_WIRES, Guest, Talk};
use rustix::fs::{FlockOperation, flock};
use secagree::{Alg, Ealg, Mode, Preference};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// For anything that must happen.
const PATIENCE: Duration = Duration::from_secs(60);
const MODULES: &str = "/usr/lib/x86_64-linux-gnu/kamailio/modules";
const PCSCF: &str = include_str!("../guest/pcscf.cfg");
const AKA: &str = include_str!("../guest/aka.xml");

/// Boots with the first test; ends with the process. Another process of these tests waits until
/// this one has ended.
static GUEST: LazyLock<Result<(Guest, File), String>> = LazyLock::new(|| {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = tmp.join("ims-guest");
    let boot = || {
        fs::create_dir_all(&directory)?;
        let lock = File::create(directory.join("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let modules = ["tm", "sl", "pv", "textops", "siputils"];
        let of_ims = ["ims_usrloc_pcscf", "ims_registrar_pcscf", "ims_ipsec_pcscf"];
        let modules = modules.iter().chain(&of_ims).map(|name| format!("{MODULES}/{name}.so"));
        let programs = ["/usr/sbin/kamailio", "/usr/bin/sipp", "/lib/terminfo/l/linux"];
        let own: Vec<String> = modules.chain(programs.map(str::to_owned)).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        // The packages are those of the kernel's other tests.
        let guest = Guest::boot_with(&tmp.join("linux/packages"), &directory, &own)?;
        Ok((guest, lock))
    };
    boot().map_err(|error: anyhow::Error| format!("{error:#}"))
});

fn guest() -> &'static Guest {
    match &*GUEST {
        Ok((guest, _)) => guest,
        Err(why) => panic!("there is no guest: {why}"),
    }
}

/// Does something where the guest's wires end, with those addresses.
fn inside(addresses: &[&str], what: impl FnOnce() + Send) {
    let place = || {
        guest().enter().unwrap();
        for address in addresses {
            let words = ["address", "replace", &format!("{address}/24"), "dev", GUEST_WIRES[1]];
            assert!(Command::new("ip").args(words).status().unwrap().success());
        }
        what();
    };
    std::thread::scope(|scope| scope.spawn(place).join().unwrap());
}

fn put(path: &str, text: &str) {
    assert!(!text.contains("'END'"));
    guest().run(&format!("cat >{path} <<'END'\n{text}\nEND")).unwrap();
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold("0x".to_owned(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// HMAC-SHA-1-96 and AES-CBC, for phones that have nothing else.
fn older() -> Preference {
    Preference { pairs: vec![(Alg::HmacSha1_96, Ealg::AesCbc)], modes: vec![Mode::Transport] }
}

/// What the guest's kernel has to know of an agreement.
struct Xfrm {
    protocol: u8,
    /// The keys of HMAC-SHA-1-96 and AES-CBC.
    integrity: Vec<u8>,
    encryption: Vec<u8>,
    ue: IpAddr,
    pcscf: IpAddr,
    /// Index, and the ports of phone and network: the first two to the network.
    ways: [(u32, u16, u16); 4],
}

impl Xfrm {
    fn install(&self) {
        let Self { protocol, ue, pcscf, .. } = self;
        let (code, cipher) = (hex(&self.integrity), hex(&self.encryption));
        let mut commands = String::new();
        for (at, (spi, own, far)) in self.ways.iter().enumerate() {
            let leaves = at < 2;
            let (from, to) = if leaves { (ue, pcscf) } else { (pcscf, ue) };
            let (sport, dport) = if leaves { (own, far) } else { (far, own) };
            let way = if leaves { "out" } else { "in" };
            let _ = writeln!(
                commands,
                "/debian/ip xfrm state add src {from} dst {to} proto esp spi {spi} reqid {spi} \
                 mode transport replay-window 32 auth-trunc 'hmac(sha1)' {code} 96 enc 'cbc(aes)' \
                 {cipher} || exit 1\n\
                 /debian/ip xfrm policy add src {from} dst {to} proto {protocol} sport {sport} \
                 dport {dport} dir {way} tmpl src {from} dst {to} proto esp reqid {spi} mode \
                 transport || exit 1"
            );
        }
        guest().run(&format!("({commands})")).unwrap();
    }
}

/// Answers of the core to a phone, and requests of the core that the phone answers.
fn passes_both_ways(phones: &mut [Phone], core: &Core, to: SocketAddr, carrier: &str) {
    let (via, impu) =
        (phones[0].handset.contact(), phones[0].handset.config().subscriber.impu.clone());
    let request = format!(
        "MESSAGE sip:b@ims.example.org SIP/2.0\r\nVia: SIP/2.0/{carrier} {via};branch=z9hG4bKm1\r\n\
         Max-Forwards: 70\r\nFrom: <{impu}>;tag=1\r\nTo: <sip:b@ims.example.org>\r\n\
         Call-ID: m-{via}\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
    );
    phones[0].events.clear();
    phones[0].act(|handset, _, out| handset.send(request.as_bytes(), out));
    let came = |phones: &[Phone], begin: &str| {
        let is_it =
            |it: &Event| matches!(it, Event::Came(text) if text.starts_with(begin.as_bytes()));
        phones[0].events.iter().any(is_it)
    };
    until(phones, "the answer to the phone's request", |phones| came(phones, "SIP/2.0 200"));

    let impi = phones[0].handset.config().subscriber.impi.clone();
    let contact = core.home.lock().unwrap().contact(&impi).expect("registered").to_vec();
    let contact = String::from_utf8(contact).unwrap();
    let uri = contact.split(['<', '>']).nth(1).expect("an address").to_owned();
    let from = core.socket.local_addr().unwrap();
    let request = format!(
        "MESSAGE {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bKo{carrier}\r\n\
         Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\nCall-ID: o-{via}\r\n\
         CSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
    );
    core.asked.lock().unwrap().clear();
    core.socket.send_to(request.as_bytes(), to).unwrap();
    until(phones, "the core's request at the phone", |phones| came(phones, "MESSAGE "));
    let request = phones[0].events.iter().find_map(|event| match event {
        Event::Came(text) if text.starts_with(b"MESSAGE ") => Some(text.clone()),
        _ => None,
    });
    let request = request.unwrap();
    phones[0].act(|handset, _, out| handset.answer(&request, 200, b"", out));
    until(phones, "the phone's answer at the core", |_| {
        core.asked.lock().unwrap().iter().any(|it| it.starts_with("SIP/2.0 200"))
    });
}

/// Kamailio in the guest.
fn kamailio() -> Talk {
    put("/tmp/pcscf.cfg", PCSCF);
    guest().talk("/usr/sbin/kamailio -DD -E -m 64 -f /tmp/pcscf.cfg -w /tmp -Y /tmp").unwrap()
}

#[test]
fn phones_register_and_talk_through_kamailio_whose_kernel_does_esp_by_udp_and_tcp() {
    inside(&["10.92.0.3", "10.92.0.5"], || {
        let core = SocketAddr::from(([10, 90, 0, 1], 5_090));
        let core = Core::start_at(core, (1..=2).map(Subscriber::number).collect());
        let mut kamailio = kamailio();
        let up = Instant::now() + PATIENCE;
        while guest().run("ss -lun | grep -q '10.92.0.2:5080 '").is_err() {
            assert!(Instant::now() < up, "Kamailio: {:?}", kamailio.heard());
        }
        for (number, host, carrier) in [(1, 3, "UDP"), (2, 5, "TCP")] {
            let mut phones = [Phone::with(Config {
                subscriber: Subscriber::number(number),
                address: IpAddr::from([10, 92, 0, host]),
                pcscf: SocketAddr::from(([10, 92, 0, 2], 5_060)),
                preference: older(),
                seed: number,
                ..config()
            })];
            phones[0].handset.speak_tcp(carrier == "TCP");
            phones[0].act(Handset::register);
            let said = |talk: &mut Talk| format!("{carrier}: {:?}", talk.heard());
            until(&mut phones, "it registers", |phones| {
                let state = phones[0].handset.state();
                assert!(matches!(state, State::Registering | State::Registered), "{state:?}");
                state == State::Registered
            });
            let states = format!("/debian/ip xfrm state | grep '^src' | grep -cw 10.92.0.{host}");
            let states = guest().run(&states).unwrap();
            assert_eq!(states.trim(), "4", "{}", said(&mut kamailio));
            let to = SocketAddr::from(([10, 90, 0, 2], 5_060));
            passes_both_ways(&mut phones, &core, to, carrier);
            assert!(!core.answered.lock().unwrap().is_empty());
        }
    });
}

#[test]
fn sipp_registers_and_sends_by_tcp_inside_of_its_kernels_esp() {
    inside(&["10.92.0.1"], || {
        let (key, operator) = ([0x4b; 16], [0x6f; 16]);
        let opc = aka::Milenage::with_op(&key, &operator).opc();
        let opc = <[u8; 16]>::try_from(opc.expose()).unwrap();
        let subscriber = Subscriber { k: key, opc, ..Subscriber::number(7) };
        let core = Core::start(212, vec![subscriber.clone()]);
        let listen = "[\"udp:10.92.0.1:5060\", \"tcp:10.92.0.1:5060\"]";
        let running = controller_at(listen, 212, 1, "", "");
        let scenario = AKA
            .replace("ADDRESS", "10.92.0.2")
            .replace("SERVER", "10.92.0.1")
            .replace("IMPI", &subscriber.impi)
            .replace("IMPU", &subscriber.impu)
            .replace("KEY", &hex(&key))
            .replace("OPERATOR", &hex(&operator));
        put("/tmp/aka.xml", &scenario);
        // It has two connections in the clear, one of which it does not use; the third leaves by
        // the port that it has agreed on, for the kernel takes the even one if it can.
        guest().run("echo 6200 6201 >/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let command = "cd /tmp && TERM=linux /usr/bin/sipp -sf aka.xml -i 10.92.0.2 -t tn -m 1 \
            -max_socket 100 -nostdin -timeout 25 -auth_uri ims.example.org -trace_err \
            -error_file aka.errors 10.92.0.1:5060 >aka.log 2>&1 \
            || { cat aka.errors; tail -c 2000 aka.log; exit 1; }";
        std::thread::scope(|scope| {
            let sipp = scope.spawn(move || guest().run(command));
            install(&core, &running, &subscriber.impi);
            sipp.join().unwrap().unwrap();
        });
        guest().run("echo 32768 60999 >/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let asked_core = core.asked.lock().unwrap().clone();
        assert!(asked_core.iter().any(|it| it.starts_with("MESSAGE ")), "{asked_core:?}");
        let rows = asked(&running, "ipsec");
        assert_eq!((rows.len(), &rows[0]["state"]), (1, &"current".into()), "{rows:?}");
        let rows = asked(&running, "registrations");
        assert_eq!(rows[0]["transport"], "tcp", "{rows:?}");
        assert!(count(&running, "ipsec_tcp_opened_total") >= 1);
        running.stop(Duration::from_secs(1));
    });
}

/// The guest's kernel gets what SIPp and the controller have agreed on.
fn install(core: &Core, running: &runtime::Running<ssc::Controller>, impi: &str) {
    let until = Instant::now() + PATIENCE;
    let row = loop {
        let rows = asked(running, "ipsec");
        let row = rows.into_iter().find(|row| row["state"] == "challenged");
        if let Some(row) = row {
            assert_eq!(row["impi"], impi);
            break row;
        }
        assert!(Instant::now() < until, "SIPp is challenged");
        std::thread::sleep(Duration::from_millis(20));
    };
    let challenge = core.answered.lock().unwrap().last().cloned().unwrap();
    let octets = |name: &str| -> Vec<u8> {
        let (_, value) = challenge.split_once(&format!("{name}=\"")).expect("the challenge has it");
        let digits = value.as_bytes()[..32].chunks(2);
        digits
            .map(|it| u8::from_str_radix(core::str::from_utf8(it).unwrap(), 16).unwrap())
            .collect()
    };
    let number = |value: &serde_json::Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let own_port = u16::try_from(row["own_ports"][0].as_u64().unwrap()).unwrap();
    let ik = octets("ik");
    let xfrm = Xfrm {
        protocol: ipsec::TCP,
        integrity: [&ik[..], &[0; 4]].concat(), // TS 33.203 Annex I
        encryption: octets("ck"),
        ue: IpAddr::from([10, 92, 0, 2]),
        pcscf: IpAddr::from([10, 92, 0, 1]),
        ways: [
            (number(&row["spi_in"][0]), 6_200, 5_062),
            (number(&row["spi_in"][1]), 6_100, own_port),
            (20_001, 6_200, 5_062),
            (20_002, 6_100, own_port),
        ],
    };
    xfrm.install();
}

/// A way of a phone's packets through the guest.
struct Relay {
    socket: UdpSocket,
    /// The phone's port there, and the far end's.
    own: u16,
    far: u16,
    /// The program; it ends with this.
    _program: Talk,
}

/// A phone whose ESP the guest's kernel does: its packets go through relays there.
struct Distant {
    handset: Handset,
    began: Instant,
    relays: Vec<Relay>,
    events: Vec<Event>,
}

const DISTANT: [u8; 4] = [10, 92, 0, 4];
const SERVER: [u8; 4] = [10, 92, 0, 6];

impl Distant {
    fn new(subscriber: Subscriber) -> Self {
        let mut handset = Handset::new(Config {
            subscriber,
            address: IpAddr::from(DISTANT),
            pcscf: SocketAddr::from((SERVER, 5_060)),
            preference: older(),
            ..config()
        });
        handset.leave_esp();
        let mut it =
            Self { handset, began: Instant::now(), relays: Vec::new(), events: Vec::new() };
        it.relay(5_060, 5_060);
        it
    }

    /// What comes to that port of the phone, and what leaves by it to the other one.
    fn relay(&mut self, own: u16, far: u16) {
        let number = 7_060 + self.relays.len() as u16;
        let socket = UdpSocket::bind(SocketAddr::from(([10, 90, 0, 1], number))).unwrap();
        socket.connect(SocketAddr::from(([10, 90, 0, 2], number))).unwrap();
        socket.set_nonblocking(true).unwrap();
        let [phone, server] = [DISTANT, SERVER].map(IpAddr::from);
        let command = format!(
            "socat UDP4-DATAGRAM:10.90.0.1:{number},bind=10.90.0.2:{number} \
             UDP4-DATAGRAM:{server}:{far},bind={phone}:{own}"
        );
        let program = guest().talk(&command).unwrap();
        let until = Instant::now() + PATIENCE;
        while guest().run(&format!("ss -lun | grep -q '{phone}:{own} '")).is_err() {
            assert!(Instant::now() < until, "the relay of {own}");
        }
        self.relays.push(Relay { socket, own, far, _program: program });
    }

    fn act(&mut self, act: impl FnOnce(&mut Handset, Time, &mut Vec<Packet>)) {
        let (now, mut out) = (Time::ZERO + self.began.elapsed(), Vec::new());
        act(&mut self.handset, now, &mut out);
        // The kernel knows first by what the phone sends.
        while let Some(agreed) = self.handset.agreed() {
            let (ue, pcscf) = (agreed.agreement.ue.ipsec, agreed.agreement.pcscf.ipsec);
            let keys = pcscf.keys(&agreed.keys).expect("algorithms that there are");
            let material = keys.material();
            let xfrm = Xfrm {
                protocol: ipsec::UDP,
                integrity: material.integrity.to_vec(),
                encryption: material.encryption.to_vec(),
                ue: IpAddr::from(DISTANT),
                pcscf: IpAddr::from(SERVER),
                ways: [
                    (pcscf.spi_s.0, ue.port_c, pcscf.port_s),
                    (pcscf.spi_c.0, ue.port_s, pcscf.port_c),
                    (ue.spi_c.0, ue.port_c, pcscf.port_s),
                    (ue.spi_s.0, ue.port_s, pcscf.port_c),
                ],
            };
            xfrm.install();
            self.relay(ue.port_c, pcscf.port_s);
            if self.relays.iter().all(|relay| relay.own != ue.port_s) {
                self.relay(ue.port_s, pcscf.port_c);
            }
        }
        for packet in out {
            assert_eq!(packet.carrier, Carrier::Clear);
            let (from, to) = (packet.from.port(), packet.to.port());
            let of = |relay: &&Relay| (relay.own, relay.far) == (from, to);
            let relay = self.relays.iter().find(of).expect("each lane has a relay");
            relay.socket.send(&packet.bytes).unwrap();
        }
    }

    fn turn(&mut self) {
        let mut came = Vec::new();
        let mut buffer = vec![0; 65_536];
        for Relay { socket, own, far, .. } in &self.relays {
            while let Ok(octets) = socket.recv(&mut buffer) {
                came.push(Packet {
                    carrier: Carrier::Clear,
                    from: SocketAddr::from((SERVER, *far)),
                    to: SocketAddr::from((DISTANT, *own)),
                    bytes: buffer[..octets].to_vec(),
                });
            }
        }
        for packet in came {
            self.act(|handset, now, out| handset.receive(now, &packet, out));
        }
        self.act(|handset, now, out| handset.tick(now, out));
        self.events.extend(std::iter::from_fn(|| self.handset.event()));
    }

    fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            let state = self.handset.state();
            assert!(Instant::now() < end, "{what}: {state:?}");
            self.turn();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn came(&self, begin: &str) -> Option<Vec<u8>> {
        self.events.iter().find_map(|event| match event {
            Event::Came(text) if text.starts_with(begin.as_bytes()) => Some(text.clone()),
            _ => None,
        })
    }
}

#[test]
fn a_handset_whose_esp_the_kernel_does_registers_and_talks_through_the_controller() {
    inside(&["10.92.0.6"], || {
        guest().run("/debian/ip address add 10.92.0.4/24 dev eth2").unwrap();
        let subscriber = Subscriber::number(9);
        let core = Core::start(213, vec![subscriber.clone()]);
        let running = controller_at("[\"udp:10.92.0.6:5060\"]", 213, 1, "", "");
        let mut phone = Distant::new(subscriber.clone());
        phone.act(Handset::register);
        phone.until("it registers", |phone| phone.handset.state() == State::Registered);
        let rows = asked(&running, "ipsec");
        assert_eq!((rows.len(), &rows[0]["state"]), (1, &"current".into()), "{rows:?}");
        assert_eq!(rows[0]["algorithms"], "hmac-sha-1-96/aes-cbc", "{rows:?}");

        let via = phone.handset.contact();
        let request = format!(
            "MESSAGE sip:b@ims.example.org SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bKm1\r\n\
             Max-Forwards: 70\r\nFrom: <{impu}>;tag=1\r\nTo: <sip:b@ims.example.org>\r\n\
             Call-ID: m1\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n",
            impu = subscriber.impu
        );
        phone.act(|handset, _, out| handset.send(request.as_bytes(), out));
        phone.until("it is answered", |phone| phone.came("SIP/2.0 200").is_some());

        let contact = core.home.lock().unwrap().contact(&subscriber.impi).unwrap().to_vec();
        let contact = String::from_utf8(contact).unwrap();
        let uri = contact.split(['<', '>']).nth(1).expect("an address");
        let from = core.socket.local_addr().unwrap();
        let request = format!(
            "MESSAGE {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bKo1\r\n\
             Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\nCall-ID: o1\r\n\
             CSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
        );
        let to = SocketAddr::from(([127, 213, 0, 2], 5_060));
        core.socket.send_to(request.as_bytes(), to).unwrap();
        phone.until("it is asked", |phone| phone.came("MESSAGE ").is_some());
        let request = phone.came("MESSAGE ").unwrap();
        phone.act(|handset, _, out| handset.answer(&request, 200, b"", out));
        phone.until("its answer comes", |_| {
            core.asked.lock().unwrap().iter().any(|it| it.starts_with("SIP/2.0 200"))
        });
        let rows = asked(&running, "ipsec");
        let packets = |name: &str| rows[0][name].as_u64().unwrap();
        assert!(packets("packets_in") >= 3 && packets("packets_out") >= 3, "{rows:?}");
        assert_eq!((packets("forged"), packets("replayed")), (0, 0), "{rows:?}");
        running.stop(Duration::from_secs(1));
    });
}
