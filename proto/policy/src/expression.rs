//! Expressions over the ASes of a path, as text and as a tree.
//!
//! ```text
//! expression  = sequence *("|" sequence)
//! sequence    = *( atom [ "*" / "+" / "?" / "{n}" / "{n,}" / "{n,m}" ] )      blanks between
//! atom        = "^" / "$" / "." / asns / "[" ["^"] *asns "]" / "(" expression ")"
//! asns        = asn / asn-asn
//! ```

use super::InvalidText;

/// Octets of an expression.
const EXPRESSION_BYTES_MAX: usize = 8_192;
/// Parentheses inside of each other.
const DEPTH_MAX: usize = 32;
/// Repetitions that `{n,m}` can ask for.
const REPEAT_MAX: usize = 64;

/// ASes, as ranges.
pub type Ranges = Vec<(u32, u32)>;

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One AS of these.
    Symbol(Ranges),
    /// The path begins here.
    Start,
    /// The path ends here.
    End,
    /// One after the other.
    Sequence(Vec<Node>),
    /// One of them.
    Either(Vec<Node>),
    /// At least and at most so many times.
    Repeat(Box<Node>, usize, Option<usize>),
}

impl Node {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, InvalidText> {
        if text.trim().is_empty() {
            let hint = "take it out, or write ^$ for the empty path";
            return Err(InvalidText::new("the expression is empty", hint));
        }
        if text.len() > EXPRESSION_BYTES_MAX {
            let what = format!("the expression is longer than {EXPRESSION_BYTES_MAX} octets");
            return Err(InvalidText::new(what, "split the rule"));
        }
        let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0 };
        let node = parser.either()?;
        match parser.peek() {
            None => Ok(node),
            Some(_) => Err(parser.wrong("a `)` without `(`", "take it out, or add the other one")),
        }
    }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn wrong(&self, what: &str, hint: &str) -> InvalidText {
        InvalidText::new(format!("{what}, at character {} of the expression", self.at + 1), hint)
    }

    /// The next octet that is not blank.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, octet: u8) -> bool {
        let is_it = self.peek() == Some(octet);
        self.at += usize::from(is_it);
        is_it
    }

    fn either(&mut self) -> Result<Node, InvalidText> {
        let mut all = vec![self.sequence()?];
        while self.take(b'|') {
            all.push(self.sequence()?);
        }
        if all.len() == 1 {
            return Ok(all.remove(0));
        }
        // One AS or another is one set: lists of ASes stay small.
        let ranges = all.iter().map(|node| match node {
            Node::Symbol(ranges) => Some(ranges.as_slice()),
            _ => None,
        });
        match ranges.collect::<Option<Vec<_>>>() {
            Some(ranges) => Ok(Node::Symbol(ranges.concat())),
            None => Ok(Node::Either(all)),
        }
    }

    fn sequence(&mut self) -> Result<Node, InvalidText> {
        let mut all = Vec::new();
        while let Some(octet) = self.peek().filter(|octet| !matches!(octet, b'|' | b')')) {
            let atom = self.atom(octet)?;
            all.push(self.repeated(atom)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Sequence(all) })
    }

    fn atom(&mut self, octet: u8) -> Result<Node, InvalidText> {
        match octet {
            b'0'..=b'9' => return Ok(Node::Symbol(vec![self.range()?])),
            b'[' => return self.set(),
            b'(' => return self.group(),
            b'^' | b'$' | b'.' => {}
            b'*' | b'+' | b'?' | b'{' => {
                return Err(
                    self.wrong("nothing stands before the repetition", "write an AS, . or ( )")
                );
            }
            b'_' => {
                let hint = "ASes are whole here: write a blank, ^ at the start, $ at the end";
                return Err(self.wrong("`_` is no AS", hint));
            }
            _ => {
                let hint = "write ASes, . [ ] ( ) | * + ? { } ^ $ and blanks";
                return Err(self.wrong("a character that means nothing", hint));
            }
        }
        self.at += 1;
        Ok(match octet {
            b'^' => Node::Start,
            b'$' => Node::End,
            _ => Node::Symbol(vec![(0, u32::MAX)]),
        })
    }

    fn group(&mut self) -> Result<Node, InvalidText> {
        if self.depth == DEPTH_MAX {
            let what = format!("more than {DEPTH_MAX} parentheses inside of each other");
            return Err(self.wrong(&what, "write it flatter"));
        }
        self.at += 1;
        self.depth += 1;
        let node = self.either()?;
        self.depth -= 1;
        if self.take(b')') {
            return Ok(node);
        }
        Err(self.wrong("a `(` without `)`", "add the other one"))
    }

    fn digits(&mut self) -> Option<u32> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = core::str::from_utf8(&self.text[start..self.at]).ok()?;
        digits.parse().ok()
    }

    /// An AS, or a range of them.
    fn range(&mut self) -> Result<(u32, u32), InvalidText> {
        let start = self.at;
        let range = self.digits().and_then(|least| {
            if self.text.get(self.at) != Some(&b'-') {
                return Some((least, least));
            }
            self.at += 1;
            Some((least, self.digits()?))
        });
        range.filter(|(least, most)| least <= most).ok_or_else(|| {
            self.at = start;
            self.wrong("no AS", "write 65001, or 64512-65534, of at most 4294967295")
        })
    }

    fn set(&mut self) -> Result<Node, InvalidText> {
        self.at += 1;
        let is_inverse = self.take(b'^');
        let mut ranges = Vec::new();
        while !self.take(b']') {
            match self.peek() {
                Some(b'0'..=b'9') => ranges.push(self.range()?),
                Some(_) => return Err(self.wrong("no AS", "write ASes and blanks inside of [ ]")),
                None => return Err(self.wrong("a `[` without `]`", "add the other one")),
            }
        }
        if ranges.is_empty() {
            return Err(self.wrong("the set is empty", "write ASes inside of [ ]"));
        }
        Ok(Node::Symbol(if is_inverse { inverse(ranges) } else { ranges }))
    }

    fn repeated(&mut self, node: Node) -> Result<Node, InvalidText> {
        let bounds = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => self.counts()?,
            _ => return Ok(node),
        };
        if matches!(node, Node::Start | Node::End) {
            return Err(self.wrong("an end of the path is repeated", "take the repetition out"));
        }
        self.at += 1;
        if matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{')) {
            return Err(self.wrong("two repetitions", "take one of them out"));
        }
        Ok(Node::Repeat(Box::new(node), bounds.0, bounds.1))
    }

    /// The numbers in braces, up to the closing one.
    fn counts(&mut self) -> Result<(usize, Option<usize>), InvalidText> {
        let start = self.at;
        self.at += 1;
        let least = self.digits();
        let most = match self.text.get(self.at) {
            Some(b',') => {
                self.at += 1;
                let is_open = self.text.get(self.at) == Some(&b'}');
                if is_open { None } else { Some(self.digits()) }
            }
            _ => Some(least),
        };
        let is_limited = |number: &u32| *number as usize <= REPEAT_MAX;
        let is_closed = self.text.get(self.at) == Some(&b'}');
        let counts = match (least.filter(is_limited), most) {
            (Some(least), None) => Some((least as usize, None)),
            (Some(least), Some(most)) => most
                .filter(|most| is_limited(most) && least <= *most)
                .map(|most| (least as usize, Some(most as usize))),
            _ => None,
        };
        counts.filter(|_| is_closed).ok_or_else(|| {
            self.at = start;
            let hint = format!("write {{2}}, {{2,}} or {{2,5}}, of at most {REPEAT_MAX}");
            self.wrong("no repetition", &hint)
        })
    }
}

/// All other ASes.
fn inverse(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let (mut others, mut next) = (Vec::new(), Some(0));
    for (least, most) in ranges {
        let Some(from) = next else { break };
        if from < least {
            others.push((from, least - 1));
        }
        next = most.checked_add(1).map(|behind| behind.max(from));
    }
    others.extend(next.map(|from| (from, u32::MAX)));
    others
}
