import { expect, it } from 'vitest';
import { type SseComment, type SseFrame, SseParser } from './sse-parser.ts';

function parse(bytes: Uint8Array) {
  const frames: SseFrame[] = [];
  const comments: SseComment[] = [];
  const parser = new SseParser({ frame: (frame) => frames.push(frame), comment: (comment) => comments.push(comment) });
  parser.push(bytes, 1);
  return { frames, comments, parser };
}
const text = (source: string) => parse(Buffer.from(source));

it('the SSE parser keeps input that a client drops', () => {
  const { frames, comments, parser } = text(
    '\uFEFF: hello\nid: 4\0\nid: 5\nevent: a.b\nfoo: bar\ndata: {\ndata: }\nretry: 5x\n\n:\n\nid: 9\n\nid: 10',
  );
  expect(frames).toHaveLength(2);
  expect(frames[0]).toMatchObject({ id: '5', event: 'a.b', data: '{\n}', retry: '5x', dispatched: true });
  expect(frames[1]).toMatchObject({ id: '9', dispatched: false, lastEventId: '9' });
  expect(comments.map((comment) => comment.text)).toEqual(['hello', '']);
  expect(parser.unfinished).toBe(true);
  expect(parser.lastEventId).toBe('9');
});

it('the SSE parser counts bytes that are no UTF-8', () => {
  const { frames, parser } = parse(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a]));
  expect(frames[0]?.data).toBe('\uFFFD');
  expect(parser.invalidLines).toBe(1);
});

it('the SSE parser counts the bytes up to the end of each frame', () => {
  const source = 'data: é\n\ndata: b\n\n: c\n';
  const { frames, comments, parser } = text(source);
  expect(frames.map((frame) => frame.end)).toEqual([10, 19]);
  expect(comments.map((comment) => comment.end)).toEqual([23]);
  expect(parser.bytes).toBe(Buffer.byteLength(source));
});
