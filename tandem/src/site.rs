//! The site file: which sections it has, and what must hold across them.

use crate::anchored;
use crate::functions::{Section, Sections, functions};
use crate::rights::{self, Capabilities};
use config::keys;
use config::{Issue, ListenAddress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Functions of one site at most.
const FUNCTIONS_MAX: usize = 64;
/// Folder in the site's directory with the tokens.
pub const TOKENS: &str = "tokens";
/// Folder in the site's directory with the kept revisions.
pub const REVISIONS: &str = "config";

macro_rules! site {
    ($($(#[$doc:meta])* $key:ident: $sections:ident<$section:ty>,)*) => {
        /// A site: one process, its functions, its management.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Site {
            /// The site itself.
            pub site: SiteSection,
            /// Operation and maintenance.
            #[serde(default)]
            pub oam: oam::Section,
            /// The pool of sessions that the controllers share; absent: each has its own limits
            /// only.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub pool: Option<services::pool::Section>,
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Sections::is_absent")]
                pub $key: $sections<$section>,
            )*
            /// An arbiter for pairs on other machines.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub arbiter: Option<services::arbiter::Section>,
        }

        impl Site {
            /// The functions, row by row.
            pub fn sections(&self) -> Vec<Section<'_>> {
                let mut all = Vec::new();
                $(self.$key.list(stringify!($key), &mut all);)*
                all
            }

            /// The site without its functions.
            pub fn without_functions(&self) -> Self {
                Self { $($key: Default::default(),)* ..self.clone() }
            }
        }
    };
}
functions!(site);

/// The site itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteSection {
    /// Its name, for people.
    pub name: String,
    /// Where token, revisions and recordings are kept, and to which all other paths of this file
    /// are relative; itself relative to the site file's folder.
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
    /// directory is made as this user's. Absent: it stays who started it, but root becomes the
    /// owner of a file that is another's. Changes with a restart of the site.
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

impl Site {
    /// The site's directory, for a site file at `file`.
    pub fn directory(&self, file: &Path) -> PathBuf {
        let folder = file.parent().unwrap_or(Path::new(""));
        folder.join(&self.site.directory)
    }

    /// The file with the first token, in the site's directory unless `oam.token_file` is a whole
    /// path.
    pub fn token_file(&self, directory: &Path) -> PathBuf {
        keys::located(directory, self.oam.token_file.as_deref().unwrap_or("token"))
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
            let hint = "write a path, as in `directory = \"var\"`";
            issues.push(Issue::new("site.directory", "the directory is empty", hint));
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
            let hint = format!("a site has at most {FUNCTIONS_MAX}");
            issues.push(Issue::new("ssc", what, hint));
        }
        for (at, Section { path, inner, .. }) in sections.iter().enumerate() {
            within(path, issues, |own| inner.validate(own));
            let name = inner.name();
            let taken = sections[..at].iter().find(|other| other.inner.name() == name);
            let own = [oam::core::OAM, services::pool::POOL, services::arbiter::ARBITER];
            let reserved = own.contains(&name);
            if let Some(Section { path: other, .. }) = taken {
                let what = format!("the name `{name}` is that of `{other}` already");
                issues.push(Issue::new(format!("{path}.name"), what, "names are unique"));
            } else if reserved {
                let what = format!("the name `{name}` is the management side's own");
                issues.push(Issue::new(format!("{path}.name"), what, "choose another name"));
            }
        }
        anchored::validate(&self.ssc, &self.msc, issues);
    }

    fn listen_addresses(&self) -> Vec<ListenAddress> {
        let mut addresses = Vec::new();
        if let Some(address) = self.oam.address() {
            addresses.push(ListenAddress { path: "oam.listen".into(), datagram: false, address });
        }
        for section in self.sections() {
            let under = |listen_address: ListenAddress| ListenAddress {
                path: format!("{}.{}", section.path, listen_address.path),
                ..listen_address
            };
            addresses.extend(section.inner.listens().into_iter().map(under));
        }
        if let Some(listen) = self.pool.as_ref().and_then(|pool| pool.listen) {
            addresses.push(ListenAddress {
                path: "pool.listen".into(),
                datagram: true,
                address: listen,
            });
        }
        if let Some(arbiter) = &self.arbiter {
            let path = "arbiter.listen".into();
            addresses.push(ListenAddress { path, datagram: true, address: arbiter.listen });
        }
        addresses
    }
}
