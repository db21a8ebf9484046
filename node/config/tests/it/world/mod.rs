//! What runs a number as its site, and an archive in memory; both refuse on demand.

use config::{Archive, Entry, Issue, ListenAddress, Reconfigure, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// A site file whose only content is a number.
pub fn text(number: u32) -> String {
    format!("[toy]\nnumber = {number}\n")
}

/// The number back.
pub fn site(text: &str) -> u32 {
    text.trim_end().rsplit(' ').next().unwrap().parse().unwrap()
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Toy {
    toy: Section,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Section {
    number: u32,
}

impl Site for Toy {
    fn validate(&self, issues: &mut Vec<Issue>) {
        if self.toy.number > 200 {
            let what = format!("{} is above 200", self.toy.number);
            issues.push(Issue::new("toy.number", what, "write less"));
        }
    }

    fn listen_addresses(&self) -> Vec<ListenAddress> {
        Vec::new()
    }
}

#[derive(Debug, Default)]
struct Inner {
    running: u32,
    starts: u32,
    refuse_check: u32,
    refuse_apply: u32,
    refuse_all: bool,
    refuse_keep: bool,
    refuse_publish: bool,
    entries: Vec<Entry>,
    texts: BTreeMap<u64, String>,
    site_file: String,
}

/// The machine and the disk around a store.
#[derive(Debug, Clone, Default)]
pub struct World(Arc<Mutex<Inner>>);

/// What runs.
pub struct Toys(World);

/// The world's archive.
pub struct Memory(World);

impl World {
    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }

    pub fn toys(&self) -> Toys {
        Toys(self.clone())
    }

    pub fn archive(&self) -> Memory {
        Memory(self.clone())
    }

    pub fn run(&self, number: u32) {
        self.with(|w| {
            w.running = number;
            w.starts += 1;
            w.site_file = text(number);
        });
    }

    pub fn running(&self) -> u32 {
        self.with(|w| w.running)
    }

    pub fn starts(&self) -> u32 {
        self.with(|w| w.starts)
    }

    pub fn site_file(&self) -> String {
        self.with(|w| w.site_file.clone())
    }

    /// An operator writes the site file.
    pub fn write(&self, text: &str) {
        self.with(|w| w.site_file = text.into());
    }

    pub fn refuse_check(&self, number: u32) {
        self.with(|w| w.refuse_check = number);
    }

    pub fn refuse_apply(&self, number: u32) {
        self.with(|w| w.refuse_apply = number);
    }

    pub fn refuse_all(&self, on: bool) {
        self.with(|w| w.refuse_all = on);
    }

    pub fn refuse_keep(&self, on: bool) {
        self.with(|w| w.refuse_keep = on);
    }

    pub fn refuse_publish(&self, on: bool) {
        self.with(|w| w.refuse_publish = on);
    }
}

fn taken() -> Vec<Issue> {
    vec![Issue::new("toy.number", "the port is taken", "")]
}

impl Reconfigure<Toy> for Toys {
    fn check(&self, site: &Toy) -> Vec<Issue> {
        self.0.with(|w| if w.refuse_check == site.toy.number { taken() } else { Vec::new() })
    }

    fn interruptions(&self, site: &Toy) -> Vec<Issue> {
        let ended = format!("{} ends", self.0.running());
        let is_other = site.toy.number != self.0.running();
        is_other.then(|| Issue::new("toy.number", ended, "")).into_iter().collect()
    }

    fn apply(&mut self, site: &Toy) -> Result<(), Vec<Issue>> {
        self.0.with(|w| {
            if w.refuse_all || w.refuse_apply == site.toy.number {
                return Err(taken());
            }
            w.running = site.toy.number;
            Ok(())
        })
    }
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the disk is full")
}

impl Archive for Memory {
    fn list(&self) -> io::Result<Vec<Entry>> {
        Ok(self.0.with(|w| w.entries.clone()))
    }

    fn text(&self, revision: u64) -> io::Result<String> {
        self.0.with(|w| w.texts.get(&revision).cloned()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn keep(&mut self, entry: &Entry, text: &str) -> io::Result<()> {
        self.0.with(|w| {
            if w.refuse_keep {
                return Err(full());
            }
            w.entries.push(entry.clone());
            w.texts.insert(entry.revision, text.into());
            Ok(())
        })
    }

    fn forget(&mut self, revisions: &[u64]) -> io::Result<()> {
        self.0.with(|w| {
            if w.refuse_keep {
                return Err(full());
            }
            w.entries.retain(|entry| !revisions.contains(&entry.revision));
            w.texts.retain(|revision, _| !revisions.contains(revision));
            Ok(())
        })
    }

    fn record(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.with(|w| {
            let known = w.entries.iter_mut().filter(|old| old.revision == entry.revision);
            known.for_each(|old| *old = entry.clone());
            Ok(())
        })
    }

    fn published(&self) -> io::Result<String> {
        Ok(self.0.site_file())
    }

    fn publish(&mut self, text: &str) -> io::Result<()> {
        self.0.with(|w| {
            if w.refuse_publish {
                return Err(full());
            }
            w.site_file = text.into();
            Ok(())
        })
    }
}
