// What the page calls a change.
import { expect, it } from 'vitest';
import { compare, headerName, spans, split } from '../../src/lib/diff';

const CRLF = '\r\n';
const text = (lines: string[], body = '') => [...lines, '', body].join(CRLF);

it('a message equals itself', () => {
  const invite = text(
    ['INVITE sip:b@x SIP/2.0', 'Via: SIP/2.0/UDP a', 'Max-Forwards: 70'],
    'v=0\r\n',
  );
  expect(compare(invite, invite).every((change) => change.kind === 'same')).toBe(true);
});

it('headers are compared by name wherever they stand, compact or long', () => {
  const before = text(['BYE sip:b SIP/2.0', 'v: SIP/2.0/UDP a', 'CSeq: 2 BYE', 'Call-ID: one']);
  const after = text(['BYE sip:b SIP/2.0', 'Call-ID: two', 'CSeq: 2 BYE', 'Via: SIP/2.0/UDP a']);
  const kinds = compare(before, after).map((change) => change.kind);
  expect(kinds).toEqual(['same', 'changed', 'same', 'changed']);
});

it('added and removed headers are told', () => {
  const before = text(['ACK sip:b SIP/2.0', 'User-Agent: Phone', 'CSeq: 1 ACK']);
  const after = text(['ACK sip:b SIP/2.0', 'CSeq: 1 ACK', 'X-Realm: access']);
  expect(compare(before, after)).toEqual([
    { kind: 'same', text: 'ACK sip:b SIP/2.0' },
    { kind: 'removed', text: 'User-Agent: Phone' },
    { kind: 'same', text: 'CSeq: 1 ACK' },
    { kind: 'added', text: 'X-Realm: access' },
  ]);
});

it('of several headers of one name the equal ones find each other', () => {
  const before = text(['INVITE sip:b SIP/2.0', 'Via: one', 'Via: two']);
  const after = text(['INVITE sip:b SIP/2.0', 'Via: new', 'Via: one', 'Via: two']);
  const changes = compare(before, after);
  expect(changes.filter((change) => change.kind === 'added')).toEqual([
    { kind: 'added', text: 'Via: new' },
  ]);
  expect(changes.filter((change) => change.kind === 'same')).toHaveLength(3);
});

it('lines of a body that share their type are one change', () => {
  const before = text(['SIP/2.0 200 OK'], 'v=0\r\nc=IN IP4 1.1.1.1\r\na=x\r\n');
  const after = text(['SIP/2.0 200 OK'], 'v=0\r\nc=IN IP4 2.2.2.2\r\na=x\r\na=y\r\n');
  expect(
    compare(before, after)
      .slice(1)
      .map((change) => change.kind),
  ).toEqual(['same', 'same', 'changed', 'same', 'added']);
});

it('within a line only the pieces that differ are marked', () => {
  const [before, after] = spans('Via: a;branch=one', 'Via: a;branch=two');
  expect(before).toEqual([
    { text: 'Via: a;branch=', changed: false },
    { text: 'one', changed: true },
  ]);
  expect(after.at(-1)).toEqual({ text: 'two', changed: true });
});

it('folded lines belong to their header', () => {
  expect(split('OPTIONS sip:b SIP/2.0\r\nSubject: a\r\n b\r\nTo: c\r\n\r\n').headers).toEqual([
    'Subject: a\n b',
    'To: c',
  ]);
  expect(headerName('i : x')).toBe('call-id');
});

it('a body of thousands of lines is compared in bounded time', () => {
  const lines = (word: string) => Array.from({ length: 5_000 }, (_, i) => `${word}${i}`).join(CRLF);
  const changes = compare(
    text(['SIP/2.0 200 OK'], lines('a')),
    text(['SIP/2.0 200 OK'], lines('b')),
  );
  expect(changes.length).toBe(10_002);
});
