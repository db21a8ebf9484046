//! What a site leaves open to others: no mistake, but nothing to do unknowingly. `tandem check`
//! says it in words, and the log does when a site starts.

use crate::functions::Section;
use crate::rights;
use crate::site::Site;
use crate::token;
use config::{Diagnostic, Issue, Source};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Everything that is open, with its place in `text`, the text of the site file `file`.
pub fn exposures(file: &Path, text: &str, site: &Site) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    process(site, &mut found);
    management(site, &mut found);
    let directory = site.directory(file);
    for Section { path, inner, .. } in site.sections() {
        let open = inner.exposures(&directory).into_iter();
        found.extend(open.map(|issue| issue.under(&path)));
    }
    secrets(file, site, &mut found);
    tokens(&directory, &mut found);
    Source::parse(text).map(|source| config::locate(&source, found)).unwrap_or_default()
}

/// Whether `udp:192.0.2.1:5060` or `192.0.2.1:8080` is reached from other machines.
pub fn is_remote(listen: &str) -> bool {
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

/// The site file may hold passwords; those in files of their own are refused when others read them.
fn secrets(file: &Path, site: &Site, found: &mut Vec<Issue>) {
    if !site.sections().iter().any(|section| section.inner.holds_passwords()) {
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
pub fn readable(file: &Path) -> Option<String> {
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
            let found = exposures(&file, text, &site);
            found.iter().filter(|it| it.path == "pe[0].name").count()
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
    fn a_peer_of_another_as_without_a_policy_is_named() {
        let peer = |keys: &str| {
            format!(
                "{QUIET}[[rr]]\nname = \"rr1\"\nasn = 65000\nidentifier = \"192.0.2.1\"\n\
                 [[rr.peer]]\nname = \"far\"\naddress = \"192.0.2.9\"\n\
                 ttl_security_hops = 1\n{keys}"
            )
        };
        assert_eq!(paths(&peer("asn = 65001\n")), ["rr[0].peer[0].name"]);
        for told in ["asn = 65000\n", "asn = 65001\ndefault_policy = \"accept\"\n"] {
            assert_eq!(paths(&peer(told)), Vec::<String>::new(), "{told}");
        }
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
