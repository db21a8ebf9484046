//! The section of a gateway between IMS and SS7.

use ipsmgw::config::Ipsmgw;
use ipsmgw::{Hlr, Msisdn, Way};

const SECTION: &str = r#"
name = "sms1"
mode = "gateway"
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:5090"]
next_hop = [{ name = "scscf", targets = ["udp:127.0.0.1:6060"] }]
link = [{ name = "stp", address = "tcp:127.0.0.1:7700", application = "ipsmgw" }]
[[network]]
name = "own"
numbers = ["447700"]
delivery = "cs-then-ps"
hlr = "447700000001"
centres = ["4478"]
[[network]]
name = "guests"
numbers = ["4477009"]
delivery = "ps-only"
ask_hlr = false
centres = ["*"]
[signalling]
allowed = ["4478"]
correlation_prefix = "23415"
"#;

fn issues(text: &str) -> Vec<String> {
    let section: Ipsmgw = toml::from_str(text).unwrap();
    let mut issues = Vec::new();
    section.validate(&mut issues);
    issues.into_iter().map(|it| it.path).collect()
}

#[test]
fn what_is_written_is_what_the_gateway_is_told() {
    assert_eq!(issues(SECTION), [""; 0]);
    let section: Ipsmgw = toml::from_str(SECTION).unwrap();
    let settings = section.settings().unwrap();
    assert!(settings.local.is_none());
    let network = |digits| settings.network(&Msisdn::of(digits).unwrap());
    let own = network("447700100000").unwrap();
    assert_eq!(own.ways, [Way::CircuitSwitched, Way::PacketSwitched]);
    assert!(matches!(&own.hlr, Hlr::Address(it) if it.subsystem == Some(6)));
    assert!(own.has_centre(&Msisdn::of("447800000009").unwrap()));
    assert!(!own.has_centre(&Msisdn::of("491710760000").unwrap()));
    let guests = network("447700900123").unwrap();
    assert_eq!((&guests.hlr, &guests.ways[..]), (&Hlr::Suppressed, &[Way::PacketSwitched][..]));
    assert!(guests.has_centre(&Msisdn::of("491710760000").unwrap()));
    assert!(network("4915").is_none());
    assert_eq!(section.ports().len(), 2, "a listener, and a link");
}

#[test]
fn a_name_that_leads_out_of_the_sites_directory_is_none() {
    for name in ["../sms1", "/sms1", "a/b", "a\\u0000"] {
        let text = SECTION.replace("\"sms1\"", &format!("\"{name}\""));
        assert!(issues(&text).contains(&"name".to_owned()), "{name}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases: [(&str, &str, &[&str]); 10] = [
        ("mode = \"gateway\"", "mode = \"local\"", &["link", "network"]),
        ("allowed = [\"4478\"]", "", &["signalling.allowed"]),
        ("allowed = [\"4478\"]", "allowed = [\"+44\"]", &["signalling.allowed[0]"]),
        ("\"23415\"", "\"234\"", &["signalling.correlation_prefix"]),
        ("ask_hlr = false", "ask_hlr = false\nhlr = \"44\"", &["network[1].hlr"]),
        ("\"ps-only\"", "\"ps-then-cs\"", &["network[1].delivery"]),
        ("\"guests\"", "\"own\"", &["network[1].name"]),
        ("[\"447700\"]", "[]", &["network[0].numbers"]),
        ("[\"*\"]", "[]", &["network[1].centres"]),
        ("tcp:127.0.0.1:7700", "127.0.0.1:7700", &["link[0].address"]),
    ];
    for (from, to, places) in cases {
        assert_eq!(issues(&SECTION.replacen(from, to, 1)), places, "{to}");
    }
    let twice = SECTION.replace("[\"4477009\"]", "[\"44\", \"447700\"]");
    assert_eq!(issues(&twice), ["network[1].numbers[1]"]);
    let crowded = format!("{SECTION}correlations_max = 4000000\n");
    assert_eq!(issues(&crowded), ["signalling.correlations_max"]);
    let empty = SECTION.replace("link = [{ name", "# link = [{ name");
    assert_eq!(issues(&empty), ["link"]);
}

#[test]
fn a_country_code_by_which_no_number_is_found_is_told() {
    let of = |numbers: &str, code: &str| {
        issues(&format!(
            "name = \"sms1\"\nnumber = \"447700000099\"\ndomain = \"ims.example.org\"\n\
             listen = [\"udp:127.0.0.1:5090\"]\n\
             next_hop = [{{ name = \"scscf\", targets = [\"udp:127.0.0.1:6060\"] }}]\n\
             [centre]\nnumbers = {numbers}\ncountry_code = \"{code}\"\n"
        ))
    };
    for (numbers, code) in [("[\"4477\"]", "44"), ("[]", "44"), ("[\"4\"]", "44")] {
        assert!(of(numbers, code).is_empty(), "{numbers} {code}");
    }
    assert_eq!(of("[\"4477\", \"4478\"]", "49"), ["centre.country_code"]);
    assert_eq!(of("[\"4477\"]", "+44"), ["centre.country_code"]);
}
