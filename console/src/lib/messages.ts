// Short messages of a gateway, as a page shows them: pure functions.
import type { Counter, PendingMessage, SmsRegistration } from './api';

export type Of<T> = T & { function: string };

/** A subscriber for whom messages wait, the first of which says why. */
export interface Receiver {
  function: string;
  number: string;
  messages: Of<PendingMessage>[];
  why: string;
  failures: number;
  /** When it is tried next; null while one of its messages is under way. */
  due_at_us: number | null;
  /** When the first of its messages came. */
  since_us: number;
}

/** Rows by what they have in common, in their order. */
function grouped<T>(rows: T[], key: (row: T) => string): T[][] {
  const all = new Map<string, T[]>();
  for (const row of rows) {
    const of = all.get(key(row));
    if (of) of.push(row);
    else all.set(key(row), [row]);
  }
  return [...all.values()];
}

/** Messages by receiver, in their order; who has waited longest comes first. */
export function receivers(rows: Of<PendingMessage>[], filter = ''): Receiver[] {
  const wanted = digits(filter) || filter.trim().toLowerCase();
  const has = (row: Of<PendingMessage>) =>
    [row.to, row.from, row.why].some((text) => text.toLowerCase().includes(wanted));
  return grouped(rows, (row) => `${row.function}\n${row.to}`)
    .filter((messages) => messages.some(has))
    .flatMap((messages) => {
      const [first] = messages;
      if (!first) return [];
      const since_us = Math.min(...messages.map((row) => row.received_at_us));
      const { function: of, to: number, why, failures, due_at_us } = first;
      return [{ function: of, number, messages, why, failures, due_at_us, since_us }];
    })
    .sort((a, b) => a.since_us - b.since_us);
}

export interface Reason {
  why: string;
  receivers: number;
  messages: number;
}

/** Why messages wait, those first for which most do. */
export function reasons(all: Receiver[]): Reason[] {
  return grouped(all, (it) => it.why)
    .map((of) => ({
      why: of[0]?.why ?? '',
      receivers: of.length,
      messages: of.reduce((sum, it) => sum + it.messages.length, 0),
    }))
    .sort((a, b) => b.messages - a.messages || a.why.localeCompare(b.why));
}

/** A number as it is typed, without what people put between its digits; else nothing. */
export function digits(text: string): string {
  return /^[+\d\s()/-]+$/.test(text.trim()) ? text.replace(/\D/g, '') : '';
}

/** Registrations that a text is in, by number. */
export function registered(rows: Of<SmsRegistration>[], filter: string): Of<SmsRegistration>[] {
  const wanted = digits(filter) || filter.trim().toLowerCase();
  return rows
    .filter((row) =>
      [row.number, row.identity, row.s_cscf, row.takes, ...row.contacts].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
    )
    .sort((a, b) => a.number.localeCompare(b.number));
}

/** What a contact is at, without what follows its address. */
export function contact(text: string): string {
  return /<([^>]*)>/.exec(text)?.[1] ?? text;
}

export type Tone = 'success' | 'accent' | 'redirect' | 'failure';

/** One thing that became of messages. */
export interface Outcome {
  what: string;
  /** The metric that it is, and that others are of. */
  name: string;
  tone: Tone;
  value: number;
}

export interface Result {
  title: string;
  /** What one of them is called, and several. */
  one: string;
  many: string;
  /** Ends: each message has one of them. */
  ends: Outcome[];
  /** What happened on the way, or is a part of an end. */
  beside: Outcome[];
}

type Wish = [what: string, name: string, tone: Tone, less?: string];

const TERMINATED: Wish[] = [
  ['Delivered over IP', 'ipsmgw_deliveries_ps_total', 'success'],
  ['Delivered by an MSC, SGSN or MME', 'ipsmgw_deliveries_cs_total', 'accent'],
  ['Its validity ended', 'ipsmgw_expired_total', 'redirect'],
  ['Not delivered', 'ipsmgw_deliveries_failed_total', 'failure', 'ipsmgw_expired_total'],
];
const ON_THE_WAY: Wish[] = [
  ['Attempts after which a message waits on', 'ipsmgw_postponed_total', 'redirect'],
  ['Attempts after which another way was tried', 'ipsmgw_fallbacks_total', 'redirect'],
  ['Terminals that have memory again', 'ipsmgw_memory_available_total', 'accent'],
  ['Status reports that found no room', 'ipsmgw_status_reports_lost_total', 'failure'],
  ['Correlation IMSI never given out', 'ipsmgw_deliveries_uncorrelated_total', 'failure'],
];
const ORIGINATED: Wish[] = [
  ['Taken by the service centre', 'ipsmgw_submissions_total', 'success'],
  ['Refused or lost', 'ipsmgw_submissions_failed_total', 'failure'],
];
const OF_SENDERS: Wish[] = [
  ['Came again, answered again', 'ipsmgw_duplicates_total', 'accent'],
  ['Their sender sends too many', 'ipsmgw_senders_limited_total', 'redirect'],
  ['Too many wait', 'ipsmgw_full_total', 'failure'],
  ['Could not be read', 'ipsmgw_malformed_total', 'failure'],
];
const REGISTRATIONS: Wish[] = [
  ['Stored', 'ipsmgw_registrations_total', 'success'],
  ['Refused', 'ipsmgw_registrations_refused_total', 'failure'],
];
const OF_REGISTRATIONS: Wish[] = [['Ended', 'ipsmgw_deregistrations_total', 'accent']];
const CORE: Wish[] = [
  ['Refused: not from a next hop', 'ipsmgw_sip_untrusted_total', 'failure'],
  ['Refused: too much was under way', 'ipsmgw_sip_overload_total', 'redirect'],
  ['Refused: the table of flows was full', 'ipsmgw_flows_refused_total', 'redirect'],
  ['Refused: a method or extension that is not known', 'ipsmgw_sip_refused_total', 'redirect'],
  ['Could not be read', 'ipsmgw_sip_malformed_total', 'failure'],
  ['No target was there', 'ipsmgw_sip_unroutable_total', 'failure'],
  ['Sent to another target, for one failed', 'ipsmgw_sip_failovers_total', 'redirect'],
];

/** What became of the messages and registrations of a gateway since it began. */
export function results(counters: Counter[], of: string): Result[] {
  const sums = new Map<string, number>();
  for (const row of counters) {
    if (row.function !== of) continue;
    sums.set(row.name, (sums.get(row.name) ?? 0) + row.value);
  }
  const sum = (name: string | undefined) => (name ? (sums.get(name) ?? 0) : 0);
  const filled = (wishes: Wish[]): Outcome[] =>
    wishes.map(([what, name, tone, less]) => ({
      what,
      name,
      tone,
      value: Math.max(0, sum(name) - sum(less)),
    }));
  const some = (wishes: Wish[]) => filled(wishes).filter((it) => it.value > 0);
  return [
    {
      title: 'To terminals',
      one: 'message',
      many: 'messages',
      ends: filled(TERMINATED),
      beside: some(ON_THE_WAY),
    },
    {
      title: 'From terminals',
      one: 'message',
      many: 'messages',
      ends: filled(ORIGINATED),
      beside: some(OF_SENDERS),
    },
    {
      title: 'Registrations',
      one: 'registration',
      many: 'registrations',
      ends: filled(REGISTRATIONS),
      beside: some(OF_REGISTRATIONS),
    },
    {
      title: 'Towards the core',
      one: 'request',
      many: 'requests',
      ends: [],
      beside: some(CORE),
    },
  ];
}

/** Ends of a result in all, and the share of those that went well; null of nothing. */
export function share(result: Result): { all: number; good: number | null } {
  const all = result.ends.reduce((sum, it) => sum + it.value, 0);
  const good = result.ends
    .filter((it) => it.tone === 'success' || it.tone === 'accent')
    .reduce((sum, it) => sum + it.value, 0);
  return { all, good: all ? good / all : null };
}

/** A share in per cent that says 100 of all alone: `99.98 %`. */
export function percent(part: number | null): string {
  if (part === null) return '–';
  if (part === 1) return '100 %';
  const digits = part > 0.99 ? 2 : 1;
  const most = 100 - 10 ** -digits;
  return `${Math.min(part * 100, most).toFixed(digits)} %`;
}
