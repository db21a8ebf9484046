//! The keys of an application: which subsystem it serves, where its instances connect, and limits.

use super::UNIX;
use authentication::Keys;
use m3ua::codec::PointCode;
use machine::Duration;
use runtime::{ClientAuth, TlsSpec};
use sccp::codec::Digits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tcu::{Echo, Hlr, Monitor, Service, Subscribers};

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

/// A service of the gateway itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Inside {
    /// Ends each dialogue that begins, each operation with its argument as its result.
    Echo,
    /// An HLR whose subscribers are those of `file`: sendRoutingInfoForSM and sendRoutingInfo, in
    /// version 3 of their contexts.
    Hlr,
    /// A gsmSCF that lets calls go on, and monitors their answer and their release.
    Monitor,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    /// In the place of instances, a service inside this node: `hlr`, `monitor` or `echo`. No
    /// connection is between it and TCAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Inside>,
    /// The subscribers of `service = "hlr"`: a file of comma-separated values in the site's
    /// directory, whose first line names its columns: `msisdn,imsi,msc,msrn`. It is read again with
    /// every commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Digits with one of which the calling titles of those begin who may ask `service = "hlr"`,
    /// `*` for anybody; empty: nobody may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Those of that file.
    #[serde(skip)]
    pub subscribers: Arc<Subscribers>,
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

/// What a function knows of an application beside its section.
#[derive(Debug, Clone)]
pub struct Served<'a> {
    /// The name of the function.
    pub function: &'a str,
    /// The number of the subsystem.
    pub subsystem: u8,
    /// The subsystem has no TCAP: connections and N-UNITDATA are its own.
    pub is_network: bool,
    /// What the tags of connections that it asks for begin with, above 40 bits.
    pub tag: u64,
    /// The point codes of the node.
    pub point_codes: Vec<PointCode>,
}

impl Application {
    /// The paths of its Unix sockets as they are written.
    pub fn unix_paths(&self) -> impl Iterator<Item = &str> {
        self.listen.iter().filter_map(|it| it.strip_prefix(UNIX))
    }

    /// The service that it has inside the gateway.
    #[must_use]
    pub fn inside(&self) -> Option<Box<dyn Service + Send>> {
        Some(match self.service? {
            Inside::Echo => Box::new(Echo),
            Inside::Hlr => Box::new(Hlr::new(Arc::clone(&self.subscribers), &self.allowed)),
            Inside::Monitor => Box::new(Monitor),
        })
    }

    /// What its end at the gateway is.
    #[must_use]
    pub fn settings(&self, of: Served<'_>) -> tcu::Settings {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        tcu::Settings {
            name: self.name.clone(),
            function: of.function.to_owned(),
            subsystem: of.subsystem,
            is_network: of.is_network,
            tag: of.tag,
            point_codes: of.point_codes,
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
    /// What a port is opened with.
    pub(crate) fn spec(&self) -> TlsSpec {
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
