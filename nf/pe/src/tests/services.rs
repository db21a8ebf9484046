//! Labels, pseudowires and classes: from the section to what the plane is told.

use super::{EDGE, compiled, things};
use crate::config::Pe;
use crate::desired::Desired;
use crate::numbers::Numbers;
use nodes::Program;
use nodes::program::{Hop, LabelAction, Mode, Push, Tunnel};

fn hops(desired: &Desired) -> Vec<(u32, Hop)> {
    things(desired, |it| match it {
        Program::Hop { id, hop } => Some((*id, hop.clone())),
        _ => None,
    })
}

fn actions(desired: &Desired) -> Vec<LabelAction> {
    things(desired, |it| match it {
        Program::Label { action, .. } => Some(action.clone()),
        _ => None,
    })
}

/// What is wrong with a section, each with its mend.
fn issues(text: &str) -> Vec<String> {
    let pe: Pe = toml::from_str(text).expect("a section");
    let mut issues = Vec::new();
    pe.validate(&mut issues);
    issues.iter().map(|it| format!("{}: {} ({})", it.path, it.what, it.mend)).collect()
}

#[test]
fn a_pseudowire_has_its_control_word_and_flow_label_both_ways_and_over_its_backup() {
    let with = "label_in = 300, control_word = true, flow_label = true, \
                backup = { gateway = \"10.0.0.3\", labels = [302] }";
    let desired = compiled(&EDGE.replace("label_in = 300", with), &mut Numbers::default());
    let hops = hops(&desired);
    let pushes: Vec<&Push> = hops
        .iter()
        .filter_map(|(_, hop)| match hop {
            Hop::Push(push) => Some(push),
            _ => None,
        })
        .collect();
    let labels: Vec<&[u32]> = pushes.iter().map(|push| &*push.labels).collect();
    assert_eq!(labels, [[301], [302]]);
    assert!(pushes.iter().all(|push| push.control_word && push.flow_label && !push.entropy));
    let place = |id: u32| hops.iter().position(|(hop, _)| *hop == id).expect("it is said");
    let modes = things(&desired, |it| match it {
        Program::Interface(it) => Some(it.mode.clone()),
        _ => None,
    });
    let way = modes.iter().find_map(|mode| match mode {
        Mode::CrossConnect { hop } if *hop != 0 => Some(*hop),
        _ => None,
    });
    let (_, Hop::Backup { primary, backup }) = &hops[place(way.expect("a way"))] else {
        panic!("{hops:?}")
    };
    assert!(place(*primary) < place(way.unwrap_or(0)) && place(pushes[0].over) < place(*primary));
    assert!(place(*backup) < place(way.unwrap_or(0)));
    let wire = LabelAction::PopInterface { interface: 3, control_word: true, flow_label: true };
    assert_eq!(actions(&desired)[1], wire);
}

#[test]
fn labels_hide_hops_or_do_not_as_their_model_says() {
    let text = EDGE
        .replace("label = 100", "label = 100\ntunnel = \"uniform\"")
        .replace("labels = [200]", "labels = [200], tunnel = \"uniform\", entropy = true")
        + "[[label]]\nlabel = 500\nvia = [{ gateway = \"10.0.0.2\", weight = 3 }]\n\
           backup = { gateway = \"10.0.0.3\", labels = [501] }\ntunnel = \"short-pipe\"\n";
    let desired = compiled(&text, &mut Numbers::default());
    let found = actions(&desired);
    assert_eq!(found[0], LabelAction::PopVrf { vrf: 1, tunnel: Tunnel::Uniform });
    let LabelAction::Forward { hop, tunnel: Tunnel::ShortPipe } = found[3] else {
        panic!("{found:?}")
    };
    let hops = hops(&desired);
    assert!(hops.iter().any(|(id, it)| *id == hop && matches!(it, Hop::Backup { .. })));
    let pushed = hops.iter().find_map(|(_, hop)| match hop {
        Hop::Push(push) if push.labels == [200] => Some((push.tunnel, push.entropy)),
        _ => None,
    });
    assert_eq!(pushed, Some((Tunnel::Uniform, true)));
}

#[test]
fn labels_that_cannot_be_are_refused_with_their_mend() {
    let wire = "label_in = 300, flow_label = true";
    let text = EDGE
        .replace("label_in = 300", wire)
        .replace("labels = [301]", "labels = [301], entropy = true, tunnel = \"uniform\"")
        + "[[label]]\nlabel = 500\nvia = [{ gateway = \"10.0.0.2\", entropy = true }]\n\
           [[label]]\nlabel = 501\npop = true\nbackup = { interface = \"ge0\", labels = [16] }\n";
    assert_eq!(
        issues(&text),
        [
            "label[0].via[0].entropy: an entropy label needs labels before it (add `labels`)",
            "label[0].via[0].entropy: the edge where the packet came in has put its entropy label \
             (remove it)",
            "label[1].backup: packets with labels go to a neighbour (add `gateway`)",
            "label[1].backup: there is no way that this one stands in for (add `via`)",
            "cross_connect[0].pseudowire.via.tunnel: a frame has no time to live that its labels \
             could have (use `pipe`)",
            "cross_connect[0].pseudowire.via.entropy: an entropy label and a flow label do the \
             same (use one of them)",
        ]
    );
}
