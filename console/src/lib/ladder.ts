// Geometry of the ladder: hosts to columns, messages and events to rows, time to distance.
// Pure: the page and the SVG file draw the same scene.
import type { Host, StreamMark, TrailDetail, TrailEvent, TrailMessage, TrailStream } from './api';
import { grade, spanOf, type Grade } from './media';

export const MESSAGE_PX = 36;
export const EVENT_PX = 30;
export const COLUMN_PX_MIN = 128;
export const COLUMN_PX_MAX = 300;
const TOP_PX = 14;
const BOTTOM_PX = 24;
/** A silence from this length on is shown as a gap. */
const GAP_US = 500_000;
const GAP_PX_MAX = 46;
/** A silence of the signalling in which media are told of has room for them. */
const MEDIA_PX = 64;
const MEDIA_PX_MAX = 190;
const MEDIA_US = 3_000_000;
/** Streams that have a lane beside the ladder, and how wide one is. */
export const LANES_MAX = 4;
export const LANE_PX = 24;

/** What so many streams take beside the ladder. */
export function lanesWidth(streams: number): number {
  return streams ? Math.min(streams, LANES_MAX) * LANE_PX + 12 : 0;
}

/** Half the width of the band that stands for Tandem. */
const BAND_PX = 22;

export type Class = 'request' | 'provisional' | 'success' | 'redirect' | 'failure';

export interface Column {
  index: number;
  x: number;
  host: Host;
}

export interface Arrow {
  message: TrailMessage;
  class: Class;
  label: string;
  /** A word about the label: what is carried or repeated. */
  marks: string[];
  x1: number;
  x2: number;
  y: number;
  loop: boolean;
  since_us: number;
}

export interface Pill {
  event: TrailEvent;
  x: number;
  y: number;
  since_us: number;
}

export interface Gap {
  y: number;
  length_us: number;
}

export interface Link {
  from: number;
  to: number;
  class: Class;
  path: string;
  /** Middle of the line, and how long the way through took. */
  x: number;
  y: number;
  took_us: number;
}

/** A part of a lane: what a report says of the time between two heights. */
export interface LanePart {
  y1: number;
  y2: number;
  grade: Grade;
  /** Loss, 0 to 1 of what is drawn at most. */
  loss: number;
}

/** A stream beside the ladder, from its beginning to its end. */
export interface Lane {
  /** Its place among the streams of the trail. */
  place: number;
  stream: TrailStream;
  x: number;
  y1: number;
  y2: number;
  grade: Grade;
  parts: LanePart[];
  /** One that has no room for its sign is drawn as a dot. */
  marks: { y: number; mark: StreamMark; isSmall: boolean }[];
}

export interface Scene {
  width: number;
  height: number;
  columns: Column[];
  /** Where Tandem stands: left and right edge. */
  band: { x1: number; x2: number } | null;
  arrows: Arrow[];
  pills: Pill[];
  gaps: Gap[];
  links: Link[];
  lanes: Lane[];
}

export interface Choice {
  /** Legs to show; null shows all. */
  leg: number | null;
  events: boolean;
  retransmissions: boolean;
}

export function classOf(message: TrailMessage): Class {
  const status = message.status;
  if (message.failed) return 'failure';
  if (message.components.length && /^(End|Continue) result/.test(message.method ?? '')) {
    return 'success';
  }
  if (status === null) return 'request';
  if (status < 200) return 'provisional';
  if (status < 300) return 'success';
  return status < 400 ? 'redirect' : 'failure';
}

export function labelOf(message: TrailMessage): string {
  if (message.status === null) return message.method ?? 'not SIP';
  return `${message.status} ${message.reason ?? ''}`.trim();
}

/**
 * Columns from left to right: the access side, Tandem's own addresses, the core side. A host
 * without a side stands on the side of the Tandem address it speaks with; without a Tandem in
 * the picture the order is that of first appearance.
 */
export function order(detail: TrailDetail): number[] {
  const { hosts, messages } = detail;
  const seen: number[] = [];
  for (const message of messages) {
    for (const index of [message.from, message.to]) {
      if (hosts[index] && !seen.includes(index)) seen.push(index);
    }
  }
  for (const event of detail.events) {
    if (event.host !== null && hosts[event.host] && !seen.includes(event.host)) {
      seen.push(event.host);
    }
  }
  // A dialogue goes from node to node.
  if (detail.trail.kind === 'dialogue') return seen;
  if (!seen.some((index) => hosts[index]?.self)) return seen;
  const ranks = new Map(seen.map((index) => [index, rank(detail, index)]));
  return seen
    .map((index, place) => ({ index, place }))
    .sort((a, b) => (ranks.get(a.index) ?? 0) - (ranks.get(b.index) ?? 0) || a.place - b.place)
    .map(({ index }) => index);
}

function rank(detail: TrailDetail, index: number): number {
  const host = detail.hosts[index];
  if (!host) return 0;
  if (host.self) return host.side === 'access' ? 1 : host.side === 'core' ? 3 : 2;
  return (host.side ?? sideBySpeech(detail, index)) === 'core' ? 4 : 0;
}

function sideBySpeech(detail: TrailDetail, index: number): 'access' | 'core' {
  for (const message of detail.messages) {
    if (message.from !== index && message.to !== index) continue;
    const peer = detail.hosts[message.from === index ? message.to : message.from];
    if (peer?.self && peer.side) return peer.side;
    if (peer?.self) return message.leg === 0 ? 'access' : 'core';
  }
  return 'core';
}

/** Extra distance for a silence: grows with its logarithm; where media are told of, more. */
function gapPx(us: number, hasMedia: boolean): number {
  if (us < GAP_US) return 0;
  if (hasMedia && us >= MEDIA_US) {
    return Math.min(MEDIA_PX_MAX, MEDIA_PX + 16 * Math.log2(us / MEDIA_US));
  }
  return Math.min(GAP_PX_MAX, 14 + 6 * Math.log2(us / GAP_US));
}

/** Heights of moments: those of messages and events, and in a line between them. */
class Clock {
  private at: { at_us: number; y: number }[] = [];

  take(at_us: number, y: number): void {
    this.at.push({ at_us, y });
  }

  y(at_us: number): number {
    const next = this.at.findIndex((it) => it.at_us >= at_us);
    const [before, after] = [this.at[next - 1], this.at[next]];
    if (!after) return this.at.at(-1)?.y ?? 0;
    if (!before || after.at_us === before.at_us) return after.y;
    const part = (at_us - before.at_us) / (after.at_us - before.at_us);
    return before.y + part * (after.y - before.y);
  }
}

/** Room that the sign of a mark needs. */
const SIGN_PX = 14;
/** Loss that fills the width of a lane, thousandths. */
const LOSS_PERMILLE_MAX = 100;

function laneOf(stream: TrailStream, place: number, detail: TrailDetail, clock: Clock): Lane {
  const [begin, end] = spanOf(stream, detail);
  const [y1, y2] = [clock.y(begin), Math.max(clock.y(begin) + 6, clock.y(end))];
  const parts = stream.points.map((point, n) => {
    const from = stream.points[n - 1]?.at_us ?? point.at_us - point.duration_ms * 1000;
    return {
      y1: Math.max(y1, clock.y(Math.max(begin, from))),
      y2: Math.min(y2, clock.y(Math.min(end, point.at_us))),
      grade: grade(point),
      loss: Math.min(1, (point.loss_permille ?? 0) / LOSS_PERMILLE_MAX),
    };
  });
  return {
    place,
    stream,
    x: place * LANE_PX + 8,
    y1,
    y2,
    grade: grade(stream.figures),
    parts: parts.filter((part) => part.y2 > part.y1),
    marks: stream.marks
      .filter((mark) => !['StreamBegan', 'StreamEnded'].includes(mark.name))
      .map((mark) => ({ y: clock.y(mark.at_us), mark }))
      .map((it, n, all) => ({ ...it, isSmall: n > 0 && it.y - (all[n - 1]?.y ?? 0) < SIGN_PX })),
  };
}

/** Moments of which reports of media tell. */
function told(detail: TrailDetail): number[] {
  return detail.streams.flatMap((stream) => stream.points.map((point) => point.at_us));
}

type Item = { at_us: number } & ({ message: TrailMessage } | { event: TrailEvent });

/** Messages and events in the order of time; at one instant messages come first. */
function sequence(detail: TrailDetail, choice: Choice): Item[] {
  const messages: Item[] = detail.messages
    .filter((m) => choice.leg === null || m.leg === choice.leg)
    .filter((m) => choice.retransmissions || m.retransmission_of === null)
    .map((message) => ({ at_us: message.at_us, message }));
  const events: Item[] = choice.events
    ? detail.events
        .filter((e) => choice.leg === null || e.leg === null || e.leg === choice.leg)
        .map((event) => ({ at_us: event.at_us, event }))
    : [];
  return [...messages, ...events].sort((a, b) => a.at_us - b.at_us);
}

function columnsOf(detail: TrailDetail, width: number): Column[] {
  const indices = order(detail);
  const room = indices.length ? width / indices.length : width;
  const pitch = Math.max(COLUMN_PX_MIN, Math.min(COLUMN_PX_MAX, room));
  return indices.flatMap((index, place) => {
    const host = detail.hosts[index];
    return host ? [{ index, host, x: Math.round(pitch * (place + 0.5)) }] : [];
  });
}

/** Lays the trail out for a drawing area of `width` pixels (wider if the hosts need it). */
export function layout(detail: TrailDetail, width: number, choice: Choice): Scene {
  const columns = columnsOf(detail, width);
  const places = new Map(columns.map((column) => [column.index, column.x]));
  const own = columns.filter((column) => column.host.self).map((column) => column.x);
  const arrows: Arrow[] = [];
  const pills: Pill[] = [];
  const gaps: Gap[] = [];
  const items = sequence(detail, choice);
  const start = items[0]?.at_us ?? 0;
  const reports = told(detail);
  const clock = new Clock();
  let y = TOP_PX;
  let before = start;
  for (const item of items) {
    const hasMedia = reports.some((at_us) => at_us > before && at_us < item.at_us);
    const extra = gapPx(item.at_us - before, hasMedia);
    if (extra) gaps.push({ y: y + extra / 2, length_us: item.at_us - before });
    y += extra;
    before = item.at_us;
    const since_us = item.at_us - start;
    if ('message' in item) {
      y += MESSAGE_PX;
      arrows.push(arrowOf(item.message, places, y - 8, since_us));
    } else {
      y += EVENT_PX;
      const x = places.get(item.event.host ?? -1) ?? own[0] ?? columns[0]?.x ?? 0;
      pills.push({ event: item.event, x, y: y - 11, since_us });
    }
    clock.take(item.at_us, y - 8);
  }
  const latest = Math.max(before, ...reports);
  if (latest > before) {
    // The call goes on: nothing stands below yet but its media.
    y += gapPx(latest - before, true);
    clock.take(latest, y);
  }
  const last = columns.at(-1)?.x ?? 0;
  const first = columns[0]?.x ?? 0;
  return {
    width: last + first,
    height: y + BOTTOM_PX,
    columns,
    band: own.length ? { x1: Math.min(...own) - BAND_PX, x2: Math.max(...own) + BAND_PX } : null,
    arrows,
    pills,
    gaps,
    links: linksOf(arrows),
    lanes: detail.streams
      .slice(0, LANES_MAX)
      .map((stream, place) => laneOf(stream, place, detail, clock)),
  };
}

function arrowOf(
  message: TrailMessage,
  places: Map<number, number>,
  y: number,
  since_us: number,
): Arrow {
  const x1 = places.get(message.from) ?? 0;
  const x2 = places.get(message.to) ?? 0;
  const marks: string[] = [];
  if (message.has_sdp) marks.push('SDP');
  if (message.retransmission_of !== null) marks.push('repeat');
  const loop = x1 === x2;
  return {
    message,
    class: classOf(message),
    label: labelOf(message),
    marks,
    x1,
    x2,
    y,
    loop,
    since_us,
  };
}

/** How far a way through that begins and ends at one line bends, and how far from it its time is. */
const BEND_PX = 10;
const BESIDE_PX = 30;

/** Through Tandem: from where a message came in to where its pair went out. */
function linksOf(arrows: Arrow[]): Link[] {
  const byNumber = new Map(arrows.map((arrow) => [arrow.message.n, arrow]));
  return arrows.flatMap((arrow) => {
    const pair = byNumber.get(arrow.message.pair ?? -1);
    if (!pair || pair.y <= arrow.y || arrow.message.retransmission_of !== null) return [];
    if (pair.message.retransmission_of !== null) return [];
    const middle = (arrow.x2 + pair.x1) / 2;
    // Into and out of one line: it bends to the side where the message did not come from, and its
    // time stands beside it.
    const side = arrow.x2 !== pair.x1 ? 0 : arrow.x1 <= arrow.x2 ? 1 : -1;
    const bend = side * BEND_PX;
    const path =
      `M${arrow.x2} ${arrow.y}C${middle + bend} ${arrow.y} ` +
      `${middle + bend} ${pair.y} ${pair.x1} ${pair.y}`;
    return [
      {
        from: arrow.message.n,
        to: pair.message.n,
        class: arrow.class,
        path,
        x: middle + side * BESIDE_PX,
        y: (arrow.y + pair.y) / 2,
        took_us: pair.message.at_us - arrow.message.at_us,
      },
    ];
  });
}

/** Outline of an arrow's line; a message to oneself is a loop. */
export function linePath(arrow: Arrow): string {
  if (arrow.loop) {
    return `M${arrow.x1} ${arrow.y - 7}h26a4 4 0 0 1 4 4v6a4 4 0 0 1-4 4h-22`;
  }
  const back = arrow.x2 > arrow.x1 ? -5 : 5;
  return `M${arrow.x1} ${arrow.y}H${arrow.x2 + back}`;
}

/** Outline of an arrow's head. */
export function headPath(arrow: Arrow): string {
  if (arrow.loop) return `M${arrow.x1} ${arrow.y + 7}l8 -4v8z`;
  const back = arrow.x2 > arrow.x1 ? -9 : 9;
  return `M${arrow.x2} ${arrow.y}l${back} -4.5v9z`;
}

/** Where an arrow's label is centred. */
export function labelX(arrow: Arrow): number {
  return arrow.loop ? arrow.x1 + 60 : (arrow.x1 + arrow.x2) / 2;
}
