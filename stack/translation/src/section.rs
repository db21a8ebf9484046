//! The keys of a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which address of a message is translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TranslationOf {
    /// That of the called party: where the message goes.
    #[default]
    Called,
    /// That of the calling party, in what leaves this node: what others see of it.
    Calling,
}

/// How one of several targets is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetChoice {
    /// The first that can be reached.
    #[default]
    Backup,
    /// By weight among those that can be reached; the same SLS goes to the same one.
    Share,
}

/// What the next node routes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetRouting {
    /// Point code and subsystem: it is the destination.
    #[default]
    Subsystem,
    /// The title: it translates again.
    Title,
}

/// A rule for global titles: the one whose digits are the longest beginning of the title holds, of
/// two as long the one that leaves less open (a digit, some digits, any digit), then the one that
/// gives more of the other fields, then the later one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// Name, as `tandem ctl gtt` shows it.
    pub name: String,
    /// `called`: where messages go; `calling`: what the address of who sent them becomes on the
    /// way out.
    #[serde(default)]
    pub of: TranslationOf,
    /// What the digits of the title begin with (0 to 9, a to f); empty: all titles. `?` is any
    /// digit, `[1-35]` one of some, `4470..4479` the numbers between two.
    #[serde(default)]
    pub digits: String,
    /// Only titles of this Global Title Indicator, 1 to 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicator: Option<u8>,
    /// Only titles of this translation type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation_type: Option<u8>,
    /// Only titles of this numbering plan: 1 E.164, 6 E.212, 7 E.214.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbering_plan: Option<u8>,
    /// Only titles of this nature of address: 3 national, 4 international.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nature_of_address: Option<u8>,
    /// Only titles of this encoding scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding_scheme: Option<u8>,
    /// Digits that are taken from the front of the title.
    #[serde(default)]
    pub strip: u8,
    /// Digits that are put there then.
    #[serde(default)]
    pub prepend: String,
    /// The translation type that the title gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_translation_type: Option<u8>,
    /// The numbering plan that the title gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_numbering_plan: Option<u8>,
    /// The nature of address that the title gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_nature_of_address: Option<u8>,
    /// `backup`: the first target that can be reached; `share`: by weight among those.
    #[serde(default)]
    pub choice: TargetChoice,
    /// Where to. Of a rule for calling parties only the first one's subsystem counts.
    #[serde(default)]
    pub target: Vec<TranslationTarget>,
}

/// One place that a rule leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranslationTarget {
    /// The point code; absent: this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_code: Option<String>,
    /// The subsystem; absent: the one in the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subsystem: Option<u8>,
    /// What the next node routes by: `subsystem` or `title`.
    #[serde(default)]
    pub routing: TargetRouting,
    /// Its share of the load, with `share`.
    #[serde(default = "one")]
    pub weight: u8,
}

const fn one() -> u8 {
    1
}
