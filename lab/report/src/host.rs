//! The machine that a figure was measured on.

use serde_json::{Value, json};
use std::fs;

/// Processor, cores, memory, kernel.
#[must_use]
pub fn describe() -> Value {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|rest| rest.split_once(':')).map(|(_, name)| name.trim());
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kb: Option<u64> = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "cpu": model.unwrap_or("unknown"),
        "cores": cores(),
        "memory_mb": memory_kb.unwrap_or_default() / 1_024,
        "kernel": kernel.trim(),
    })
}

/// Cores that this process may use.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let host = describe();
        assert!(host["cores"].as_u64().unwrap() >= 1);
        assert!(host["memory_mb"].as_u64().unwrap() > 0);
        assert!(!host["kernel"].as_str().unwrap().is_empty());
    }
}
