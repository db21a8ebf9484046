// Ties routes to the browser: one reactive route, and the ways to change it.
import { build, parse, type Page, type Route } from './route';

let current = $state.raw<Route>(parse(location.hash));

export const router = {
  get route(): Route {
    return current;
  },
};

function read(): void {
  current = parse(location.hash);
}

window.addEventListener('hashchange', read);
window.addEventListener('popstate', read);

/** Goes to a page: a new entry in the history. */
export function go(page: Page, query: Record<string, string | undefined> = {}, id = ''): void {
  location.hash = build({ page, id, query });
}

/** Changes parameters of the page that is shown, without a new entry in the history. */
export function amend(change: Record<string, string | undefined>): void {
  const query = { ...current.query, ...change };
  const hash = build({ page: current.page, id: current.id, query });
  if (hash === location.hash) return;
  history.replaceState(null, '', hash);
  read();
}

/** Takes the fragment's place without a trace in the history (the token must not stay). */
export function replace(hash: string): void {
  history.replaceState(null, '', hash);
  read();
}
