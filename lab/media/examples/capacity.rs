//! The rows of `media-capacity` on wires by themselves: `cargo run --release -p tandem-lab-media
//! --example capacity`, as root.

use report::contract::Options;
use std::io::Write;

fn main() -> anyhow::Result<()> {
    let mut options = Options::of_this_executable(true)?;
    options.scenarios = std::env::args().skip(1).collect();
    for experiment in media_lab::EXPERIMENTS {
        let outcome = (experiment.run)(&options)?;
        writeln!(std::io::stdout(), "{}", outcome.json(&options, std::time::UNIX_EPOCH))?;
    }
    Ok(())
}
