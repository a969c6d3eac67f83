/** Defects of clients that cannot handle a large event. */
import { defect, variant } from '../define-client.ts';

const BOTH = ['client.stream.huge.one-line', 'client.stream.huge.many-lines'];

const MIB = 1024 * 1024;
const BOUND = 4 * MIB;
const MOST_LINES = 10_000;

export const defects = [
  defect('large-lost', 'Leaves out an event of more than 4 MiB without a word.', BOTH, {
    stream: { isDispatched: ({ data }) => data !== '' && data.length < BOUND },
  }),
  defect('large-ends', 'Breaks down at an event of more than 4 MiB, and says so.', BOTH, {
    follow: ({ envelope, show }) => ({
      envelope: (block) => (block.data.length < BOUND ? envelope(block) : { type: 'gap' }),
      show: (line) => {
        if (line['type'] !== 'gap') return show(line);
        throw new Error('an event is too large');
      },
    }),
  }),
  defect('lines-counted', 'Reads 10,000 lines of data at most.', ['client.stream.huge.many-lines'], {
    stream: ({ join }) => ({ join: (lines) => join(lines.slice(0, MOST_LINES)) }),
  }),
];

export const variants = [
  variant('bounded', 'Takes no event of more than 4 MiB, and tells its caller of the gap.', {
    follow: ({ envelope, show }) => ({
      envelope: (block) => (block.data.length < BOUND ? envelope(block) : { type: 'gap' }),
      show: (line) => (line['type'] === 'gap' ? ['{"saw":"gap"}'] : show(line)),
    }),
  }),
];
