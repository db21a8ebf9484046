//! What an operation of MAP or CAP is, in words: where it may be invoked, and what its argument,
//! result and errors look like in JSON.

use core::fmt::Write as _;
use tcap::OperationClass;
use tcap::operation::{Parameter, Timer};

/// An operation of either protocol.
struct Row {
    protocol: &'static str,
    /// What a version is called there.
    version: &'static str,
    name: &'static str,
    code: i64,
    spec: &'static str,
    timer: Timer,
    /// Names and versions of the contexts in which it may be invoked.
    contexts: Vec<(&'static str, u8)>,
    forms: Vec<Form>,
}

/// What it is in some versions.
struct Form {
    versions: (u8, u8),
    class: OperationClass,
    argument: Option<Parameter>,
    result: Option<Parameter>,
    errors: Vec<&'static str>,
}

macro_rules! row {
    ($protocol:ident, $title:literal, $versions:ident, $version:ident, $name:expr) => {
        $protocol::Operation::named($name).map(|it| {
            let contexts = $protocol::Context::ALL.iter().flat_map(|context| {
                let has = context.$versions().iter().filter(move |version| {
                    version.initiator.contains(&it) || version.responder.contains(&it)
                });
                has.map(|version| (context.name(), version.$version))
            });
            let forms = it.signatures().iter().map(|form| Form {
                versions: form.versions,
                class: form.class,
                argument: form.argument,
                result: form.result,
                errors: form.errors.iter().map(|error| error.name()).collect(),
            });
            Row {
                protocol: $title,
                version: stringify!($version),
                name: it.name(),
                code: i64::from(it.code()),
                spec: it.spec(),
                timer: it.timer(),
                contexts: contexts.collect(),
                forms: forms.collect(),
            }
        })
    };
}

/// The names of all operations, MAP's first.
pub fn names() -> impl Iterator<Item = &'static str> {
    let map = map::Operation::ALL.iter().map(|it| it.name());
    map.chain(cap::Operation::ALL.iter().map(|it| it.name()))
}

/// The operation of that name in words; of its versions only `version`, if one is given. What is
/// inside of a parameter is shown `depth` levels deep.
///
/// # Errors
/// There is none of that name, or not in that version: a sentence, with what may be meant.
pub fn describe(name: &str, version: Option<u8>, depth: usize) -> anyhow::Result<String> {
    let found = row!(map, "MAP", versions, version, name);
    let row = found.or_else(|| row!(cap, "CAP", phases, phase, name));
    let row = row.ok_or_else(|| {
        let hint = config::meant(name, names(), "");
        anyhow::anyhow!("neither MAP nor CAP has an operation `{name}`; {hint}")
    })?;
    row.text(version, depth)
}

impl Row {
    fn text(&self, version: Option<u8>, depth: usize) -> anyhow::Result<String> {
        let Self { protocol, name, code, spec, timer, .. } = self;
        let (least, most) = (timer.min.as_secs(), timer.max.as_secs());
        let time = if least == most { format!("{most} s") } else { format!("{least} to {most} s") };
        let mut text =
            format!("{name}  {protocol} operation {code}, {spec}, answered within {time}\n");
        for (context, number) in &self.contexts {
            if version.is_none_or(|version| version == *number) {
                writeln!(text, "in {context}, {} {number}", self.version)?;
            }
        }
        let is_wanted = |form: &&Form| {
            version.is_none_or(|it| (form.versions.0..=form.versions.1).contains(&it))
        };
        let mut forms = self.forms.iter().filter(is_wanted).peekable();
        if forms.peek().is_none() {
            anyhow::bail!("{name} is not there in {} {}", self.version, version.unwrap_or(0));
        }
        for form in forms {
            form.write(self.version, depth, &mut text)?;
        }
        Ok(text)
    }
}

impl Form {
    fn write(&self, version: &str, depth: usize, text: &mut String) -> std::fmt::Result {
        let (from, to) = self.versions;
        let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
        let answers = match self.class {
            OperationClass::One => "a result or an error",
            OperationClass::Two => "an error or nothing",
            OperationClass::Three => "a result or nothing",
            OperationClass::Four => "nothing",
        };
        writeln!(text, "\n{version} {range}: answered by {answers}")?;
        for (what, parameter) in [("argument", self.argument), ("result", self.result)] {
            let Some(Parameter { kind, is_optional }) = parameter else {
                writeln!(text, "{what}: none")?;
                continue;
            };
            let optional = if is_optional { ", optional" } else { "" };
            writeln!(text, "{what}: {} ({}){optional}", kind.name, kind.spec)?;
            text.push_str(&kind.outline(depth));
            writeln!(text, "  smallest: {}", kind.smallest())?;
        }
        if !self.errors.is_empty() {
            writeln!(text, "errors: {}", self.errors.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_told_and_its_smallest_values_are_read_back() {
        for name in names() {
            let text = describe(name, None, 1).unwrap();
            assert!(text.contains("argument: ") && !text.contains("smallest: \n"), "{text}");
        }
    }

    #[test]
    fn a_version_chooses_and_what_is_not_there_is_said() {
        let text = describe("checkIMEI", Some(3), 0).unwrap();
        assert!(text.contains("in equipmentMngtContext, version 3\n"), "{text}");
        assert!(text.contains("{\"value\":\"80\",\"length\":1}"), "{text}");
        assert!(!text.contains("version 1"), "{text}");
        let wrong = describe("checkIMEI", Some(4), 0).unwrap_err().to_string();
        assert_eq!(wrong, "checkIMEI is not there in version 4");
        let wrong = describe("checkImei", None, 0).unwrap_err().to_string();
        assert!(wrong.contains("did you mean `checkIMEI`?"), "{wrong}");
    }
}
