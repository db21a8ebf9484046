//! Rows in a real Cassandra: the laws of every backend, what the nodes of a ring share and what
//! they do not, what happens while it does not answer, and what another driver reads of it.
//! Needs Maven and Java (make setup); the first time it fetches jars.

use crate::laws;
use crate::world::{LIMITS, World};
use authentication::Password;
use keyed::{Answer, Backend, Promise, Question, Ring};
use machine::Duration;
use peers::{Cassandra, CassandraSpec, CassandraTls, free_port};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};
use tls::TlsSpec;

/// How long the ring has for an answer: beside the other tests it takes its time.
const ANSWER: Duration = Duration::from_secs(10);
const OWN: &str = "m";

/// Keys of an authority, of the node, and of those who connect.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let folder = folder.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("roots"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder }
    }

    fn roots(&self) -> PathBuf {
        self.folder.join("roots")
    }

    /// The files of a certificate of 127.0.0.1 and of its key, and one with both.
    fn issue(&self, name: &str) -> [PathBuf; 3] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        let texts = [
            ("certificate", certificate.clone()),
            ("key", key.serialize_pem()),
            ("both", key.serialize_pem() + &certificate),
        ];
        texts.map(|(kind, text)| {
            let path = self.folder.join(format!("{name}.{kind}"));
            fs::write(&path, text).unwrap();
            path
        })
    }
}

/// The authority of the node, and another one.
fn authorities() -> &'static [Authority; 2] {
    static ALL: OnceLock<([Authority; 2], tempfile::TempDir)> = OnceLock::new();
    let made = || {
        let folder = tempfile::tempdir().unwrap();
        (["ring", "other"].map(|it| Authority::new(folder.path(), it)), folder)
    };
    &ALL.get_or_init(made).0
}

/// One node for all tests; who stops it has it alone.
fn node() -> &'static RwLock<Cassandra> {
    static NODE: OnceLock<RwLock<Cassandra>> = OnceLock::new();
    NODE.get_or_init(|| {
        let address = [127, 0, 0, 1].into();
        let port = || free_port(address).expect("there is one").port();
        let spec = CassandraSpec {
            address,
            port: port(),
            storage_port: port(),
            seed: address,
            has_users: true,
            tls: Some(CassandraTls {
                node: authorities()[0].issue("node")[2].clone(),
                roots: authorities()[0].roots(),
            }),
        };
        let node = Cassandra::start(&spec).unwrap();
        // It answers before it knows its first user: the ring is connected to again.
        let first = Backend::Ring(Box::new(ring(&node, "first")));
        World::with(LIMITS, first).until(|it| {
            it.now += Duration::from_millis(20);
            it.store.status().is_open
        });
        RwLock::new(node)
    })
}

fn number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

fn ring(node: &Cassandra, owner: &str) -> Ring {
    Ring {
        nodes: vec![node.at.to_string()],
        keyspace: "Tandem".to_owned(),
        replication: 1,
        datacenter: None,
        owner: owner.to_owned(),
        own: vec![OWN.into()],
        user: Some(("cassandra".to_owned(), Password::new("cassandra"))),
        tls: None,
        answer_time: ANSWER,
        written: keyed::Written::default(),
    }
}

fn opened(ring: Ring) -> World {
    let mut world = World::with(LIMITS, Backend::Ring(Box::new(ring)));
    world.open();
    world
}

/// A law of rows of one node, and of rows that all share.
fn holds(of_own: bool, of_shared: bool, law: fn(&mut laws::Fresh<'_>)) {
    let node = node().read().unwrap_or_else(PoisonError::into_inner);
    for (begin, _) in [(OWN, of_own), ("s", of_shared)].into_iter().filter(|it| it.1) {
        law(&mut |limits| {
            let number = number();
            let ring = ring(&node, &format!("owner{number}"));
            let mut world = World::with(limits, Backend::Ring(Box::new(ring)));
            world.begin = format!("{begin}{number} ");
            world.open();
            world
        });
    }
}

#[test]
fn a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over() {
    holds(true, true, laws::a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over);
}

#[test]
fn questions_of_one_key_are_answered_in_their_order() {
    holds(true, true, laws::questions_of_one_key_are_answered_in_their_order);
}

#[test]
fn beyond_its_limits_nothing_is_taken_and_what_stands_stays() {
    holds(true, false, laws::beyond_its_limits_nothing_is_taken_and_what_stands_stays);
}

#[test]
fn what_was_promised_to_the_disk_is_there_again_and_what_was_taken_is_not() {
    let law = laws::what_was_promised_to_the_disk_is_there_again_and_what_was_taken_is_not;
    holds(true, true, law);
}

#[test]
fn rows_are_shared_or_one_owners_whom_one_process_has_at_a_time() {
    let node = node().read().unwrap_or_else(PoisonError::into_inner);
    let (mut a, mut b) = (opened(ring(&node, "a")), opened(ring(&node, "b")));
    assert!(a.put("share1", "of a", 600, Promise::Memory));
    assert!(a.put("m1", "of a", 600, Promise::Disk));
    assert_eq!((b.row("share1").as_deref(), b.row("m1")), (Some("of a"), None));
    assert_eq!(b.take("share1"), Answer::Row(Some(b"of a".to_vec())));
    assert_eq!(a.row("share1"), None);
    // A second process of `a` waits until the first one has ended.
    let mut second = World::with(LIMITS, Backend::Ring(Box::new(ring(&node, "a"))));
    second.until(|it| it.store.status().trouble.is_some());
    let trouble = second.store.status().trouble.unwrap_or_default();
    assert!(trouble.contains("another process has the rows of `a`"), "{trouble}");
    assert!(!second.put("m2", "1", 600, Promise::Disk));
    drop(a);
    second.until(|it| {
        it.now += Duration::from_millis(100);
        it.store.status().is_open
    });
    assert_eq!(second.row("m1").as_deref(), Some("of a"));
}

#[test]
fn while_the_ring_does_not_answer_each_kind_of_row_has_its_rule_and_it_is_told_afterwards() {
    let mut node = node().write().unwrap_or_else(PoisonError::into_inner);
    let quick = |owner: &str| Ring { answer_time: Duration::from_secs(2), ..ring(&node, owner) };
    let (quick, other) = (quick("slow"), quick("other"));
    let mut world = opened(quick);
    for key in ["s1", "s2", "m1"] {
        assert!(world.put(key, "before", 600, Promise::Disk));
    }
    node.pause().unwrap();
    // What this node knows of shared rows goes on; what it does not know fails.
    assert!(world.put("s1", "meanwhile", 600, Promise::Memory));
    assert_eq!(world.row("s1").as_deref(), Some("meanwhile"));
    assert_eq!(world.take("s2"), Answer::Row(Some(b"before".to_vec())));
    assert_eq!((world.row("s2"), world.store.status().shared.unwrap().late), (None, 2));
    assert_eq!(world.ask(Question::Get(b"s3".to_vec())), Answer::Failed);
    assert!(!world.put("s4", "1", 600, Promise::Disk), "it is in no ring");
    let alarms = world.store.alarms();
    assert!(alarms.iter().any(|it| it.name == "store-unwritable"), "{alarms:?}");
    // Own rows stand in memory; what is promised to the ring is refused, and stands as before.
    assert_eq!(world.row("m1").as_deref(), Some("before"));
    assert!(!world.put("m1", "meanwhile", 600, Promise::Disk));
    assert_eq!(world.row("m1").as_deref(), Some("before"));
    node.resume();
    world.until(|it| {
        it.now += Duration::from_millis(20);
        it.store.status().shared.is_some_and(|it| it.late == 0 && it.trouble.is_none())
    });
    assert_eq!(world.store.alarms(), []);
    assert!(world.put("m1", "after", 600, Promise::Disk));
    let mut other = opened(other);
    assert_eq!((other.row("s1").as_deref(), other.row("s2")), (Some("meanwhile"), None));
    assert_eq!(world.again().row("m1").as_deref(), Some("after"));
}

#[test]
fn who_lost_its_rows_to_another_process_takes_nothing_away_of_what_that_wrote() {
    let mut node = node().write().unwrap_or_else(PoisonError::into_inner);
    let own = || Ring { answer_time: Duration::from_secs(1), ..ring(&node, "lost") };
    let (first, second, third) = (own(), own(), own());
    let mut first = opened(first);
    assert!(first.put("m1", "of the first", 600, Promise::Disk));
    node.pause().unwrap();
    assert!(!first.put("m2", "refused", 600, Promise::Disk));
    // The first one cannot say for twelve seconds that it is there, and then another one has them.
    std::thread::sleep(std::time::Duration::from_secs(8));
    node.resume();
    let mut second = World::with(LIMITS, Backend::Ring(Box::new(second)));
    second.until(|it| {
        it.now += Duration::from_millis(20);
        it.store.status().is_open
    });
    assert_eq!(second.row("m1").as_deref(), Some("of the first"));
    assert!(second.put("m3", "of the second", 600, Promise::Disk));
    drop(second);
    let is_told = |it: &mut World| {
        it.now += Duration::from_millis(20);
        let trouble = it.store.status().trouble.unwrap_or_default();
        trouble.contains("another process had the rows of `lost`")
    };
    first.until(is_told);
    assert!(!first.put("m4", "refused", 600, Promise::Disk));
    drop(first);
    let mut third = opened(third);
    assert_eq!(third.row("m3").as_deref(), Some("of the second"));
}

#[test]
fn the_foreign_driver_reads_every_row() {
    let node = node().read().unwrap_or_else(PoisonError::into_inner);
    let mut world = opened(ring(&node, "read"));
    for n in 0..50 {
        assert!(world.put(&format!("m{n}"), &format!("own {n}"), 600, Promise::Disk));
        assert!(world.put(&format!("read{n}"), &format!("shared {n}"), 600, Promise::Memory));
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/cassandra/rows.py");
    let mut command = Command::new("/usr/bin/python3");
    command.args([script, &node.at.port().to_string(), "Tandem", "read"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cassandra-driver (make setup): {errors}");
    let mut lines: Vec<_> = said.lines().map(str::to_owned).collect();
    lines.sort();
    let own = (0..50).map(|n| format!("own_rows m{n} own {n}"));
    let shared = (0..50).map(|n| format!("shared_rows read{n} shared {n}"));
    let mut expected: Vec<_> = own.chain(shared).collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn by_tls_a_ring_is_spoken_with_whose_certificates_hold_and_to_which_one_is_shown() {
    let node = node().read().unwrap_or_else(PoisonError::into_inner);
    let [own, other] = authorities();
    let spec = |roots: &Authority, shown: Option<[PathBuf; 3]>| {
        let [certificate, key] = match shown {
            Some([certificate, key, _]) => [Some(certificate), Some(key)],
            None => [None, None],
        };
        TlsSpec { roots: Some(roots.roots()), certificate, key, ..TlsSpec::default() }
    };
    let by = |owner: &str, tls: TlsSpec| {
        let ring = Ring { tls: Some(tls), ..ring(&node, owner) };
        let mut world = World::with(LIMITS, Backend::Ring(Box::new(ring)));
        world.until(|it| it.store.status().is_open || it.store.status().trouble.is_some());
        world
    };
    let mut world = by("tls", spec(own, Some(own.issue("a"))));
    assert_eq!(world.store.status().trouble, None);
    assert!(world.put("m1", "own", 600, Promise::Disk));
    assert!(world.put("tls1", "shared", 600, Promise::Memory));
    let mut again = world.again();
    assert_eq!(again.row("m1").as_deref(), Some("own"));
    let mut in_clear = opened(ring(&node, "clear"));
    assert_eq!(in_clear.row("tls1").as_deref(), Some("shared"));
    for (what, tls) in [
        ("nothing is shown", spec(own, None)),
        ("another authority's is shown", spec(own, Some(other.issue("b")))),
        ("another authority is believed", spec(other, Some(own.issue("c")))),
    ] {
        let world = by("never", tls);
        assert!(!world.store.status().is_open, "{what}");
        assert!(world.store.status().trouble.is_some(), "{what}");
    }
}
