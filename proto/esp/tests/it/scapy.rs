//! scapy's IPsec layer as the other end (Debian: python3-scapy, python3-cryptography): the same
//! octets of the same number and IV, and the same verdict on what comes, by seed.

use crate::{ALGORITHMS, Ends, Keys, Random, parameters};
use esp::{Algorithm, Dropped, Inbound, Mode, Outbound, Parameters, Tunnel, Udp};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// What scapy shall do, and what is expected of each command.
#[derive(Default)]
struct Script {
    commands: String,
    expected: Vec<(String, Result<Vec<u8>, Dropped>)>,
}

impl Script {
    fn expect(&mut self, command: String, verdict: Result<Vec<u8>, Dropped>) {
        self.commands += &command;
        self.commands.push('\n');
        self.expected.push((command, verdict));
    }

    fn run(self) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scapy_esp.py");
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-B", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python
            .spawn()
            .expect("python3 is not installed (Debian: python3-scapy, python3-cryptography)");
        let mut stdin = child.stdin.take().expect("it is piped");
        // It reads all before it answers.
        stdin.write_all(self.commands.as_bytes()).expect("it reads all");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(
            output.status.success(),
            "scapy did not run (Debian: python3-scapy, python3-cryptography)"
        );
        let said = String::from_utf8(output.stdout).expect("hexadecimal digits");
        assert_eq!(said.lines().count(), self.expected.len());
        for (said, (command, verdict)) in said.lines().zip(&self.expected) {
            let agrees = match (said.strip_prefix("! "), verdict) {
                (None, Ok(octets)) => said == hex(octets),
                (Some(why), Err(Dropped::Forged)) => why == "code",
                (Some(why), Err(Dropped::OtherSpi)) => why == "spi",
                (Some(_), Err(_)) => true,
                _ => false,
            };
            assert!(agrees, "{command}\nscapy:  {said}\nTandem: {verdict:x?}");
        }
    }
}

/// What an association of the script is like.
#[derive(Clone, Copy)]
struct Kind {
    is_tunnel: bool,
    is_v6: bool,
    udp: bool,
    upper: Option<u32>,
}

fn association(algorithm: Algorithm, kind: Kind) -> [Parameters; 2] {
    let ends = if kind.is_v6 {
        ["2001:db8:1::1", "2001:db8:1::2"]
    } else {
        ["198.51.100.1", "198.51.100.2"]
    };
    let [a, b] = ends.map(|it| it.parse().expect("an address"));
    [(a, b), (b, a)].map(|(a, b)| Parameters {
        mode: if kind.is_tunnel { Mode::Tunnel(Tunnel::between(a, b)) } else { Mode::Transport },
        udp: kind.udp.then_some(Udp { local: 4500, remote: 4500 }),
        extended: kind.upper.is_some(),
        sole_key: true,
        ..parameters(algorithm)
    })
}

/// Packets by seed through both; what scapy makes of the same is compared, and what it opens.
fn talk(script: &mut Script, row: usize, kind: Kind, random: &mut Random) {
    let (encryption, integrity, cipher, code) = ALGORITHMS[row];
    let algorithm = Algorithm::new(encryption, integrity).expect("they go together");
    let keys = Keys::new(algorithm, random);
    let [sender, receiver] = association(algorithm, kind);
    let from = u64::from(kind.upper.unwrap_or(0)) << 32;
    let mut ends = Ends::of([sender.clone(), receiver.clone()], 1);
    let usage = esp::Usage::default();
    let seed = random.octets(16).try_into().expect("sixteen");
    let out = Outbound::resume(sender, keys.material(), seed, from, usage);
    let into = Inbound::resume(receiver, keys.material(), from, usage);
    (ends.out, ends.into) = ([out.expect("it fits")], [into.expect("it fits")]);
    let upper = kind.upper.map_or("-".to_owned(), |it| it.to_string());
    script.commands += &format!(
        "new {cipher} {} {code} {} {} {} {upper}\n",
        hex(&keys.encryption) + "-",
        hex(&keys.integrity) + "-",
        if kind.is_tunnel { if kind.is_v6 { "6" } else { "4" } } else { "-" },
        if kind.udp { "udp" } else { "-" },
    );
    for _ in 0..12 {
        let is_v6 = if kind.is_tunnel { random.below(2) == 1 } else { kind.is_v6 };
        let plain = random.packet(is_v6);
        let sent = ends.send(&plain).expect("it passes");
        let esp = if kind.is_v6 { 40 } else { 20 } + if kind.udp { 8 } else { 0 };
        let number = &sent[esp + 4..esp + 8];
        let iv = &sent[esp + 8..esp + 8 + algorithm.iv()];
        // Of a tunnel, the outer header is each one's own: what follows it is compared.
        let from = if kind.is_tunnel { esp } else { 0 };
        let command = format!("encrypt {} {} {}- {from}", hex(&plain), hex(number), hex(iv));
        script.expect(command, Ok(sent[from..].to_vec()));
        let mut arrives = sent;
        if random.below(3) == 0 {
            let at = esp + random.below((arrives.len() - esp) as u64) as usize;
            arrives[at] ^= 1 << random.below(8);
        }
        let verdict = ends.open(&arrives).map(|it| it.expect("it is no dummy"));
        // scapy has no window.
        if !matches!(verdict, Err(Dropped::Old | Dropped::Replayed)) {
            script.expect(format!("decrypt {}", hex(&arrives)), verdict);
        }
    }
}

#[test]
fn scapy_has_the_same_octets_and_the_same_verdicts() {
    let mut script = Script::default();
    let mut random = Random(1);
    for row in 0..ALGORITHMS.len() {
        for (is_tunnel, is_v6) in [(false, false), (false, true), (true, false), (true, true)] {
            for udp in [false, true] {
                for upper in [None, Some(3)] {
                    talk(&mut script, row, Kind { is_tunnel, is_v6, udp, upper }, &mut random);
                }
            }
        }
    }
    let count = |why: Option<Dropped>| {
        script.expected.iter().filter(|it| it.1.as_ref().err() == why.as_ref()).count()
    };
    let counts = [None, Some(Dropped::Forged), Some(Dropped::OtherSpi)].map(count);
    assert!(counts[0] > 4_000 && counts[1] > 500 && counts[2] > 5, "{counts:?}");
    script.run();
}
