//! What `tandem ctl` says to session controllers.

use crate::cli::{Of, Output};
use crate::ctl::{Client, Words, asked, segment};
use crate::exit::Exit;
use crate::output::{self, Column, plain, time};
use clap::Subcommand;
use serde_json::json;
use std::net::IpAddr;

/// The words of session controllers.
#[derive(Debug, Subcommand)]
pub enum SscWords {
    /// Running calls.
    Calls(Of),
    /// End a call.
    Terminate {
        /// Name of the function.
        function: String,
        /// The call's id, as `calls` shows it.
        call: String,
    },
    /// Registered contacts.
    Registrations(Of),
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
        /// Name of the function.
        function: String,
        /// Only this address; absent: all.
        address: Option<IpAddr>,
    },
    /// Header manipulation rules and how often they applied.
    Rules(Of),
}

impl Words for SscWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let (of, about, columns) = match self {
            Self::Calls(of) => (of, "calls", CALLS),
            Self::Registrations(of) => (of, "registrations", REGISTRATIONS),
            Self::NextHops(of) => (of, "next-hops", NEXT_HOPS),
            Self::Realms(of) => (of, "realms", REALMS),
            Self::Limits(of) => (of, "limits", LIMITS),
            Self::Blacklist(of) => (of, "blacklist", BLACKLIST),
            Self::Shield(of) => (of, "shield", SHIELD),
            Self::Rules(of) => (of, "rules", RULES),
            Self::Terminate { function, call } => {
                let path = format!("/api/v1/functions/{}/calls/terminate", segment(&function));
                return output::text(&output::json(&client.post(&path, &json!({ "id": call }))?));
            }
            Self::Pardon { function, address } => {
                let path = format!("/api/v1/functions/{}/blacklist/clear", segment(&function));
                let whom = address.map_or_else(|| json!({}), |at| json!({ "address": at }));
                return output::text(&output::json(&client.post(&path, &whom)?));
            }
        };
        asked(client, form, of.function, about, columns)
    }
}

const CALLS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("id", "ID"),
    plain("state", "STATE"),
    plain("from", "FROM"),
    plain("to", "TO"),
    plain("realm_in", "IN"),
    plain("realm_out", "OUT"),
    time("started_at_us", "STARTED"),
    time("answered_at_us", "ANSWERED"),
];

const REGISTRATIONS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("aor", "ADDRESS OF RECORD"),
    plain("contact", "CONTACT"),
    plain("realm", "REALM"),
    plain("source", "SOURCE"),
    plain("transport", "TRANSPORT"),
    time("expires_at_us", "EXPIRES"),
    time("core_expires_at_us", "CORE EXPIRES"),
];

const NEXT_HOPS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "NAME"),
    plain("realm", "REALM"),
    plain("target", "TARGET"),
    plain("state", "STATE"),
    plain("unwanted_percent", "UNWANTED %"),
];

const REALMS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "NAME"),
    plain("side", "SIDE"),
    plain("listen", "LISTEN"),
    plain("trusted", "TRUSTED"),
];

const LIMITS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("kind", "KIND"),
    plain("name", "NAME"),
    plain("calls", "CALLS"),
    plain("calls_max", "MAX"),
    plain("calls_per_s", "PER S"),
    plain("refused", "REFUSED"),
];

const RULES: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("rule", "RULE"),
    plain("realm", "REALM"),
    plain("direction", "DIRECTION"),
    plain("applied", "APPLIED"),
];

const BLACKLIST: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("address", "ADDRESS"),
    plain("reason", "REASON"),
    plain("count", "COUNT"),
    plain("refused", "REFUSED"),
    time("since_us", "SINCE"),
    time("last_us", "LAST"),
    time("until_us", "UNTIL"),
];

const SHIELD: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("shard", "SHARD"),
    plain("floods", "FLOODS"),
    plain("sources", "SOURCES"),
    plain("blacklisted", "BLACKLISTED"),
    plain("interfaces", "INTERFACES"),
    plain("passed_known", "KNOWN"),
    plain("passed_unknown", "UNKNOWN"),
    plain("dropped", "DROPPED"),
    plain("why", "WHY NOT"),
];
