//! What a site leaves open to others: no mistake, but nothing to do unknowingly. `tandem check`
//! says it in words, and the log does when a site starts.

use crate::rights;
use crate::site::Site;
use crate::token;
use config::{Diagnostic, Issue, Source};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Everything that is open, with its place in `text`, the text of the site file `file`.
pub fn exposures(file: &Path, text: &str, site: &Site) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    process(site, &mut found);
    management(site, &mut found);
    controllers(site, &mut found);
    reflectors(site, &mut found);
    gateways(site, &mut found);
    recordings(site, &mut found);
    forwarders(file, site, &mut found);
    secrets(file, site, &mut found);
    tokens(&site.directory(file), &mut found);
    Source::parse(text).map(|source| config::locate(&source, found)).unwrap_or_default()
}

/// Whether `udp:192.0.2.1:5060` or `192.0.2.1:8080` is reached from other machines.
fn is_remote(listen: &str) -> bool {
    let bare = listen.parse::<SocketAddr>();
    let address = bare.or_else(|_| listen.split_once(':').map_or("", |(_, rest)| rest).parse());
    address.is_ok_and(|address| !address.ip().is_loopback())
}

fn process(site: &Site, found: &mut Vec<Issue>) {
    if rights::stays_root(&site.site) {
        let what = "it runs as root: a fault in it is one of the machine";
        let mend = "give `user`, or run it as docs/tandem.service does";
        found.push(Issue::new("site", what, mend));
    }
    if !site.site.filter_system_calls {
        let what = "the kernel refuses no system call to it";
        found.push(Issue::new("site.filter_system_calls", what, "leave it out"));
    }
    if site.site.core_dumps {
        let what = "a core file or a debugger of the same user takes its keys out";
        found.push(Issue::new("site.core_dumps", what, "leave it out but to look for a fault"));
    }
}

fn management(site: &Site, found: &mut Vec<Issue>) {
    if is_remote(&site.oam.listen) {
        let what = "the API is reached from other machines, and nothing encrypts the token";
        let mend = "listen on 127.0.0.1 behind a TLS proxy, or keep the network private";
        found.push(Issue::new("oam.listen", what, mend));
        if site.oam.metrics_open {
            let what = "whoever reaches the API reads the metrics without a token";
            found.push(Issue::new(
                "oam.metrics_open",
                what,
                "leave it out, give Prometheus a token",
            ));
        }
    }
}

fn controllers(site: &Site, found: &mut Vec<Issue>) {
    for (s, ssc) in site.ssc.iter().enumerate() {
        for (r, realm) in ssc.realm.iter().enumerate() {
            let path = format!("ssc[{s}].realm[{r}]");
            let is_access = realm.side == ssc::realm::Side::Access;
            if is_access && !realm.register_required && realm.listen.iter().any(|at| is_remote(at))
            {
                let what = "whoever reaches this realm makes calls: nobody has to be registered";
                let mend = "add `register_required = true`, or keep the network private";
                found.push(Issue::new(format!("{path}.listen"), what, mend));
            }
            let is_open = realm.in_dialog_source() == ssc::realm::InDialogSource::Realm;
            if is_open && !realm.trusted && realm.listen.iter().any(|at| is_remote(at)) {
                let what = "whoever is in this realm and has read the names of a call ends or \
                    moves it: its requests may come from anywhere";
                let mend = "leave it out, or write `in_dialog_source = \"address\"`";
                found.push(Issue::new(format!("{path}.in_dialog_source"), what, mend));
            }
            if !realm.pass_headers.is_empty() && !realm.trusted {
                let names = realm.pass_headers.join(", ");
                let what = format!("what anybody writes into {names} passes as if it were true");
                let mend = "leave it out, or remove by [[ssc.rule]] what must not pass";
                found.push(Issue::new(format!("{path}.pass_headers"), what, mend));
            }
            let Some(tls) = &realm.tls else { continue };
            if !tls.verify_servers {
                let what = "certificates of servers are not checked: anybody may be the next hop";
                let at = format!("{path}.tls.verify_servers");
                found.push(Issue::new(at, what, "leave it out, and give `roots`"));
            }
            if let Some(what) = readable(Path::new(&tls.key)) {
                let mend = format!("chmod 600 {}", tls.key);
                found.push(Issue::new(format!("{path}.tls.key"), what, mend));
            }
        }
    }
}

fn reflectors(site: &Site, found: &mut Vec<Issue>) {
    let what = "its sessions are neither signed (TCP-MD5) nor bound to near routers (GTSM)";
    let mend = "give `password_file`, or `ttl_security_hops` for a neighbour on the same link";
    for (n, rr) in site.rr.iter().enumerate() {
        let is_proved = |group: &rr::config::Group| {
            group.password.is_some()
                || group.password_file.is_some()
                || group.ttl_security_hops.is_some()
        };
        for (at, group) in rr.group.iter().enumerate() {
            if !group.ranges.is_empty() && !is_proved(group) {
                found.push(Issue::new(format!("rr[{n}].group[{at}].ranges"), what, mend));
            }
        }
        for (at, peer) in rr.peer.iter().enumerate() {
            let group = rr.group.iter().find(|group| Some(&group.name) == peer.group.as_ref());
            let own = peer.password.is_some()
                || peer.password_file.is_some()
                || peer.ttl_security_hops.is_some();
            if !own && !group.is_some_and(is_proved) && !peer.address.is_loopback() {
                found.push(Issue::new(format!("rr[{n}].peer[{at}].address"), what, mend));
            }
        }
    }
}

fn gateways(site: &Site, found: &mut Vec<Issue>) {
    for (n, sgc) in site.sgc.iter().enumerate() {
        for (at, peer) in sgc.peer.iter().enumerate() {
            let is_near = |addresses: &[std::net::IpAddr]| {
                !addresses.is_empty() && addresses.iter().all(std::net::IpAddr::is_loopback)
            };
            let path = format!("sgc[{n}].peer[{at}]");
            if peer.addresses.is_empty() {
                let what = "whoever reaches the gateway may be this peer: it has no addresses";
                found.push(Issue::new(format!("{path}.name"), what, "give `addresses`"));
            }
            let has_any = peer.screening.originating.iter().flatten().any(|code| code == "any");
            if has_any && !is_near(&peer.addresses) {
                let what = "this peer may send in the name of any point code";
                let mend = "write the point codes that lie behind it";
                found.push(Issue::new(format!("{path}.screening.originating"), what, mend));
            }
        }
    }
}

fn recordings(site: &Site, found: &mut Vec<Issue>) {
    let Some(sas) = &site.sas else { return };
    let has_key = sas.auth_key.is_some() || sas.auth_key_file.is_some();
    if !has_key && sas.listen.iter().any(|listen| is_remote(listen)) {
        let what = "whoever reaches this port writes into the trails: HEP is taken without a key";
        found.push(Issue::new("sas.listen", what, "give `auth_key_file`, or listen on 127.0.0.1"));
    }
}

/// A forwarder of another user is controlled by both users, unless a key decides.
fn forwarders(file: &Path, site: &Site, found: &mut Vec<Issue>) {
    let directory = site.directory(file);
    for (n, pe) in site.pe.iter().enumerate().filter(|(_, pe)| pe.key_file.is_none()) {
        let socket = directory.join(format!("{}.forwarder", pe.name));
        let Ok(about) = fs::metadata(&socket) else { continue };
        let (owner, mode) = (about.uid(), about.permissions().mode());
        if owner != driver::doorway::own_user() || mode & 0o066 != 0 {
            let what = format!(
                "no key says who controls its forwarder, whose socket is that of user {owner} \
                 (mode {:o}): other users than this one may",
                mode & 0o777
            );
            let mend = "give `key_file` here and `--key-file` to the forwarder";
            found.push(Issue::new(format!("pe[{n}].name"), what, mend));
        }
    }
}

/// The site file may hold passwords; those in files of their own are refused when others read them.
fn secrets(file: &Path, site: &Site, found: &mut Vec<Issue>) {
    let of_group = |rr: &rr::config::Rr| rr.group.iter().any(|group| group.password.is_some());
    let of_peer = |rr: &rr::config::Rr| rr.peer.iter().any(|peer| peer.password.is_some());
    let in_reflectors = site.rr.iter().any(|rr| of_group(rr) || of_peer(rr));
    let in_recordings = site.sas.as_ref().is_some_and(|sas| sas.auth_key.is_some());
    if !in_reflectors && !in_recordings {
        return;
    }
    if let Some(what) = readable(file) {
        let mend = format!("chmod 600 {}, or keep passwords in files of their own", file.display());
        found.push(Issue::new("site", format!("passwords stand in it, and {what}"), mend));
    }
}

/// A token in clear that others read, and tokens that open nothing because others may use them.
fn tokens(directory: &Path, found: &mut Vec<Issue>) {
    let first = directory.join("token");
    if let Some(what) = readable(&first) {
        let mend = format!("chmod 600 {}, write a new token and start again", first.display());
        found.push(Issue::new("site.directory", what, mend));
    }
    for listed in token::of(directory).list().unwrap_or_default() {
        if let Err(why) = listed.state {
            let what = format!("the token `{}` opens nothing: {why}", listed.name);
            found.push(Issue::new("site.directory", what, "revoke it, and make another"));
        }
    }
}

/// In words, when others than its owner read a file.
fn readable(file: &Path) -> Option<String> {
    let mode = fs::metadata(file).ok()?.permissions().mode() & 0o7777;
    let open = mode & 0o044 != 0;
    open.then(|| format!("{} has mode {mode:04o}: others read it", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("site.toml");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let site = config::read::<Site>(text).unwrap();
        let found = exposures(&file, text, &site);
        assert!(found.iter().all(|it| it.line > 0 && !it.what.is_empty() && !it.mend.is_empty()));
        // Whether the test runs as root is the machine's.
        let root = |it: &Diagnostic| it.what.contains("root");
        found.into_iter().filter(|it| !root(it)).map(|it| it.path).collect()
    }

    #[test]
    fn a_forwarder_that_others_may_control_is_named_unless_a_key_decides() {
        let folder = tempfile::tempdir().unwrap();
        let (file, var) = (folder.path().join("site.toml"), folder.path().join("var"));
        fs::create_dir(&var).unwrap();
        let text = |key: &str| format!("{QUIET}[[pe]]\nname = \"pe1\"\n{key}");
        let named = |text: &str| {
            let site = config::read::<Site>(text).unwrap();
            let mut found = Vec::new();
            forwarders(&file, &site, &mut found);
            found.len()
        };
        assert_eq!(named(&text("")), 0, "none stands");
        let socket = var.join("pe1.forwarder");
        fs::write(&socket, "").unwrap();
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(named(&text("")), 0, "our own");
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!((named(&text("")), named(&text("key_file = \"key\"\n"))), (1, 0));
    }

    const QUIET: &str = "[site]\nname = \"x\"\ndirectory = \"var\"\n";

    #[test]
    fn a_site_that_leaves_nothing_open_is_warned_of_nothing() {
        assert_eq!(paths(QUIET), Vec::<String>::new());
        let sas =
            "[sas]\nname = \"sas1\"\ndirectory = \"sas\"\nlisten = [\"udp:127.0.0.1:9060\"]\n";
        assert_eq!(paths(&format!("{QUIET}{sas}")), Vec::<String>::new());
    }

    #[test]
    fn the_example_of_the_page_on_security_leaves_nothing_open() {
        let page = include_str!("../../docs/security.md");
        let examples: Vec<&str> =
            page.split("```toml\n").skip(1).filter_map(|it| it.split("```").next()).collect();
        assert!(!examples.is_empty());
        examples.iter().for_each(|text| assert_eq!(paths(text), Vec::<String>::new()));
    }

    #[test]
    fn a_realm_that_believes_whoever_is_in_it_is_named_unless_it_is_trusted() {
        let realm = |keys: &str| {
            format!(
                "{QUIET}[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"peers\"\n\
                 side = \"core\"\nlisten = [\"udp:192.0.2.1:5060\"]\n{keys}"
            )
        };
        let passing = "pass_headers = [\"Diversion\", \"History-Info\"]\n";
        assert_eq!(paths(&realm(passing)), ["ssc[0].realm[0].pass_headers"]);
        let open = "in_dialog_source = \"realm\"\n";
        assert_eq!(paths(&realm(open)), ["ssc[0].realm[0].in_dialog_source"]);
        for closed in ["", "trusted = true\n", "in_dialog_source = \"flow\"\n"] {
            assert_eq!(paths(&realm(closed)), Vec::<String>::new(), "{closed}");
        }
    }

    #[test]
    fn tokens_that_others_may_use_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("site.toml");
        let var = folder.path().join("var");
        fs::create_dir(&var).unwrap();
        let site = config::read::<Site>(QUIET).unwrap();
        let found = || {
            let all = exposures(&file, QUIET, &site).into_iter();
            all.filter(|it| it.path == "site.directory").map(|it| it.what).collect::<Vec<_>>()
        };
        token::of(&var).make(0, "reader", oam::token::Role::Monitor).unwrap();
        fs::write(var.join("token"), "0123456789abcdef").unwrap();
        let mode = |name: &str, mode| {
            fs::set_permissions(var.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("token", 0o600);
        assert_eq!(found(), Vec::<String>::new());
        mode("token", 0o640);
        mode("tokens/reader", 0o620);
        let found = found();
        assert!(found[0].contains("0640") && found[1].contains("`reader` opens nothing"));
    }

    #[test]
    fn each_exposure_is_named_with_its_place() {
        let text = format!(
            "{QUIET}core_dumps = true\nfilter_system_calls = false\n[oam]\n\
             listen = \"0.0.0.0:8080\"\nallow_remote = true\n\
             metrics_open = true\n[sas]\nname = \"sas1\"\ndirectory = \"sas\"\n\
             listen = [\"udp:192.0.2.1:9060\"]\n"
        );
        let expected = [
            "site.core_dumps",
            "site.filter_system_calls",
            "oam.listen",
            "oam.metrics_open",
            "sas.listen",
        ];
        let mut found = paths(&text);
        found.sort_by_key(|path| expected.iter().position(|it| it == path));
        assert_eq!(found, expected);
        let keyed =
            text.replace("name = \"sas1\"", "name = \"sas1\"\nauth_key = \"0123456789abcdef\"");
        let found = paths(&keyed);
        assert!(found.contains(&"site".to_owned()) && !found.contains(&"sas.listen".to_owned()));
    }
}
