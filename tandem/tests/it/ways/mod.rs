//! Two ways between two SCTP endpoints that are carried in UDP: each is forwarded, recorded, and
//! can be cut; what was recorded is read by tshark.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What tshark remarks on a network that loses packets, and on its own guesses.
const KNOWN: &[&str] = &[
    "This TSN is a retransmission",
    "Retransmitted TSN",
    "Association has been aborted",
    "Duplicate TSN",
    "acks unseen",
    "Unknown association",
];
const WAIT: Duration = Duration::from_millis(10);

type Packets = Arc<Mutex<Vec<Vec<u8>>>>;

pub struct Ways {
    cuts: [Arc<AtomicBool>; 2],
    ended: Arc<AtomicBool>,
    packets: Packets,
    threads: Vec<JoinHandle<()>>,
    port: u16,
}

/// Carries what comes at `from` to `to`, out of `through`.
fn carry(
    (from, through, to): (UdpSocket, UdpSocket, SocketAddr),
    (cut, ended): (Arc<AtomicBool>, Arc<AtomicBool>),
    packets: Packets,
) -> JoinHandle<()> {
    from.set_read_timeout(Some(WAIT)).unwrap();
    std::thread::spawn(move || {
        let mut octets = vec![0; 65_536];
        while !ended.load(Relaxed) {
            match from.recv_from(&mut octets) {
                Ok((length, _)) if !cut.load(Relaxed) => {
                    packets.lock().unwrap().push(octets[..length].to_vec());
                    // The far end may not listen yet.
                    let _ = through.send_to(&octets[..length], to);
                }
                Ok(_) => {}
                Err(error) => assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused
                    ),
                    "{error}"
                ),
            }
        }
    })
}

impl Ways {
    /// From an endpoint at `near` to one at `far`, whose addresses are paired: to the near one, the
    /// far one's UDP port is [`Ways::port`].
    pub fn between(far: [&str; 2], far_port: u16, near: [&str; 2], near_port: u16) -> Self {
        let (ended, packets) = (Arc::new(AtomicBool::new(false)), Packets::default());
        let cuts = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (mut threads, mut port, mut out) = (Vec::new(), 0, 0);
        for ((far, near), cut) in far.into_iter().zip(near).zip(&cuts) {
            let bind = |ip: &str, port: u16| UdpSocket::bind((ip, port)).unwrap();
            let towards_near = bind(far, port);
            port = towards_near.local_addr().unwrap().port();
            // The far end knows one UDP port for all addresses until it hears from each.
            let towards_far = bind(near, out);
            out = towards_far.local_addr().unwrap().port();
            let address = |ip: &str, port: u16| format!("{ip}:{port}").parse().unwrap();
            let there = (
                towards_near.try_clone().unwrap(),
                towards_far.try_clone().unwrap(),
                address(far, far_port),
            );
            let back = (towards_far, towards_near, address(near, near_port));
            for way in [there, back] {
                let flags = (Arc::clone(cut), Arc::clone(&ended));
                threads.push(carry(way, flags, Arc::clone(&packets)));
            }
        }
        Self { cuts, ended, packets, threads, port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn cut(&self, way: usize, is_cut: bool) {
        self.cuts[way].store(is_cut, Relaxed);
    }

    /// Everything that was carried.
    pub fn end(self) -> Vec<Vec<u8>> {
        self.ended.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        Arc::try_unwrap(self.packets).unwrap().into_inner().unwrap()
    }
}

/// A classic pcap file of SCTP packets (link type 248).
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 248] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        for word in [number as u32, 0, packet.len() as u32, packet.len() as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(packet);
    }
    file
}

/// What tshark says of each packet: a field of ours, the class of M3UA, remarks.
fn dissect(packets: &[Vec<u8>], checksum: &str, field: &str) -> Vec<[String; 3]> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(packets)).unwrap();
    let output = Command::new("tshark")
        .args(["-o", &format!("sctp.checksum:{checksum}"), "-o", "m3ua.version:RFC 4666"])
        .args(["-T", "fields", "-E", "separator=|", "-e", field, "-e", "m3ua.message_class"])
        .args(["-e", "_ws.expert.message", "-e", "_ws.malformed", "-r"])
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), packets.len(), "{text}");
    let lines = text.lines().map(|line| {
        let fields: Vec<&str> = line.split('|').collect();
        assert!(fields[3].is_empty(), "malformed: {line}"); // whatever else is remarked
        [fields[0], fields[1], fields[2]].map(String::from)
    });
    lines.collect()
}

/// Every packet has a good checksum and nothing to complain about; all of M3UA is recognised.
pub fn dissect_sctp(packets: &[Vec<u8>]) {
    let lines = dissect(packets, "CRC 32c", "sctp.checksum.status");
    for [checksum, _, complaint] in &lines {
        assert_eq!(checksum, "1", "the checksum is good");
        let is_known = KNOWN.iter().any(|known| complaint.contains(known));
        assert!(complaint.is_empty() || is_known, "{complaint}");
    }
    let classes: String = lines.iter().map(|[_, class, _]| class.as_str()).collect();
    assert!(classes.contains('1') && classes.contains('3') && classes.contains('4'), "{classes}");
}

/// The verification tags of the ABORTs among packets (RFC 9260 §3.3.7): tshark finds their
/// checksums good, and no T bit in them.
pub fn aborts(packets: &[Vec<u8>]) -> Vec<u32> {
    let kinds = dissect(packets, "CRC 32c", "sctp.abort_t_bit");
    let checksums = dissect(packets, "CRC 32c", "sctp.checksum.status");
    let mut tags = Vec::new();
    for (at, [bit, ..]) in kinds.iter().enumerate().filter(|(_, it)| !it[0].is_empty()) {
        assert!(bit == "0" || bit == "False", "the tag is the peer's own: {bit}");
        assert_eq!(checksums[at][0], "1", "the checksum is good");
        tags.push(tag(&packets[at]));
    }
    tags
}

/// The verification tag of a packet.
pub fn tag(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[4..8].try_into().unwrap())
}

/// Messages as they came over TCP, each in a DATA chunk so that tshark takes them for M3UA.
pub fn dissect_m3ua(messages: &[Vec<u8>]) {
    let packet = |(number, bytes): (usize, &Vec<u8>)| {
        let mut packet = vec![0x0b, 0x59, 0x0b, 0x59, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3];
        packet.extend_from_slice(&(16 + bytes.len() as u16).to_be_bytes());
        packet.extend_from_slice(&(number as u32 + 1).to_be_bytes());
        packet.extend_from_slice(&[0, 1]);
        packet.extend_from_slice(&(number as u16).to_be_bytes());
        packet.extend_from_slice(&m3ua::codec::SCTP_PPID.to_be_bytes());
        packet.extend_from_slice(bytes);
        packet.resize(packet.len().next_multiple_of(4), 0);
        packet
    };
    let packets: Vec<Vec<u8>> = messages.iter().enumerate().map(packet).collect();
    let lines = dissect(&packets, "none", "m3ua.message_type");
    for ([kind, class, complaint], bytes) in lines.iter().zip(messages) {
        assert_eq!([class, kind], [&bytes[2].to_string(), &bytes[3].to_string()]);
        assert!(complaint.is_empty(), "{complaint}");
    }
}
