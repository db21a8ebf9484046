//! What a gateway makes of the keys of applications: which subsystem each serves, and where.

use super::Sgc;
use super::sccp::{Dialogues, SubsystemUser};
use config::{Issue, interrupted, meant};
use m3ua_stack::config::{TCP_PORTS, validate_name};
use runtime::PortId;
use std::collections::BTreeMap;
use tcu_stack::serving::{Application, Place, Section, Served, owns};

/// The first port of applications: behind that of the capture.
pub(crate) const FIRST_PORT: PortId = PortId(TCP_PORTS + 1);
/// Applications at most.
const APPLICATIONS_MAX: usize = 64;

/// The tag of what an application of a subsystem asks for at a shard, above 40 bits.
pub(crate) const fn tag_of(subsystem: u8, shard: u16) -> u64 {
    (subsystem as u64) << 56 | (shard as u64) << 40
}

/// The shard that a tag names.
pub(crate) fn shard_of_tag(tag: u64) -> u16 {
    u16::try_from(tag >> 40 & 0xffff).unwrap_or_default()
}

/// The subsystem whose application has given a tag.
pub(crate) fn subsystem_of_tag(tag: u64) -> u8 {
    u8::try_from(tag >> 56).unwrap_or_default()
}

/// Whether a port is one of those that applications connect to.
pub(crate) const fn is_listener(port: PortId) -> bool {
    owns(FIRST_PORT, port)
}

impl Sgc {
    /// What the stack reads of applications.
    pub(crate) fn serving(&self) -> Section<'_> {
        let (application, shards) = (&*self.application, self.shards);
        Section { application, first_port: FIRST_PORT, shards }
    }

    /// The number of the subsystem of an application.
    pub(crate) fn subsystem_of(&self, application: &Application) -> Option<u8> {
        let found = self.subsystem.iter().find(|it| it.name == application.subsystem);
        found.map(|it| it.number)
    }

    /// What the end of an application is at a shard.
    pub(crate) fn application_settings(
        &self,
        application: &Application,
        subsystem: u8,
        shard: u16,
    ) -> tcu::Settings {
        let user = self.subsystem.iter().find(|it| it.number == subsystem).map(|it| it.user);
        application.settings(Served {
            function: &self.name,
            subsystem,
            is_network: user == Some(SubsystemUser::Sccp),
            tag: tag_of(subsystem, shard),
            point_codes: self.own_point_codes(),
        })
    }

    /// Whether a shard has dialogues of an application: its instances connect there, or it is a
    /// service inside, which every shard with dialogues has.
    pub(crate) fn is_at(&self, application: &Application, shard: u16) -> bool {
        if application.service.is_some() {
            return self.shards == 1 || shard > 0;
        }
        !self.serving().listens_at(application, shard).is_empty()
    }

    /// What becomes of applications when `next` takes the place of this section: a sentence each.
    #[must_use]
    pub fn application_interruptions(&self, next: &Self) -> Vec<Issue> {
        let stays = |it: &&Application| {
            let same = next.application.iter().find(|other| other.name == it.name);
            same.is_some_and(|other| next.subsystem_of(other) == self.subsystem_of(it))
        };
        let gone = self.application.iter().filter(|it| !stays(it)).map(|it| it.name.clone());
        let gone: Vec<String> = gone.collect();
        let verb = "end with their dialogues";
        let said = interrupted("application", "applications", verb, &gone);
        said.into_iter().map(|what| Issue::new("application", what, "")).collect()
    }

    pub(super) fn validate_applications(&self, issues: &mut Vec<Issue>) {
        if self.application.len() > APPLICATIONS_MAX {
            let hint = format!("use {APPLICATIONS_MAX} or fewer");
            issues.push(Issue::new("application", "too many applications", hint));
        }
        let (mut names, mut served) = (BTreeMap::new(), BTreeMap::new());
        let mut places: Vec<Place> = Vec::new();
        for (n, application) in self.application.iter().enumerate() {
            let at = format!("application[{n}]");
            let is_twice = names.insert(&application.name, n).is_some();
            validate_name(&application.name, is_twice, &at, issues);
            self.validate_served(application, &at, issues);
            if served.insert(&application.subsystem, n).is_some() {
                let what = "another application serves this subsystem";
                let hint = "let both be groups of one application";
                issues.push(Issue::new(format!("{at}.subsystem"), what, hint));
            }
            application.validate(&at, &mut places, issues);
        }
    }

    fn validate_served(&self, application: &Application, at: &str, issues: &mut Vec<Issue>) {
        let at = format!("{at}.subsystem");
        let name = &application.subsystem;
        let Some(subsystem) = self.subsystem.iter().find(|it| it.name == *name) else {
            let known = self.subsystem.iter().map(|it| &*it.name);
            let hint = meant(name, known, "add [[sgc.subsystem]] with that name");
            return issues.push(Issue::new(at, format!("there is no subsystem `{name}`"), hint));
        };
        if subsystem.user == SubsystemUser::Echo {
            let what = format!("the subsystem `{name}` has no TCAP");
            let hint = "set its user = \"tcap\", or \"sccp\" for connections and N-UNITDATA";
            issues.push(Issue::new(at, what, hint));
        } else if subsystem.dialogues != Dialogues::default() {
            let what = format!("the subsystem `{name}` echoes its dialogues");
            issues.push(Issue::new(at, what, "leave `dialogues` out there"));
        } else if subsystem.user == SubsystemUser::Sccp && application.service.is_some() {
            let what = format!("the subsystem `{name}` has no TCAP, which a service inside is on");
            issues.push(Issue::new(at, what, "set its user = \"tcap\""));
        }
    }
}
