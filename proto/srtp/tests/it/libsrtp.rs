//! libsrtp as the other end (Debian: libsrtp2-1): the same octets of the same packets, and the same
//! verdict on every packet that comes, by seed.

use crate::{Random, opened, opened_rtcp, sent, sent_rtcp};
use srtp::{
    Allowance, KeyEntry, Mki, Parameters, Receiver, Refused, Sender, Skip, StreamState, Suite,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const SSRCS: [u32; 3] = [7, 0xcafe_babe, 0xffff_ffff];

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// What libsrtp shall do, and what is expected of each command.
#[derive(Default)]
struct Script {
    commands: String,
    expected: Vec<(String, Result<Vec<u8>, Refused>)>,
}

impl Script {
    fn expect(&mut self, command: String, verdict: Result<Vec<u8>, Refused>) {
        self.commands += &command;
        self.commands.push('\n');
        self.expected.push((command, verdict));
    }

    /// Runs it, and compares.
    fn run(self) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libsrtp.py");
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-B", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3 is not installed (Debian: python3)");
        let mut stdin = child.stdin.take().expect("it is piped");
        // It reads all before it answers.
        stdin.write_all(self.commands.as_bytes()).expect("it reads all");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "libsrtp did not run (Debian: libsrtp2-1)");
        let said = String::from_utf8(output.stdout).expect("hexadecimal digits");
        assert_eq!(said.lines().count(), self.expected.len());
        for (said, (command, verdict)) in said.lines().zip(&self.expected) {
            let agrees = match (said.strip_prefix("! "), verdict) {
                (None, Ok(octets)) => said == hex(octets),
                // The numbers of srtp_err_status_t.
                (Some(status), Err(why)) => match why {
                    Refused::Forged => status == "7",
                    Refused::Replayed => status == "9",
                    Refused::Old => status == "10",
                    Refused::UnknownMki => status == "25",
                    Refused::WrongEncryption => status == "14",
                    _ => true,
                },
                _ => false,
            };
            assert!(agrees, "{command}\nlibsrtp: {said}\nTandem: {verdict:x?}");
        }
    }
}

/// The two ends of a direction, and their doubles in libsrtp.
struct Direction {
    sender: Sender,
    receiver: Receiver,
    key: usize,
}

impl Direction {
    fn new(script: &mut Script, name: usize, parameters: Parameters, keys: &[KeyEntry]) -> Self {
        let flag = |is: bool, letter| if is { letter } else { "" };
        let words: Vec<String> = keys.iter().map(word).collect();
        for way in ["out", "in"] {
            script.commands += &format!(
                "new {way}{name} {way} {} -{}{}{} {}\n",
                parameters.suite.name(),
                flag(!parameters.encrypts_rtp, "p"),
                flag(!parameters.encrypts_rtcp, "c"),
                flag(!parameters.authenticates_rtp, "a"),
                words.join(" "),
            );
        }
        // libsrtp's first report has the index one.
        let state = |ssrc| StreamState { ssrc, highest: None, rtcp: Some(0), moved: 0 };
        let states = SSRCS.map(state);
        let sender = Sender::resume(parameters, keys, &states, Skip::NONE).expect("sound keys");
        let receiver = Receiver::new(parameters, keys).expect("sound keys");
        Self { sender, receiver, key: 0 }
    }
}

fn word(entry: &KeyEntry) -> String {
    let mki = entry
        .mki
        .map_or(String::new(), |mki| format!("{:0width$x}", mki.value(), width = mki.octets() * 2));
    format!("{}/{mki}", hex(entry.key.expose()))
}

/// Packets by seed through both, the copies of some, in other orders, with bits changed.
fn talk(script: &mut Script, name: usize, direction: &mut Direction, random: &mut Random) {
    let mut on_the_way: Vec<(bool, Vec<u8>)> = Vec::new();
    let mut sequences = SSRCS.map(|_| random.next() as u16 & 0x7fff);
    for _ in 0..400 {
        let at = random.below(3) as usize;
        let is_rtcp = random.below(6) == 0;
        let packet = if is_rtcp {
            let plain = random.rtcp(SSRCS[at]);
            let packet = sent_rtcp(&mut direction.sender, &plain);
            let command = format!("protect_rtcp out{name} {} {}", hex(&plain), direction.key);
            script.expect(command, packet.clone());
            packet
        } else {
            let step = [1, 1, 1, 0, 65_534, 65_500, 300, 9_000][random.below(8) as usize];
            sequences[at] = sequences[at].wrapping_add(step);
            let plain = random.rtp(SSRCS[at], sequences[at]);
            let packet = sent(&mut direction.sender, &plain);
            let command = format!("protect out{name} {} {}", hex(&plain), direction.key);
            script.expect(command, packet.clone());
            packet
        };
        if let Ok(packet) = packet {
            let copies = [0, 1, 1, 1, 1, 2][random.below(6) as usize];
            on_the_way.extend(vec![(is_rtcp, packet); copies]);
        }
        while on_the_way.len() > 3 {
            let at = random.below(on_the_way.len() as u64) as usize;
            let (is_rtcp, mut packet) = on_the_way.swap_remove(at);
            if random.below(8) == 0 && direction.sender.parameters().authenticates_rtp {
                // Not of the head's lengths: what is no packet any more has many names.
                let at = 1 + random.below(packet.len() as u64 - 1) as usize;
                packet[at] ^= 1 << random.below(8);
            }
            let (call, verdict) = match is_rtcp {
                true => ("unprotect_rtcp", opened_rtcp(&mut direction.receiver, &packet)),
                false => ("unprotect", opened(&mut direction.receiver, &packet)),
            };
            script.expect(format!("{call} in{name} {}", hex(&packet)), verdict);
        }
    }
}

/// The suites that libsrtp has as they are written. Of a master key of 192 bits it derives with
/// AES-256, other than RFC 6188 §7.4 has it; for the last one it has no name.
fn suites() -> impl Iterator<Item = Suite> {
    let differs = |suite: &Suite| suite.key_octets() == 24 || *suite == Suite::NullHmacSha1_32;
    Suite::ALL.iter().copied().filter(move |suite| !differs(suite))
}

#[test]
fn libsrtp_has_the_same_octets_and_the_same_verdicts() {
    let mut script = Script::default();
    for (name, suite) in suites().enumerate() {
        let mut random = Random(name as u64);
        let keys = [KeyEntry::alone(random.key(suite))];
        let mut direction = Direction::new(&mut script, name, Parameters::of(suite), &keys);
        talk(&mut script, name, &mut direction, &mut random);
    }
    let passed = script.expected.iter().filter(|(_, verdict)| verdict.is_ok()).count();
    let count = |why| script.expected.iter().filter(|(_, it)| *it == Err(why)).count();
    let counts = [Refused::Forged, Refused::Replayed, Refused::Old].map(count);
    assert!(passed > 2_000 && counts.iter().all(|count| *count > 20), "{passed} {counts:?}");
    script.run();
}

#[test]
fn libsrtp_agrees_where_not_all_is_encrypted_or_authenticated() {
    let mut script = Script::default();
    let usual = Parameters::of(Suite::AesCm128HmacSha1_80);
    let all = [
        Parameters { encrypts_rtp: false, ..usual },
        Parameters { encrypts_rtcp: false, ..usual },
        Parameters { authenticates_rtp: false, ..usual },
        Parameters { encrypts_rtcp: false, ..Parameters::of(Suite::AeadAes128Gcm) },
    ];
    for (name, parameters) in all.into_iter().enumerate() {
        let mut random = Random(100 + name as u64);
        let keys = [KeyEntry::alone(random.key(parameters.suite))];
        let mut direction = Direction::new(&mut script, name, parameters, &keys);
        talk(&mut script, name, &mut direction, &mut random);
    }
    script.run();
}

#[test]
fn libsrtp_finds_the_same_master_key() {
    let mut script = Script::default();
    // Where tags of RTP and RTCP differ, libsrtp looks for the identifier of RTCP at another place
    // than it writes it to.
    let suites = suites().filter(|suite| suite.tag_octets() == suite.rtcp_tag_octets());
    for (name, suite) in suites.enumerate() {
        let mut random = Random(200 + name as u64);
        let octets = [1, 2, 4, 8, 16][name % 5];
        let entry = |random: &mut Random, value| KeyEntry {
            key: random.key(suite),
            mki: Mki::new(value, octets),
            allowance: Allowance::FULL,
        };
        let mut keys = vec![entry(&mut random, 1), entry(&mut random, 77), entry(&mut random, 2)];
        let parameters = Parameters::of(suite);
        let mut direction = Direction::new(&mut script, name, parameters, &keys);
        talk(&mut script, name, &mut direction, &mut random);
        // The sender changes to its second key; counters go on.
        keys.swap(0, 1);
        direction.sender.rekey(parameters, &keys, srtp::Rollover::Kept).expect("sound keys");
        direction.key = 1;
        let plain = random.rtp(0x55, 1);
        let packet = sent(&mut direction.sender, &plain).expect("its index is new");
        script.expect(format!("protect out{name} {} 1", hex(&plain)), Ok(packet.clone()));
        let verdict = opened(&mut direction.receiver, &packet);
        assert_eq!(verdict, Ok(plain));
        script.expect(format!("unprotect in{name} {}", hex(&packet)), verdict);
    }
    script.run();
}
