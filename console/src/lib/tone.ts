// Which colour token says what: outcomes, states, severities.
import type { Severity } from './api';
import { capital } from './format';

const OUTCOMES: Record<string, string> = {
  answered: 'success',
  registered: 'success',
  ok: 'success',
  deregistered: 'provisional',
  redirected: 'redirect',
  busy: 'redirect',
  'no-answer': 'redirect',
  cancelled: 'provisional',
  rejected: 'failure',
  failed: 'failure',
  'in-progress': 'accent',
};

const STATES: Record<string, string> = {
  running: 'success',
  starting: 'accent',
  draining: 'redirect',
  failed: 'failure',
  confirmed: 'success',
  early: 'accent',
  ending: 'provisional',
  // BGP (RFC 4271 §8.2.2)
  established: 'success',
  openconfirm: 'accent',
  opensent: 'accent',
  connect: 'redirect',
  active: 'success',
  idle: 'failure',
  'shut down': 'provisional',
  'too many routes': 'failure',
  away: 'failure',
  // SCTP and M3UA
  up: 'success',
  down: 'failure',
  opening: 'accent',
  inactive: 'redirect',
  'potentially-failed': 'redirect',
  unconfirmed: 'accent',
  'cookie-wait': 'accent',
  'cookie-echoed': 'accent',
  closed: 'failure',
  available: 'success',
  restricted: 'redirect',
  unavailable: 'failure',
  'as-active': 'success',
  'as-pending': 'redirect',
  'as-inactive': 'redirect',
  'as-down': 'failure',
  // Security agreements (TS 33.203 §7.4)
  current: 'success',
  offered: 'accent',
  challenged: 'accent',
  answered: 'accent',
  old: 'provisional',
  // Stores
  open: 'success',
  shut: 'failure',
  // Media
  controlled: 'success',
  connected: 'success',
  speaks: 'success',
  silent: 'failure',
  'timed-out': 'failure',
  quiet: 'provisional',
  standby: 'accent',
  waiting: 'redirect',
  // Neighbours (RFC 4861 §7.3.2)
  reachable: 'success',
  known: 'success',
  probed: 'accent',
  asked: 'redirect',
  static: 'accent',
  learnt: 'success',
  frozen: 'redirect',
  stale: 'provisional',
  delay: 'accent',
  probe: 'accent',
  incomplete: 'redirect',
};

/** A CSS value for `--tone`. */
export function outcomeTone(outcome: string): string {
  return `var(--${OUTCOMES[outcome] ?? 'ink-2'})`;
}

export function stateTone(state: string): string {
  return `var(--${STATES[state.toLowerCase()] ?? 'ink-2'})`;
}

/** A BGP session's state: `active` is one of waiting there, other than anywhere else. */
export function sessionTone(state: string): string {
  return state.toLowerCase() === 'active' ? 'var(--redirect)' : stateTone(state);
}

export const SEVERITIES: Severity[] = ['critical', 'major', 'minor', 'warning'];

export function severityTone(severity: Severity): string {
  return `var(--${severity})`;
}

/** `no-answer` → `No answer`. */
export function words(name: string): string {
  return capital(name.replaceAll('-', ' ').replaceAll('_', ' '));
}
