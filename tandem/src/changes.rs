//! What a commit refuses and what it interrupts, said before it is made: a running site held
//! against the one that shall run.

use crate::functions::{ReconfigureError, Section};
use crate::site::Site;
use config::Issue;
use services::pool;

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
    if old.site.name != new.site.name {
        let what = "`name` changes only with a restart of the site: its control socket, by which \
            `tandem ctl` finds it, has the name that it started with";
        let hint = "write it into the site file and restart the site";
        issues.push(Issue::new("site.name", what, hint));
    }
    if old.site.memory_mb != new.site.memory_mb {
        let what = "`memory_mb` changes only with a restart of the site: the memory is taken \
            before the first function starts";
        let hint = "write it into the site file and restart the site";
        issues.push(Issue::new("site.memory_mb", what, hint));
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
    let pool = pool::interruptions(old.pool.as_ref(), new.pool.as_ref()).into_iter();
    issues.extend(pool.map(|what| Issue::new("pool", what, "")));
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

    #[test]
    fn sessions_with_stations_and_caches_that_a_commit_touches_are_named() {
        let feeds = "[[rr.bmp]]\nname = \"noc\"\naddress = \"192.0.2.20\"\nport = 1790\n\
            [[rr.rpki]]\naddress = \"192.0.2.30\"\n[[rr.rpki]]\naddress = \"192.0.2.31\"\n";
        let old = format!("{RR}{feeds}");
        assert_eq!(said(&old, &old), Vec::<String>::new());
        let tables = old.replace("port = 1790", "port = 1790\ntables = [\"loc-rib\"]");
        assert_eq!(said(&old, &tables), ["rr1: this BMP session restarts: noc"]);
        let renamed = old.replace("\"noc\"", "\"other\"");
        assert_eq!(said(&old, &renamed), ["rr1: this BMP session ends: noc"]);
        let one = old.replace("[[rr.rpki]]\naddress = \"192.0.2.31\"\n", "");
        assert_eq!(
            said(&old, &one),
            [
                "rr1: this RPKI session restarts: 192.0.2.30:323",
                "rr1: this RPKI session ends: 192.0.2.31:323"
            ]
        );
        // What a station is told behind the policies begins anew with them.
        let told = old.replace("port = 1790", "port = 1790\ntables = [\"post-policy\"]");
        let policy = told.replace("name = \"a\"\n", "name = \"a\"\nimport = \"all\"\n");
        assert_eq!(said(&told, &policy), ["rr1: this BMP session restarts: noc"]);
        let before = policy.replace("\"post-policy\"", "\"pre-policy\"");
        let told = told.replace("\"post-policy\"", "\"pre-policy\"");
        assert_eq!(said(&told, &before), Vec::<String>::new());
    }

    #[test]
    fn ports_that_open_anew_and_a_smaller_pool_are_named() {
        let pe = "[[pe]]\nname = \"pe1\"\n[[pe.port]]\nname = \"ge0\"\ndriver = \"af_packet\"\n\
            [[pe.interface]]\nname = \"ge0\"\naddresses = [\"10.0.0.1/24\"]\n";
        let none = Vec::<String>::new();
        let device = pe.replace("\"af_packet\"\n", "\"af_packet\"\ndevice = \"ge0\"\n");
        assert_eq!(said(pe, &device), none, "the same device, by its name");
        let shorter = pe.replace("\"af_packet\"\n", "\"af_packet\"\nmtu = 1400\n");
        assert_eq!(said(pe, &shorter), ["pe1: this port opens anew: ge0"]);
        let pool = "[pool]\nsessions = 100\n[[pool.share]]\nfunction = \"ssc1\"\nmax = 50\n";
        assert_eq!(said(pool, pool), none);
        let more = pool.replace("100", "200");
        assert_eq!(said(pool, &more), none, "nobody notices room");
        let fewer = pool.replace("100", "80").replace("max = 50", "max = 40");
        let refused = "new calls are refused while more run, calls in progress go on";
        let wanted = [
            format!("pool: 80 sessions in place of 100: {refused}"),
            format!("pool: ssc1 gets 40 sessions at most: {refused}"),
        ];
        assert_eq!(said(pool, &fewer), wanted);
        assert_eq!(said("", pool)[0], format!("pool: 100 sessions from now on: {refused}"));
        assert_eq!(said(pool, ""), ["pool: it ends: calls are limited by it no more"]);
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
    fn an_address_of_a_provider_edge_that_goes_is_named() {
        const PE: &str = "[[pe]]\nname = \"pe1\"\nvrf = [{ name = \"red\" }]\n[[pe.port]]\n\
            name = \"a\"\ndriver = \"tap\"\n\
            [[pe.interface]]\nname = \"a\"\naddresses = [\"192.0.2.1/24\"]\n";
        assert_eq!(said(PE, PE), Vec::<String>::new());
        let moved = PE.replace("192.0.2.1/24", "192.0.2.9/24");
        let gone = "pe1: the address 192.0.2.1/24 of a goes: who speaks to it is answered no more";
        assert_eq!(said(PE, &moved), [gone]);
        let table = format!("{PE}vrf = \"red\"\n");
        assert_eq!(
            said(PE, &table),
            ["pe1: this interface moves to another routing table: a (red)"]
        );
    }

    #[test]
    fn associations_that_a_commit_ends_or_restarts_are_named() {
        let other = SGC.replace("[\"192.0.2.2\"]", "[\"192.0.2.3\"]");
        assert_eq!(said(SGC, &other), ["stp: this association restarts: two"]);
        let cluster = |more: &str| {
            format!(
                "{SGC}[sgc.cluster]\nnode = 2\n{more}nodes = [\
                 {{ number = 1, address = \"127.0.0.1:5990\" }}, \
                 {{ number = 2, address = \"127.0.0.2:5990\" }}, \
                 {{ number = 3, address = \"127.0.0.3:5990\" }}]\n"
            )
        };
        let codes = cluster("").replace("[\"2-100-1\"]", "[\"2-100-1\", \"2-100-2\"]");
        let differs = "stp: node 2 will differ from the others until they are told the same: no \
            partition moves to it";
        assert_eq!(said(&cluster(""), &codes), [differs]);
        assert_eq!(said(&cluster(""), &cluster("rebalance_s = 20\n")), Vec::<String>::new());
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
        let site = format!("{SITE}memory_mb = 512\n{RR}");
        let memory = refusals(&read(RR), &config::read::<Site>(&site).unwrap());
        assert_eq!(memory[0].path, "site.memory_mb");
        assert!(memory[0].what.contains("only with a restart") && memory.len() == 1);
        let site = format!("{SITE}{RR}").replace("name = \"x\"", "name = \"y\"");
        let name = refusals(&read(RR), &config::read::<Site>(&site).unwrap());
        assert_eq!(name[0].path, "site.name");
        assert!(name[0].what.contains("control socket") && name.len() == 1);
        assert!(refused(RR).is_empty());
    }
}
