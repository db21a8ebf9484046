// The partitions of a cluster by the node that serves them, as a page shows them: pure functions.
import type { ClusterLink, ClusterNode, Partition } from './api';

export interface Served {
  /** The node that serves; null where nobody does. */
  node: number | null;
  partitions: Partition[];
  /** Who stands by, for how many of them; known at the node that serves. */
  standbys: [node: number, partitions: number][];
  /** Partitions without a standby that has everything. */
  alone: number;
  /** Dialogues that stand, as far as it is known here. */
  dialogues: number;
  /** Dialogues of them that are kept here, in case that node dies. */
  kept: number;
}

/** Whether a death would lose the dialogues of a partition, as far as it is known here. */
export function isAlone(row: Partition): boolean {
  return row.active === null || (row.here && !row.standbys.length);
}

/** Partitions by who serves them; those that nobody serves come first. */
export function served(rows: Partition[]): Served[] {
  const nodes = [...new Set(rows.map((row) => row.active))];
  return nodes
    .sort((a, b) => (a ?? -1) - (b ?? -1))
    .map((node) => {
      const partitions = rows.filter((row) => row.active === node);
      const standbys = new Map<number, number>();
      for (const it of partitions.flatMap((row) => row.standbys)) {
        standbys.set(it, (standbys.get(it) ?? 0) + 1);
      }
      return {
        node,
        partitions,
        standbys: [...standbys].sort(([a], [b]) => a - b),
        alone: partitions.filter(isAlone).length,
        dialogues: partitions.reduce((sum, row) => sum + row.dialogues, 0),
        kept: partitions.reduce((sum, row) => sum + row.kept, 0),
      };
    });
}

/** What is to be said of a partition. */
export function said(row: Partition): string {
  const words = [`Partition ${row.partition}`];
  if (row.active === null) words.push('served by no node');
  else words.push(`served by node ${row.active}`);
  if (row.moving) words.push('it moves');
  if (row.active !== null && row.active !== row.first) {
    words.push(`it has moved from node ${row.first}`);
  }
  if (row.here) {
    const by = row.standbys.join(', ');
    words.push(by ? `node ${by} stands by` : 'no standby has all of it');
    if (row.dialogues) words.push(`${row.dialogues} dialogues`);
  }
  if (row.kept) words.push(`${row.kept} dialogues kept here`);
  return words.join(', ');
}

/** How a cluster stands, in a line, what is wrong first; and whether anything is. */
export function standing(nodes: ClusterNode[], rows: Partition[]): { text: string; good: boolean } {
  const wrong = nodes
    .filter((it) => it.state === 'silent')
    .map((it) => `node ${it.node} is not heard`);
  const nobodys = rows.filter((row) => row.active === null).length;
  const alone = rows.filter((row) => row.active !== null && isAlone(row)).length;
  const many = (of: number, is: string, are: string): string =>
    of === 1 ? `1 partition ${is}` : `${of} partitions ${are}`;
  if (nobodys) wrong.push(many(nobodys, 'is served by no node', 'are served by no node'));
  if (alone) wrong.push(many(alone, 'has no standby', 'have no standby'));
  const well = `all ${nodes.length} nodes are heard, all ${rows.length} partitions are served`;
  return { text: wrong.join(', ') || well, good: !wrong.length };
}

/** What one node says of another one: whether it hears it. */
export function hears(links: ClusterLink[], from: number, to: number): 'up' | 'down' | 'unknown' {
  const link = links.find((it) => it.from === from && it.to === to);
  if (!link?.known) return 'unknown';
  return link.up ? 'up' : 'down';
}
