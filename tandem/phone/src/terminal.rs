//! `tandem lab terminal`: one terminal of short messages, with the S-CSCF before it.

use anyhow::Context;
use clap::Args;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use terminal::{Core, Names};

/// The gateway answers a request within this time, and reports on a message.
const ANSWER_MAX: Duration = Duration::from_secs(35);

/// A terminal that takes short messages in RP (`application/vnd.3gpp.sms`), and the S-CSCF that
/// registers it by a third-party REGISTER.
#[derive(Debug, Args)]
pub struct Terminal {
    /// Where the gateway listens for the core (UDP).
    #[arg(value_parser = crate::command::place)]
    pub gateway: SocketAddr,
    /// The S-CSCF's address: a target of the gateway's next hop.
    #[arg(long, default_value = "127.0.0.1:6060", value_parser = crate::command::place)]
    pub core: SocketAddr,
    /// The terminal's number, with the country code.
    #[arg(long, default_value = "447700900123")]
    pub number: String,
    /// The number of the service centre (`number` of [[ipsmgw]]).
    #[arg(long, default_value = "447700000099")]
    pub centre: String,
    /// The home domain (`domain` of [[ipsmgw]]).
    #[arg(long, default_value = "ims.example.org")]
    pub domain: String,
    /// Send a text; with --to.
    #[arg(long, value_name = "TEXT", requires = "to")]
    pub send: Option<String>,
    /// Whom it is sent to: a number with the country code.
    #[arg(long, value_name = "NUMBER", requires = "send")]
    pub to: Option<String>,
    /// Seconds that it stays registered and takes what comes.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub stay: u64,
    /// Seconds of registration.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub expires: u32,
}

/// Registers, sends, takes what comes, de-registers, and says what happens, a line each.
///
/// # Errors
/// What did not go well.
pub fn run(asked: &Terminal, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    let (centre, domain) = (asked.centre.clone(), asked.domain.clone());
    let names = Names { centre, domain, ..Names::default() };
    let core = Core::open(asked.core, asked.gateway, names);
    let mut used = Used { core: core.with_context(|| no_core(asked.core))?, shown: 0, reported: 0 };
    say(&format!(
        "{} registers at {}, by the S-CSCF at {}",
        asked.number, asked.gateway, asked.core
    ));
    let call_id = used.core.register(&asked.number, asked.expires)?;
    used.answered(&call_id, say).context("it is not registered")?;
    say(&format!("registered for {} s: it takes short messages", asked.expires));
    if let (Some(text), Some(to)) = (&asked.send, &asked.to) {
        say(&format!("it sends {to} a text"));
        let call_id = used.core.submit(&asked.number, to, text)?;
        used.reported_on(&call_id, say)?;
    }
    if asked.stay > 0 {
        say(&format!("it stays for {} s and takes what comes", asked.stay));
        let until = Instant::now() + Duration::from_secs(asked.stay);
        while Instant::now() < until {
            used.turn(say)?;
        }
    }
    let call_id = used.core.register(&asked.number, 0)?;
    used.answered(&call_id, say).context("it is not de-registered")?;
    say("it is registered no more");
    Ok(())
}

/// The core, and how much of what came to the terminal was said.
struct Used {
    core: Core,
    shown: usize,
    reported: u64,
}

impl Used {
    fn turn(&mut self, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        self.core.turn()?;
        for it in self.core.delivered.iter().skip(self.shown) {
            let how = if it.is_plain { "as text/plain" } else { "acknowledged" };
            say(&format!("a text of {}, {how}: {}", it.from, it.text));
        }
        self.shown = self.core.delivered.len();
        for _ in self.reported..self.core.reported {
            say("a report: the text was received");
        }
        self.reported = self.core.reported;
        Ok(())
    }

    /// Takes what comes until something holds; whether it did in time.
    fn until(
        &mut self,
        say: &mut dyn FnMut(&str),
        holds: impl Fn(&Core) -> bool,
    ) -> anyhow::Result<bool> {
        let until = Instant::now() + ANSWER_MAX;
        while !holds(&self.core) && Instant::now() < until {
            self.turn(say)?;
        }
        Ok(holds(&self.core))
    }

    /// Waits for the answer to a REGISTER.
    fn answered(&mut self, call_id: &str, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        self.until(say, |core| core.answered.contains_key(call_id))?;
        match self.core.answered.get(call_id) {
            Some(200) => Ok(()),
            Some(status) => anyhow::bail!("the gateway answers {status}"),
            None => anyhow::bail!(
                "nobody answers at {}: is it an address in `listen` of [[ipsmgw]] (UDP), and does \
                 the site run?",
                self.core.gateway
            ),
        }
    }

    /// Waits for what becomes of a message: a refusal, or the report of the centre.
    fn reported_on(&mut self, call_id: &str, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        let is_refused = |core: &Core| core.answered.get(call_id).is_some_and(|it| *it >= 300);
        self.until(say, |core| {
            let is_over = core.acknowledged.contains(call_id) || core.refused.contains_key(call_id);
            is_over || is_refused(core)
        })?;
        if self.core.acknowledged.contains(call_id) {
            say("the centre has it (RP-ACK)");
            return Ok(());
        }
        match (self.core.refused.get(call_id), self.core.answered.get(call_id)) {
            (Some(why), _) => anyhow::bail!("the centre does not take it: {why}"),
            (None, Some(status)) if *status >= 300 => anyhow::bail!("the gateway answers {status}"),
            _ => anyhow::bail!(
                "no report came to {}: is that a target of the gateway's next hop, and `up`? \
                 (`tandem ctl next-hops`)",
                self.core.own
            ),
        }
    }
}

fn no_core(core: SocketAddr) -> String {
    format!("--core {core}: an address of this machine where nobody listens (UDP) is wanted")
}
