//! A program that speaks as `tandem` does where it is packaged, and is built at once.

use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["man", folder] => {
            let page = ".TH tandem 1\n.SH NAME\ntandem \\- virtual network functions\n";
            std::fs::write(Path::new(folder).join("tandem.1"), page).expect("written");
        }
        ["completion", shell] => println!("# completions of tandem for {shell}"),
        ["check", file] => {
            let text = std::fs::read_to_string(file).expect("the site is readable");
            assert!(text.contains("[site]"));
        }
        _ => println!("Usage: tandem"),
    }
}
