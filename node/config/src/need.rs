//! The rights and the parts of the kernel that a site will need, said by a check as notes: who
//! checks a file is often not who runs it.

use crate::Issue;
use std::fs;
use std::path::Path;

/// What a section needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A capability (capabilities(7)).
    Capability(Capability),
    /// A file that the kernel has where it can do what is wanted.
    Kernel(&'static str),
    /// No such file: the kernel would do itself what a function does.
    KernelWithout(&'static str),
    /// Huge pages for tables and packets, where the kernel gives some away.
    HugePages,
}

/// A capability of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    name: &'static str,
    /// Its number (linux/capability.h).
    number: u32,
}

impl Capability {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// Ports below 1024.
pub const NET_BIND_SERVICE: Capability = Capability { name: "CAP_NET_BIND_SERVICE", number: 10 };
/// Addresses and devices.
pub const NET_ADMIN: Capability = Capability { name: "CAP_NET_ADMIN", number: 12 };
/// Packets as they are.
pub const NET_RAW: Capability = Capability { name: "CAP_NET_RAW", number: 13 };
/// Programs of the kernel.
pub const BPF: Capability = Capability { name: "CAP_BPF", number: 39 };

/// A need, the path of the key that has it below its section, and what it is for.
pub type Wanted = (&'static str, Need, &'static str);

/// Pushes a note, if this machine, or who checks on it, does not have what is needed.
pub fn note(need: Need, for_what: &str, path: &str, found: &mut Vec<Issue>) {
    note_of(need, for_what, path, held(), found);
}

fn note_of(need: Need, for_what: &str, path: &str, held: u64, found: &mut Vec<Issue>) {
    let (what, hint) = match need {
        Need::Capability(Capability { name, number }) => {
            if held >> number & 1 == 1 {
                return;
            }
            let what = format!("{for_what}: it needs {name}, which this user does not have");
            (what, "run it as root, or as the unit tandem@.service does".to_owned())
        }
        Need::Kernel(file) if Path::new(file).exists() => return,
        Need::Kernel(file) => {
            let what = format!("{for_what}: this machine's kernel has no {file}");
            (what, "load the kernel's module for it".to_owned())
        }
        Need::KernelWithout(file) if !Path::new(file).exists() => return,
        Need::KernelWithout(file) => {
            let what = format!("{for_what}: this machine's kernel does it too ({file} is there)");
            (what, "give the function an address of its own, or unload the module".to_owned())
        }
        Need::HugePages => {
            let given = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            if !given.is_ok_and(|text| text.contains("[never]")) {
                return;
            }
            let what = format!("{for_what}: the kernel gives no huge pages, each look is slower");
            let hint = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
            (what, hint.to_owned())
        }
    };
    // One word about each right: a section of a hundred ports needs it once.
    if !found.iter().any(|known| known.what == what) {
        found.push(Issue::new(path, what, hint));
    }
}

/// The capabilities of this process, a bit each.
fn held() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(need: Need, held: u64) -> Vec<String> {
        let mut found = Vec::new();
        note_of(need, "a reason", "rr[0].name", held, &mut found);
        note_of(need, "a reason", "rr[1].name", held, &mut found);
        found.into_iter().map(|it| it.what).collect()
    }

    #[test]
    fn a_right_that_is_missing_is_named_once_and_one_that_is_there_not_at_all() {
        let admin = Need::Capability(NET_ADMIN);
        assert_eq!(said(admin, 1 << 12), Vec::<String>::new());
        let what = "a reason: it needs CAP_NET_ADMIN, which this user does not have";
        assert_eq!(said(admin, !(1 << 12)), [what]);
        assert_eq!(said(Need::Kernel("/proc/self/status"), 0), Vec::<String>::new());
        assert_eq!(said(Need::Kernel("/proc/none"), 0).len(), 1);
        assert_eq!(said(Need::KernelWithout("/proc/none"), 0), Vec::<String>::new());
        assert_eq!(said(Need::KernelWithout("/proc/self/status"), 0).len(), 1);
    }
}
