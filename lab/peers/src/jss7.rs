//! jSS7, a stack of SS7 in Java: M3UA over TCP (IPSP), SCCP, TCAP, MAP and CAP.
//!
//! The first use fetches its jars with Maven and keeps them with the user's caches; the program is
//! `lab/peers/jss7`, which is compiled each time.

use crate::jars::{jars, run};
use crate::process::ProcessSpec;
use crate::talk::Talk;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

const VERSION: &str = "jss7-8.0.112";
const POM: &str = include_str!("../jss7/pom.xml");
const SOURCES: [(&str, &str); 5] = [
    ("Load.java", include_str!("../jss7/Load.java")),
    ("Node.java", include_str!("../jss7/Node.java")),
    ("Peer.java", include_str!("../jss7/Peer.java")),
    ("Tap.java", include_str!("../jss7/Tap.java")),
    ("Values.java", include_str!("../jss7/Values.java")),
];
/// For a Java machine to start and load all of it, however busy this one is.
const START: Duration = Duration::from_secs(60);

/// Where a node of jSS7 stands.
#[derive(Debug, Clone)]
pub struct Jss7Spec {
    /// It connects to `ports`; else it listens there.
    pub connects: bool,
    /// The ports of who listens, on 127.0.0.1: an association each.
    pub ports: Vec<u16>,
    /// Its point code.
    pub own: u32,
    /// The point code of the other node.
    pub far: u32,
    /// The Routing Context of both.
    pub context: u32,
}

/// What passed on an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The place of its port among those of [`Jss7Spec`].
    pub association: usize,
    /// The number of the connection: an association that comes again has another one.
    pub connection: u32,
    /// Whether it came from who connected.
    pub is_forth: bool,
    /// What was read at once.
    pub octets: Vec<u8>,
}

/// A node of jSS7 that tells in lines what it hears: `message NAME OCTETS`, `begin`, `end`, `up`
/// and `down` of associations; it ends with the handle.
#[derive(Debug)]
pub struct Jss7 {
    /// What is said to it begins dialogues: `sri`, `location`, `ussd`, `call`, with a title or
    /// without. After `hold` it says nothing in dialogues that stand, until `go`.
    pub talk: Talk,
    folder: tempfile::TempDir,
}

impl Jss7 {
    /// Starts a node; it is ready, and its association may still come.
    ///
    /// # Errors
    /// When its jars cannot be had, or Java is missing.
    pub fn start(spec: Jss7Spec) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut words: Vec<OsString> = java(folder.path())?;
        let role = if spec.connects { "connect" } else { "listen" };
        let numbers = [spec.own, spec.far, spec.context];
        words.extend(["Peer".into(), role.into()]);
        words.extend(numbers.map(|number| number.to_string().into()));
        words.push(folder.path().into());
        words.extend(spec.ports.iter().map(|port| port.to_string().into()));
        let program = ProcessSpec::new("jss7", "java", folder.path()).with(words);
        let mut talk = Talk::start(&program)?;
        talk.hear("ready", START)?;
        Ok(Self { talk, folder })
    }

    /// What passed on its associations so far, in this order.
    ///
    /// # Errors
    /// When the notes cannot be read.
    pub fn passed(&self) -> anyhow::Result<Vec<Passed>> {
        let notes = fs::read_to_string(self.folder.path().join("tap"))?;
        Ok(notes.lines().filter_map(passed).collect())
    }
}

/// A line of the notes; the last one may be cut off.
fn passed(line: &str) -> Option<Passed> {
    let mut words = line.split(' ');
    let is_forth = words.next()? == ">";
    let (association, connection) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let pairs = words.next()?.as_bytes().chunks(2).map(|it| std::str::from_utf8(it).ok());
    let octets = pairs.map(|it| u8::from_str_radix(it?, 16).ok()).collect::<Option<_>>()?;
    Some(Passed { association, connection, is_forth, octets })
}

/// The first words for `java` to run a class of `lab/peers/jss7`, which is compiled into `folder`.
///
/// # Errors
/// When its jars cannot be had, or Java is missing.
pub fn java(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let jars = jars(VERSION, POM)?.join("*").display().to_string();
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    let here = folder.display().to_string();
    let files = SOURCES.map(|(name, _)| name);
    run(folder, "javac", &[&["-d", &here, "-cp", &jars][..], &files].concat())?;
    Ok(["-cp".into(), format!("{here}:{jars}").into()].into())
}
