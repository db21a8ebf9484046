// The list of calls outlives its page, so that going back shows it as it was left.
import { api, ApiError, type Trail } from './api';
import { belongs, parameters } from './find';

export const PAGE_ROWS = 50;
/** Rows the live tail lets grow before it cuts the oldest. */
const ROWS_MAX = 500;
/** How often the list is read again while the tail leaves out changes. */
const CATCH_UP_MS = 2_000;

export const calls = $state({
  /** The list's own address, for the way back. */
  address: '#/calls',
  /** The trail that was opened last. */
  opened: '',
  trails: [] as Trail[],
  next: null as string | null,
  took_us: 0,
  total: null as number | null,
  standing: 'new' as 'new' | 'loading' | 'ready' | 'failed',
  problem: '',
  tail: false,
  dropped: 0,
  scroll: 0,
});

let key = '';
let pending: AbortController | null = null;

/** Searches, unless this very search is shown already. */
export async function find(query: Record<string, string>, again = false): Promise<void> {
  const wanted = JSON.stringify(query);
  if (wanted === key && !again) return;
  key = wanted;
  pending?.abort();
  pending = new AbortController();
  calls.standing = 'loading';
  try {
    const found = parameters(query, Date.now());
    const page = await api.trails({ ...found, limit: PAGE_ROWS }, pending.signal);
    calls.trails = page.trails;
    calls.next = page.next;
    calls.took_us = page.took_us;
    calls.total = page.total_known;
    calls.standing = 'ready';
  } catch (error) {
    if (!(error instanceof ApiError)) return;
    calls.standing = 'failed';
    calls.problem = error.message;
    key = '';
  }
}

/** The next page behind what is shown. */
export async function more(query: Record<string, string>): Promise<void> {
  if (calls.next === null) return;
  const cursor = calls.next;
  const found = parameters(query, Date.now());
  const page = await api.trails({ ...found, limit: PAGE_ROWS, cursor });
  const known = new Set(calls.trails.map((trail) => trail.id));
  calls.trails.push(...page.trails.filter((trail) => !known.has(trail.id)));
  calls.next = page.next;
}

function take(trail: Trail, query: Record<string, string>): void {
  const place = calls.trails.findIndex((known) => known.id === trail.id);
  const fits = belongs(trail, query);
  if (place >= 0) {
    if (fits) calls.trails[place] = trail;
    else calls.trails.splice(place, 1);
  } else if (fits) {
    calls.trails.unshift(trail);
    if (calls.trails.length > ROWS_MAX) calls.trails.length = ROWS_MAX;
  }
}

/** Reads the newest page again: the tail left out changes, and rows must not stay behind. */
async function catchUp(query: Record<string, string>): Promise<void> {
  const found = parameters(query, Date.now());
  const page = await api.trails({ ...found, limit: PAGE_ROWS });
  for (const trail of page.trails.reverse()) take(trail, query);
  calls.trails.sort((a, b) => b.started_at_us - a.started_at_us);
}

/** Follows new trails until the returned function is called. */
export function follow(query: () => Record<string, string>): () => void {
  const source = api.tail();
  calls.dropped = 0;
  source.onopen = () => (calls.tail = true);
  source.onerror = () => (calls.tail = false);
  let before: number | null = null;
  let behind = false;
  source.addEventListener('trail', (event: MessageEvent<string>) => {
    const { dropped, ...trail } = JSON.parse(event.data) as Trail & { dropped?: number };
    before ??= dropped ?? 0;
    behind ||= (dropped ?? 0) - before > calls.dropped;
    calls.dropped = (dropped ?? 0) - before;
    take(trail, query());
  });
  const timer = setInterval(() => {
    if (!behind) return;
    behind = false;
    catchUp(query()).catch(() => (behind = true));
  }, CATCH_UP_MS);
  return () => {
    clearInterval(timer);
    source.close();
    calls.tail = false;
  };
}
