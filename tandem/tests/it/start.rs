//! docs/start.md as a stranger follows it: each path on a machine of its own. Needs root.

use crate::pages::read_part;

const PAGE: &str = "docs/start.md";

#[test]
fn a_stranger_takes_the_path_of_the_session_border_controller() {
    read_part(PAGE, "A session border controller");
}

#[test]
fn a_stranger_takes_the_path_of_the_route_reflector() {
    read_part(PAGE, "A route reflector");
}

#[test]
fn a_stranger_takes_the_path_of_the_provider_edge() {
    read_part(PAGE, "A provider edge");
}

#[test]
fn a_stranger_takes_the_path_of_the_signalling_gateway() {
    read_part(PAGE, "A signalling gateway");
}

#[test]
fn a_stranger_takes_the_path_of_media() {
    read_part(PAGE, "Media of calls");
}

#[test]
fn a_stranger_takes_the_path_of_short_messages() {
    read_part(PAGE, "Short messages");
}

#[test]
fn a_stranger_takes_the_path_of_a_pair() {
    read_part(PAGE, "A pair of controllers");
}

#[test]
fn a_stranger_takes_the_path_of_a_changed_configuration() {
    read_part(PAGE, "A changed configuration");
}

/// A next hop that does not answer is asked again after ten seconds, and calls fail meanwhile: a
/// reader who takes longer than a test for the next box would meet that.
#[test]
fn what_a_session_controller_asks_is_there_before_it_asks() {
    let page = include_str!("../../../docs/start.md");
    for (path, answerer) in [
        ("A session border controller", "sipp -sn uas "),
        ("Media of calls", "ip netns exec bob baresip "),
    ] {
        let path = page.split("\n## ").find(|part| part.starts_with(path)).unwrap();
        let at = |words| path.find(words).unwrap_or_else(|| panic!("there is no `{words}`"));
        assert!(at(answerer) < at("tandem run "), "`{answerer}` comes too late");
    }
}

#[test]
fn every_path_of_the_page_is_taken_by_a_test() {
    let page = include_str!("../../../docs/start.md");
    let paths = page.split("\n## ").skip(1).map(|path| path.lines().next().unwrap());
    let tests = include_str!("start.rs");
    for path in paths {
        assert!(
            tests.contains(&format!("read_part(PAGE, \"{path}\")")),
            "no test follows `{path}`"
        );
    }
}
