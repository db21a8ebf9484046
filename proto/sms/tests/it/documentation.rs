//! `docs/sms.md` has the tables of the rows.

/// What stands in front of the tables.
const BEGIN: &str = "<!-- tables of proto/sms -->\n\n";

#[test]
fn the_page_has_every_row() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sms.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, tables) = page.split_once(BEGIN).unwrap();
    if std::env::var_os("TANDEM_WRITE_DOCS").is_some() {
        std::fs::write(path, [head, BEGIN, &sms::tables()].concat()).unwrap();
        return;
    }
    assert!(tables == sms::tables(), "TANDEM_WRITE_DOCS=1 cargo test -p tandem-sms writes it");
}
