//! The site file: which sections it has, and what must hold across them.

use crate::keys;
use crate::rights::{self, Capabilities};
use config::{Doorway, Issue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Functions of one site at most.
const FUNCTIONS_MAX: usize = 64;

/// A site: one process, its functions, its management.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The site itself.
    pub site: SiteSection,
    /// Operation and maintenance.
    #[serde(default)]
    pub oam: oam::Section,
    /// The pool of sessions that the controllers share; absent: each has its own limits only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<crate::pool::Section>,
    /// Signalling session controllers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssc: Vec<ssc::config::Ssc>,
    /// Signalling gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sgc: Vec<sgc::config::Sgc>,
    /// Route reflectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rr: Vec<rr::config::Rr>,
    /// Provider edge routers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pe: Vec<pe::config::Pe>,
    /// The service assurance server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sas: Option<sas::config::Sas>,
    /// An arbiter for pairs on other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<crate::arbiter::Section>,
}

/// The site itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteSection {
    /// Its name, for people.
    pub name: String,
    /// Where token, revisions and recordings are kept; relative to the site file's folder.
    pub directory: String,
    /// MiB of memory that are taken before the first function starts and kept: without, a function
    /// that grows under load waits for the machine. Changes with a restart of the site.
    #[serde(default)]
    pub memory_mb: u32,
    /// Let the process leave core files and be looked into by a debugger of its user; without,
    /// its keys and passwords stay in it. Changes with a restart of the site.
    #[serde(default)]
    pub core_dumps: bool,
    /// The user that the process becomes when root starts it, before it opens anything; its
    /// directory is made as this user's. Absent: it stays who started it. Changes with a restart
    /// of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the capabilities that the process kept of root's stay when everything is open:
    /// `keep` or `drop`. Changes with a restart of the site.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Let the kernel refuse the system calls that no network function makes: other processes'
    /// memory, mounts, modules, namespaces, programs (but a router's forwarder). Changes with a
    /// restart of the site.
    #[serde(default = "yes")]
    pub filter_system_calls: bool,
}

const fn yes() -> bool {
    true
}

/// A section that is a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// A signalling session controller.
    Ssc(Box<ssc::config::Ssc>),
    /// A signalling gateway.
    Sgc(Box<sgc::config::Sgc>),
    /// A route reflector.
    Rr(Box<rr::config::Rr>),
    /// A provider edge router.
    Pe(Box<pe::config::Pe>),
    /// The service assurance server.
    Sas(Box<sas::config::Sas>),
}

impl Section {
    /// Name of the function.
    pub fn name(&self) -> &str {
        match self {
            Self::Ssc(ssc) => &ssc.name,
            Self::Sgc(sgc) => &sgc.name,
            Self::Rr(rr) => &rr.name,
            Self::Pe(pe) => &pe.name,
            Self::Sas(sas) => &sas.name,
        }
    }
}

impl Site {
    /// The functions, each with its path in the file.
    pub fn sections(&self) -> Vec<(String, Section)> {
        let sscs = self.ssc.iter().enumerate();
        let sscs =
            sscs.map(|(at, ssc)| (format!("ssc[{at}]"), Section::Ssc(Box::new(ssc.clone()))));
        let sas =
            self.sas.iter().map(|sas| ("sas".to_owned(), Section::Sas(Box::new(sas.clone()))));
        let sgcs = self.sgc.iter().enumerate();
        let sgcs =
            sgcs.map(|(at, sgc)| (format!("sgc[{at}]"), Section::Sgc(Box::new(sgc.clone()))));
        let rrs = self.rr.iter().enumerate();
        let rrs = rrs.map(|(at, rr)| (format!("rr[{at}]"), Section::Rr(Box::new(rr.clone()))));
        let pes = self.pe.iter().enumerate();
        let pes = pes.map(|(at, pe)| (format!("pe[{at}]"), Section::Pe(Box::new(pe.clone()))));
        sscs.chain(sgcs).chain(rrs).chain(pes).chain(sas).collect()
    }

    /// The site with the keys of its files.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn with_keys(&self, directory: &Path) -> Result<Self, Vec<Issue>> {
        let (mut site, mut issues) = (self.clone(), Vec::new());
        let mut read = |path: String, name: &str| {
            keys::passwords(directory, name).unwrap_or_else(|unusable| {
                issues.push(unusable.issue(path));
                Vec::new()
            })
        };
        for (at, ssc) in site.ssc.iter_mut().enumerate() {
            if let Some(name) = &ssc.capture_key_file {
                let keys = read(format!("ssc[{at}].capture_key_file"), name);
                ssc.capture_key = keys.into_iter().next().unwrap_or_default();
            }
        }
        if let Some(sas) = &mut site.sas
            && let Some(name) = &sas.auth_key_file
        {
            sas.auth_keys = read("sas.auth_key_file".to_owned(), name);
        }
        if issues.is_empty() { Ok(site) } else { Err(issues) }
    }

    /// The site's directory, for a site file at `file`.
    pub fn directory(&self, file: &Path) -> PathBuf {
        let folder = file.parent().unwrap_or(Path::new(""));
        folder.join(&self.site.directory)
    }
}

/// Pushes a section's own issues under its path.
fn within(path: &str, issues: &mut Vec<Issue>, validate: impl FnOnce(&mut Vec<Issue>)) {
    let mut own = Vec::new();
    validate(&mut own);
    issues.extend(own.into_iter().map(|issue| issue.under(path)));
}

impl config::Site for Site {
    fn validate(&self, issues: &mut Vec<Issue>) {
        if self.site.name.is_empty() {
            issues.push(Issue::new("site.name", "the name is empty", "give the site a name"));
        }
        if self.site.directory.is_empty() {
            let mend = "write a path, as in `directory = \"var\"`";
            issues.push(Issue::new("site.directory", "the directory is empty", mend));
        }
        rights::validate(self, issues);
        within("oam", issues, |own| self.oam.validate(own));
        if let Some(pool) = &self.pool {
            within("pool", issues, |own| pool.validate(own));
        }
        if let Some(arbiter) = &self.arbiter {
            within("arbiter", issues, |own| arbiter.validate(own));
        }
        let sections = self.sections();
        if sections.len() > FUNCTIONS_MAX {
            let what = format!("{} functions in one site", sections.len());
            let mend = format!("a site has at most {FUNCTIONS_MAX}");
            issues.push(Issue::new("ssc", what, mend));
        }
        for (at, (path, section)) in sections.iter().enumerate() {
            within(path, issues, |own| match section {
                Section::Ssc(ssc) => ssc.validate(own),
                Section::Sgc(sgc) => sgc.validate(own),
                Section::Rr(rr) => rr.validate(own),
                Section::Pe(pe) => pe.validate(own),
                Section::Sas(sas) => sas.validate(own),
            });
            let name = section.name();
            let taken = sections[..at].iter().find(|(_, other)| other.name() == name);
            let own = [oam::core::OAM, crate::pool::POOL, crate::arbiter::ARBITER];
            let reserved = own.contains(&name);
            if let Some((other, _)) = taken {
                let what = format!("the name `{name}` is that of `{other}` already");
                issues.push(Issue::new(format!("{path}.name"), what, "names are unique"));
            } else if reserved {
                let what = format!("the name `{name}` is the management side's own");
                issues.push(Issue::new(format!("{path}.name"), what, "choose another name"));
            }
        }
    }

    fn doorways(&self) -> Vec<Doorway> {
        let mut doorways = Vec::new();
        if let Some(address) = self.oam.address() {
            doorways.push(Doorway { path: "oam.listen".into(), datagram: false, address });
        }
        for (at, ssc) in self.ssc.iter().enumerate() {
            doorways.extend(ssc_doorways(at, ssc));
        }
        for (at, sgc) in self.sgc.iter().enumerate() {
            doorways.extend(sgc_doorways(at, sgc));
        }
        for (at, rr) in self.rr.iter().enumerate() {
            let door = |(path, address)| {
                let path = format!("rr[{at}].{path}");
                Doorway { path, datagram: false, address }
            };
            doorways.extend(rr.doorways().into_iter().map(door));
        }
        if let Some(listen) = self.pool.as_ref().and_then(|pool| pool.listen) {
            doorways.push(Doorway { path: "pool.listen".into(), datagram: true, address: listen });
        }
        if let Some(arbiter) = &self.arbiter {
            let path = "arbiter.listen".into();
            doorways.push(Doorway { path, datagram: true, address: arbiter.listen });
        }
        let listens = self.sas.iter().flat_map(|sas| sas.listen.iter().enumerate());
        for (n, listen) in listens {
            doorways.extend(doorway(format!("sas.listen[{n}]"), listen));
        }
        doorways
    }
}

fn ssc_doorways(at: usize, ssc: &ssc::config::Ssc) -> Vec<Doorway> {
    let mut doorways = Vec::new();
    if let Some(replica) = &ssc.replica {
        let path = format!("ssc[{at}].replica.listen");
        doorways.extend(doorway(path, &format!("udp:{}", replica.listen)));
    }
    for (r, realm) in ssc.realm.iter().enumerate() {
        for (n, listen) in realm.listen.iter().enumerate() {
            doorways.extend(doorway(format!("ssc[{at}].realm[{r}].listen[{n}]"), listen));
        }
    }
    doorways
}

fn sgc_doorways(at: usize, sgc: &sgc::config::Sgc) -> impl Iterator<Item = Doorway> {
    sgc.doorways().into_iter().map(move |(path, datagram, address)| Doorway {
        path: format!("sgc[{at}].{path}"),
        datagram,
        address,
    })
}

/// Reads `udp:127.0.0.1:5060`; what cannot be read, the section itself refuses.
fn doorway(path: String, text: &str) -> Option<Doorway> {
    let (transport, address) = text.split_once(':')?;
    Some(Doorway { path, datagram: transport == "udp", address: address.parse().ok()? })
}
