//! `tandem lab msu`: an ASP that sends MSUs, messages of SCCP and dialogues of MAP, and shows what
//! comes back; `tandem lab operation`: what MAP and CAP ask, in words.
#![forbid(unsafe_code)]

pub mod command;

use client::Exit;
use command::{Msu, MsuSccp, MsuTransport, Operation};
use sgc::config::PointCodeFormat;
use std::time::Duration;

/// An operation in words, or the names of all.
///
/// # Errors
/// There is none of that name or version.
pub fn operation(asked: &Operation) -> Result<String, Exit> {
    let Some(name) = &asked.name else {
        return Ok(msu::operation::names().map(|name| format!("{name}\n")).collect());
    };
    let told = msu::operation::describe(name, asked.version, asked.depth.into());
    told.map_err(|wrong| Exit::Usage(wrong.to_string()))
}

/// Sends MSUs; `say` hears each line for people.
///
/// # Errors
/// The gateway cannot be reached, says that they lead nowhere and none came back, or nobody answers
/// a message of SCCP.
pub fn run(asked: &Msu, say: &mut dyn FnMut(&str)) -> Result<(), Exit> {
    let format = match &*asked.format {
        "ansi" => PointCodeFormat::Ansi,
        "japan" => PointCodeFormat::Japan,
        "decimal" => PointCodeFormat::Decimal,
        _ => PointCodeFormat::Itu,
    };
    let code = |name: &str, text: &str| {
        let read = format.read(text);
        read.ok_or_else(|| Exit::Usage(format!("--{name} {text}: {}", format.example())))
    };
    let plan = msu::Plan {
        to: asked.gateway,
        transport: match asked.transport {
            MsuTransport::Tcp => msu::Transport::Tcp,
            MsuTransport::Sctp => msu::Transport::Sctp {
                local: asked.local.clone(),
                carrier: asked.carrier.into(),
                udp_port: asked.udp_port,
            },
        },
        context: asked.context,
        network: asked.network,
        opc: code("opc", &asked.opc)?,
        dpc: code("dpc", &asked.dpc)?,
        si: asked.si,
        ni: asked.ni,
        sls: asked.sls,
        count: asked.count,
        rate: asked.rate,
        octets: asked.octets,
        sccp: sccp(&asked.sccp)?,
        quiet: Duration::from_secs(asked.quiet),
    };
    let outcome = msu::run(&plan, &|point_code| format.show(point_code), say)?;
    let msu::Outcome { sent, came, told } = outcome;
    let against = match told {
        // What its screening discards no gateway tells the sender.
        0 if came < sent => {
            "the gateway says nothing against them, nor of what it screens".to_owned()
        }
        0 => "the gateway has nothing against them".to_owned(),
        told => config::counted(told as usize, "objection", "objections") + " of the gateway",
    };
    say(&format!("{sent} sent, {came} came; {against}"));
    match came {
        0 if told > 0 => Err(Exit::Failed("the gateway did not take them".into())),
        0 if plan.sccp.is_some() && sent > 0 => {
            Err(Exit::Failed("nobody has answered, and nothing came back".into()))
        }
        _ => Ok(()),
    }
}

/// What is in the MSUs, where it is SCCP.
fn sccp(asked: &MsuSccp) -> Result<Option<msu::sccp::Sccp>, Exit> {
    use ::sccp::codec::{Digits, Title};
    use msu::sccp::{Asks, Content, Sccp, address, hex};
    let Some(called_ssn) = asked.called_ssn else { return Ok(None) };
    let title = |name: &str, digits: &Option<String>| -> Result<Option<Title>, Exit> {
        let Some(digits) = digits else { return Ok(None) };
        let read = digits.strip_prefix('+').unwrap_or(digits);
        let wrong = || Exit::Usage(format!("--{name} {digits}: use 0 to 9 and a to f"));
        let title = Title::e164(Digits::parse(read).ok_or_else(wrong)?);
        let (translation_type, plan, nature) = (asked.tt, asked.np, asked.nai);
        Ok(Some(Title { translation_type, plan, nature, ..title }))
    };
    let content = match (&asked.operation, &asked.data) {
        (Some(name), _) => {
            let asks = Asks::new(name, asked.map_version, asked.argument.as_deref());
            Content::Asks(asks.map_err(|wrong| Exit::Usage(wrong.to_string()))?)
        }
        (None, Some(digits)) => {
            let wrong = || Exit::Usage("--data: use an even number of hexadecimal digits".into());
            Content::Octets(hex(digits).ok_or_else(wrong)?)
        }
        (None, None) => Content::Octets(vec![0; 4]),
    };
    Ok(Some(Sccp {
        called: address(title("called-gt", &asked.called_gt)?, called_ssn),
        calling: address(title("calling-gt", &asked.calling_gt)?, asked.calling_ssn),
        is_extended: asked.xudt,
        content,
    }))
}
