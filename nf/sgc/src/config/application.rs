//! The keys of applications: which subsystem each serves, where its instances connect, and limits.

use super::Sgc;
use super::sccp::{Dialogues, SubsystemUser};
use authentication::Keys;
use config::{Issue, interrupted, meant};
use m3ua_stack::config::{TCP_PORTS, validate_name};
use machine::Duration;
use runtime::{Address, Carrier, ClientAuth, PortId, PortSpec, StreamSpec, TlsSpec, Transport};
use sccp::codec::Digits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The first port of applications: behind that of the capture.
const FIRST_PORT: u16 = TCP_PORTS + 1;
/// Addresses that applications connect to, at most.
const DOORS_MAX: u16 = 1_000;
/// Instances of an application at most, whatever is configured.
pub(crate) const INSTANCES_MAX: u32 = 1_024;
/// Octets that a connection is given before it has taken those before, and one message: what else
/// waits, waits in its application.
pub(crate) const SOCKET_OCTETS: usize = 1 << 20;
/// Applications at most.
const APPLICATIONS_MAX: usize = 64;
/// What a path of a Unix socket begins with.
const UNIX: &str = "unix:";

/// What becomes of the subsystem while no instance is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    /// It is out of service: those concerned hear SSP, and messages for it come back.
    #[default]
    Prohibited,
    /// It stays in service, and each dialogue that begins is refused.
    Refused,
}

/// Keys and trust of TLS; files are PEM, relative to the site's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain of this side.
    pub certificate: String,
    /// Private key of this side.
    pub key: String,
    /// Certificates that sign those of instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Instances must show a certificate signed by `roots`.
    #[serde(default)]
    pub verify_clients: bool,
}

/// An application: its instances take the dialogues of a subsystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name, unique in the function: what instances greet with.
    pub name: String,
    /// The subsystem of `user = "tcap"` that it serves, by its name.
    pub subsystem: String,
    /// Titles that it may call by: what their digits begin with. Without one it calls by a point
    /// code of the node, or none, and its subsystem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<String>,
    /// How point codes are written in lines of JSON to it: as a number (`4899`), or by their fields
    /// (`"2-100-3"`). Both are read.
    #[serde(default)]
    pub point_codes_as: PointCodesAs,
    /// Where instances connect: `unix:hlr.sock`, relative to the site's directory, its owner's
    /// alone; `tcp:127.0.0.1:7700`; `tls:192.0.2.1:7701`. Beyond this machine a key or a
    /// certificate has to be proved.
    pub listen: Vec<String>,
    /// File with keys, one a line, in the site's directory and its owner's alone: who connects by
    /// TCP or TLS proves with each greeting that it has one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    pub keys: Option<Keys>,
    /// Paths of its Unix sockets, as they are bound.
    #[serde(skip)]
    pub sockets: Vec<PathBuf>,
    /// Keys and trust of TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Groups of instances: dialogues go to the first that can take one; empty: all instances are
    /// one group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// While no instance is there: `prohibited`, the subsystem is out of service; `refused`, it is
    /// in service and refuses what begins.
    #[serde(default)]
    pub absent: Absent,
    /// Instances at most.
    #[serde(default = "instances_max")]
    pub instances_max: u32,
    /// Dialogues at most; one beyond them is refused.
    #[serde(default = "dialogues_max")]
    pub dialogues_max: u32,
    /// Octets that wait for one instance that reads slowly; dialogues that begin have half of them,
    /// and are refused beyond it. At the end of all the instance is closed.
    #[serde(default = "queue_octets_max")]
    pub queue_octets_max: u32,
    /// Octets held of what instances were told and have not answered, in all.
    #[serde(default = "held_octets_max")]
    pub held_octets_max: u32,
    /// How long a dialogue that begins waits for its instance to read before it is aborted,
    /// milliseconds.
    #[serde(default = "wait_ms")]
    pub wait_ms: u32,
    /// How long an instance may take nothing before it counts as slow, milliseconds.
    #[serde(default = "slow_ms")]
    pub slow_ms: u32,
    /// How long dialogues of an instance that was lost wait for another one before they are
    /// aborted, milliseconds.
    #[serde(default = "resume_ms")]
    pub resume_ms: u32,
}

/// How point codes are written for an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PointCodesAs {
    /// As a number.
    #[default]
    Number,
    /// By their fields of 3, 8 and 3 bits.
    Fields,
}

impl From<PointCodesAs> for tcu::PointCodes {
    fn from(it: PointCodesAs) -> Self {
        match it {
            PointCodesAs::Number => Self::Numbers,
            PointCodesAs::Fields => Self::Fields,
        }
    }
}

const fn instances_max() -> u32 {
    16
}
const fn dialogues_max() -> u32 {
    100_000
}
const fn queue_octets_max() -> u32 {
    4 << 20
}
const fn held_octets_max() -> u32 {
    64 << 20
}
const fn wait_ms() -> u32 {
    1_000
}
const fn slow_ms() -> u32 {
    2_000
}
const fn resume_ms() -> u32 {
    2_000
}

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

/// A place where instances connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP or TLS.
    Stream(Address),
}

/// Such a place, with its number and its application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) port: PortId,
    pub(crate) application: String,
    pub(crate) place: Place,
    /// Whether who comes there has to prove that it has a key.
    pub(crate) must_prove: bool,
    /// The shard that reads there.
    pub(crate) shard: u16,
}

/// Whether a port is one of those that applications connect to.
pub(crate) const fn is_door(port: PortId) -> bool {
    port.0 >= FIRST_PORT && port.0 < FIRST_PORT + DOORS_MAX
}

impl Application {
    /// The paths of its Unix sockets as they are written.
    pub fn unix_paths(&self) -> impl Iterator<Item = &str> {
        self.listen.iter().filter_map(|it| it.strip_prefix(UNIX))
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let mut sockets = self.sockets.iter();
        self.listen.iter().filter_map(move |text| match text.strip_prefix(UNIX) {
            // Without a directory, as in a simulation, a path is what is written.
            Some(path) => Some(Place::Unix(sockets.next().cloned().unwrap_or(path.into()))),
            None => text.parse().ok().map(Place::Stream),
        })
    }

    /// What the application's end is.
    pub(crate) fn settings(&self, of: &Sgc, subsystem: u8, shard: u16) -> tcu::Settings {
        let user = of.subsystem.iter().find(|it| it.number == subsystem).map(|it| it.user);
        let ms = |ms: u32| Duration::from_millis(ms.into());
        tcu::Settings {
            name: self.name.clone(),
            function: of.name.clone(),
            subsystem,
            is_network: user == Some(SubsystemUser::Sccp),
            tag: tag_of(subsystem, shard),
            point_codes: of.own_point_codes(),
            shown: self.point_codes_as.into(),
            titles: self.titles.iter().filter_map(|it| Digits::parse(it)).collect(),
            keys: self.keys.clone(),
            groups: self.groups.clone(),
            instances_max: self.instances_max,
            dialogues_max: self.dialogues_max,
            queue_octets_max: self.queue_octets_max,
            held_octets_max: self.held_octets_max,
            wait: ms(self.wait_ms),
            slow: ms(self.slow_ms),
            resume: ms(self.resume_ms),
        }
    }
}

impl Tls {
    fn spec(&self) -> TlsSpec {
        let file = |name: &String| Some(PathBuf::from(name));
        TlsSpec {
            certificate: file(&self.certificate),
            key: file(&self.key),
            roots: self.roots.as_ref().and_then(file),
            client_auth: if self.verify_clients { ClientAuth::Required } else { ClientAuth::Off },
            ..TlsSpec::default()
        }
    }
}

impl Sgc {
    /// The number of the subsystem of an application.
    pub(crate) fn subsystem_of(&self, application: &Application) -> Option<u8> {
        let found = self.subsystem.iter().find(|it| it.name == application.subsystem);
        found.map(|it| it.number)
    }

    /// The places where instances connect.
    pub(crate) fn doors(&self) -> Vec<Door> {
        let mut doors: Vec<Door> = Vec::new();
        for application in &self.application {
            for (at, place) in application.places().enumerate() {
                let text = match &place {
                    Place::Unix(path) => path.display().to_string(),
                    Place::Stream(address) => address.to_string(),
                };
                let is_taken =
                    |port: PortId| doors.iter().any(|it| it.port.0 == FIRST_PORT + port.0);
                let Some(port) = PortId::stable(&text, DOORS_MAX, is_taken) else { continue };
                let port = PortId(FIRST_PORT + port.0);
                let must_prove =
                    matches!(place, Place::Stream(_)) && application.key_file.is_some();
                let shard = self.shard_of(application, at);
                let application = application.name.clone();
                doors.push(Door { port, application, place, must_prove, shard });
            }
        }
        doors
    }

    /// The shard that reads at a place of an application: by its name, and one after the other.
    fn shard_of(&self, application: &Application, place: usize) -> u16 {
        let Some(others) = self.shards.checked_sub(1).filter(|it| *it > 0) else { return 0 };
        let first =
            application.name.bytes().fold(0_usize, |sum, it| sum * 31 % 65_521 + usize::from(it));
        let at = (first + place) % usize::from(others);
        u16::try_from(at + 1).unwrap_or(1)
    }

    /// The places of an application that a shard reads at, as they are written.
    pub(crate) fn listens_at(&self, application: &Application, shard: u16) -> Vec<String> {
        let all = application.listen.iter().enumerate();
        let here = all.filter(|(place, _)| self.shard_of(application, *place) == shard);
        here.map(|(_, text)| text.clone()).collect()
    }

    /// Whether instances of an application connect to a shard.
    pub(crate) fn is_at(&self, application: &Application, shard: u16) -> bool {
        !self.listens_at(application, shard).is_empty()
    }

    /// The shard that reads at a door.
    pub(crate) fn shard_of_door(&self, port: PortId) -> u16 {
        self.doors().iter().find(|it| it.port == port).map_or(0, |it| it.shard)
    }

    /// The ports of those that are no Unix sockets.
    pub(crate) fn application_ports(&self) -> Vec<PortSpec> {
        let spec = |door: Door| {
            let Place::Stream(address) = door.place else { return None };
            let of = self.application.iter().find(|it| it.name == door.application)?;
            let is_tls = address.transport == Transport::Tls;
            let tls = of.tls.as_ref().filter(|_| is_tls).map(|tls| Arc::new(tls.spec()));
            Some(PortSpec {
                id: door.port,
                name: format!("application {}", of.name),
                listen: address.socket,
                carrier: Carrier::Stream(StreamSpec {
                    tls,
                    paced: true,
                    queue_bytes_max: Some(SOCKET_OCTETS),
                    ..StreamSpec::default()
                }),
                ..PortSpec::default()
            })
        };
        self.doors().into_iter().filter_map(spec).collect()
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
            application.validate_numbers(&at, issues);
            for (m, text) in application.listen.iter().enumerate() {
                let at = format!("{at}.listen[{m}]");
                application.validate_place(text, &at, &mut places, issues);
            }
            if application.listen.is_empty() {
                let what = "no instance can connect";
                issues.push(Issue::new(format!("{at}.listen"), what, "write \"unix:NAME.sock\""));
            }
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
        }
    }
}

impl Application {
    fn validate_numbers(&self, at: &str, issues: &mut Vec<Issue>) {
        let checks = [
            ("instances_max", self.instances_max, 1, INSTANCES_MAX),
            ("dialogues_max", self.dialogues_max, 1, 2_000_000),
            ("queue_octets_max", self.queue_octets_max, 131_072, 1 << 30),
            ("held_octets_max", self.held_octets_max, 65_536, 1 << 30),
            ("wait_ms", self.wait_ms, 10, 60_000),
            ("slow_ms", self.slow_ms, 10, 600_000),
            ("resume_ms", self.resume_ms, 0, 600_000),
        ];
        for (key, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                let hint = format!("use {least} to {most}");
                issues.push(Issue::new(format!("{at}.{key}"), what, hint));
            }
        }
        for (n, title) in self.titles.iter().enumerate() {
            if title.is_empty() || Digits::parse(title).is_none() {
                let what = format!("`{title}` is no title");
                let hint = "write 1 to 32 digits, such as \"447800\"";
                issues.push(Issue::new(format!("{at}.titles[{n}]"), what, hint));
            }
        }
        let names = self.groups.iter().enumerate();
        for (n, group) in names.filter(|(_, it)| it.is_empty() || it.len() > 64) {
            let what = format!("`{group}` is no name of a group");
            let hint = "use 1 to 64 characters";
            issues.push(Issue::new(format!("{at}.groups[{n}]"), what, hint));
        }
    }

    fn validate_place(
        &self,
        text: &str,
        at: &str,
        places: &mut Vec<Place>,
        issues: &mut Vec<Issue>,
    ) {
        let place = match text.strip_prefix(UNIX) {
            Some("") => None,
            Some(path) => Some(Place::Unix(path.into())),
            None => {
                let address = text.parse::<Address>().ok();
                address.filter(|it| it.transport.is_stream()).map(Place::Stream)
            }
        };
        let Some(place) = place else {
            let hint = "write unix:NAME.sock, tcp:127.0.0.1:7700 or tls:ADDRESS:PORT";
            let what = format!("`{text}` is no place to connect to");
            return issues.push(Issue::new(at, what, hint));
        };
        if let Place::Stream(address) = &place {
            self.validate_guarded(*address, at, issues);
        }
        if places.contains(&place) {
            let hint = "an application has a place of its own";
            issues.push(Issue::new(at, "this place stands here twice", hint));
        }
        places.push(place);
    }

    /// Beyond this machine nobody is believed without a proof, and TLS has its keys.
    fn validate_guarded(&self, address: Address, at: &str, issues: &mut Vec<Issue>) {
        let is_tls = address.transport == Transport::Tls;
        if is_tls && self.tls.is_none() {
            let hint = "add tls = { certificate = \"…\", key = \"…\" }";
            issues.push(Issue::new(at, "TLS has no keys", hint));
        }
        if is_tls && self.tls.as_ref().is_some_and(|it| it.verify_clients && it.roots.is_none()) {
            let hint = "give roots = \"…\", or leave verify_clients out";
            issues.push(Issue::new(at, "nothing says which certificates are good", hint));
        }
        let shows = is_tls && self.tls.as_ref().is_some_and(|it| it.verify_clients);
        if !address.socket.ip().is_loopback() && self.key_file.is_none() && !shows {
            let what = "whoever reaches this address could be the application";
            let hint = "give key_file, or TLS with verify_clients, or listen on 127.0.0.1";
            issues.push(Issue::new(at, what, hint));
        }
    }
}
