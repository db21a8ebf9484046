//! The alert rules that are installed, by Prometheus' own tool.

use std::path::Path;
use std::process::Command;

/// Runs promtool on a file of `packaging/prometheus`.
fn promtool(words: [&str; 2], file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus");
    let output = Command::new("promtool").args(words).arg(file).current_dir(folder).output();
    let output = output.expect("promtool (Debian: prometheus)");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn the_alert_rules_can_be_read_and_tell_what_they_are_to() {
    promtool(["check", "rules"], "tandem.rules.yml");
    promtool(["test", "rules"], "tandem.test.yml");
}
