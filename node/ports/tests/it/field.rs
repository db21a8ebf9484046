//! Two network namespaces joined by a veth pair: `near` (port side, 10.9.0.2) and `far` (a Linux
//! host, 10.9.0.1). The test's thread moves into the near one.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Output};

pub const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 9, 1];
pub const NEAR_MAC: [u8; 6] = [2, 0, 0, 0, 9, 2];
pub const NEAR_ADDRESS: [u8; 4] = [10, 9, 0, 2];

/// Removed when the test ends.
pub struct Field {
    near: String,
    far: String,
}

impl Field {
    /// Two empty namespaces; the thread is in the near one. Where that is not allowed, nothing can
    /// be checked, and the test fails.
    pub fn bare(place: &str) -> Self {
        let name = |side| format!("driver-{}-{place}-{side}", std::process::id());
        let field = Self { near: name("near"), far: name("far") };
        for namespace in [&field.near, &field.far] {
            let made = run(&["ip", "netns", "add", namespace]);
            assert!(made.status.success(), "a namespace cannot be made: needs root and ip(8)");
            field.ip(namespace, "link set lo up");
        }
        enter(&field.near);
        field
    }

    /// With a veth pair `near0` and `far0` between them, up, the far one with its address and
    /// without IPv6 of its own accord.
    pub fn joined(place: &str) -> Self {
        let field = Self::bare(place);
        field.far("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        field.near("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        let far = field.far.clone();
        field.ip(&field.near, &format!("link add near0 type veth peer name far0 netns {far}"));
        field.ip(&field.near, "link set near0 address 02:00:00:00:09:02 up");
        field.ip(&far, "link set far0 address 02:00:00:00:09:01 up");
        field.ip(&far, "address add 10.9.0.1/24 dev far0");
        field
    }

    /// The far namespace's name, for ip(8).
    pub fn far_name(&self) -> &str {
        &self.far
    }

    fn ip(&self, namespace: &str, arguments: &str) {
        let command = format!("ip -netns {namespace} {arguments}");
        let output = run(&command.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{command}: {}", said(&output));
    }

    /// Runs ip(8) in the near namespace.
    pub fn near_ip(&self, arguments: &str) {
        self.ip(&self.near, arguments);
    }

    /// Runs a command in the near namespace.
    pub fn near(&self, command: &str) -> String {
        inside(&self.near, command)
    }

    /// Runs a command in the far namespace; it must succeed.
    pub fn far(&self, command: &str) -> String {
        inside(&self.far, command)
    }

    /// A command in the far namespace, to be started.
    pub fn far_command(&self, command: &str) -> Command {
        let mut made = Command::new("ip");
        made.args(["netns", "exec", &self.far]).args(command.split(' '));
        made
    }

    /// A command in the near namespace, to be started.
    pub fn near_command(&self, command: &str) -> Command {
        let mut made = Command::new("ip");
        made.args(["netns", "exec", &self.near]).args(command.split(' '));
        made
    }

    /// Does something in the far namespace; the thread comes back afterwards.
    pub fn in_far<T>(&self, what: impl FnOnce() -> T) -> T {
        enter(&self.far);
        let result = what();
        enter(&self.near);
        result
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            run(&["ip", "netns", "del", namespace]);
        }
    }
}

fn enter(namespace: &str) {
    let file = File::open(format!("/run/netns/{namespace}")).unwrap();
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

fn inside(namespace: &str, command: &str) -> String {
    let words: Vec<&str> =
        ["ip", "netns", "exec", namespace].into_iter().chain(command.split(' ')).collect();
    let output = run(&words);
    assert!(output.status.success(), "{command}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run(words: &[&str]) -> Output {
    Command::new(words[0]).args(&words[1..]).output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}
