//! `tandem lab phone`: one phone of IMS that a person registers and calls with; `tandem lab
//! terminal`: one that takes and sends short messages.
#![forbid(unsafe_code)]

pub mod command;
pub mod terminal;

use anyhow::Context;
use command::Phone;
use handset::{Called, Config, Home, HomeCounts, HomeServer, State, Subscriber, Terminal};
use secagree::{Mode, Preference};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A P-CSCF finds a home that was not there before, and how often that is tried.
const FOUND_MAX: Duration = Duration::from_secs(45);
/// The same of a home that another plays, and that may be there.
const FOUND_ELSEWHERE_MAX: Duration = Duration::from_secs(15);
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
    let most = if asked.home.is_some() { FOUND_MAX } else { FOUND_ELSEWHERE_MAX };
    let until = Instant::now() + most;
    while registered.is_err() && is_not_found(&terminal) && Instant::now() < until {
        say("the P-CSCF has perhaps not found its home yet: it tries again");
        terminal.serve(AGAIN);
        registered = terminal.register();
    }
    registered.with_context(|| hint(&terminal))?;
    say(&agreed(&terminal));
    let talk = Duration::from_secs(asked.talk);
    if let Some(to) = &asked.call {
        let who =
            if asked.home.is_some() && asked.cards.is_empty() { " (its home answers)" } else { "" };
        say(&format!("it calls {to}{who}"));
        let called = terminal.call(to, talk).context("the call failed")?;
        say(&format!("answered ({}), and over", statuses(&called)));
    }
    for _ in 0..asked.called {
        let pcscf = terminal.pcscf().context("the P-CSCF has asked its home nothing")?;
        say(&format!("its home calls it, by the P-CSCF at {pcscf}"));
        let called = terminal.be_called(pcscf, talk).context("it was not called")?;
        say(&format!("it answered ({}), and the call is over", statuses(&called)));
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

fn statuses(of: &Called) -> String {
    let words: Vec<String> = of.statuses.iter().map(u16::to_string).collect();
    words.join(", ")
}

/// Whether the home that it plays was asked anything; it plays none: `None`. What fails after that
/// fails again.
fn was_asked(terminal: &Terminal) -> Option<bool> {
    terminal.home().map(|home| home.counts() != HomeCounts::default())
}

/// Whether the P-CSCF has answered in the place of a home that it has perhaps not found yet.
fn is_not_found(terminal: &Terminal) -> bool {
    let is_refused = terminal.handset().state() == State::Refused(503);
    was_asked(terminal).map_or(is_refused, |was_asked| !was_asked)
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
        State::Refused(403) => {
            "it is not registered: does its home know this card? (a home that `lab phone` plays \
             knows that of its own phone, and those of --card there; `tandem ctl ims explain`)"
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
            let other = |imsi: &String| Subscriber {
                impi: format!("{imsi}@{}", known.realm),
                impu: format!("sip:{imsi}@{}", known.realm),
                ..known.clone()
            };
            let others: Vec<Subscriber> = asked.cards.iter().map(other).collect();
            let passes = !others.is_empty();
            let mut home = Home::new(others.into_iter().chain([known]), seed);
            if passes {
                home.pass_calls_on();
            }
            Some(HomeServer::open(home, listen).map_err(|error| no_home(listen, &error))?)
        }
    };
    let [server_port, client_port] = asked.ports[..] else {
        anyhow::bail!("--ports: give two, server and client");
    };
    // A free port: another phone may have the usual one.
    let clear = UdpSocket::bind(SocketAddr::new(asked.address, 0))
        .with_context(|| no_address(asked.address))?
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

/// Why its home does not stand, and what to do.
fn no_home(listen: SocketAddr, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another phone plays it there perhaps: leave --home away here, and name this card \
             there (--card)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this machine does not have it: `ip address add` it to an interface, lo for instance"
        }
        _ => "",
    };
    anyhow::anyhow!("the home at {listen}: {error}{hint}")
}

/// What to do about an address that cannot be bound.
fn no_address(address: IpAddr) -> String {
    let length = if address.is_ipv4() { 32 } else { 128 };
    format!("--address {address} (one of this machine: `ip address add {address}/{length} dev lo`)")
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
