//! The rows as tables of a page.

use crate::codec::ResultCode;
use crate::dictionary::Dictionary;
use crate::row::{Kind, Mandatory, Member};
use core::fmt::Write as _;

/// Values of an Enumerated that are written out.
const VALUES_MAX: usize = 8;

impl Dictionary {
    /// Markdown: applications, commands with their AVPs, AVPs, result codes.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = String::new();
        self.applications_table(&mut text);
        self.commands_table(&mut text);
        self.avps_table(&mut text);
        self.results_table(&mut text);
        text
    }

    fn applications_table(&self, text: &mut String) {
        push(text, "## Applications\n\n| application | number | vendor | commands | where |");
        push(text, "|---|---|---|---|---|");
        for it in self.applications() {
            let commands: Vec<_> =
                it.commands.iter().map(|it| format!("{}/{}", it.request, it.answer)).collect();
            let (name, id, vendor, spec) = (it.name, it.id, it.vendor, it.spec);
            let commands = commands.join(", ");
            push(text, &format!("| {name} | {id} | {vendor} | {commands} | {spec} |"));
        }
    }

    fn commands_table(&self, text: &mut String) {
        push(text, "\n## Commands\n\n`<AVP>` stands first, `{AVP}` once, `[AVP]` once or not at");
        push(text, "all, a star in front: any number of times. Any other AVP may follow.\n");
        push(text, "| command | number | AVPs | where |\n|---|---|---|---|");
        for application in self.applications() {
            for it in application.commands {
                for (name, members) in [(it.request, it.asks), (it.answer, it.answers)] {
                    let (code, spec) = (it.code, it.spec);
                    let application = application.name;
                    let members = grammar(members);
                    push(text, &format!("| {application} {name} | {code} | {members} | {spec} |"));
                }
            }
        }
    }

    fn avps_table(&self, text: &mut String) {
        push(text, "\n## AVPs\n\n| AVP | vendor | code | M | type | where |");
        push(text, "|---|---|---|---|---|---|");
        for row in self.rows() {
            let must = match row.mandatory {
                Mandatory::Must => "must",
                Mandatory::May => "may",
                Mandatory::MustNot => "must not",
            };
            let (name, vendor, code, spec) = (row.name, row.vendor, row.code, row.spec);
            let kind = kind(&row.kind);
            push(text, &format!("| {name} | {vendor} | {code} | {must} | {kind} | {spec} |"));
        }
    }

    fn results_table(&self, text: &mut String) {
        push(text, "\n## Result codes\n\n| code | name | where |\n|---|---|---|");
        for it in ResultCode::ALL {
            push(text, &format!("| {} | {} | {} |", it.number(), it.name(), it.spec()));
        }
        push(text, "\nBeside them values of Experimental-Result-Code:\n");
        push(text, "| application | code | name | where |\n|---|---|---|---|");
        for it in self.applications() {
            for (code, name, spec) in it.results {
                push(text, &format!("| {} | {code} | {name} | {spec} |", it.name));
            }
        }
    }
}

fn push(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes whatever is written");
}

fn grammar(members: &[Member]) -> String {
    let words = members.iter().map(|it| {
        let name = it.row.name;
        match (it.is_fixed, it.min, it.max) {
            (true, ..) => format!("`<{name}>`"),
            (_, 0, 1) => format!("`[{name}]`"),
            (_, 0, _) => format!("`*[{name}]`"),
            (_, _, 1) => format!("`{{{name}}}`"),
            (_, least, _) => format!("`{least}*{{{name}}}`"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Grouped(members) => format!("Grouped: {}", grammar(members)),
        Kind::Enumerated(values) => {
            let mut words: Vec<_> = values
                .iter()
                .take(VALUES_MAX)
                .map(|(number, name)| format!("{number} {name}"))
                .collect();
            if values.len() > VALUES_MAX {
                words.push(format!("{} more", values.len() - VALUES_MAX));
            }
            format!("Enumerated: {}", words.join(", "))
        }
        other => other.name().to_owned(),
    }
}
