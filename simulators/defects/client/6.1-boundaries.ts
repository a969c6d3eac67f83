/** Defects of clients that fail if a character, line or event arrives in several pieces. */
import { lineSplitter } from '../../client/reference.ts';
import { defect, variant } from '../define-client.ts';

export const defects = [
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
          // Ignores a blank line at the start of a piece, so that the event does not end.
          const missed = text.startsWith('\n') && last === '\n';
          if (text !== '') last = text.at(-1) ?? '';
          return split(missed ? text.slice(1) : text);
        },
      };
    },
  }),
  defect('crlf-torn', 'Takes CR LF that is torn for two line ends.', ['client.stream.boundaries.crlf'], {
    stream: () => {
      let rest = '';
      return {
        lines: (text) => {
          const lines = (rest + text).split(/\r\n|\r|\n/);
          rest = lines.pop() ?? '';
          return lines;
        },
      };
    },
  }),
];

export const variants = [
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
];
