// The kinds of network functions, in the words of their field.
import type { FunctionRow } from './api';

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
