//! tshark decrypts what a tap has recorded with the keys that a realm has written, finds every code
//! right and complains of nothing (Debian: tshark).

use crate::pair_world::{self, SITE};
use crate::world::{Phone, World, section};
use handset::{Carrier, Handset, Packet};
use ims::Ipsec;
use machine::Duration;
use runtime::{ChannelOrder, Effects};
use secagree::Preference;
use sim::LinkSpec;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// For what a thread writes.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The packet as it is on its way, from its IP header on.
fn whole(packet: &Packet) -> Vec<u8> {
    let in_udp = packet.carrier == Carrier::InUdp;
    let udp_octets = packet.bytes.len() + 8;
    let mut inner = Vec::new();
    if in_udp {
        for word in [packet.from.port(), packet.to.port(), udp_octets as u16, 0] {
            inner.extend(word.to_be_bytes());
        }
    }
    inner.extend(&packet.bytes);
    let length = (20 + inner.len()) as u16;
    let mut out = vec![0x45, 0];
    out.extend(length.to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, if in_udp { 17 } else { 50 }, 0, 0]);
    for address in [packet.from, packet.to] {
        let std::net::IpAddr::V4(ip) = address.ip() else { panic!("IPv4 here") };
        out.extend(ip.octets());
    }
    out.extend(inner);
    out
}

fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        for word in [0, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// What was to be written, done as a shard does it.
fn carried_out(out: Effects) {
    let mut open = None;
    for (_, order) in out.channels {
        match order {
            ChannelOrder::Connect(to) => open = to.connect().ok(),
            ChannelOrder::Write(octets) => open.as_mut().unwrap().write(octets).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// What tshark says of a file of packets, with the keys of `folder`: a row for each packet.
fn read(folder: &Path, packets: &[Vec<u8>]) -> Vec<Vec<String>> {
    let file = folder.join("esp.pcap");
    std::fs::write(&file, pcap(packets)).unwrap();
    let mut command = Command::new("tshark");
    command.env("WIRESHARK_CONFIG_DIR", folder).arg("-r").arg(&file);
    command.args(["-o", "esp.enable_encryption_decode:TRUE"]);
    command.args(["-o", "esp.enable_authentication_check:TRUE"]);
    command.args(["-d", "udp.port==5062,sip", "-d", "udp.port==6100,sip"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    let fields = ["esp.icv_good", "sip.CSeq.method", "_ws.expert.message", "_ws.malformed"];
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed (make setup)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_decrypts_what_phones_said_by_the_keys_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("esp_sa");
    let key_log = Some(path.to_str().unwrap().to_owned());
    // The pairs that Wireshark knows: the third is GMAC.
    let pairs = Preference::usual().pairs;
    let known = pairs.iter().filter(|(alg, _)| alg.name() != "aes-gmac");
    let phones = known.enumerate().flat_map(|(at, pair)| {
        let only = || Preference { pairs: vec![*pair], ..Preference::usual() };
        let nat = Some(([198, 51, 100, 9].into(), 1_000 * (at as u16 + 1)));
        let number = at as u64;
        [Phone::new(number * 2 + 1, None, only()), Phone::new(number * 2 + 2, nat, only())]
    });
    let phones: Vec<_> = phones.collect();
    let count = phones.len();
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(1, phones, Ipsec { key_log, ..section() }, spec);
    for phone in 0..count {
        world.act(phone, Handset::register);
        world.run(Duration::from_secs(2));
        let mut out = Effects::default();
        world.pcscf.access.write_keys(&mut out);
        carried_out(out);
    }
    let end = std::time::Instant::now() + PATIENCE;
    while std::fs::read_to_string(&path).map_or(0, |text| text.lines().count()) < 4 * count {
        assert!(std::time::Instant::now() < end, "its thread has written them");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4 * count);
    let packets: Vec<_> =
        world.air.iter().filter(|it| it.carrier != Carrier::Clear).map(whole).collect();
    assert_eq!(packets.len(), 2 * count, "a REGISTER and its 200 each");
    let rows = read(folder.path(), &packets);
    for row in &rows {
        assert_eq!(row[..], ["1", "REGISTER", "", ""], "{rows:#?}");
    }
    assert_eq!(rows.len(), packets.len());
    let alarms = world.pcscf.access.alarms(world.now);
    assert!(alarms.iter().any(|it| it.name == "ims-keys-written"), "{alarms:?}");
}

#[test]
fn a_controller_writes_keys_where_a_realm_wants_it_and_nowhere_else() {
    let on = SITE.replace("[realm.ipsec]", "[realm.ipsec]\nkey_log = \"/run/keys\"");
    for (site, lines) in [(on.as_str(), 8), (SITE, 0)] {
        let phones = vec![
            Phone::new(1, None, Preference::usual()),
            Phone::new(2, None, Preference::usual()),
        ];
        let spec = LinkSpec::perfect(Duration::from_millis(5));
        let mut world = pair_world::World::of(site, 1, phones, spec);
        for phone in 0..2 {
            world.act(phone, Handset::register);
        }
        world.run(Duration::from_secs(2));
        let text = String::from_utf8(world.keys.clone()).unwrap();
        assert_eq!(text.lines().count(), lines, "{text}");
        assert!(text.lines().all(|line| line.starts_with("\"IPv4\",")), "{text}");
    }
}
