//! Services inside the gateway: the same as in a program apart, in the same turn.

use crate::world::{World, invoke, result, settings};
use machine::{Duration, Time};
use std::sync::{Arc, Mutex};
use tcu::{Component, Indication, Portion, Request, Service, Settings};

/// Goes on with a dialogue until it is asked a third time; keeps what it was told.
#[derive(Clone, Default)]
struct Thrice(Arc<Mutex<Vec<Indication>>>);

impl Service for Thrice {
    fn indicated(&mut self, _: Time, it: Indication, wants: &mut Vec<Request>) {
        self.0.lock().unwrap().push(it.clone());
        let (Some(dialogue), Some(portion)) = (it.dialogue(), it.portion()) else { return };
        let is_last =
            portion.components.iter().any(|it| matches!(it, Component::Invoke { id: 3, .. }));
        let answer = |it: &Component| match it {
            Component::Invoke { id, .. } => Some(result(*id)),
            _ => None,
        };
        let portion = Portion::of(portion.components.iter().filter_map(answer).collect());
        let is_prearranged = false;
        wants.push(match is_last {
            true => Request::End { dialogue, is_prearranged, portion },
            false => Request::Continue { dialogue, state: None, portion },
        });
    }
}

impl Thrice {
    fn boxed(&self) -> Option<Box<dyn Service + Send>> {
        Some(Box::new(self.clone()))
    }

    fn told(&self) -> Vec<Indication> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The far end goes on with its dialogue.
fn go_on(world: &mut World, dialogue: tcap::DialogueId, id: i8) {
    let (dialogue, portion) = (dialogue.number(), Portion::of(vec![invoke(id)]));
    world.far(&Request::Continue { dialogue, state: None, portion });
}

#[test]
fn a_dialogue_goes_on_with_a_service_inside_until_it_ends() {
    let mut world = World::new(settings());
    assert!(!world.application.is_available());
    let service = Thrice::default();
    world.serve_inside(service.boxed());
    assert!(world.application.is_available() && world.application.is_inside());
    let far = world.begin(vec![invoke(1)]);
    assert!(matches!(world.heard()[..], [Indication::Continue { .. }]));
    assert_eq!((world.status().dialogues, world.near.len()), (1, 1));
    go_on(&mut world, far, 2);
    assert!(matches!(world.heard()[..], [Indication::Continue { .. }]));
    go_on(&mut world, far, 3);
    let heard = world.heard();
    let [Indication::End { portion, .. }] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(portion.components, [result(3)]);
    assert_eq!((world.status().dialogues, world.near.len(), world.far.len()), (0, 0, 0));
    assert_eq!(service.told().len(), 3);
    let status = world.status();
    let [instance] = &status.instances[..] else { panic!("{status:?}") };
    assert_eq!(
        (&*instance.name, instance.state, status.counts.begun_there),
        ("inside", "ready", 1)
    );
    let (_, counts) = world.application.tally().operations().last().unwrap();
    assert_eq!(counts.asked_there, 3);
}

#[test]
fn another_service_goes_on_with_the_dialogues_of_the_one_before_and_without_one_they_end() {
    let mut world = World::new(settings());
    let [first, second] = [Thrice::default(), Thrice::default()];
    world.serve_inside(first.boxed());
    let far = world.begin(vec![invoke(1)]);
    world.serve_inside(second.boxed());
    go_on(&mut world, far, 2);
    assert_eq!((first.told().len(), second.told().len()), (1, 1));
    world.heard();
    world.serve_inside(None);
    assert!(matches!(world.heard()[..], [Indication::UAbort { .. }]), "nobody goes on with it");
    assert_eq!((world.status().dialogues, world.near.len(), world.far.len()), (0, 0, 0));
    assert!(!world.application.is_available());
    world.begin(vec![invoke(1)]);
    assert_eq!((world.status().counts.lost, world.status().counts.absent), (1, 1));
}

#[test]
fn what_a_service_asks_for_in_vain_it_is_told_and_limits_hold_for_it_too() {
    let mut world = World::new(Settings { dialogues_max: 1, ..settings() });
    /// Goes on with every dialogue, and with one that is not there.
    struct Wrong(Thrice);
    impl Service for Wrong {
        fn indicated(&mut self, now: Time, it: Indication, wants: &mut Vec<Request>) {
            if matches!(it, Indication::Begin { .. }) {
                let portion = Portion::default();
                wants.push(Request::Continue { dialogue: 4_711, state: None, portion });
            }
            self.0.indicated(now, it, wants);
        }
    }
    let service = Thrice::default();
    world.serve_inside(Some(Box::new(Wrong(service.clone()))));
    world.begin(vec![invoke(1)]);
    let told = service.told();
    assert!(matches!(told[..], [Indication::Begin { .. }, Indication::Refused { .. }]), "{told:?}");
    assert!(matches!(world.heard()[..], [Indication::Continue { .. }]));
    world.begin(vec![invoke(1)]);
    assert!(matches!(world.heard()[..], [Indication::UAbort { .. }]));
    assert_eq!((world.status().counts.shed_full, world.status().dialogues), (1, 1));
    assert!(service.told().is_empty());
}

#[test]
fn a_service_is_told_of_other_nodes_when_time_passes() {
    let mut world = World::new(settings());
    let service = Thrice::default();
    world.serve_inside(service.boxed());
    let point_code = m3ua::codec::PointCode::new(9).unwrap();
    let it = Indication::State { point_code, subsystem: 8, in_service: false };
    world.application.tell(world.now, &it);
    assert_eq!(world.application.deadline(), Some(world.now));
    world.pass(Duration::from_millis(1));
    assert_eq!(service.told(), [it]);
    assert_eq!(world.application.deadline(), None);
}
