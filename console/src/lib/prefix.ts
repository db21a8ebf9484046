// Prefixes as text: what is one, and which ones cover it.

export interface Prefix {
  text: string;
  length: number;
  /** 32 or 128. */
  width: number;
}

/** The octets of an address; null if it is none. */
function octets(text: string): number[] | null {
  return text.includes(':') ? octets6(text) : octets4(text);
}

function octets4(text: string): number[] | null {
  const parts = text.split('.');
  const numbers = parts.map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : 256));
  return numbers.length === 4 && numbers.every((n) => n < 256) ? numbers : null;
}

function octets6(text: string): number[] | null {
  const [left = '', right, more] = text.split('::');
  if (more !== undefined) return null;
  const words = (side: string) => (side ? side.split(':') : []);
  const [head, tail] = [words(left), words(right ?? '')];
  const gap = 8 - head.length - tail.length;
  if (right === undefined ? gap !== 0 : gap < 1) return null;
  const all = [...head, ...Array<string>(right === undefined ? 0 : gap).fill('0'), ...tail];
  if (!all.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return null;
  return all.flatMap((word) => [parseInt(word, 16) >> 8, parseInt(word, 16) & 255]);
}

function show(all: number[]): string {
  if (all.length === 4) return all.join('.');
  const words = Array.from({ length: 8 }, (_, i) =>
    (((all[2 * i] ?? 0) << 8) | (all[2 * i + 1] ?? 0)).toString(16),
  );
  // The longest run of zeros is written `::` (RFC 5952 §4.2).
  const runs = [...words.join(':').matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)];
  const longest = runs.sort((a, b) => b[0].length - a[0].length)[0];
  if (!longest) return words.join(':');
  const joined = words.join(':');
  const before = joined.slice(0, longest.index);
  const after = joined.slice(longest.index + longest[0].length);
  return `${before}::${after.replace(/^:/, '')}`;
}

/** The prefix with zeros beyond its length. */
function cut(all: number[], length: number): number[] {
  return all.map((octet, i) => octet & (0xff00 >> Math.min(8, Math.max(0, length - 8 * i))));
}

/** Reads `10.0.0.0/8`; an address is a prefix of full length. Null: it is neither. */
export function prefixOf(text: string): Prefix | null {
  const [address = '', length, more] = text.trim().split('/');
  const all = octets(address);
  if (!all || more !== undefined) return null;
  const width = all.length * 8;
  const bits = length === undefined ? width : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (bits < 0 || bits > width) return null;
  return { text: `${show(cut(all, bits))}/${bits}`, length: bits, width };
}

/** Lengths at which people divide a prefix. */
const STEPS: Record<number, number[]> = { 32: [8, 16, 24], 128: [16, 32, 48, 64] };

/** The prefixes above this one, the shortest first: the way from all routes to it. */
export function above(prefix: Prefix): string[] {
  const all = octets(prefix.text.split('/')[0] ?? '') ?? [];
  const lengths = (STEPS[prefix.width] ?? []).filter((length) => length < prefix.length);
  return lengths.map((length) => `${show(cut(all, length))}/${length}`);
}
