//! The home subscriber server of the scene: Bob's number, and word of when he can be reached (Sh).

use super::{BOB, DOMAIN, HOST, names};
use anyhow::Context;
use hss::{Member, MemberConfig, Subscriber};
use runtime::{Ask, Running, ShardSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Sh (TS 29.329 §6).
const SH: u32 = 16_777_217;

/// The server, in this process; it ends when dropped.
pub(super) struct Home {
    running: Running<Member>,
    /// Where it listens.
    pub(super) at: SocketAddr,
}

impl Home {
    /// Starts it at that address.
    pub(super) fn start(at: SocketAddr) -> anyhow::Result<Self> {
        let config = json!({
            "diameter": {
                "host": format!("hss.{DOMAIN}"), "realm": DOMAIN, "tcp": { "listen": [at] },
            },
            "peer": [{ "name": "sms1", "host": HOST, "addresses": ["127.0.0.1"] }],
            "applications": [SH],
        });
        let mut config: MemberConfig = serde_json::from_value(config)?;
        config.subscribers = vec![Subscriber {
            impi: format!("bob@{DOMAIN}"),
            impu: names().identity(BOB),
            msisdn: BOB.to_owned(),
            // By Sh nobody asks for keys.
            k: [0; 16],
            opc: [0; 16],
        }];
        let spec = ShardSpec {
            name: String::from("hss"),
            ports: config.section().ports(),
            ..ShardSpec::default()
        };
        let make = |seed, config: Arc<MemberConfig>| Member::new(seed, &config);
        let running = runtime::start(spec, Arc::new(config), make).context("it does not start")?;
        Ok(Self { running, at })
    }

    /// What the gateway's section says of it, the gateway being the last table.
    pub(super) fn section(&self) -> String {
        let (ip, port) = (self.at.ip(), self.at.port());
        format!(
            "[ipsmgw.hss]\n[ipsmgw.diameter]\nhost = \"{HOST}\"\nrealm = \"{DOMAIN}\"\n\
             timers = {{ reconnect_ms = 200, reconnect_max_ms = 1000 }}\n\
             [[ipsmgw.diameter_peer]]\nname = \"hss\"\nhost = \"hss.{DOMAIN}\"\n\
             realm = \"{DOMAIN}\"\naddresses = [\"{ip}\"]\nport = {port}\nconnect = true\n\
             applications = [\"Sh\"]"
        )
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> anyhow::Result<u64> {
        let counts = self.ask("counts", &[])?;
        counts["asked"].as_u64().context("a number")
    }

    /// Tells whoever wants to know that a user can be reached; how many that were.
    pub(super) fn tell(&self, identity: &str) -> anyhow::Result<u64> {
        let told = self.ask("reachable", &[("impu", identity)])?;
        told["told"].as_u64().context("a number")
    }

    fn ask(&self, path: &str, params: &[(&str, &str)]) -> anyhow::Result<Value> {
        let params: BTreeMap<String, String> =
            params.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        let answer = self.running.ask(Ask { path: path.to_owned(), params });
        answer.map_err(|why| anyhow::anyhow!("the HSS: {why:?}"))
    }
}
