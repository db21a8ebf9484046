// Colours of a SIP message: cuts its text into pieces with a class each. The pieces of a line,
// joined, are the line.

export type Shade =
  | 'plain'
  | 'method'
  | 'status'
  | 'good'
  | 'bad'
  | 'uri'
  | 'name'
  | 'param'
  | 'quoted'
  | 'number'
  | 'faint';

export interface Piece {
  text: string;
  shade: Shade;
}

const START_LINE = /^(SIP\/2\.0) (\d{3})( .*)?$/;
const REQUEST_LINE = /^([A-Z][A-Za-z0-9-]*) (\S+) (SIP\/2\.0)$/;
/** Quoted text, URIs, parameters, numbers; anything else is plain. */
const VALUE = new RegExp(
  [
    '("(?:[^"\\\\]|\\\\.)*")',
    '((?:sips?|tel|urn|https?):[^\\s<>;,"?]+)',
    "([;?&])([\\w.!%*+`~'-]+)(=?)",
    '(\\b\\d+(?:\\.\\d+)*\\b)',
  ].join('|'),
  'gi',
);

/** The lines of a message, each as pieces. */
export function highlight(text: string): Piece[][] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const blank = lines.indexOf('', 1);
  const end = blank < 0 ? lines.length : blank;
  return lines.map((line, i) => {
    if (i === 0) return startLine(line);
    if (i < end) return headerLine(line);
    return i === end ? [] : bodyLine(line);
  });
}

function shadeOf(status: number): Shade {
  if (status < 200) return 'status';
  return status < 300 ? 'good' : 'bad';
}

function startLine(line: string): Piece[] {
  const answer = START_LINE.exec(line);
  if (answer) {
    const shade = shadeOf(Number(answer[2]));
    return kept([
      { text: `${answer[1]} `, shade: 'faint' },
      { text: `${answer[2]}${answer[3] ?? ''}`, shade },
    ]);
  }
  const request = REQUEST_LINE.exec(line);
  if (!request) return [{ text: line, shade: 'plain' }];
  return kept([
    { text: request[1] ?? '', shade: 'method' },
    { text: ' ', shade: 'plain' },
    ...value(request[2] ?? ''),
    { text: ` ${request[3]}`, shade: 'faint' },
  ]);
}

function headerLine(line: string): Piece[] {
  const colon = line.indexOf(':');
  if (colon < 1 || /^[ \t]/.test(line)) return value(line);
  return kept([
    { text: line.slice(0, colon), shade: 'name' },
    { text: ':', shade: 'faint' },
    ...value(line.slice(colon + 1)),
  ]);
}

function bodyLine(line: string): Piece[] {
  if (!/^[a-z]=/.test(line)) return line ? [{ text: line, shade: 'plain' }] : [];
  return kept([
    { text: line.slice(0, 1), shade: 'name' },
    { text: '=', shade: 'faint' },
    ...value(line.slice(2)),
  ]);
}

function value(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(VALUE)) {
    pieces.push({ text: text.slice(at, found.index), shade: 'plain' });
    at = found.index + found[0].length;
    if (found[1]) pieces.push({ text: found[1], shade: 'quoted' });
    else if (found[2]) pieces.push({ text: found[2], shade: 'uri' });
    else if (found[4]) {
      pieces.push({ text: found[3] ?? '', shade: 'faint' }, { text: found[4], shade: 'param' });
      pieces.push({ text: found[5] ?? '', shade: 'faint' });
    } else pieces.push({ text: found[6] ?? '', shade: 'number' });
  }
  pieces.push({ text: text.slice(at), shade: 'plain' });
  return kept(pieces);
}

function kept(pieces: Piece[]): Piece[] {
  return pieces.filter((piece) => piece.text !== '');
}
