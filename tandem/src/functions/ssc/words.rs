//! What `tandem ctl` says to session controllers.

use clap::Subcommand;
use client::complete::functions;
use client::{
    Client, Exit, Of, Output, Words, asked, asked_and, function_or_address, output, segment,
};
use serde_json::{Value, json};
use show::ssc as listings;
use std::net::IpAddr;

/// The words of session controllers.
#[derive(Debug, Subcommand)]
pub enum SscWords {
    /// Running calls.
    Calls(Of),
    /// End a call.
    #[command(allow_missing_positional = true)]
    Terminate {
        /// Name of the function; absent: the only session controller.
        #[arg(add = functions())]
        function: Option<String>,
        /// The call's id, as `calls` shows it.
        call: String,
    },
    /// Registered contacts.
    Registrations(Of),
    /// Security agreements with phones of IMS and their associations; no keys.
    Ipsec {
        /// Name of the function; absent: all that answer.
        #[arg(add = functions())]
        function: Option<String>,
        /// Only of this private identity.
        impi: Option<String>,
    },
    /// Phones of IMS.
    Ims {
        /// What of them; absent: `explain`.
        #[command(subcommand)]
        word: Option<ImsWords>,
    },
    /// Subscriptions of a P-CSCF to what becomes of registrations at the core.
    RegEvents {
        /// Name of the function; absent: all that answer.
        #[arg(add = functions())]
        function: Option<String>,
        /// Only of this public user identity.
        identity: Option<String>,
    },
    /// Next hops and their state.
    NextHops(Of),
    /// Realms and their addresses.
    Realms(Of),
    /// Limits of calls: what is used, what was refused.
    Limits(Of),
    /// Sources of which nothing is read for a time, and why.
    Blacklist(Of),
    /// What the shields refuse, shard by shard, and what the kernel drops for them.
    Shield(Of),
    /// Take sources off the blacklist.
    Pardon {
        /// Name of the function; absent: the only session controller.
        #[arg(add = functions())]
        function: Option<String>,
        /// Only this address; absent: all.
        address: Option<IpAddr>,
    },
    /// Header manipulation rules.
    Rules(Of),
}

/// The words of phones of IMS.
#[derive(Debug, Subcommand)]
pub enum ImsWords {
    /// Why registrations failed of late.
    Explain {
        /// Name of the function; absent: all that answer.
        #[arg(add = functions())]
        function: Option<String>,
        /// Only of this private identity.
        impi: Option<String>,
    },
}

impl Words for SscWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let (of, about, listing) = match self {
            Self::Calls(of) => (of, "calls", &listings::CALLS),
            Self::Registrations(of) => (of, "registrations", &listings::REGISTRATIONS),
            Self::NextHops(of) => (of, "next-hops", &listings::NEXT_HOPS),
            Self::Realms(of) => (of, "realms", &listings::REALMS),
            Self::Limits(of) => (of, "limits", &listings::LIMITS),
            Self::Blacklist(of) => (of, "blacklist", &listings::BLACKLIST),
            Self::Shield(of) => (of, "shield", &listings::SHIELD),
            Self::Rules(Of { function }) => {
                // What people see of a rule; JSON shows it as it is configured.
                let more = |_: &str, rows: &mut Vec<Value>| {
                    if form != Output::Json {
                        listings::rules(rows);
                    }
                    Ok(())
                };
                return asked_and(client, form, function, "rules", &listings::RULES, more);
            }
            Self::Ipsec { function, impi } => {
                let listing = if impi.is_some() { &listings::IPSEC_OF } else { &listings::IPSEC };
                return asked(client, form, function, &of_impi("ipsec", impi), listing);
            }
            Self::Ims { word } => {
                let whose = word.map(|ImsWords::Explain { function, impi }| (function, impi));
                let (function, impi) = whose.unwrap_or_default();
                let listing =
                    if impi.is_some() { &listings::EXPLAIN_OF } else { &listings::EXPLAIN };
                return asked(client, form, function, &of_impi("ims/explain", impi), listing);
            }
            Self::RegEvents { function, identity } => {
                let listing = match identity {
                    Some(_) => &listings::REG_EVENTS_OF,
                    None => &listings::REG_EVENTS,
                };
                let of = identity.map(|it| format!("?identity={}", segment(&it)));
                let about = format!("ims/reg-events{}", of.unwrap_or_default());
                return asked(client, form, function, &about, listing);
            }
            Self::Terminate { function, call } => {
                let function = client.function("ssc", function)?;
                let path = format!("/api/v1/functions/{}/calls/terminate", segment(&function));
                let answer = client.post(&path, &json!({ "id": call }))?;
                return output::acted(form, &answer, &format!("the call {call} is ended"));
            }
            Self::Pardon { function, address } => {
                let (function, address) = function_or_address(function, address);
                let function = client.function("ssc", function)?;
                let path = format!("/api/v1/functions/{}/blacklist/clear", segment(&function));
                let whom = address.map_or_else(|| json!({}), |at| json!({ "address": at }));
                let what = match address {
                    Some(address) => format!("{address} is heard again"),
                    None => "all sources are heard again".to_owned(),
                };
                return output::acted(form, &client.post(&path, &whom)?, &what);
            }
        };
        asked(client, form, of.function, about, listing)
    }
}

/// A question of all private identities, or of one.
fn of_impi(about: &str, impi: Option<String>) -> String {
    impi.map_or_else(|| about.to_owned(), |impi| format!("{about}?impi={}", segment(&impi)))
}
