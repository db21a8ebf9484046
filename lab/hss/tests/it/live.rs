//! Running members.

use hss::{Member, MemberConfig, Subscriber};
use runtime::{Ask, Running, ShardSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The subscriber of the tests.
pub fn subscriber() -> Subscriber {
    Subscriber {
        impi: String::from("a@home"),
        impu: String::from("sip:a@home"),
        msisdn: String::from("491710000"),
        k: [0x46; 16],
        opc: [0xcd; 16],
    }
}

pub struct Live {
    running: Running<Member>,
}

impl Live {
    pub fn start(text: &str) -> Self {
        let mut config: MemberConfig = toml::from_str(text).unwrap();
        config.subscribers = vec![subscriber()];
        let mut issues = Vec::new();
        config.section().validate(&mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let spec = ShardSpec {
            name: config.diameter.host.clone(),
            ports: config.section().ports(),
            ..ShardSpec::default()
        };
        let make = |seed, config: Arc<MemberConfig>| Member::new(seed, &config);
        Self { running: runtime::start(spec, Arc::new(config), make).unwrap() }
    }

    pub fn ask(&self, path: &str, params: &[(&str, &str)]) -> Value {
        let params: BTreeMap<String, String> =
            params.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        self.running.ask(Ask { path: path.to_owned(), params }).unwrap()
    }

    /// Waits until `is_so` holds of what a question is answered with.
    pub fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(path, &[]);
            if is_so(&answer) {
                return answer;
            }
            assert!(Instant::now() < end, "{path}: {answer:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until so many peers are open.
    pub fn until_open(&self, count: usize) {
        let is_open = |it: &&Value| it["state"] == "open";
        self.until("peers", |rows| {
            rows.as_array().unwrap().iter().filter(is_open).count() == count
        });
    }

    /// The answer to a request that is written in JSON.
    pub fn answer(&self, message: &str) -> Value {
        self.ask("request", &[("token", "1"), ("message", message)]);
        let end = Instant::now() + PATIENCE;
        loop {
            let answers = self.ask("answers", &[]);
            if let Some(first) = answers.as_array().unwrap().first() {
                let text = first["text"].as_str().unwrap();
                return serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
            }
            assert!(Instant::now() < end, "no answer to {message}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn stop(self) {
        self.running.stop(Duration::from_secs(2));
    }
}

/// The first AVP of that name in a list of AVPs.
pub fn avp<'a>(avps: &'a Value, name: &str) -> &'a Value {
    let found = avps.as_array().unwrap().iter().find_map(|it| it.get(name));
    found.unwrap_or(&Value::Null)
}

/// A UDR in JSON.
pub fn udr(host: &str, realm: &str, references: &[&str]) -> String {
    let references: String =
        references.iter().map(|it| format!(",{{\"Data-Reference\":\"{it}\"}}")).collect();
    let head = head("UDR", "Sh", 16_777_217, host, realm);
    format!("{head},{{\"User-Identity\":[{{\"MSISDN\":\"94710100f0\"}}]}}{references}]}}")
}

/// What every request begins with.
pub fn head(command: &str, application: &str, id: u32, host: &str, realm: &str) -> String {
    format!(
        "{{\"command\":\"{command}\",\"application\":\"{application}\",\"flags\":\"RP\",\"avps\":[\
         {{\"Session-Id\":\"{{session}}\"}},{{\"Vendor-Specific-Application-Id\":[\
         {{\"Vendor-Id\":10415}},{{\"Auth-Application-Id\":{id}}}]}},\
         {{\"Auth-Session-State\":\"NO_STATE_MAINTAINED\"}},{{\"Origin-Host\":\"{host}\"}},\
         {{\"Origin-Realm\":\"{realm}\"}},{{\"Destination-Realm\":\"home\"}}"
    )
}

/// A MAR in JSON.
pub fn mar(host: &str, realm: &str) -> String {
    let head = head("MAR", "Cx", 16_777_216, host, realm);
    format!(
        "{head},{{\"User-Name\":\"a@home\"}},{{\"Public-Identity\":\"sip:a@home\"}},\
         {{\"SIP-Auth-Data-Item\":[{{\"SIP-Authentication-Scheme\":\"Digest-AKAv1-MD5\"}}]}},\
         {{\"SIP-Number-Auth-Items\":1}},{{\"Server-Name\":\"sip:scscf.home\"}}]}}"
    )
}

/// What the text of a UDA's data has, from its hexadecimal digits.
pub fn text(hex: &Value) -> String {
    let digits = hex.as_str().unwrap_or_default();
    let octets = (0..digits.len() / 2).map(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16));
    String::from_utf8(octets.map(Result::unwrap).collect()).unwrap()
}
