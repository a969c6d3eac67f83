/** Event streams as inputs: full of what matters to their framing. */
import fc from 'fast-check';
import { anyBytes, cuts, utf8 } from '../bytes.ts';

const framing = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  ':',
  ' ',
  '\0',
  'data',
  'id',
  'event',
  'retry',
  'data: ',
  'data:',
  'id: 7',
];
const texts = ['é', '\u2028', '😀', '\uFEFF', 'x.y', '{"a":1}', ': heartbeat\n\n', 'id: 1\nevent: a.b\ndata: {}\n\n'];
const number = fc.oneof(fc.nat(99), fc.bigInt({ min: 0n, max: 2n ** 70n })).map(String);

const block = fc
  .record({ id: number, data: fc.string({ maxLength: 20 }), end: fc.constantFrom('\n', '\r', '\r\n') })
  .map(({ id, data, end }) =>
    utf8(['id: ', 'event: deployment.deployed', 'data: ', '', ''].join(end))
      .replace('id: ', `id: ${id}`)
      .replace('data: ', utf8(`data: ${data.replaceAll(/[\r\n]/g, '')}`)),
  );

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...framing) },
  { weight: 2, arbitrary: fc.constantFrom(...texts.map(utf8)) },
  { weight: 2, arbitrary: block },
  { weight: 1, arbitrary: anyBytes(4) },
  { weight: 1, arbitrary: fc.nat(3000).map((length) => 'x'.repeat(length)) },
);

/** Bytes of a stream, and where they are cut. */
export interface StreamInput {
  bytes: string;
  cuts: number[];
}

export const streamInputs: fc.Arbitrary<StreamInput> = fc.record({
  bytes: fc
    .tuple(fc.constantFrom('', '', '', utf8('\uFEFF')), fc.array(piece, { maxLength: 60 }))
    .map(([mark, all]) => mark + all.join('')),
  cuts,
});
