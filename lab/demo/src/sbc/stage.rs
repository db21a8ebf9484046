//! Where calls are placed: addresses, the site file, the network side.

use super::calls::NETWORK;
use crate::place::Place;
use peers::{Sipp, SippSpec};
use report::site::Site;
use report::site_file::SiteFile;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Addresses of the scene, all on the loopback device.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// API and console.
    pub api: SocketAddr,
    /// The SSC toward the subscribers.
    pub access: SocketAddr,
    /// The SSC toward the network.
    pub core: SocketAddr,
    /// Softswitch and registrar.
    pub network: SocketAddr,
    /// The SAS.
    pub collector: SocketAddr,
}

impl Addresses {
    /// The well-known ports where they are free and somebody is to use them.
    ///
    /// # Errors
    /// When no port is free.
    pub fn choose(place: &Place) -> anyhow::Result<Self> {
        Ok(Self {
            api: place.address([127, 0, 0, 1], 8080)?,
            access: place.address([127, 0, 0, 1], 5060)?,
            core: place.address([127, 0, 0, 2], 5060)?,
            network: place.address([127, 0, 0, 20], 5060)?,
            collector: place.address([127, 0, 0, 1], 9060)?,
        })
    }
}

/// Everything that runs.
#[derive(Debug)]
pub struct Stage {
    /// The site: SSC, SAS, console.
    pub site: Site,
    /// The network side.
    pub network: Sipp,
    /// Where all of it is.
    pub addresses: Addresses,
}

impl Stage {
    /// Starts the network side, then the site.
    ///
    /// # Errors
    /// When one of them does not come up.
    pub fn set(place: &Place) -> anyhow::Result<Self> {
        let (binary, directory) = (&*place.tandem, &*place.directory);
        let addresses = Addresses::choose(place)?;
        let file = directory.join("network.xml");
        fs::write(&file, NETWORK)?;
        let spec = SippSpec::new("network", &file.display().to_string(), addresses.network);
        let network = Sipp::start(&spec, directory)?;
        let text = site(&addresses, directory);
        let site = Site::start(&Site::spec(binary, directory), &text, addresses.api)?;
        Ok(Self { site, network, addresses })
    }
}

fn site(at: &Addresses, directory: &Path) -> String {
    let Addresses { api, access, core, network, collector } = at;
    SiteFile::new("demo", directory, *api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\", \"udp:{collector}\"]"))
        .with(format_args!("[[ssc]]\nname = \"ssc1\"\ncapture = \"tcp:{collector}\""))
        .with("[ssc.registrar]\nclient_expires_s = 600")
        .realm("access", "access", &[format!("udp:{access}"), format!("tcp:{access}")])
        .realm("core", "core", &[format!("udp:{core}")])
        .with("trusted = true")
        .next_hop("softswitch", format_args!("udp:{network}"))
        // Numbers that end in 901 are nobody's business: the SSC refuses them itself.
        .with("[[ssc.route]]\nfrom = \"access\"\nuser = '901$'\nreject = 403")
        .route("access", "softswitch")
        .with(RULES)
        .text()
}

/// What the rules of the site do to the call `rules`: two headers of the INVITE change, one is
/// added, one is removed.
const RULES: &str = r#"
[[ssc.rule]]
name = "devices in words"
realm = "core"
direction = "out"
message = "request"
method = ["INVITE"]

[[ssc.rule.when]]
header = "X-Device"
matches = '^model-(\d+) build-(\d+)$'

[[ssc.rule.do]]
set = "X-Device"
value = "build $2 of model $1"

[[ssc.rule.do]]
replace = "User-Agent"
pattern = '^(.*)$'
value = "$1 via Tandem"

[[ssc.rule.do]]
add = "X-Network"
value = "demo"

[[ssc.rule.do]]
remove = "X-Secret"
"#;

/// Headers that the rules touch, and what they must be behind the SSC.
pub const RULED: &[(&str, Option<&str>)] = &[
    ("X-Device", Some("build 42 of model 7")),
    ("User-Agent", Some("demo-phone/1.0 via Tandem")),
    ("X-Network", Some("demo")),
    ("X-Secret", None),
];

/// The lines that the rules changed between two INVITEs of one call.
///
/// # Errors
/// The header that is not what the rules make it.
pub fn changes(before: &str, after: &str) -> Result<Vec<(String, String)>, String> {
    let line = |message: &str, name: &str| {
        let is = |line: &&str| line.split(':').next().is_some_and(|n| n.eq_ignore_ascii_case(name));
        message.lines().take_while(|line| !line.is_empty()).find(is).unwrap_or("").to_owned()
    };
    let mut changes = Vec::new();
    for (name, expected) in RULED {
        let (old, new) = (line(before, name), line(after, name));
        let value = new.split_once(':').map(|(_, value)| value.trim());
        if value != *expected {
            return Err(format!("{name} is `{new}` behind the SSC"));
        }
        changes.push((old, new));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "INVITE sip:a SIP/2.0\r\nX-Device: model-7 build-42\r\n\
        User-Agent: demo-phone/1.0\r\nX-Secret: s\r\n\r\nX-Network: no header\r\n";
    const AFTER: &str = "INVITE sip:a SIP/2.0\r\nX-Device: build 42 of model 7\r\n\
        User-Agent: demo-phone/1.0 via Tandem\r\nX-Network: demo\r\n\r\n";

    #[test]
    fn changes_are_told_when_all_rules_did_their_work() {
        let changes = changes(BEFORE, AFTER).unwrap();
        assert_eq!(changes[3], ("X-Secret: s".into(), String::new()));
        assert_eq!(changes[2], (String::new(), "X-Network: demo".into()));
    }

    #[test]
    fn a_rule_that_did_nothing_is_told() {
        assert!(changes(BEFORE, BEFORE).unwrap_err().contains("X-Device"));
    }
}
