import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../simulators/common/testing/scratch.ts';
import { type SseComment, type SseFrame, SseParser } from './sse-parser.ts';

function parse(bytes: Uint8Array, cuts: readonly number[] = []) {
  const frames: SseFrame[] = [];
  const comments: SseComment[] = [];
  const parser = new SseParser({ frame: (frame) => frames.push(frame), comment: (comment) => comments.push(comment) });
  const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (let index = 1; index < edges.length; index += 1) {
    parser.push(bytes.subarray(edges[index - 1], edges[index]), 1);
  }
  return { frames, comments, parser };
}
const text = (source: string) => parse(Buffer.from(source));

/** Streams full of what matters to the framing. */
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('\n', '\r', '\r\n', ':', ' ', 'data', 'id', 'event', 'retry', 'data: ', 'id: 7', '\0'),
  },
  fc.constantFrom(
    'é',
    '\u2028',
    '😀',
    '\uFEFF',
    'x.y',
    '{"a":1}',
    ': heartbeat\n\n',
    'id: 1\nevent: a.b\ndata: {}\n\n',
  ),
  fc.string({ unit: anyCharacter, maxLength: 5 }),
);
const stream = fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join('')));

describe('SSE parser', () => {
  it('reads the same whatever the splits, byte by byte too', () => {
    const somewhere = fc.array(fc.nat(), { maxLength: 12 });
    const everywhere = fc.constant(Array.from({ length: 1000 }, (_, index) => index));
    fc.assert(
      fc.property(stream, fc.oneof({ weight: 9, arbitrary: somewhere }, everywhere), (bytes, cuts) => {
        const whole = parse(bytes);
        const within = new Set(cuts.map((cut) => cut % (bytes.length + 1)));
        const split = parse(bytes, [...within]);
        expect(split.frames).toEqual(whole.frames);
        expect(split.comments).toEqual(whole.comments);
        expect(split.parser.framing).toEqual(whole.parser.framing);
      }),
      { numRuns: 2000 },
    );
  });

  it('dispatches what an independent implementation of the standard dispatches', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        // That one ends a line at a carriage return only when it has seen what follows.
        const source = Buffer.concat([bytes, Buffer.from('\n')]);
        const theirs: { id: string; event: string; data: string }[] = [];
        let id = '';
        const parser = createParser({
          onId: (value: string) => {
            id = value;
          },
          onEvent: (event) => theirs.push({ id, event: event.event ?? 'message', data: event.data }),
        });
        parser.feed(new TextDecoder('utf-8', { ignoreBOM: true }).decode(source));
        const ours = parse(source).frames.filter((frame) => frame.dispatched);
        expect(
          ours.map(({ lastEventId, event, data }) => ({ id: lastEventId, event: event || 'message', data })),
        ).toEqual(theirs);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps what a client drops, and says so', () => {
    const { frames, comments, parser } = text(
      '\uFEFF: hello\nid: 4\0\nid: 5\nevent: a.b\nfoo: bar\ndata: {\ndata: }\nretry: 5x\n\n:\n\nid: 9\n\nid: 10',
    );
    expect(frames).toHaveLength(2);
    expect(frames[0]).toMatchObject({ id: '5', event: 'a.b', data: '{\n}', retry: '5x', dispatched: true });
    expect(frames[1]).toMatchObject({ id: '9', dispatched: false, lastEventId: '9' });
    expect(comments.map((comment) => comment.text)).toEqual(['hello', '']);
    expect(parser.framing).toMatchObject({ bom: true, nulIds: 1, badRetries: 1 });
    expect([...parser.framing.unknownFields]).toEqual(['foo']);
    expect(parser.unfinished).toBe(true);
    expect(parser.lastEventId).toBe('9');
  });

  it('tells line endings apart', () => {
    const { parser } = text('data: a\r\n\r\ndata: b\r\rdata: c\n\n');
    expect(parser.framing).toMatchObject({ crlf: 2, cr: 2, lf: 2 });
  });

  it('reports bytes that are no UTF-8', () => {
    const { frames, parser } = parse(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a]));
    expect(frames[0]?.data).toBe('\uFFFD');
    expect(parser.framing.invalidUtf8).toBe(1);
  });

  it('counts the bytes up to the end of each frame', () => {
    const source = 'data: é\n\ndata: b\n\n: c\n';
    const { frames, comments, parser } = text(source);
    expect(frames.map((frame) => frame.end)).toEqual([10, 19]);
    expect(comments.map((comment) => comment.end)).toEqual([23]);
    expect(parser.bytes).toBe(Buffer.byteLength(source));
  });
});
