//! A network namespace for one test: the test's thread moves into it, and the threads that it
//! starts are born there.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;

/// Removed when the test ends; the thread stays in it until then.
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one with loopback up and moves into it. Where that is not allowed, nothing can be
    /// checked, and the test fails.
    pub fn enter(place: &str) -> Self {
        let name = format!("sctp-{}-{place}", std::process::id());
        assert!(
            ip(&["netns", "add", &name]),
            "a namespace cannot be made: that needs root and ip(8)"
        );
        let made = Self { name };
        let file = File::open(format!("/run/netns/{}", made.name)).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        made.ip(&["link", "set", "lo", "up"]);
        made
    }

    /// Runs ip(8) inside.
    pub fn ip(&self, arguments: &[&str]) {
        assert!(ip(&[&["-netns", &self.name], arguments].concat()), "ip {arguments:?}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).output().is_ok_and(|it| it.status.success())
}
