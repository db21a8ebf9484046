// The kinds of network functions, in the words of their field.
import type { BgpPeer, FunctionRow, History } from './api';

export interface Kind {
  name: string;
  short: string;
}

export const KINDS: Record<string, Kind> = {
  ssc: { name: 'Session border controller', short: 'SBC' },
  sgc: { name: 'SS7 signalling gateway', short: 'SG' },
  rr: { name: 'BGP route reflector', short: 'RR' },
  pe: { name: 'Provider edge router', short: 'PE' },
  msc: { name: 'Media controller', short: 'MSC' },
  ipsmgw: { name: 'IP short message gateway', short: 'SMS' },
  sas: { name: 'Service assurance server', short: 'SAS' },
};

export function kindName(kind: string): string {
  return KINDS[kind]?.name ?? kind;
}

export function kindShort(kind: string): string {
  return KINDS[kind]?.short ?? kind.toUpperCase();
}

/** Names of the functions of a kind. */
export function named(functions: FunctionRow[] | undefined, kind: string): string[] {
  return (functions ?? []).filter((row) => row.kind === kind).map((row) => row.name);
}

/** What says that an edge speaks BGP: the sessions that it should have, and routes of its own. */
export const BGP_GAUGES = ['pe_bgp_peers_established', 'pe_bgp_peers_down', 'pe_bgp_routes'];

/** The edges that speak BGP, by the last values of those. */
export function speakers({ series }: History): string[] {
  const found = series.filter(
    ({ name, values }) => BGP_GAUGES.includes(name) && values.some((value) => (value ?? 0) > 0),
  );
  return [...new Set(found.map((row) => row.function))];
}

/** Names of the functions with peers of BGP: reflectors, and the edges among `speaking`. */
export function bgpNames(functions: FunctionRow[] | undefined, speaking: string[]): string[] {
  return (functions ?? [])
    .filter((row) => row.kind === 'rr' || (row.kind === 'pe' && speaking.includes(row.name)))
    .map((row) => row.name);
}

/** Why a session does not stand, where that is known. */
export function whyOf(peer: Pick<BgpPeer, 'state' | 'why' | 'last_seen_us'>): string {
  const isCalled = peer.state === 'Connect' || peer.state === 'Active';
  return peer.why || (isCalled && peer.last_seen_us === null ? 'it has not answered yet' : '');
}
