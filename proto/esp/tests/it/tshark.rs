//! tshark decrypts with the keys, finds every code right and complains of nothing (Debian: tshark).

use crate::{ALGORITHMS, Ends, Keys, Random, datagram, parameters};
use esp::{Algorithm, Encryption, Integrity, Mode, Outbound, Parameters, Tunnel, Udp};
use std::fmt::Write as _;
use std::process::Command;

/// A file of packets that begin with IP.
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    file[4..8].copy_from_slice(&[2, 0, 4, 0]);
    for packet in packets {
        let length = u32::try_from(packet.len()).expect("short");
        for word in [0, 0, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold("0x".to_owned(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// What tshark calls them; GMAC it has not.
fn names(encryption: Encryption, integrity: Integrity) -> Option<[&'static str; 2]> {
    let cipher = match encryption {
        Encryption::Null => "NULL",
        Encryption::AesCbc(_) => "AES-CBC [RFC3602]",
        Encryption::AesGcm16(_) => "AES-GCM with 16 octet ICV [RFC4106]",
        Encryption::TripleDesCbc => "TripleDES-CBC [RFC2451]",
    };
    let code = match integrity {
        Integrity::HmacSha1_96 => "HMAC-SHA-1-96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC-SHA-256-128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC-SHA-384-192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC-SHA-512-256 [RFC4868]",
        Integrity::HmacMd5_96 => "HMAC-MD5-96 [RFC2403]",
        Integrity::Combined => "NULL",
        Integrity::AesGmac(_) => return None,
    };
    Some([cipher, code])
}

#[test]
fn tshark_decrypts_every_packet_and_finds_no_fault() {
    let mut random = Random(1);
    let (mut packets, mut keys_of, mut ports) = (Vec::new(), Vec::new(), 0);
    let [a, b] = ["198.51.100.1", "198.51.100.2"].map(|it| it.parse().expect("an address"));
    for (row, (encryption, integrity, ..)) in ALGORITHMS.into_iter().enumerate() {
        let Some([cipher, code]) = names(encryption, integrity) else { continue };
        let algorithm = Algorithm::new(encryption, integrity).expect("they go together");
        for (kind, mode) in
            [Mode::Transport, Mode::Tunnel(Tunnel::between(a, b))].iter().enumerate()
        {
            for udp in [None, Some(Udp { local: 4500, remote: 4500 })] {
                let spi = 0x1000 + (row * 8 + kind * 2 + usize::from(udp.is_some())) as u32;
                let parameters = Parameters {
                    spi: esp::Spi(spi),
                    mode: mode.clone(),
                    udp,
                    ..parameters(algorithm)
                };
                let keys = Keys::new(algorithm, &mut random);
                let mut ends = Ends::new(&parameters, 1);
                let seed = random.octets(16).try_into().expect("sixteen");
                ends.out = [Outbound::new(parameters, keys.material(), seed).expect("it fits")];
                for is_v6 in [false, true, false] {
                    // No protocol that tshark would guess.
                    let plain = datagram(is_v6, &vec![b'a'; random.below(99) as usize]);
                    packets.push(ends.send(&plain).expect("it passes"));
                    ports += 1;
                }
                for version in ["IPv4", "IPv6"] {
                    keys_of.push(format!(
                        "uat:esp_sa:\"{version}\",\"*\",\"*\",\"{spi:#010x}\",\"{cipher}\",\
                         \"{}\",\"{code}\",\"{}\",\"32-bit\",\"0x00000000\"",
                        if keys.encryption.is_empty() {
                            String::new()
                        } else {
                            hex(&keys.encryption)
                        },
                        if keys.integrity.is_empty() {
                            String::new()
                        } else {
                            hex(&keys.integrity)
                        },
                    ));
                }
            }
        }
    }
    let folder = std::env::temp_dir().join(format!("tandem-esp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("esp.pcap");
    std::fs::write(&file, pcap(&packets)).expect("a file");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-o", "esp.enable_encryption_decode:TRUE"]);
    command.args(["-o", "esp.enable_authentication_check:TRUE"]);
    command.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    for key in &keys_of {
        command.args(["-o", key]);
    }
    command.args(["-T", "fields", "-E", "separator=|"]);
    for field in [
        "esp.spi",
        "esp.icv_good",
        "esp.icv_bad",
        "udp.srcport",
        "_ws.expert.message",
        "_ws.malformed",
    ] {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed (make setup)");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(said.lines().count(), packets.len());
    let mut found = 0;
    for line in said.lines() {
        let [spi, good, bad, port, expert, malformed] = line.split('|').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        assert!(!spi.is_empty() && malformed.is_empty(), "{line}");
        assert!(good == "1" || bad.is_empty() || bad == "0", "{line}");
        assert!(!expert.to_lowercase().contains("checksum"), "{line}");
        found += usize::from(port.contains("40000"));
    }
    assert_eq!(found, ports, "not all were decrypted\n{said}");
}
