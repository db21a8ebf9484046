//! The player is held to the laws of machines, whatever roles are told.

use crate::world::named;
use bytes::Bytes;
use sccp::codec::Address;
use scenario::{In, Player};
use sim::{Random, hold};
use std::sync::Arc;
use tcap::PAbort;
use tcu::{Code, Component, Indication, Portion};

/// A message that may be one of the scenario, or not.
fn portion(random: &mut Random) -> Portion {
    let id = i8::try_from(random.below(3)).unwrap();
    let code = || Code::Local(45);
    let parameter = Some(Bytes::from_static(&[0x30, 0]));
    let component = match random.below(4) {
        0 => Component::Invoke {
            id,
            linked: None,
            code: code(),
            parameter,
            class: None,
            time_ms: None,
        },
        1 => Component::Result { id, is_last: true, result: Some((code(), parameter)) },
        2 => Component::Error { id, code: Code::Local(1), parameter: None },
        _ => Component::Result { id, is_last: false, result: None },
    };
    let context = random.chance(0.5).then(|| Bytes::from_static(&[4, 0, 0, 1, 0, 20, 3]));
    let components = if random.chance(0.8) { vec![component] } else { Vec::new() };
    Portion { context, user_information: Bytes::new(), components }
}

#[test]
fn a_player() {
    for name in ["map-sri-for-sm", "mt-sms", "ussd"] {
        let make = || {
            let program = named(name);
            let is_here = vec![true; program.roles.len()];
            let now = machine::Time::ZERO;
            let mut player = Player::new(Arc::new(program), is_here, 1, now);
            player.start(now, Some(50));
            player
        };
        let input = |random: &mut Random| {
            let role = usize::try_from(random.below(2)).unwrap();
            let dialogue = random.below(6);
            let address = Address::subsystem(None, 6);
            let it = match random.below(10) {
                0 | 1 => Indication::Begin {
                    dialogue: 100 + dialogue,
                    called: address,
                    calling: address,
                    is_again: false,
                    portion: portion(random),
                },
                2 => Indication::Continue { dialogue, portion: portion(random) },
                3 => Indication::End { dialogue, portion: portion(random) },
                4 => Indication::UAbort { dialogue, refused: None, portion: portion(random) },
                5 => Indication::PAbort { dialogue, cause: PAbort::Idle },
                6 => Indication::Notice { dialogue, cause: 1 },
                7 => Indication::Cancel { dialogue, id: 1 },
                // References have slot, generation and dialogue.
                8 => Indication::Begun { reference: random.below(20) << 2, dialogue },
                _ => return In::Lost(role, "gone".into()),
            };
            In::Indication(role, it)
        };
        (0..40).for_each(|seed| hold(seed, make, input));
    }
}
