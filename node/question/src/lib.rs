//! The questions that a function answers: a row each, with its parameters and the type of its
//! answer. The same table answers them and describes them.
//!
//! ```text
//!   questions! { /// … Ask "calls" [LIMIT] -> Vec<CallRow>, |it, asked| it.show_calls(asked) }
//!        │                                  │                  │
//!        └─ path, text, parameters          └─ schema          └─ what the function does
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

/// What a question does, and so who may ask it how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It reads: `GET`.
    Ask,
    /// It changes something: `POST`.
    Act,
    /// Only the process itself asks it: the API has no such path.
    Internal,
}

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text,
    /// A number from 0.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// A parameter of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// What it holds.
    pub form: Form,
    /// Whether the question is refused without it.
    pub is_required: bool,
}

impl Parameter {
    /// One that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, about, form, is_required: false }
    }

    /// A text that may be left out.
    #[must_use]
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Form::Text, about)
    }

    /// A number that may be left out.
    #[must_use]
    pub const fn number(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Form::Number, about)
    }

    /// The same, but it must be given.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Its JSON schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        match self.form {
            Form::Text => json_schema!({ "type": "string" }),
            Form::Number => json_schema!({ "type": "integer", "minimum": 0 }),
            Form::Flag => json_schema!({ "type": "boolean" }),
            Form::OneOf(words) => json_schema!({ "type": "string", "enum": words }),
        }
    }
}

/// A question as it is described.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Its path: `calls`, `calls/terminate`.
    pub path: &'static str,
    /// What it is for, as the doc comment of its row says.
    pub about: &'static str,
    /// What it does.
    pub does: Does,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The schema of its answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
}

/// A question, and how its function answers it.
#[derive(Debug, Clone, Copy)]
pub struct Row<S> {
    /// The question.
    pub question: Question,
    /// What answers it.
    pub serve: S,
}

/// The questions of a table.
pub fn listed<S>(rows: &[Row<S>]) -> impl Iterator<Item = Question> {
    rows.iter().map(|row| row.question)
}

/// What answers `path`, if the table has it.
#[must_use]
pub fn find<'r, S>(rows: &'r [Row<S>], path: &str) -> Option<&'r S> {
    rows.iter().find(|row| row.question.path == path).map(|row| &row.serve)
}

/// An answer as JSON.
///
/// # Panics
/// Never: rows are structs, and the keys of their maps are texts.
#[must_use]
pub fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("rows are structs whose maps have texts as keys")
}

/// A question that stands alone: its path, its parameters, the type of its answer.
#[macro_export]
macro_rules! question {
    ($(#[doc = $about:literal])+ $does:ident $path:literal [$($parameter:expr),* $(,)?]
     -> $answer:ty) => {
        $crate::Question {
            path: $path,
            about: concat!($($about, "\n"),+),
            does: $crate::Does::$does,
            parameters: &[$($parameter),*],
            answer: |generator| generator.subschema_for::<$answer>(),
        }
    };
}

/// A table of questions: of each, what it is for, what it [`Does`], path, parameters, the type of
/// its answer, and the closure that answers with that type. The closure is what serves: a path
/// that is not described has none.
#[macro_export]
macro_rules! questions {
    ($(#[$doc:meta])* $vis:vis const $name:ident: $serve:ty;
     $($(#[doc = $about:literal])+ $does:ident $path:literal [$($parameter:expr),* $(,)?]
       -> $answer:ty, |$it:pat_param, $asked:pat_param| $body:expr;)*) => {
        $(#[$doc])*
        $vis const $name: &'static [$crate::Row<$serve>] = &[$($crate::Row {
            question: $crate::question!(
                $(#[doc = $about])+ $does $path [$($parameter),*] -> $answer
            ),
            serve: |$it, $asked| {
                let answer: Result<$answer, _> = $body;
                answer.map($crate::value)
            },
        },)*];
    };
}

/// Declares rows of answers: structs whose fields are seen where the struct is, written as JSON and
/// described by its schema. A field says by its name what it is, and its unit; a comment says more.
#[macro_export]
macro_rules! rows {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($(#[$of:meta])* $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, ::serde::Serialize, ::schemars::JsonSchema)]
        #[allow(missing_docs, reason = "a name that says it all has no comment")]
        $vis struct $name { $($(#[$of])* $vis $field: $type,)* }
    )*};
}

/// A condition that stands, as every function's `alarms` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConditionRow")]
pub struct Condition {
    /// Its kind: `next-hop-down`.
    pub name: String,
    /// What it is about.
    pub subject: String,
    /// `critical`, `major`, `minor` or `warning`.
    pub severity: String,
    /// One sentence for a person.
    pub text: String,
    /// Probable cause, in the words of X.733.
    pub probable_cause: String,
    /// What it is about has been configured and has not failed yet.
    pub starting: bool,
}

impl Condition {
    /// A condition, of no cause yet.
    #[must_use]
    pub fn new(name: &str, subject: impl Into<String>, severity: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            subject: subject.into(),
            severity: severity.to_owned(),
            text,
            probable_cause: String::new(),
            starting: false,
        }
    }

    /// The same of what may be only starting.
    #[must_use]
    pub fn starting(self, starting: bool) -> Self {
        Self { starting, ..self }
    }

    /// The same with its probable cause.
    #[must_use]
    pub fn caused_by(self, probable_cause: &str) -> Self {
        Self { probable_cause: probable_cause.to_owned(), ..self }
    }
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// `skip` of the next page; null: that was all.
    pub next: Option<usize>,
    /// Rows of all pages, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// A row of one kind or of another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{A}Or{B}")]
pub enum Either<A, B> {
    /// The one.
    A(A),
    /// The other.
    B(B),
}

/// What has a name where one is known, and a number otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Named {
    /// The number.
    Number(u64),
    /// The name.
    Name(String),
}

impl From<u32> for Named {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Ball {
        id: u64,
        colour: Option<String>,
    }

    type Serve = fn(&mut u64, &str) -> Result<Value, String>;

    questions! {
        /// What a toy answers.
        const BALLS: Serve;
        /// Its balls.
        Ask "balls" [Parameter::text("colour", "only those")] -> Vec<Ball>, |it, colour| {
            Ok(vec![Ball { id: *it, colour: Some(colour.to_owned()) }])
        };
        /// Throws one.
        ///
        /// It comes back.
        Act "balls/throw" [] -> Page<Ball>, |it, _| {
            *it += 1;
            Err(format!("{it} is missing"))
        };
    }

    #[test]
    fn a_row_answers_with_the_type_that_it_is_described_by() {
        let (mut it, serve) = (7, find(BALLS, "balls").unwrap());
        let answer = serve(&mut it, "red").unwrap();
        assert_eq!(answer, serde_json::json!([{ "id": 7, "colour": "red" }]));
        assert!(find(BALLS, "bells").is_none());
        let thrown = find(BALLS, "balls/throw").unwrap()(&mut it, "");
        assert_eq!(thrown.unwrap_err(), "8 is missing");
        let mut generator = SchemaGenerator::default();
        let all: Vec<Question> = listed(BALLS).collect();
        let schema = (all[0].answer)(&mut generator).to_value();
        assert_eq!(schema["items"]["$ref"], "#/$defs/Ball");
        assert_eq!((all[0].does, all[1].does), (Does::Ask, Does::Act));
        assert_eq!(all[1].about.trim(), "Throws one.\n\n It comes back.");
        assert_eq!((all[1].answer)(&mut generator).to_value()["$ref"], "#/$defs/PageOfBall");
    }

    #[test]
    fn a_parameter_has_a_schema_of_its_own() {
        let number = Parameter::number("limit", "rows").required();
        assert!(number.is_required);
        assert_eq!(number.schema().to_value()["type"], "integer");
        let one = Parameter::new("how", Form::OneOf(&["soft", "hard"]), "");
        assert_eq!(one.schema().to_value()["enum"][1], "hard");
    }
}
