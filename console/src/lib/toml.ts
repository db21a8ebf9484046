// Colours of a site file: its text cut into pieces with a class each. The pieces, joined, are it.

export interface Token {
  text: string;
  shade: 'plain' | 'table' | 'key' | 'string' | 'value' | 'comment';
}

const TOKEN = new RegExp(
  [
    '(#[^\\n]*)',
    '("""[^]*?"""|\'\'\'[^]*?\'\'\'|"(?:[^"\\\\\\n]|\\\\.)*"|\'[^\'\\n]*\')',
    '^([ \\t]*\\[{1,2}[^\\]\\n]*\\]{1,2})',
    '^([ \\t]*[\\w.-]+)(?=[ \\t]*=)',
    '\\b(true|false|[+-]?\\d[\\w.:+-]*)\\b',
  ].join('|'),
  'gm',
);

/** Files longer than this are shown without colours. */
const LENGTH_MAX = 200_000;

export function tokens(text: string): Token[] {
  if (text.length > LENGTH_MAX) return [{ text, shade: 'plain' }];
  const out: Token[] = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (found.index > at) out.push({ text: text.slice(at, found.index), shade: 'plain' });
    at = found.index + found[0].length;
    const shade = found[1]
      ? 'comment'
      : found[2]
        ? 'string'
        : found[3]
          ? 'table'
          : found[4]
            ? 'key'
            : 'value';
    out.push({ text: found[0], shade });
  }
  if (at < text.length) out.push({ text: text.slice(at), shade: 'plain' });
  return out;
}
