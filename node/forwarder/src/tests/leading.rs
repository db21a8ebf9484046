//! Several controls of one forwarder: the one of the latest epoch leads, and nothing of an earlier
//! one comes after it.

use super::{Far, World, answer_of};
use crate::ipc::Reply;
use crate::{Control, Keys, Lost, ToPackets};
use nodes::Program;
use nodes::program::Removed;
use std::path::Path;

use super::peer::{Peer, awaited, numbers};

const KEY: &str = "0123456789abcdef";

fn key() -> Keys {
    Keys::parse(KEY).unwrap()
}

/// A control of an epoch, and whether it is welcome.
fn led(socket: &Path, keys: Option<&Keys>, epoch: u64) -> (Control, Result<(), String>) {
    let mut control = Control::lead(socket, keys.cloned(), epoch).unwrap();
    let answer = answer_of(&mut control);
    (control, answer)
}

fn channel(socket: &Path, keys: Option<&Keys>, epoch: Option<u64>) -> Far {
    let classes = vec![("other".to_owned(), 100)];
    let (socket, keys) = (socket.to_owned(), keys.cloned());
    Far::by(&ToPackets { socket, keys, classes, epoch })
}

/// Why a control is let go.
fn let_go(control: &mut Control) -> (Vec<String>, Lost) {
    let mut said = Vec::new();
    let lost = awaited("the end", || match control.replies() {
        Ok(replies) => {
            said.extend(replies.into_iter().filter_map(|reply| match reply {
                Reply::Refused { why, .. } => Some(why),
                _ => None,
            }));
            None
        }
        Err(lost) => Some(lost),
    });
    (said, lost)
}

#[test]
fn the_control_of_a_later_epoch_leads_and_programs_of_an_earlier_one_change_nothing() {
    for keys in [None, Some(key())] {
        let keys = keys.as_ref();
        let mut world = World::with(keys.cloned());
        let mut peer = Peer::meet(&world.memif, 2);
        world.hears("the link", |reply| matches!(reply, Reply::Link { port: 0, up: true, .. }));
        // One without an epoch gives way to one that has one.
        let (mut sixth, answer) = led(&world.socket, keys, 6);
        assert_eq!(answer, Ok(()));
        let (said, _) = let_go(&mut world.control);
        assert_eq!(said, ["epoch 6 leads, and this control is of epoch 0"]);
        let (mut seventh, answer) = led(&world.socket, keys, 7);
        assert_eq!(answer, Ok(()));
        // What the sixth says now, as one does that was stopped and goes on.
        let gone = Program::Remove(Removed::Port(0));
        let _ = sixth.apply(&[gone]);
        let (said, _) = let_go(&mut sixth);
        assert_eq!(said, ["epoch 7 leads, and this control is of epoch 6"]);
        assert_eq!(peer.exchange(), [numbers(0), numbers(1)], "the port stands");
        let (_, answer) = led(&world.socket, keys, 6);
        assert_eq!(answer, Err("epoch 7 leads, and this control is of epoch 6".to_owned()));
        // The same epoch again: while the one lives there is no second, then there is.
        let (_, answer) = led(&world.socket, keys, 7);
        assert_eq!(answer, Err("another control stands and lives".to_owned()));
        let mut plain = Control::connect(&world.socket, keys.cloned()).unwrap();
        let answer = answer_of(&mut plain);
        let none = Err("epoch 7 leads, and this control is of epoch 0".to_owned());
        assert_eq!(answer, none, "with a key too");
        assert!(seventh.replies().is_ok());
        drop(seventh);
        // Nor does one without an epoch come when none stands, or one that uses all of them up.
        let mut plain = Control::connect(&world.socket, keys.cloned()).unwrap();
        assert_eq!(answer_of(&mut plain), none);
        let (_, answer) = led(&world.socket, keys, u64::MAX);
        assert_eq!(answer, Err(format!("epoch {} is too far ahead of 7", u64::MAX)));
        let (mut again, answer) = led(&world.socket, keys, 7);
        assert_eq!(answer, Ok(()));
        again.stop().unwrap();
        world.forwarder.join().unwrap().unwrap();
    }
}

#[test]
fn packet_channels_are_those_of_the_epoch_that_leads() {
    let world = World::with(Some(key()));
    let keys = key();
    let keys = Some(&keys);
    let mut peer = Peer::meet(&world.memif, 2);
    let mut plain = channel(&world.socket, keys, None).opens();
    let (_sixth, answer) = led(&world.socket, keys, 6);
    assert_eq!(answer, Ok(()));
    let none = "epoch 6 leads, and this control is of epoch 0";
    assert_eq!(plain.ends(), none, "one without an epoch is of nobody who leads");
    assert_eq!(channel(&world.socket, keys, None).ends(), none);
    assert_eq!(
        channel(&world.socket, keys, Some(7)).ends(),
        "epoch 6 leads, and this control is of epoch 7",
        "none before its control"
    );
    let mut before = channel(&world.socket, keys, Some(6)).opens();
    let (mut seventh, answer) = led(&world.socket, keys, 7);
    assert_eq!(answer, Ok(()));
    assert_eq!(before.ends(), "epoch 7 leads, and this control is of epoch 6");
    let late = channel(&world.socket, keys, Some(6)).ends();
    assert_eq!(late, "epoch 7 leads, and this control is of epoch 6");
    let mut far = channel(&world.socket, keys, Some(7)).opens();
    peer.sends_to([10, 0, 0, 1], 0, 99, 1);
    awaited("the packet", || {
        far.look().unwrap();
        (!far.packets.is_empty()).then_some(())
    });
    seventh.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}
