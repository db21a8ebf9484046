//! System calls that a network function never makes: the kernel refuses them from now on, to this
//! process and those that it starts. What is left of a fault in it cannot load modules, mount,
//! trace others, make namespaces, run programs or turn data into code. Where it may start programs,
//! those map their libraries: then a file, one in memory too, can still be mapped as code.

use seccompiler::{BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp};
use seccompiler::{SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use std::collections::BTreeMap;
use std::io;

/// Refused with EPERM, by what they are for.
const REFUSED: &[&[libc::c_long]] = &[
    // Other processes.
    &[libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev],
    &[libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_perf_event_open, libc::SYS_acct],
    // System V's shared memory, which can be code and writable (SHM_EXEC).
    &[libc::SYS_shmget, libc::SYS_shmat],
    // The file system's shape, files past their folders' modes.
    &[libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot],
    &[libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig],
    &[libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr, libc::SYS_quotactl],
    &[libc::SYS_open_by_handle_at, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_mknodat],
    // The machine: its code, its clock, its name, its end.
    &[libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module],
    &[libc::SYS_kexec_load, libc::SYS_reboot, libc::SYS_syslog, libc::SYS_vhangup],
    &[libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime],
    &[libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname],
    // Namespaces, keys of the kernel, and what faults in the kernel were found in most.
    &[libc::SYS_setns, libc::SYS_unshare, libc::SYS_personality, libc::SYS_userfaultfd],
    &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
];
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS_mknod,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Sockets that are opened: the others' protocols are not needed.
const FAMILIES: [libc::c_int; 6] =
    [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_XDP];
/// Flags of `clone` that make a namespace; of time it has none for `clone`.
const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn broken(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

/// All of a number's bits, or some of them, are as given.
fn argument(
    at: u8,
    operator: SeccompCmpOp,
    value: libc::c_int,
) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(at, SeccompCmpArgLen::Dword, operator, value)
}

fn rules(may_start_programs: bool) -> Result<Rules, BackendError> {
    let always = REFUSED.iter().copied().flatten().chain(REFUSED_HERE);
    let mut rules: Rules = always.map(|&call| (call, Vec::new())).collect();
    if !may_start_programs {
        rules.insert(libc::SYS_execve, Vec::new());
        rules.insert(libc::SYS_execveat, Vec::new());
    }
    let others = FAMILIES.iter().map(|&family| argument(0, SeccompCmpOp::Ne, family));
    let others = SeccompRule::new(others.collect::<Result<_, _>>()?)?;
    rules.insert(libc::SYS_socket, vec![others]);
    // One rule for each bit: a rule can ask for bits that are set, not for any of several.
    let bits = (0..31).map(|bit| 1 << bit).filter(|bit| NAMESPACES & bit != 0);
    let is_set = |bit: libc::c_int| {
        let mask = SeccompCmpOp::MaskedEq(u64::from(bit.cast_unsigned()));
        SeccompRule::new(vec![argument(0, mask, bit)?])
    };
    rules.insert(libc::SYS_clone, bits.map(is_set).collect::<Result<_, _>>()?);
    // Data does not become code: neither at once nor later.
    let is_code = || argument(2, SeccompCmpOp::MaskedEq(4), libc::PROT_EXEC);
    let mut is_refused = vec![is_code()?];
    if may_start_programs {
        is_refused.push(argument(2, SeccompCmpOp::MaskedEq(2), libc::PROT_WRITE)?);
    }
    rules.insert(libc::SYS_mmap, vec![SeccompRule::new(is_refused)?]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![is_code()?])?]);
    rules.insert(libc::SYS_pkey_mprotect, vec![SeccompRule::new(vec![is_code()?])?]);
    Ok(rules)
}

fn install(rules: Rules, errno: libc::c_int) -> io::Result<()> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(broken)?;
    let refusal = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).map_err(broken)?;
    let program: seccompiler::BpfProgram = filter.try_into().map_err(broken)?;
    seccompiler::apply_filter_all_threads(&program).map_err(broken)
}

/// The calls of x32, which have the numbers of the others and a bit more (`__X32_SYSCALL_BIT`): no
/// program has them, and rules by number do not see them.
#[cfg(target_arch = "x86_64")]
fn refuse_x32() -> io::Result<()> {
    const X32: u32 = 0x4000_0000;
    // BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JGE | BPF_K, BPF_RET | BPF_K
    let [load, jump_from, give]: [u16; 3] = [0x20, 0x35, 0x06];
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let program = [
        step(load, 0, 0), // the number
        step(jump_from, 1, X32),
        step(give, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(give, 0, libc::SECCOMP_RET_ALLOW),
    ];
    seccompiler::apply_filter_all_threads(&program).map_err(broken)
}

/// Refuses them, in all threads, for good; no program that is started has more rights than this
/// process (`no_new_privs`). Without `may_start_programs` none can be started.
///
/// # Errors
/// The kernel has no seccomp.
pub fn refuse(may_start_programs: bool) -> io::Result<()> {
    // libc then falls back to `clone`, whose flags are seen; those of `clone3` are not.
    install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    #[cfg(target_arch = "x86_64")]
    refuse_x32()?;
    install(rules(may_start_programs).map_err(broken)?, libc::EPERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "TANDEM_TEST_REFUSES_CALLS";

    fn errno(result: libc::c_long) -> i32 {
        let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        if result < 0 { error } else { 0 }
    }

    /// Refusal is for good: the test is its own child, which has it.
    #[test]
    fn calls_that_no_function_makes_are_refused_and_the_others_are_not() {
        if std::env::var_os(CHILD).is_none() {
            let program = std::env::current_exe().unwrap();
            let name = "privilege::calls::tests::calls_that_no_function_makes_are_refused_and_the_\
                        others_are_not";
            let mut child = Command::new(program);
            let output = child.args(["--exact", name]).env(CHILD, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        refuse(false).unwrap();
        assert!(std::thread::spawn(|| true).join().unwrap(), "threads are started");
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let refused = Command::new("/bin/true").status().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "programs are not started");
        let (data, zero) = (libc::PROT_READ | libc::PROT_WRITE, 0 as libc::c_long);
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let map = |how_it_is_used: libc::c_int| {
            // SAFETY: a new mapping that nobody uses.
            errno(unsafe {
                libc::syscall(libc::SYS_mmap, zero, 4_096, how_it_is_used, how, -1, zero)
            })
        };
        assert_eq!((map(data), map(data | libc::PROT_EXEC)), (0, libc::EPERM));
        assert_eq!(map(libc::PROT_READ | libc::PROT_EXEC), libc::EPERM, "filled before");
        // SAFETY: plain numbers; what is refused does nothing.
        let others = unsafe {
            [
                errno(libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER)),
                errno(libc::syscall(libc::SYS_socket, libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
                errno(libc::syscall(libc::SYS_ptrace, zero, zero, zero, zero)),
                errno(libc::syscall(libc::SYS_io_uring_setup, 1, zero)),
                errno(libc::syscall(libc::SYS_shmget, libc::IPC_PRIVATE, 4_096, 0o600)),
                errno(libc::syscall(libc::SYS_clone, libc::CLONE_NEWNET | libc::SIGCHLD, zero)),
            ]
        };
        assert_eq!(others, [libc::EPERM; 6]);
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: as above.
            let x32 = unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) };
            assert_eq!(errno(x32), libc::ENOSYS);
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    }
}
