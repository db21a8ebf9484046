//! Dialogs: made, matched, ordered, refreshed, confirmed; and the requests they write.

use dialog::{Dialog, Side, Verdict};
use sip::{Header, Message};

const INVITE: &str = "INVITE sip:bob@biloxi.example.com SIP/2.0\r\n\
    Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK74b43\r\n\
    Record-Route: <sip:p2.example.com;lr>, <sip:p1.example.com;lr>\r\n\
    Max-Forwards: 69\r\n\
    From: Alice <sip:alice@atlanta.example.com>;tag=9fxced76sl\r\n\
    To: Bob <sip:bob@biloxi.example.com>\r\n\
    Call-ID: 3848276298220188511@atlanta.example.com\r\n\
    CSeq: 2 INVITE\r\n\
    Contact: <sip:alice@client.atlanta.example.com;transport=udp>\r\n\
    Content-Length: 0\r\n\r\n";

const ANSWER: &str = "SIP/2.0 200 OK\r\n\
    Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK74b43\r\n\
    Record-Route: <sip:p2.example.com;lr>, <sip:p1.example.com;lr>\r\n\
    From: Alice <sip:alice@atlanta.example.com>;tag=9fxced76sl\r\n\
    To: Bob <sip:bob@biloxi.example.com>;tag=314159\r\n\
    Call-ID: 3848276298220188511@atlanta.example.com\r\n\
    CSeq: 2 INVITE\r\n\
    Contact: <sip:bob@client.biloxi.example.com>\r\n\
    Content-Length: 0\r\n\r\n";

fn parsed(bytes: &[u8]) -> Message<'_> {
    Message::parse(bytes).unwrap()
}

fn caller() -> Dialog {
    Dialog::from_response(&parsed(INVITE.as_bytes()), &parsed(ANSWER.as_bytes())).unwrap()
}

fn callee() -> Dialog {
    Dialog::from_request(&parsed(INVITE.as_bytes()), b"314159").unwrap()
}

/// A request as the other side writes it.
fn request(dialog: &Dialog, method: &str, cseq: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = dialog.begin_request(&mut bytes, method.as_bytes(), cseq);
    writer.header(Header::Via, b"SIP/2.0/UDP h;branch=z9hG4bK1");
    writer.header(Header::MaxForwards, b"70");
    writer.header(Header::Contact, b"<sip:elsewhere@192.0.2.77>");
    writer.end();
    bytes
}

#[test]
fn both_ends_see_the_same_dialog_from_their_side() {
    let (caller, callee) = (caller(), callee());
    assert_eq!(caller.call_id(), callee.call_id());
    assert_eq!(caller.local_tag(), b"9fxced76sl");
    assert_eq!(
        (caller.local_tag(), caller.remote_tag()),
        (callee.remote_tag(), callee.local_tag())
    );
    assert_eq!((caller.local(), caller.remote()), (callee.remote(), callee.local()));
    assert_eq!(caller.remote_target(), b"sip:bob@client.biloxi.example.com");
    assert_eq!(callee.remote_target(), b"sip:alice@client.atlanta.example.com;transport=udp");
    assert_eq!((caller.side(), callee.side()), (Side::Client, Side::Server));
    assert!(caller.is_confirmed() && !callee.is_confirmed());
    let hops =
        |dialog: &Dialog| -> Vec<Vec<u8>> { dialog.routes().iter().map(<[u8]>::to_vec).collect() };
    let mut reversed = hops(&callee);
    reversed.reverse();
    assert_eq!(hops(&caller), reversed);
}

#[test]
fn a_request_written_by_one_end_is_accepted_by_the_other_once() {
    let (mut caller, mut callee) = (caller(), callee());
    let cseq = caller.next_cseq().unwrap();
    assert_eq!(cseq, 3);
    let bye = request(&caller, "BYE", cseq);
    let text = String::from_utf8(bye.clone()).unwrap();
    assert!(text.starts_with("BYE sip:bob@client.biloxi.example.com SIP/2.0\r\n"));
    assert!(text.contains("Route: <sip:p1.example.com;lr>,<sip:p2.example.com;lr>\r\n"));
    assert_eq!(callee.in_dialog_request(&parsed(&bye)), Verdict::Accept);
    assert_eq!(callee.in_dialog_request(&parsed(&bye)), Verdict::OutOfOrder);
    assert_eq!(caller.in_dialog_request(&parsed(&bye)), Verdict::NotOurs);
}

#[test]
fn an_ack_has_the_number_of_its_invite_and_is_in_order() {
    let mut callee = callee();
    let ack = request(&caller(), "ACK", 2);
    assert_eq!(callee.in_dialog_request(&parsed(&ack)), Verdict::Accept);
    assert_eq!(callee.remote_cseq(), Some(2));
}

#[test]
fn the_first_request_of_the_callee_may_have_any_number() {
    let (mut caller, callee) = (caller(), callee());
    let info = request(&callee, "INFO", 1);
    assert_eq!(caller.in_dialog_request(&parsed(&info)), Verdict::Accept);
    let older = request(&callee, "INFO", 0);
    assert_eq!(caller.in_dialog_request(&parsed(&older)), Verdict::OutOfOrder);
}

#[test]
fn a_refreshed_target_moves_the_dialog_and_nothing_else() {
    let mut callee = callee();
    let update = request(&caller(), "UPDATE", 3);
    let before = (callee.local().to_vec(), callee.remote().to_vec());
    assert!(callee.refresh_target(&parsed(&update)));
    assert!(!callee.refresh_target(&parsed(&update)));
    assert_eq!(callee.remote_target(), b"sip:elsewhere@192.0.2.77");
    assert_eq!((callee.local().to_vec(), callee.remote().to_vec()), before);
    assert_eq!(callee.local_tag(), b"314159");
}

#[test]
fn an_early_dialog_takes_its_route_set_anew_when_it_is_confirmed() {
    let ringing = ANSWER.replace("200 OK", "180 Ringing").replace(
        "Record-Route: <sip:p2.example.com;lr>, <sip:p1.example.com;lr>\r\n",
        "Record-Route: <sip:p9.example.com;lr>\r\n",
    );
    let invite = parsed(INVITE.as_bytes());
    let mut early = Dialog::from_response(&invite, &parsed(ringing.as_bytes())).unwrap();
    assert!(!early.is_confirmed());
    assert_eq!(early.routes().first_uri(), Some(&b"sip:p9.example.com;lr"[..]));
    early.confirm_by(&parsed(ANSWER.as_bytes()));
    assert!(early.is_confirmed());
    assert_eq!(early.routes().first_uri(), Some(&b"sip:p1.example.com;lr"[..]));
}

#[test]
fn no_dialog_comes_from_a_100_a_failure_or_a_response_without_a_tag() {
    let invite = parsed(INVITE.as_bytes());
    for response in [
        ANSWER.replace("200 OK", "100 Trying"),
        ANSWER.replace("200 OK", "486 Busy Here"),
        ANSWER.replace(";tag=314159", ""),
    ] {
        assert!(Dialog::from_response(&invite, &parsed(response.as_bytes())).is_none());
    }
}

#[test]
fn a_request_without_a_contact_makes_no_dialog() {
    let bare =
        INVITE.replace("Contact: <sip:alice@client.atlanta.example.com;transport=udp>\r\n", "");
    assert!(Dialog::from_request(&parsed(bare.as_bytes()), b"1").is_none());
}

#[test]
fn a_sips_uri_makes_the_dialog_secure() {
    let secure = INVITE.replacen("INVITE sip:", "INVITE sips:", 1);
    assert!(Dialog::from_request(&parsed(secure.as_bytes()), b"1").unwrap().is_secure());
    assert!(!callee().is_secure());
}

#[test]
fn a_dialog_costs_well_below_a_kilobyte() {
    assert!(caller().bytes() < 600, "{} bytes", caller().bytes());
}

#[test]
fn the_numbers_of_a_dialog_end_before_2_31() {
    let invite = INVITE.replace("CSeq: 2 ", "CSeq: 2147483646 ");
    let answer = ANSWER.replace("CSeq: 2 ", "CSeq: 2147483646 ");
    let mut dialog =
        Dialog::from_response(&parsed(invite.as_bytes()), &parsed(answer.as_bytes())).unwrap();
    assert_eq!(dialog.next_cseq(), Some(2_147_483_647));
    assert_eq!(dialog.next_cseq(), None);
}
