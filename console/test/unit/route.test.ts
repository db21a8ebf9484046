// The address holds the whole state and nothing is lost on the way.
import { describe, expect, it } from 'vitest';
import { build, parse, tokenIn, type Page } from '../../src/lib/route';

describe('routes', () => {
  it('survive writing and reading, whatever they hold', () => {
    const cases: { page: Page; id: string; query: Record<string, string> }[] = [
      { page: 'overview', id: '', query: {} },
      { page: 'calls', id: '', query: { q: '+49 30/55?&=#%', outcome: 'no-answer', live: '1' } },
      { page: 'call', id: 'a/b?c#d%e', query: { m: '7', view: 'changes' } },
      { page: 'routes', id: '', query: { function: 'rr1', q: '2001:db8::/32' } },
      { page: 'metrics', id: '', query: { name: 'a,b', since: '600' } },
    ];
    for (const route of cases) expect(parse(build(route))).toEqual(route);
  });

  it('leave out what has no value', () => {
    expect(build({ page: 'calls', query: { q: '', status: undefined } })).toBe('#/calls');
  });

  it('lead to the overview when unknown', () => {
    for (const hash of ['', '#', '#/', '#/nowhere', '#/call'])
      expect(parse(hash).page).toBe('overview');
  });

  it('stand a percent sign that escapes nothing', () => {
    expect(parse('#/calls/100%').id).toBe('100%');
  });
});

describe('the token', () => {
  it('is taken from the fragment, with what follows it', () => {
    expect(tokenIn('#token=a%2Bb')).toEqual({ token: 'a+b', rest: '#/' });
    expect(tokenIn('#token=x&/calls?q=1&live=1')).toEqual({
      token: 'x',
      rest: '#/calls?q=1&live=1',
    });
  });

  it('is not seen elsewhere', () => {
    expect(tokenIn('#/calls?token=x')).toBeNull();
  });
});
