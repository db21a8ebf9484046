// Phones of IMS with their security agreements, as a page shows them: pure functions.
import type { Explanation, RegEvent, SecurityAgreement } from './api';

export type Of<T> = T & { function: string };

/** Those that serve come first, then those that come, then those that go. */
const ORDER = ['current', 'answered', 'challenged', 'offered', 'old', 'ending'];

/** The stages of an agreement, in words (TS 33.203 §7.4). */
export const MEANING: Record<string, string> = {
  offered: 'The phone has asked, the core has not challenged it',
  challenged: 'The challenge has left, the phone has not answered',
  answered: 'The phone has answered, the core has not said yes',
  current: 'The registration stands',
  old: 'A newer agreement stands beside it',
  ending: 'It is over, copies of its last messages are answered',
};

/** Rows that a text is in, each phone's together, the phones by their private identity. */
export function phones(rows: Of<SecurityAgreement>[], filter: string): Of<SecurityAgreement>[] {
  const wanted = filter.trim().toLowerCase();
  const has = (row: Of<SecurityAgreement>) =>
    [row.impi, row.ue, row.outside ?? '', row.algorithms ?? '', row.state, row.realm].some((text) =>
      text.toLowerCase().includes(wanted),
    );
  return rows
    .filter(has)
    .sort(
      (a, b) =>
        a.impi.localeCompare(b.impi) ||
        ORDER.indexOf(a.state) - ORDER.indexOf(b.state) ||
        b.expires_at_us - a.expires_at_us,
    );
}

/** How many phones these agreements are of. */
export function phoneCount(rows: Of<SecurityAgreement>[]): number {
  return new Set(rows.map((row) => `${row.function}\n${row.impi}`)).size;
}

/** Rows without those that came twice. */
export function unique(rows: Of<SecurityAgreement>[]): Of<SecurityAgreement>[] {
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

/** What tells an agreement from others. */
export function keyOf(row: Of<SecurityAgreement>): string {
  return [row.function, row.impi, row.state, row.ue, ...row.spi_in, row.expires_at_us].join(' ');
}

/** Failures that a text is in, the newest first. */
export function failures(rows: Of<Explanation>[], filter: string): Of<Explanation>[] {
  const wanted = filter.trim().toLowerCase();
  return rows
    .filter((row) =>
      [row.impi, row.source, row.why].some((text) => text.toLowerCase().includes(wanted)),
    )
    .sort((a, b) => a.ago_s - b.ago_s);
}

/** The states of a subscription at the core, in words (RFC 3680). */
export const WATCHED: Record<string, string> = {
  waiting: 'The next SUBSCRIBE leaves when it is due',
  asked: 'A SUBSCRIBE was sent, the core has not answered',
  standing: 'The core tells what becomes of the registration',
  leaving: 'It is taken back: no phone of it is registered',
};

/** Subscriptions that a text is in, those first that the core refuses, then by identity. */
export function watched(rows: Of<RegEvent>[], filter: string): Of<RegEvent>[] {
  const wanted = filter.trim().toLowerCase();
  return rows
    .filter((row) =>
      [row.identity, row.core, row.state, row.realm, String(row.refused ?? '')].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
    )
    .sort(
      (a, b) =>
        Number(b.refused !== null) - Number(a.refused !== null) ||
        a.identity.localeCompare(b.identity),
    );
}

/** A pair of ports: client, server. */
export function ports(pair: number[] | null): string {
  return pair ? pair.join('/') : '';
}
