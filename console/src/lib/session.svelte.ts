// Who we are to the site: signed in or not, what the site is, the theme, and what just happened.
import { api, ApiError, messageOf, onSignedOut } from './api';
import type { Holder, Role, Site, TrailDetail } from './api';
import { go, replace } from './router.svelte';
import { BGP_GAUGES, bgpNames, speakers } from './kinds';
import { entryOf } from './pages';
import { tokenIn, type Page } from './route';

type Standing = 'unknown' | 'in' | 'out' | 'unreachable';
type Theme = 'light' | 'dark' | 'system';

const THEME_KEY = 'tandem-theme';
/** How far back an edge may have spoken BGP to count as one that does. */
const SPOKEN_S = 10;
/** How long a notice stays. */
const NOTICE_MS = 5_000;

interface Notice {
  text: string;
  bad: boolean;
}

export const session = $state({
  standing: 'unknown' as Standing,
  site: null as Site | null,
  holder: null as Holder | null,
  /** The edges that speak BGP. */
  speaking: [] as string[],
  problem: '',
  theme: (localStorage.getItem(THEME_KEY) ?? 'system') as Theme,
  notice: null as Notice | null,
  help: false,
});

/** Trails read from a capture that was dropped on the page; they live in this tab only. */
export const capture = $state({ name: '', reading: false, trails: [] as TrailDetail[] });

const ROLES: Role[] = ['monitor', 'operator', 'administrator'];

/** Whether the session's token has this role, or a higher one. */
export function may(role: Role): boolean {
  const own = session.holder?.role;
  return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(role);
}

/** The role that is missing for a page; null if it may be seen. */
export function missing(page: Page): Role | null {
  const needed = entryOf(page)?.role;
  return needed && !may(needed) ? needed : null;
}

onSignedOut(() => {
  session.standing = 'out';
});

/** Reads the site; tells whether the session stands. */
export async function enter(): Promise<void> {
  try {
    [session.site, session.holder] = await Promise.all([api.site(), api.holder()]);
    await listenTo(session.site);
    session.standing = 'in';
  } catch (error) {
    const unauthorised = error instanceof ApiError && error.status === 401;
    session.standing = unauthorised ? 'out' : 'unreachable';
    session.problem = messageOf(error);
  }
}

/** Finds the edges that speak BGP; what cannot be read stays as it was. */
async function listenTo(site: Site): Promise<void> {
  if (!site.functions.some((row) => row.kind === 'pe')) return;
  try {
    session.speaking = speakers(await api.history(BGP_GAUGES, SPOKEN_S));
  } catch {
    // The pages of BGP come with the next answer.
  }
}

/** Reads the site again; what cannot be read stays as it was. */
export async function refresh(): Promise<void> {
  session.site = await api.site();
}

/** Finds the edges that speak BGP again. */
export async function relisten(): Promise<void> {
  if (session.site) await listenTo(session.site);
}

/** Kinds of the site's functions, and `bgp` where one of them has peers of BGP. */
export function kinds(): Set<string> {
  const found = new Set(session.site?.functions.map((row) => row.kind));
  if (speakersOfBgp().length) found.add('bgp');
  return found;
}

/** Names of the functions with peers of BGP. */
export function speakersOfBgp(): string[] {
  return bgpNames(session.site?.functions, session.speaking);
}

/** Signs in with a token; gives the reason if the site refuses it. */
export async function signIn(token: string): Promise<string | null> {
  try {
    await api.signIn(token.trim());
  } catch (error) {
    if (error instanceof ApiError && error.status === 401)
      return 'The site does not know this token.';
    return messageOf(error);
  }
  await enter();
  return null;
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  try {
    await api.signOut();
    session.holder = null;
    session.problem = '';
    session.standing = 'out';
  } catch (error) {
    notify(messageOf(error), true);
  }
}

/** The page's beginning: a token in the fragment signs in and leaves the address. */
export async function begin(): Promise<void> {
  const found = tokenIn(location.hash);
  if (found) {
    replace(found.rest);
    const refused = await signIn(found.token);
    if (refused === null) return;
    session.problem = refused;
    session.standing = 'out';
    return;
  }
  await enter();
}

/** The token of a link that was opened in a tab that already shows the page. */
window.addEventListener('hashchange', () => {
  if (tokenIn(location.hash)) void begin();
});

export { messageOf };

let timer = 0;

export function notify(text: string, bad = false): void {
  session.notice = { text, bad };
  clearTimeout(timer);
  timer = window.setTimeout(() => (session.notice = null), NOTICE_MS);
}

export function applyTheme(theme: Theme): void {
  session.theme = theme;
  if (theme === 'system') {
    localStorage.removeItem(THEME_KEY);
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem(THEME_KEY, theme);
    document.documentElement.dataset['theme'] = theme;
  }
}

/** Whether the page is dark now, by choice or by the system. */
export function isDark(): boolean {
  if (session.theme !== 'system') return session.theme === 'dark';
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Has the site read a capture file, and shows what it holds. */
export async function readCapture(file: File, limit: number): Promise<void> {
  if (!may('operator')) {
    notify('Reading captures needs a token of the role operator.', true);
    return;
  }
  if (file.size > limit) {
    notify(`${file.name} is larger than ${limit >> 20} MiB.`, true);
    return;
  }
  capture.reading = true;
  try {
    const { trails } = await api.read(file);
    capture.trails = trails;
    capture.name = file.name;
    if (trails.length) go('file', trails.length === 1 ? { t: '0' } : {});
    else notify(`${file.name} holds no SIP.`, true);
  } catch (error) {
    notify(`${file.name}: ${messageOf(error)}`, true);
  } finally {
    capture.reading = false;
  }
}
