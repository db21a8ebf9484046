//! memif with DPDK's `net_memif` on the other end: testpmd exchanges the addresses of each packet
//! and sends it back. Needs Debian's package `dpdk-dev`.

use crate::echo::{frames, mirrored};
use crate::field::{FAR_MAC, NEAR_MAC};
use graph::meta::HASHED;
use graph::{Pool, STRIDE};
use ports::memif::{Hub, Role, Spec};
use ports::{MemifPort, Port};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Each testpmd polls on a core without a pause: more than one at once starve one another.
static ALONE: Mutex<()> = Mutex::new(());

/// A testpmd process; it ends with the test.
struct Testpmd {
    process: Child,
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Testpmd {
    fn start(folder: &Path, role: &str, queues: usize, more: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = folder.join("memif.sock");
        let socket = socket.display();
        let device = format!(
            "net_memif0,role={role},id=7,socket={socket},socket-abstract=no,secret=open{more}"
        );
        let prefix = format!("tandem{}{role}{queues}", std::process::id());
        let log = File::create(folder.join("testpmd.log")).unwrap();
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "-l", "0,1"]);
        command.args([&format!("--vdev={device}"), &format!("--file-prefix={prefix}"), "--"]);
        command.args(["--forward-mode=macswap", "--port-topology=loop", "--auto-start"]);
        command.args([format!("--rxq={queues}"), format!("--txq={queues}")]);
        command.args(["--total-num-mbufs=8192", "--nb-cores=1", "--no-mlockall"]);
        command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        let process = command.spawn().expect("dpdk-testpmd runs: install Debian's dpdk-dev");
        Self { process, folder: folder.to_owned(), _alone: alone }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("testpmd.log")).unwrap()
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        // It ends by itself when its input does; killed, it leaves nothing but its socket.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("driver-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Waits until the other end is there and packets pass.
fn meets(port: &mut Port, pool: &mut Pool, peer: &Testpmd) {
    for _ in 0..3_000 {
        port.attend(pool);
        if port.is_up() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(port.is_up(), "{}", peer.log());
    warm_up(port, pool);
}

/// A slave of DPDK offers buffers when it polls for the first time: waits until something passes.
fn warm_up(port: &mut Port, pool: &mut Pool) {
    let mut got = Vec::new();
    for _ in 0..3_000 {
        let mut slots = vec![pool.put(&frames(FAR_MAC, NEAR_MAC)[0]).unwrap()];
        port.send(pool, &mut slots);
        std::thread::sleep(Duration::from_millis(20));
        if port.receive(pool, &mut got) > 0 {
            break;
        }
    }
    // All that was sent until then comes back now.
    std::thread::sleep(Duration::from_millis(100));
    port.receive(pool, &mut got);
    pool.free_all(&got);
}

/// Meets a testpmd of the other role and sends every frame through it, each checked bit by bit.
fn mirrors_with(name: &str, role: Role, queues: usize, change: impl Fn(&mut Spec), more: &str) {
    let folder = folder(name);
    let mut spec = Spec::new(&folder.join("memif.sock"), 7, role, NEAR_MAC);
    spec.secret[..4].copy_from_slice(b"open");
    spec.rings = (queues, queues);
    change(&mut spec);
    let mut port = Port::Memif(MemifPort::open(&spec).unwrap());
    let mut pool = Pool::new(2_048, STRIDE);
    let theirs = if role == Role::Master { "slave" } else { "master" };
    let peer = Testpmd::start(&folder, theirs, queues, more);
    meets(&mut port, &mut pool, &peer);
    let wanted = frames(FAR_MAC, NEAR_MAC);
    let mut back = Vec::new();
    for (number, some) in wanted.chunks(32).enumerate() {
        let mut slots: Vec<_> = some.iter().map(|frame| pool.put(frame).unwrap()).collect();
        for slot in &slots {
            let meta = pool.meta_mut(*slot);
            (meta.flags, meta.hash) = (HASHED, number as u32);
        }
        port.send(&mut pool, &mut slots);
        let enough = back.len() + some.len();
        for _ in 0..30_000 {
            port.receive(&mut pool, &mut slots);
            back.extend(slots.iter().map(|slot| pool.bytes(*slot).to_vec()));
            pool.free_all(&slots);
            slots.clear();
            if back.len() >= enough {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let expected: Vec<_> = wanted.iter().map(|frame| mirrored(frame)).collect();
    assert_eq!(back.len(), expected.len(), "{:?} {}", port.counters(), peer.log());
    assert!(back == expected, "every octet comes back, in order");
    assert_eq!(pool.free_slots(), 2_048);
    drop(peer);
    for _ in 0..6_000 {
        port.attend(&mut pool);
        if !port.is_up() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!port.is_up(), "the other end is gone");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dpdk_as_slave_sends_every_frame_back() {
    mirrors_with("slave", Role::Master, 1, |_| (), "");
}

#[test]
fn dpdk_as_master_sends_every_frame_back() {
    mirrors_with("master", Role::Slave, 1, |_| (), "");
}

#[test]
fn dpdk_with_several_rings_and_packets_in_pieces_sends_every_frame_back() {
    mirrors_with("pieces", Role::Master, 2, |_| (), ",bsize=256,rsize=8");
    mirrors_with("own-pieces", Role::Slave, 2, |spec| spec.buffer_octets = 256, "");
}

/// Two workers, each with a part of one memif: testpmd sends the packets of each ring back by the
/// ring of the same number, so what a worker sent comes back to it.
fn workers_mirror_with(name: &str, role: Role) {
    let folder = folder(name);
    let mut spec = Spec::new(&folder.join("memif.sock"), 7, role, NEAR_MAC);
    spec.secret[..4].copy_from_slice(b"open");
    spec.rings = (2, 2);
    let hub = Hub::new(&spec, 2);
    let theirs = if role == Role::Master { "slave" } else { "master" };
    let peer = Testpmd::start(&folder, theirs, 2, "");
    let rounds = 50;
    let begin = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (hub, peer, begin) = (&hub, &peer, &begin);
            scope.spawn(move || {
                let mut port = Port::Memif(MemifPort::join(hub, part).unwrap());
                let mut pool = Pool::new(1_024, STRIDE);
                meets(&mut port, &mut pool, peer);
                let mut some = frames(FAR_MAC, NEAR_MAC)[..32].to_vec();
                // The last octet says whose they are.
                some.iter_mut().for_each(|frame| frame.push(part as u8));
                let wanted: Vec<_> = some.iter().map(|frame| mirrored(frame)).collect();
                begin.wait();
                for round in 0..rounds {
                    let mut slots: Vec<_> =
                        some.iter().map(|frame| pool.put(frame).unwrap()).collect();
                    port.send(&mut pool, &mut slots);
                    let mut back = Vec::new();
                    for _ in 0..60_000 {
                        port.receive(&mut pool, &mut slots);
                        back.extend(slots.iter().map(|slot| pool.bytes(*slot).to_vec()));
                        pool.free_all(&slots);
                        slots.clear();
                        if back.len() >= wanted.len() {
                            break;
                        }
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    assert!(back == wanted, "round {round} of {part}: {} back", back.len());
                }
                assert_eq!(pool.free_slots(), 1_024);
                // The first part has the connection.
                begin.wait();
            });
        }
    });
    drop(peer);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_workers_share_a_memif_with_dpdk_as_slave_and_as_master() {
    workers_mirror_with("workers-slave", Role::Master);
    workers_mirror_with("workers-master", Role::Slave);
}
