//! Kamailio as an S-CSCF with AKA (`ims_auth`), and the HSS that answers its Cx: a program on
//! PyPI's `python-diameter`, for tests alone.
//!
//! ```text
//! P-CSCF ─ SIP, UDP ─→ kamailio: ims_auth, ims_registrar_scscf, cdp ─ Diameter, TCP ─→ hss.py
//!                         └─ ims_isc ─ SIP, UDP ─→ an application server
//! ```

use crate::port::wait_for_sip;
use crate::process::{Process, ProcessSpec};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const READY_MAX: Duration = Duration::from_secs(30);
const CONFIGURATION: &str = include_str!("scscf/kamailio.cfg");
const HSS: &str = include_str!("scscf/hss.py");

/// What to run.
#[derive(Debug, Clone)]
pub struct ScscfSpec {
    /// Where it takes SIP over UDP; its address is its Diameter identity.
    pub listen: SocketAddr,
    /// Where the HSS listens, and its Diameter identity.
    pub hss: SocketAddr,
    /// Its domain.
    pub realm: String,
    /// Its subscribers: private and public identity, K and OPc in hexadecimal digits, with commas
    /// between.
    pub cards: Vec<String>,
    /// An application server that registrations and messages of all subscribers go to by their
    /// filter criteria; with one nobody is asked for a proof.
    pub application: Option<SocketAddr>,
}

/// A running S-CSCF with its HSS.
#[derive(Debug)]
pub struct Scscf {
    scscf: Process,
    hss: Process,
    control: PathBuf,
}

impl Scscf {
    /// Starts both and waits until the S-CSCF has its HSS. Their files go to `directory`.
    ///
    /// # Errors
    /// When one is not installed (Debian: kamailio-ims-modules, kamailio-presence-modules; PyPI:
    /// python-diameter) or does not come up.
    pub fn start(spec: &ScscfSpec, directory: &Path) -> anyhow::Result<Self> {
        let ScscfSpec { listen, hss, realm, cards, application } = spec;
        let identity = hss.ip().to_string();
        let text = CONFIGURATION.replace("OWN", &listen.to_string());
        let control = directory.join("control");
        let text = text.replace("REALM", realm).replace("HSS", &identity);
        let text = text.replace("CONTROL", &control.to_string_lossy());
        let (defined, host, uri) = match application {
            Some(it) => ("#!define WITH_APPLICATION", it.ip().to_string(), format!("sip:{it}")),
            None => ("", String::new(), "none".to_owned()),
        };
        let text = text.replace("#DEFINED", defined).replace("APPLICATION_HOST", &host);
        fs::write(directory.join("kamailio.cfg"), text)?;
        fs::write(directory.join("cdp.xml"), cdp(spec))?;
        fs::write(directory.join("hss.py"), HSS)?;
        let own = listen.ip().to_string();
        let port = hss.port().to_string();
        let words = ["hss.py", &identity, &port, &own, realm, &uri].map(str::to_owned);
        let words = words.into_iter().chain(cards.iter().cloned());
        let mut hss =
            Process::start(&ProcessSpec::new("hss", "/usr/bin/python3", directory).with(words))?;
        let log = directory.join("hss.log");
        let said = |word: &str| fs::read_to_string(&log).is_ok_and(|text| text.contains(word));
        hss.wait_until(READY_MAX, || said("listens"))?;
        let options = "-DD -E -m 256 -f kamailio.cfg -Y . -w .";
        let kamailio = PathBuf::from("/usr/sbin/kamailio");
        let spec = ProcessSpec::new("kamailio", kamailio, directory).with(options.split(' '));
        let mut scscf = Process::start(&spec)?;
        scscf.wait_until(READY_MAX, || {
            wait_for_sip(*listen, Duration::from_millis(200)) && said("connected")
        })?;
        Ok(Self { scscf, hss, control })
    }

    /// Ends the registration of a public identity, as an administrator of the network does.
    ///
    /// # Errors
    /// It is not registered, or the S-CSCF does not say.
    pub fn deregister(&self, impu: &str) -> anyhow::Result<()> {
        let control = format!("unix:{}", self.control.display());
        let words = ["-s", &control, "regscscf.dereg_impu", impu];
        let output = Command::new("/usr/sbin/kamcmd").args(words).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_refused = !output.status.success() || said.starts_with("error");
        anyhow::ensure!(!is_refused, "{said}{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// The last lines of what both have said.
    #[must_use]
    pub fn log_end(&self) -> String {
        format!("{}\n{}", self.scscf.log_end(), self.hss.log_end())
    }

    /// What the HSS was asked: a line each.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.hss.log_end().lines().map(str::to_owned).collect()
    }
}

/// The configuration of the S-CSCF's Diameter.
fn cdp(spec: &ScscfSpec) -> String {
    let ScscfSpec { listen, hss, realm, .. } = spec;
    let (own, peer, port) = (listen.ip(), hss.ip(), hss.port());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <DiameterPeer FQDN=\"{own}\" Realm=\"{realm}\" Vendor_Id=\"10415\" \
         Product_Name=\"S-CSCF\" AcceptUnknownPeers=\"0\" DropUnknownOnDisconnect=\"1\" Tc=\"1\" \
         Workers=\"2\" QueueLength=\"32\" TransactionTimeout=\"5\" SessionsHashSize=\"128\" \
         DefaultAuthSessionTimeout=\"3600\" MaxAuthSessionTimeout=\"3600\">\n\
         <Peer FQDN=\"{peer}\" Realm=\"{realm}\" port=\"{port}\"/>\n\
         <Acceptor port=\"{port}\" bind=\"{own}\"/>\n\
         <Auth id=\"16777216\" vendor=\"10415\"/>\n\
         <SupportedVendor vendor=\"10415\"/>\n\
         <DefaultRoute FQDN=\"{peer}\" metric=\"10\"/>\n\
         </DiameterPeer>\n"
    )
}
