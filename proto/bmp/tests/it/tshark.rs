//! tshark decodes every message that the crate writes, and calls none malformed.

use crate::every;
use crate::tshark_run;

const STATION_PORT: u16 = 11_019;

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let messages = every::messages();
    let bytes: Vec<&[u8]> = messages.iter().map(|(_, _, bytes)| &bytes[..]).collect();
    let is_bmp = format!("tcp.port=={STATION_PORT},bmp");
    let wanted = ["bmp.type", "_ws.expert.message", "_ws.malformed", "bgp.type"];
    let lines = tshark_run::fields(STATION_PORT, &bytes, &["-d", &is_bmp], &wanted);
    let mut faults = Vec::new();
    for (line, (name, kind, _)) in lines.iter().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[0], kind.to_string(), "{name}: {line}");
        // tshark 4.0 takes the information behind the two OPENs for a third BGP message.
        let is_unknown = name.contains("with information");
        let is_clean = fields[1].is_empty() && fields[2].is_empty();
        if !is_clean && !is_unknown {
            faults.push(format!("{name}: {line}"));
        }
        // The BGP messages inside are found: of a Peer Up both OPENs, of a route its UPDATE.
        let inside = match kind {
            0 => "2",
            3 => "1,1",
            _ => fields[3],
        };
        assert_eq!(fields[3], inside, "{name}: {line}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
