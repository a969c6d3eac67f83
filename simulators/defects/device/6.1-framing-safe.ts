import { type DeviceChanges, defect, envelopeText, variant } from '../define-device.ts';

const lineEnds = (end: string): DeviceChanges => ({
  stream: ({ frame, heartbeat }) => ({
    frame: (event) => frame(event).replaceAll('\n', end),
    heartbeat: (now) => heartbeat(now).replaceAll('\n', end),
  }),
});

export const defects = [
  defect(
    'newlines-raw',
    'Writes line breaks in a text into the stream unescaped.',
    ['device.events.framing-safe'],
    envelopeText((text) => text.replaceAll('\\n', '\n')),
  ),
  defect(
    'non-ascii-lost',
    'Writes a question mark for every character outside ASCII.',
    ['device.events.framing-safe'],
    { stream: ({ frame }) => ({ frame: (event) => frame(event).replace(/[^\x20-\x7e\n]/gu, '?') }) },
  ),
  defect(
    'long-data-cut',
    'Cuts data off after 16 KiB.',
    ['device.events.framing-safe'],
    envelopeText((text) => text.slice(0, 16_384)),
  ),
  defect(
    'separators-break-lines',
    'Ends a line at U+2028, as some text libraries do.',
    ['device.events.framing-safe'],
    envelopeText((text) => text.replaceAll('\u2028', '\n')),
  ),
];

/** Makes the line-end variants exclude each other, because a stream must use one line end throughout. */
const LINE_ENDS = { alternative: 'line-ends' };

export const variants = [
  variant('chunk-by-byte', 'Sends each byte as an HTTP chunk of its own.', {
    stream: ({ chunk }) => ({
      chunk: (body) => Buffer.concat(Array.from(body, (byte) => chunk(Buffer.of(byte)))),
    }),
  }),
  variant('line-ends-crlf', 'Ends lines with CR LF, as event streams may.', lineEnds('\r\n'), LINE_ENDS),
  variant('line-ends-cr', 'Ends lines with CR alone, as event streams may.', lineEnds('\r'), LINE_ENDS),
  variant('data-in-lines', 'Writes the envelope over several data lines, which a client joins.', {
    stream: {
      frame: (event) => {
        const data = JSON.stringify(JSON.parse(event.json), null, 2).split('\n');
        return `id: ${event.id}\nevent: ${event.type}\n${data.map((line) => `data: ${line}\n`).join('')}\n`;
      },
    },
  }),
  variant('byte-order-mark', 'Begins the stream with a byte order mark, as event streams may.', {
    stream: { preamble: '\uFEFF' },
  }),
];
