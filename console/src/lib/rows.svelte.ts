// Lists that are shown page by page. Where the page begins stands in the address, in a parameter
// of the list's own.
import type { Rows } from './api';
import { polled, type Polled } from './poll.svelte';
import { amend, router } from './router.svelte';

const SLOW_MS = 10_000;
/** Questions until a page is full: each looks at a part of the list only. */
const LOOKS_MAX = 10;

/** What is asked of a list. */
export interface Window {
  skip: number;
  limit: number;
}

/** Rows before those that are shown. */
export function skipped(at = 'skip'): number {
  return Number(router.route.query[at] ?? 0) || 0;
}

/** Shows the rows behind so many. */
export function skipTo(rows: number, at = 'skip'): void {
  amend({ [at]: rows ? String(rows) : undefined });
}

/** The page of a list of which all rows are here. */
export function cut<T>(all: T[], limit: number, at = 'skip'): Rows<T> {
  const end = skipped(at) + limit;
  const rows = all.slice(end - limit, end);
  return { rows, total: all.length, next: end < all.length ? end : null };
}

/** The page of a list that is asked for, and again every ten seconds. Nothing is, of nothing. */
export function paged<P>(
  of: () => string,
  limit: number,
  read: (of: string, window: Window) => Promise<P>,
  at = 'skip',
): Polled<P> {
  return polled(
    () => of() && JSON.stringify([of(), skipped(at)]),
    (key) => {
      const [of, skip] = JSON.parse(key) as [string, number];
      return read(of, { skip, limit });
    },
    SLOW_MS,
  );
}

/** Asks until the page is full. */
export async function filled<T>(
  ask: (window: Window) => Promise<Rows<T>>,
  { skip, limit }: Window,
): Promise<Rows<T>> {
  const page = await ask({ skip, limit });
  for (let look = 1; look < LOOKS_MAX && page.next !== null; look++) {
    if (page.rows.length >= limit) break;
    const more = await ask({ skip: page.next, limit: limit - page.rows.length });
    page.rows.push(...more.rows);
    page.next = more.next;
  }
  return page;
}
