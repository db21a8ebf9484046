// The whole state of the page as the address's fragment: `#/calls?q=5550100&outcome=busy`.
// Pure functions; `router.svelte.ts` ties them to the browser.

export const PAGES = [
  'overview',
  'calls',
  'call',
  'file',
  'registrations',
  'media',
  'peers',
  'routes',
  'edge',
  'network',
  'ss7',
  'messages',
  'alarms',
  'metrics',
  'configuration',
] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page;
  /** The trail of the call page, else empty. */
  id: string;
  query: Record<string, string>;
}

/** Reads a fragment; what it does not know leads to the overview. */
export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)));
  const [first = '', second = ''] = path.split('/');
  if (first === 'calls' && second) return { page: 'call', id: decode(second), query };
  const page = PAGES.find((known) => known === first);
  return { page: page === undefined || page === 'call' ? 'overview' : page, id: '', query };
}

/** Writes a route; parameters without a value are left out. */
export function build(route: {
  page: Page;
  id?: string;
  query?: Record<string, string | undefined>;
}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(route.query ?? {})) {
    if (value !== undefined && value !== '') query.set(name, value);
  }
  const text = query.toString();
  return `#/${pathOf(route.page, route.id ?? '')}${text && `?${text}`}`;
}

function pathOf(page: Page, id: string): string {
  if (page === 'call') return `calls/${encodeURIComponent(id)}`;
  return page === 'overview' ? '' : page;
}

/** A percent sign that escapes nothing is kept as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The token of `#token=…` and the fragment that follows it after `&`. */
export function tokenIn(hash: string): { token: string; rest: string } | null {
  const found = /^#token=([^&]+)(?:&(.*))?$/.exec(hash);
  if (!found) return null;
  const rest = found[2] ?? '';
  return { token: decode(found[1] ?? ''), rest: rest ? `#${rest.replace(/^#/, '')}` : '#/' };
}
