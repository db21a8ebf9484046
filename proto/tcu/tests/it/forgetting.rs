//! An application's end keeps nothing of dialogues that are over or never were.

use tcu::{Client, Hello, Indication, Refusal, Request, Speech, Spelling, ToApplication};

const ADDRESS: sccp::codec::Address = sccp::codec::Address::subsystem(None, 6);

fn begin(reference: u64) -> Request {
    let portion = tcu::Portion { context: Some(vec![0x2a, 3].into()), ..tcu::Portion::default() };
    Request::Begin { reference, called: ADDRESS, calling: ADDRESS, state: None, portion }
}

fn hear(client: &mut Client, spelling: Spelling, it: Indication) {
    let mut octets = Vec::new();
    spelling.write(&ToApplication::Indication(it), Speech::Unknown, &mut octets);
    client.received(&octets, &mut |_| ()).unwrap();
}

#[test]
fn what_is_begun_is_forgotten_once_the_gateway_has_answered() {
    for spelling in [Spelling::Tagged, Spelling::Json] {
        let mut client = Client::new(Hello::new("a", "", "i"), spelling, None);
        let before = format!("{client:?}");
        for reference in 0..100 {
            client.write(&begin(reference), &mut Vec::new());
            let it = match reference % 2 {
                0 => Indication::Begun { reference, dialogue: reference },
                _ => Indication::Refused {
                    reference: Some(reference),
                    dialogue: None,
                    why: Refusal::Full,
                },
            };
            hear(&mut client, spelling, it);
            if reference % 2 == 0 {
                let portion = tcu::Portion::default();
                hear(&mut client, spelling, Indication::End { dialogue: reference, portion });
            }
        }
        assert_eq!(format!("{client:?}"), before);
    }
}
