// Which figures the overview shows: of each kind of function those that say how it does, first.
import type { Live } from './api';

export interface Figure {
  title: string;
  unit: string;
  kind: 'rates' | 'gauges';
  name: string;
  /** Seconds that a rate is the mean of, where it is not counted each second. */
  over_s?: number;
}

type Wish = [
  kind: string,
  title: string,
  unit: string,
  of: Figure['kind'],
  name: string,
  over_s?: number,
];

/** A forwarder is asked for its packets every five seconds: two of its answers. */
const FORWARDER_S = 10;

const WISHES: Wish[] = [
  ['ssc', 'Calls', 'per s', 'rates', 'ssc_calls_started_total'],
  ['ssc', 'Live calls', 'now', 'gauges', 'ssc_calls_live'],
  ['ssc', 'Registrations', 'now', 'gauges', 'ssc_bindings_live'],
  ['ssc', 'SIP messages', 'per s', 'rates', 'ssc_messages_received_total'],
  ['rr', 'Peers up', 'now', 'gauges', 'rr_peers_established'],
  ['rr', 'Routes', 'now', 'gauges', 'rr_routes'],
  ['rr', 'Updates in', 'per s', 'rates', 'rr_updates_received_total'],
  ['rr', 'Updates out', 'per s', 'rates', 'rr_updates_sent_total'],
  ['rr', 'Paths', 'now', 'gauges', 'rr_paths'],
  ['rr', 'Withdrawn', 'per s', 'rates', 'rr_routes_withdrawn_total'],
  ['pe', 'Ports up', 'now', 'gauges', 'pe_ports_up'],
  ['pe', 'Ports down', 'now', 'gauges', 'pe_ports_down'],
  ['pe', 'Adjacent', 'now', 'gauges', 'igp_adjacencies'],
  ['pe', 'BGP sessions', 'up', 'gauges', 'pe_bgp_peers_established'],
  ['pe', 'BGP down', 'now', 'gauges', 'pe_bgp_peers_down'],
  ['pe', 'LDP sessions', 'up', 'gauges', 'ldp_sessions'],
  ['pe', 'Routes in use', 'now', 'gauges', 'pe_routes'],
  ['sgc', 'MSUs in', 'per s', 'rates', 'sgc_msus_received_total'],
  ['sgc', 'MSUs relayed', 'per s', 'rates', 'sgc_msus_relayed_total'],
  ['sgc', 'Associations', 'up', 'gauges', 'sgc_peers_associated'],
  ['sgc', 'AS active', 'now', 'gauges', 'sgc_as_active'],
  ['sgc', 'Dialogues', 'now', 'gauges', 'tcap_dialogues'],
  ['sgc', 'MSUs waiting', 'now', 'gauges', 'sgc_msus_waiting'],
  ['sgc', 'No route', 'per s', 'rates', 'sgc_msus_no_route_total'],
  ['msc', 'Streams', 'now', 'gauges', 'msc_streams'],
  ['msc', 'Media packets', 'per s', 'rates', 'msc_packets_total', FORWARDER_S],
  ['msc', 'Poor quality', 'per s', 'rates', 'msc_poor_quality_total'],
  ['msc', 'One-way', 'per s', 'rates', 'msc_one_way_total'],
  ['msc', 'Dropped', 'per s', 'rates', 'msc_packets_dropped_total', FORWARDER_S],
  ['msc', 'SRTP failures', 'per s', 'rates', 'msc_packets_unprotected_total', FORWARDER_S],
  ['ipsmgw', 'SMS delivered', 'per s', 'rates', 'ipsmgw_deliveries_ps_total'],
  ['ipsmgw', 'Waiting', 'now', 'gauges', 'ipsmgw_waiting_messages'],
  ['ipsmgw', 'Submitted', 'per s', 'rates', 'ipsmgw_submissions_total'],
  ['ipsmgw', 'Flows', 'now', 'gauges', 'ipsmgw_flows'],
  ['ipsmgw', 'Registrations', 'per s', 'rates', 'ipsmgw_registrations_total'],
  ['ipsmgw', 'Receivers', 'waiting', 'gauges', 'ipsmgw_waiting_subscribers'],
  ['sas', 'Captured', 'per s', 'rates', 'sas_messages_total'],
  ['sas', 'Trails', 'per s', 'rates', 'sas_trails_opened_total'],
];

/** What an edge need not have: a figure of 0 is left away, unless what it is of is there. */
const OPTIONAL: Record<string, string> = {
  pe_ports_down: '',
  pe_bgp_peers_established: 'pe_bgp_peers_down',
  pe_bgp_peers_down: '',
  igp_adjacencies: 'igp_neighbours',
  ldp_sessions: 'ldp_neighbours',
  pe_routes: '',
};

function isThere({ gauges }: Live, name: string): boolean {
  const other = OPTIONAL[name];
  return other === undefined || (gauges[name] ?? 0) > 0 || (gauges[other] ?? 0) > 0;
}

/** Figures at most. */
const FIGURES_MAX = 6;

/** The figures of one kind. */
export function figuresOf(live: Live, kind: string): Figure[] {
  const known = WISHES.filter(
    ([of, , , where, name]) => of === kind && name in live[where] && isThere(live, name),
  );
  return known.map(([, title, unit, where, name, over_s]) => ({
    title,
    unit,
    kind: where,
    name,
    ...(over_s && { over_s }),
  }));
}

/** The overview's figures: as many of each kind as there is room for, in the order above. */
export function figures(live: Live): Figure[] {
  const all = [...new Set(WISHES.map(([kind]) => kind))].map((kind) => figuresOf(live, kind));
  const present = all.filter((of) => of.length);
  const room = Math.max(1, Math.floor(FIGURES_MAX / Math.max(1, present.length)));
  const first = present.flatMap((of) => of.slice(0, room));
  const left = Math.max(0, FIGURES_MAX - first.length);
  const rest = present.flatMap((of) => of.slice(room)).slice(0, left);
  return present.flat().filter((figure) => first.includes(figure) || rest.includes(figure));
}

/** Each value as the mean of itself and those before it, as many as there are up to `over`. */
export function smoothed(values: number[], over: number): number[] {
  return values.map((_, at) => {
    const window = values.slice(Math.max(0, at + 1 - over), at + 1);
    return window.reduce((sum, value) => sum + value, 0) / window.length;
  });
}
