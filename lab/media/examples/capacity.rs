//! Rows of `media-capacity` by themselves, as root: `cargo run --release -p tandem-lab-media
//! --example capacity -- target/release/tandem "Plain RTP, wires"`.

use report::contract::Options;
use std::io::Write;

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut options = Options::of_this_executable(true)?;
    if let Some(tandem) = words.next() {
        options.tandem = std::fs::canonicalize(tandem)?;
    }
    options.scenarios = words.collect();
    let outcome = (media_lab::CAPACITY.run)(&options)?;
    let told = outcome.json(&options, std::time::UNIX_EPOCH);
    Ok(writeln!(std::io::stdout(), "{told}")?)
}
