//! A node dies at every step of what goes on inside a call: whatever was told to its standby, and
//! whichever of its messages had left, the call goes on.

use crate::world::ends::Ends;
use crate::world::pair::Pair;
use crate::world::*;
use machine::Duration;

/// Far ends are patient for less than 32 s.
const SETTLED: Duration = Duration::from_secs(10);

/// What goes on.
#[derive(Debug, Clone, Copy)]
struct Scene {
    method: &'static str,
    /// Who asks.
    by: usize,
    refuses: bool,
    late_offer: bool,
}

const SCENES: [Scene; 8] = [
    scene("INVITE", 0, false, false),
    scene("INVITE", 1, false, false),
    scene("INVITE", 0, true, false),
    scene("INVITE", 1, true, false),
    scene("INVITE", 0, false, true),
    scene("UPDATE", 0, false, false),
    scene("BYE", 0, false, false),
    scene("BYE", 1, false, false),
];

const fn scene(method: &'static str, by: usize, refuses: bool, late_offer: bool) -> Scene {
    Scene { method, by, refuses, late_offer }
}

/// The node dies after `steps` of its messages have left; `None` when there are fewer.
fn killed_after(scene: Scene, steps: usize) -> Option<(Pair, Ends)> {
    let mut pair = Pair::new(SITE);
    let mut ends = Ends::of(pair.active.call("one"));
    ends.late_offer = scene.late_offer;
    for end in &mut ends.ends {
        end.refuses = scene.refuses;
    }
    ends.request(&mut pair.active, scene.by, scene.method);
    for _ in 0..steps {
        if !ends.deliver(&mut pair.active) {
            return None;
        }
    }
    pair.active.sent.clear();
    pair.fail_over();
    Some((pair, ends))
}

#[test]
fn whichever_of_its_messages_a_node_dies_after_the_call_goes_on() {
    for scene in SCENES {
        let mut runs = 0;
        while let Some((mut pair, mut ends)) = killed_after(scene, runs) {
            let what = format!("{scene:?}, killed after {runs} messages");
            ends.pass(&mut pair.active, SETTLED);
            assert!(ends.are_quiet(), "{what}: {:#?}", ends.ends);
            let wanted: &[u16] = match scene {
                Scene { method: "BYE", .. } => &[200, 481],
                Scene { refuses: true, .. } => &[488],
                _ => &[200],
            };
            let finals = &ends.ends[scene.by].finals;
            assert!(finals.len() == 1 && wanted.contains(&finals[0]), "{what}: {finals:?}");
            if scene.late_offer {
                assert_eq!(ends.ends[1].acks, [SDP], "{what}");
            }
            if scene.method != "BYE" {
                ends.request(&mut pair.active, 1 - scene.by, "BYE");
                ends.pass(&mut pair.active, SETTLED);
                assert!(ends.are_quiet(), "{what}: {:#?}", ends.ends);
                assert_eq!(ends.ends[1 - scene.by].finals, [200], "{what}");
            }
            pair.active.sent.clear();
            pair.active.expect_idle();
            runs += 1;
        }
        assert!(runs > 2, "{scene:?}: {runs}");
    }
}
