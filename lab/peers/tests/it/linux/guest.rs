//! The guest of all tests.

use crate::node::wire::Wire;
use crate::peer::{Field, Place};
use peers::{GUEST_ADDRESSES, GUEST_WIRES, Guest, guest_mac};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Boots with the first test; ends with the process. Image, console and program are files of one
/// directory: another process of these tests waits until this one has ended.
static GUEST: LazyLock<Result<(Guest, File), String>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux");
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let lock = File::create(directory.join("lock")).map_err(|error| error.to_string())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| error.to_string())?;
    let cache = directory.join("packages");
    let guest = Guest::boot(&cache, &directory).map_err(|error| format!("{error:#}"))?;
    Ok((guest, lock))
});

pub fn guest() -> &'static Guest {
    match &*GUEST {
        Ok((guest, _)) => guest,
        Err(why) => panic!("there is no Linux guest: {why}"),
    }
}

/// The guest's kernel as a peer.
pub struct Linux;

pub const LINUX: Linux = Linux;

impl Field for Linux {
    fn place(&self) -> Place {
        static NEXT: AtomicU8 = AtomicU8::new(10);
        let host = NEXT.fetch_add(1, Ordering::Relaxed);
        let inside = || {
            guest().enter().unwrap();
            let wires = GUEST_WIRES.iter().zip(GUEST_ADDRESSES).zip(0..);
            let open = |((interface, guest), number): ((&&str, Ipv4Addr), u8)| {
                let [a, b, c, _] = guest.octets();
                let mac = [2, 0, 0, 1, number, host];
                Wire::open(interface, [a, b, c, host].into(), mac, guest_mac(number))
            };
            wires.map(open).collect()
        };
        let wires = std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
        let start = |words: &str| guest().talk(&format!("association {words}")).unwrap();
        Place { wires, start: Box::new(start) }
    }
}
