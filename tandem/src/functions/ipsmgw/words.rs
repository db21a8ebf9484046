//! `tandem ctl sms` and `tandem ctl store`.

use clap::{Args, Subcommand};
use client::complete::functions;
use client::{Client, Exit, Of, Output, Words, asked, output, query, segment};
use serde_json::json;
use show::ipsmgw as listings;

/// The words of IP short message gateways.
#[derive(Debug, Subcommand)]
pub enum IpsmgwWords {
    /// Short messages: who takes them, send one, try again; without more, those that wait and why.
    #[command(args_conflicts_with_subcommands = true)]
    Sms {
        #[command(flatten)]
        of: Of,
        /// What of them.
        #[command(subcommand)]
        command: Option<SmsCommand>,
    },
    /// What is kept over a restart, and whether its journal can be written.
    Store(Of),
}

/// What `tandem ctl sms` does.
#[derive(Debug, Subcommand)]
pub enum SmsCommand {
    /// Subscribers whose terminals take messages.
    Registrations {
        /// Which of the gateways.
        #[command(flatten)]
        of: Of,
        /// Only those whose numbers begin so.
        #[arg(long)]
        number: Option<String>,
    },
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
            Self::Sms { of, command } => {
                command.unwrap_or(SmsCommand::Pending { of, to: None }).run(client, form)
            }
        }
    }
}

impl SmsCommand {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Registrations { of, number } => {
                let about = format!("sms/registrations{}", query(&[("number", number)]));
                asked(client, form, of.function, &about, &listings::REGISTRATIONS)
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
                output::acted(form, &answer, &listings::sent(&to, &answer))
            }
            Self::Retry { function, number } => {
                let function = client.function("ipsmgw", function)?;
                let path = format!("/api/v1/functions/{}/sms/retry", segment(&function));
                let whom = number.as_ref().map_or_else(|| json!({}), |it| json!({ "to": it }));
                let answer = client.post(&path, &whom)?;
                output::acted(form, &answer, &listings::retried(number.as_deref(), &answer))
            }
        }
    }
}
