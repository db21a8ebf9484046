//! `docs/diameter.md` has the tables of the rows.

use diameter::Dictionary;

/// What stands in front of the tables.
const BEGIN: &str = "<!-- tables of proto/diameter -->\n\n";

#[test]
fn the_page_has_every_row() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diameter.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, tables) = page.split_once(BEGIN).unwrap();
    let expected = Dictionary::default().tables();
    if std::env::var_os("TANDEM_WRITE_DOCS").is_some() {
        std::fs::write(path, [head, BEGIN, &expected].concat()).unwrap();
        return;
    }
    let how = "TANDEM_WRITE_DOCS=1 cargo test -p tandem-diameter writes it";
    assert!(tables == expected, "{how}");
}
