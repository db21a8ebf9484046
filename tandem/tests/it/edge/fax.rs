//! A fax by T.38 through an anchored call: SIPp makes an image of its sound by a re-INVITE, and
//! terminals of spandsp send a page. Datagrams of UDPTL pass as they are, each once and in order.

use super::phones::{AT_ALICE, AT_BOB, CORE, stream, two_hosts_with};
use super::sipp::{Sipp, description, send};
use super::web::{ENDS, End, PYTHON};
use super::{Host, Scene, words};
use std::fs;
use std::path::Path;
use std::process::Command;

const SOUND: &str = "m=audio 6000 RTP/AVP 8\na=rtpmap:8 PCMA/8000";
const IMAGE: &str = "m=image 7002 udptl t38\na=T38FaxVersion:0\na=T38MaxBitRate:14400\n\
                     a=T38FaxRateManagement:transferredTCF\na=T38FaxMaxBuffer:1024\n\
                     a=T38FaxMaxDatagram:400\na=T38FaxUdpEC:t38UDPRedundancy";
/// The Call-ID of the caller's leg.
const CALL: &str = "fax@192.0.2.100";

/// What stands in each request of the caller, with its number.
fn request(method: &str, uri: &str, number: u32) -> String {
    format!(
        "{method} {uri} SIP/2.0\n\
         Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]\n\
         From: <sip:alice@[local_ip]>;tag=[pid]a\n\
         To: <sip:bob@[remote_ip]>{}\nCall-ID: [call_id]\nCSeq: {number} {method}",
        if number == 1 && method == "INVITE" { "" } else { "[peer_tag_param]" }
    )
}

/// Calls with sound, makes an image of it, and hangs up when it is told by a MESSAGE.
fn caller() -> String {
    let provisional = |status: u16| format!("<recv response=\"{status}\" optional=\"true\"/>\n");
    let answered = || {
        let taken = "<recv response=\"200\" rrs=\"true\"/>\n";
        provisional(100) + &provisional(180) + taken
    };
    let message = "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:];tag=m\n\
                   [last_Call-ID:]\n[last_CSeq:]";
    [
        send(&request("INVITE", "sip:bob@[remote_ip]:[remote_port]", 1), &description(SOUND)),
        answered(),
        send(&request("ACK", "[next_url]", 1), ""),
        send(&request("INVITE", "[next_url]", 2), &description(IMAGE)),
        answered(),
        send(&request("ACK", "[next_url]", 2), ""),
        "<recv request=\"MESSAGE\"/>\n".to_owned(),
        send(message, ""),
        send(&request("BYE", "[next_url]", 3), ""),
        "<recv response=\"200\"/>\n".to_owned(),
    ]
    .concat()
}

/// Answers both with the same.
fn called() -> String {
    let answer = |body: &str| {
        let head = "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:];tag=[pid]b\n\
                    [last_Call-ID:]\n[last_CSeq:]";
        send(head, body)
    };
    let again = |body: &str| {
        // The tag is in the request by now.
        let head =
            "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:]\n[last_Call-ID:]\n[last_CSeq:]";
        send(head, body)
    };
    [
        "<recv request=\"INVITE\"/>\n".to_owned(),
        answer(&description(SOUND)),
        "<recv request=\"ACK\"/>\n<recv request=\"INVITE\"/>\n".to_owned(),
        again(&description(IMAGE)),
        "<recv request=\"ACK\"/>\n<recv request=\"BYE\"/>\n".to_owned(),
        again(""),
    ]
    .concat()
}

/// Tells the caller to hang up.
fn hang_up(host: &Host) {
    let text = format!(
        "MESSAGE sip:alice@192.0.2.100 SIP/2.0\r\n\
         Via: SIP/2.0/UDP 192.0.2.100:5999;branch=z9hG4bKover\r\nFrom: <sip:test@here>;tag=t\r\n\
         To: <sip:alice@192.0.2.100>\r\nCall-ID: {CALL}\r\nCSeq: 1 MESSAGE\r\n\
         Max-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
    );
    let send = "import socket, sys\nit = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                it.sendto(sys.argv[1].encode(), ('192.0.2.100', 5060))\n";
    assert!(host.run(&[PYTHON, "-c", send, &text]).status.success());
}

fn lines(file: &Path, more: &str) -> Vec<String> {
    let path = format!("{}.{more}", file.display());
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The dots of a page.
fn dots(file: &Path) -> Vec<u8> {
    let mut program = Command::new("ffmpeg");
    program.args(["-v", "error", "-i"]).arg(file);
    let output = program.args(["-f", "rawvideo", "-pix_fmt", "gray", "-"]).output();
    let output = output.expect("ffmpeg is installed (make setup)");
    assert!(output.status.success(), "{}", words(&output.stderr));
    output.stdout
}

#[test]
fn a_page_goes_by_t38_through_a_call_that_began_as_sound() {
    let mut scene = Scene::new();
    let access = "media = { anchor = true }";
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [access, CORE]);
    let [_, alice, proxy] = AT_ALICE;
    let bob = AT_BOB[1];
    let called = Sipp::start(&scene, &b, ["called", bob], &called(), &[]);
    let proxy = format!("{proxy}:5060");
    let caller = caller();
    let more = [&*proxy, "-cid_str", CALL];
    let caller = Sipp::start(&scene, &a, ["caller", alice], &caller, &more);
    let image = stream(&scene, "it becomes no image", |it| it["kind"] == "image");
    let to = |end: usize| image["ends"][end]["local"].as_str().unwrap().to_owned();
    let script = format!("{ENDS}/fax.py");
    let (out, into) = (scene.folder.path().join("out.tif"), scene.folder.path().join("in.tif"));
    let (out_name, into_name) = (out.display().to_string(), into.display().to_string());
    let (near, far) = (to(0), to(1));
    let command = [PYTHON, "-B", &script, "answers", bob, "7002", &far, &into_name];
    let mut takes = End::start(&scene, &b, "takes", &command);
    let command = [PYTHON, "-B", &script, "calls", alice, "7002", &near, &out_name];
    let mut sends = End::start(&scene, &a, "sends", &command);
    assert_eq!([takes.says(), sends.says()], [true, true]);
    takes.tell("begin");
    sends.tell("begin");
    assert_eq!([takes.says(), sends.says()], [0, 0], "T.30 ended well at both");
    for (from, to) in [(&out, &into), (&into, &out)] {
        let (sent, came) = (lines(from, "sent"), lines(to, "came"));
        // Who has ended does not hear the last ones.
        assert!(came.len() > 40 && sent.starts_with(&came), "{sent:?}\n{came:?}");
    }
    assert!(dots(&out) == dots(&into), "it is another page");
    hang_up(&a);
    caller.succeeds();
    called.succeeds();
    assert_eq!(scene.rows(&["streams"]).len(), 0);
}
