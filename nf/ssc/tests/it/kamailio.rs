//! TLS with a program that nobody here wrote: Kamailio and the controller on real sockets, each
//! with a certificate that the other one asks for. Without Kamailio there is nothing to test.
//!
//! ```text
//! phone ─udp─→ Kamailio ─tls, sips:─→ access │ SSC │ core ─tls, sips:─→ Kamailio: 486
//! ```
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use runtime::{Running, RuntimeMetric, ShardSpec};
use ssc::Controller;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For anything that must happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// A request that got no answer is sent again after this long.
const AGAIN: Duration = Duration::from_millis(500);

/// A child that ends with its handle, and its workers with it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn program() -> Option<PathBuf> {
    let names = ["/usr/sbin/kamailio", "kamailio"].map(PathBuf::from);
    let module = Path::new("/usr/lib/x86_64-linux-gnu/kamailio/modules/tls.so");
    let runs = |name: &PathBuf| Command::new(name).arg("-v").output().is_ok();
    let found = names.into_iter().find(runs).filter(|_| module.exists());
    let may_skip = std::env::var("TANDEM_MAY_SKIP").is_ok_and(|it| it == "1");
    assert!(
        found.is_some() || may_skip,
        "no kamailio with tls (make setup); TANDEM_MAY_SKIP=1 leaves these tests out"
    );
    found
}

/// An authority and what it signs, as files.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    roots: PathBuf,
}

impl Authority {
    fn new(directory: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let roots = directory.join(format!("{name}.pem"));
        std::fs::write(&roots, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), roots }
    }

    /// Certificate and key of `name`.
    fn sign(&self, directory: &Path, name: &str, file: &str) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &self.issuer).unwrap();
        let paths = (directory.join(format!("{file}.crt")), directory.join(format!("{file}.key")));
        std::fs::write(&paths.0, made.pem()).unwrap();
        std::fs::write(&paths.1, key.serialize_pem()).unwrap();
        paths
    }
}

/// Where everybody is.
struct TestBed {
    directory: tempfile::TempDir,
    access_udp: SocketAddr,
    access: SocketAddr,
    core: SocketAddr,
    kamailio_udp: SocketAddr,
    kamailio: SocketAddr,
}

impl TestBed {
    fn new() -> Self {
        // An address of its own, and ports that the kernel gives to nobody: none is taken
        // meanwhile.
        static GROUNDS: AtomicU8 = AtomicU8::new(1);
        let here = [127, 77, std::process::id() as u8, GROUNDS.fetch_add(1, Relaxed)];
        let at = |port| SocketAddr::from((here, port));
        let ports = [15_060, 15_061, 15_062, 15_063, 15_064];
        let [access_udp, access, core, kamailio_udp, kamailio] = ports.map(at);
        let directory = tempfile::tempdir().unwrap();
        Self { directory, access_udp, access, core, kamailio_udp, kamailio }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn kamailio(&self, program: &Path, roots: &Path, files: &(PathBuf, PathBuf)) -> Ended {
        let text = format!(
            r#"#!KAMAILIO
debug=0
log_stderror=yes
exit_timeout=2
children=1
auto_aliases=no
dns=no
tcp_children=1
enable_tls=yes
listen=udp:{udp}
listen=tls:{tls}
loadmodule "sl.so"
loadmodule "tm.so"
loadmodule "pv.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "tls.so"
modparam("tls", "tls_method", "TLSv1.2+")
modparam("tls", "certificate", "{certificate}")
modparam("tls", "private_key", "{key}")
modparam("tls", "ca_list", "{roots}")
modparam("tls", "verify_certificate", 1)
modparam("tls", "require_certificate", 1)
modparam("tm", "fr_timer", 3000)
request_route {{
    if ($rU == "ready") {{ sl_send_reply("200", "OK"); exit; }}
    if (!is_method("INVITE")) {{ exit; }}
    if (proto == TLS) {{
        append_to_reply("X-Scheme: $(ru{{s.substr,0,5}})\r\n");
        append_to_reply("X-Asserted: $hdr(P-Asserted-Identity)\r\n");
        append_to_reply("X-Certificate: $tls_peer_subject_cn\r\n");
        sl_send_reply("486", "Busy Here");
        exit;
    }}
    $du = "sip:{access};transport=tls";
    t_relay();
}}
"#,
            udp = self.kamailio_udp,
            tls = self.kamailio,
            certificate = files.0.display(),
            key = files.1.display(),
            roots = roots.display(),
            access = self.access,
        );
        let file = self.path().join("kamailio.cfg");
        std::fs::write(&file, text).unwrap();
        let log = std::fs::File::create(self.path().join("kamailio.log")).unwrap();
        let mut command = Command::new(program);
        command.args(["-DD", "-E", "-m", "64", "-M", "8", "-f"]).arg(&file);
        command.arg("-Y").arg(self.path()).stdout(Stdio::null()).stderr(log);
        let child = Ended(command.spawn().unwrap());
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(self.kamailio).is_err() {
            assert!(Instant::now() < until, "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        child
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("kamailio.log")).unwrap_or_default()
    }

    fn controller(&self, roots: &Path, files: &(PathBuf, PathBuf)) -> Running<Controller> {
        let tls = format!(
            "tls = {{ certificate = {:?}, key = {:?}, roots = {roots:?}, verify_clients = true }}",
            files.0, files.1
        );
        let text = format!(
            r#"
name = "ssc"
[[realm]]
name = "access"
listen = ["udp:{}", "tls:{}"]
trusted_peers = ["kamailio.example.org"]
{tls}
[[realm]]
name = "core"
side = "core"
listen = ["tls:{}"]
trusted = true
{tls}
[[next_hop]]
name = "switch"
realm = "core"
targets = ["tls:{}"]
tls_name = "kamailio.example.org"
probe_interval_s = 0
[[route]]
from = "access"
to = ["switch"]
"#,
            self.access_udp, self.access, self.core, self.kamailio
        );
        let config: ssc::config::Ssc = toml::from_str(&text).unwrap();
        let spec = ShardSpec { name: "ssc".into(), ports: config.ports(), ..ShardSpec::default() };
        runtime::start(spec, Arc::new(config), Controller::new).unwrap()
    }

    /// Invites over UDP until a final answer came; that.
    fn invite(&self, to: SocketAddr, scheme: &str) -> String {
        let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
        phone.set_read_timeout(Some(AGAIN)).unwrap();
        let here = phone.local_addr().unwrap();
        let invite = format!(
            "INVITE {scheme}:bob@example.org SIP/2.0\r\n\
            Via: SIP/2.0/UDP {here};rport;branch=z9hG4bK{}\r\nMax-Forwards: 70\r\n\
            From: <sip:alice@example.org>;tag=1\r\nTo: <{scheme}:bob@example.org>\r\n\
            Call-ID: {here}\r\nCSeq: 1 INVITE\r\nContact: <{scheme}:alice@{here}>\r\n\
            P-Asserted-Identity: <sip:boss@example.org>\r\nContent-Length: 0\r\n\r\n",
            here.port()
        );
        let until = Instant::now() + PATIENCE;
        let mut bytes = [0; 4_096];
        loop {
            assert!(Instant::now() < until, "a final answer: {}", self.log());
            phone.send_to(invite.as_bytes(), to).unwrap();
            while let Ok(length) = phone.recv(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                if !text.starts_with("SIP/2.0 1") {
                    return text;
                }
            }
        }
    }
}

fn failed_handshakes(running: &Running<Controller>) -> u64 {
    let name = RuntimeMetric::HandshakeFailed;
    let cells = running.port_cells().into_iter().flat_map(|(_, cells)| cells);
    let row = event::Metric::row(name).name;
    let readings = cells.flat_map(|cells| cells.samples().collect::<Vec<_>>());
    let found = readings.filter(|(known, _)| known.name == row);
    found.map(|(_, reading)| if let event::Sample::Value(n) = reading { n } else { 0 }).sum()
}

#[test]
fn sips_passes_kamailio_and_the_controller_with_certificates_verified_on_every_side() {
    let Some(program) = program() else { return };
    let bed = TestBed::new();
    let authority = Authority::new(bed.path(), "authority");
    let ours = authority.sign(bed.path(), "ssc.example.org", "ssc");
    let theirs = authority.sign(bed.path(), "kamailio.example.org", "kamailio");
    let running = bed.controller(&authority.roots, &ours);
    let _kamailio = bed.kamailio(&program, &authority.roots, &theirs);
    let answer = bed.invite(bed.kamailio_udp, "sips");
    assert!(answer.starts_with("SIP/2.0 486 "), "{answer}\n{}", bed.log());
    for line in ["X-Scheme: sips:", "X-Certificate: ssc.example.org"] {
        assert!(answer.contains(line), "{line}: {answer}");
    }
    let believed = "X-Asserted: <sip:boss@example.org>";
    assert!(answer.contains(believed), "as a server we know who the client is: {answer}");
    assert_eq!(failed_handshakes(&running), 0);
}

#[test]
fn a_certificate_of_another_authority_is_refused_by_either_side() {
    let Some(program) = program() else { return };
    let bed = TestBed::new();
    let authority = Authority::new(bed.path(), "authority");
    let other = Authority::new(bed.path(), "other");
    let ours = authority.sign(bed.path(), "ssc.example.org", "ssc");
    let good = authority.sign(bed.path(), "kamailio.example.org", "kamailio");
    let wrong = other.sign(bed.path(), "kamailio.example.org", "wrong");
    let misnamed = authority.sign(bed.path(), "stranger.example.org", "stranger");
    let ours_wrong = other.sign(bed.path(), "ssc.example.org", "ours-wrong");
    {
        let running = bed.controller(&authority.roots, &ours);
        let kamailio = bed.kamailio(&program, &authority.roots, &wrong);
        let answer = bed.invite(bed.kamailio_udp, "sips");
        assert!(!answer.starts_with("SIP/2.0 486 "), "we take its client certificate: {answer}");
        let as_server = failed_handshakes(&running);
        assert!(as_server > 0, "a refusal counts");
        let answer = bed.invite(bed.access_udp, "sip");
        assert!(answer.starts_with("SIP/2.0 503 "), "we take its server certificate: {answer}");
        assert!(failed_handshakes(&running) > as_server, "a refusal counts");
        drop(kamailio);
        let _kamailio = bed.kamailio(&program, &authority.roots, &misnamed);
        let answer = bed.invite(bed.access_udp, "sip");
        assert!(answer.starts_with("SIP/2.0 503 "), "we take another name: {answer}");
    }
    let _running = bed.controller(&authority.roots, &ours_wrong);
    let _kamailio = bed.kamailio(&program, &authority.roots, &good);
    let answer = bed.invite(bed.access_udp, "sip");
    assert!(!answer.starts_with("SIP/2.0 486 "), "it takes ours: {answer}");
}
