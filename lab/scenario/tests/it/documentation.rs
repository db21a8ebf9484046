//! What docs/scenarios.md says of filters and scenarios is what there is.

use scenario::built_in;

const PAGE: &str = include_str!("../../../../docs/scenarios.md");

#[test]
fn the_page_has_every_built_in_scenario_and_every_filter() {
    for it in built_in() {
        assert!(PAGE.contains(&format!("| `{}` |", it.name)), "{}", it.name);
    }
    for (name, what) in scenario::filters() {
        assert!(PAGE.contains(&format!("| `{name}` | {what} |")), "{name}");
    }
}
