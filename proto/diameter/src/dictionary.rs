//! What is known: the applications that a node speaks, their commands and AVPs by number and name.

use crate::codec::{Header, ResultCode};
use crate::row::{Application, Command, Kind, Member, Row};
use crate::rows::base;
use std::collections::BTreeMap;

/// AVPs that a command or a group lists at most.
pub(crate) const MEMBERS_MAX: usize = 64;

/// Applications with their rows. The base protocol is always one of them.
#[derive(Debug, Clone)]
pub struct Dictionary {
    applications: Vec<&'static Application>,
    /// By vendor and code, in order.
    rows: Vec<(u64, &'static Row)>,
    names: BTreeMap<&'static str, &'static Row>,
    /// By application and code, in order.
    commands: Vec<(u64, &'static Command)>,
}

const fn key(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

impl Default for Dictionary {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Dictionary {
    /// The applications of this crate, and others beside them: rows of a function's own.
    ///
    /// # Panics
    /// A group or command of the rows lists more AVPs than the check counts.
    #[must_use]
    pub fn new(more: &[&'static Application]) -> Self {
        let applications: Vec<_> = crate::rows::APPLICATIONS.iter().chain(more).copied().collect();
        let mut found = BTreeMap::new();
        for application in &applications {
            for command in application.commands {
                gather(command.asks, &mut found);
                gather(command.answers, &mut found);
            }
        }
        gather(base::ERROR, &mut found);
        let every = [base::AVPS, crate::rows::cx::AVPS, crate::rows::sh::AVPS];
        for row in every.into_iter().flatten() {
            found.insert(key(row.vendor, row.code), *row);
        }
        let mut commands: Vec<_> = applications
            .iter()
            .flat_map(|it| it.commands.iter().map(|command| (key(it.id, command.code), *command)))
            .collect();
        commands.sort_by_key(|it| it.0);
        let names = found.values().map(|row| (row.name, *row)).collect();
        Self { applications, rows: found.into_iter().collect(), names, commands }
    }

    /// Its applications.
    #[must_use]
    pub fn applications(&self) -> &[&'static Application] {
        &self.applications
    }

    /// Its AVPs, by vendor and code.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> + '_ {
        self.rows.iter().map(|(_, row)| *row)
    }

    /// The AVP of a code.
    #[must_use]
    pub fn row(&self, vendor: u32, code: u32) -> Option<&'static Row> {
        let key = key(vendor, code);
        let at = self.rows.binary_search_by_key(&key, |it| it.0).ok()?;
        Some(self.rows[at].1)
    }

    /// The AVP of a name.
    #[must_use]
    pub fn row_named(&self, name: &str) -> Option<&'static Row> {
        self.names.get(name).copied()
    }

    /// The application of an Application-ID.
    #[must_use]
    pub fn application(&self, id: u32) -> Option<&'static Application> {
        self.applications.iter().find(|it| it.id == id).copied()
    }

    /// The application of that name.
    #[must_use]
    pub fn application_named(&self, name: &str) -> Option<&'static Application> {
        self.applications.iter().find(|it| it.name == name).copied()
    }

    /// The command of a message: of its application, or one of the base protocol that every
    /// application has (RFC 6733 §8, §9).
    ///
    /// # Errors
    /// The application is not known, or it has no such command.
    pub fn command(&self, header: &Header) -> Result<&'static Command, ResultCode> {
        if self.application(header.application).is_none() {
            return Err(ResultCode::ApplicationUnsupported);
        }
        let find = |application| {
            let key = key(application, header.command);
            let at = self.commands.binary_search_by_key(&key, |it| it.0).ok()?;
            Some(self.commands[at].1)
        };
        let shared = || find(0).filter(|command| command.proxiable);
        let accounting = || find(base::ACCOUNTING.id);
        let found = find(header.application).or_else(shared).or_else(accounting);
        found.ok_or(ResultCode::CommandUnsupported)
    }

    /// The name of a value of Experimental-Result-Code in an application.
    #[must_use]
    pub fn experimental_result(&self, application: u32, code: u32) -> Option<&'static str> {
        let results = self.application(application)?.results;
        results.iter().find(|it| it.0 == code).map(|it| it.1)
    }
}

/// All AVPs that members name, those within groups included.
fn gather(members: &'static [Member], found: &mut BTreeMap<u64, &'static Row>) {
    assert!(members.len() <= MEMBERS_MAX, "a command or group lists {} AVPs", members.len());
    for member in members {
        let row = member.row;
        let is_new = found.insert(key(row.vendor, row.code), row).is_none();
        if let (true, Kind::Grouped(inner)) = (is_new, &row.kind) {
            gather(inner, found);
        }
    }
}
