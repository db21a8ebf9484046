//! The commands of `tandem ctl` in groups, as its help lists them.

use clap::Command;
use std::fmt::Write as _;

/// Names of the groups, and their commands; others stand at the end.
const GROUPS: [(&str, &[&str]); 9] = [
    ("The site", &["site", "wait", "alarms", "counters", "log", "config", "drain"]),
    ("Pairs, pool and keys", &["replica", "track", "switchover", "pool", "reload-certificates"]),
    (
        "Session controllers (SIP)",
        &[
            "calls",
            "terminate",
            "registrations",
            "next-hops",
            "realms",
            "limits",
            "rules",
            "blacklist",
            "pardon",
            "shield",
            "ipsec",
            "ims",
            "reg-events",
        ],
    ),
    ("Media controllers", &["media", "streams"]),
    ("Short message gateways", &["sms", "store"]),
    ("Service assurance", &["trails", "trail", "worst-calls", "capture"]),
    ("Route reflectors (BGP)", &["bgp"]),
    ("Provider edges", &["plane", "igp", "bfd", "ldp", "label", "lsp", "path"]),
    (
        "Signalling gateways (SS7)",
        &["m3ua", "sccp", "gtt", "tcap", "applications", "sctp", "screening", "cluster"],
    ),
];

/// The command line whose help of `ctl` has its commands in groups.
pub fn grouped(command: Command) -> Command {
    command.mut_subcommand("ctl", |ctl| {
        let list = listed(&ctl);
        let template = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}\
            Options:\n{options}\n";
        ctl.before_help(list.clone()).before_long_help(list).help_template(template)
    })
}

fn listed(ctl: &Command) -> String {
    let commands = || ctl.get_subcommands().filter(|it| !it.is_hide_set());
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, own)| own.contains(&name));
    let others: Vec<&str> =
        commands().map(Command::get_name).filter(|name| !is_grouped(name)).collect();
    let width = commands().map(|it| it.get_name().len()).max().unwrap_or(0);
    let mut out = String::new();
    for (title, own) in GROUPS.iter().copied().chain([("Others", &*others)]) {
        let own = own.iter().filter_map(|name| commands().find(|it| it.get_name() == *name));
        let lines: Vec<String> = own.map(|it| line(it, width)).collect();
        if !lines.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(out, "{title}:\n{}\n", lines.concat());
        }
    }
    out
}

fn line(command: &Command, width: usize) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("  {:<width$}  {about}\n", command.get_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::functions::ROWS;
    use clap::CommandFactory as _;

    #[test]
    fn the_help_of_ctl_has_each_command_once_in_its_group() {
        let mut whole = grouped(Cli::command());
        whole.build();
        let ctl = whole.find_subcommand_mut("ctl").unwrap();
        for help in [ctl.render_help().to_string(), ctl.render_long_help().to_string()] {
            for (title, own) in GROUPS {
                assert!(help.contains(&format!("{title}:\n")), "{title}: {help}");
                for name in own {
                    let lines = help.lines().filter(|it| it.starts_with(&format!("  {name}  ")));
                    assert_eq!(lines.count(), 1, "{name}: {help}");
                }
            }
            assert!(help.contains("--site") && help.contains("Usage:"), "{help}");
        }
    }

    #[test]
    fn the_words_of_every_kind_stand_in_a_group() {
        let is_grouped = |word: &String| GROUPS.iter().any(|(_, own)| own.contains(&word.as_str()));
        for row in ROWS.iter().filter(|row| row.key != "echo") {
            let others: Vec<String> =
                (row.commands)().into_iter().filter(|it| !is_grouped(it)).collect();
            assert_eq!(others, Vec::<String>::new(), "{}", row.key);
        }
    }
}
