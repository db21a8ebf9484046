// A search: from the address's parameters to the API's, and whether a trail that the live tail
// brings belongs to it.
import type { Trail } from './api';

export const FIELDS = [
  ['', 'Anything'],
  ['number', 'Number'],
  ['call_id', 'Call-ID'],
  ['address', 'Address'],
] as const;

/** The kind of a search that names none. */
const KIND = 'call';
/** The word for no kind in particular. */
export const ANY_KIND = 'any';
/** What is left out of every kind unless something is looked for: probes of health, all alike. */
const PROBES = 'options';
export const KINDS = [
  'registration',
  'subscription',
  'message',
  'options',
  'rejected',
  'session',
  'other',
];

export const OUTCOMES = [
  'answered',
  'busy',
  'cancelled',
  'no-answer',
  'rejected',
  'failed',
  'redirected',
  'in-progress',
  'registered',
  'deregistered',
  'ok',
];

export const METHODS = [
  'INVITE',
  'REGISTER',
  'SUBSCRIBE',
  'NOTIFY',
  'MESSAGE',
  'OPTIONS',
  'REFER',
  'PUBLISH',
];

/** Time ranges, in seconds back from now. */
export const RANGES: [string, string, number][] = [
  ['15m', 'Last 15 minutes', 900],
  ['1h', 'Last hour', 3_600],
  ['24h', 'Last 24 hours', 86_400],
  ['7d', 'Last 7 days', 604_800],
];

const PASSED_ON = ['outcome', 'method', 'status'];

type Query = Record<string, string>;

/** The parameters of `GET /sas/trails`; times in µs. `from` and `to` are local dates with time. */
export function parameters(query: Query, now_ms: number): Record<string, string | number> {
  const out: Record<string, string | number> = {};
  const text = (query['q'] ?? '').trim();
  if (text) out[query['in'] || 'q'] = text;
  const kind = query['kind'] || KIND;
  if (kind !== ANY_KIND) out['kind'] = kind;
  else if (isForAll(query)) out['without'] = PROBES;
  for (const name of PASSED_ON) if (query[name]) out[name] = query[name];
  const range = RANGES.find(([name]) => name === query['range']);
  if (range) out['from_us'] = Math.round((now_ms - range[2] * 1000) * 1000);
  if (query['range'] === 'between') {
    const from = Date.parse(query['from'] ?? '');
    const to = Date.parse(query['to'] ?? '');
    if (Number.isFinite(from)) out['from_us'] = from * 1000;
    if (Number.isFinite(to)) out['to_us'] = to * 1000;
  }
  return out;
}

/** Whether nothing in particular is looked for. */
function isForAll(query: Query): boolean {
  return !['q', 'method', 'status'].some((name) => (query[name] ?? '').trim());
}

/** Whether the trail belongs to the search, as far as its own record tells. */
export function belongs(trail: Trail, query: Query): boolean {
  const kind = query['kind'] || KIND;
  if (kind !== ANY_KIND && trail.kind !== kind) return false;
  if (kind === ANY_KIND && trail.kind === PROBES && isForAll(query)) return false;
  if (query['outcome'] && trail.outcome !== query['outcome']) return false;
  if (query['method'] && trail.method !== query['method']) return false;
  if (query['status'] && !statusBelongs(trail.status, query['status'])) return false;
  const text = (query['q'] ?? '').trim().toLowerCase().replaceAll('*', '');
  if (!text) return true;
  const field = query['in'] ?? '';
  const places: Record<string, string[]> = {
    number: [trail.from, trail.to],
    call_id: trail.call_ids,
    address: trail.hosts,
  };
  const among = places[field] ?? Object.values(places).flat();
  const wanted = /^[+\d\s()/-]+$/.test(text) ? text.replace(/^\+|^0+|[\s()/-]/g, '') : text;
  return among.some((place) => place.toLowerCase().includes(wanted));
}

/** `486` is one status, `4xx` a class. */
function statusBelongs(status: number | null, wanted: string): boolean {
  if (status === null) return false;
  return wanted.endsWith('xx') ? String(status)[0] === wanted[0] : String(status) === wanted;
}
