//! `tandem lab`: the published tables, rerun.

use crate::cli::{Demo, Lab, LabCommand};
use crate::exit::Exit;
use crate::output;
use experiments::Options;

/// Lists or runs experiments.
pub fn lab(lab: Lab) -> Result<(), Exit> {
    match lab.command {
        LabCommand::List => list(),
        LabCommand::Run { name, quick, json, scenarios, output } => {
            let known = experiments::list().iter().any(|experiment| experiment.name == name);
            if !known {
                let what = format!("no experiment is called `{name}`; see `tandem lab list`");
                return Err(Exit::Usage(what));
            }
            let options = Options { scenarios, output, ..Options::of_this_executable(quick)? };
            let outcome = experiments::run(&name, &options)?;
            let printed = if json { format!("{}\n", outcome.json()) } else { outcome.table() };
            output::text(&printed)?;
            if outcome.held() {
                return Ok(());
            }
            Err(Exit::Failed(format!("{} checks did not hold", outcome.broken.len())))
        }
    }
}

fn list() -> Result<(), Exit> {
    let name = |experiment: &experiments::Experiment| experiment.name.len();
    let width = experiments::list().iter().map(name).max().unwrap_or_default();
    let line = |e: &experiments::Experiment| format!("{:width$}  {}\n", e.name, e.line);
    output::text(&experiments::list().iter().map(line).collect::<String>())
}

/// Shows live calls in the console.
pub fn demo(demo: &Demo) -> Result<(), Exit> {
    let tandem = std::env::current_exe()?;
    let right = experiments::demo::run(&experiments::demo::Options { tandem, once: demo.once })?;
    if right { Ok(()) } else { Err(Exit::Failed("not everything went as it should".into())) }
}
