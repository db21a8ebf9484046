//! `tandem guardian`: aborts the associations of a site whose process has died; and how
//! `tandem run` starts it.

use crate::cli::Guardian;
use crate::rights;
use crate::site::Site;
use client::Exit;
use driver::privilege::{self, Account};
use guardian::{Ended, Packets, Sockets, Unsent, guard, process_of};
use sctp_stack::{Carrier, SCTP_PROTOCOL, is_abort};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub fn run(asked: &Guardian) -> Result<(), Exit> {
    // It ends when the process has: not before, by what is meant for that.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let failed = |what: &str, error: String| Exit::Failed(format!("{what}: {error}"));
    // Somebody else's may have rights of its own: only its parent has it send.
    let process = process_of(std::io::stdout())
        .map_err(|error| failed("the process cannot be watched", error.to_string()))?;
    if process.is_some_and(|it| it != std::os::unix::process::parent_id()) {
        return Err(Exit::Usage("a guardian is started by `tandem run` for itself".into()));
    }
    let packets = Packets { protocol: SCTP_PROTOCOL, are: is_abort };
    let sockets = if asked.ip { Sockets::open_raw(packets) } else { Ok(Sockets::default()) };
    // Associations over UDP are aborted without.
    let sockets = sockets.unwrap_or_else(|error| {
        say(&format!("no IP packet can be sent, so none over IP is aborted: {error}"));
        Sockets::default()
    });
    if let Some(uid) = asked.uid {
        let found = Account::numbered(uid)?;
        let none = || Exit::Failed(format!("this machine has no user {uid}"));
        found.ok_or_else(none)?.act_as()?;
    }
    privilege::drop_all().map_err(|error| failed("capabilities", error.to_string()))?;
    privilege::keep_memory(false)?;
    let ended = guard(std::io::stdin(), std::io::stdout(), &sockets);
    match ended.map_err(|error| failed("the process cannot be watched", error.to_string()))? {
        Ended::InOrder => {}
        // Nothing stood: a site that was refused, for one.
        Ended::Died(Unsent { sent: 0, failed: 0 }) => {}
        Ended::Died(Unsent { sent, failed }) => {
            say(&format!("the process died: {sent} ABORTs sent, {failed} not"));
        }
    }
    Ok(())
}

/// Tells whoever reads the log; nobody may any more.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "tandem guardian: {what}");
}

/// Its process, until somebody waits for it.
static CHILD: Mutex<Option<Child>> = Mutex::new(None);

/// Waits for the guardian, and says so if it ends before this process. The rights of a thread are
/// its own: it is started when they are given up.
pub fn watch() {
    let Some(mut child) = CHILD.lock().ok().and_then(|mut it| it.take()) else { return };
    let watch = move || {
        let why = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        guardian::installed().into_iter().for_each(|it| it.lost(&why));
    };
    if let Err(error) = thread::Builder::new().name("guardian".into()).spawn(watch) {
        tracing::warn!(target: "guardian", %error, "nobody watches the guardian");
    }
}

/// Starts one for a site that speaks SCTP by itself. It has the rights that this process has now,
/// until it has opened its sockets. Why there is none, in words.
pub fn start(file: &Path, site: &Site) -> Result<(), String> {
    let carriers = site.sgc.iter().filter_map(|it| it.sctp.as_ref()).map(|it| it.carrier);
    let own: Vec<Carrier> = carriers.filter(|it| *it != Carrier::Kernel).collect();
    if own.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("guardian").stderr(Stdio::inherit());
    if own.iter().any(|it| matches!(it, Carrier::Ip | Carrier::Xdp)) {
        command.arg("--ip");
    }
    // What is wrong with the user is said where this process becomes it.
    if let Ok(Some(account)) = rights::account(file, &site.site) {
        command.arg("--uid").arg(account.uid().to_string());
    }
    let (handle, child) = guardian::spawn(command).map_err(|error| error.to_string())?;
    guardian::install(handle);
    if let Ok(mut kept) = CHILD.lock() {
        *kept = Some(child);
    }
    Ok(())
}

/// The site ends in order: nothing is aborted.
pub fn rest() {
    if let Some(handle) = guardian::installed() {
        handle.rest();
    }
}
