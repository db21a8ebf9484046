// The site's pulse: one event stream for the whole page, with the last minutes of each figure.
import { api, type Live } from './api';
import { BGP_GAUGES } from './kinds';
import { enter, relisten } from './session.svelte';

/** Points kept of each figure: two minutes. */
export const POINTS_MAX = 120;
const RETRY_MS = 3_000;

export const live = $state({
  connected: false,
  now: null as Live | null,
});

type Traces = Record<string, number[]>;

/** By name; replaced, never changed in place, so that a chart sees a new array. */
let current = $state.raw({ rates: {} as Traces, gauges: {} as Traces });

export function trace(kind: 'rates' | 'gauges', name: string): number[] {
  return current[kind][name] ?? [];
}

function append(before: Traces, values: Record<string, number>): Traces {
  const after: Traces = {};
  for (const [name, value] of Object.entries(values)) {
    after[name] = [...(before[name] ?? []), value].slice(-POINTS_MAX);
  }
  return after;
}

/** How many peers edges have, and whether routes of their own: when that changes they are asked. */
let spoken = '';

function take(update: Live): void {
  const [up, down, routes] = BGP_GAUGES.map((name) => update.gauges[name] ?? 0);
  const told = `${(up ?? 0) + (down ?? 0)} ${Boolean(routes)}`;
  if (told !== spoken) void relisten();
  spoken = told;
  live.now = update;
  live.connected = true;
  current = {
    rates: append(current.rates, update.rates),
    gauges: append(current.gauges, update.gauges),
  };
}

/** Puts the past before what the stream has brought, once, when the page opens. */
export function seed(kind: 'rates' | 'gauges', name: string, values: number[]): void {
  const known = current[kind][name] ?? [];
  const joined = [...values, ...known].slice(-POINTS_MAX);
  current = { ...current, [kind]: { ...current[kind], [name]: joined } };
}

/** Listens until the returned function is called. A refused stream asks who we are again. */
export function listen(): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  const open = () => {
    source = api.live();
    source.onmessage = (event: MessageEvent<string>) => take(JSON.parse(event.data) as Live);
    source.onerror = () => {
      live.connected = false;
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(() => {
        void enter();
        open();
      }, RETRY_MS);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
    live.connected = false;
  };
}
