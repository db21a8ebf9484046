//! Writing.

use crate::{Contact, NAMESPACE, Reginfo, Registration};

impl Reginfo {
    /// Appends the document.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<?xml version=\"1.0\"?>\n<reginfo");
        attribute(out, "xmlns", NAMESPACE);
        attribute(out, "version", &self.version.to_string());
        attribute(out, "state", self.state.word());
        out.extend_from_slice(b">\n");
        self.registrations.iter().for_each(|registration| registration.write(out));
        out.extend_from_slice(b"</reginfo>\n");
    }
}

impl Registration {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"  <registration");
        attribute(out, "aor", &self.aor);
        attribute(out, "id", &self.id);
        attribute(out, "state", self.state.word());
        out.extend_from_slice(b">\n");
        self.contacts.iter().for_each(|contact| contact.write(out));
        out.extend_from_slice(b"  </registration>\n");
    }
}

impl Contact {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"    <contact");
        attribute(out, "id", &self.id);
        attribute(out, "state", self.state.word());
        attribute(out, "event", self.event.word());
        if let Some(expires_s) = self.expires_s {
            attribute(out, "expires", &expires_s.to_string());
        }
        out.extend_from_slice(b">\n      <uri>");
        escaped(out, &self.uri);
        out.extend_from_slice(b"</uri>\n    </contact>\n");
    }
}

fn attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    escaped(out, value);
    out.push(b'"');
}

/// Text in which nothing means anything (XML 1.0 §2.4). What no document may have is left out.
fn escaped(out: &mut Vec<u8>, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\t' | '\n' | '\r' => out.extend_from_slice(format!("&#{};", letter as u32).as_bytes()),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => {}
            _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}
