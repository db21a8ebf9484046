//! A page of the documentation as blocks: what stands between fences, with what is noted before it
//! in comments that a browser does not show.

use std::path::{Path, PathBuf};

/// Something in a box.
pub struct Block {
    /// Where its fence is.
    pub line: usize,
    /// The word behind the fence.
    pub kind: String,
    pub text: String,
    /// The prose above it.
    pub before: String,
    notes: Vec<(String, String)>,
}

impl Block {
    /// What is noted of it: `<!-- site: rr.toml -->`.
    pub fn noted(&self, key: &str) -> Option<&str> {
        let found = self.notes.iter().find(|(of, _)| of == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The name of the file that it is.
    pub fn file(&self) -> Option<&str> {
        let said =
            self.before.rsplit_once("Save this as `").map(|(_, rest)| rest.split('`').next());
        self.noted("file").or(said.flatten())
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|(key, _)| key.as_str())
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The comments in a piece of prose.
fn notes(prose: &str) -> Vec<(String, String)> {
    let comments = prose.split("<!--").skip(1).filter_map(|rest| rest.split("-->").next());
    let pairs = comments.filter_map(|comment| comment.split_once(':'));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The blocks of a page.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut prose = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(kind) = line.trim_start().strip_prefix("```") else {
            prose += line;
            prose.push('\n');
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        let inside = inside.take_while(|line| !line.trim_start().starts_with("```"));
        blocks.push(Block {
            line: at + 1,
            kind: kind.to_owned(),
            text: inside.flat_map(|line| [line, "\n"]).collect(),
            notes: notes(&prose),
            before: std::mem::take(&mut prose),
        });
    }
    blocks
}

/// The pages: README.md and what is in docs/, but for what `tandem reference` makes.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = files.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
    let mut names: Vec<String> = pages.chain(["README.md".to_owned()]).collect();
    names.sort();
    names
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}
