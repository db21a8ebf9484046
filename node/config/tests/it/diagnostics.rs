//! Every mistake in a site file is reported with its line, its column and its hint.

use config::{Diagnostic, Issue, ListenAddress, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Toy {
    oam: Oam,
    #[serde(default)]
    ssc: Vec<Ssc>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Oam {
    listen: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ssc {
    name: String,
    #[serde(default)]
    shards: u16,
    #[serde(default)]
    side: Option<Side>,
    #[serde(default)]
    listen: Vec<String>,
    #[serde(default)]
    trusted: bool,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    tcp: u16,
    #[serde(default)]
    tcap: u16,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Alone.
    Local,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Side {
    /// Phones.
    Access,
    /// Servers.
    Core,
}

impl Site for Toy {
    fn validate(&self, issues: &mut Vec<Issue>) {
        for (at, ssc) in self.ssc.iter().enumerate() {
            if ssc.name.is_empty() {
                let path = format!("ssc[{at}].name");
                issues.push(Issue::new(path, "the name is empty", "write a name"));
            }
            if ssc.trusted && ssc.listen.is_empty() {
                let path = format!("ssc[{at}]");
                issues.push(Issue::new(path, "it listens nowhere", "add listen = [\"udp:a:1\"]"));
            }
            if ssc.tcp == 7 {
                let path = format!("ssc[{at}].tcp");
                let names = self.ssc.iter().map(|it| it.name.as_str());
                let issue = Issue::new(path, "no name is `seven`", config::meant("", names, ""));
                issues.extend([issue.clone(), issue]);
            }
        }
    }

    fn listen_addresses(&self) -> Vec<ListenAddress> {
        let listen_address = |path: String, text: &str| ListenAddress {
            path,
            datagram: text.starts_with("udp:"),
            address: text.get(4..).and_then(|it| it.parse().ok()).unwrap_or(NOWHERE),
        };
        let mut listen_addresses = vec![listen_address("oam.listen".into(), &self.oam.listen)];
        for (at, ssc) in self.ssc.iter().enumerate() {
            for (n, listen) in ssc.listen.iter().enumerate() {
                listen_addresses.push(listen_address(format!("ssc[{at}].listen[{n}]"), listen));
            }
        }
        listen_addresses
    }
}

const NOWHERE: std::net::SocketAddr =
    std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

fn refused(text: &str) -> Vec<Diagnostic> {
    config::read::<Toy>(text).expect_err("the text is wrong")
}

fn one(text: &str) -> (usize, usize, String, String) {
    let mut found = refused(text);
    assert_eq!(found.len(), 1, "{found:?}");
    let one = found.remove(0);
    (one.line, one.column, one.what, one.hint)
}

const OAM: &str = "[oam]\nlisten = \"tcp:127.0.0.1:8080\"\n";

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    let (line, column, what, hint) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\nshrads = 2\n"));
    assert_eq!((line, column), (5, 1));
    assert_eq!(what, "unknown key `shrads`");
    assert_eq!(hint, "did you mean `shards`?");
}

#[test]
fn a_wrong_type_says_what_to_write() {
    let (line, column, what, hint) =
        one(&format!("{OAM}[[ssc]]\nname = \"a\"\nshards = \"two\"\n"));
    assert_eq!((line, column), (5, 10));
    assert_eq!(what, "this is text, not a whole number");
    assert_eq!(hint, "write a whole number");
}

#[test]
fn a_key_that_is_misspelt_is_not_missing_as_well() {
    let (line, _, what, hint) = one(&format!("{OAM}[[ssc]]\nnaem = \"a\"\n"));
    assert_eq!((line, &*what, &*hint), (4, "unknown key `naem`", "did you mean `name`?"));
}

#[test]
fn a_slip_of_two_letters_is_nearer_than_a_name_that_begins_alike() {
    let (.., hint) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\ntpc = 1\n"));
    assert_eq!(hint, "did you mean `tcp`?");
}

#[test]
fn the_only_word_that_is_possible_is_named() {
    let (.., what, hint) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\nmode = \"network\"\n"));
    let said = ("`network` is not possible here", "write one of: local");
    assert_eq!((&*what, &*hint), said);
}

#[test]
fn what_follows_from_a_mistake_is_no_mistake_of_its_own() {
    let (.., what, _) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\ntrusted = true\nlisten = 7\n"));
    assert_eq!(what, "this is a whole number, not an array `[…]`");
    // Of names one of which is wrong nobody can say which there are.
    let (.., what, _) = one(&format!("{OAM}[[ssc]]\nname = 7\n[[ssc]]\nname = \"b\"\ntcp = 7\n"));
    assert_eq!(what, "this is a whole number, not text in quotes");
}

#[test]
fn what_two_readers_say_of_a_value_in_the_same_words_is_said_once() {
    let (line, _, what, _) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\ntcp = 7\n"));
    assert_eq!((line, &*what), (5, "no name is `seven`"));
}

#[test]
fn a_section_that_there_may_be_several_of_says_how_it_is_written() {
    let (line, _, what, hint) = one(&format!("{OAM}[ssc]\nname = \"a\"\n"));
    assert_eq!((line, &*what), (3, "this is a table, not an array `[…]`"));
    assert_eq!(hint, "there may be several: write `[[ssc]]`");
}

#[test]
fn a_wrong_word_lists_the_possible_ones() {
    let (line, column, what, hint) =
        one(&format!("{OAM}[[ssc]]\nname = \"a\"\nside = \"acces\"\n"));
    assert_eq!((line, column), (5, 8));
    assert_eq!(what, "`acces` is not possible here");
    assert_eq!(hint, "did you mean `access`? Possible: access, core");
}

#[test]
fn a_number_out_of_range_names_the_range() {
    let (line, _, what, hint) = one(&format!("{OAM}[[ssc]]\nname = \"a\"\nshards = 65536\n"));
    assert_eq!(line, 5);
    assert_eq!(what, "65536 is out of range");
    assert_eq!(hint, "write a number from 0 to 65535");
}

#[test]
fn a_missing_key_points_at_its_section() {
    let (line, _, what, _) = one(&format!("{OAM}[[ssc]]\nshards = 1\n"));
    assert_eq!(line, 3);
    assert_eq!(what, "`name` is missing in ssc[0]");
}

#[test]
fn a_conflict_between_two_ports_of_the_file_names_both() {
    let text = format!(
        "{OAM}[[ssc]]\nname = \"a\"\nlisten = [\"udp:0.0.0.0:5060\", \"udp:127.0.0.1:5060\"]\n"
    );
    let (line, column, what, hint) = one(&text);
    assert_eq!((line, column), (5, 31));
    assert_eq!(what, "UDP 127.0.0.1:5060 is taken by `ssc[0].listen[0]` already");
    assert_eq!(hint, "choose another address or port");
    let other_kind = text.replace("\"udp:127", "\"tcp:127");
    assert!(config::read::<Toy>(&other_kind).is_ok());
}

#[test]
fn what_a_section_refuses_is_found_in_the_text() {
    let (line, column, what, _) = one(&format!("{OAM}[[ssc]]\nname = \"\"\n"));
    assert_eq!((line, column, what.as_str()), (4, 8, "the name is empty"));
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_text() {
    let text = "[oam]\nlistn = 1\n[[ssc]]\nname = 7\n[[ssc]]\nname = \"b\"\ntrusted = 1\n";
    let lines: Vec<usize> = refused(text).iter().map(|d| d.line).collect();
    assert_eq!(lines, [2, 4, 7]);
}

#[test]
fn a_diagnostic_prints_file_line_column_source_and_caret() {
    let text = format!("{OAM}[[ssc]]\nname = \"a\"\nshrads = 2\n");
    let printed = refused(&text)[0].render("site.toml", &text);
    assert_eq!(
        printed,
        "error: unknown key `shrads`\n  --> site.toml:5:1\n   |\n 5 | shrads = 2\n   | ^^^^^^\n   \
         = at: ssc[0].shrads\n   = hint: did you mean `shards`?\n"
    );
}

#[test]
fn a_mistake_hides_nothing_that_can_still_be_judged() {
    let text = format!(
        "{OAM}[[ssc]]\nnmae = \"a\"\nshards = \"two\"\nlisten = [\"udp:127.0.0.1:5060\", 7]\n\
         [[ssc]]\nname = \"\"\nlisten = [\"udp:127.0.0.1:5060\"]\ntypo = 1\n"
    );
    let found: Vec<(usize, String)> =
        refused(&text).into_iter().map(|d| (d.line, d.what)).collect();
    let said = |line: usize, what: &str| found.iter().any(|(at, it)| *at == line && it == what);
    assert!(
        said(4, "unknown key `nmae`") && said(5, "this is text, not a whole number"),
        "{found:?}"
    );
    assert!(said(6, "this is a whole number, not text in quotes"), "{found:?}");
    assert!(said(10, "unknown key `typo`") && said(8, "the name is empty"), "{found:?}");
    let taken = "UDP 127.0.0.1:5060 is taken by `ssc[0].listen[0]` already";
    assert!(said(9, taken), "the port is judged beside all of it: {found:?}");
    assert_eq!(found.len(), 6, "nothing is said of what stands in their places: {found:?}");
}

#[test]
fn a_section_that_is_missing_hides_nothing_of_the_others() {
    let found = refused("[[ssc]]\nname = \"\"\n");
    let said: Vec<&str> = found.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(said, ["`oam` is missing in the file", "the name is empty"]);
}

#[test]
fn texts_that_their_types_do_not_read_are_all_found_with_their_paths() {
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    struct Hosts {
        hosts: Vec<std::net::IpAddr>,
        gateway: std::net::Ipv4Addr,
    }
    impl Site for Hosts {
        fn validate(&self, issues: &mut Vec<Issue>) {
            let is_gateway = |host: &std::net::IpAddr| *host == self.gateway;
            for at in self.hosts.iter().enumerate().filter(|(_, it)| is_gateway(it)).map(|it| it.0)
            {
                let what = "it is the gateway";
                issues.push(Issue::new(format!("hosts[{at}]"), what, ""));
            }
        }
        fn listen_addresses(&self) -> Vec<ListenAddress> {
            Vec::new()
        }
    }
    let text = "hosts = [\"10.0.0\", \"10.0.0.1\", \"10.0.0.256\"]\ngateway = \"10.0.0.1\"\n";
    let found = config::read::<Hosts>(text).unwrap_err();
    let paths: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["hosts[0]", "hosts[1]", "hosts[2]"], "{found:?}");
}
