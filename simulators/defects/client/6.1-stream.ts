import { StringDecoder } from 'node:string_decoder';
import type { StreamBehaviour } from '../../client/behaviour.ts';
import { field, lineSplitter } from '../../client/reference.ts';
import { defect, variant } from '../define-client.ts';

const dropsAfter =
  (breaks: (found: ReturnType<StreamBehaviour['field']>) => boolean) =>
  ({ field: fieldOf, join }: StreamBehaviour): Partial<StreamBehaviour> => {
    let dropped = false;
    return {
      field: (line) => {
        const found = fieldOf(line);
        dropped ||= breaks(found);
        return found;
      },
      join: (lines) => {
        const data = dropped ? '' : join(lines);
        dropped = false;
        return data;
      },
    };
  };

function splitterAt(end: RegExp): (text: string) => string[] {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split(end);
    rest = lines.pop() ?? '';
    return lines;
  };
}

const BOTH = ['client.stream.huge.one-line', 'client.stream.huge.many-lines'];
const BOUND = 4 * 1024 * 1024;

export const defects = [
  defect('prints-nothing', 'Reads the stream, and hands nothing on.', ['client.stream.dispatch'], {
    follow: { show: () => [] },
  }),
  defect('prints-raw', 'Prints the data of each event as it came.', ['client.stream.dispatch'], {
    follow: { show: (line) => [JSON.stringify(line['data'])] },
  }),
  defect('dispatches-twice', 'Hands each event on twice.', ['client.stream.dispatch'], {
    follow: ({ show }) => ({ show: (line) => [...show(line), ...show(line)] }),
  }),
  defect('first-of-a-piece', 'Of several events that arrive together hands on the first.', ['client.stream.dispatch'], {
    stream: ({ lines, field: fieldOf }) => {
      let skip = false;
      return {
        lines: (text) => {
          skip = false;
          return lines(text);
        },
        field: (line) => (skip ? undefined : fieldOf(line)),
        isDispatched: ({ data }) => {
          skip = true;
          return data !== '';
        },
      };
    },
  }),
  defect('payload-lost', 'Hands on an empty payload.', ['client.stream.dispatch'], {
    follow: ({ show }) => ({ show: (line) => show({ ...line, data: {} }) }),
  }),
  defect('lf-only', 'Takes LF alone for a line end.', ['client.stream.line-ends.crlf', 'client.stream.line-ends.cr'], {
    stream: () => ({ lines: splitterAt(/\n/) }),
  }),
  defect('no-cr', 'Knows LF and CR LF, and no CR alone.', ['client.stream.line-ends.cr'], {
    stream: () => ({ lines: splitterAt(/\r?\n/) }),
  }),
  defect('bom-kept', 'Keeps the byte order mark.', ['client.stream.bom'], {
    stream: () => {
      const utf8 = new StringDecoder('utf8');
      return { decode: (bytes) => utf8.write(bytes) };
    },
  }),
  defect('comment-breaks-event', 'A comment within an event throws what came of it away.', ['client.stream.comments'], {
    stream: dropsAfter((found) => found === undefined),
  }),
  defect(
    'comments-are-fields',
    'Reads a comment as a field that is named after its text.',
    ['client.stream.comments'],
    { stream: { field: (line) => field(line.startsWith(':') ? line.slice(1) : line) } },
  ),
  defect('empty-dispatched', 'Hands a block without data on as an event without a payload.', ['client.stream.empty'], {
    stream: { isDispatched: () => true },
    follow: ({ envelope }) => ({
      envelope: (block) =>
        block.data === '' ? { id: block.id, type: block.event || 'message', data: {} } : envelope(block),
    }),
  }),
  defect('empty-stops', 'Takes an empty block for the end of the stream.', ['client.stream.empty'], {
    stream: ({ lines }) => {
      let [over, before] = [false, ''];
      return {
        lines: (text) =>
          lines(text).filter((line) => {
            over ||= line === '' && before === '';
            before = line;
            return !over;
          }),
      };
    },
  }),
  defect('last-data-line', 'Of several data lines reads the last.', ['client.stream.multi-line'], {
    stream: { join: (lines) => lines.at(-1) ?? '' },
  }),
  defect('first-data-line', 'Of several data lines reads the first.', ['client.stream.multi-line'], {
    stream: { join: (lines) => lines[0] ?? '' },
  }),
  defect('space-required', 'Wants a space after the colon.', ['client.stream.fields'], {
    stream: ({ field: fieldOf }) => ({ field: (line) => (/^[^:]+:(?! )/.test(line) ? undefined : fieldOf(line)) }),
  }),
  defect('unknown-field-ends', 'An unknown field throws the event away.', ['client.stream.fields'], {
    stream: dropsAfter((found) => found !== undefined && !['id', 'event', 'data', 'retry'].includes(found.name)),
  }),
  defect('field-prefix', 'Takes every field that begins with data for data.', ['client.stream.fields'], {
    stream: ({ field: fieldOf }) => ({
      field: (line) => {
        const found = fieldOf(line);
        return found === undefined ? undefined : { ...found, name: /^dat/i.test(found.name) ? 'data' : found.name };
      },
    }),
  }),
  defect('retry-must-be-number', 'Gives up on a retry field that is no number.', ['client.stream.retry-field'], {
    stream: ({ field: fieldOf, lines }) => {
      let over = false;
      return {
        lines: (text) => (over ? [] : lines(text)),
        field: (line) => {
          const found = fieldOf(line);
          over ||= found?.name === 'retry' && !/^\d+$/.test(found.value);
          return over ? undefined : found;
        },
      };
    },
  }),
  defect('small-buffer', 'Leaves out an event of more than 64 KiB.', ['client.stream.large'], {
    follow: ({ envelope }) => ({ envelope: (block) => (block.data.length > 65_536 ? undefined : envelope(block)) }),
  }),
  defect('lines-by-piece', 'Takes the end of each piece for a line end.', ['client.stream.boundaries'], {
    stream: ({ lines }) => ({ lines: (text) => lines(text.endsWith('\n') ? text : `${text}\n`) }),
  }),
  defect('text-by-piece', 'Decodes each piece by itself, and so tears characters.', ['client.stream.boundaries'], {
    stream: { decode: (bytes) => new TextDecoder().decode(bytes) },
  }),
  defect('blank-line-in-one-piece', 'Finds the end of an event in one piece only.', ['client.stream.boundaries'], {
    stream: () => {
      const split = lineSplitter();
      let last = '';
      return {
        lines: (text) => {
          // A blank line at the start of a piece does not end the event.
          const missed = text.startsWith('\n') && last === '\n';
          if (text !== '') last = text.at(-1) ?? '';
          return split(missed ? text.slice(1) : text);
        },
      };
    },
  }),
  defect('crlf-torn', 'Takes CR LF that is torn for two line ends.', ['client.stream.boundaries.crlf'], {
    stream: () => ({ lines: splitterAt(/\r\n|\r|\n/) }),
  }),
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
    stream: ({ join }) => ({ join: (lines) => join(lines.slice(0, 10_000)) }),
  }),
];

export const variants = [
  variant('ids-as-numbers', 'Prints ids as numbers, where they are exact.', {
    follow: { idOf: (_, { id }) => (Number.isSafeInteger(Number(id)) ? Number(id) : id) },
  }),
  variant('talkative', 'Prints other lines among those of the contract.', {
    follow: ({ show }) => ({ show: (line) => ['received an event', '{"level":"info"}', ...show(line), ''] }),
  }),
  variant('more-members', 'Prints members that the contract does not name, in another order.', {
    follow: ({ show }) => ({
      show: (line) =>
        show({
          at: 'now',
          ...Object.fromEntries(Object.entries(line).toReversed()),
          data: { ...(line['data'] as object), seen: null },
        }),
    }),
  }),
  variant('waits-after-cr', 'Waits after CR for the byte that follows, before it takes the line.', {
    stream: ({ lines }) => {
      let held = '';
      return {
        lines: (text) => {
          const whole = held + text;
          held = whole.endsWith('\r') ? '\r' : '';
          return lines(held === '' ? whole : whole.slice(0, -1));
        },
      };
    },
  }),
  variant('bounded', 'Takes no event of more than 4 MiB, and tells its caller of the gap.', {
    follow: ({ envelope, show }) => ({
      envelope: (block) => (block.data.length < BOUND ? envelope(block) : { type: 'gap' }),
      show: (line) => (line['type'] === 'gap' ? ['{"saw":"gap"}'] : show(line)),
    }),
  }),
];
