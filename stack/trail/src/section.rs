//! The keys by which a section of a site file says where messages and events go.

use crate::capture::Settings;
use crate::collector;
use authentication::Password;
use runtime::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every section of a function that captures says of it, among its own keys
/// (`#[serde(flatten)]`). `AGENT` is the number of functions of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Section<const AGENT: u32> {
    /// Collector for captured messages and events (HEP3): `tcp:127.0.0.1:9060`; absent: none.
    #[serde(rename = "capture", default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<String>,
    /// Number of this agent in the captured packets (HEP3 chunk 12).
    #[serde(rename = "capture_id", default = "agent::<AGENT>")]
    pub agent: u32,
    /// File with the key that the collector wants (HEP3 chunk 14), in the site's directory and its
    /// owner's alone; the first line is sent, in clear.
    #[serde(rename = "capture_key_file", default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The key of that file.
    #[serde(skip)]
    pub key: Password,
}

const fn agent<const AGENT: u32>() -> u32 {
    AGENT
}

impl<const AGENT: u32> Default for Section<AGENT> {
    fn default() -> Self {
        Self { collector: None, agent: AGENT, key_file: None, key: Password::default() }
    }
}

impl<const AGENT: u32> Section<AGENT> {
    /// What a function captures with, by `port`.
    #[must_use]
    pub fn settings(&self, port: PortId) -> Settings {
        collector::settings(port, self.collector.as_deref(), self.agent, &self.key)
    }

    /// Why the collector's address cannot be read or used, and how it is written.
    #[must_use]
    pub fn objection(&self) -> Option<(&'static str, &'static str)> {
        collector::objection(self.collector.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Own {
        name: String,
        #[serde(flatten)]
        capture: Section<2_002>,
    }

    #[test]
    fn its_keys_stand_among_those_of_the_section_and_others_are_refused() {
        let read = |text: &str| serde_json::from_str::<Own>(text);
        let own = read(r#"{ "name": "x", "capture": "tcp:127.0.0.1:9060" }"#).unwrap();
        assert_eq!(own.capture.collector.as_deref(), Some("tcp:127.0.0.1:9060"));
        assert_eq!(own.capture.agent, 2_002, "the number of its kind");
        assert_eq!(read(r#"{ "name": "x" }"#).unwrap().capture, Section::default());
        assert!(read(r#"{ "name": "x", "captures": "" }"#).is_err());
        let again = serde_json::to_string(&own).unwrap();
        assert_eq!(read(&again).unwrap(), own);
        assert_eq!(again, r#"{"name":"x","capture":"tcp:127.0.0.1:9060","capture_id":2002}"#);
        let schema = schemars::schema_for!(Own).to_value();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["capture", "capture_id", "capture_key_file", "name"]);
        assert_eq!(schema["additionalProperties"], false);
    }
}
