//! What a commit refuses and what it interrupts, said before it is made: a running site held
//! against the one that shall run.

use crate::functions::{ReconfigureError, Section};
use crate::site::Site;
use config::Issue;

/// Keys of `new` that no commit changes, by its paths.
pub fn refusals(old: &Site, new: &Site) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (was, is) in pairs(old, new) {
        if let Some(refusal) = was.inner.refusal(is.inner) {
            let key = match &refusal {
                ReconfigureError::Restart(key) => key,
                _ => "name",
            };
            issues.push(Issue::new(format!("{}.{key}", is.path), refusal.to_string(), ""));
        }
    }
    if old.arbiter != new.arbiter {
        let what = "the arbiter changes only with a restart of the site";
        issues.push(Issue::new("arbiter", what, "restart the site with the changed file"));
    }
    issues
}

/// What ends or begins again when `new` runs in place of `old`, by the paths of `new`: a sentence
/// each, which begins with the function.
pub fn interruptions(old: &Site, new: &Site) -> Vec<Issue> {
    let mut issues = Vec::new();
    let wanted = new.sections();
    for gone in old.sections() {
        let name = gone.inner.name();
        if !wanted.iter().any(|it| it.inner.name() == name) {
            let what = format!("{name}: it ends, with all that it carries");
            issues.push(Issue::new("", what, ""));
        }
    }
    for (was, is) in pairs(old, new) {
        let name = is.inner.name().to_owned();
        for issue in was.inner.interruptions(is.inner) {
            let what = format!("{name}: {}", issue.what);
            issues.push(Issue { what, ..issue }.under(&is.path));
        }
    }
    if old.oam.listen != new.oam.listen {
        let what = format!("API and console move to {}: who is connected ends", new.oam.listen);
        issues.push(Issue::new("oam.listen", what, ""));
    }
    issues
}

/// The functions of both, by name: as they run, and as they shall.
fn pairs<'s>(old: &'s Site, new: &'s Site) -> Vec<(Section<'s>, Section<'s>)> {
    let running = old.sections();
    let mut pairs = Vec::new();
    for section in new.sections() {
        let same = running.iter().find(|it| it.inner.name() == section.inner.name());
        pairs.extend(same.map(|same| (same.clone(), section)));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "[site]\nname = \"x\"\ndirectory = \"var\"\n";

    fn read(text: &str) -> Site {
        config::read::<Site>(&format!("{SITE}{text}")).unwrap()
    }

    fn said(old: &str, new: &str) -> Vec<String> {
        interruptions(&read(old), &read(new)).into_iter().map(|it| it.what).collect()
    }

    const RR: &str = "[[rr]]\nname = \"rr1\"\nasn = 65000\nidentifier = \"192.0.2.1\"\n\
        listen = [\"192.0.2.1\"]\npolicy = [{ name = \"all\", default = \"accept\" }]\n\
        [[rr.group]]\nname = \"lab\"\nranges = [\"10.0.0.0/8\", \"192.168.0.0/16\"]\n\
        [[rr.peer]]\nname = \"a\"\naddress = \"192.0.2.8\"\n\
        [[rr.peer]]\nname = \"b\"\naddress = \"192.0.2.9\"\n";

    #[test]
    fn sessions_that_a_commit_ends_or_restarts_are_named_and_those_that_go_on_are_not() {
        let none = Vec::<String>::new();
        assert_eq!(said(RR, RR), none);
        let policy = RR.replace("name = \"a\"", "name = \"a\"\nimport = \"all\"");
        assert_eq!(said(RR, &policy), none, "what came is judged anew");
        let timers = RR.replace("name = \"b\"", "name = \"b\"\nhold_time_s = 30");
        assert_eq!(said(RR, &timers), ["rr1: this session restarts: b"]);
        let both = timers.replace("name = \"a\"", "name = \"a\"\nclient = true");
        assert_eq!(said(RR, &both), ["rr1: these 2 sessions restart: a, b"]);
        let renamed = RR.replace("name = \"b\"", "name = \"c\"");
        assert_eq!(said(RR, &renamed), ["rr1: this session ends: b"]);
        let off = RR.replace("name = \"b\"", "name = \"b\"\nenabled = false");
        assert_eq!(said(RR, &off), ["rr1: this session ends: b"]);
        let range = RR.replace("\"10.0.0.0/8\", ", "");
        assert_eq!(said(RR, &range), ["rr1: this session ends: those from 10.0.0.0/8"]);
        let group = RR.replace("name = \"lab\"", "name = \"lab\"\nhold_time_s = 30");
        let ranges = "rr1: this session restarts: those from the ranges of lab";
        assert_eq!(said(RR, &group), [ranges]);
        let other = RR.replace("identifier = \"192.0.2.1\"", "identifier = \"192.0.2.2\"");
        let all = "rr1: these 3 sessions restart: a, b, those from the ranges of lab";
        assert_eq!(said(RR, &other), [all]);
        assert_eq!(said(RR, ""), ["rr1: it ends, with all that it carries"]);
    }

    const SSC: &str = "[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"core\"\nside = \"core\"\n\
        listen = [\"udp:127.0.0.1:5060\", \"tcp:127.0.0.1:5060\"]\n[[ssc.realm]]\n\
        name = \"access\"\nlisten = [\"udp:127.0.0.1:5070\"]\n\
        [ssc.replica]\nnode = \"a\"\nlisten = \"127.0.0.1:5999\"\npeer = \"127.0.0.2:5999\"\n";

    #[test]
    fn calls_connections_and_pairs_that_a_commit_touches_are_named() {
        let closed = SSC.replace(", \"tcp:127.0.0.1:5060\"", "");
        let ends = "ssc1: TCP 127.0.0.1:5060 closes, and the connections that came to it end";
        assert_eq!(said(SSC, &closed), [ends]);
        let realm = SSC.replace("name = \"access\"", "name = \"home\"");
        let calls =
            "ssc1: calls with a leg in the realm access end, and its registrations are forgotten";
        assert_eq!(said(SSC, &realm), [calls]);
        let pair = SSC.replace("127.0.0.2:5999", "127.0.0.3:5999");
        let said = said(SSC, &pair);
        assert!(said[0].starts_with("ssc1: calls of pair ") && said.len() == 1, "{said:?}");
    }

    const SGC: &str = "[[sgc]]\nname = \"stp\"\npoint_codes = [\"2-100-1\"]\n\
        tcp = { listen = [\"127.0.0.1:2905\"] }\n\
        [[sgc.peer]]\nname = \"one\"\nrole = \"asp\"\ntransport = \"tcp\"\n\
        addresses = [\"192.0.2.1\"]\n[[sgc.peer]]\nname = \"two\"\nrole = \"asp\"\n\
        transport = \"tcp\"\naddresses = [\"192.0.2.2\"]\n";

    #[test]
    fn associations_that_a_commit_ends_or_restarts_are_named() {
        let other = SGC.replace("[\"192.0.2.2\"]", "[\"192.0.2.3\"]");
        assert_eq!(said(SGC, &other), ["stp: this association restarts: two"]);
        let off = SGC.replace("name = \"one\"", "name = \"one\"\nenabled = false");
        assert_eq!(said(SGC, &off), ["stp: this peer carries no traffic any more: one"]);
        let gone = &SGC[..SGC.rfind("[[sgc.peer]]").unwrap()];
        assert_eq!(said(SGC, gone), ["stp: this association ends: two"]);
    }

    #[test]
    fn keys_that_no_commit_changes_are_told_by_the_check() {
        let refused = |new: &str| -> Vec<(String, String)> {
            let issues = refusals(&read(RR), &read(new)).into_iter();
            issues.map(|it| (it.path, it.what)).collect()
        };
        let shards = RR.replace("name = \"rr1\"", "name = \"rr1\"\nshards = 2");
        let what = "`shards` changes only with a restart of the site".to_owned();
        assert_eq!(refused(&shards), [("rr[0].shards".to_owned(), what)]);
        let kind = SGC.replace("name = \"stp\"", "name = \"rr1\"");
        assert_eq!(refused(&kind)[0].0, "sgc[0].name");
        assert!(refused(RR).is_empty());
    }
}
