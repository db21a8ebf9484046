//! What is read of the XML of Sh (TS 29.328 Annex D): the text of single elements. Entities are not
//! expanded; comments and processing instructions are passed over.

/// The text of the first element of that name, whatever its prefix, up to the next tag.
pub(crate) fn text_of<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = xml;
    loop {
        let (_, tag) = rest.split_once('<')?;
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let (head, behind) = tag.split_once('>')?;
        rest = behind;
        let qualified = head.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default();
        let local = qualified.rsplit(':').next().unwrap_or_default();
        if local == name && !head.starts_with('/') {
            let text = behind.split('<').next().filter(|_| !head.ends_with('/'));
            return Some(text.unwrap_or_default().trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_element_is_found_and_of_nothing_else() {
        for (xml, expected) in [
            (
                "<Sh-Data><PublicIdentifiers><MSISDN>4477</MSISDN></PublicIdentifiers></Sh-Data>",
                Some("4477"),
            ),
            ("<?xml version=\"1.0\"?><sh:MSISDN xmlns:sh=\"x\"> 44 </sh:MSISDN>", Some("44")),
            ("<!-- <MSISDN>1</MSISDN> --><MSISDN>2</MSISDN>", Some("2")),
            ("<MSISDNType>1</MSISDNType>", None),
            ("<MSISDN/><A>3</A>", Some("")),
            ("</MSISDN>4", None),
            ("<MSISDN", None),
            ("", None),
        ] {
            assert_eq!(text_of(xml, "MSISDN"), expected, "{xml}");
        }
    }
}
