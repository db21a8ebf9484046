//! `tandem ctl sms` and `tandem ctl store`.

use crate::cli::{Of, Output};
use crate::complete::functions;
use crate::ctl::{Client, Words, asked, query, segment};
use crate::exit::Exit;
use crate::output;
use clap::{Args, Subcommand};
use serde_json::json;
use show::ipsmgw as listings;

/// The words of IP short message gateways.
#[derive(Debug, Subcommand)]
pub enum IpsmgwWords {
    /// Short messages: who takes them, what waits and why; send one, try again.
    Sms {
        /// What of them.
        #[command(subcommand)]
        command: SmsCommand,
    },
    /// What is kept over a restart, and whether its journal can be written.
    Store(Of),
}

/// What `tandem ctl sms` does.
#[derive(Debug, Subcommand)]
pub enum SmsCommand {
    /// Subscribers whose terminals take messages.
    Registrations(Of),
    /// Messages that wait, and why.
    Pending {
        /// Which of the gateways.
        #[command(flatten)]
        of: Of,
        /// Only those for this number.
        #[arg(long)]
        to: Option<String>,
    },
    /// Ways into the SS7 network, and whether they stand.
    Links(Of),
    /// Send a text; it is stored when this returns.
    Send(Send),
    /// Try messages that wait now.
    Retry {
        /// Name of the function; absent: the only gateway.
        #[arg(long, add = functions())]
        function: Option<String>,
        /// Only those for this number.
        number: Option<String>,
    },
}

/// A text that is to be sent.
#[derive(Debug, Args)]
pub struct Send {
    /// Name of the function; absent: the only gateway.
    #[arg(long, add = functions())]
    pub function: Option<String>,
    /// Number or letters of the sender; absent: the centre's number.
    #[arg(long)]
    pub from: Option<String>,
    /// Number of the receiver, with the country code.
    pub to: String,
    /// What is said.
    pub text: String,
}

impl Words for IpsmgwWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Store(of) => asked(client, form, of.function, "store", &listings::STORE),
            Self::Sms { command } => command.run(client, form),
        }
    }
}

impl SmsCommand {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Registrations(of) => {
                let shown = &listings::REGISTRATIONS;
                asked(client, form, of.function, "sms/registrations", shown)
            }
            Self::Pending { of, to } => {
                let about = format!("sms/pending{}", query(&[("to", to)]));
                asked(client, form, of.function, &about, &listings::PENDING)
            }
            Self::Links(of) => asked(client, form, of.function, "links", &listings::LINKS),
            Self::Send(Send { function, from, to, text }) => {
                let function = client.function("ipsmgw", function)?;
                let path = format!("/api/v1/functions/{}/sms/send", segment(&function));
                let mut what = json!({ "to": to, "text": text });
                if let Some(from) = from {
                    what["from"] = json!(from);
                }
                let answer = client.post(&path, &what)?;
                output::acted(form, &answer, &format!("the text for {to} is stored"))
            }
            Self::Retry { function, number } => {
                let function = client.function("ipsmgw", function)?;
                let path = format!("/api/v1/functions/{}/sms/retry", segment(&function));
                let whom = number.as_ref().map_or_else(|| json!({}), |it| json!({ "to": it }));
                let what = match number {
                    Some(number) => format!("messages for {number} are tried now"),
                    None => "all messages that wait are tried now".to_owned(),
                };
                output::acted(form, &client.post(&path, &whom)?, &what)
            }
        }
    }
}
