// Every page: what it is called, which functions it is for, the role that it needs, its key.
import type { Role } from './api';
import type { Page } from './route';
import type { IconName } from '../ui/Icon.svelte';

export interface Entry {
  page: Page;
  name: string;
  /** Its name where there is little room. */
  short?: string;
  icon: IconName;
  /** The key after `g`. */
  key: string;
  /** The kind of functions that it is about, or `bgp`; absent: it is there on every site. */
  kind?: string;
  role?: Role;
}

export const ENTRIES: Entry[] = [
  { page: 'overview', name: 'Overview', icon: 'overview', key: 'o' },
  { page: 'calls', name: 'Calls', icon: 'calls', key: 'c', kind: 'sas', role: 'operator' },
  {
    page: 'registrations',
    name: 'Registrations',
    short: 'Registered',
    icon: 'registrations',
    key: 'r',
    kind: 'ssc',
    role: 'operator',
  },
  { page: 'media', name: 'Media', icon: 'media', key: 'v', kind: 'msc', role: 'operator' },
  { page: 'peers', name: 'Peers', icon: 'peers', key: 'p', kind: 'bgp', role: 'operator' },
  { page: 'routes', name: 'Routes', icon: 'routes', key: 't', kind: 'bgp', role: 'operator' },
  { page: 'edge', name: 'Edge', icon: 'edge', key: 'e', kind: 'pe', role: 'operator' },
  { page: 'network', name: 'Network', icon: 'network', key: 'n', kind: 'pe', role: 'operator' },
  { page: 'ss7', name: 'SS7', icon: 'ss7', key: '7', kind: 'sgc', role: 'operator' },
  {
    page: 'messages',
    name: 'Messages',
    icon: 'messages',
    key: 'x',
    kind: 'ipsmgw',
    role: 'operator',
  },
  { page: 'alarms', name: 'Alarms', icon: 'alarms', key: 'a' },
  { page: 'metrics', name: 'Metrics', icon: 'metrics', key: 'm' },
  {
    page: 'configuration',
    name: 'Configuration',
    short: 'Config',
    icon: 'configuration',
    key: 's',
    role: 'administrator',
  },
];

/** Whether trails are calls: with a session controller, or a SAS alone that hears of others'. */
export function hasCalls(kinds: Set<string>): boolean {
  return (
    kinds.has('ssc') ||
    kinds.has('msc') ||
    !['rr', 'pe', 'sgc', 'ipsmgw'].some((kind) => kinds.has(kind))
  );
}

/** What a page is called on a site with these kinds: without calls, trails are sessions. */
export function entryName(entry: Entry, kinds: Set<string>): string {
  return entry.page === 'calls' && !hasCalls(kinds) ? 'Trails' : entry.name;
}

/** The pages of a site with these kinds of functions. */
export function entries(kinds: Set<string>): Entry[] {
  return ENTRIES.filter((entry) => !entry.kind || kinds.has(entry.kind)).map((entry) => ({
    ...entry,
    name: entryName(entry, kinds),
  }));
}

/** The entry that a page belongs to. */
export function entryOf(page: Page): Entry | undefined {
  const shown = page === 'call' || page === 'file' ? 'calls' : page;
  return ENTRIES.find((entry) => entry.page === shown);
}
