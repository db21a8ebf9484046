// What a page reads again and again: one question at a time, the next one a while after the last
// answer, later when it failed; it tries by itself until the page is left.
import { untrack } from 'svelte';
import { messageOf } from './api';

export const AGAIN_MS = 5_000;
/** A question that failed so often waits no longer than this many times its usual pause. */
const PAUSES_MAX = 4;

/** What each of several functions answers, in one list whose rows say whose they are. */
export async function ofAll<T>(
  names: string[],
  ask: (name: string) => Promise<T[]>,
): Promise<(T & { function: string })[]> {
  const answered = names.map(async (name) =>
    (await ask(name)).map((row) => ({ ...row, function: name })),
  );
  return (await Promise.all(answered)).flat();
}

export interface Polled<T> {
  /** The last answer; null until there is one of this very question. */
  readonly value: T | null;
  /** Why there is no newer one; empty when there is. */
  readonly problem: string;
  /** Asks now. */
  again: () => Promise<void>;
}

/**
 * Asks `read` what `key` says, and again every `every_ms`. `key` is a text (or another primitive
 * value), so that only another question begins anew; an empty one asks nothing.
 */
export function polled<T>(
  key: () => string,
  read: (key: string) => Promise<T>,
  every_ms: number = AGAIN_MS,
): Polled<T> {
  let value = $state.raw<T | null>(null);
  let problem = $state('');
  let before = '';
  let ask: () => Promise<void> = async () => undefined;
  $effect(() => {
    const wanted = key();
    if (!wanted) return undefined;
    return untrack(() => {
      if (wanted !== before) [value, problem, before] = [null, '', wanted];
      let isOver = false;
      let timer = 0;
      let pauses = 1;
      ask = async () => {
        clearTimeout(timer);
        try {
          const found = await read(wanted);
          if (isOver) return;
          [value, problem, pauses] = [found, '', 1];
        } catch (error) {
          if (isOver) return;
          problem = messageOf(error);
          pauses = Math.min(pauses + 1, PAUSES_MAX);
        }
        clearTimeout(timer);
        if (every_ms > 0 || problem) {
          timer = window.setTimeout(() => void ask(), (every_ms || AGAIN_MS) * pauses);
        }
      };
      void ask();
      return () => {
        isOver = true;
        clearTimeout(timer);
      };
    });
  });
  return {
    get value() {
      return value;
    },
    get problem() {
      return problem;
    },
    again: () => ask(),
  };
}

/** What is asked by another, as something else. */
export function seen<T, U>(of: Polled<T>, as: (value: T) => U): Polled<U> {
  const value = $derived(of.value === null ? null : as(of.value));
  return {
    get value() {
      return value;
    },
    get problem() {
      return of.problem;
    },
    again: () => of.again(),
  };
}

/**
 * Does tasks one after the other, all at once first and then one each turn: however many there
 * are, no more than one request leaves a second.
 */
export function inTurn(tasks: () => (() => Promise<unknown>)[], turn_ms = 1_000): () => void {
  let at = 0;
  const quietly = (task: (() => Promise<unknown>) | undefined) => {
    task?.().catch(() => undefined);
  };
  tasks().forEach(quietly);
  const timer = setInterval(() => {
    const all = tasks();
    // With few tasks a round takes as long as with many: none is asked more often than that.
    const round = Math.max(all.length, AGAIN_MS / turn_ms);
    quietly(all[at % round]);
    at = (at + 1) % round;
  }, turn_ms);
  return () => clearInterval(timer);
}
