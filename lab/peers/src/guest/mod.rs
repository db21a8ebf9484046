//! A Linux kernel of its own in qemu, where the host's lacks something (SCTP, above all): the real
//! kernel as a peer, with programs of Debian's around it.
//!
//! ```text
//!   host ── a namespace of qemu's own ─────────────┐   ┌── guest ─────────────────────────
//!           control  10.90.0.1/24 (kernel)  ── tap ─┼───┼─ eth0  10.90.0.2   shells
//!           wire1    no address             ── tap ─┼───┼─ eth1  10.91.0.2   SCTP
//!           wire2    no address             ── tap ─┼───┼─ eth2  10.92.0.2   SCTP
//! ```
//! The wires have no address on the host's side: who opens a packet socket there is the only one
//! who answers, and nobody's kernel says "protocol unreachable". The namespace has no name and goes
//! with qemu.

mod archive;
mod image;
mod packages;

use crate::process::{Process, ProcessSpec};
use crate::talk::Talk;
use anyhow::Context;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Until the guest answers; a kernel takes some three seconds on a quiet core.
const BOOT_MAX: Duration = Duration::from_secs(60);
/// Until a command in it has ended.
const COMMAND_MAX: Duration = Duration::from_secs(30);
const SHELL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 90, 0, 2)), 7000);
/// What a shell says behind the last word of a command, before its status.
const END: &str = "<<end of command>>";
/// What a shell says before it becomes a program.
const BEGIN: &str = "<<begin of program>>";
const MEMORY_MB: usize = 256;
/// Half of it is what the first file system may have.
const MEMORY_WITH_OWN_MB: usize = 640;

/// Interfaces on the host's side that lead to `eth1` and `eth2` of the guest.
pub const GUEST_WIRES: [&str; 2] = ["wire1", "wire2"];
/// The addresses of the guest there; the networks have 24 bits.
pub const GUEST_ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 91, 0, 2), Ipv4Addr::new(10, 92, 0, 2)];
/// The guest's link-layer address on a wire, counted from 0.
#[must_use]
pub const fn guest_mac(wire: u8) -> [u8; 6] {
    [2, 0, 0, 0, wire + 1, 2]
}

/// The guest's address on the way of control, which has the host's kernel at its other end.
pub const GUEST_CONTROL: Ipv4Addr = Ipv4Addr::new(10, 90, 0, 2);
/// The host's address there.
pub const HOST_CONTROL: Ipv4Addr = Ipv4Addr::new(10, 90, 0, 1);

/// Makes the interfaces, then becomes qemu.
const HOST: &str = "set -e
ip link set lo up
for name in control wire1 wire2; do
  ip tuntap add dev $name mode tap
  ip link set $name up
done
ip address add 10.90.0.1/24 dev control
exec \"$@\"";

/// The guest's first program. The path's parameters make a failover short.
const INIT: &str = "#!/bin/sh
export PATH=/bin:/debian
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do insmod $module || echo \"failed: $module\"; done
for setting in rto_min=100 rto_initial=200 rto_max=400 path_max_retrans=2 hb_interval=500 \
  sack_timeout=40 auth_enable=1 addip_enable=1 reconf_enable=1 intl_enable=1 prsctp_enable=1; do
  echo ${setting#*=} >/proc/sys/net/sctp/${setting%=*}
done
ip link set lo up
number=0
for interface in eth0 eth1 eth2; do
  ip address add 10.9$number.0.2/24 dev $interface
  ip link set $interface up
  number=$((number + 1))
done
echo guest is up
socat TCP-LISTEN:7000,fork,reuseaddr,backlog=64 EXEC:/bin/sh,stderr
";

const ASSOCIATION: &str = include_str!("../../guest/association.c");
const STACK: &str = include_str!("../../guest/stack_linux.h");

/// A running guest. Dropping it ends it.
#[derive(Debug)]
pub struct Guest {
    process: Process,
}

impl Guest {
    /// Boots one. `cache` keeps the unpacked packages from one time to the next; kernel log and
    /// image go to `directory`. In the guest, `association` is a program that drives one SCTP
    /// association of its kernel by lines (`lab/peers/guest`); the programs of iproute2 are
    /// `/debian/ip` and `/debian/tc`.
    ///
    /// # Errors
    /// Without root, qemu (Debian: `qemu-system-x86`), a C compiler or the packages, or when the
    /// guest does not come up.
    pub fn boot(cache: &Path, directory: &Path) -> anyhow::Result<Self> {
        Self::boot_with(cache, directory, &[])
    }

    /// As [`Guest::boot`], with files of the host, by their path: programs and shared objects bring
    /// their libraries along.
    ///
    /// # Errors
    /// As [`Guest::boot`], or when one of the files is not there.
    pub fn boot_with(cache: &Path, directory: &Path, own: &[&str]) -> anyhow::Result<Self> {
        let root = packages::unpack(cache).context("the guest's packages")?;
        let association = compile(directory).context("the guest's program")?;
        let image = directory.join("image");
        fs::write(&image, image::build(&root, INIT, &[("association", association)], own)?)?;
        let mut arguments: Vec<String> =
            ["--net", "sh", "-c", HOST, "sh", "qemu-system-x86_64"].map(str::to_owned).into();
        let memory_mb = if own.is_empty() { MEMORY_MB } else { MEMORY_WITH_OWN_MB };
        arguments.extend(machine(&image::kernel(&root)?, &image, directory, memory_mb));
        let console = directory.join("console");
        // What an earlier one said is not this one's.
        fs::write(&console, "")?;
        let spec = ProcessSpec::new("guest", "unshare", directory).with(arguments);
        let process = Process::start(&spec).context("unshare(1)")?;
        let mut guest = Self { process };
        guest.await_boot(&console)?;
        Ok(guest)
    }

    fn await_boot(&mut self, console: &Path) -> anyhow::Result<()> {
        let is_up = || fs::read_to_string(console).is_ok_and(|text| text.contains("guest is up"));
        let booted = self.process.wait_until(BOOT_MAX, is_up).with_context(|| {
            let text = fs::read_to_string(console).unwrap_or_default();
            format!("qemu (Debian: qemu-system-x86); the guest's console: {text}")
        });
        booted?;
        let until = Instant::now() + BOOT_MAX;
        while let Err(error) = self.run("true") {
            anyhow::ensure!(Instant::now() < until, "the guest does not answer: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Moves the calling thread, and those it starts from now on, into the namespace where the
    /// guest's wires end.
    ///
    /// # Errors
    /// When the guest has ended.
    pub fn enter(&self) -> anyhow::Result<()> {
        let file = File::open(format!("/proc/{}/ns/net", self.process.id()))?;
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// A connection to the guest from inside that namespace.
    ///
    /// # Errors
    /// When it is refused.
    pub fn connect(&self, to: SocketAddr) -> anyhow::Result<TcpStream> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                Ok(TcpStream::connect_timeout(&to, Duration::from_secs(2))?)
            });
            inside.join().map_err(|_| anyhow::anyhow!("the thread has panicked"))?
        })
    }

    /// Runs a command in a shell of the guest and returns what it printed.
    ///
    /// # Errors
    /// When the guest does not answer, or the command's status is not zero: its words are quoted.
    pub fn run(&self, command: &str) -> anyhow::Result<String> {
        let mut shell = self.connect(SHELL)?;
        shell.set_read_timeout(Some(COMMAND_MAX))?;
        write!(shell, "{PATH}\n{command}\necho \"{END}$?\"\nexit\n")?;
        let mut text = String::new();
        shell.read_to_string(&mut text).with_context(|| format!("`{command}` has no end"))?;
        let (words, status) = text.split_once(END).with_context(|| text.clone())?;
        anyhow::ensure!(status.trim() == "0", "`{command}`: {words}");
        Ok(words.to_owned())
    }

    /// Starts a program in a shell of the guest, to talk with it by lines. It ends with the
    /// handle.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub fn talk(&self, command: &str) -> anyhow::Result<Talk> {
        let mut shell = self.connect(SHELL)?;
        // What is said before the shell has gone would be the shell's.
        write!(shell, "{PATH}\necho '{BEGIN}'; exec {command} 2>&1\n")?;
        let mut talk = Talk::new(shell.try_clone()?, shell, None);
        talk.pass(BEGIN, COMMAND_MAX)?;
        Ok(talk)
    }

    /// The kernel's name and version.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub fn version(&self) -> anyhow::Result<String> {
        Ok(self.run("uname -sr")?.trim().to_owned())
    }
}

const PATH: &str = "export PATH=/bin:/debian";

fn compile(directory: &Path) -> anyhow::Result<Vec<u8>> {
    let (source, program) = (directory.join("association.c"), directory.join("association"));
    fs::write(&source, ASSOCIATION)?;
    fs::write(directory.join("stack_linux.h"), STACK)?;
    let mut compiler = Command::new("cc");
    packages::run(compiler.args(["-O1", "-static", "-o"]).args([&program, &source]))?;
    Ok(fs::read(program)?)
}

/// qemu's arguments.
fn machine(kernel: &Path, image: &Path, directory: &Path, memory_mb: usize) -> Vec<String> {
    let words = "-accel tcg,thread=single -cpu max -nodefaults -no-user-config -display none \
        -no-reboot -append";
    let mut arguments: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    arguments.push("console=ttyS0 panic=-1 loglevel=3 mitigations=off random.trust_cpu=on".into());
    let console = format!("file:{}", directory.join("console").display());
    arguments.extend(["-serial".into(), console, "-m".into(), memory_mb.to_string()]);
    for (option, path) in [("-kernel", kernel), ("-initrd", image)] {
        arguments.extend([option.into(), path.display().to_string()]);
    }
    for (number, interface) in ["control", "wire1", "wire2"].iter().enumerate() {
        arguments.extend([
            "-netdev".into(),
            format!("tap,id=net{number},ifname={interface},script=no,downscript=no"),
            "-device".into(),
            format!("virtio-net-pci,netdev=net{number},mac=02:00:00:00:{number:02}:02"),
        ]);
    }
    arguments
}
