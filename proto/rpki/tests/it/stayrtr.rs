//! A real cache: StayRTR (Debian package `stayrtr`), recorded and live.
#![allow(clippy::disallowed_types)]
#![allow(clippy::disallowed_methods, reason = "a process is talked to over a socket")]

use crate::every::{self, World};
use rpki::{CacheId, In, Indication, Out, Phase, Settings, Version};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn what_stayrtr_says_is_understood() {
    let text = include_str!("../vectors/stayrtr.hex");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let octets: Vec<u8> = lines.flat_map(every::hex).collect();
    let mut world = World::new(Settings::new(1));
    world.connect(0);
    world.octets(0, &octets);
    assert_eq!(world.client.table().len(), (2, 1));
    let keys = world.client.router_keys();
    assert_eq!(
        (keys.len(), keys[0].asn, keys[0].ski[1], keys[0].spki.len()),
        (1, 65_001, 0x11, 27)
    );
    assert!(world.heard(&Indication::Synchronised(CacheId(0), 2)));
    // The notification behind it is of a newer serial number.
    let status = world.client.status().next().unwrap();
    assert_eq!((status.phase, status.known), (Phase::Asked, Some((0x7072, 2))));
}

/// The process, ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Where the caches listen: below the ports that the kernel gives to whoever asks for any.
const CACHE_PORT: u16 = 13_323;
const METRICS_PORT: u16 = 13_324;

/// An address of loopback for each cache, so that none waits for another's port.
fn free_address() -> Ipv4Addr {
    static GIVEN: AtomicU8 = AtomicU8::new(1);
    [127, 78, std::process::id() as u8, GIVEN.fetch_add(1, Relaxed)].into()
}

fn records(second: bool) -> String {
    let record = |prefix: &str, max: u8, asn: u32| {
        format!(
            r#"{{"prefix":"{prefix}","maxLength":{max},"asn":{asn},"ta":"x","expires":4000000000}}"#
        )
    };
    let mut records = record("192.0.2.0/24", 26, 65_001);
    if second {
        records = format!("{records},{}", record("2001:db8::/32", 48, 4_200_000_000));
    }
    format!(r#"{{"metadata":{{"buildtime":"2026-01-01T00:00:00Z"}},"roas":[{records}]}}"#)
}

fn start(version: &str, folder: &std::path::Path, at: Ipv4Addr) -> Running {
    let child = Command::new("stayrtr")
        .args(["-bind", &format!("{at}:{CACHE_PORT}"), "-checktime=false", "-refresh", "1"])
        .args(["-metrics.addr", &format!("{at}:{METRICS_PORT}"), "-protocol", version])
        .arg("-cache")
        .arg(folder.join("vrps.json"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("stayrtr is installed (make setup)");
    Running(child)
}

fn connect(at: Ipv4Addr) -> TcpStream {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpStream::connect((at, CACHE_PORT)) {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => panic!("stayrtr takes no connection: {error}"),
        }
    }
}

/// Talks until `done`, or fails after five seconds.
fn talk(world: &mut World, stream: &mut TcpStream, done: impl Fn(&World) -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut waiting, mut buffer) = (Vec::new(), [0; 4_096]);
    while !done(world) {
        assert!(Instant::now() < end, "{:?} {:?}", world.client.status().next(), world.out);
        for out in std::mem::take(&mut world.out) {
            match out {
                Out::Send(_, octets) => stream.write_all(&octets).unwrap(),
                Out::Indicate(Indication::Failed(..)) => panic!("{out:?}"),
                _ => {}
            }
        }
        if let Ok(count) = stream.read(&mut buffer) {
            waiting.extend_from_slice(&buffer[..count]);
            let taken = world.client.receive(world.now, CacheId(0), &waiting, &mut world.out);
            waiting.drain(..taken);
        }
    }
}

#[test]
fn a_live_stayrtr_fills_the_table_and_its_changes_follow() {
    for (protocol, version) in [("1", Version::V1), ("0", Version::V0)] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("vrps.json"), records(false)).unwrap();
        let at = free_address();
        let _running = start(protocol, folder.path(), at);
        let mut stream = connect(at);
        let mut settings = Settings::new(1);
        settings.version = version;
        let mut world = World::new(settings);
        world.step(In::Start);
        world.step(In::Connected(CacheId(0)));
        talk(&mut world, &mut stream, |world| world.client.table().len() == (1, 0));
        std::fs::write(folder.path().join("vrps.json"), records(true)).unwrap();
        talk(&mut world, &mut stream, |world| world.client.table().len() == (1, 1));
        assert_eq!(world.client.status().next().unwrap().version, version);
    }
}
