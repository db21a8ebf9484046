//! `tandem check` of the real binary: what would hinder a start is said, where and with its hint.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
/// A user that every machine has.
const DAEMON: u32 = 1;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(text: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        // Others come in, as into /etc.
        fs::set_permissions(place.folder.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(place.at("site.toml"), text).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
        fs::set_permissions(self.at(name), Permissions::from_mode(0o600)).unwrap();
    }

    /// Checked from another folder; the exit status and what was said.
    fn check(&self) -> (i32, String) {
        self.check_from(Path::new("/"))
    }

    fn check_from(&self, folder: &Path) -> (i32, String) {
        let mut command = Command::new(TANDEM);
        command.arg("check").arg(self.at("site.toml")).current_dir(folder);
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

const SITE: &str = "[site]\nname = \"x\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n";

/// A session controller whose realm `access` has these codecs, and a media controller.
fn transcodes(codecs: &str, transcoder: &str) -> String {
    format!(
        "{SITE}[[ssc]]\nname = \"ssc1\"\n[[ssc.media.controller]]\nname = \"msc1\"\n\
         address = \"127.0.0.1:2970\"\n[[ssc.realm]]\nname = \"access\"\nside = \"access\"\n\
         listen = [\"udp:127.0.0.1:0\"]\n\
         media = {{ anchor = true, codecs = {{ transcode = [{codecs}] }} }}\n\
         [[ssc.realm]]\nname = \"core\"\nside = \"core\"\nlisten = [\"udp:127.0.0.2:0\"]\n\
         [[ssc.next_hop]]\nname = \"bob\"\nrealm = \"core\"\ntargets = [\"udp:127.0.0.3:5060\"]\n\
         [[ssc.route]]\nfrom = \"access\"\nto = [\"bob\"]\n\
         [[msc]]\nname = \"msc1\"\nlisten = \"127.0.0.1:2970\"\n{transcoder}\
         [[msc.port]]\nname = \"ge0\"\ndriver = \"tap\"\n[[msc.interface]]\nname = \"ge0\"\n\
         addresses = [\"192.0.2.1/24\"]\n[[msc.group]]\nname = \"access\"\n\
         addresses = [\"192.0.2.1\"]\n[[msc.group]]\nname = \"core\"\n\
         addresses = [\"192.0.2.2\"]\n"
    )
}

#[test]
fn codecs_that_nobody_of_the_site_transcodes_are_said() {
    let none = "[msc.transcoder]\nstart = \"none\"\n";
    let (_, said) = Place::new(&transcodes("\"G722\"", none)).check();
    let path = "ssc[0].realm[0].media.codecs.transcode[0]";
    assert!(said.contains(path) && said.contains("no media controller of this site"), "{said}");
    let (_, said) = Place::new(&transcodes("\"G722\", \"AMR;octet-align=1\"", "")).check();
    assert!(!said.contains("transcode"), "the libraries are there (make setup): {said}");
    let elsewhere = transcodes("\"G722\"", none)
        .replace("= \"127.0.0.1:2970\"\n[[ssc", "= \"127.0.0.9:2970\"\n[[ssc");
    let (_, said) = Place::new(&elsewhere).check();
    assert!(!said.contains("transcode"), "nothing is known of it: {said}");
}

#[test]
fn a_realm_whose_group_no_media_controller_of_the_site_has_is_refused_with_the_nearest_name() {
    let site = transcodes("", "");
    let (status, said) = Place::new(&site).check();
    assert_eq!(status, 0, "{said}");
    let named = |group: &str| site.replace("anchor = true", &format!("anchor = true, {group}"));
    let (status, said) = Place::new(&named("group = \"acces\"")).check();
    assert_eq!(status, 3, "{said}");
    for part in ["site.toml:15:", "realm[0].media.group", "`acces`", "503", "mean `access`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The realm that a route joins to an anchored one needs ports as well.
    let renamed = site.replace("[[msc.group]]\nname = \"core\"", "[[msc.group]]\nname = \"cors\"");
    let (status, said) = Place::new(&renamed).check();
    assert!(status == 3 && said.contains("ssc[0].realm[1].name"), "{said}");
    assert!(said.contains("mean `cors`"), "{said}");
    // Nothing is known of one that is elsewhere.
    let elsewhere = renamed.replace("= \"127.0.0.1:2970\"\n[[ssc", "= \"127.0.0.9:2970\"\n[[ssc");
    let (status, said) = Place::new(&elsewhere).check();
    assert_eq!(status, 0, "{said}");
}

fn reflector(keys: &str) -> String {
    format!(
        "{SITE}[[rr]]\nname = \"rr1\"\nasn = 65000\nidentifier = \"192.0.2.1\"\n[[rr.peer]]\n\
         name = \"far\"\nasn = 65000\naddress = \"192.0.2.9\"\n{keys}"
    )
}

fn with_tls() -> String {
    format!(
        "{SITE}[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"access\"\n\
         listen = [\"udp:127.0.0.1:0\"]\n[ssc.realm.tls]\ncertificate = \"tls/crt\"\n\
         key = \"tls/key\"\n"
    )
}

fn certified() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

#[test]
fn a_password_file_that_is_not_there_is_refused_at_its_line_with_what_makes_it() {
    let place = Place::new(&reflector("password_file = \"keys/far.key\"\n"));
    let (status, said) = place.check();
    assert_eq!(status, 3, "{said}");
    let path = place.at("var/keys/far.key");
    for part in ["site.toml:14:", "rr[0].peer[0].password_file", "mkdir -m 700 -p", "umask 077"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains(&path.display().to_string()), "{said}");
    place.write("var/keys/far.key", "sixteen characters\n");
    let (status, said) = place.check();
    assert_eq!(status, 0, "{said}");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let (status, said) = place.check();
    assert!(status == 0 && said.contains("others read it"), "{said}");
}

#[test]
fn keys_of_tls_are_read_and_must_belong_to_their_certificate() {
    let place = Place::new(&with_tls());
    let (crt, key) = certified();
    place.write("var/tls/crt", &crt);
    place.write("var/tls/key", &crt);
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("no private key in PEM form"), "{said}");
    assert!(said.contains("ssc[0].realm[0].tls.key"), "{said}");
    place.write("var/tls/key", &certified().1);
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("cannot be used"), "{said}");
    place.write("var/tls/key", &key);
    let (status, said) = place.check();
    assert_eq!(status, 0, "{said}");
}

#[test]
fn files_of_rules_and_of_subscribers_are_read_and_what_is_wrong_is_told_by_line() {
    let gateway = "[[sgc]]\nname = \"stp\"\npoint_code_format = \"decimal\"\n\
        point_codes = [\"3\"]\ntranslation_files = [\"titles.csv\"]\n\
        subsystem = [{ name = \"hlr\", number = 6, user = \"tcap\" }]\n\
        [[sgc.application]]\nname = \"hlr\"\nsubsystem = \"hlr\"\nservice = \"hlr\"\n\
        allowed = [\"4478\"]\n\
        file = \"subscribers.csv\"\n";
    let place = Place::new(&format!("{SITE}{gateway}"));
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("name a file of rules for global titles"), "{said}");
    place.write("var/titles.csv", "digits,targets\n4477,here/6\n44x,here/6\n33,\n");
    place.write("var/subscribers.csv", "msisdn,imsi\n+44,2\n");
    let (status, said) = place.check();
    assert_eq!(status, 3, "{said}");
    for part in ["titles.csv, line 3: digits: `44x`", "titles.csv, line 4: target"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    place.write("var/titles.csv", "digits,targets\n4477,here/6\n");
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("subscribers.csv, line 2: msisdn: `+44`"), "{said}");
    place.write("var/subscribers.csv", "msisdn,imsi\n447700900123,2\n");
    let (status, said) = place.check();
    assert_eq!(status, 0, "{said}");
    assert!(!said.contains("anybody in SS7"), "{said}");
    let place = Place::new(&format!("{SITE}{}", gateway.replace("4478", "*")));
    place.write("var/titles.csv", "digits,targets\n4477,here/6\n");
    place.write("var/subscribers.csv", "msisdn,imsi\n447700900123,2\n");
    let (_, said) = place.check();
    assert!(said.contains("anybody in SS7 is told the IMSIs"), "{said}");
}

#[test]
fn a_path_that_leads_somewhere_from_here_only_is_refused_in_words() {
    let place = Place::new(&with_tls());
    let (crt, key) = certified();
    place.write("tls/crt", &crt);
    place.write("tls/key", &key);
    let (status, said) = place.check_from(place.folder.path());
    assert_eq!(status, 3, "{said}");
    let directory = place.at("var").display().to_string();
    assert!(said.contains(&format!("relative to the site's directory, {directory}")), "{said}");
    let text = with_tls().replace("\"tls/", &format!("\"{}/tls/", place.folder.path().display()));
    fs::write(place.at("site.toml"), text).unwrap();
    let (status, said) = place.check();
    assert_eq!(status, 0, "a whole path is what it is: {said}");
}

#[test]
fn warnings_stand_beside_mistakes() {
    let text = reflector("password = \"x\"\n").replace("asn = 65000\nid", "asn = 0\nid");
    let (status, said) = Place::new(&text).check();
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("error: AS 0") && said.contains("warning: a password of 1"), "{said}");
    let wrong = reflector("password = \"x\"\npassword_file = \"none\"\n");
    let hindered = wrong.replace("password = \"x\"\n", "").replace("127.0.0.1:0", "192.0.2.77:1");
    let hindered = hindered.replace("[oam]\n", "[oam]\nallow_remote = true\n");
    let (status, said) = Place::new(&hindered).check();
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("warning: the API is reached"), "{said}");
    assert!(said.contains("no interface of this machine has"), "{said}");
}

#[test]
fn what_the_sites_user_may_not_read_or_write_is_said_before_root_becomes_it() {
    if !is_root() {
        return;
    }
    let text =
        reflector("password_file = \"far.key\"\n").replace("[oam]", "user = \"daemon\"\n[oam]");
    let place = Place::new(&text);
    place.write("var/far.key", "sixteen characters\n");
    let (status, said) = place.check();
    assert_eq!(status, 3, "{said}");
    assert!(
        said.contains("cannot be written by daemon") && said.contains("chown -R daemon"),
        "{said}"
    );
    assert!(said.contains("chown daemon") && said.contains("far.key"), "{said}");
    chown(place.at("var"), Some(DAEMON), None).unwrap();
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("far.key cannot be read"), "{said}");
    chown(place.at("var/far.key"), Some(DAEMON), None).unwrap();
    place.write("var/lock", "");
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("lock cannot be written by daemon"), "{said}");
    fs::remove_file(place.at("var/lock")).unwrap();
    let (status, said) = place.check();
    assert_eq!(status, 0, "{said}");
    assert!(
        !said.contains("runs as root") && said.contains("no commit changes this file"),
        "{said}"
    );
    // A file of somebody else decides for nobody.
    chown(place.at("site.toml"), Some(2), None).unwrap();
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("user 2 may write this file"), "{said}");
}

#[test]
fn a_file_of_another_user_does_not_run_as_root() {
    if !is_root() {
        return;
    }
    let place = Place::new(SITE);
    chown(place.at("site.toml"), Some(DAEMON), None).unwrap();
    chown(place.folder.path(), Some(DAEMON), None).unwrap();
    let (status, said) = place.check();
    assert!(status == 0 && !said.contains("runs as root"), "{said}");
}

#[test]
fn wrong_types_names_and_files_are_all_said_at_once() {
    let peer = "password_file = \"my keys/far.key\"\nimport = \"al\"\nhold_time_s = \"x\"\n";
    let policy = "[[rr.policy]]\nname = \"all\"\ndefault = \"accept\"\n";
    let text = reflector(peer).replace("192.0.2.9", "192.0.2") + policy;
    let (status, said) = Place::new(&text).check();
    assert_eq!(status, 3, "{said}");
    for part in [
        "this is text, not a whole number",
        "did you mean `all`?",
        "rr[0].peer[0].address",
        "rr[0].peer[0].password_file",
        "my keys/far.key cannot be read",
        ": 4 mistakes",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("mkdir -m 700 -p '/"), "a path with a space is one word: {said}");
}

#[test]
fn what_follows_from_a_mistake_in_another_table_is_not_said_beside_it() {
    let more = "[[msc]]\nname = \"m\"\nlisten = \"127.0.0.1:0\"\n[[msc.port]]\nname = \"a\"\n\
                driver = \"af_packet\"\ndevice = \"lo\"\n[[msc.interface]]\nname = \"a\"\n\
                addresses = WHERE\ngateways = [\"192.0.2.254\"]\n[[msc.group]]\nname = \"a\"\n\
                addresses = [\"192.0.2.1\", \"192.0.2.2\"]\n";
    let said = |at: &str| Place::new(&format!("{SITE}{}", more.replace("WHERE", at))).check().1;
    let (wrong, apt) = (said("17"), said("[\"198.51.100.1/24\"]"));
    assert!(wrong.contains("write an array") && wrong.contains(": 1 mistake\n"), "{wrong}");
    assert_eq!(apt.matches("is in no subnet of").count(), 3, "{apt}");
}

#[test]
fn rights_and_parts_of_the_kernel_that_a_site_will_need_are_notes() {
    let text = format!(
        "{SITE}[[sgc]]\nname = \"stp\"\npoint_codes = [\"2-100-1\"]\n\
         sctp = {{ addresses = [\"127.0.0.1\"], carrier = \"kernel\" }}\n"
    );
    let (_, said) = Place::new(&text).check();
    let has_sctp = Path::new("/proc/net/sctp").exists();
    assert_eq!(said.contains("this machine's kernel has no SCTP"), !has_sctp, "{said}");
    assert_eq!(said.matches("kernel has no").count(), usize::from(!has_sctp), "once: {said}");
    let udp = text.replace("\"kernel\"", "\"udp\"");
    let (_, said) = Place::new(&udp).check();
    assert!(!said.contains("kernel has no"), "not needed: {said}");
}

#[test]
fn a_key_that_is_wrong_is_not_warned_of_beside() {
    let place = Place::new(&SITE.replace("127.0.0.1:0", "0.0.0.0:8080"));
    let (status, said) = place.check();
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("error: 0.0.0.0 can be reached from other machines"), "{said}");
    assert_eq!(said.matches("= at: oam.listen").count(), 1, "{said}");
}

#[test]
fn an_address_that_is_none_is_told_whatever_keys_beside_it_are_unknown() {
    for (listen, what) in [
        ("0.0.0.0", "`0.0.0.0` is not an IP address with a port"),
        ("0.0.0.0:8080", "0.0.0.0 can be reached from other machines"),
    ] {
        let site = SITE.replace("127.0.0.1:0", listen);
        for unknown in [
            "port = 8080\n",
            "networks = [\"10.0.0.0/8\"]\ntokn_file = \"x\"\n",
            "[oam.tls]\nkey = \"x\"\n",
            "[[ssc]]\nnmae = \"a\"\nlistn = 1\n[routers]\nx = 1\n",
        ] {
            let (status, said) = Place::new(&format!("{site}{unknown}")).check();
            assert_eq!(status, 3, "{said}");
            assert!(said.contains(what) && said.contains("unknown key"), "{unknown}: {said}");
        }
    }
}

#[test]
fn of_many_keys_that_an_unknown_one_is_not_like_some_are_listed_in_order() {
    let realm = "name = \"a\"\nside = \"access\"\nlisten = [\"udp:127.0.0.1:0\"]\nzebra = 1\n";
    let place = Place::new(&format!("{SITE}[[ssc]]\nname = \"s\"\n[[ssc.realm]]\n{realm}"));
    let (status, said) = place.check();
    assert_eq!(status, 3, "{said}");
    let hint = said.lines().find(|line| line.contains("known here: ")).expect(&said);
    assert!(hint.contains(" and ") && hint.contains("more (docs/configuration)"), "{hint}");
    let listed = hint.split("known here: ").nth(1).unwrap().split(" and ").next().unwrap();
    let keys: Vec<&str> = listed.split(", ").collect();
    assert!(keys.len() == 8 && keys.is_sorted(), "{hint}");
}

/// A session controller with a route.
fn routed(route: &str) -> String {
    format!(
        "{SITE}[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"access\"\nside = \"access\"\n\
         listen = [\"udp:127.0.0.1:0\"]\n[[ssc.realm]]\nname = \"core\"\nside = \"core\"\n\
         listen = [\"udp:127.0.0.2:0\"]\n[[ssc.next_hop]]\nname = \"bob\"\nrealm = \"core\"\n\
         targets = [\"udp:127.0.0.3:5060\"]\n[[ssc.route]]\nfrom = \"access\"\n{route}"
    )
}

#[test]
fn a_route_that_refuses_and_leads_somewhere_is_a_mistake() {
    let both = "user = \"^0900\"\nto = [\"bob\"]\nreject = 403\n";
    let (status, said) = Place::new(&routed(both)).check();
    assert!(status == 3 && said.contains("= at: ssc[0].route[0].reject"), "{said}");
    assert!(said.contains("nothing is refused here"), "{said}");
    for one in ["user = \"^0900\"\nreject = 403\n", "to = [\"bob\"]\n"] {
        let (status, said) = Place::new(&routed(one)).check();
        assert_eq!(status, 0, "{said}");
    }
}

#[test]
fn a_bad_expression_is_told_with_what_is_wrong_and_where() {
    let (status, said) = Place::new(&routed("user = \"^0(9\"\nto = [\"bob\"]\n")).check();
    assert!(status == 3 && said.contains("= at: ssc[0].route[0].user"), "{said}");
    let what = "error: bad regular expression: unclosed group, at character 3";
    assert!(said.contains(what) && !said.contains("crate"), "{said}");
}

#[test]
fn a_method_that_is_like_a_known_one_is_noted_and_an_unlike_one_not() {
    let (status, said) = Place::new(&routed("method = [\"INVITTE\"]\nto = [\"bob\"]\n")).check();
    assert!(status == 0 && said.contains("did you mean `INVITE`?"), "{said}");
    let (_, said) = Place::new(&routed("method = [\"X-OWN\"]\nto = [\"bob\"]\n")).check();
    assert!(!said.contains("route[0].method"), "{said}");
}

#[test]
fn a_core_that_is_not_there_is_a_mistake_at_its_key() {
    let text = reflector("").replace("asn = 65000\nid", "cores = [0, 9999]\nasn = 65000\nid");
    let (status, said) = Place::new(&text).check();
    assert!(status == 3 && said.contains("= at: rr[0].cores[1]"), "{said}");
    assert!(said.contains("no core 9999") && said.contains("there are: "), "{said}");
}

#[test]
fn a_collector_that_nobody_is_and_devices_and_subnets_that_cannot_serve_are_noted() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = format!("udp:{}", free.local_addr().unwrap());
    let text =
        reflector("").replace("asn = 65000\nid", &format!("capture = \"{to}\"\nasn = 65000\nid"));
    let (_, said) = Place::new(&text).check();
    assert!(!said.contains("nobody listens"), "somebody does: {said}");
    drop(free);
    let (status, said) = Place::new(&text).check();
    assert!(status == 0 && said.contains(&format!("nobody listens at {to}")), "{said}");
    let sas = format!("{text}[sas]\nname = \"sas1\"\ndirectory = \"sas\"\nlisten = [\"{to}\"]\n");
    let (_, said) = Place::new(&sas).check();
    assert!(!said.contains("nobody listens"), "this site will: {said}");
    let port = |name: &str| {
        format!(
            "[[pe.port]]\nname = \"{name}\"\ndriver = \"af_packet\"\ndevice = \"no-such-{name}\"\n\
             [[pe.interface]]\nname = \"{name}\"\n"
        )
    };
    let pe = format!(
        "{SITE}[[pe]]\nname = \"pe1\"\n{}addresses = [\"192.0.2.1/24\"]\n{}addresses = \
         [\"192.0.2.9/24\"]\n",
        port("a"),
        port("b")
    );
    let (status, said) = Place::new(&pe).check();
    assert_eq!(status, 0, "{said}");
    for part in ["device `no-such-a`", "`a` has the subnet 192.0.2.0/24", "interface[1]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let bare = pe.replace("192.0.2.9/24", "192.0.2.9");
    let (status, said) = Place::new(&bare).check();
    assert!(status == 3 && said.contains("write `192.0.2.9/24`"), "{said}");
}

#[test]
fn a_media_controller_that_no_section_of_this_file_is_is_said_with_the_nearest_address() {
    let (status, said) = Place::new(&transcodes("", "")).check();
    assert!(status == 0 && !said.contains("no [[msc]] of this file"), "{said}");
    let wrong = |address: &str| {
        let text = transcodes("", "").replace(
            "address = \"127.0.0.1:2970\"\n[[ssc",
            &format!("address = \"{address}\"\n[[ssc"),
        );
        Place::new(&text).check()
    };
    let (status, said) = wrong("127.0.0.1:2971");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("note: no [[msc]] of this file listens at 127.0.0.1:2971"), "{said}");
    assert!(said.contains("did you mean `127.0.0.1:2970`?"), "{said}");
    let (_, said) = wrong("192.0.2.77:2970");
    assert!(!said.contains("no [[msc]]"), "that is another machine: {said}");
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (_, said) = wrong(&other.local_addr().unwrap().to_string());
    assert!(!said.contains("no [[msc]]"), "somebody listens there: {said}");
}

#[test]
fn phones_of_ims_whose_registrations_are_short_are_said() {
    let site = |keys: &str| {
        Place::new(&format!(
            "{SITE}[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"access\"\n\
             side = \"access\"\nlisten = [\"udp:127.0.0.1:0\"]\nregister_required = true\n\
             {keys}[ssc.realm.ipsec]\n[[ssc.realm]]\nname = \"core\"\nside = \"core\"\n\
             trusted = true\nlisten = [\"udp:127.0.0.2:0\"]\n[[ssc.next_hop]]\n\
             name = \"scscf\"\nrealm = \"core\"\ntargets = [\"udp:127.0.0.3:5060\"]\n\
             [[ssc.route]]\nfrom = \"access\"\nto = [\"scscf\"]\n"
        ))
    };
    let (_, said) = site("").check();
    assert!(said.contains("phones of the realm access register anew every 30 s"), "{said}");
    assert!(said.contains("`client_expires_s = 3600`"), "{said}");
    let (_, said) = site("client_expires_s = 1800\n").check();
    assert!(!said.contains("register anew"), "{said}");
}

#[test]
fn that_it_runs_as_root_is_one_line_and_the_last_one() {
    if !is_root() {
        return;
    }
    let (status, said) = Place::new(&reflector("password = \"x\"\n")).check();
    assert_eq!(status, 0, "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    let last = lines.last().unwrap();
    assert!(last.starts_with("warning: ") && last.contains("it runs as root"), "{said}");
    assert!(last.contains("give `user`"), "{said}");
    assert_eq!(said.matches("runs as root").count(), 1, "{said}");
}

#[test]
fn an_interface_on_which_ospf_believes_everybody_is_warned_of() {
    let site = |keys: &str| {
        let interface = |name: &str, net: u8| {
            format!(
                "[[pe.port]]\nname = \"{name}\"\ndriver = \"af_packet\"\n[[pe.interface]]\n\
                 name = \"{name}\"\naddresses = [\"192.0.{net}.1/24\"]\n"
            )
        };
        Place::new(&format!(
            "{SITE}[[pe]]\nname = \"pe1\"\n{}{}[pe.ospf]\nrouter_id = \"192.0.2.1\"\n\
             [[pe.ospf.area]]\nid = \"0.0.0.0\"\n\
             [[pe.ospf.area.interface]]\nname = \"lan1\"\npassive = true\n\
             [[pe.ospf.area.interface]]\nname = \"core1\"\n{keys}",
            interface("lan1", 1),
            interface("core1", 2)
        ))
    };
    let (status, said) = site("").check();
    assert!(status == 0 && said.contains("OSPF on `core1` believes whoever"), "{said}");
    assert!(said.contains("= at: pe[0].ospf.area[0].interface[1]"), "{said}");
    assert!(!said.contains("OSPF on `lan1`"), "nothing is spoken there: {said}");
    let place = site("key_file = \"core.key\"\n");
    place.write("var/core.key", "1 hmac-sha-256 of-both-routers\n");
    let (status, said) = place.check();
    assert!(status == 0 && !said.contains("OSPF on"), "{said}");
}

#[test]
fn another_site_in_the_same_directory_is_a_mistake() {
    let place = Place::new(SITE);
    place.write("var/lock", "sbc\n");
    let lock = fs::File::open(place.at("var/lock")).unwrap();
    lock.lock().unwrap();
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("the site `sbc` runs with this directory"), "{said}");
    place.write("var/lock", "x\n");
    let (status, said) = place.check();
    assert!(status == 0 && said.contains("this site is running"), "{said}");
    // Ports are the running site's own; addresses and files are not.
    let text = reflector("password_file = \"none.key\"\n").replace("127.0.0.1:0", "192.0.2.77:1");
    let text = text.replace("[oam]\n", "[oam]\nallow_remote = true\n");
    fs::write(place.at("site.toml"), text).unwrap();
    let (status, said) = place.check();
    assert!(status == 3 && said.contains("none.key cannot be read"), "{said}");
    assert!(said.contains("no interface of this machine has the address 192.0.2.77"), "{said}");
}

#[test]
fn a_check_is_one_object_for_programs() {
    let place = Place::new(&routed("to = [\"bob\"]\nreject = 403\n"));
    let check = || {
        let mut command = Command::new(TANDEM);
        let output = command.args(["check", "-o", "json"]).arg(place.at("site.toml")).output();
        let output = output.unwrap();
        let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), output.stderr.is_empty(), whole)
    };
    let (status, is_silent, whole) = check();
    assert!(status == 3 && is_silent && whole["ok"] == false, "{whole}");
    assert_eq!(whole["mistakes"][0]["path"], "ssc[0].route[0].reject");
    fs::write(place.at("site.toml"), routed("to = [\"bob\"]\n")).unwrap();
    let (status, is_silent, whole) = check();
    assert!(status == 0 && is_silent && whole["ok"] == true, "{whole}");
    assert_eq!(whole["mistakes"], serde_json::json!([]));
}

#[test]
fn a_site_that_does_not_run_is_not_asked() {
    let place = Place::new(SITE);
    fs::create_dir(place.at("var")).unwrap();
    let mut command = Command::new(TANDEM);
    command.args(["ctl", "--site"]).arg(place.at("site.toml")).arg("site");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4) && said.contains("does not run"), "{said}");
}
