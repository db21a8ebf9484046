//! `tandem ctl`: a running site, seen and steered through its API.

mod bgp;
mod client;
mod configuration;
mod plane;
mod show;
mod signalling;

use crate::cli::{Ctl, CtlCommand};
use crate::exit::Exit;
use crate::output;
use client::Client;
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two looks whether the site serves.
const LOOK: Duration = Duration::from_millis(100);

/// Carries a command out.
pub fn ctl(ctl: Ctl) -> Result<(), Exit> {
    if matches!(ctl.command, CtlCommand::Wait) {
        return wait(&ctl);
    }
    let client = Client::new(&ctl)?;
    let form = ctl.output;
    match ctl.command {
        CtlCommand::Wait => Ok(()),
        CtlCommand::Site => show::site(&client, form),
        CtlCommand::Calls(of) => show::asked(&client, form, of.function, "calls", show::CALLS),
        CtlCommand::Registrations(of) => {
            show::asked(&client, form, of.function, "registrations", show::REGISTRATIONS)
        }
        CtlCommand::NextHops(of) => {
            show::asked(&client, form, of.function, "next-hops", show::NEXT_HOPS)
        }
        CtlCommand::Realms(of) => show::asked(&client, form, of.function, "realms", show::REALMS),
        CtlCommand::Limits(of) => show::asked(&client, form, of.function, "limits", show::LIMITS),
        CtlCommand::Pool(of) => show::asked(&client, form, of.function, "pool", show::POOL),
        CtlCommand::Blacklist(of) => {
            show::asked(&client, form, of.function, "blacklist", show::BLACKLIST)
        }
        CtlCommand::Shield(of) => show::asked(&client, form, of.function, "shield", show::SHIELD),
        CtlCommand::Pardon { function, address } => {
            let path = format!("/api/v1/functions/{}/blacklist/clear", client::segment(&function));
            let whom = address.map_or_else(|| json!({}), |address| json!({ "address": address }));
            output::text(&output::json(&client.post(&path, &whom)?))
        }
        CtlCommand::Rules(of) => show::asked(&client, form, of.function, "rules", show::RULES),
        CtlCommand::Replica(of) => {
            show::asked(&client, form, of.function, "replica", show::REPLICA)
        }
        CtlCommand::Switchover { function } => {
            let path = format!("/api/v1/functions/{}/switchover", client::segment(&function));
            output::text(&output::json(&client.post(&path, &json!({}))?))
        }
        CtlCommand::Terminate { function, call } => {
            let path = format!("/api/v1/functions/{}/calls/terminate", client::segment(&function));
            let answer = client.post(&path, &json!({ "id": call }))?;
            output::text(&output::json(&answer))
        }
        CtlCommand::ReloadCertificates { function } => {
            let name = client::segment(&function);
            let path = format!("/api/v1/functions/{name}/certificates/reload");
            let answer = client.post(&path, &json!({}))?;
            output::text(&output::json(&answer))
        }
        CtlCommand::Sctp { command } => signalling::sctp(&client, form, command),
        CtlCommand::M3ua { command } => signalling::m3ua(&client, form, command),
        CtlCommand::Bgp { command } => bgp::bgp(&client, form, command),
        CtlCommand::Plane { command } => plane::plane(&client, form, command),
        CtlCommand::Counters { name, function, all } => {
            show::counters(&client, form, name, function, all)
        }
        CtlCommand::Alarms { history } => show::alarms(&client, form, history),
        CtlCommand::Trails(trails) => show::trails(&client, form, &trails),
        CtlCommand::Trail { id } => show::trail(&client, form, &id),
        CtlCommand::Config(command) => configuration::config(&client, form, command),
        CtlCommand::Drain => client.post("/api/v1/drain", &json!({})).map(drop),
        CtlCommand::Log { filter } => log(&client, filter),
    }
}

fn log(client: &Client, filter: Option<String>) -> Result<(), Exit> {
    let answer = match filter {
        Some(filter) => client.put("/api/v1/log", &json!({ "filter": filter }))?,
        None => client.get("/api/v1/log")?,
    };
    let filter = answer["filter"].as_str().unwrap_or_default();
    output::text(&format!("{filter}\n"))
}

/// Waits until every function runs. A site that starts may not have told its address yet, so
/// that it is looked up each time.
fn wait(ctl: &Ctl) -> Result<(), Exit> {
    let limit = Duration::from_secs(ctl.timeout);
    let until = Instant::now() + limit;
    let mut last = String::from("it was never asked");
    while Instant::now() < until {
        match Client::new(ctl)?.get("/readyz") {
            Ok(_) => return Ok(()),
            Err(Exit::Unreachable(why) | Exit::Failed(why) | Exit::TimedOut(why)) => last = why,
            Err(other) => return Err(other),
        }
        thread::sleep(LOOK);
    }
    Err(Exit::TimedOut(format!("the site does not serve after {} s: {last}", limit.as_secs())))
}
