//! What the program writes of itself: the pages of the configuration, of metrics, and the API's
//! description.

use crate::binary::tandem;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The files of a folder, by their names.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    files.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn the_reference_in_docs_is_what_the_types_say() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let folder = tempfile::tempdir().unwrap();
    let written = tandem(&["reference", folder.path().to_str().unwrap()]);
    assert!(written.status.success(), "{written:?}");
    let functions = files(&folder.path().join("configuration"));
    assert_eq!(functions, files(&docs.join("configuration")), "a page for each function");
    let functions = functions.into_iter().map(|name| format!("configuration/{name}"));
    let pages: Vec<String> = files(folder.path()).into_iter().chain(functions).collect();
    assert!(pages.contains(&"metrics.md".to_owned()) && pages.len() > 9, "{pages:?}");
    for name in pages {
        let text = fs::read_to_string(folder.path().join(&name)).unwrap();
        let kept = fs::read_to_string(docs.join(&name)).unwrap_or_default();
        assert!(kept == text, "docs/{name} is stale: `tandem reference docs`");
    }
}
