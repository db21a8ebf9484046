//! Expressions over ASes as automata: one step of a table for each AS of a path.
//!
//! The tree becomes a nondeterministic automaton, that one a table over sets of its states. ASes
//! that the expression does not tell apart are one column. A state from which nothing can match,
//! or everything does, ends the walk.

use super::InvalidText;
use super::expression::{Node, Ranges};
use std::collections::BTreeMap;

/// Instructions of the nondeterministic automaton.
const INSTRUCTIONS_MAX: usize = 1_024;
/// MetricCells of the table: states times columns.
const CELLS_MAX: usize = 65_536;
/// Nothing can match any more.
const DEAD: u16 = 0;
/// It matches whatever follows.
const SURE: u16 = 1;

#[derive(Debug, Clone, Copy)]
enum Instruction {
    /// An AS of that set, then on.
    Symbol(usize, usize),
    /// Both ways.
    Split(usize, usize),
    /// Only at the start of the path.
    Start(usize),
    /// Only at its end.
    End(usize),
    Match,
}

/// The nondeterministic automaton.
#[derive(Default)]
struct Program {
    instructions: Vec<Instruction>,
    symbols: Vec<Ranges>,
}

fn too_large() -> InvalidText {
    InvalidText::new("the expression is too large", "repeat less, or split the rule")
}

impl Program {
    fn push(&mut self, instruction: Instruction) -> Result<usize, InvalidText> {
        if self.instructions.len() == INSTRUCTIONS_MAX {
            return Err(too_large());
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    /// Adds a node that goes on to `next`; returns where it begins.
    fn add(&mut self, node: &Node, next: usize) -> Result<usize, InvalidText> {
        match node {
            Node::Symbol(ranges) => {
                let number = self.symbols.iter().position(|known| known == ranges);
                let number = number.unwrap_or_else(|| {
                    self.symbols.push(ranges.clone());
                    self.symbols.len() - 1
                });
                self.push(Instruction::Symbol(number, next))
            }
            Node::Start => self.push(Instruction::Start(next)),
            Node::End => self.push(Instruction::End(next)),
            Node::Sequence(all) => all.iter().rev().try_fold(next, |next, it| self.add(it, next)),
            Node::Either(all) => {
                let mut rest = all.iter().rev();
                let last = rest.next().map_or(Ok(next), |node| self.add(node, next))?;
                rest.try_fold(last, |other, node| {
                    let this = self.add(node, next)?;
                    self.push(Instruction::Split(this, other))
                })
            }
            Node::Repeat(node, least, most) => {
                let mut entry = next;
                if let Some(most) = most {
                    for _ in *least..*most {
                        let this = self.add(node, entry)?;
                        entry = self.push(Instruction::Split(this, next))?;
                    }
                } else {
                    entry = self.push(Instruction::Split(next, next))?;
                    let this = self.add(node, entry)?;
                    self.instructions[entry] = Instruction::Split(this, next);
                }
                (0..*least).try_fold(entry, |next, _| self.add(node, next))
            }
        }
    }

    /// Adds what is reached from an instruction without an AS.
    fn reach(&self, from: usize, at_start: bool, at_end: bool, set: &mut Set) {
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if !set.insert(at) {
                continue;
            }
            match self.instructions[at] {
                Instruction::Split(one, other) => open.extend([one, other]),
                Instruction::Start(next) if at_start => open.push(next),
                Instruction::End(next) if at_end => open.push(next),
                _ => {}
            }
        }
    }

    fn has_match(&self, set: &Set) -> bool {
        set.iter().any(|at| matches!(self.instructions[at], Instruction::Match))
    }

    /// Whether a path that ends in these states matches.
    fn matches_at_end(&self, set: &Set, at_start: bool) -> bool {
        let mut all = Set::default();
        set.iter().for_each(|at| self.reach(at, at_start, true, &mut all));
        self.has_match(&all)
    }
}

/// States of the nondeterministic automaton.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Set([u64; INSTRUCTIONS_MAX / 64]);

impl Set {
    fn insert(&mut self, at: usize) -> bool {
        let (word, bit) = (&mut self.0[at / 64], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = *bits;
            core::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + bit)
            })
        })
    }
}

/// Which ASes are one column of the table.
#[derive(Debug, Clone)]
struct Columns {
    /// Where a range begins, the first at 0.
    starts: Vec<u32>,
    /// The column of each range.
    column: Vec<usize>,
    /// An AS of each column.
    samples: Vec<u32>,
}

impl Columns {
    fn new(symbols: &[Ranges]) -> Self {
        let ranges = symbols.iter().flatten();
        let borders = ranges.flat_map(|(least, most)| [Some(*least), most.checked_add(1)]);
        let mut borders: Vec<u32> = borders.flatten().chain([0]).collect();
        borders.sort_unstable();
        borders.dedup();
        let mut known = BTreeMap::new();
        let mut all = Self { starts: Vec::new(), column: Vec::new(), samples: Vec::new() };
        for start in borders {
            let members: Vec<usize> =
                (0..symbols.len()).filter(|symbol| has(&symbols[*symbol], start)).collect();
            let column = *known.entry(members).or_insert_with(|| {
                all.samples.push(start);
                all.samples.len() - 1
            });
            if all.column.last() != Some(&column) {
                all.starts.push(start);
                all.column.push(column);
            }
        }
        all
    }

    #[inline]
    fn of(&self, asn: u32) -> usize {
        let behind = self.starts.partition_point(|start| *start <= asn);
        self.column[behind - 1]
    }
}

fn has(ranges: &Ranges, asn: u32) -> bool {
    ranges.iter().any(|(least, most)| (*least..=*most).contains(&asn))
}

/// An expression, ready to be asked.
#[derive(Debug, Clone)]
pub struct Automaton {
    columns: Columns,
    /// The next state, by state and column.
    table: Vec<u16>,
    /// Whether a path that ends in a state matches.
    accepts: Vec<bool>,
    start: u16,
}

impl Automaton {
    /// Compiles an expression.
    pub fn compile(text: &str) -> Result<Self, InvalidText> {
        let node = Node::parse(text)?;
        let mut program = Program::default();
        let found = program.push(Instruction::Match)?;
        let expression = program.add(&node, found)?;
        // It may begin anywhere.
        let start = program.push(Instruction::Split(expression, expression))?;
        let any = program.add(&Node::Symbol(vec![(0, u32::MAX)]), start)?;
        program.instructions[start] = Instruction::Split(any, expression);
        let columns = Columns::new(&program.symbols);
        let mut automaton = Builder::new(&program, columns).build(start)?;
        automaton.find_dead();
        automaton.find_sure();
        Ok(automaton)
    }

    /// Whether the path matches.
    #[inline]
    pub fn matches(&self, path: impl Iterator<Item = u32>) -> bool {
        let (mut state, width) = (self.start, self.columns.samples.len());
        for asn in path {
            if state <= SURE {
                break;
            }
            state = self.table[usize::from(state) * width + self.columns.of(asn)];
        }
        self.accepts[usize::from(state)]
    }

    fn row(&self, state: usize) -> &[u16] {
        let width = self.columns.samples.len();
        &self.table[state * width..(state + 1) * width]
    }

    /// Replaces states from which no path matches.
    fn find_dead(&mut self) {
        let mut lives = self.accepts.clone();
        loop {
            let found = (0..lives.len()).filter(|state| {
                !lives[*state] && self.row(*state).iter().any(|next| lives[usize::from(*next)])
            });
            let found: Vec<usize> = found.collect();
            found.iter().for_each(|state| lives[*state] = true);
            if found.is_empty() {
                break;
            }
        }
        self.replace(|state| !lives[usize::from(state)], DEAD);
    }

    /// Replaces states from which every path matches.
    fn find_sure(&mut self) {
        let mut sure = self.accepts.clone();
        loop {
            let lost = (0..sure.len()).filter(|state| {
                sure[*state] && self.row(*state).iter().any(|next| !sure[usize::from(*next)])
            });
            let lost: Vec<usize> = lost.collect();
            lost.iter().for_each(|state| sure[*state] = false);
            if lost.is_empty() {
                break;
            }
        }
        self.replace(|state| sure[usize::from(state)], SURE);
    }

    fn replace(&mut self, is_it: impl Fn(u16) -> bool, by: u16) {
        let cells = self.table.iter_mut().chain([&mut self.start]);
        cells.filter(|cell| is_it(**cell)).for_each(|cell| *cell = by);
    }
}

/// Makes the table.
struct Builder<'p> {
    program: &'p Program,
    columns: Columns,
    known: BTreeMap<Set, u16>,
    sets: Vec<Set>,
    accepts: Vec<bool>,
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, columns: Columns) -> Self {
        // DEAD and SURE have no states inside.
        let (sets, accepts) = (vec![Set::default(); 2], vec![false, true]);
        Self { program, columns, known: BTreeMap::from([(Set::default(), DEAD)]), sets, accepts }
    }

    fn build(mut self, start: usize) -> Result<Automaton, InvalidText> {
        let mut first = Set::default();
        self.program.reach(start, true, false, &mut first);
        let is_sure = self.program.has_match(&first);
        // The first state stands for itself: only there the path begins.
        let start = if is_sure { SURE } else { self.push(first, true)? };
        let width = self.columns.samples.len();
        let mut table = vec![DEAD; width];
        table.resize(2 * width, SURE);
        let mut at = 2;
        while at < self.sets.len() {
            for column in 0..width {
                let next = self.next(at, self.columns.samples[column]);
                table.push(self.number(next)?);
            }
            at += 1;
        }
        Ok(Automaton { columns: self.columns, table, accepts: self.accepts, start })
    }

    fn next(&self, at: usize, asn: u32) -> Set {
        let mut next = Set::default();
        for at in self.sets[at].iter() {
            if let Instruction::Symbol(symbol, on) = self.program.instructions[at]
                && has(&self.program.symbols[symbol], asn)
            {
                self.program.reach(on, false, false, &mut next);
            }
        }
        next
    }

    fn number(&mut self, set: Set) -> Result<u16, InvalidText> {
        if self.program.has_match(&set) {
            return Ok(SURE);
        }
        if let Some(number) = self.known.get(&set) {
            return Ok(*number);
        }
        let number = self.push(set.clone(), false)?;
        self.known.insert(set, number);
        Ok(number)
    }

    fn push(&mut self, set: Set, at_start: bool) -> Result<u16, InvalidText> {
        if (self.sets.len() + 1) * self.columns.samples.len() > CELLS_MAX {
            return Err(too_large());
        }
        self.accepts.push(self.program.matches_at_end(&set, at_start));
        self.sets.push(set);
        u16::try_from(self.sets.len() - 1).map_err(|_| too_large())
    }
}
