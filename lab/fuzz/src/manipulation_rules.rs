//! Any message under rules of every kind, inbound and outbound: nothing panics, a message that is
//! read whole and the same one read by its lines are changed alike, and the body stays as it came.

use manipulation::{Applied, Direction, RuleConfig, Rules, Scratch};
use sip::Message;
use std::sync::LazyLock;

const RULES: &str = r#"
[[rule]]
message = "any"
[[rule.do]]
add = "X-First"
value = "one"
[[rule]]
direction = "in"
[[rule.when]]
header = "From"
matches = "sip:([^@>]*)@([^;>]*)"
[[rule.do]]
set = "X-From"
value = "$1 at $2"
[[rule.do]]
remove = "Subject"
[[rule]]
direction = "in"
[[rule.when]]
header = "X-From"
matches = "^(.*)$"
[[rule.do]]
replace = "User-Agent"
pattern = "(.+)"
value = "$1$1"
[[rule]]
direction = "out"
message = "request"
[[rule.do]]
rename = "X-Old"
to = "X-New"
[[rule]]
direction = "out"
message = "request"
[[rule.do]]
set = "X-New"
value = "changed"
"#;

#[derive(serde::Deserialize)]
struct Site {
    rule: Vec<RuleConfig>,
}

static COMPILED: LazyLock<Rules> = LazyLock::new(|| {
    let site: Site = toml::from_str(RULES).expect("the rules are well-formed");
    Rules::compile(&site.rule, &["access"]).expect("the rules compile")
});

pub fn run(octets: &[u8]) {
    let mut scratch = Scratch::default();
    for direction in [Direction::In, Direction::Out] {
        let _ = COMPILED.apply_unread(0, direction, octets, &mut scratch, &mut Vec::new());
        let Ok(message) = Message::parse(octets) else { continue };
        // Without what follows the body: only messages of ours are changed by their lines.
        let (raw, mut by_lines, mut whole) = (message.raw(), Vec::new(), Vec::new());
        let applied = COMPILED.apply_unread(0, direction, raw, &mut scratch, &mut by_lines);
        assert_eq!(COMPILED.apply(0, direction, &message, &mut scratch, &mut whole), applied);
        assert_eq!(whole, by_lines);
        if applied == Applied::Changed {
            assert!(whole.ends_with(message.body()), "the body is not touched");
        }
    }
}
