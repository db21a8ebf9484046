//! `tandem lab phone`: one phone of IMS that a person registers and calls with.
#![forbid(unsafe_code)]

pub mod command;

use anyhow::Context;
use command::Phone;
use handset::{Config, Home, HomeCounts, HomeServer, State, Subscriber, Terminal};
use secagree::{Mode, Preference};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A P-CSCF finds a home that was not there before, and how often that is tried.
const FOUND_MAX: Duration = Duration::from_secs(45);
const AGAIN: Duration = Duration::from_secs(5);

/// Registers, calls, stays, de-registers, and says what happens, a line each.
///
/// # Errors
/// What did not go well.
pub fn run(asked: &Phone, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    let own = asked.pcscf.ip();
    anyhow::ensure!(asked.address != own, "--address {own} is the P-CSCF's: give another one");
    let mut terminal = open(asked)?;
    let name = terminal.handset().config().subscriber.impi.clone();
    say(&format!("{name} registers at {}", asked.pcscf));
    let mut late = || say(&format!("nobody has answered at {} yet (UDP)", asked.pcscf));
    let mut registered = terminal.register_saying(&mut late);
    let until = Instant::now() + FOUND_MAX;
    while registered.is_err() && was_asked(&terminal) == Some(false) && Instant::now() < until {
        say("the P-CSCF has perhaps not found its home yet: it tries again");
        terminal.serve(AGAIN);
        registered = terminal.register();
    }
    registered.with_context(|| hint(&terminal))?;
    say(&agreed(&terminal));
    if let Some(to) = &asked.call {
        say(&format!("it calls {to}"));
        let called = terminal.call(to, Duration::from_secs(asked.talk));
        let called = called.context("the call failed")?;
        let statuses: Vec<String> = called.statuses.iter().map(u16::to_string).collect();
        say(&format!("answered ({}), and over", statuses.join(", ")));
    }
    if asked.stay > 0 {
        say(&format!("it stays for {} s and answers whoever calls", asked.stay));
        terminal.serve(Duration::from_secs(asked.stay));
        let taken = terminal.taken();
        say(&format!("{taken} {} answered", if taken == 1 { "call" } else { "calls" }));
    }
    terminal.deregister().context("it is not de-registered")?;
    say("it is registered no more");
    Ok(())
}

/// Whether the home that it plays was asked anything; it plays none: `None`. What fails after that
/// fails again.
fn was_asked(terminal: &Terminal) -> Option<bool> {
    terminal.home().map(|home| home.counts() != HomeCounts::default())
}

/// Where to look when it is not registered.
fn hint(terminal: &Terminal) -> &'static str {
    match terminal.handset().state() {
        State::Failed(handset::NOT_BELIEVED) => {
            "it is not registered: K or OPc of its card and of its home are not the same (--k, \
             --opc, --home-k)"
        }
        State::Refused(408 | 503) if was_asked(terminal) == Some(false) => {
            "it is not registered: the P-CSCF has answered itself, and asked its home nothing \
             (`tandem ctl next-hops` says whether it is found there)"
        }
        State::Refused(503) if was_asked(terminal) == Some(true) => {
            "it is not registered: the P-CSCF has answered itself, for its home answers no 503; \
             there are as many registrations as may be (`tandem ctl ims explain`)"
        }
        State::Refused(420) => {
            "it is not registered: the address understands no security agreement; it is of a realm \
             without [ssc.realm.ipsec], of the core perhaps"
        }
        State::Refused(503) => {
            "it is not registered: nobody took its REGISTER on (`tandem ctl next-hops`), or there \
             are as many registrations as may be (`tandem ctl ims explain`)"
        }
        State::Failed("nobody answers") => {
            "it is not registered: is the P-CSCF at that address and port, and does it run?"
        }
        _ => "it is not registered (`tandem ctl ims explain` says more)",
    }
}

fn open(asked: &Phone) -> anyhow::Result<Terminal> {
    let domain = asked.domain();
    let own = |given: &Option<String>, usual: String| given.clone().unwrap_or(usual);
    let subscriber = Subscriber {
        impi: own(&asked.impi, format!("{}@{domain}", asked.imsi)),
        impu: own(&asked.impu, format!("sip:{}@{domain}", asked.imsi)),
        realm: domain,
        k: asked.k,
        opc: asked.opc,
    };
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos() as u64);
    let home = match asked.home {
        None => None,
        Some(listen) => {
            let known = Subscriber { k: asked.home_k.unwrap_or(asked.k), ..subscriber.clone() };
            let home = Home::new([known], seed);
            Some(HomeServer::open(home, listen).with_context(|| format!("the home at {listen}"))?)
        }
    };
    let [server_port, client_port] = asked.ports[..] else {
        anyhow::bail!("--ports: give two, server and client");
    };
    // A free port: another phone may have the usual one.
    let clear = UdpSocket::bind(SocketAddr::new(asked.address, 0))
        .with_context(|| format!("--address {}", asked.address))?
        .local_addr()?;
    let config = Config {
        subscriber,
        address: asked.address,
        clear_port: clear.port(),
        server_port,
        client_port,
        pcscf: asked.pcscf,
        preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
        expires_s: asked.expires,
        seed,
        number: 0,
    };
    Terminal::open(config, home).context("ESP needs raw sockets: root, or CAP_NET_RAW")
}

/// What phone and P-CSCF have agreed on.
fn agreed(terminal: &Terminal) -> String {
    let Some(agreement) = terminal.handset().agreement() else {
        return "registered, without an agreement".to_owned();
    };
    let (ue, pcscf) = (agreement.ue.ipsec, agreement.pcscf.ipsec);
    format!(
        "registered: {}/{}, ports {}/{} to {}/{} (client/server), indices {}/{} and {}/{}",
        pcscf.alg.name(),
        pcscf.ealg.name(),
        ue.port_c,
        ue.port_s,
        pcscf.port_c,
        pcscf.port_s,
        ue.spi_c.0,
        ue.spi_s.0,
        pcscf.spi_c.0,
        pcscf.spi_s.0,
    )
}
