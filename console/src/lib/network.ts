// The topology of an area or a level as a picture: what was there after each change, where nodes
// stand, which lines are drawn; how neighbours stand. Pure functions; the page keeps what is pinned
// and hidden.
import type {
  IgpChange,
  IgpInterface,
  IgpLink,
  IgpNeighbour,
  IgpNode,
  IgpPath,
  IgpStep,
  IgpTopology,
} from './api';

export interface Point {
  x: number;
  y: number;
}

/** A node as it is drawn. */
export interface Drawn extends IgpNode, Point {
  label: string;
}

export type Mark = 'shortest' | 'equal' | 'repair' | 'gone' | 'came' | '';

/** All links between two nodes, both directions, as one line. */
export interface Line {
  key: string;
  one: string;
  other: string;
  /** What it costs from `one`, and from `other`; none: that direction is not there. */
  there: number | null;
  back: number | null;
  /** Links beside it between the same two. */
  more: number;
  interface: string | null;
  bfd: string | null;
}

/** The name by which people know a node. */
export function labelOf(node: { id: string; name: string | null }): string {
  return node.name ?? node.id.replace(/^lan /, '');
}

export function keyOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

/** The lines of links. */
export function lines(links: IgpLink[]): Line[] {
  const found = new Map<string, Line & { seen: number }>();
  for (const link of links) {
    const key = keyOf(link.from, link.to);
    const [one, other] = link.from < link.to ? [link.from, link.to] : [link.to, link.from];
    const line = found.get(key) ?? {
      ...{ key, one, other, there: null, back: null, more: 0, seen: 0 },
      ...{ interface: null, bfd: null },
    };
    found.set(key, line);
    const isThere = link.from === one;
    if (isThere) line.seen += 1;
    line.more = Math.max(line.more, line.seen - 1);
    const before = isThere ? line.there : line.back;
    const cost = before === null ? link.cost : Math.min(before, link.cost);
    if (isThere) line.there = cost;
    else line.back = cost;
    line.interface ??= link.interface;
    // Of several sessions the one that is not up is told.
    if (link.bfd && (line.bfd === null || line.bfd === 'Up')) line.bfd = link.bfd;
  }
  return [...found.values()];
}

/** What a line costs, in a word: one number, or both. What leaves a network costs nothing. */
export function costOf({ there, back }: Pick<Line, 'there' | 'back'>): string {
  if (there === 0 || back === 0) return String(there || back || 0);
  if (there === null || back === null || there === back) return String(there ?? back ?? '');
  return `${there} / ${back}`;
}

/** A topology as it was before the last `steps` changes, the newest of them undone first. */
export function before(now: IgpTopology, changes: IgpChange[], steps: number): IgpTopology {
  const links = [...now.links];
  const nodes = new Map(now.nodes.map((node) => [node.id, node]));
  for (const change of changes.slice(changes.length - steps).reverse()) {
    for (const { from, to, before, after } of change.links) {
      if (after !== null) {
        const at = links.findIndex((it) => it.from === from && it.to === to && it.cost === after);
        if (at >= 0) links.splice(at, 1);
      }
      if (before !== null) links.push({ from, to, cost: before, interface: null, bfd: null });
      for (const id of [from, to]) {
        if (!nodes.has(id)) nodes.set(id, unknown(id));
      }
    }
  }
  return { ...now, links, nodes: [...nodes.values()] };
}

function unknown(id: string): IgpNode {
  const isLan = id.startsWith('lan ') || /\.[0-9a-f]{2}$/.test(id);
  return {
    ...{ id, name: null, kind: isLan ? 'network' : 'router', own: false, border: false },
    ...{ boundary: false, overloaded: false, cost: null },
  };
}

/** What a change did, in a sentence; a link whose both directions changed alike is one. */
export function sentence(change: IgpChange, name: (id: string) => string): string {
  const seen = new Map<string, [string, string, number | null, number | null]>();
  for (const { from, to, before, after } of change.links) {
    const key = keyOf(from, to);
    if (!seen.has(key)) seen.set(key, [from, to, before, after]);
  }
  const parts = [...seen.values()].map(([from, to, before, after]) => {
    const link = `${name(from)} – ${name(to)}`;
    if (after === null) return `${link} went`;
    return before === null ? `${link} came` : `${link} costs ${after}, not ${before}`;
  });
  const shown = parts.slice(0, 2).join('; ');
  return parts.length > 2 ? `${shown}; and ${parts.length - 2} more` : shown;
}

/** Which lines are marked, by their keys: the repair over the equal ones, the shortest over both. */
export function marks(path: IgpPath | null, change: IgpChange | null): Map<string, Mark> {
  const found = new Map<string, Mark>();
  const mark = (steps: IgpStep[], as: Mark) =>
    steps.forEach((step) => found.set(keyOf(step.from, step.to), as));
  for (const { from, to, before, after } of change?.links ?? []) {
    if (after === null) found.set(keyOf(from, to), 'gone');
    else if (before === null) found.set(keyOf(from, to), 'came');
  }
  if (path) {
    mark(path.equal, 'equal');
    mark(path.repair, 'repair');
    mark(path.path, 'shortest');
  }
  return found;
}

/** Steps of the picture's making for so many nodes: a picture of thousands is made in a second. */
function rounds(nodes: number): number {
  return Math.max(20, Math.min(400, Math.round(6_000_000 / (nodes * nodes + 1))));
}

/**
 * Where nodes stand: linked ones near each other, all apart. Those of `known` begin where they
 * stood, so that a change moves little; pinned ones stay there.
 */
export function layout(
  nodes: IgpNode[],
  all: Line[],
  known: Map<string, Point> = new Map(),
  pinned: Set<string> = new Set(),
): Map<string, Point> {
  const apart = 130;
  const places = new Map<string, Point>();
  const order = [...nodes].sort((a, b) => Number(b.own) - Number(a.own) || (a.id < b.id ? -1 : 1));
  order.forEach((node, at) => {
    // A sunflower: no two begin at one place.
    const far = apart * 0.62 * Math.sqrt(at);
    const angle = at * 2.39996;
    const begin = { x: far * Math.cos(angle) * 1.3, y: far * Math.sin(angle) };
    places.set(node.id, known.get(node.id) ?? begin);
  });
  const isNew = order.some((node) => !known.has(node.id));
  if (!isNew) return places;
  const ids = order.map((node) => node.id);
  const at = ids.map((id) => ({ ...(places.get(id) as Point) }));
  const index = new Map(ids.map((id, place) => [id, place]));
  const pairs = all.flatMap((line) => {
    const [one, other] = [index.get(line.one), index.get(line.other)];
    return one === undefined || other === undefined ? [] : [[one, other] as const];
  });
  const total = rounds(ids.length);
  for (let round = 0; round < total; round++) {
    const push = at.map(() => ({ x: 0, y: 0 }));
    for (let a = 0; a < at.length; a++) {
      for (let b = a + 1; b < at.length; b++) {
        shove(at, push, a, b, apart, -1);
      }
    }
    for (const [a, b] of pairs) shove(at, push, a, b, apart, 1);
    const step = apart * 0.5 * (1 - round / total) + 1;
    at.forEach((point, place) => {
      if (pinned.has(ids[place] ?? '') && known.has(ids[place] ?? '')) return;
      const move = push[place] as Point;
      // A little towards the middle, more so from above and below: pictures are wider than high.
      move.x -= point.x * 0.02;
      move.y -= point.y * 0.05;
      const far = Math.hypot(move.x, move.y) || 1;
      const by = Math.min(far, step) / far;
      point.x += move.x * by;
      point.y += move.y * by;
    });
  }
  ids.forEach((id, place) => places.set(id, at[place] as Point));
  return places;
}

/** Pushes two nodes apart, or draws them to each other. */
function shove(at: Point[], push: Point[], a: number, b: number, apart: number, sign: number) {
  const [one, other] = [at[a] as Point, at[b] as Point];
  const [x, y] = [other.x - one.x, other.y - one.y];
  const far = Math.max(1, Math.hypot(x, y));
  if (sign < 0 && far > apart * 6) return;
  const force = sign < 0 ? -(apart * apart) / far : (far * far) / apart;
  const by = (force / far) * 0.5;
  const [first, second] = [push[a] as Point, push[b] as Point];
  first.x += x * by;
  first.y += y * by;
  second.x -= x * by;
  second.y -= y * by;
}

/** How places become pixels of a picture. */
export interface Fit {
  x: number;
  y: number;
  across: number;
  down: number;
}

/** Room for names and rings around the outermost nodes. */
const EDGE = { x: 56, top: 34, bottom: 50 };

/** Fills a picture of that size: wider or higher than the places are, within reason. */
export function fit(points: Point[], width: number, height: number): Fit {
  const [xs, ys] = [points.map((it) => it.x), points.map((it) => it.y)];
  const [left, top] = [Math.min(...xs, 0), Math.min(...ys, 0)];
  const wide = Math.max(1, Math.max(...xs, 0) - left);
  const high = Math.max(1, Math.max(...ys, 0) - top);
  const room = { x: Math.max(80, width - 2 * EDGE.x), y: height - EDGE.top - EDGE.bottom };
  const most = 1.5;
  const across = Math.min(room.x / wide, most);
  const down = Math.min(room.y / high, most);
  return {
    across,
    down,
    x: EDGE.x - left * across + (room.x - wide * across) / 2,
    y: EDGE.top - top * down + (room.y - high * down) / 2,
  };
}

/** A place in the picture. */
export function onto(by: Fit, { x, y }: Point): Point {
  return { x: by.x + x * by.across, y: by.y + y * by.down };
}

/** The place of a point of the picture. */
export function back(by: Fit, { x, y }: Point): Point {
  return { x: (x - by.x) / by.across, y: (y - by.y) / by.down };
}

export const TONES = {
  paper: '#ffffff',
  ink: '#14191c',
  soft: '#5f6b71',
  line: '#8b979d',
  accent: '#0d6479',
  success: '#17744a',
  failure: '#bf3127',
  repair: '#855c05',
};

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** The colour of a line in a file. */
function tone(line: Line, mark: Mark): [string, number, string] {
  if (mark === 'shortest') return [TONES.accent, 4, ''];
  if (mark === 'equal') return [TONES.accent, 2.5, ''];
  if (mark === 'repair') return [TONES.repair, 3, '7 5'];
  if (mark === 'gone') return [TONES.failure, 2, '3 5'];
  if (mark === 'came') return [TONES.success, 3, ''];
  if (line.bfd) return [line.bfd === 'Up' ? TONES.success : TONES.failure, 2, ''];
  return [TONES.line, 1.5, ''];
}

/** The picture as an SVG file that stands alone: own colours, no style sheet. */
export function svg(nodes: Drawn[], all: Line[], marked: Map<string, Mark>, title: string): string {
  const [width, height, head] = [1200, 720, 40];
  const by = fit(nodes, width, height);
  const at = new Map(nodes.map((node) => [node.id, onto(by, node)]));
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + head}" ` +
      `viewBox="0 ${-head} ${width} ${height + head}" ` +
      `font-family="Geist, system-ui, sans-serif" font-size="12">`,
    `<title>${escape(title)}</title>`,
    `<rect y="${-head}" width="100%" height="100%" fill="${TONES.paper}"/>`,
    `<text x="16" y="-14" font-size="14" font-weight="600" fill="${TONES.ink}">` +
      `${escape(title)}</text>`,
  ];
  for (const line of all) {
    const [one, other] = [at.get(line.one), at.get(line.other)];
    if (!one || !other) continue;
    const [colour, width, dash] = tone(line, marked.get(line.key) ?? '');
    parts.push(
      `<line x1="${one.x}" y1="${one.y}" x2="${other.x}" y2="${other.y}" stroke="${colour}" ` +
        `stroke-width="${width}"${dash && ` stroke-dasharray="${dash}"`}/>`,
      `<text x="${(one.x + other.x) / 2}" y="${(one.y + other.y) / 2 + 4}" text-anchor="middle" ` +
        `font-size="11" fill="${TONES.soft}" stroke="${TONES.paper}" stroke-width="5" ` +
        `paint-order="stroke">${costOf(line)}</text>`,
    );
  }
  for (const node of nodes) {
    const { x, y } = at.get(node.id) as Point;
    const fill = node.own ? TONES.accent : TONES.paper;
    parts.push(
      node.kind === 'network'
        ? `<rect x="${x - 7}" y="${y - 7}" width="14" height="14" rx="3" ` +
            `fill="${TONES.paper}" stroke="${TONES.line}" stroke-width="1.5"/>`
        : `<circle cx="${x}" cy="${y}" r="13" fill="${fill}" ` +
            `stroke="${node.own ? TONES.accent : TONES.ink}" stroke-width="1.5"/>`,
      `<text x="${x}" y="${y + 30}" text-anchor="middle" fill="${TONES.ink}" ` +
        `stroke="${TONES.paper}" stroke-width="4" paint-order="stroke">` +
        `${escape(node.label)}</text>`,
    );
  }
  return [...parts, '</svg>'].join('\n');
}

/** Whether routers exchange what they know, or are as far as two on a LAN go. */
export function isAdjacent({ state }: Pick<IgpNeighbour, 'state'>): boolean {
  return state === 'Full' || state === 'Up' || state === '2-Way';
}

/** Whether it is heard and not believed. */
export function isRefused({ state }: Pick<IgpNeighbour, 'state'>): boolean {
  return state === 'refused';
}

/** Those of a protocol, the ones that are not adjacent first. */
export function byTrouble(all: IgpNeighbour[], protocol: string): IgpNeighbour[] {
  return all
    .filter((row) => row.protocol === protocol)
    .sort(
      (a, b) =>
        Number(isAdjacent(a)) - Number(isAdjacent(b)) ||
        a.interface.localeCompare(b.interface, undefined, { numeric: true }),
    );
}

/** Interfaces that speak a protocol and hear nobody. */
export function silent(
  interfaces: IgpInterface[],
  heard: Pick<IgpNeighbour, 'interface'>[],
  protocol: string,
): string[] {
  const names = new Set(heard.map((row) => row.interface));
  const found = interfaces.filter(
    (row) => row.protocol === protocol && !row.passive && !names.has(row.interface),
  );
  return [...new Set(found.map((row) => row.interface))];
}

/** How neighbours stand, in the words of a chip; amber when one is not as it should be. */
export function standingOf(neighbours: IgpNeighbour[]): { text: string; isWell: boolean } {
  const up = neighbours.filter(isAdjacent).length;
  const refused = neighbours.filter(isRefused).length;
  const all = neighbours.length;
  const isWell = all > 0 && up === all;
  if (!all) return { text: 'no router is heard', isWell };
  if (isWell) return { text: `${all} ${all === 1 ? 'neighbour' : 'neighbours'} adjacent`, isWell };
  const text = `${up} of ${all} neighbours adjacent`;
  return { text: refused ? `${text}, ${refused} refused` : text, isWell };
}
