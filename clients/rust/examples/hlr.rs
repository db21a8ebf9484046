//! An HLR whose subscribers are the rows of a CSV file, msisdn,imsi,msc,msrn:
//! `hlr unix:var/hlr.sock subscribers.csv`. The same service runs inside a gateway, without a
//! connection: `service = "hlr"`, `file = "subscribers.csv"`, and `allowed`, who may ask.

use application::{Address, Program};
use std::env;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;
use tcu::{Hello, Hlr, Subscribers};

fn read(to: &str, file: &str) -> Result<(Address, Subscribers), String> {
    let to = to.parse().map_err(|why| format!("{to}: {why}"))?;
    let text = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let read = Subscribers::parse(&text);
    Ok((to, read.map_err(|it| format!("{file}, line {}: {}", it.line, it.what))?))
}

fn main() {
    let mut words = env::args().skip(1);
    let (Some(to), Some(file)) = (words.next(), words.next()) else {
        eprintln!("hlr ADDRESS FILE");
        std::process::exit(2);
    };
    let (to, subscribers) = read(&to, &file).unwrap_or_else(|why| {
        eprintln!("{why}");
        std::process::exit(2);
    });
    eprintln!("{} subscribers", subscribers.len());
    // Whom its gateway lets ask.
    let mut hlr = Hlr::new(Arc::new(subscribers), &["*".to_owned()]);
    let mut program = Program::new(Hello::new("hlr", "", "rust"));
    loop {
        eprintln!("hlr: {}; again in a second", program.run(&to, &mut hlr));
        sleep(Duration::from_secs(1));
    }
}
