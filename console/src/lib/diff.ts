// What changed between a message and its pair on the other leg, as SIP sees it: headers are
// compared by name (compact forms known), wherever they stand; bodies line by line.

export interface Span {
  text: string;
  /** Whether this piece differs from the other side. */
  changed: boolean;
}

export type Change =
  | { kind: 'same'; text: string }
  | { kind: 'added'; text: string }
  | { kind: 'removed'; text: string }
  | { kind: 'changed'; before: Span[]; after: Span[] };

/** Longer bodies are shown as removed and added as a whole. */
const LINES_MAX = 1_000;
const TOKENS_MAX = 400;

const COMPACT: Record<string, string> = {
  a: 'accept-contact',
  b: 'referred-by',
  c: 'content-type',
  d: 'request-disposition',
  e: 'content-encoding',
  f: 'from',
  i: 'call-id',
  j: 'reject-contact',
  k: 'supported',
  l: 'content-length',
  m: 'contact',
  o: 'event',
  r: 'refer-to',
  s: 'subject',
  t: 'to',
  u: 'allow-events',
  v: 'via',
  x: 'session-expires',
  y: 'identity',
};

/** The header's full name in lower case. */
export function headerName(line: string): string {
  const name = line
    .slice(0, Math.max(0, line.indexOf(':')))
    .trim()
    .toLowerCase();
  return COMPACT[name] ?? name;
}

interface Parts {
  start: string;
  headers: string[];
  body: string[];
}

/** Start line, headers (folded lines joined to theirs) and the lines of the body. */
export function split(text: string): Parts {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const blank = lines.indexOf('', 1);
  const end = blank < 0 ? lines.length : blank;
  const headers: string[] = [];
  for (const line of lines.slice(1, end)) {
    if (/^[ \t]/.test(line) && headers.length) headers[headers.length - 1] += `\n${line}`;
    else headers.push(line);
  }
  const body = lines.slice(end + 1);
  if (body.at(-1) === '') body.pop();
  return { start: lines[0] ?? '', headers, body };
}

/** All changes from `before` to `after`, in the order of `after`. */
export function compare(before: string, after: string): Change[] {
  const a = split(before);
  const b = split(after);
  const changes = [lineChange(a.start, b.start), ...headerChanges(a.headers, b.headers)];
  if (a.body.length || b.body.length) {
    changes.push({ kind: 'same', text: '' }, ...bodyChanges(a.body, b.body));
  }
  return changes;
}

function lineChange(before: string, after: string): Change {
  if (before === after) return { kind: 'same', text: after };
  const [left, right] = spans(before, after);
  return { kind: 'changed', before: left, after: right };
}

/** For each header after: the header before that it came from, or -1. Equal lines first. */
function origins(before: string[], after: string[]): number[] {
  const free = new Set(before.keys());
  const found = after.map((line) => {
    for (const index of free) {
      if (before[index] !== line) continue;
      free.delete(index);
      return index;
    }
    return -1;
  });
  return found.map((origin, place) => {
    if (origin >= 0) return origin;
    const name = headerName(after[place] ?? '');
    for (const index of free) {
      if (headerName(before[index] ?? '') !== name) continue;
      free.delete(index);
      return index;
    }
    return -1;
  });
}

function headerChanges(before: string[], after: string[]): Change[] {
  const from = origins(before, after);
  const kept = new Set(from);
  const changes: Change[] = [];
  let shown = 0;
  const removeUpTo = (limit: number) => {
    for (; shown < limit; shown++) {
      if (!kept.has(shown)) changes.push({ kind: 'removed', text: before[shown] ?? '' });
    }
  };
  after.forEach((line, place) => {
    const origin = from[place] ?? -1;
    if (origin < 0) {
      changes.push({ kind: 'added', text: line });
      return;
    }
    removeUpTo(origin);
    changes.push(lineChange(before[origin] ?? '', line));
  });
  removeUpTo(before.length);
  return changes;
}

/** Longest common subsequence: pairs of indices, ascending. */
function common<T>(a: T[], b: T[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

function bodyChanges(before: string[], after: string[]): Change[] {
  const long = before.length > LINES_MAX || after.length > LINES_MAX;
  const pairs = long ? [] : common(before, after);
  const changes: Change[] = [];
  let i = 0;
  let j = 0;
  for (const [x, y] of [...pairs, [before.length, after.length] as const]) {
    changes.push(...hunk(before.slice(i, x), after.slice(j, y)));
    if (y < after.length) changes.push({ kind: 'same', text: after[y] ?? '' });
    i = x + 1;
    j = y + 1;
  }
  return changes;
}

/** Lines that differ: those of one SDP type (`c=`, `m=`) are paired, in their order. */
function hunk(before: string[], after: string[]): Change[] {
  const left = [...before];
  const changes: Change[] = [];
  for (const line of after) {
    const type = line.slice(0, 2);
    const place = left.findIndex((old) => type.endsWith('=') && old.startsWith(type));
    if (place < 0) {
      changes.push({ kind: 'added', text: line });
      continue;
    }
    for (const gone of left.splice(0, place)) changes.push({ kind: 'removed', text: gone });
    changes.push(lineChange(left.shift() ?? '', line));
  }
  for (const gone of left) changes.push({ kind: 'removed', text: gone });
  return changes;
}

/** The two lines cut into pieces that are alike and pieces that differ. */
export function spans(before: string, after: string): [Span[], Span[]] {
  const a = before.match(/[\w.+%-]+|\W/g) ?? [];
  const b = after.match(/[\w.+%-]+|\W/g) ?? [];
  if (a.length > TOKENS_MAX || b.length > TOKENS_MAX) {
    return [[{ text: before, changed: true }], [{ text: after, changed: true }]];
  }
  const pairs = common<string>(a, b);
  return [mark(a, new Set(pairs.map(([i]) => i))), mark(b, new Set(pairs.map(([, j]) => j)))];
}

/** Joins neighbours of one kind; a lone separator between two changes is part of the change. */
function mark(tokens: string[], same: Set<number>): Span[] {
  const changed = tokens.map((_, i) => !same.has(i));
  tokens.forEach((token, i) => {
    const between = changed[i - 1] && changed[i + 1];
    if (between && token.length === 1 && /\W/.test(token)) changed[i] = true;
  });
  const out: Span[] = [];
  tokens.forEach((text, i) => {
    const last = out.at(-1);
    if (last && last.changed === changed[i]) last.text += text;
    else out.push({ text, changed: changed[i] ?? false });
  });
  return out;
}
