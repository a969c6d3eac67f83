import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamCheck } from './stream-check.ts';

/** Feeds ids to the check, and returns the faults; `|` is a reconnect. */
const feed = (check: StreamCheck, stream: (number | '|')[]): string[] =>
  stream.flatMap((id) => {
    if (id === '|') {
      check.connecting();
      return [];
    }
    const { fault } = check.see(id, `event ${id}`);
    return fault === undefined ? [] : [`${fault.kind}: ${fault.message}`];
  });

describe('a checked stream', () => {
  it('has no fault when it is whole, even when reconnects repeat events', () => {
    expect(feed(new StreamCheck(0), ['|', 1, 2, 3, '|', 3, 4, '|', 5])).toEqual([]);
  });

  it('names a gap within a connection', () => {
    expect(feed(new StreamCheck(0), ['|', 1, 2, 4])).toEqual([
      'gap: id 3 missing within a connection: after id 2 came id 4',
    ]);
    expect(feed(new StreamCheck(10), ['|', 11, 15])).toEqual([
      'gap: ids 12 to 14 missing within a connection: after id 11 came id 15',
    ]);
  });

  it('names events lost across a reconnect, even before the first event', () => {
    expect(feed(new StreamCheck(0), ['|', 1, '|', 4])).toEqual([
      'loss: ids 2 to 3 lost across a reconnect: after id 1 came id 4',
    ]);
    expect(feed(new StreamCheck(7), ['|', 9])).toEqual(['loss: id 8 lost across a reconnect: after id 7 came id 9']);
  });

  it('names an event out of order', () => {
    const check = new StreamCheck(0);
    feed(check, ['|', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(feed(check, [2])).toEqual(['reorder: id 2 came after id 11']);
  });

  it('distinguishes a renumbered event from a repeated one', () => {
    const check = new StreamCheck(0);
    feed(check, ['|', 1, 2]);
    check.connecting();
    expect(check.see(2, 'event 2')).toEqual({ fresh: false });
    expect(check.see(2, 'another event')).toMatchObject({
      fault: { kind: 'renumbered', message: expect.stringContaining('id 2') },
    });
  });

  it('continues after an expired cursor', () => {
    const check = new StreamCheck(3);
    expect(check.expired({ earliest: 40, latest: 100 })).toBeUndefined();
    expect(feed(check, ['|', 101])).toEqual([]);
  });

  it('finds a refused cursor that could have been served', () => {
    expect(new StreamCheck(40).expired({ earliest: 40, latest: 100 })).toEqual({
      kind: 'loss',
      message: 'the cursor at id 40 was answered 410 although ids 40 to 100 are retained',
    });
    // No event after it is lost, but the specification allows the refusal.
    expect(new StreamCheck(39).expired({ earliest: 40, latest: 100 })).toBeUndefined();
  });

  it('excuses ids that a crash left unused, and no others', () => {
    const check = new StreamCheck(0);
    feed(check, ['|', 1, 2]);
    check.mayBeUnused(3, 257);
    expect(check.finish(257)).toBeUndefined();
    expect(feed(check, ['|', 258])).toEqual([]);
    expect(feed(check, [260])).toEqual(['gap: id 259 missing within a connection: after id 258 came id 260']);
  });

  it('reports at the end events that were published and never read', () => {
    const check = new StreamCheck(0);
    feed(check, ['|', 1, 2]);
    expect(check.finish(2)).toBeUndefined();
    expect(check.finish(4)).toEqual({ kind: 'loss', message: 'ids 3 to 4 were published and never read' });
  });

  it('finds exactly the streams that lack an event', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 30 }), fc.nat(29), fc.boolean(), (length, drop, reconnect) => {
        const ids = Array.from({ length }, (_, index) => index + 1);
        const left = ids.filter((id) => id !== drop + 1);
        const stream: (number | '|')[] = ['|', ...left];
        if (reconnect) stream.splice(1 + Math.floor(left.length / 2), 0, '|');
        const check = new StreamCheck(0);
        const faults = feed(check, stream);
        const late = check.finish(length);
        const dropped = drop < length;
        return faults.length + (late === undefined ? 0 : 1) === (dropped ? 1 : 0);
      }),
    );
  });
});
