//! `tandem guardian`: aborts the associations of a site whose process has died; and how
//! `tandem run` starts it.

use crate::cli::Guardian;
use crate::exit::Exit;
use crate::rights;
use crate::site::Site;
use driver::privilege::{self, Account};
use guardian::{Ended, Sockets, guard};
use sctp_stack::Carrier;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Runs it.
pub fn run(asked: &Guardian) -> Result<(), Exit> {
    // It ends when the process has: not before, by what is meant for that.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let failed = |what: &str, error: String| Exit::Failed(format!("{what}: {error}"));
    let sockets = if asked.ip { Sockets::open_raw() } else { Ok(Sockets::default()) };
    // Associations over UDP are aborted without.
    let sockets = sockets.unwrap_or_else(|error| {
        eprintln!("tandem guardian: no IP packet can be sent, so none over IP is aborted: {error}");
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
        Ended::Died(it) => {
            let (sent, failed) = (it.sent, it.failed);
            eprintln!("tandem guardian: the process died: {sent} ABORTs sent, {failed} not");
        }
    }
    Ok(())
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
    // It waits for the end of this process, which so does not wait for its.
    let (handle, _child) = guardian::spawn(command).map_err(|error| error.to_string())?;
    guardian::install(handle);
    Ok(())
}

/// The site ends in order: nothing is aborted.
pub fn rest() {
    if let Some(handle) = guardian::installed() {
        handle.rest();
    }
}
