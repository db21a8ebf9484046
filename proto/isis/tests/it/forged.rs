//! Fragments that others say in a system's name, and databases that somebody would like to fill.

use crate::net::{Net, SECOND};
use isis::lsp::{Content, Neighbour, Reach};
use isis::pdu::{LspFlags, Summary, write_csnp, write_lsp, write_psnp};
use isis::{
    Authentication, Discard, In, Level, Limits, LinkType, LspId, MetricStyle, NodeId, Settings,
    SystemId,
};
use machine::Duration;

fn three() -> Net {
    let mut net = Net::new(8, 3);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(1, 1), (2, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    net
}

fn lsp(system: SystemId, fragment: u8, sequence: u32, lifetime_s: u16) -> Vec<u8> {
    let id = LspId { node: NodeId::of(system), fragment };
    let summary = Summary { lifetime_s, id, sequence, checksum: 0 };
    let reaches = vec![Reach::new(Net::prefix(99), sequence)];
    let content = Content { reaches, ..Content::default() };
    let tlvs = if lifetime_s == 0 {
        isis::lsp::purge(SystemId([9; 6]), None, "")
    } else {
        content.fragments(MetricStyle::Wide, 1_400).concat()
    };
    write_lsp(Level::Two, &summary, LspFlags::default(), &tlvs, &Authentication::Null)
}

/// Somebody on the first link says something to system 1 as if it were system 0.
fn inject(net: &mut Net, octets: Vec<u8>) {
    net.step(1, In::Pdu { circuit: 1, source: Net::snpa(0, 0), octets });
}

#[test]
fn a_forged_fragment_of_any_system_is_taken_back_by_its_owner_whatever_its_number() {
    for (victim, sequence, lifetime_s) in
        [(1, 100, 1_200), (2, 100, 1_200), (1, 100, 0), (2, 100, 0), (2, u32::MAX - 5, 1_200)]
    {
        let mut net = three();
        inject(&mut net, lsp(Net::id(victim), 0, sequence, lifetime_s));
        net.run(SECOND * 30);
        net.check(&format!("victim {victim}, number {sequence}, lifetime {lifetime_s}"));
        assert!(net.at(victim).counts().fought_back > 0);
    }
}

#[test]
fn behind_the_last_number_a_system_begins_anew_once_the_last_form_is_forgotten() {
    let mut net = three();
    inject(&mut net, lsp(Net::id(2), 0, u32::MAX, 1_200));
    net.run(SECOND * 150);
    net.check("it began anew");
    let id = LspId { node: NodeId::of(Net::id(2)), fragment: 0 };
    let all = net.at(0).database(Level::Two, net.now);
    let own = all.iter().find(|it| it.id == id).unwrap();
    assert!(own.sequence < 10, "{own:?}");
}

#[test]
fn a_fragment_that_its_owner_never_said_is_purged() {
    let mut net = three();
    inject(&mut net, lsp(Net::id(2), 77, 5, 1_200));
    net.run(SECOND * 10);
    let id = LspId { node: NodeId::of(Net::id(2)), fragment: 77 };
    for system in 0..3 {
        let all = net.at(system).database(Level::Two, net.now);
        assert!(all.iter().all(|it| it.id != id || it.lifetime_s == 0), "{system}");
    }
    let purge = net.at(1).content(Level::Two, id).unwrap();
    assert_eq!((purge.purged_by, purge.hostname), (vec![Net::id(2)], Some("system-2".to_owned())));
}

#[test]
fn the_same_number_with_another_checksum_is_said_anew_by_its_owner() {
    let mut net = three();
    let id = LspId { node: NodeId::of(Net::id(2)), fragment: 0 };
    let all = net.at(1).database(Level::Two, net.now);
    let sequence = all.iter().find(|it| it.id == id).unwrap().sequence;
    inject(&mut net, lsp(Net::id(2), 0, sequence, 1_000));
    assert_eq!(net.at(1).discarded(Discard::Confusion), 1);
    net.run(SECOND * 20);
    net.check("it was said anew");
}

#[test]
fn a_checksum_that_is_the_same_modulo_255_is_no_other_one() {
    let of = |checksum| Summary { lifetime_s: 9, sequence: 7, checksum, ..summary() };
    assert!(!of(0xFF12).is_confused_with(&of(0x0012)));
    assert!(!of(0x1200).is_confused_with(&of(0x12FF)));
    assert!(of(0x1201).is_confused_with(&of(0x12FF)));
}

fn summary() -> Summary {
    let id = LspId { node: NodeId::of(Net::id(2)), fragment: 0 };
    Summary { lifetime_s: 1_200, id, sequence: 1, checksum: 1 }
}

#[test]
fn sequence_numbers_that_lack_everything_count_so_often_only() {
    let mut net = three();
    for fragment in 0..200 {
        inject(&mut net, lsp(SystemId([7; 6]), fragment, 5, 1_200));
    }
    net.run(SECOND * 30);
    let range = [LspId::default(), LspId::LAST];
    for _ in 0..100 {
        let octets = write_csnp(Level::Two, Net::id(0), range, &[], &Authentication::Null);
        inject(&mut net, octets);
    }
    let refused = net.at(1).discarded(Discard::Csnp);
    assert!((80..100).contains(&refused), "{refused}");
    net.run(SECOND * 30);
    net.check("all the same");
}

#[test]
fn fragments_in_a_systems_name_without_end_are_answered_once_an_interval() {
    let mut net = three();
    for fragment in 1..=100 {
        inject(&mut net, lsp(Net::id(1), fragment, 5, 1_200));
    }
    let live = |net: &Net| {
        let all = net.at(1).database(Level::Two, net.now);
        all.iter().filter(|it| it.lifetime_s > 0 && it.id.fragment > 0).count()
    };
    assert_eq!(live(&net), 99, "the first is taken back at once");
    net.run(SECOND * 3);
    assert_eq!((live(&net), net.at(1).counts().fought_back), (0, 100));
}

#[test]
fn a_database_holds_no_more_than_it_may() {
    let mut net = three();
    let limits = Limits { lsps_of_system: 10, lsps: 50, ..Limits::default() };
    let settings = Settings { limits, ..net.settings(1) };
    net.start_with(1, settings);
    net.run(SECOND * 20);
    for system in 0..20 {
        for fragment in 0..20 {
            inject(&mut net, lsp(SystemId([9, 0, 0, 0, 0, system]), fragment, 1, 1_000));
        }
    }
    let all = net.at(1).database(Level::Two, net.now);
    let of_system = |first| all.iter().filter(|it| it.id.node.system.0[0] == first).count();
    assert!((20..=25).contains(&of_system(9)), "{}: as much as is left for others", all.len());
    let of_first = all.iter().filter(|it| it.id.node.system == SystemId([9, 0, 0, 0, 0, 0]));
    assert_eq!(of_first.count(), 10);
    assert!(net.at(1).discarded(Discard::DatabaseFull) >= 350);
    let octets = lsp(SystemId([7; 6]), 0, 1, 1_000);
    net.step(1, In::Pdu { circuit: 2, source: Net::snpa(1, 1), octets });
    let now = net.now;
    let has_it = |it: &Summary| it.id.node.system == SystemId([7; 6]);
    assert!(net.at(1).database(Level::Two, now).iter().any(has_it), "another neighbour's");
    // What is asked for is bounded as well.
    net.run(SECOND);
    let asked = |number: u32| Summary {
        lifetime_s: 1_000,
        id: LspId { node: NodeId::of(SystemId([8, 0, 0, 0, 0, 1])), fragment: number as u8 },
        sequence: 1,
        checksum: 1,
    };
    let asked: Vec<Summary> = (0..80).map(asked).collect();
    let range = [LspId::default(), LspId::LAST];
    let csnp = write_csnp(Level::Two, Net::id(0), range, &asked, &Authentication::Null);
    net.keeps_pdus = true;
    inject(&mut net, csnp);
    net.run(Duration::from_millis(300));
    let asks = |it: &&(isis::Snpa, isis::Snpa, Vec<u8>)| it.0 == Net::snpa(0, 1) && it.2[4] == 27;
    let longest = net.sent.iter().filter(asks).map(|it| it.2.len()).max();
    assert!(longest.is_some_and(|octets| octets < 17 + 2 * 2 + 30 * 16), "{longest:?}");
}

#[test]
fn what_is_broken_is_counted_with_its_reason() {
    let mut net = three();
    let good = lsp(SystemId([9; 6]), 0, 1, 1_000);
    let broken = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] ^= octet;
        octets
    };
    let psnp = write_psnp(Level::Two, Net::id(0), &[], &Authentication::Null);
    let mut level1 = good.clone();
    level1[4] = 18;
    let rows = [
        (broken(0, 1), Discard::Malformed),
        (broken(2, 1), Discard::Malformed),
        (broken(4, 31), Discard::Malformed),
        (broken(8, 8), Discard::Malformed),
        (good[..good.len() - 1].to_vec(), Discard::Malformed),
        (broken(28, 1), Discard::Checksum),
        (level1, Discard::Level),
    ];
    for (octets, why) in rows {
        let before = net.at(1).discarded(why);
        inject(&mut net, octets);
        assert_eq!(net.at(1).discarded(why), before + 1, "{}", why.name());
    }
    let from = |circuit, source, octets| In::Pdu { circuit, source, octets };
    net.step(1, from(1, Net::snpa(0, 0), psnp.clone()));
    net.step(2, from(9, Net::snpa(1, 0), good.clone()));
    assert_eq!(net.at(2).discarded(Discard::Circuit), 1);
    net.step(2, from(2, Net::snpa(7, 7), good.clone()));
    assert_eq!(net.at(2).discarded(Discard::Neighbour), 1);
    // On the LAN one of the two is not designated.
    let before = [1, 2].map(|it| net.at(it).discarded(Discard::NotDesignated));
    for (system, end) in [(1, 1), (2, 0)] {
        net.step(system, from(2, Net::snpa(1, end), psnp.clone()));
    }
    let after = [1, 2].map(|it| net.at(it).discarded(Discard::NotDesignated));
    assert_eq!(after.iter().sum::<u64>(), before.iter().sum::<u64>() + 1);
    net.run(SECOND * 10);
    net.check("nothing happened");
}

#[test]
fn changes_that_come_fast_run_spf_seldom_and_others_converge() {
    let mut net = three();
    let before = net.at(1).counts().runs;
    for sequence in 1..2_000 {
        inject(&mut net, lsp(SystemId([9; 6]), 0, sequence, 1_000));
        net.run(Duration::from_millis(1));
    }
    let runs = net.at(1).counts().runs - before;
    assert!(runs < 20, "{runs} runs in two seconds");
    net.links[0].is_up = false;
    net.run(SECOND * 20);
    net.check("all the same");
}

#[test]
fn of_parallel_links_of_two_systems_some_count() {
    let mut net = three();
    let edges = |net: &Net| {
        let (graph, _) = net.at(1).paths(Level::Two).unwrap();
        graph.nodes().map(|it| graph.out(it).len()).sum::<usize>()
    };
    let before = edges(&net);
    let (one, two) = (SystemId([7; 6]), SystemId([8; 6]));
    for (own, other) in [(one, two), (two, one)] {
        for fragment in 0..4 {
            let links = (0..100).map(|number| Neighbour {
                node: NodeId::of(other),
                metric: 10 + number,
                is_wide: true,
                link: Some([u32::from(fragment) * 100 + number, 1]),
                address: None,
                sids: Vec::new(),
            });
            let content = Content { neighbours: links.collect(), ..Content::default() };
            let id = LspId { node: NodeId::of(own), fragment };
            let summary = Summary { lifetime_s: 1_200, id, sequence: 1, checksum: 0 };
            let tlvs = content.fragments(MetricStyle::Wide, 16_000).concat();
            let none = Authentication::Null;
            let octets = write_lsp(Level::Two, &summary, LspFlags::default(), &tlvs, &none);
            inject(&mut net, octets);
        }
    }
    net.run(SECOND * 10);
    assert_eq!(edges(&net) - before, 2 * 64);
}
