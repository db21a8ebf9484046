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
    names: [/^ssc_calls_started_total$/, /^ssc_calls_.*total$/],
  },
  {
    title: 'Live calls',
    unit: 'now',
    kind: 'gauges',
    names: [/^ssc_calls_live$/, /^ssc_calls/],
  },
  {
    title: 'Registrations',
    unit: 'now',
    kind: 'gauges',
    names: [/^ssc_bindings_live$/, /^ssc_(bindings|registrations)/],
  },
  {
    title: 'SIP messages',
    unit: 'per s',
    kind: 'rates',
    names: [/^ssc_messages_received_total$/, /^ssc_messages/],
  },
  {
    title: 'Captured',
    unit: 'per s',
    kind: 'rates',
    names: [/^sas_messages_total$/, /^sas_.*(packets|messages)/],
  },
  {
    title: 'Trails',
    unit: 'per s',
    kind: 'rates',
    names: [/^sas_trails_opened_total$/, /^sas_trails/],
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
