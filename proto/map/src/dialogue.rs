//! What MAP says when dialogues begin, are accepted, refused and broken off: user information of
//! TCAP (TS 29.002 §17.4).

use crate::types::MapDialoguePdu;
use ber::{Element, Fill, Tag, Writer};
use wire::Malformed;

const SPEC: &str = "TS 29.002 §17.4";
/// Contents of map-DialogueAS: 0.4.0.0.1.1.1.1.
const DIALOGUE_AS: &[u8] = &[4, 0, 0, 1, 1, 1, 1];
/// single-ASN1-type of an EXTERNAL (X.690 §8.18).
const SINGLE: Tag = Tag::context(0);

/// Appends an EXTERNAL with a dialogue PDU in it.
pub fn write(out: &mut Vec<u8>, pdu: impl FnOnce(&mut Fill<'_, '_, MapDialoguePdu>)) {
    Writer::new(out).constructed(Tag::EXTERNAL, |out| {
        out.primitive(Tag::OBJECT_IDENTIFIER, DIALOGUE_AS);
        out.constructed(SINGLE, |out| out.record(pdu));
    });
}

/// Appends an EXTERNAL around a dialogue PDU that is a whole element.
pub fn wrap(out: &mut Vec<u8>, pdu: &[u8]) {
    Writer::new(out).constructed(Tag::EXTERNAL, |out| {
        out.primitive(Tag::OBJECT_IDENTIFIER, DIALOGUE_AS);
        out.constructed(SINGLE, |out| out.element(pdu));
    });
}

/// Reads an EXTERNAL of user information: the dialogue PDU; none when it holds something else.
///
/// # Errors
/// It is no EXTERNAL, or the dialogue PDU in it is not well-formed.
pub fn read(external: Element<'_>) -> Result<Option<(MapDialoguePdu, Element<'_>)>, Malformed> {
    if external.tag() != Tag::EXTERNAL {
        return Err(external.violation("user information is an EXTERNAL", SPEC));
    }
    let mut children = external.children()?;
    let syntax = children.next().transpose()?;
    if syntax.is_none_or(|it| it.tag() != Tag::OBJECT_IDENTIFIER || it.contents() != DIALOGUE_AS) {
        return Ok(None);
    }
    let value = children.only()?;
    if value.tag() != SINGLE {
        return Err(value.violation("single-ASN1-type lacks", SPEC));
    }
    MapDialoguePdu::read(value.inner()?)
}
