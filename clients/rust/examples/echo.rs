//! Answers every operation with its argument: `echo unix:var/hlr.sock hlr`.

use application::{Address, Program};
use std::env;
use std::thread::sleep;
use std::time::Duration;

fn main() {
    let mut words = env::args().skip(1);
    let (Some(to), Some(name)) = (words.next(), words.next()) else {
        eprintln!("echo ADDRESS APPLICATION");
        std::process::exit(2);
    };
    let to: Address = match to.parse() {
        Ok(to) => to,
        Err(why) => {
            eprintln!("{to}: {why}");
            std::process::exit(2);
        }
    };
    let mut program = Program::new(tcu::Hello::new(&name, "", "echo"));
    loop {
        let why = program.run(&to, &mut tcu::Echo);
        eprintln!("{name}: {why}; again in a second");
        sleep(Duration::from_secs(1));
    }
}
