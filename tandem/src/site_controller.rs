//! The running functions of a site, and how a new configuration becomes the running one.
//!
//! A change is a difference: functions that stay take their new section and keep their calls,
//! what is gone ends, what is new starts. It happens as a whole or not at all.

use crate::changes;
use crate::functions::{Handle, ReconfigureError, Section, StartContext};
use crate::probe::probe;
use crate::rights;
use crate::site::Site;
use config::{Issue, ListenAddress, Site as _};
use oam::Oam;
use runtime::RuntimeError;
use services::pool::Section as PoolSection;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use supervise::Unit;

/// A function that runs, and its name.
type NamedHandle = (String, Arc<dyn Handle>);

/// The functions, in the order of the site file, and how long they may drain.
#[derive(Clone, Default)]
pub struct Functions {
    list: Arc<Mutex<Vec<NamedHandle>>>,
    drain_s: Arc<AtomicU32>,
}

impl Functions {
    fn lock(&self) -> MutexGuard<'_, Vec<NamedHandle>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Longest time to drain, seconds.
    pub fn drain_s(&self) -> u32 {
        self.drain_s.load(Relaxed)
    }

    pub fn units(&self) -> Vec<Arc<dyn Unit>> {
        self.lock().iter().map(|(_, part)| part.unit()).collect()
    }
}

/// What a commit steers.
pub struct SiteController {
    site: Site,
    parts: Functions,
    context: StartContext,
    oam: Arc<OnceLock<Weak<Oam>>>,
}

type Refusals = Vec<Issue>;

impl SiteController {
    /// Starts every function of a site.
    pub fn start(
        site: &Site,
        context: StartContext,
        oam: Arc<OnceLock<Weak<Oam>>>,
    ) -> Result<Self, Refusals> {
        let (empty, parts) = (site.without_functions(), Functions::default());
        let mut made = Self { site: empty, parts, context, oam };
        made.change(site)?;
        Ok(made)
    }

    /// The functions.
    pub fn parts(&self) -> Functions {
        self.parts.clone()
    }

    /// Makes the functions those of `site`, or leaves them as they are.
    fn change(&mut self, site: &Site) -> Result<(), Refusals> {
        let sections = site.sections();
        let old = self.parts.lock().clone();
        let wanted = |name: &str| sections.iter().any(|it| it.inner.name() == name);
        let (stay, gone): (Vec<_>, Vec<_>) = old.iter().cloned().partition(|(n, _)| wanted(n));
        // First what is gone: others may want its addresses.
        for (_, part) in &gone {
            part.end();
        }
        let mut next = Vec::new();
        let done = reconfigure(&stay, &sections)
            .and_then(|()| start_new(&self.context, &stay, &sections, &mut next));
        if let Err(issues) = done {
            self.undo(&next, &stay, &gone);
            return Err(issues);
        }
        *self.parts.lock() = in_order(stay, next, &sections);
        self.parts.drain_s.store(site.oam.drain_s, Relaxed);
        self.context.pool.configure(site.pool.as_ref());
        self.site = site.clone();
        self.publish();
        Ok(())
    }

    /// Back to what ran: the new ones end, the others take their old sections, those that ended
    /// start again.
    fn undo(&self, new: &[NamedHandle], stay: &[NamedHandle], gone: &[NamedHandle]) {
        for (_, part) in new {
            part.end();
        }
        let sections = self.site.sections();
        if let Err(issues) = reconfigure(stay, &sections) {
            tracing::error!(target: "site", ?issues, "a function did not take its section back");
        }
        let mut again = Vec::new();
        if !gone.is_empty() {
            if let Err(issues) = start_new(&self.context, stay, &sections, &mut again) {
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
        let keeping = self.context.pool.keeping().map(|keeping| keeping as Arc<dyn oam::Managed>);
        let arbiter = self.context.arbiter.clone().map(|arbiter| arbiter as Arc<dyn oam::Managed>);
        self.context.registry.set_functions(managed.chain(keeping).chain(arbiter).collect());
    }

    fn own_addresses(&self) -> Vec<ListenAddress> {
        self.site.listen_addresses()
    }
}

/// Gives every function that stays its section. Ports may move from one function to another, so
/// that those who were refused are asked again as long as that helps.
fn reconfigure(stay: &[NamedHandle], sections: &[Section<'_>]) -> Result<(), Refusals> {
    let mut waiting: Vec<&NamedHandle> = stay.iter().collect();
    loop {
        let before = waiting.len();
        let mut refused = Vec::new();
        let mut issues = Vec::new();
        for entry in waiting {
            let section = sections.iter().find(|it| it.inner.name() == entry.0);
            let Some(section) = section else { continue };
            if let Err(hindrance) = entry.1.configure(section.inner) {
                issues.push(issue(section, hindrance));
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
    context: &StartContext,
    stay: &[NamedHandle],
    sections: &[Section<'_>],
    next: &mut Vec<NamedHandle>,
) -> Result<(), Refusals> {
    // The collector first: others connect to it as soon as they start.
    let (first, then): (Vec<_>, Vec<_>) = sections.iter().partition(|it| it.inner.starts_first());
    for section in first.into_iter().chain(then) {
        let own = section.inner.name();
        if stay.iter().any(|(name, _)| name == own) {
            continue;
        }
        match section.inner.start(section.key, context) {
            Ok(part) => next.push((own.to_owned(), part)),
            Err(error) => return Err(vec![issue(section, error)]),
        }
    }
    Ok(())
}

fn in_order(
    stay: Vec<NamedHandle>,
    new: Vec<NamedHandle>,
    sections: &[Section<'_>],
) -> Vec<NamedHandle> {
    let place = |name: &str| sections.iter().position(|it| it.inner.name() == name);
    let mut all: Vec<_> = stay.into_iter().chain(new).collect();
    all.sort_by_key(|(name, _)| place(name));
    all
}

/// Where in the file a refusal belongs.
fn issue(section: &Section<'_>, error: ReconfigureError) -> Issue {
    let path = &section.path;
    match error {
        ReconfigureError::Runtime(RuntimeError::Bind { listen, source, .. }) => {
            let mut listens = section.inner.listens().into_iter();
            let listen_address = listens.find(|listen_address| listen_address.address == listen);
            let unnamed = ListenAddress { path: String::new(), datagram: false, address: listen };
            listen_address.unwrap_or(unnamed).refusal(&source).under(path)
        }
        ReconfigureError::Restart(key) => {
            Issue::new(format!("{path}.{key}"), error.to_string(), "")
        }
        ReconfigureError::Load(issue) => issue.under(path),
        ReconfigureError::Kind => Issue::new(format!("{path}.name"), error.to_string(), ""),
        ReconfigureError::Prepare(_) | ReconfigureError::Runtime(_) => {
            Issue::new(path, error.to_string(), "")
        }
    }
}

impl config::Reconfigure<Site> for SiteController {
    fn check(&self, site: &Site) -> Vec<Issue> {
        let mut issues = probe(site, &self.context.directory, &self.own_addresses());
        if site.site.directory != self.site.site.directory {
            let what = "the directory changes only with a restart of the site";
            issues.push(Issue::new("site.directory", what, ""));
        }
        issues.extend(rights::changed(&self.site.site, &site.site));
        issues.extend(changes::refusals(&self.site, site));
        let (old, new) = (self.site.pool.as_ref(), site.pool.as_ref());
        for (was, is) in PoolSection::link(old).into_iter().zip(PoolSection::link(new)) {
            if was != is {
                let hindrance = ReconfigureError::Restart(was.0).to_string();
                issues.push(Issue::new(format!("pool.{}", was.0), hindrance, ""));
            }
        }
        issues
    }

    fn interruptions(&self, site: &Site) -> Vec<Issue> {
        changes::interruptions(&self.site, site)
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
