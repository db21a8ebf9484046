// What a stream was like, in words, colours and lines. Pure: the page and the SVG file share it.
import type { MediaFigures, StreamMark, StreamPoint, TrailDetail, TrailStream } from './api';
import { party } from './format';

/** How a MOS is judged: satisfied, some dissatisfied, many dissatisfied (G.107 annex B). */
export type Grade = 'good' | 'fair' | 'bad' | 'unknown';
const GOOD_HUNDREDTHS = 400;
const FAIR_HUNDREDTHS = 350;
/** Loss and jitter that a MOS would be judged fair or bad for, where there is none. */
const LOSS_PERMILLE = [10, 50] as const;
const JITTER_US = [30_000, 80_000] as const;
/** A stream without an end ended with its call, or goes on until its last report. */
const NONE = '–';

export const TONES: Record<Grade, string> = {
  good: 'success',
  fair: 'redirect',
  bad: 'failure',
  unknown: 'provisional',
};

export function grade(figures: Partial<MediaFigures>): Grade {
  const mos = figures.mos_hundredths ?? null;
  if (mos !== null) {
    if (mos >= GOOD_HUNDREDTHS) return 'good';
    return mos >= FAIR_HUNDREDTHS ? 'fair' : 'bad';
  }
  const loss = figures.loss_permille ?? null;
  const jitter = figures.jitter_us ?? null;
  if (loss === null && jitter === null) return 'unknown';
  const above = (at: 0 | 1) => (loss ?? 0) >= LOSS_PERMILLE[at] || (jitter ?? 0) >= JITTER_US[at];
  if (above(1)) return 'bad';
  return above(0) ? 'fair' : 'good';
}

/** A CSS value for `--tone`. */
export function gradeTone(figures: Partial<MediaFigures>): string {
  return `var(--${TONES[grade(figures)]})`;
}

export function mosText(hundredths: number | null | undefined): string {
  return hundredths == null ? NONE : (hundredths / 100).toFixed(2);
}

export function lossText(permille: number | null | undefined): string {
  return permille == null ? NONE : `${(permille / 10).toFixed(1)} %`;
}

export function msText(us: number | null | undefined): string {
  return us == null ? NONE : `${(us / 1000).toFixed(us < 100_000 ? 1 : 0)} ms`;
}

/** `opus/48000/2` → `opus`; what stands behind the name is rarely asked for. */
export function codecName(codec: string | null): string {
  return codec?.split('/')[0] ?? '';
}

/** Suites of SRTP as people call them. */
export function suiteName(suite: string | null): string {
  if (!suite) return '';
  if (suite === 'RTP') return 'not encrypted';
  const found = /^(?:AEAD_)?AES_(?:CM_)?(128|192|256)_(HMAC_SHA1_(\d+)|GCM)/.exec(suite);
  if (!found) return suite;
  return `SRTP AES-${found[1]} ${found[2] === 'GCM' ? 'GCM' : `SHA1-${found[3]}`}`;
}

/** Whose packets, and where they were counted: `from` and `to` of the way. */
export function wayOf(stream: TrailStream, detail: TrailDetail): { from: string; to: string } {
  const { trail, hosts } = detail;
  const end = (leg: TrailStream['leg']) =>
    leg === 'a' ? party(trail.from) : leg === 'b' ? party(trail.to) : 'an end';
  const own = stream.terms.controller ?? 'the media controller';
  if (stream.heard_by === null) return { from: end(stream.leg), to: own };
  const ip = stream.heard_by.replace(/:\d+$/, '');
  const host = hosts.find((it) => it.address.replace(/:\d+$/, '') === ip);
  const other = stream.leg === null ? null : stream.leg === 'a' ? 'b' : 'a';
  const hearer = other ? end(other) : host?.label || stream.heard_by;
  return {
    from: stream.leg === null ? `source ${stream.ssrc ?? '?'}` : end(stream.leg),
    to: hearer,
  };
}

/** The title of a lane: whose packets a media controller counted, or `R` for a report by RTCP. */
export function laneTitle(stream: TrailStream): string {
  return stream.heard_by === null ? (stream.leg ?? '?').toUpperCase() : 'R';
}

/** The worst figures first: what is wrong with a stream, in a few words. */
export function troubles(stream: TrailStream): string[] {
  const found: string[] = [];
  if (stream.one_way) found.push('not heard for some time');
  if (stream.timed_out) found.push('packets were missing for too long');
  if (stream.unprotected) {
    const many = stream.unprotected === 1 ? '1 packet' : `${stream.unprotected} packets`;
    found.push(`${many} refused by SRTP`);
  }
  if (stream.ended_by) found.push(`ended: ${stream.ended_by}`);
  return found;
}

const MARKS: Record<string, [name: string, tone: string]> = {
  StreamBegan: ['Began', 'accent'],
  StreamChanged: ['Changed', 'accent'],
  StreamLatched: ['Latched', 'accent'],
  DigitTyped: ['Digit', 'request'],
  OneWayDetected: ['Not heard', 'failure'],
  OneWayEnded: ['Heard again', 'success'],
  StreamTimedOut: ['Timed out', 'failure'],
  SrtpFailed: ['SRTP failed', 'failure'],
  StreamEnded: ['Ended', 'provisional'],
};

export function markName(mark: StreamMark): string {
  return MARKS[mark.name]?.[0] ?? mark.name;
}

export function markTone(mark: StreamMark): string {
  return MARKS[mark.name]?.[1] ?? 'provisional';
}

/** The digit as it is drawn: one that was not kept is a dot. */
export function digitText(mark: StreamMark): string {
  return mark.digit?.length === 1 ? mark.digit : '•';
}

/** What a mark says, without the figures that stand elsewhere. */
export function markText(mark: StreamMark): string {
  if (mark.name === 'DigitTyped') {
    const kept = mark.digit?.length === 1 ? mark.digit : 'not kept';
    const held = /duration_ms (\d+)/.exec(mark.text)?.[1];
    const way = /way ([\w-]+)/.exec(mark.text)?.[1];
    return [kept, held && `${held} ms`, way && WAYS[way]].filter(Boolean).join(', ');
  }
  // What it began as, and what it was over the whole, stand above.
  if (['StreamBegan', 'StreamEnded'].includes(mark.name)) return '';
  return mark.text.replace(/(\w+)_ms (\d+)/g, '$1 $2 ms').replaceAll('_', ' ');
}

const WAYS: Record<string, string> = { rtp: 'in RTP', info: 'in INFO', tone: 'as a tone' };

/** From when to when a stream is drawn. */
export function spanOf(stream: TrailStream, detail: TrailDetail): [number, number] {
  const last = Math.max(
    stream.began_at_us,
    ...stream.points.map((point) => point.at_us),
    ...stream.marks.map((mark) => mark.at_us),
  );
  const first = stream.points[0];
  const began = Math.min(
    stream.began_at_us,
    first ? first.at_us - first.duration_ms * 1000 : stream.began_at_us,
  );
  const end = stream.ended_at_us ?? detail.trail.ended_at_us ?? last;
  // A report of what was before the first message is about nothing that is drawn.
  const start = Math.max(began, detail.trail.started_at_us);
  return [start, Math.max(start, end)];
}

/** What a report says of the time between two moments. */
export function pointAt(points: StreamPoint[], at_us: number): StreamPoint | null {
  return points.find((point) => at_us <= point.at_us) ?? points.at(-1) ?? null;
}
