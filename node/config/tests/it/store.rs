//! Commit, confirm and rollback: five bugs of others, a disk that refuses, and random operations
//! against a model.

use crate::world::{Memory, World, site, text};
use config::{Moment, Order, Passed, REVISIONS_MAX, ROLLBACK_RETRY, Refused, State, Store};
use machine::{Duration, Time};
use proptest::prelude::*;

fn at(seconds: u64) -> Time {
    Time::from_millis(seconds * 1000)
}

fn minute() -> Option<Duration> {
    Some(Duration::from_secs(60))
}

fn opened(world: &World) -> Store {
    let start = text(1);
    world.run(1);
    Store::open(at(0), &start, world.toys(), Box::new(world.archive())).unwrap()
}

#[test]
fn a_failed_commit_never_poisons_the_candidate() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, "[toy]\nnumbr = 2\n".into()).unwrap();
    let Err(Refused::Invalid(found)) = store.commit(at(1), 1, None, None) else {
        panic!("a wrong candidate is refused")
    };
    assert_eq!(found.len(), 1, "what is misspelt is not missing as well: {found:?}");
    assert_eq!(store.candidate().text, "[toy]\nnumbr = 2\n", "the edit is still there to hint");
    store.edit(1, text(2)).unwrap();
    assert_eq!(
        store.commit(at(2), 1, None, None).unwrap(),
        2,
        "the next commit knows nothing of it"
    );

    world.refuse_apply(3);
    store.edit(2, text(3)).unwrap();
    assert!(matches!(store.commit(at(3), 2, None, None), Err(Refused::Invalid(_))));
    assert_eq!((store.running().revision, world.running()), (2, 2));
    world.refuse_apply(0);
    assert_eq!(store.commit(at(4), 2, None, None).unwrap(), 3, "the same candidate, unchanged");
    assert_eq!(world.running(), 3);
}

#[test]
fn a_step_of_the_wall_clock_moves_no_deadline() {
    for wall in [at(1_000_000), at(0)] {
        let world = World::default();
        let start = text(1);
        world.run(1);
        let (toys, archive) = (world.toys(), Box::new(world.archive()));
        let mut store = Store::open(at(500_000), &start, toys, archive).unwrap();
        store.edit(1, text(2)).unwrap();
        let committed = Moment { wall: at(500_001), steady: at(10) };
        assert_eq!(store.commit(committed, 1, minute(), None).unwrap(), 2);
        let early = Moment { wall, steady: at(69) };
        assert!(matches!(store.tick(early), Passed::Nothing), "set to {wall:?}");
        let due = Moment { wall, steady: at(70) };
        assert!(matches!(store.tick(due), Passed::RolledBack(3)), "set to {wall:?}");
        assert_eq!(store.history().last().unwrap().at_us, wall.as_micros());
    }
}

#[test]
fn a_check_runs_the_real_validation() {
    let world = World::default();
    let mut store = opened(&world);
    world.refuse_check(7);
    store.edit(1, text(7)).unwrap();
    let found = store.check();
    assert_eq!((found[0].line, found[0].what.as_str()), (2, "the port is taken"));
    let Err(Refused::Invalid(committed)) = store.commit(at(1), 1, None, None) else {
        panic!("the commit must refuse what the check refuses")
    };
    assert_eq!(found, committed);
    store.edit(1, "[toy]\nnumber = 500\n".into()).unwrap();
    assert_eq!(store.check()[0].what, "500 is above 200", "the section's own validation");
}

#[test]
fn an_unconfirmed_commit_rolls_back_softly() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(10), 1, minute(), None).unwrap();
    assert_eq!((world.running(), site(&world.site_file())), (2, 1), "the site file waits");
    assert_eq!(store.deadline(), Some(at(70)));
    assert!(matches!(store.tick(at(69)), Passed::Nothing));
    assert!(matches!(store.tick(at(70)), Passed::RolledBack(3)));
    assert_eq!((world.running(), world.starts()), (1, 1), "applied, not started again");
    assert_eq!((store.running().text.as_str(), store.deadline()), (text(1).as_str(), None));
    assert!(matches!(store.tick(at(700)), Passed::Nothing));
}

#[test]
fn a_second_confirmed_commit_keeps_the_firsts_backup() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(10), 1, minute(), None).unwrap();
    store.edit(2, text(3)).unwrap();
    store.commit(at(20), 2, minute(), None).unwrap();
    assert_eq!(store.pending().unwrap().back_to, 1);
    assert!(matches!(store.tick(at(80)), Passed::RolledBack(_)));
    assert_eq!(world.running(), 1);
}

#[test]
fn the_confirm_timer_is_not_reset_by_accident() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(10), 1, minute(), None).unwrap();
    store.edit(2, text(3)).unwrap();
    store.check();
    store.compare();
    let _ = store.commit(at(30), 1, minute(), None).unwrap_err();
    store.edit(2, "broken".into()).unwrap();
    let _ = store.commit(at(30), 2, minute(), None).unwrap_err();
    let _ = store.rollback(at(40), Some(99), None).unwrap_err();
    world.refuse_apply(3);
    store.edit(2, text(3)).unwrap();
    let _ = store.commit(at(50), 2, minute(), None).unwrap_err();
    store.tick(at(60));
    assert_eq!(store.deadline(), Some(at(70)), "nothing of this was a new time");
    world.refuse_apply(0);
    store.commit(at(60), 2, Some(Duration::from_secs(100)), None).unwrap();
    assert_eq!(store.deadline(), Some(at(160)), "an explicit commit with a new time is");
}

#[test]
fn a_confirmed_commit_stays_and_reaches_the_site_file() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(10), 1, minute(), None).unwrap();
    assert_eq!(store.confirm(false).unwrap(), 2);
    assert_eq!(site(&world.site_file()), 2);
    assert!(matches!(store.tick(at(1000)), Passed::Nothing));
    assert!(matches!(store.confirm(false), Err(Refused::NotPending)));
}

#[test]
fn a_commit_based_on_an_old_revision_is_a_conflict() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(1), 1, None, None).unwrap();
    assert!(matches!(store.edit(1, text(3)), Err(Refused::Conflict { given: 1, running: 2 })));
    store.edit(2, text(3)).unwrap();
    store.rollback(at(2), Some(1), None).unwrap();
    let refused = store.commit(at(3), 3, None, None);
    assert!(matches!(refused, Err(Refused::Conflict { given: 2, running: 3 })), "{refused:?}");
}

#[test]
fn a_rollback_reaches_any_kept_revision_and_no_other() {
    let world = World::default();
    let mut store = opened(&world);
    for number in 2..=60 {
        store.edit(store.running().revision, text(number)).unwrap();
        store.commit(at(u64::from(number)), store.running().revision, None, None).unwrap();
    }
    assert_eq!(store.history().len(), REVISIONS_MAX);
    assert_eq!(store.history()[0].revision, 11);
    assert!(matches!(store.rollback(at(100), Some(10), None), Err(Refused::NotKept(10))));
    store.rollback(at(100), Some(20), None).unwrap();
    assert_eq!((world.running(), site(&world.site_file())), (20, 20));
    store.rollback(at(101), None, None).unwrap();
    assert_eq!(world.running(), 60, "without a number: the revision before");
}

#[test]
fn a_disk_that_refuses_changes_nothing() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    world.refuse_publish(true);
    assert!(matches!(store.commit(at(1), 1, None, None), Err(Refused::Storage(_))));
    assert_eq!((world.running(), store.running().revision, store.history().len()), (1, 1, 1));
    world.refuse_publish(false);
    world.refuse_keep(true);
    assert!(matches!(store.commit(at(2), 1, None, None), Err(Refused::Storage(_))));
    assert_eq!((world.running(), store.running().revision), (1, 1));
    world.refuse_keep(false);
    assert_eq!(store.commit(at(3), 1, None, None).unwrap(), 2);
}

#[test]
fn a_rollback_that_fails_is_tried_again() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(0), 1, minute(), None).unwrap();
    world.refuse_apply(1);
    assert!(matches!(store.tick(at(60)), Passed::RollbackFailed(_)));
    assert_eq!(store.deadline(), Some(at(60) + ROLLBACK_RETRY));
    assert!(matches!(store.tick(at(61)), Passed::Nothing));
    world.refuse_apply(0);
    assert!(matches!(store.tick(at(65)), Passed::RolledBack(_)));
    assert_eq!(world.running(), 1);
}

#[test]
fn a_comparison_is_a_unified_diff() {
    let world = World::default();
    let mut store = opened(&world);
    assert_eq!(store.compare(), "");
    store.edit(1, text(2)).unwrap();
    assert_eq!(
        store.compare(),
        "--- revision 1\n+++ candidate\n@@ -1,2 +1,2 @@\n [toy]\n-number = 1\n+number = 2\n"
    );
}

#[test]
fn what_nobody_confirmed_is_never_what_a_rollback_goes_to() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    let order = Order { by: Some("ann"), comment: Some("a better number"), ..Order::default() };
    store.commit(at(1), 1, None, order).unwrap();
    store.edit(2, text(3)).unwrap();
    store.commit(at(2), 2, minute(), None).unwrap();
    assert_eq!(store.history()[2].state, State::Pending);
    assert!(matches!(store.tick(at(62)), Passed::RolledBack(4)));
    store.rollback(at(70), None, None).unwrap();
    assert_eq!(world.running(), 1, "neither the expired one nor the same text again");
    let told = |entry: &config::Entry| (entry.revision, entry.state);
    let expected = [
        (1, State::Confirmed),
        (2, State::Confirmed),
        (3, State::NotConfirmed),
        (4, State::RolledBack),
        (5, State::Confirmed),
    ];
    assert_eq!(store.history().iter().map(told).collect::<Vec<_>>(), expected);
    let second = &store.history()[1];
    assert_eq!((second.by.as_deref(), second.comment.as_deref()), (order.by, order.comment));
    // One that is taken back by hand before it is confirmed is no other.
    store.edit(5, text(9)).unwrap();
    store.commit(at(80), 5, minute(), None).unwrap();
    store.rollback(at(81), None, None).unwrap();
    assert_eq!((world.running(), store.history()[5].state), (1, State::NotConfirmed));
    store.rollback(at(82), None, None).unwrap();
    assert_eq!(world.running(), 2);
    // A crash while one waits: the start finds that nobody confirmed it.
    store.edit(8, text(7)).unwrap();
    store.commit(at(90), 8, minute(), None).unwrap();
    drop(store);
    let archive = Box::new(world.archive());
    let mut store = Store::open(at(100), &text(2), world.toys(), archive).unwrap();
    assert_eq!(store.history()[8].state, State::NotConfirmed);
    store.rollback(at(101), None, None).unwrap();
    assert_eq!(world.running(), 1);
    let long = "x".repeat(600);
    let order = Order { comment: Some(&long), ..Order::default() };
    assert!(matches!(store.rollback(at(102), None, order), Err(Refused::BadParameter(_))));
}

#[test]
fn without_a_confirmed_revision_before_it_nothing_is_rolled_back() {
    let world = World::default();
    let mut store = opened(&world);
    store.edit(1, text(2)).unwrap();
    store.commit(at(1), 1, minute(), None).unwrap();
    store.tick(at(61));
    assert!(matches!(store.rollback(at(70), None, None), Err(Refused::NothingBefore)));
    store.rollback(at(70), Some(2), None).unwrap();
    assert_eq!(world.running(), 2, "with its number it is another thing");
}

#[test]
fn a_site_file_edited_by_hand_is_shown_and_overwritten_only_by_who_says_so() {
    let world = World::default();
    let mut store = opened(&world);
    world.write(&text(5));
    let shown = store.compare();
    assert!(shown.contains("+++ site file, edited by hand") && shown.contains("+number = 5"));
    store.edit(1, text(2)).unwrap();
    let force = Order { overwrites: true, ..Order::default() };
    for confirm in [None, minute()] {
        let refused = store.commit(at(1), 1, confirm, None);
        assert!(matches!(refused, Err(Refused::Edited(1))), "{refused:?}");
    }
    assert_eq!((world.running(), site(&world.site_file())), (1, 5), "nothing changed");
    store.commit(at(1), 1, minute(), force).unwrap();
    assert!(matches!(store.confirm(false), Err(Refused::Edited(1))));
    store.confirm(true).unwrap();
    assert_eq!(site(&world.site_file()), 2);
    world.write(&text(6));
    assert!(matches!(store.rollback(at(2), None, None), Err(Refused::Edited(2))));
    // Taken as the candidate nothing of it is lost.
    store.edit(2, text(6)).unwrap();
    assert!(!store.compare().contains("by hand"));
    store.commit(at(3), 2, None, None).unwrap();
    assert_eq!((world.running(), store.edited().unwrap()), (6, None));
}

#[test]
fn a_site_file_edited_by_hand_is_read_again_or_leaves_everything_as_it_is() {
    let world = World::default();
    let mut store = opened(&world);
    assert!(matches!(store.reload(at(1), None), Err(Refused::Unchanged)));
    world.write("[toy]\nnumbr = 5\n");
    assert!(matches!(store.reload(at(1), None), Err(Refused::Invalid(_))));
    world.refuse_apply(5);
    world.write(&text(5));
    assert!(matches!(store.reload(at(1), None), Err(Refused::Invalid(_))));
    assert_eq!((world.running(), store.history().len()), (1, 1));
    world.refuse_apply(0);
    assert_eq!(store.reload(at(2), Some("SIGHUP")).unwrap(), 2);
    assert_eq!((world.running(), store.edited().unwrap()), (5, None));
    let last = store.history().last().unwrap();
    assert_eq!((last.cause, last.by.as_deref()), (config::Cause::Reload, Some("SIGHUP")));
    store.edit(2, text(6)).unwrap();
    store.commit(at(3), 2, minute(), None).unwrap();
    assert!(matches!(store.reload(at(4), None), Err(Refused::Pending)));
}

#[test]
fn what_a_commit_interrupts_is_said_before_it() {
    let world = World::default();
    let mut store = opened(&world);
    assert!(store.interruptions().is_empty());
    store.edit(1, text(2)).unwrap();
    let found = store.interruptions();
    assert_eq!((found[0].line, &*found[0].what), (2, "1 ends"));
    store.edit(1, "[toy]\nnumber = 500\n".into()).unwrap();
    assert!(store.interruptions().is_empty(), "it is refused anyway");
}

/// One thing an operator, the clock or the machine may do.
#[derive(Debug, Clone)]
enum Op {
    Edit(u32),
    EditBroken,
    Commit { confirm_s: Option<u64>, stale: bool },
    Confirm,
    Rollback(Option<u64>),
    Pass(u64),
    RefuseApply(bool),
    RefuseDisk(bool),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1u32..200).prop_map(Op::Edit),
        1 => Just(Op::EditBroken),
        6 => (prop::option::of(1u64..100), prop::bool::weighted(0.1))
            .prop_map(|(confirm_s, stale)| Op::Commit { confirm_s, stale }),
        2 => Just(Op::Confirm),
        2 => prop::option::of(1u64..80).prop_map(Op::Rollback),
        4 => (0u64..60).prop_map(Op::Pass),
        1 => any::<bool>().prop_map(Op::RefuseApply),
        1 => any::<bool>().prop_map(Op::RefuseDisk),
    ]
}

/// What must hold, told as simply as possible: every revision's number, forever.
#[derive(Debug)]
struct Model {
    texts: Vec<u32>,
    /// Numbers of the revisions that nobody confirmed.
    unconfirmed: std::collections::BTreeSet<u64>,
    confirmed: u32,
    candidate: Option<(u64, Option<u32>)>,
    pending: Option<(u64, u64)>,
    refuse_apply: bool,
    refuse_disk: bool,
}

impl Model {
    fn revision(&self) -> u64 {
        self.texts.len() as u64
    }

    fn run(&mut self, number: u32, confirmed: bool) {
        self.texts.push(number);
        if confirmed {
            self.confirmed = number;
        }
    }

    /// The newest kept revision of another text that was confirmed; 0: none.
    fn previous(&self, store: &Store) -> u64 {
        let kept = |revision: &u64| store.history().iter().any(|it| it.revision == *revision);
        let text = |revision: u64| self.texts[revision as usize - 1];
        let other = |revision: &u64| text(*revision) != text(self.revision());
        let confirmed = (1..self.revision()).rev().filter(|it| !self.unconfirmed.contains(it));
        confirmed.filter(kept).find(other).unwrap_or(0)
    }

    fn healthy(&self) -> bool {
        !self.refuse_apply && !self.refuse_disk
    }

    fn commit(&mut self, now: u64, confirm_s: Option<u64>, stale: bool) -> bool {
        let (base, number) = match self.candidate {
            Some((base, Some(number))) => (base, number),
            _ => return false,
        };
        let running = *self.texts.last().unwrap();
        let right = !stale && base == self.revision() && number != running && self.healthy();
        if right {
            let backup = self.pending.map_or(self.revision(), |(back_to, _)| back_to);
            if self.pending.is_some() && confirm_s.is_some() {
                self.unconfirmed.insert(self.revision());
            }
            self.run(number, confirm_s.is_none());
            self.pending = confirm_s.map(|time| (backup, now + time));
            self.candidate = None;
        }
        right
    }
}

fn play(model: &mut Model, world: &World, store: &mut Store, now: &mut u64, op: &Op) {
    let running = store.running().revision;
    match *op {
        Op::Edit(number) => {
            store.edit(running, text(number)).unwrap();
            model.candidate = Some((running, Some(number)));
        }
        Op::EditBroken => {
            store.edit(running, "number".into()).unwrap();
            model.candidate = Some((running, None));
        }
        Op::Commit { confirm_s, stale } => {
            let base = running - u64::from(stale);
            let done =
                store.commit(at(*now), base, confirm_s.map(Duration::from_secs), None).is_ok();
            assert_eq!(done, model.commit(*now, confirm_s, stale));
        }
        Op::Confirm => {
            let expected = model.pending.is_some() && !model.refuse_disk;
            assert_eq!(store.confirm(false).is_ok(), expected);
            if expected {
                model.pending = None;
                model.confirmed = *model.texts.last().unwrap();
            }
        }
        Op::Rollback(to) => {
            let target = to.or(model.pending.map(|(back, _)| back));
            let target = target.unwrap_or_else(|| model.previous(store));
            let kept = store.history().iter().any(|entry| entry.revision == target);
            let done = store.rollback(at(*now), to, None).is_ok();
            assert_eq!(done, kept && model.healthy());
            if done {
                let number = model.texts[target as usize - 1];
                model.unconfirmed.extend(model.pending.map(|_| running));
                model.run(number, true);
                model.pending = None;
            }
        }
        Op::Pass(seconds) => {
            *now += seconds;
            let due = model.pending.is_some_and(|(_, until)| until <= *now);
            let ready = store.deadline().is_some_and(|deadline| deadline <= at(*now));
            assert!(!ready || due, "never early");
            let back = matches!(store.tick(at(*now)), Passed::RolledBack(_));
            assert_eq!(back, ready && model.healthy());
            if back {
                let (back_to, _) = model.pending.take().unwrap();
                let number = model.texts[back_to as usize - 1];
                model.unconfirmed.insert(running);
                model.run(number, true);
            }
        }
        Op::RefuseApply(on) => {
            model.refuse_apply = on;
            world.refuse_all(on);
        }
        Op::RefuseDisk(on) => {
            model.refuse_disk = on;
            world.refuse_publish(on);
            world.refuse_keep(on);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_sequence_of_operations_agrees_with_the_model(ops in prop::collection::vec(op(), 1..80)) {
        let world = World::default();
        let mut store = opened(&world);
        let mut model = Model {
            texts: vec![1], unconfirmed: [].into(), confirmed: 1, candidate: None, pending: None,
            refuse_apply: false, refuse_disk: false,
        };
        let mut now = 0;
        for op in &ops {
            play(&mut model, &world, &mut store, &mut now, op);
            prop_assert_eq!(store.running().revision, model.revision(), "{:?}", op);
            prop_assert_eq!(world.running(), *model.texts.last().unwrap(), "{:?}", op);
            prop_assert_eq!(site(&world.site_file()), model.confirmed, "{:?}", op);
            prop_assert_eq!(store.pending().map(|p| p.back_to), model.pending.map(|p| p.0));
            prop_assert_eq!(store.pending().map(|p| p.until), model.pending.map(|p| at(p.1)));
            // One more than the limit while the disk refuses to forget.
            prop_assert!(store.history().len() <= REVISIONS_MAX + usize::from(model.refuse_disk));
            for entry in store.history() {
                let kept = store.text_of(entry.revision).unwrap();
                prop_assert_eq!(site(&kept), model.texts[entry.revision as usize - 1]);
            }
        }
    }
}

#[test]
fn a_memory_archive_is_a_fair_stand_in_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let site_file = folder.path().join("site.toml");
    std::fs::write(&site_file, text(1)).unwrap();
    let disk = || Box::new(config::Disk::open(&folder.path().join("kept"), &site_file).unwrap());
    let world = World::default();
    world.run(1);
    let mut store = Store::open(at(0), &text(1), world.toys(), disk()).unwrap();
    for number in 2..=70 {
        let base = store.running().revision;
        store.edit(base, text(number)).unwrap();
        store.commit(at(u64::from(number)), base, None, None).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&site_file).unwrap(), text(70));
    let files = std::fs::read_dir(folder.path().join("kept")).unwrap().count();
    assert_eq!(files, REVISIONS_MAX + 1, "one file a revision, and the index");
    let history = store.history().to_vec();

    // Started again: the same text is the same revision; an edited file is a new one.
    let again = Store::open(at(100), &text(70), world.toys(), disk()).unwrap();
    assert_eq!(again.history(), history);
    let edited = Store::open(at(101), &text(71), world.toys(), disk()).unwrap();
    assert_eq!(edited.running().revision, 71);
    assert_eq!(edited.text_of(70).unwrap(), text(70));
    let _: Memory = world.archive();
}
