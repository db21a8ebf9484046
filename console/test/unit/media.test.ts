// Media in words and lines: grades, marks, and where a stream stands beside the ladder.
import { describe, expect, it } from 'vitest';
import type { MediaFigures, TrailDetail, TrailMessage, TrailStream } from '../../src/lib/api';
import { layout } from '../../src/lib/ladder';
import {
  digitText,
  grade,
  laneTitle,
  lossText,
  markText,
  mosText,
  msText,
  suiteName,
  wayOf,
} from '../../src/lib/media';
import { draw } from '../../src/lib/svg';

const NOTHING: MediaFigures = {
  packets: null,
  lost: null,
  loss_permille: null,
  jitter_us: null,
  round_trip_us: null,
  r_tenths: null,
  mos_hundredths: null,
};

function stream(more: Partial<TrailStream> = {}): TrailStream {
  return {
    leg: 'a',
    line: 0,
    heard_by: null,
    ssrc: null,
    terms: {
      kind: 'audio',
      codec: 'PCMA/8000',
      suite: 'RTP',
      local: null,
      remote: null,
      latched: null,
      direction: null,
      controller: 'msc1',
    },
    began_at_us: 1_000_000,
    ended_at_us: 61_000_000,
    figures: { ...NOTHING, mos_hundredths: 410 },
    mos_min_hundredths: 231,
    one_way: false,
    timed_out: false,
    unprotected: 0,
    ended_by: null,
    points: [6, 11, 16, 21].map((s) => ({
      ...NOTHING,
      at_us: s * 1_000_000,
      duration_ms: 5_000,
      mos_hundredths: s === 16 ? 231 : 440,
      loss_permille: s === 16 ? 80 : 0,
    })),
    marks: [
      { at_us: 1_000_000, name: 'StreamBegan', text: '', digit: null },
      { at_us: 8_000_000, name: 'DigitTyped', text: 'duration_ms 120, way rtp', digit: '5' },
    ],
    ...more,
  };
}

function message(n: number, at_s: number, method: string): TrailMessage {
  return {
    n,
    at_us: at_s * 1_000_000,
    from: 0,
    to: 1,
    transport: 'udp',
    tags: '',
    call_id: 'x',
    leg: 0,
    method,
    status: null,
    reason: null,
    cseq: 1,
    cseq_method: method,
    retransmission_of: null,
    pair: null,
    has_sdp: false,
    failed: false,
    components: [],
    text: '',
  };
}

function call(streams: TrailStream[], isOver = true): TrailDetail {
  const messages = [message(0, 0, 'INVITE'), message(1, 1, 'ACK')];
  if (isOver) messages.push(message(2, 61, 'BYE'));
  const addresses = ['198.51.100.7:5060', '192.0.2.1:5060'];
  return {
    hosts: addresses.map((address) => ({ address, label: '', side: null, self: false })),
    messages,
    events: [],
    streams,
    left_out: 0,
    trail: {
      id: 't',
      kind: 'call',
      started_at_us: 0,
      ended_at_us: isOver ? 61_000_000 : null,
      from: 'sip:alice@x',
      to: 'sip:bob@x',
      method: 'INVITE',
      subscriber: null,
      cause: null,
      call_ids: [],
      hosts: [],
      status: 200,
      outcome: 'answered',
      duration_ms: 60_000,
      post_dial_delay_ms: null,
      messages: messages.length,
      retransmissions: 0,
      media: null,
    },
  };
}

const ALL = { leg: null, events: true, retransmissions: true };

describe('what a stream was like', () => {
  it('is judged by MOS, and without one by loss and jitter', () => {
    const of = (more: Partial<MediaFigures>) => grade({ ...NOTHING, ...more });
    expect([400, 399, 350, 349].map((mos_hundredths) => of({ mos_hundredths }))).toEqual([
      'good',
      'fair',
      'fair',
      'bad',
    ]);
    expect(of({})).toBe('unknown');
    expect(of({ loss_permille: 3, jitter_us: 900 })).toBe('good');
    expect(of({ loss_permille: 12 })).toBe('fair');
    expect(of({ loss_permille: 3, jitter_us: 90_000 })).toBe('bad');
  });

  it('has its figures in the units of its field', () => {
    expect([mosText(441), lossText(12), msText(41_250), msText(120_000)]).toEqual([
      '4.41',
      '1.2 %',
      '41.3 ms',
      '120 ms',
    ]);
    expect([mosText(null), lossText(null), msText(undefined)]).toEqual(['–', '–', '–']);
    expect(suiteName('AES_CM_128_HMAC_SHA1_80')).toBe('SRTP AES-128 SHA1-80');
    expect(suiteName('AEAD_AES_256_GCM')).toBe('SRTP AES-256 GCM');
    expect([suiteName('RTP'), suiteName('SRTP'), suiteName(null)]).toEqual([
      'not encrypted',
      'SRTP',
      '',
    ]);
  });

  it('tells a digit, or that it was not kept', () => {
    const [, digit] = stream().marks;
    if (!digit) throw new Error('there is a digit');
    expect([digitText(digit), markText(digit)]).toEqual(['5', '5, 120 ms, in RTP']);
    const hidden = { ...digit, digit: '<redacted 1 octets>' };
    expect([digitText(hidden), markText(hidden)]).toEqual(['•', 'not kept, 120 ms, in RTP']);
  });

  it('says whose packets were counted where', () => {
    expect(wayOf(stream(), call([]))).toEqual({ from: 'alice', to: 'msc1' });
    const heard = stream({ leg: 'b', heard_by: '198.51.100.7:4001', ssrc: 'aa' });
    expect(wayOf(heard, call([]))).toEqual({ from: 'bob', to: 'alice' });
    const unknown = stream({ leg: null, heard_by: '203.0.113.9:4001', ssrc: 'aa' });
    expect(wayOf(unknown, call([]))).toEqual({ from: 'source aa', to: '203.0.113.9:4001' });
    expect([stream(), stream({ leg: 'b' }), heard].map(laneTitle)).toEqual(['A', 'B', 'R']);
  });
});

describe('a stream beside the ladder', () => {
  it('stands from its beginning to its end, between the messages of that time', () => {
    const scene = layout(call([stream()]), 400, ALL);
    const [lane] = scene.lanes;
    const [, ack, bye] = scene.arrows;
    if (!lane || !ack || !bye) throw new Error('there are a lane and three messages');
    expect([lane.y1, lane.y2]).toEqual([ack.y, bye.y]);
    expect(lane.parts.map((part) => part.grade)).toEqual(['good', 'good', 'bad', 'good']);
    expect(lane.parts[2]?.loss).toBeCloseTo(0.8);
    expect(lane.parts.every((part, n) => n === 0 || part.y1 >= (lane.parts[n - 1]?.y2 ?? 0))).toBe(
      true,
    );
    expect(lane.marks.map(({ mark }) => mark.name)).toEqual(['DigitTyped']);
    // Where reports tell of it, a silence has room for what they say.
    expect(bye.y - ack.y).toBeGreaterThan(110);
    const silent = layout(call([]), 400, ALL);
    expect((silent.arrows[2]?.y ?? 0) - (silent.arrows[1]?.y ?? 0)).toBeLessThan(90);
    expect(silent.lanes).toEqual([]);
  });

  it('goes on below the last message while the call does', () => {
    const going = stream({ ended_at_us: null });
    const scene = layout(call([going], false), 400, ALL);
    const [lane] = scene.lanes;
    const last = scene.arrows.at(-1);
    expect(lane && last && lane.y2 - lane.y1).toBeGreaterThan(60);
    expect(lane?.y2).toBeLessThan(scene.height);
  });

  it('is in the SVG file', () => {
    const file = draw(layout(call([stream()]), 400, ALL), 'alice → bob');
    expect(file).toContain('PCMA');
    expect(file).toContain('>5</text>');
  });
});
