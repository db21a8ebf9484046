// Which figures the overview shows: the first known name of each line that the site reports.
import type { Live } from './api';

export interface Figure {
  title: string;
  unit: string;
  kind: 'rates' | 'gauges';
  name: string;
}

interface Wish {
  title: string;
  unit: string;
  kind: 'rates' | 'gauges';
  names: RegExp[];
}

const WISHES: Wish[] = [
  {
    title: 'Calls',
    unit: 'per s',
    kind: 'rates',
    names: [/^ssc_calls_(offered|started|received|attempted)/, /^ssc_calls?_.*total$/],
  },
  {
    title: 'Calls standing',
    unit: 'now',
    kind: 'gauges',
    names: [/^ssc_calls_(standing|active|open|current|in_progress)/, /^ssc_calls$/, /^ssc_calls?_/],
  },
  {
    title: 'Registrations',
    unit: 'now',
    kind: 'gauges',
    names: [/^ssc_(registrations|bindings)/, /^ssc_regist/],
  },
  {
    title: 'SIP messages',
    unit: 'per s',
    kind: 'rates',
    names: [/^ssc_messages_(in|received)/, /^(port|runtime)_messages_(in|received)/],
  },
  {
    title: 'Captured',
    unit: 'per s',
    kind: 'rates',
    names: [/^sas_(packets|messages)_(in|received|ingested|stored)/, /^sas_.*(packets|messages)/],
  },
  {
    title: 'Trails',
    unit: 'per s',
    kind: 'rates',
    names: [/^sas_trails/],
  },
];

/** The overview's figures, in order; a site without a function has none of its figures. */
export function figures(live: Live): Figure[] {
  return WISHES.flatMap(({ names, ...wish }) => {
    const known = Object.keys(live[wish.kind]);
    for (const pattern of names) {
      const name = known.find((candidate) => pattern.test(candidate));
      if (name) return [{ ...wish, name }];
    }
    return [];
  });
}
