//! tshark as a witness of what leaves.

use std::process::Command;

/// The frames as a capture file of Ethernet.
fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (at, frame) in frames.iter().enumerate() {
        for word in [at as u32, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// tshark finds nothing malformed or wrong in the frames, and each filter holds of one of them.
pub fn sound(frames: &[Vec<u8>], filters: &[&str]) {
    sound_with(frames, filters, &[]);
}

/// As [`sound`], with further arguments for tshark.
pub fn sound_with(frames: &[Vec<u8>], filters: &[&str], arguments: &[&str]) {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("tandem-nodes-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture(frames)).unwrap();
    let count = |filter: &str| {
        let fixed = ["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:FALSE"];
        let asked = Command::new("tshark")
            .args(fixed)
            .args(arguments)
            .arg("-r")
            .arg(&path)
            .args(["-Y", filter])
            .output()
            .expect("tshark is not installed (Debian: tshark; `make setup` installs it)");
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        String::from_utf8_lossy(&asked.stdout).into_owned()
    };
    let bad = count("_ws.malformed || _ws.expert.severity >= 8388608 || ip.checksum.status == 0");
    let missing: Vec<_> = filters.iter().filter(|filter| count(filter).is_empty()).collect();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(bad, "", "tshark complains");
    assert!(missing.is_empty(), "tshark sees nothing of {missing:?}");
}
