//! What a site leaves open to others: no mistake, but nothing to do unknowingly. `tandem check`
//! says it in words, and the log does when a site starts.

use crate::anchored;
use crate::functions::{self, Section};
use crate::rights;
use crate::site::Site;
use crate::token;
use config::keys::{self, quoted};
use config::need::{self, NET_BIND_SERVICE, Need};
use config::{Diagnostic, Issue, ListenAddress, Site as _};
use driver::privilege;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Number of the first port that everybody may bind.
const PORT_OPEN_TO_ALL: u16 = 1_024;
/// Rights of others to write.
const OTHERS_WRITE: u32 = 0o002;
/// In such a folder nobody but their owners replaces files, whoever may write it (`/tmp`).
const STICKY: u32 = 0o1000;

/// Said of each site that root starts and that names no user.
pub const RUNS_AS_ROOT: &str = "it runs as root: a fault in it is one of the machine";

/// Everything that is open, with its place in `text`, the text of the site file `file`.
pub fn exposures(file: &Path, text: &str, site: &Site) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    process(file, site, &mut found);
    written(file, &mut found);
    management(site, &mut found);
    let directory = site.directory(file);
    for Section { path, inner, .. } in site.sections() {
        let open = inner.exposures(&directory).into_iter();
        found.extend(open.map(|issue| issue.under(&path)));
    }
    secrets(file, site, &mut found);
    tokens(site, &directory, &mut found);
    config::placed(text, found)
}

/// What the author of a site may want to know although nothing is open.
pub fn advice(file: &Path, text: &str, site: &Site) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let listen_addresses = site.listen_addresses();
    for Section { path, inner, .. } in site.sections() {
        found.extend(inner.advice().into_iter().map(|issue| issue.under(&path)));
        let unheard = inner.head().capture.and_then(|to| unheard(to, &listen_addresses));
        found.extend(unheard.map(|issue| issue.under(&path)));
    }
    found.extend(anchored::unheard(&site.ssc, &site.msc));
    unwritable(file, &mut found);
    needs(site, &mut found);
    config::placed(text, found)
}

/// What the site needs of the machine, or of who runs it, and is not there.
fn needs(site: &Site, found: &mut Vec<Issue>) {
    let listen_addresses = site.listen_addresses().into_iter();
    let low = listen_addresses
        .filter(|listen_address| (1..PORT_OPEN_TO_ALL).contains(&listen_address.address.port()));
    for listen_address in low.take(1) {
        let reason = format!("port {} is below {PORT_OPEN_TO_ALL}", listen_address.address.port());
        need::note(Need::Capability(NET_BIND_SERVICE), &reason, &listen_address.path, found);
    }
    for Section { path, inner, .. } in site.sections() {
        for (at, need, reason) in inner.needs() {
            need::note(need, reason, &format!("{path}.{at}"), found);
        }
    }
}

/// Commits replace the site file: its folder must be the site's user's.
fn unwritable(file: &Path, found: &mut Vec<Issue>) {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if privilege::may_write(folder) {
        return;
    }
    let (user, word) = (privilege::acting(), quoted(folder));
    let folder = folder.display();
    let what = format!("no commit changes this file: {user} may not write in {folder}");
    let hint = format!("chown {user} {word} where commits shall be kept");
    found.push(Issue::new("site", what, hint));
}

/// Who may write the site file decides what runs.
fn written(file: &Path, found: &mut Vec<Issue>) {
    let Ok(whole) = file.canonicalize() else { return };
    for path in whole.ancestors() {
        let Ok(about) = fs::metadata(path) else { continue };
        let mode = about.permissions().mode() & 0o7777;
        let is_open = mode & OTHERS_WRITE != 0 && !(about.is_dir() && mode & STICKY != 0);
        if is_open {
            let word = quoted(path);
            let path = path.display();
            let what = format!("{path} has mode {mode:04o}: whoever writes it decides what runs");
            found.push(Issue::new("site", what, format!("chmod o-w {word}")));
        }
    }
}

/// Whether `udp:192.0.2.1:5060` or `192.0.2.1:8080` is reached from other machines.
pub fn is_remote(listen: &str) -> bool {
    remote(listen).is_some()
}

/// The address of `udp:192.0.2.1:5060` or `192.0.2.1:8080`, where it is reached from other
/// machines.
pub fn remote(listen: &str) -> Option<IpAddr> {
    let bare = listen.parse::<SocketAddr>();
    let address = bare.or_else(|_| listen.split_once(':').map_or("", |(_, rest)| rest).parse());
    address.ok().map(|address| address.ip()).filter(|ip| !ip.to_canonical().is_loopback())
}

/// Messages that leave the machine for a collector.
pub fn capture(to: &str) -> Option<Issue> {
    let what = "messages leave this machine in clear, and so does the key of `capture_key_file`";
    let hint = "collect on 127.0.0.1, or keep the network to the collector private (a tunnel)";
    is_remote(to).then(|| Issue::new("capture", what, hint))
}

/// Messages that go to a port of this machine where nobody listens, and of this site nobody will.
fn unheard(to: &str, listen_addresses: &[ListenAddress]) -> Option<Issue> {
    let collector = functions::listen("capture".to_owned(), to)?;
    let is_near = collector.address.ip().to_canonical().is_loopback();
    let is_own = listen_addresses.iter().any(|listen_address| listen_address.conflicts(&collector));
    if !is_near || is_own || collector.try_bind().is_err() {
        return None;
    }
    let what = format!("nobody listens at {to}: what is captured is lost");
    let hint = "add [sas] to this site, or start the collector";
    Some(Issue::new("capture", what, hint))
}

fn process(file: &Path, site: &Site, found: &mut Vec<Issue>) {
    if rights::stays_root(file, &site.site) {
        let hint = "give `user`, or run it as the unit tandem@.service does";
        found.push(Issue::new("site", RUNS_AS_ROOT, hint));
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
        let hint = "listen on 127.0.0.1 behind a TLS proxy, or keep the network private";
        found.push(Issue::new("oam.listen", what, hint));
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
        let hint = format!("chmod 600 {}, or keep passwords in files of their own", quoted(file));
        found.push(Issue::new("site", format!("passwords stand in it, and {what}"), hint));
    }
}

/// A token in clear that others read, and tokens that open nothing because others may use them.
fn tokens(site: &Site, directory: &Path, found: &mut Vec<Issue>) {
    let first = site.token_file(directory);
    if let Some(what) = readable(&first) {
        let hint = format!("chmod 600 {}, write a new token and start again", quoted(&first));
        found.push(Issue::new("site.directory", what, hint));
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

/// A private key of TLS that others read, named at `at`.
pub fn private_key(directory: &Path, at: impl Into<String>, name: &str) -> Option<Issue> {
    let key = keys::located(directory, name);
    let hint = || format!("chmod 600 {}, and make a new key if others had it", quoted(&key));
    readable(&key).map(|what| Issue::new(at, what, hint()))
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
        assert!(found.iter().all(|it| it.line > 0 && !it.what.is_empty() && !it.hint.is_empty()));
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
    fn a_network_device_that_is_not_there_is_named_unless_another_one_starts_the_forwarder() {
        let pe = |keys: &str| {
            format!("{QUIET}[[pe]]\nname = \"pe1\"\n{keys}[[pe.port]]\nname = \"no-such-0\"\n")
        };
        let packet = "driver = \"af_packet\"\n";
        assert_eq!(paths(&format!("{}{packet}", pe(""))), ["pe[0].port[0].name"]);
        let there = format!("{}{packet}device = \"lo\"\n", pe(""));
        assert_eq!(paths(&there), Vec::<String>::new());
        let absent = format!("{}{packet}device = \"no-such-1\"\n", pe(""));
        assert_eq!(paths(&absent), ["pe[0].port[0].device"]);
        let others = format!("{}{packet}", pe("forwarder = \"external\"\n"));
        assert_eq!(paths(&others), Vec::<String>::new());
        let made = format!("{}driver = \"tap\"\n", pe(""));
        assert_eq!(paths(&made), Vec::<String>::new());
    }

    #[test]
    fn a_media_controller_off_the_loopback_proves_who_is_there_and_ng_stays_on_it() {
        let controller = |keys: &str| {
            format!(
                "{QUIET}[[msc]]\nname = \"msc1\"\n{keys}\n[[msc.port]]\nname = \"a\"\n\
                 driver = \"tap\"\n[[msc.interface]]\nname = \"a\"\n\
                 addresses = [\"192.0.2.1/24\"]\n[[msc.group]]\nname = \"access\"\n\
                 addresses = [\"192.0.2.2\"]\n"
            )
        };
        let near = "listen = \"127.0.0.1:2970\"\nng = \"127.0.0.1:2223\"";
        assert_eq!(paths(&controller(near)), Vec::<String>::new());
        let far = "listen = \"127.0.0.1:2970\"\nng = \"10.0.0.1:2223\"";
        assert_eq!(paths(&controller(far)), ["msc[0].ng"]);
        // A key says who is there, and protects nothing that follows.
        let keyed = "listen = \"10.0.0.1:2970\"\nkey_file = \"msc.key\"";
        assert_eq!(paths(&controller(keyed)), ["msc[0].listen"]);
        let tls = "[msc.tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\nroots = \"r.pem\"\n\
            verify_clients = true";
        let proved = format!("listen = \"10.0.0.1:2970\"\n{tls}");
        assert_eq!(paths(&controller(&proved)), Vec::<String>::new());
        // Both nodes of a pair without an arbiter serve while their link is cut.
        let pair = |arbiter: &str| {
            format!(
                "{near}\n[msc.replica]\nnode = \"a\"\nlisten = \"127.0.0.1:5997\"\n\
                 peer = \"127.0.0.1:5998\"\n{arbiter}"
            )
        };
        assert_eq!(paths(&controller(&pair(""))), ["msc[0].replica"]);
        let arbiter = "arbiter = \"127.0.0.1:5999\"";
        assert_eq!(paths(&controller(&pair(arbiter))), Vec::<String>::new());
    }

    #[test]
    fn a_realm_whose_phones_must_agree_and_need_not_be_registered_is_named() {
        let site = |keys: &str, ipsec: &str| {
            format!(
                "{QUIET}[[ssc]]\nname = \"ssc1\"\n[ssc.registrar]\nenabled = true\n\
                 [[ssc.realm]]\nname = \"core\"\nside = \"core\"\ntrusted = true\n\
                 listen = [\"udp:127.0.0.2:5060\"]\n\
                 [[ssc.next_hop]]\nname = \"scscf\"\nrealm = \"core\"\n\
                 targets = [\"udp:127.0.0.3:5060\"]\n\
                 [[ssc.realm]]\nname = \"access\"\nside = \"access\"\n\
                 listen = [\"udp:127.0.0.1:5060\"]\n{keys}[ssc.realm.ipsec]\n{ipsec}\
                 [[ssc.route]]\nfrom = \"access\"\nto = [\"scscf\"]\n"
            )
        };
        let at = ["ssc[0].realm[1].register_required"];
        assert_eq!(paths(&site("", "")), at);
        assert_eq!(paths(&site("", "required = false\n")), Vec::<String>::new());
        assert_eq!(paths(&site("register_required = true\n", "")), Vec::<String>::new());
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
        for closed in ["", "in_dialog_source = \"flow\"\n"] {
            assert_eq!(paths(&realm(closed)), Vec::<String>::new(), "{closed}");
        }
        let trusted = realm("trusted = true\n");
        let at = |listen: &str| trusted.replace("udp:192.0.2.1:5060", listen);
        for open in ["udp:192.0.2.1:5060", "udp:0.0.0.0:5060\"]\nadvertise = \"x.example\" #"] {
            let found = paths(&at(open).replace(" #\"]", ""));
            assert_eq!(found, ["ssc[0].realm[0].trusted"], "{open}");
        }
        for private in ["udp:10.0.0.1:5060", "udp:[fd00::1]:5060", "tcp:127.0.0.1:5060"] {
            assert_eq!(paths(&at(private)), Vec::<String>::new(), "{private}");
        }
        let access =
            at("udp:10.0.0.1:5060").replace("core", "access") + "register_required = true\n";
        assert_eq!(paths(&access), ["ssc[0].realm[0].trusted"], "subscribers are strangers");
    }

    #[test]
    fn private_keys_that_others_read_are_named_wherever_tls_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (folder.path().join("site.toml"), folder.path().join("var/k.pem"));
        fs::create_dir(folder.path().join("var")).unwrap();
        fs::write(&key, "").unwrap();
        let tls = "certificate = \"c.pem\"\nkey = \"k.pem\"\nroots = \"r.pem\"\n";
        let realm = "[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"core\"\nside = \"core\"\n\
            listen = [\"tls:127.0.0.1:5061\"]\n[ssc.realm.tls]\n";
        let media = "[[ssc]]\nname = \"ssc1\"\n[[ssc.media.controller]]\nname = \"m\"\n\
            address = \"127.0.0.1:2970\"\n[ssc.media.controller.tls]\n";
        let tcap = "[[sgc]]\nname = \"stp\"\npoint_codes = [\"2-100-1\"]\n[[sgc.application]]\n\
            name = \"hlr\"\nsubsystem = \"hlr\"\nlisten = [\"tls:127.0.0.1:7701\"]\n\
            [sgc.application.tls]\n";
        let sms = "[[ipsmgw]]\nname = \"sms1\"\nnumber = \"447700000099\"\n\
            domain = \"ims.example\"\nlisten = [\"tcp:127.0.0.1:5090\"]\n";
        let diameter = format!(
            "{sms}[ipsmgw.diameter]\nhost = \"a.example\"\nrealm = \"example\"\n\
             [ipsmgw.diameter.tls]\n"
        );
        let link = format!(
            "{sms}[[ipsmgw.link]]\nname = \"stp1\"\naddress = \"tls:127.0.0.1:7701\"\n\
             application = \"ipsmgw\"\n[ipsmgw.link.tls]\n"
        );
        let sites = [
            (realm, "ssc[0].realm[0].tls.key"),
            (media, "ssc[0].media.controller[0].tls.key"),
            (tcap, "sgc[0].application[0].tls.key"),
            (&format!("{sms}[ipsmgw.tls]\n"), "ipsmgw[0].tls.key"),
            (&diameter, "ipsmgw[0].diameter.tls.key"),
            (&link, "ipsmgw[0].link[0].tls.key"),
        ];
        for (section, at) in sites {
            let text = format!("{QUIET}{section}{tls}");
            let site = config::shape::<Site>(&text).unwrap();
            let named = |mode| {
                fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
                let found = exposures(&file, &text, &site);
                found.iter().filter(|it| it.path == at && it.hint.contains("chmod 600")).count()
            };
            assert_eq!((named(0o600), named(0o644)), (0, 1), "{at}");
        }
    }

    #[test]
    fn a_message_gateway_names_peers_that_nothing_proves_and_ways_that_others_read() {
        let sms = |keys: &str| {
            let text = format!(
                "{QUIET}[[ipsmgw]]\nname = \"sms1\"\nnumber = \"447700000099\"\n\
                 domain = \"ims.example\"\n{keys}"
            );
            let site = config::shape::<Site>(&text).unwrap();
            let found = exposures(Path::new("/none/site.toml"), &text, &site).into_iter();
            let own = found.filter_map(|it| it.path.strip_prefix("ipsmgw[0].").map(str::to_owned));
            own.collect::<Vec<_>>()
        };
        let nothing = Vec::<String>::new();
        let near = "listen = [\"tcp:192.0.2.1:5090\", \"udp:127.0.0.1:5090\"]\n";
        assert_eq!(sms(near), nothing);
        assert_eq!(sms("listen = [\"tcp:127.0.0.1:1\", \"udp:192.0.2.1:5090\"]\n"), ["listen[1]"]);
        let link = |address: &str| {
            sms(&format!(
                "{near}[[ipsmgw.link]]\nname = \"a\"\naddress = \"{address}\"\n\
                 application = \"x\"\n"
            ))
        };
        assert_eq!(link("tcp:192.0.2.9:7700"), ["link[0].address"], "a key hides nothing");
        assert_eq!(
            (link("tls:192.0.2.9:7701"), link("tcp:127.0.0.1:7700")),
            (nothing.clone(), nothing.clone())
        );
        let asked = |allowed: &str| {
            sms(&format!(
                "mode = \"gateway\"\n{near}[ipsmgw.signalling]\nallowed = [\"{allowed}\"]\n"
            ))
        };
        assert_eq!(
            (asked("4478"), asked("*")),
            (nothing.clone(), vec!["signalling.allowed".to_owned()])
        );
        let diameter = |tls: &str, peer: &str| {
            sms(&format!(
                "{near}[ipsmgw.diameter]\nhost = \"a.example\"\nrealm = \"example\"\n{tls}\
                 [[ipsmgw.diameter_peer]]\nname = \"hss\"\nhost = \"hss.example\"\n{peer}"
            ))
        };
        let at = |addresses: &str, transport: &str| {
            diameter("", &format!("addresses = [{addresses}]\ntransport = \"{transport}\"\n"))
        };
        for clear in ["tcp", "sctp"] {
            assert_eq!(at("\"192.0.2.8\"", clear), ["diameter_peer[0].transport"], "{clear}");
            assert_eq!(at("\"127.0.0.1\", \"192.0.2.8\"", clear), ["diameter_peer[0].transport"]);
            assert_eq!(at("", clear), ["diameter_peer[0].name"], "{clear}");
            assert_eq!(at("\"127.0.0.1\", \"::1\"", clear), nothing, "{clear}");
        }
        assert_eq!(at("\"192.0.2.8\"", "tls"), nothing);
        let files = "[ipsmgw.diameter.tls]\ncertificate = \"c\"\nkey = \"k\"\nroots = \"r\"\n\
            verify_clients = false\nverify_servers = false\n";
        let unproved = ["diameter.tls.verify_clients", "diameter.tls.verify_servers"];
        assert_eq!(diameter(files, "transport = \"tls\"\n"), unproved);
    }

    #[test]
    fn what_is_switched_off_before_strangers_is_named() {
        let site = |keys: &str| {
            format!(
                "{QUIET}[[ssc]]\nname = \"ssc1\"\ncapture = \"udp:127.0.0.1:9060\"\n\
                 [[ssc.realm]]\nname = \"access\"\nlisten = [\"udp:192.0.2.1:5060\"]\n\
                 register_required = true\n{keys}"
            )
        };
        let nothing = Vec::<String>::new();
        assert_eq!(paths(&site("")), nothing);
        assert_eq!(paths(&site("[ssc.shield]\nenabled = false\n")), ["ssc[0].shield.enabled"]);
        let trusted = |list: &str| paths(&site(&format!("[ssc.shield]\ntrusted = [{list}]\n")));
        assert_eq!(trusted("\"10.0.0.0/8\", \"2001:db8::/32\", \"192.0.2.9\""), nothing);
        let found = trusted("\"192.0.2.9\", \"0.0.0.0/0\", \"::/0\"");
        assert_eq!(found, ["ssc[0].shield.trusted[1]", "ssc[0].shield.trusted[2]"]);
        let overload = "[ssc.overload]\ndelay_target_ms = 0\n";
        assert_eq!(paths(&site(overload)), nothing);
        let endless = paths(&site(&format!("{overload}[ssc.timers]\ncall_max_s = 0\n")));
        assert_eq!(endless, ["ssc[0].overload.delay_target_ms"]);
        let far = site("").replace("udp:127.0.0.1:9060", "udp:192.0.2.7:9060");
        assert_eq!(paths(&far), ["ssc[0].capture"]);
        let pair = "[ssc.replica]\nnode = \"a\"\nlisten = \"127.0.0.1:5999\"\n\
            peer = \"127.0.0.2:5999\"\naddresses = [\"192.0.2.1/24@none7\"]\n";
        assert_eq!(paths(&site(pair)), ["ssc[0].replica.addresses"], "no fence before it");
    }

    #[test]
    fn a_pair_without_an_arbiter_is_advised_and_not_warned_of() {
        let text = format!(
            "{QUIET}[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"core\"\n\
             side = \"core\"\nlisten = [\"udp:127.0.0.1:5060\"]\n[ssc.replica]\n\
             node = \"a\"\nlisten = \"127.0.0.1:5999\"\npeer = \"127.0.0.2:5999\"\n"
        );
        assert_eq!(paths(&text), Vec::<String>::new());
        let folder = tempfile::tempdir().unwrap();
        let advised = |text: &str| {
            let site = config::read::<Site>(text).unwrap();
            advice(&folder.path().join("site.toml"), text, &site).len()
        };
        assert_eq!(advised(&text), 1);
        assert_eq!(advised(&format!("{text}arbiter = \"127.0.0.1:5998\"\n")), 0);
    }

    #[test]
    fn a_site_file_that_others_write_is_named_and_so_is_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let file = inner.join("site.toml");
        fs::write(&file, QUIET).unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let named = || {
            let mut found = Vec::new();
            written(&file, &mut found);
            found.len()
        };
        mode(&file, 0o664);
        assert_eq!(named(), 0);
        mode(&file, 0o666);
        mode(&inner, 0o777);
        assert_eq!(named(), 2);
        mode(&inner, 0o1777);
        assert_eq!(named(), 1, "as in /tmp: nobody replaces it there");
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
        let far = peer("asn = 65000\n").replace("hops = 1\n", "hops = 254\n");
        assert_eq!(paths(&far), ["rr[0].peer[0].address"], "so far away anybody may be");
        let short = paths(&peer("asn = 65000\npassword = \"x\"\n"));
        assert_eq!(short, ["site", "rr[0].peer[0].password"]);
        let range = |keys: &str| {
            peer("asn = 65000\n").replace("identifier", "listen = [\"127.0.0.1:1179\"]\nidentifier")
                + "[[rr.group]]\nname = \"ix\"\nranges = [\"0.0.0.0/0\"]\n\
                   ttl_security_hops = 1\n"
                + keys
        };
        assert_eq!(paths(&range("asn = 65000\n")), Vec::<String>::new());
        assert_eq!(paths(&range("asn = 65009\n")), ["rr[0].group[0].name"]);
        assert_eq!(paths(&range("any_asn = \"external\"\n")), ["rr[0].group[0].name"]);
        let open = range("any_asn = \"external\"\ndefault_policy = \"accept\"\n");
        assert_eq!(paths(&open), ["rr[0].group[0].default_policy"]);
        let feeds = peer("asn = 65000\n")
            + "[[rr.rpki]]\naddress = \"192.0.2.8\"\n[[rr.rpki]]\naddress = \"127.0.0.1\"\n\
               [[rr.bmp]]\nname = \"b\"\naddress = \"192.0.2.8\"\nport = 1\n";
        assert_eq!(paths(&feeds), ["rr[0].rpki[0].address", "rr[0].bmp[0].address"]);
    }

    #[test]
    fn a_gateway_that_lets_peers_be_what_they_say_is_named() {
        let text = format!(
            "{QUIET}[[sgc]]\nname = \"stp\"\npoint_codes = [\"2-100-1\"]\n\
             tcp = {{ listen = [\"0.0.0.0:2905\"] }}\npolicy = {{ registration = \"open\" }}\n\
             [[sgc.peer]]\nname = \"one\"\nrole = \"asp\"\ntransport = \"tcp\"\n\
             addresses = [\"192.0.2.1\"]\n"
        );
        let mut found = paths(&text);
        found.sort();
        let expected =
            ["sgc[0].peer[0].name", "sgc[0].policy.registration", "sgc[0].tcp.listen[0]"];
        assert_eq!(found, expected);
    }

    #[test]
    fn two_gateways_of_a_cluster_without_a_third_vote_are_named() {
        let site = |more: &str| {
            format!(
                "{QUIET}[[sgc]]\nname = \"stp\"\npoint_codes = [\"2-100-1\"]\n[sgc.cluster]\n\
                 node = 1\nnodes = [{{ number = 1, address = \"127.0.0.1:5990\" }}, \
                 {{ number = 2, address = \"127.0.0.2:5990\" }}{more}]\n"
            )
        };
        assert_eq!(paths(&site("")), ["sgc[0].cluster.nodes"]);
        let third = ", { number = 3, address = \"127.0.0.3:5990\", weight = 0 }";
        assert_eq!(paths(&site(third)), Vec::<String>::new());
    }

    #[test]
    fn what_a_collector_keeps_and_takes_for_a_key_is_named() {
        let text = format!(
            "{QUIET}[sas]\nname = \"sas1\"\nkeep = [\"credentials\", \"bodies\"]\n\
             auth_key = \"x\"\nlisten = [\"udp:127.0.0.1:9060\"]\n"
        );
        assert_eq!(paths(&text), ["site", "sas.keep", "sas.auth_key"]);
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

    #[test]
    fn sections_name_the_rights_of_their_carriers_drivers_and_addresses() {
        let site = "[site]\nname = \"x\"\ndirectory = \"var\"\n[[sgc]]\nname = \"stp\"\n\
            point_codes = [\"2-100-1\"]\nsctp = { addresses = [\"192.0.2.1\"], carrier = \"ip\" }\n\
            [[pe]]\nname = \"pe1\"\nhost = \"tun0\"\n\
            port = [{ name = \"a\", driver = \"af_xdp\" }]\n\
            [[ssc]]\nname = \"ssc1\"\nshield = { kernel = \"require\" }\n[[ssc.realm]]\n\
            name = \"core\"\nside = \"core\"\nlisten = [\"udp:127.0.0.1:5060\"]\n";
        let site: Site = config::shape(site).unwrap();
        let names = |section: &Section<'_>| {
            let needs = section.inner.needs().into_iter();
            let names = needs.filter_map(|(_, need, _)| match need {
                Need::Capability(right) => Some(right.name()),
                _ => None,
            });
            (section.inner.name().to_owned(), names.collect::<Vec<_>>())
        };
        let found: Vec<_> = site.sections().iter().map(names).collect();
        let expected = [
            ("ssc1".to_owned(), vec!["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF"]),
            ("stp".to_owned(), vec!["CAP_NET_RAW"]),
            ("pe1".to_owned(), vec!["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF"]),
        ];
        assert_eq!(found, expected);
    }
}
