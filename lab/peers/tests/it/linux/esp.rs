//! ESP of the guest's kernel (XFRM) as the other end of ours: what we protect it opens, what it
//! protects we open, by the algorithms of TS 33.203 and HMAC-SHA-256-128.
//!
//! ```text
//! ipsec::Endpoint 10.92.0.1 ── esp, raw ──→ 10.92.0.2 │ XFRM │ socat: each datagram comes back
//! ```

use super::guest::guest;
use ::esp::{
    Algorithm, Encryption, Inbound, Integrity, KeyLength, Material, Outbound, Parameters, Spi,
};
use driver::{DatagramSocket, ReceiveBatch, SendBatch, SocketOptions};
use ipsec::{Address, Associations, Endpoint, Lane, Path, Settings};
use machine::Time;
use machine::slots::Key;
use peers::GUEST_WIRES;
use runtime::{Flow, PortId, Transport};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

pub(super) const OURS: Ipv4Addr = Ipv4Addr::new(10, 92, 0, 1);
pub(super) const GUEST: Ipv4Addr = Ipv4Addr::new(10, 92, 0, 2);
pub(super) const RAW: PortId = PortId(1);
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

fn hex(octets: &[u8]) -> String {
    octets.iter().fold("0x".to_owned(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// What `ip xfrm` calls an algorithm, with its keys.
fn named(algorithm: Algorithm, keys: &Material<'_>) -> String {
    let [cipher, code] = [hex(keys.encryption), hex(keys.integrity)];
    let encryption = match algorithm.encryption() {
        Encryption::AesGcm16(_) => return format!("aead 'rfc4106(gcm(aes))' {cipher} 128"),
        Encryption::AesCbc(_) => format!("enc 'cbc(aes)' {cipher}"),
        _ => "enc 'ecb(cipher_null)' ''".to_owned(),
    };
    match algorithm.integrity() {
        Integrity::AesGmac(_) => format!("aead 'rfc4543(gcm(aes))' {code} 128"),
        Integrity::HmacSha256_128 => format!("auth-trunc 'hmac(sha256)' {code} 128 {encryption}"),
        _ => format!("auth-trunc 'hmac(sha1)' {code} 96 {encryption}"),
    }
}

/// Our end, in the namespace where the guest's wires end.
pub(super) struct End {
    pub esp: Endpoint,
    pub socket: DatagramSocket,
    pub receive: ReceiveBatch,
    pub send: SendBatch,
}

impl End {
    /// Its indices are made of a secret: no two ends have the same.
    pub fn open(secret: u64) -> Self {
        let ip = IpAddr::from(OURS);
        let addresses = vec![Address { ip, raw: RAW, bypass: false, in_udp: None }];
        let esp = Endpoint::new(Settings { addresses, sets_max: 64 }, 0, secret, Time::ZERO);
        let socket = DatagramSocket::raw(ip, ipsec::PROTOCOL, &SocketOptions::default()).unwrap();
        Self { esp, socket, receive: ReceiveBatch::new(), send: SendBatch::new() }
    }

    /// What the next packet that can be opened carries.
    fn heard(&mut self) -> Vec<u8> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            self.receive.receive(&self.socket).unwrap();
            let came: Vec<_> =
                self.receive.datagrams().map(|it| (it.remote, it.bytes.to_vec())).collect();
            for (remote, bytes) in came {
                let local = SocketAddr::new(OURS.into(), 0);
                let flow = Flow::to(RAW, Transport::Udp, local, remote);
                if let Some(arrived) = self.esp.unprotect(Time::ZERO, &flow, &bytes) {
                    return self.esp.octets()[arrived.payload].to_vec();
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nothing came back; the guest: {}", guest().run("cat /proc/net/xfrm_stat").unwrap());
    }
}

/// Associations at both ends, for one protocol and a port of the guest's.
pub(super) fn associate(
    end: &mut End,
    number: u16,
    algorithm: Algorithm,
    (protocol, port): (u8, u16),
) -> Key {
    let key = |salt: u8, octets: usize| -> Vec<u8> {
        (0..octets).map(|at| salt.wrapping_mul(31).wrapping_add(at as u8 * 7)).collect()
    };
    let encryption = key(number as u8, algorithm.encryption().key_octets());
    let integrity = key(number as u8 + 100, algorithm.integrity().key_octets());
    let keys = Material { encryption: &encryption, integrity: &integrity };
    let (set, [spi_in, _]) = end.esp.reserve().unwrap();
    let spi_out = Spi(0x1000 + u32::from(number));
    let parameters = |spi| Parameters::new(spi, algorithm);
    let path = Path {
        port: RAW,
        local: SocketAddr::new(OURS.into(), 0),
        remote: SocketAddr::new(GUEST.into(), 0),
        in_udp: false,
    };
    let made = Associations {
        inbound: [Some(Inbound::new(parameters(spi_in), keys).unwrap()), None],
        outbound: [Some(Outbound::new(parameters(spi_out), keys, [9; 16]).unwrap()), None],
        path,
        owner: number.into(),
    };
    assert!(end.esp.install(set, made));
    let what = named(algorithm, &keys);
    let state = |from: Ipv4Addr, to: Ipv4Addr, spi: Spi| {
        format!(
            "/debian/ip xfrm state add src {from} dst {to} proto esp spi {:#x} reqid {number} mode \
             transport replay-window 32 {what}",
            spi.0
        )
    };
    let policy = |from: Ipv4Addr, to: Ipv4Addr, way: &str, side: &str| {
        format!(
            "/debian/ip xfrm policy add src {from} dst {to} proto {protocol} {side} {port} \
             dir {way} tmpl src {from} dst {to} proto esp reqid {number} mode transport"
        )
    };
    for command in [
        state(OURS, GUEST, spi_out),
        state(GUEST, OURS, spi_in),
        policy(OURS, GUEST, "in", "dport"),
        policy(GUEST, OURS, "out", "sport"),
    ] {
        guest().run(&command).unwrap();
    }
    set
}

/// One algorithm: associations at both ends, then datagrams there and back.
fn passes(end: &mut End, number: u16, algorithm: Algorithm) {
    let port = 7_100 + number;
    let set = associate(end, number, algorithm, (17, port));
    let _echo = guest().talk(&format!("socat UDP4-RECVFROM:{port},fork EXEC:cat")).unwrap();
    let until = Instant::now() + PATIENCE;
    let listens = format!("ss -lun | grep -q ':{port} '");
    while guest().run(&listens).is_err() {
        assert!(Instant::now() < until, "socat listens");
    }
    let ends = (SocketAddr::new(OURS.into(), 6_100), SocketAddr::new(GUEST.into(), port));
    for octets in [1, 15, 16, 17, 500, 1_200] {
        let sent: Vec<u8> = (0..octets).map(|at: usize| (at % 251) as u8).collect();
        let mut out = Vec::new();
        let flow = end.esp.protect(set, Lane::First, ends, &sent, &mut out).unwrap();
        let mut batch = end.send.fill();
        batch.push(&flow.remote, None, 0, std::iter::once(out.as_slice()));
        let _ = batch.send(&end.socket, 0);
        assert_eq!(end.heard(), sent, "{algorithm:?}, {octets} octets");
    }
}

/// Moves the thread to where the guest's wires end, and has our address there.
pub(super) fn enter() {
    guest().enter().unwrap();
    let address = format!("{OURS}/24");
    let words = ["address", "replace", &address, "dev", GUEST_WIRES[1]];
    assert!(Command::new("ip").args(words).status().unwrap().success());
}

#[test]
fn the_kernel_opens_what_we_protect_and_we_open_what_it_protects() {
    use Encryption::{AesCbc, AesGcm16, Null};
    use Integrity::{AesGmac, Combined, HmacSha1_96, HmacSha256_128};
    use KeyLength::Bits128;
    let test = || {
        enter();
        let mut end = End::open(7);
        for (number, (encryption, integrity)) in [
            (AesCbc(Bits128), HmacSha1_96),
            (AesGcm16(Bits128), Combined),
            (Null, AesGmac(Bits128)),
            (Null, HmacSha1_96),
            (AesCbc(Bits128), HmacSha256_128),
        ]
        .into_iter()
        .enumerate()
        {
            let algorithm = Algorithm::new(encryption, integrity).expect("they go together");
            passes(&mut end, number as u16 + 1, algorithm);
        }
        // In the clear nothing is taken where a policy stands.
        let socket = std::net::UdpSocket::bind((OURS, 0)).unwrap();
        socket.send_to(b"clear", (GUEST, 7_101)).unwrap();
        let until = Instant::now() + PATIENCE;
        let refused =
            "grep -q 'XfrmInTmplMismatch.*[1-9]\\|XfrmInNoPols.*[1-9]' /proc/net/xfrm_stat";
        while guest().run(refused).is_err() {
            assert!(Instant::now() < until, "it is counted");
        }
    };
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}
