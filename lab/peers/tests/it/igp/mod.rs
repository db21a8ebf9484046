//! Interior routing and BFD against FRR and BIRD, each in a namespace of its own. The machines
//! of the house stand at the other end of the wires, over whole frames: no kernel answers for them.

mod bfd;
mod daemons;
mod isis;
mod ospf;
mod wire;

use attack::{Namespace, Veth};
use daemons::Daemon;
use peers::Process;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};
use wire::Wire;

/// Time that peers have for what takes them seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A wire to a namespace: the address of our end ends with 1, that of the other with 2.
struct Place {
    wire: Wire,
    there: Namespace,
    _here: Namespace,
    directory: tempfile::TempDir,
    processes: Vec<Process>,
}

impl Place {
    /// `10.NET.0.1` here and `10.NET.0.2` there, on its interface `far`.
    fn new(net: u8) -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let [here, there] = ["here", "there"].map(|end| {
            Namespace::new(&format!("igp-{end}{number}")).expect("namespaces need root")
        });
        let macs = [[2, 0, 0, 3, net, 1], [2, 0, 0, 3, net, 2]];
        let [near, far] = macs.map(|mac: [u8; 6]| mac.map(|it| format!("{it:02x}")).join(":"));
        let address = format!("10.{net}.0.2/24");
        Veth::pair(
            Veth { namespace: &here, interface: "near", addresses: &[], mac: &near },
            Veth { namespace: &there, interface: "far", addresses: &[&address], mac: &far },
        )
        .unwrap();
        let name = here.name();
        let inside = || {
            attack::enter(name).unwrap();
            Wire::socket("near")
        };
        let socket = std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
        let wire = Wire::new(socket, [10, net, 0, 1].into(), macs);
        let directory = tempfile::tempdir().unwrap();
        // FRR's daemons make their sockets as a user of their own.
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        Self { wire, there, _here: here, directory, processes: Vec::new() }
    }

    fn start(&mut self, daemon: &Daemon) {
        let process = daemon.start(self.there.name(), self.directory.path());
        self.processes.push(process);
    }

    /// What a daemon says to a command of its shell.
    fn ask(&self, daemon: &Daemon, command: &str) -> String {
        daemon.ask(self.there.name(), self.directory.path(), command)
    }
}

fn now(clock: &driver::Clock) -> machine::Time {
    machine::Time::from_nanos(clock.now_ns())
}

/// Does `round` until `ready` says yes.
fn until<T>(what: &str, state: &mut T, round: impl Fn(&mut T), ready: impl Fn(&mut T) -> bool) {
    let end = Instant::now() + PATIENCE;
    let mut looked = Instant::now();
    loop {
        round(state);
        if looked.elapsed() > Duration::from_millis(200) {
            looked = Instant::now();
            if ready(state) {
                return;
            }
        }
        assert!(Instant::now() < end, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_micros(500));
    }
}
