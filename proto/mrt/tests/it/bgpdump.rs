//! `bgpdump` (Debian package of that name) reads what the crate writes.

use crate::every;
use std::process::Command;

fn bgpdump(file: &[u8]) -> Vec<String> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file).unwrap();
    let output = Command::new("bgpdump").args(["-m", "-v"]).arg(path.path()).output();
    let output = output.expect("bgpdump is installed (make setup)");
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_fault = |line: &&str| line.contains("[error]") || line.contains("[warn]");
    assert_eq!(errors.lines().find(is_fault), None);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bgpdump_reads_our_tables() {
    let lines = bgpdump(&every::table(false));
    let next_hops = ["192.0.2.9", "192.0.2.9", "2001:db8::9"];
    let expected: Vec<String> = ["192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32"]
        .into_iter()
        .zip(next_hops)
        .flat_map(|(prefix, next_hop)| {
            [("192.0.2.1", "65001"), ("2001:db8::1", "4200000000")].map(|(peer, asn)| {
                format!(
                    "TABLE_DUMP2|1700000000|B|{peer}|{asn}|{prefix}|65001 4200000000|IGP|\
                     {next_hop}|0|0|65001:1|NAG||"
                )
            })
        })
        .collect();
    assert_eq!(lines, expected, "bgpdump passes over multicast and VPNs");
}

#[test]
fn bgpdump_reads_our_messages() {
    let lines = bgpdump(&every::messages());
    let updates =
        lines.iter().filter(|line| line.contains("|A|192.0.2.1|4200000000|192.0.2.0/24|"));
    assert_eq!(updates.count(), 2, "{lines:#?}");
    let states = lines.iter().filter(|line| line.contains("|STATE|2001:db8::1|4200000000|5|6"));
    assert_eq!(states.count(), 2, "{lines:#?}");
}
