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
};

/** A CSS value for `--tone`. */
export function outcomeTone(outcome: string): string {
  return `var(--${OUTCOMES[outcome] ?? 'ink-2'})`;
}

export function stateTone(state: string): string {
  return `var(--${STATES[state] ?? 'ink-2'})`;
}

export const SEVERITIES: Severity[] = ['critical', 'major', 'minor', 'warning'];

export function severityTone(severity: Severity): string {
  return `var(--${severity})`;
}

/** `no-answer` → `No answer`. */
export function words(name: string): string {
  return capital(name.replaceAll('-', ' ').replaceAll('_', ' '));
}
