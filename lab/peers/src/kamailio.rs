//! Kamailio as a dialog-stateful, record-routing proxy between an access port and one next hop,
//! or as a registrar that keeps its bindings in memory.

use crate::port::wait_for_sip;
use crate::process::{Process, ProcessSpec, Usage};
use anyhow::Context;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const READY_MAX: Duration = Duration::from_secs(10);

/// Keys of a TLS port, PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct KamailioSpec {
    /// Where calls come in, and go out to the next hop, over UDP.
    pub listen: SocketAddr,
    /// Where calls come in over TLS, and its keys.
    pub tls: Option<(SocketAddr, TlsFiles)>,
    /// Where calls go.
    pub next_hop: SocketAddr,
    /// The core for all of its processes.
    pub core: Option<usize>,
    /// The network namespace that it stands in; `None`: the caller's.
    pub namespace: Option<String>,
    /// What it does with new requests before it forwards them.
    pub duty: Duty,
}

impl KamailioSpec {
    /// One that forwards and does nothing else, not pinned.
    #[must_use]
    pub const fn new(listen: SocketAddr, next_hop: SocketAddr) -> Self {
        Self { listen, tls: None, next_hop, core: None, namespace: None, duty: Duty::None }
    }
}

/// What Kamailio does beside forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Nothing.
    None,
    /// It changes User-Agent and Organization and adds two headers on each message.
    Manipulate,
    /// It lets so many INVITEs a second pass (`pipelimit`, TAILDROP) and answers 486 to the rest.
    Limit(u32),
    /// It serves this address; others go through `pike` and a list of those that it banned
    /// (`htable`), as its own configuration does it, and are refused.
    Shield(IpAddr),
    /// It has media anchored by the rtpengine that takes commands here: a worker waits for each of
    /// its answers.
    Anchor(SocketAddr),
}

/// A running Kamailio.
#[derive(Debug)]
pub struct Kamailio {
    process: Process,
    /// `kamailio 5.6.3`.
    pub version: String,
}

impl Kamailio {
    /// Starts it with one worker a socket, Kamailio's fast allocator and large receive buffers, and
    /// waits until it answers. Its files go to `directory`.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start(spec: &KamailioSpec, directory: &Path) -> anyhow::Result<Self> {
        Self::launch(spec, directory, &configuration(spec, PROXY, ROUTES))
    }

    /// The same as a registrar: `save()` into usrloc, in memory, answered without a transaction.
    ///
    /// # Errors
    /// As those of [`Kamailio::start`].
    pub fn start_registrar(spec: &KamailioSpec, directory: &Path) -> anyhow::Result<Self> {
        Self::launch(spec, directory, &configuration(spec, REGISTRAR, REGISTRAR_ROUTES))
    }

    fn launch(spec: &KamailioSpec, directory: &Path, text: &str) -> anyhow::Result<Self> {
        let program = program();
        let version = version(&program)?;
        let file = directory.join("kamailio.cfg");
        fs::write(&file, text)?;
        let shared = format!("-m {}", shared_mb());
        let options = "-DD -E -x fm -b 4000000 -M 64 -f kamailio.cfg -Y . -w .";
        let mut process = ProcessSpec::new("kamailio", program, directory)
            .with(shared.split(' ').chain(options.split(' ')));
        (process.core, process.namespace) = (spec.core, spec.namespace.clone());
        let mut process = Process::start(&process)?;
        process.wait_until(READY_MAX, || {
            let tls = spec.tls.as_ref().is_none_or(|(at, _)| TcpStream::connect(at).is_ok());
            tls && wait_for_sip(spec.listen, Duration::from_millis(200))
        })?;
        Ok(Self { process, version })
    }

    /// What its processes have used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

/// Shared memory that it may take, MiB: a third of the machine's, so that it never is the bound;
/// what it does not use costs nothing.
fn shared_mb() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    (kb.unwrap_or_default() / 3_072).clamp(1_024, 16_384)
}

/// Debian keeps it where only root looks.
fn program() -> PathBuf {
    let debian = PathBuf::from("/usr/sbin/kamailio");
    if debian.exists() { debian } else { PathBuf::from("kamailio") }
}

fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("-v").output();
    let output = output.context("kamailio is not installed (Debian: kamailio)")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    match words[..] {
        ["version:", name, number] => Ok(format!("{name} {number}")),
        _ => anyhow::bail!("kamailio -v printed `{}`", text.lines().next().unwrap_or_default()),
    }
}

fn configuration(spec: &KamailioSpec, modules: &[&str], routes: &str) -> String {
    let mut text = String::from(
        "#!KAMAILIO\ndebug=0\nlog_stderror=yes\nfork=yes\nchildren=1\nauto_aliases=no\n\
        dns=no\nrev_dns=no\n",
    );
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    line(format!("listen=udp:{}", spec.listen));
    match &spec.tls {
        Some((at, _)) => {
            line("enable_tls=yes\ntcp_children=1\ntcp_max_connections=4096".into());
            line("tcp_connection_lifetime=3605".into());
            line(format!("listen=tls:{at}"));
        }
        None => line("disable_tcp=yes".into()),
    }
    for module in modules {
        line(format!("loadmodule \"{module}.so\""));
    }
    if let Some((_, files)) = &spec.tls {
        line("loadmodule \"tls.so\"".into());
        line("modparam(\"tls\", \"tls_method\", \"TLSv1.2+\")".into());
        for (name, path) in [("certificate", &files.certificate), ("private_key", &files.key)] {
            line(format!("modparam(\"tls\", \"{name}\", \"{}\")", path.display()));
        }
    }
    let next_hop = spec.next_hop;
    let (begin, duty, more) = match spec.duty {
        Duty::None => ("", String::new(), ""),
        Duty::Manipulate => ("", "route(MANIPULATE);".into(), MANIPULATION),
        Duty::Limit(per_s) => (LIMIT_MODULES, LIMIT.replace("LIMIT", &per_s.to_string()), ""),
        Duty::Shield(known) => (SHIELD_MODULES, SHIELD.replace("KNOWN", &known.to_string()), ""),
        Duty::Anchor(ng) => {
            line(format!("loadmodule \"rtpengine.so\"\n{ANCHOR_SOCKET}{ng}\")"));
            ("", ANCHOR.to_owned(), ANCHOR_ROUTES)
        }
    };
    let routes = routes.replace("NEXT_HOP", &next_hop.to_string());
    let _ = write!(text, "{begin}{}{more}", routes.replace("DUTY_HERE", &duty));
    text
}

const LIMIT_MODULES: &str = r#"
loadmodule "pipelimit.so"
modparam("pipelimit", "timer_interval", 1)
"#;

const LIMIT: &str = r#"
    if (is_method("INVITE") && !has_totag() && !pl_check("next-hop", "TAILDROP", "LIMIT")) {
        sl_send_reply("486", "Busy Here");
        exit;
    }"#;

const SHIELD_MODULES: &str = r#"
loadmodule "htable.so"
loadmodule "pike.so"
modparam("htable", "htable", "ipban=>size=12;autoexpire=300;")
modparam("pike", "sampling_time_unit", 2)
modparam("pike", "reqs_density_per_unit", 30)
modparam("pike", "remove_latency", 4)
"#;

const SHIELD: &str = r#"
    if ($si != "KNOWN") {
        if ($sht(ipban=>$si) != $null) { exit; }
        if (!pike_check_req()) { $sht(ipban=>$si) = 1; exit; }
        sl_send_reply("403", "Forbidden");
        exit;
    }"#;

const ANCHOR_SOCKET: &str = "modparam(\"rtpengine\", \"rtpengine_sock\", \"udp:";

const ANCHOR: &str = r#"
    if (is_method("BYE")) { rtpengine_delete(); }
    if (is_method("INVITE")) {
        if (has_body("application/sdp") && !rtpengine_offer("replace-origin")) {
            sl_send_reply("503", "No Media");
            exit;
        }
        t_on_reply("ANCHOR");
    }"#;

const ANCHOR_ROUTES: &str = r#"
onreply_route[ANCHOR] {
    if (has_body("application/sdp")) { rtpengine_answer("replace-origin"); }
}
"#;

const PROXY: &[&str] = &["tm", "sl", "rr", "pv", "maxfwd", "siputils", "textops", "dialog"];
const REGISTRAR: &[&str] = &["sl", "pv", "siputils", "textops", "usrloc", "registrar"];

const REGISTRAR_ROUTES: &str = r#"
modparam("usrloc", "db_mode", 0)
modparam("usrloc", "hash_size", 18)
modparam("usrloc", "timer_interval", 3600)
modparam("registrar", "max_expires", 3600)

request_route {
    if (is_method("OPTIONS") && $rU == "ready") { sl_send_reply("200", "OK"); exit; }
    if (is_method("REGISTER")) { save("location"); exit; }
    sl_send_reply("404", "Not here");
}
"#;

const ROUTES: &str = r#"
modparam("rr", "enable_full_lr", 1)
modparam("tm", "fr_timer", 32000)
modparam("tm", "fr_inv_timer", 120000)
modparam("dialog", "default_timeout", 7200)

request_route {
    if (is_method("OPTIONS") && $rU == "ready") { sl_send_reply("200", "OK"); exit; }
    if (!mf_process_maxfwd_header("70")) { sl_send_reply("483", "Too Many Hops"); exit; }
    DUTY_HERE
    if (has_totag()) {
        if (loose_route()) { t_relay(); exit; }
        if (is_method("ACK")) { if (t_check_trans()) { t_relay(); } exit; }
        sl_send_reply("404", "Not here");
        exit;
    }
    if (is_method("CANCEL")) { if (t_check_trans()) { t_relay(); } exit; }
    t_check_trans();
    record_route();
    if (is_method("INVITE")) { dlg_manage(); }
    $du = "sip:NEXT_HOP";
    t_relay();
}
"#;

const MANIPULATION: &str = r#"
route[MANIPULATE] {
    remove_hf("User-Agent");
    append_hf("User-Agent: another/2.0\r\n");
    remove_hf("Organization");
    append_hf("Organization: changed\r\n");
    append_hf("X-First: one\r\n");
    append_hf("X-Second: two\r\n");
}

onreply_route {
    route(MANIPULATE);
}
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::free_port;

    #[test]
    fn kamailio_starts_answers_and_is_gone_again() {
        let directory = tempfile::tempdir().unwrap();
        let local = [127, 0, 0, 1].into();
        let spec = KamailioSpec::new(free_port(local).unwrap(), free_port(local).unwrap());
        let kamailio = Kamailio::start(&spec, directory.path()).unwrap();
        assert!(kamailio.version.starts_with("kamailio "), "{}", kamailio.version);
        assert!(kamailio.usage().resident_bytes > 0);
        drop(kamailio);
        assert!(!wait_for_sip(spec.listen, Duration::from_millis(300)));
    }
}
