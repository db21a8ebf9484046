//! The running functions of a site, and how a new configuration becomes the running one.
//!
//! A change is a difference: functions that stay take their new section and keep their calls,
//! what is gone ends, what is new starts. It happens as a whole or not at all.

use crate::compose::{Ground, Hindrance, Part};
use crate::pool::Section as PoolSection;
use crate::probe::{probe, refusal};
use crate::site::{Section, Site};
use crate::supervise::Unit;
use config::{Doorway, Issue, Site as _};
use oam::Oam;
use runtime::RuntimeError;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The functions, in the order of the site file, and how long they may drain.
#[derive(Clone, Default)]
pub struct Parts {
    list: Arc<Mutex<Vec<(String, Part)>>>,
    drain_s: Arc<AtomicU32>,
}

impl Parts {
    fn lock(&self) -> MutexGuard<'_, Vec<(String, Part)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Longest time to drain, seconds.
    pub fn drain_s(&self) -> u32 {
        self.drain_s.load(Relaxed)
    }

    /// All of them.
    pub fn units(&self) -> Vec<Arc<dyn Unit>> {
        self.lock().iter().map(|(_, part)| part.unit()).collect()
    }
}

/// What a commit steers.
pub struct Plant {
    site: Site,
    parts: Parts,
    ground: Ground,
    oam: Arc<OnceLock<Weak<Oam>>>,
}

type Refusals = Vec<Issue>;

impl Plant {
    /// Starts every function of a site.
    pub fn start(
        site: &Site,
        ground: Ground,
        oam: Arc<OnceLock<Weak<Oam>>>,
    ) -> Result<Self, Refusals> {
        let (ssc, sgc, rr) = (Vec::new(), Vec::new(), Vec::new());
        let empty = Site { ssc, sgc, rr, sas: None, ..site.clone() };
        let mut plant = Self { site: empty, parts: Parts::default(), ground, oam };
        plant.change(site)?;
        Ok(plant)
    }

    /// The functions.
    pub fn parts(&self) -> Parts {
        self.parts.clone()
    }

    /// Makes the functions those of `site`, or leaves them as they are.
    fn change(&mut self, site: &Site) -> Result<(), Refusals> {
        let site = &site.with_keys(&self.ground.directory)?;
        let sections = site.sections();
        let old = self.parts.lock().clone();
        let wanted = |name: &str| sections.iter().any(|(_, section)| section.name() == name);
        let (stay, gone): (Vec<_>, Vec<_>) = old.iter().cloned().partition(|(n, _)| wanted(n));
        // First what is gone: others may want its addresses.
        for (_, part) in &gone {
            part.end();
        }
        let mut next = Vec::new();
        let done = reconfigure(&stay, &sections)
            .and_then(|()| start_new(&self.ground, &stay, &sections, &mut next));
        if let Err(issues) = done {
            self.undo(&next, &stay, &gone);
            return Err(issues);
        }
        *self.parts.lock() = in_order(stay, next, &sections);
        self.parts.drain_s.store(site.oam.drain_s, Relaxed);
        self.ground.pool.configure(site.pool.as_ref());
        self.site = site.clone();
        self.publish();
        Ok(())
    }

    /// Back to what ran: the new ones end, the others take their old sections, those that ended
    /// start again.
    fn undo(&self, new: &[(String, Part)], stay: &[(String, Part)], gone: &[(String, Part)]) {
        for (_, part) in new {
            part.end();
        }
        let sections = self.site.sections();
        if let Err(issues) = reconfigure(stay, &sections) {
            tracing::error!(target: "site", ?issues, "a function did not take its section back");
        }
        let mut again = Vec::new();
        if !gone.is_empty() {
            if let Err(issues) = start_new(&self.ground, stay, &sections, &mut again) {
                tracing::error!(target: "site", ?issues, "a function did not start again");
            }
            let mut parts = self.parts.lock();
            *parts = in_order(stay.to_vec(), again, &sections);
        }
        self.publish();
    }

    fn publish(&self) {
        let units = self.parts.units();
        let managed = units.into_iter().map(|unit| unit as Arc<dyn oam::Managed>);
        let keeping = self.ground.pool.keeping().map(|keeping| keeping as Arc<dyn oam::Managed>);
        let arbiter = self.ground.arbiter.clone().map(|arbiter| arbiter as Arc<dyn oam::Managed>);
        self.ground.registry.set_functions(managed.chain(keeping).chain(arbiter).collect());
    }

    fn own_doorways(&self) -> Vec<Doorway> {
        self.site.doorways()
    }
}

/// Gives every function that stays its section. Ports may move from one function to another, so
/// that those who were refused are asked again as long as that helps.
fn reconfigure(stay: &[(String, Part)], sections: &[(String, Section)]) -> Result<(), Refusals> {
    let mut waiting: Vec<&(String, Part)> = stay.iter().collect();
    loop {
        let before = waiting.len();
        let mut refused = Vec::new();
        let mut issues = Vec::new();
        for entry in waiting {
            let section = sections.iter().find(|(_, section)| section.name() == entry.0);
            let Some((path, section)) = section else { continue };
            if let Err(hindrance) = entry.1.configure(section) {
                issues.push(issue(path, section, hindrance));
                refused.push(entry);
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        if refused.len() == before {
            return Err(issues);
        }
        waiting = refused;
    }
}

fn start_new(
    ground: &Ground,
    stay: &[(String, Part)],
    sections: &[(String, Section)],
    next: &mut Vec<(String, Part)>,
) -> Result<(), Refusals> {
    // The collector first: others connect to it as soon as they start.
    let (first, then): (Vec<_>, Vec<_>) =
        sections.iter().partition(|(_, section)| matches!(section, Section::Sas(_)));
    for (path, section) in first.into_iter().chain(then) {
        if stay.iter().any(|(name, _)| name == section.name()) {
            continue;
        }
        match Part::start(section, ground) {
            Ok(part) => next.push((section.name().to_owned(), part)),
            Err(error) => return Err(vec![issue(path, section, error.into())]),
        }
    }
    Ok(())
}

fn in_order(
    stay: Vec<(String, Part)>,
    new: Vec<(String, Part)>,
    sections: &[(String, Section)],
) -> Vec<(String, Part)> {
    let place = |name: &str| sections.iter().position(|(_, section)| section.name() == name);
    let mut all: Vec<_> = stay.into_iter().chain(new).collect();
    all.sort_by_key(|(name, _)| place(name));
    all
}

/// Where in the file the runtime's refusal belongs.
fn issue(path: &str, section: &Section, hindrance: Hindrance) -> Issue {
    match hindrance {
        Hindrance::Runtime(RuntimeError::Bind { listen, source, .. }) => {
            let door = doorway_of(path, section, listen);
            refusal(&door, &source)
        }
        Hindrance::Restart(key) => Issue::new(format!("{path}.{key}"), hindrance.to_string(), ""),
        Hindrance::Prepare(why) => Issue::new(path, why, ""),
        Hindrance::Kind => Issue::new(format!("{path}.name"), hindrance.to_string(), ""),
        Hindrance::Runtime(error) => Issue::new(path, error.to_string(), ""),
    }
}

fn doorway_of(path: &str, section: &Section, address: std::net::SocketAddr) -> Doorway {
    let mut site = Site {
        site: crate::site::SiteSection::default(),
        oam: oam::Section { listen: String::new(), ..oam::Section::default() },
        pool: None,
        ssc: Vec::new(),
        sgc: Vec::new(),
        rr: Vec::new(),
        pe: Vec::new(),
        sas: None,
        arbiter: None,
    };
    match section {
        Section::Ssc(ssc) => site.ssc.push((**ssc).clone()),
        Section::Sgc(sgc) => site.sgc.push((**sgc).clone()),
        Section::Rr(rr) => site.rr.push((**rr).clone()),
        Section::Pe(pe) => site.pe.push((**pe).clone()),
        Section::Sas(sas) => site.sas = Some((**sas).clone()),
    }
    let found = site.doorways().into_iter().find(|door| door.address == address);
    let mut door = found.unwrap_or(Doorway { path: String::new(), datagram: false, address });
    // The lone section was number 0 of its kind.
    let first = ["ssc[0]", "sgc[0]", "rr[0]"];
    let rest = first.iter().find_map(|first| door.path.strip_prefix(first));
    door.path = match rest {
        Some(rest) => format!("{path}{rest}"),
        None if door.path.is_empty() => path.to_owned(),
        None => door.path,
    };
    door
}

impl config::Plant<Site> for Plant {
    fn check(&self, site: &Site) -> Vec<Issue> {
        let mut issues = probe(site, &self.ground.directory, &self.own_doorways());
        if site.site.directory != self.site.site.directory {
            let what = "the directory changes only with a restart of the site";
            issues.push(Issue::new("site.directory", what, ""));
        }
        let (old, new) = (self.site.pool.as_ref(), site.pool.as_ref());
        for (was, is) in PoolSection::link(old).into_iter().zip(PoolSection::link(new)) {
            if was != is {
                let hindrance = Hindrance::Restart(was.0).to_string();
                issues.push(Issue::new(format!("pool.{}", was.0), hindrance, ""));
            }
        }
        issues
    }

    fn apply(&mut self, site: &Site) -> Result<(), Vec<Issue>> {
        let before = self.site.clone();
        self.change(site)?;
        let Some(oam) = self.oam.get().and_then(Weak::upgrade) else { return Ok(()) };
        if let Err(error) = oam.configure(&site.oam) {
            if let Err(issues) = self.change(&before) {
                tracing::error!(target: "site", ?issues, "the functions did not come back");
            }
            return Err(vec![Issue::new("oam.listen", error.to_string(), "")]);
        }
        Ok(())
    }
}
